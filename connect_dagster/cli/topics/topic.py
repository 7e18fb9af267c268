"""``connect-dagster topic``: list topics, read their records, write some.

Uses the brokers only, no workers, connectors or converters: a value is printed as its bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import click
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException

from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers, unanswered
from connect_dagster.cli.topics.reading import ReadPlan, batches, places
from connect_dagster.cli.topics.record_text import as_json, as_line
from connect_dagster.cli.topics.writing import PRODUCER_SETTINGS, records, send
from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Brokers, client_settings
from connect_dagster.kafka.groups import ANSWER_SECONDS

if TYPE_CHECKING:  # what the client library does not export
    from confluent_kafka.admin._metadata import ClusterMetadata, PartitionMetadata


@click.group("topic")
@brokers_options
@click.pass_context
def topic_command(context: click.Context, bootstrap_server: str | None, command_config: str | None) -> None:
    """List topics, read records, write records."""
    context.obj = chosen_brokers(bootstrap_server, command_config)


@topic_command.command("list")
@click.option("-J", "--json", "in_json", is_flag=True, help="Print brokers and partitions also, as one JSON object.")
@click.pass_obj
def list_topics(bootstrap: Brokers, in_json: bool) -> None:
    """Print the name of each topic.

    With -J: the brokers, and for each partition its leader, replicas and those in sync, as kcat -L -J has them.
    """
    with _kafka_errors(bootstrap):
        cluster = _cluster(bootstrap)
    for line in [_cluster_json(cluster)] if in_json else sorted(cluster.topics):
        click.echo(line)


@topic_command.command()
@click.argument("name", metavar="TOPIC")
@click.option("--from-beginning", is_flag=True, help="Start with the oldest record instead of the next one to come.")
@click.option("--offset", type=click.IntRange(min=0), help="Start with this offset; needs --partition.")
@click.option("--partition", type=click.IntRange(min=0), help="Read this partition only.")
@click.option("--max-messages", type=click.IntRange(min=1), help="End after this number of records.")
@click.option("--timeout", type=click.FloatRange(min=0), help="End when no record came for this number of seconds.")
@click.option("-J", "--json", "in_json", is_flag=True, help="Print each record as a JSON object on one line.")
@click.pass_obj
def read(
    bootstrap: Brokers,
    name: str,
    from_beginning: bool,
    offset: int | None,
    partition: int | None,
    max_messages: int | None,
    timeout: float | None,
    in_json: bool,
) -> None:
    """Print the values of a topic, one a line, until Ctrl+C, --max-messages or --timeout.

    With -J: topic, partition, offset, tstype, ts (milliseconds), key, payload and headers, as kcat names them. Bytes
    that are not UTF-8 are printed in base64, and a field such as payload_encoding says so.
    """
    plan = ReadPlan(partition, _start(from_beginning, offset, partition), max_messages, timeout)
    render = as_json if in_json else as_line
    with _kafka_errors(bootstrap), closing(_consumer(bootstrap)) as consumer:
        consumer.assign(places(consumer, _topics(bootstrap), name, plan))
        try:
            for batch in batches(consumer, plan):
                sys.stdout.buffer.writelines(render(message) + b"\n" for message in batch)
                sys.stdout.buffer.flush()
        except KeyboardInterrupt:
            return  # the usual way to end it


@topic_command.command()
@click.argument("name", metavar="TOPIC")
@click.option("--key", metavar="TEXT", help="The key of all records; without it they have none.")
@click.option("--key-separator", metavar="TEXT", help="Separates the key from the value on each line.")
@click.option("--null", "empty_is_null", is_flag=True, help="Write an empty value as null: a tombstone.")
@click.pass_obj
def write(bootstrap: Brokers, name: str, key: str | None, key_separator: str | None, empty_is_null: bool) -> None:
    """Write each line of standard input as a record.

    A key goes to the same partition as from Java's producer. A topic that does not exist is created when the brokers
    are configured to do so.
    """
    if key_separator == "":
        raise click.UsageError("--key-separator must not be empty.")
    if key is not None and key_separator is not None:
        raise click.UsageError("--key and --key-separator exclude each other.")
    with _kafka_errors(bootstrap):
        producer = clients.producer(client_settings(bootstrap), {**_QUIET, **PRODUCER_SETTINGS})
        _cluster(bootstrap)
        send(producer, name, records(sys.stdin.buffer, key, key_separator, empty_is_null=empty_is_null))


def _start(from_beginning: bool, offset: int | None, partition: int | None) -> int:
    if offset is None:
        return OFFSET_BEGINNING if from_beginning else OFFSET_END
    if partition is None:
        raise click.UsageError("--offset needs --partition: offsets count within a partition.")
    if from_beginning:
        raise click.UsageError("--offset and --from-beginning exclude each other.")
    return offset


# `_kafka_errors` reports in one sentence what the client library would log.
_QUIET = {"log_level": 0}


def _consumer(bootstrap: Brokers) -> Consumer:
    return clients.consumer(
        client_settings(bootstrap),
        {
            **_QUIET,
            # No member joins this group: partitions are assigned by hand and nothing is committed.
            "group.id": "connect-dagster-topic-read",
            "enable.auto.commit": "false",
            "auto.offset.reset": "error",
        },
    )


@contextmanager
def _kafka_errors(bootstrap: Brokers) -> Iterator[None]:
    """Convert errors of the client library to one sentence."""
    try:
        yield
    except KafkaException as error:
        raise click.ClickException(f"Kafka at {bootstrap}: {_text(error)}") from error
    except ConnectError as error:
        raise click.ClickException(str(error)) from error


def _text(error: KafkaException) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)


def _topics(bootstrap: Brokers) -> dict[str, list[int]]:
    """Return each topic with its partitions in order."""
    return {name: sorted(found.partitions) for name, found in _cluster(bootstrap).topics.items()}


def _cluster(bootstrap: Brokers) -> ClusterMetadata:
    """Return brokers and topics. Raises ConnectError: the brokers refuse the login; ClickException: none responds."""
    try:
        # Of all topics: to ask for one by its name may create it.
        return clients.quiet_admin(client_settings(bootstrap)).list_topics(timeout=ANSWER_SECONDS)
    except KafkaException as error:
        raise unanswered(bootstrap, _text(error)) from error


def _cluster_json(cluster: ClusterMetadata) -> str:
    """Return brokers, and topics with their partitions, as one JSON object on one line with kcat's keys."""
    return json.dumps(
        {
            "brokers": [
                {"id": broker.id, "name": f"{broker.host}:{broker.port}"}
                for broker in sorted(cluster.brokers.values(), key=lambda broker: broker.id)
            ],
            "topics": [
                {
                    "topic": name,
                    "partitions": [_partition(found.partitions[number]) for number in sorted(found.partitions)],
                }
                for name, found in sorted(cluster.topics.items())
            ],
        },
        separators=(",", ":"),
    )


def _partition(partition: PartitionMetadata) -> dict[str, Any]:
    return {
        "partition": partition.id,
        "leader": partition.leader,
        "replicas": [{"id": broker} for broker in partition.replicas],
        "isrs": [{"id": broker} for broker in partition.isrs],
    }
