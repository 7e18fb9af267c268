"""``connect-dagster preview``: records of a topic through a sink's converters and transforms, without the sink."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from connect_dagster.cli.connectors.rest_access import NOT_AS_WISHED, Trouble
from connect_dagster.cli.topics.brokers import unanswered
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
    from connect_dagster.worker.sink.preview import SinkPreview

_FILE = click.Path(exists=True, dir_okay=False)
_COMMITTED, _UNCOMMITTED = "read_committed", "read_uncommitted"


@click.command("preview")
@click.argument("worker", metavar="WORKER.PROPERTIES", type=_FILE)
@click.argument("connector", metavar="CONNECTOR.PROPERTIES", type=_FILE)
@click.option("--topic", help="Topic to read, instead of those of the connector one after another.")
@click.option("--partition", type=click.IntRange(min=0), help="Read this partition only.")
@click.option("--offset", type=click.IntRange(min=0), help="Start with this offset; needs --partition.")
@click.option(
    "--max-messages", type=click.IntRange(1, 500), default=10, show_default=True, help="End after this number."
)
@click.option("--schemas", is_flag=True, help="Print the schemas of keys and values, too.")
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
) -> None:
    """Print what a sink would get of the first records of its topics, and write nothing.

    Reads records as the sink's tasks do, with the files that connect-standalone takes, and applies the converters and
    transforms of the connector. The connector itself is validated, but not started; no offsets are committed. Prints
    a JSON object for each record: with key, value and headers, with its failure, or as dropped by a transform. Exits
    with 1 when a record failed.
    """
    if offset is not None and partition is None:
        raise click.UsageError("--offset needs --partition: offsets count within a partition.")
    with _one_sentence(), process_scratch():
        preview, config = _previewed(worker, connector, topic, partition, offset, max_messages)
    for line in _lines(preview, schemas):
        click.echo(line)
    failed = len(preview.failed)
    would = "skip them" if config.errors_tolerance == "all" else "fail at the first"
    counts = f"{len(preview.put)} for the sink, {len(preview.dropped)} dropped, {failed} failed"
    click.echo(f"{counts}: the task would {would} (errors.tolerance)" if failed else counts, err=True)
    if failed:
        context.exit(NOT_AS_WISHED)


def _previewed(
    worker: str, connector: str, topic: str | None, partition: int | None, offset: int | None, most: int
) -> tuple[SinkPreview, SinkConnectorConfig]:
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
        from connect_dagster.worker.config.worker import WorkerConfig
        from connect_dagster.worker.sink.preview import preview_sink

        plugins = Plugins.of(props)
        transformer = ConfigTransformer.of(props, plugins)
        try:
            config = WorkerConfig.parse(transformer.transform(props).config, plugins.find_class)
            Validator(plugins, config, transformer=transformer).check(request.config)
            resolved = transformer.transform(request.config).config
            given = {key: value for key, value in resolved.items() if value is not None}
            kind = plugins.connector(given["connector.class"], given.get("connector.plugin.version")).plugin
            if not issubclass(kind, SinkConnector):
                raise ConnectError(f"{connector}: {given['connector.class']} is a source; preview takes a sink.")
            parsed = SinkConnectorConfig.parse(given)
            messages = _messages(config, parsed, topic, partition, offset, most)
            session = start.session(config.originals)
            return preview_sink(session.spark, plugins, config, given, messages), parsed
        finally:
            transformer.close()
    finally:
        if session is None:
            start.stop()
        else:
            session.stop()


def _messages(
    worker: WorkerConfig,
    connector: SinkConnectorConfig,
    topic: str | None,
    partition: int | None,
    offset: int | None,
    most: int,
) -> list[Message]:
    """Return the first records of a topic, or of the connector's."""
    from confluent_kafka import OFFSET_BEGINNING

    from connect_dagster.kafka.access import Brokers
    from connect_dagster.kafka.clients import admin_settings_of
    from connect_dagster.kafka.override_policy import ClientPolicy
    from connect_dagster.kafka.topic_reading import read_topic
    from connect_dagster.protocol.states import TaskId
    from connect_dagster.worker.task_clients import TaskClients

    topics = [topic] if topic is not None else list(connector.topics)
    if not topics:
        raise click.UsageError("The connector has topics.regex: name a topic with --topic.")
    clients = TaskClients(worker, ClientPolicy.of(worker.originals))
    consumer = clients.consumer(TaskId(connector.name, 0), connector)
    brokers = Brokers(consumer["bootstrap.servers"], admin_settings_of(consumer))
    isolation = _COMMITTED if consumer.get("isolation.level") == _COMMITTED else _UNCOMMITTED
    start = OFFSET_BEGINNING if offset is None else offset
    found: list[Message] = []
    try:
        for name in topics:
            records = read_topic(brokers, name, ANSWER_SECONDS, partition, isolation, start)
            found += islice(records, most - len(found))
    except UnansweredError as error:
        raise unanswered(brokers, str(error)) from error
    if not found:
        raise Trouble(f"No record of {', '.join(topics)} is there to be read.")
    return found


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except (ConnectError, EmbeddedError, BrokersError) as error:
        raise Trouble(str(error)) from error


def _lines(preview: SinkPreview, schemas: bool) -> Iterator[str]:
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
        raw, failure = failed.record, failed.failure
        why = {"stage": failure.stage, "class": failure.executor, "exception": failure.exception}
        read = raw.topic, raw.partition, raw.offset
        found.append((read, {**_outcome("failed", *read), **why, "message": failure.message}))
    found += [(read, _outcome("dropped", *read)) for read in preview.dropped]
    return (text.dumps(shown) for _, shown in sorted(found, key=lambda each: each[0]))


def _outcome(outcome: str, topic: str | None, partition: int | None, offset: int | None) -> dict[str, Any]:
    return {"outcome": outcome, "topic": topic, "partition": partition, "offset": offset}


def _value(schema: Schema | None, value: Any) -> Any:
    from connect_dagster.converters.json.envelope import value_to_json

    return value if schema is None else value_to_json(schema, value, numeric_decimals=True)


def _schemas(key: Schema | None, value: Schema | None) -> Mapping[str, Any]:
    from connect_dagster.converters.json.envelope import to_json

    return {"key_schema": to_json(key), "value_schema": to_json(value)}
