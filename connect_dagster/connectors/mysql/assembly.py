"""The parts of a task, made of its configuration."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pymysql

from connect_dagster.connectors.mysql.flavor import Flavor
from connect_dagster.connectors.mysql.heartbeat import Heartbeat, HeartbeatRules
from connect_dagster.connectors.mysql.history.history_topic import HistoryAccess, HistoryTopic
from connect_dagster.connectors.mysql.history.schema_changes import SchemaChangeRecords, SchemaChanges
from connect_dagster.connectors.mysql.history.schema_history import HistoryRules, SchemaHistory
from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlans
from connect_dagster.connectors.mysql.incremental.chunk_server import ChunkServer
from connect_dagster.connectors.mysql.incremental.context import IncrementalContext
from connect_dagster.connectors.mysql.incremental.incremental_notices import IncrementalNotices
from connect_dagster.connectors.mysql.incremental.incremental_snapshots import ChunkParts, IncrementalSnapshots
from connect_dagster.connectors.mysql.incremental.read_records import ReadRecords
from connect_dagster.connectors.mysql.notifications.notifications import Notifications
from connect_dagster.connectors.mysql.options.config import MariaDbConfig, MySqlConfig
from connect_dagster.connectors.mysql.options.converters import ConverterKind
from connect_dagster.connectors.mysql.options.snapshots import WatermarkStrategy
from connect_dagster.connectors.mysql.positions.position import source_partition
from connect_dagster.connectors.mysql.records.captured_table import RecordRules
from connect_dagster.connectors.mysql.records.change_records import RecordChoice
from connect_dagster.connectors.mysql.records.column_conversions import (
    ColumnConversion,
    TinyIntOneToBoolean,
    ZeroDateFallback,
)
from connect_dagster.connectors.mysql.records.context_headers import context_headers
from connect_dagster.connectors.mysql.records.envelope import source_schema
from connect_dagster.connectors.mysql.records.heartbeats import heartbeat_batch
from connect_dagster.connectors.mysql.records.record_tables import RecordParts
from connect_dagster.connectors.mysql.records.service_records import schema_change_key, schema_change_value
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.server.connection import connected
from connect_dagster.connectors.mysql.server.result_set import BatchLimits
from connect_dagster.connectors.mysql.server.server import Server
from connect_dagster.connectors.mysql.server.server_error import as_connect_error
from connect_dagster.connectors.mysql.server.sessions import Connection, SnapshotSession
from connect_dagster.connectors.mysql.signals.signal_actions import ActionParts, SignalActions
from connect_dagster.connectors.mysql.signals.signal_table import SignalTable
from connect_dagster.connectors.mysql.signals.signal_topic import SignalTopicReader
from connect_dagster.connectors.mysql.signals.signalling import SignalChannels, Signalling
from connect_dagster.connectors.mysql.signals.snapshot_requests import SnapshotRequests
from connect_dagster.connectors.mysql.snapshot.initial_notices import InitialNotices
from connect_dagster.connectors.mysql.snapshot.initial_snapshot import InitialSnapshot, SnapshotMaking, SnapshotRules
from connect_dagster.connectors.mysql.snapshot.snapshot_metrics import SnapshotMetrics
from connect_dagster.connectors.mysql.stream.beginning import LogFacts, Replica
from connect_dagster.connectors.mysql.stream.binary_log import BinaryLog
from connect_dagster.connectors.mysql.stream.captured_tables import CapturedTables
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTables
from connect_dagster.connectors.mysql.stream.log_stream import LogStream
from connect_dagster.connectors.mysql.stream.present_tables import PresentTables
from connect_dagster.connectors.mysql.stream.streaming import Streaming
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.connectors.mysql.stream.transactions import TransactionMonitor
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import STRING_SCHEMA

Config = MySqlConfig | MariaDbConfig
_CONVERSIONS: Mapping[ConverterKind, Callable[[str, Mapping[str, str]], ColumnConversion]] = {
    ConverterKind.TINYINT_ONE: TinyIntOneToBoolean.of,
    ConverterKind.ZERO_DATE: ZeroDateFallback.of,
}


def history_topic(config: Config) -> HistoryTopic:
    """Return the topic of the schema history."""
    client = f"{config.topic_prefix}-schemahistory"
    return HistoryTopic(
        HistoryAccess(
            config.history_topic,
            config.history_consumer(client),
            config.history_producer(client),
            max(config.recovery_poll_ms * config.recovery_attempts, 1000) / 1000,
            config.query_timeout_ms / 1000,
            config.create_timeout_ms / 1000,
        )
    )


def schema_history(config: Config, topic: HistoryTopic, server: Server) -> SchemaHistory:
    """Return the schema history, which knows no tables yet."""
    variables = server.variables("lower_case_table_names", "character_set_server")
    parser = DdlParser(
        Tables(int(variables.get("lower_case_table_names", 0))),
        server.flavor,
        keeps_comments=keeps_comments(config, server.flavor),
        server_charset=variables.get("character_set_server"),
    )
    partition = source_partition(config.topic_prefix)
    return SchemaHistory(
        topic, parser, HistoryRules(partition, config.filters, config.skips_unparseable, config.passes_over)
    )


def keeps_comments(config: Config, flavor: Flavor) -> bool:
    """Return whether tables have their comments, which Debezium ties to another option for MariaDB."""
    return config.schema_comments or (flavor is Flavor.MARIADB and config.schema_changes)


@dataclass(frozen=True, slots=True)
class RecordMaking:
    """The parts that make records.

    Attributes:
        rules: topics, schemas and values of data records.
        parts: what all of them have.
        schema_changes: records of schema changes; ``None`` for none.
    """

    rules: RecordRules
    parts: RecordParts
    schema_changes: SchemaChangeRecords | None


def record_making(config: Config, flavor: Flavor, version: str, headers: HeaderConverter) -> RecordMaking:
    """Return the parts that make records.

    Args:
        config: of the connector.
        flavor: kind of the server.
        version: of the connector, as records have it.
        headers: converter of headers.
    """
    source = SourceConstants(version, flavor.value, config.topic_prefix)
    schema = source_schema(flavor.value)
    names = config.topic_names
    rules = RecordRules(
        schema,
        names,
        config.filters,
        config.type_modes,
        config.message_keys,
        config.column_rules,
        config.schema_name_adjustment,
        config.field_name_adjustment,
        tuple(_CONVERSIONS[one.kind](one.name, one.settings) for one in config.column_converters),
    )
    context = _context(config, flavor, headers)
    changes = SchemaChangeRecords(
        names.schema_changes,
        schema_change_key(flavor.value),
        schema_change_value(flavor.value, schema),
        source,
        context,
    )
    parts = RecordParts(source, context, headers.to_bytes)
    return RecordMaking(rules, parts, changes if config.schema_changes else None)


def _context(config: Config, flavor: Flavor, headers: HeaderConverter) -> Mapping[str, bytes | None]:
    if not config.with_context_headers:
        return {}
    found = context_headers(config.topic_prefix, 0, flavor.value, uuid.uuid4())
    return {name: headers.to_bytes(STRING_SCHEMA, value) for name, value in found.items()}


def _schema_changes(making: RecordMaking, history: SchemaHistory) -> SchemaChanges:
    return SchemaChanges(history, making.schema_changes, now_micros)


def change_tables(config: Config, server: Server, making: RecordMaking, history: SchemaHistory) -> ChangeTables:
    """Return what makes records of rows."""
    choice = RecordChoice(config.tombstones, config.skipped_operations, config.skip_unchanged)
    present = PresentTables(server, history, now_micros, keeps_comments=keeps_comments(config, server.flavor))
    tables = CapturedTables(history.tables, making.rules, config.failures.schemas, present)
    return ChangeTables(
        tables, choice, making.parts, config.gtid_sources, now_micros, config.signal_table, config.failures
    )


def signalling(config: Config, flavor: Flavor, making: RecordMaking, history: SchemaHistory) -> Signalling:
    """Return what hears signals."""
    context = IncrementalContext()
    table, incremental = config.signal_table, config.incremental
    snapshots = None
    if table is not None:
        server = ChunkServer(lambda: _reading_session(config), table, incremental.strategy, incremental.chunk_rows)
        plans = ChunkPlans(history.tables, making.rules)
        parts = ChunkParts(server, plans, ReadRecords(making.parts, now_micros), time.monotonic)
        snapshots = IncrementalSnapshots(parts, context, IncrementalNotices(notifications(config), context))
    asked = None if snapshots is None else SnapshotRequests(snapshots, history.tables)
    actions = SignalActions(ActionParts(flavor, _schema_changes(making, history), asked, now_micros))
    topic = config.signal_topic(config.topic_prefix)
    channels = SignalChannels(
        None if table is None else SignalTable(table, incremental.strategy is WatermarkStrategy.INSERT_DELETE),
        config.reads_signal_table,
        None
        if topic is None
        else SignalTopicReader(topic, config.topic_prefix, config.signal_poll_ms / 1000, time.monotonic),
    )
    beats = config.topic_names.heartbeats
    beat = (lambda: heartbeat_batch(beats, config.topic_prefix, now_micros() // 1000)) if config.heartbeat_ms else None
    return Signalling(channels, actions, context, snapshots, beat)


def notifications(config: Config) -> Notifications:
    """Return where notifications go."""
    return Notifications(config.topic_prefix, config.sends_notifications, config.logs_notifications, now_micros)


def transaction_monitor(config: Config) -> TransactionMonitor | None:
    """Return what numbers records in their transactions; ``None`` where they have no numbers."""
    return TransactionMonitor(config.topic_names.transactions) if config.transactions else None


@dataclass(frozen=True, slots=True)
class StreamExtras:
    """Parts of a stream beside the records of rows.

    Attributes:
        signals: hears signals.
        metrics: show how far it is.
        transactions: numbers records in their transactions; ``None`` where they have no numbers.
    """

    signals: Signalling
    metrics: StreamingMetrics
    transactions: TransactionMonitor | None = None


def binary_log(
    config: Config, server: Server, making: RecordMaking, history: SchemaHistory, extras: StreamExtras
) -> BinaryLog:
    """Return the log of a server."""
    partition = source_partition(config.topic_prefix)
    tables = change_tables(config, server, making, history)
    schema_changes = _schema_changes(making, history)

    def streaming(stream: LogStream) -> Streaming:
        tables.file_changed()
        return Streaming(stream, tables, schema_changes, extras.signals, partition, extras.metrics, extras.transactions)

    return BinaryLog(
        config.login(config.tls),
        replica(config),
        lambda: log_facts(server),
        streaming,
        config.reconnects,
        config.failures.events,
        extras.metrics,
        config.batch_bytes,
    )


def initial_snapshot(
    config: Config, making: RecordMaking, history: SchemaHistory, metrics: SnapshotMetrics
) -> InitialSnapshot:
    """Return a snapshot, which is not begun."""
    rules = SnapshotRules(
        config.snapshot_locks,
        config.lock_timeout_ms,
        config.threads,
        config.overrides,
        config.table_order,
        BatchLimits(config.batch_bytes, config.fetch_size),
    )
    parts = SnapshotMaking(
        making.rules,
        making.parts,
        _schema_changes(making, history),
        history.tables,
        source_partition(config.topic_prefix),
        now_micros,
        InitialNotices(notifications(config)),
        config.failures.values,
        metrics,
    )
    return InitialSnapshot(lambda: _reading_session(config), rules, parts)


def _reading_session(config: Config) -> Connection:
    """Open a session that reads tables.

    Raises:
        RetriableError: the server cannot be reached.
        ConnectError: it refuses.
    """
    login = config.login(config.tls)
    try:
        return connected(login, (*config.first_statements, *SnapshotSession().statements()))
    except (pymysql.MySQLError, OSError) as error:
        raise as_connect_error(f"to read tables as {login.address}", error) from error


def heartbeat(config: Config, server: Server) -> Heartbeat | None:
    """Return the heartbeats; ``None`` where there are none."""
    if not config.heartbeat_ms:
        return None
    statement = config.heartbeat_query
    rules = HeartbeatRules(
        config.topic_names.heartbeats,
        config.topic_prefix,
        config.heartbeat_ms / 1000,
        source_partition(config.topic_prefix),
        (lambda: server.rows(statement)) if statement else None,
    )
    return Heartbeat(rules, time.monotonic, lambda: now_micros() // 1000)


def replica(config: Config) -> Replica:
    """Return the connector as its server sees it."""
    return Replica(config.server_id, config.log_session, config.gtid_sources, not config.ignores_gtid, config.queries)


def log_facts(server: Server) -> LogFacts:
    """Return the facts of a server that decide on how its log is read."""
    purged = server.purged() if server.flavor is Flavor.MYSQL else None
    return LogFacts(server.flavor, server.has_gtids(), purged, server.has_checksums(), server.retention_seconds())


def now_micros() -> int:
    """Return the present time in microseconds since 1970."""
    return time.time_ns() // 1000
