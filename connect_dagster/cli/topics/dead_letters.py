"""``connect-dagster dlq``: look at records that connectors could not handle, and write them back."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import click

from connect_dagster.cli.connectors.rest_access import Trouble, asks_worker
from connect_dagster.cli.table_text import table_text, time_text
from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers, unanswered
from connect_dagster.cli.topics.record_text import as_json
from connect_dagster.client.lineage import DEAD_LETTER_KEY
from connect_dagster.client.rest_client import KafkaConnectClient
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.dead_letters import DeadLetter, dead_letters, replay
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.kafka.groups import ANSWER_SECONDS
from connect_dagster.kafka.topic_reading import partition_count

_HEADS = ("PARTITION", "OFFSET", "TIME", "FROM", "STAGE", "EXCEPTION", "MESSAGE")
_LONGEST_MESSAGE = 100


@dataclass(frozen=True, slots=True)
class Offsets:
    """Chosen offsets: ranges with both ends, the last one ``None`` for no end.

    Examples:
        >>> 8 in Offsets(((3, 3), (7, 9))), 21 in Offsets(((20, None),)), 4 in Offsets(((3, 3),))
        (True, True, False)
    """

    ranges: tuple[tuple[int, int | None], ...]

    def __contains__(self, offset: int) -> bool:
        return any(first <= offset and (last is None or offset <= last) for first, last in self.ranges)


class _OffsetsType(click.ParamType[Offsets]):
    name = "offsets"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Offsets:
        if isinstance(value, Offsets):
            return value
        try:
            return Offsets(tuple(_range(part.strip()) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is not a list of offsets such as 3,7-9,20-", param, ctx)


OFFSETS = _OffsetsType()


def _range(text: str) -> tuple[int, int | None]:
    first, dash, last = text.partition("-")
    begin = int(first)
    end = int(last) if last else None if dash else begin
    if end is not None and end < begin:
        raise ValueError(text)
    return begin, end


topic_argument = click.argument("topic", required=False)
connector_option = click.option("--connector", metavar="NAME", help="The topic in this connector's configuration.")
offsets_option = click.option(
    "--offsets",
    "chosen",
    type=OFFSETS,
    metavar="LIST",
    help="Only these offsets, such as 3,7-9,20-; all of them without it.",
)

partition_option = click.option("--partition", type=click.IntRange(min=0), help="Only records of this partition.")


@click.group("dlq")
@brokers_options
@click.pass_context
def dlq_command(context: click.Context, bootstrap_server: str | None, command_config: str | None) -> None:
    """List and replay dead letters.

    A connector writes them to errors.deadletterqueue.topic.name; what went wrong is known when
    errors.deadletterqueue.context.headers.enable was on.
    """
    context.obj = chosen_brokers(bootstrap_server, command_config)


@dlq_command.command("list")
@topic_argument
@connector_option
@partition_option
@offsets_option
@click.option("-J", "--json", "in_json", is_flag=True, help="Print each record as a JSON object on one line.")
@asks_worker
@click.pass_obj
def list_letters(
    bootstrap: Brokers,
    client: KafkaConnectClient,
    topic: str | None,
    connector: str | None,
    partition: int | None,
    chosen: Offsets | None,
    in_json: bool,
) -> None:
    """Print the records of TOPIC, or of the dead letter queue of --connector.

    With -J: as `topic read -J` prints them.
    """
    queue = _queue(client, topic, connector)
    with _one_sentence(bootstrap):
        letters = _chosen(bootstrap, queue, partition, chosen)
        if in_json:
            sys.stdout.buffer.writelines(as_json(letter.message) + b"\n" for letter in letters)
            sys.stdout.buffer.flush()
        else:
            click.echo(table_text(_HEADS, map(_row, letters)))


@dlq_command.command("replay")
@topic_argument
@connector_option
@partition_option
@offsets_option
@click.option("--to", "target", metavar="TOPIC", help="Write to this topic rather than to where each came from.")
@click.option("--dry-run", is_flag=True, help="Print the records, and write nothing.")
@asks_worker
@click.pass_obj
def replay_letters(
    bootstrap: Brokers,
    client: KafkaConnectClient,
    topic: str | None,
    connector: str | None,
    partition: int | None,
    chosen: Offsets | None,
    target: str | None,
    dry_run: bool,
) -> None:
    """Write the records of TOPIC, or of the queue of --connector, to the topics they came from.

    Keys, values, headers and timestamps are unchanged, but for the headers that describe the failure. The records
    stay in the dead letter queue: the last line says at which offset the replay ended, so --offsets N- continues there.
    """
    queue = _queue(client, topic, connector)
    if target == queue:
        raise click.UsageError("--to is the dead letter queue itself.")
    with _one_sentence(bootstrap):
        letters = _chosen(bootstrap, queue, partition, chosen)
        if not dry_run:
            replay(bootstrap, letters, target, ANSWER_SECONDS, lambda done: click.echo(done.text(), err=True))
            return
        for letter in letters:
            to = target or letter.topic or "no topic: it does not say where it came from"
            place = f"offset {letter.offset} of partition {letter.partition}"
            click.echo(f"Would write {place} (from {letter.origin or 'an unknown topic'}) to {to}")


def _queue(client: KafkaConnectClient, topic: str | None, connector: str | None) -> str:
    if (topic is None) == (connector is None):
        raise click.UsageError("Name a TOPIC, or a connector with --connector.")
    if connector is None:
        return str(topic)
    info = client.info(connector)
    if info is None:
        raise Trouble(f"Connector {connector!r} does not exist.")
    found = (info.config.get(DEAD_LETTER_KEY) or "").strip()
    if not found:
        raise Trouble(f"Connector {connector!r} has no dead letter queue: {DEAD_LETTER_KEY} is not set.")
    return found


def _chosen(bootstrap: Brokers, topic: str, partition: int | None, chosen: Offsets | None) -> Iterator[DeadLetter]:
    if partition is not None or chosen is not None:
        _require_one_partition(bootstrap, topic, partition, chosen)
    for letter in dead_letters(bootstrap, topic, ANSWER_SECONDS):
        if partition in (None, letter.partition) and (chosen is None or letter.offset in chosen):
            yield letter


def _require_one_partition(bootstrap: Brokers, topic: str, partition: int | None, chosen: Offsets | None) -> None:
    partitions = partition_count(bootstrap, topic, ANSWER_SECONDS) or 0
    if partition is not None and 0 < partitions <= partition:
        raise click.UsageError(f"Topic {topic} has no partition {partition}: it has {partitions}, counted from 0.")
    if chosen is not None and partition is None and partitions > 1:
        raise click.UsageError("--offsets needs --partition: the topic has several, and offsets count within one.")


def _row(letter: DeadLetter) -> Sequence[str]:
    time = "" if letter.timestamp is None else time_text(letter.timestamp)
    text = (letter.text or "").replace("\n", " ")
    shown = text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"
    exception = (letter.exception or "").rpartition(".")[2]
    place = str(letter.partition), str(letter.offset)
    return *place, time, letter.origin or "", letter.stage or "", exception, shown


@contextmanager
def _one_sentence(bootstrap: Brokers) -> Iterator[None]:
    try:
        yield
    except UnansweredError as error:
        raise unanswered(bootstrap, str(error)) from error
    except BrokersError as error:
        raise click.ClickException(str(error)) from error
