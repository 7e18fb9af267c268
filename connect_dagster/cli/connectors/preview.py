"""``connect-dagster preview``: records of a topic or a source through converters and transforms, and no further."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, Trouble
from connect_dagster.embedded.errors import EmbeddedError
from connect_dagster.errors import ConnectError
from connect_dagster.java.properties import load_properties
from connect_dagster.kafka.errors import BrokersError, UnansweredError
from connect_dagster.kafka.groups import ANSWER_SECONDS
from connect_dagster.plugin.connector_file import read_connector_file
from connect_dagster.scratch import process_scratch

if TYPE_CHECKING:
    from confluent_kafka import Message

    from connect_dagster.plugin.schema import Schema
    from connect_dagster.worker.config.sink import SinkConnectorConfig
    from connect_dagster.worker.config.worker import WorkerConfig
    from connect_dagster.worker.errors.failures import FailedRecord
    from connect_dagster.worker.sink.preview import SinkPreview
    from connect_dagster.worker.source.preview import SourcePreview

_FILE = click.Path(exists=True, dir_okay=False)
_COMMITTED, _UNCOMMITTED = "read_committed", "read_uncommitted"


@click.command("preview")
@click.argument("worker", metavar="WORKER.PROPERTIES", type=_FILE)
@click.argument("connector", metavar="CONNECTOR.PROPERTIES", type=_FILE)
@click.option("--topic", help="Topic to read, instead of those of the sink one after another.")
@click.option("--partition", type=click.IntRange(min=0), help="Read this partition only.")
@click.option("--offset", type=click.IntRange(min=0), help="Start with this offset; needs --partition.")
@click.option(
    "--max-messages", type=click.IntRange(1, 500), default=10, show_default=True, help="End after this number."
)
@click.option("--schemas", is_flag=True, help="Print the schemas of a sink's keys and values, too.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=30.0,
    show_default=True,
    help="Seconds after which fewer records of a source are enough.",
)
@click.pass_context
def preview_command(
    context: click.Context,
    worker: str,
    connector: str,
    topic: str | None,
    partition: int | None,
    offset: int | None,
    max_messages: int,
    schemas: bool,
    timeout: float,
) -> None:
    """Print the first records of a connector behind its transforms, and write nothing.

    Takes the files that connect-standalone takes. Of a sink, the records of its topics as it would get them: the
    connector is validated, but not started, and no offsets are committed. Of a source, the records that its first task
    reads as that of a new connector, as they would be sent. Prints a JSON object for each record: with key, value and
    headers, with its failure, or as dropped by a transform. Exits with 1 when a record failed.
    """
    if offset is not None and partition is None:
        raise click.UsageError("--offset needs --partition: offsets count within a partition.")
    choice = _Choice(topic, partition, offset, max_messages, schemas, timeout)
    with _one_sentence(), process_scratch():
        shown = _previewed(worker, connector, choice)
    for line in shown.lines:
        click.echo(line)
    would = "skip them" if shown.tolerance == "all" else "fail at the first"
    text = f"{shown.counts}: the task would {would} (errors.tolerance)" if shown.failed else shown.counts
    click.echo(text, err=True)
    if shown.failed:
        context.exit(NOT_AS_WISHED)


class _Choice(NamedTuple):
    """The records to preview, as the options have them."""

    topic: str | None
    partition: int | None
    offset: int | None
    most: int
    schemas: bool
    seconds: float


class _Shown(NamedTuple):
    """A preview as it is printed.

    Attributes:
        lines: one of JSON for each record.
        counts: of records, as a text.
        failed: number of records that failed.
        tolerance: of the connector.
    """

    lines: Sequence[str]
    counts: str
    failed: int
    tolerance: str


def _previewed(worker: str, connector: str, choice: _Choice) -> _Shown:
    """Read records, and have Spark apply the connector's converters and transforms.

    Raises:
        ConnectError: a file or a configuration is wrong.
        BrokersError: a topic cannot be read.
    """
    props, request = load_properties(worker), read_connector_file(connector)
    from connect_dagster.worker.spark.session_start import SessionStart

    # The JVM starts while the modules of a worker are imported and the records are read.
    start = SessionStart(props)
    session = None
    try:
        from connect_dagster.herder.validation.validator import Validator
        from connect_dagster.isolation.config_transformer import ConfigTransformer
        from connect_dagster.isolation.plugins import Plugins
        from connect_dagster.plugin.connector import SinkConnector
        from connect_dagster.worker.config.sink import SinkConnectorConfig
        from connect_dagster.worker.config.source import SourceConnectorConfig
        from connect_dagster.worker.config.worker import WorkerConfig
        from connect_dagster.worker.sink.preview import preview_sink
        from connect_dagster.worker.source.preview import preview_source

        plugins = Plugins.of(props)
        transformer = ConfigTransformer.of(props, plugins)
        try:
            config = WorkerConfig.parse(transformer.transform(props).config, plugins.find_class)
            Validator(plugins, config, transformer=transformer).check(request.config)
            resolved = transformer.transform(request.config).config
            given = {key: value for key, value in resolved.items() if value is not None}
            kind = plugins.connector(given["connector.class"], given.get("connector.plugin.version")).plugin
            if issubclass(kind, SinkConnector):
                sink = SinkConnectorConfig.parse(given)
                messages = _messages(config, sink, choice)
                session = start.session(config.originals)
                put = preview_sink(session.spark, plugins, config, given, messages)
                return _Shown(_sink_lines(put, choice.schemas), put.counts, len(put.failed), sink.errors_tolerance)
            if choice.topic is not None or choice.partition is not None:
                raise click.UsageError(f"{connector} is a source: --topic, --partition and --offset are for sinks.")
            source = SourceConnectorConfig.parse(given)
            session = start.session(config.originals)
            sent = preview_source(session.spark, plugins, config, given, choice.most, choice.seconds)
            return _Shown(_source_lines(sent), sent.counts, len(sent.failed), source.errors_tolerance)
        finally:
            transformer.close()
    finally:
        if session is None:
            start.stop()
        else:
            session.stop()


def _messages(worker: WorkerConfig, connector: SinkConnectorConfig, choice: _Choice) -> list[Message]:
    """Return the first records of a topic, or of the connector's, which its pattern may choose."""
    from confluent_kafka import OFFSET_BEGINNING

    from connect_dagster.kafka.access import Brokers
    from connect_dagster.kafka.clients import admin_settings_of
    from connect_dagster.kafka.override_policy import ClientPolicy
    from connect_dagster.kafka.topic_reading import read_topic, topic_names
    from connect_dagster.protocol.states import TaskId
    from connect_dagster.worker.sink.consumer import matching_topics
    from connect_dagster.worker.task_clients import TaskClients

    clients = TaskClients(worker, ClientPolicy.of(worker.originals))
    consumer = clients.consumer(TaskId(connector.name, 0), connector)
    brokers = Brokers(consumer["bootstrap.servers"], admin_settings_of(consumer))
    isolation = _COMMITTED if consumer.get("isolation.level") == _COMMITTED else _UNCOMMITTED
    start = OFFSET_BEGINNING if choice.offset is None else choice.offset
    found: list[Message] = []
    try:
        topics = [choice.topic] if choice.topic is not None else list(connector.topics)
        if not topics:
            topics = matching_topics(connector.topics_regex, topic_names(brokers, ANSWER_SECONDS))
            if not topics:
                raise Trouble(f"No topic matches topics.regex={connector.topics_regex}: correct it, or name a --topic.")
        for name in topics:
            records = read_topic(brokers, name, ANSWER_SECONDS, choice.partition, isolation, start)
            found += islice(records, choice.most - len(found))
    except UnansweredError as error:
        raise Trouble(
            f"No broker responded at {brokers} within {ANSWER_SECONDS:g} s ({error}): check bootstrap.servers of the "
            "worker's file, and that Kafka is running."
        ) from error
    if not found:
        raise Trouble(f"No record of {', '.join(topics)} is there to be read.")
    return found


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except (ConnectError, EmbeddedError, BrokersError) as error:
        raise Trouble(str(error)) from error


def _sink_lines(preview: SinkPreview, schemas: bool) -> list[str]:
    """Return a line of JSON for each record, in the order of their offsets."""
    from connect_dagster.converters.json import text

    found: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    for one in preview.put:
        read = one.original_topic, one.original_kafka_partition, one.original_kafka_offset
        shown = {
            "outcome": "put",
            "topic": one.topic,
            "partition": one.partition,
            "offset": one.offset,
            "timestamp": one.timestamp,
            "key": _value(one.key_schema, one.key),
            "value": _value(one.value_schema, one.value),
            "headers": [{"key": each.key, "value": _value(each.schema, each.value)} for each in one.headers],
        }
        found.append((read, {**shown, **_schemas(one.key_schema, one.value_schema)} if schemas else shown))
    for failed in preview.failed:
        read = failed.record.topic, failed.record.partition, failed.record.offset
        found.append((read, {**_outcome("failed", *read), **_reasons(failed)}))
    found += [(read, _outcome("dropped", *read)) for read in preview.dropped]
    return [text.dumps(shown) for _, shown in sorted(found, key=lambda each: each[0])]


def _source_lines(preview: SourcePreview) -> list[str]:
    """Return a line of JSON for each record, bytes as `topic read` prints them; those that failed last."""
    from connect_dagster.cli.topics.record_text import bytes_field

    sent = [
        {
            "outcome": "sent",
            "topic": record["topic"],
            "partition": record.get("partition"),
            "timestamp": record.get("timestamp"),
            **bytes_field("key", record.get("key")),
            **bytes_field("value", record["value"]),
            "headers": [
                {"key": one["key"], **bytes_field("value", one["value"])} for one in record.get("headers") or ()
            ],
        }
        for record in preview.sent
    ]
    failed = [
        {
            "outcome": "failed",
            "topic": one.record.topic,
            "source_partition": one.record.source_partition,
            **bytes_field("key", one.record.key),
            **bytes_field("value", one.record.value),
            **_reasons(one),
        }
        for one in preview.failed
    ]
    return [json.dumps(shown, ensure_ascii=False, separators=(",", ":")) for shown in (*sent, *failed)]


def _reasons(failed: FailedRecord) -> dict[str, Any]:
    failure = failed.failure
    names = {"stage": failure.stage, "class": failure.executor, "exception": failure.exception}
    return {**names, "message": failure.message}


def _outcome(outcome: str, topic: str | None, partition: int | None, offset: int | None) -> dict[str, Any]:
    return {"outcome": outcome, "topic": topic, "partition": partition, "offset": offset}


def _value(schema: Schema | None, value: Any) -> Any:
    from connect_dagster.converters.json.envelope import value_to_json

    return value if schema is None else value_to_json(schema, value, numeric_decimals=True)


def _schemas(key: Schema | None, value: Schema | None) -> Mapping[str, Any]:
    from connect_dagster.converters.json.envelope import to_json

    return {"key_schema": to_json(key), "value_schema": to_json(value)}
