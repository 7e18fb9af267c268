"""JDBC source: rows of tables, or of a query, become records.

    name=mysql-time-incre-source
    connector.class=io.confluent.connect.jdbc.JdbcSourceConnector
    tasks.max=10
    connection.url=jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=kafka123
    table.whitelist=customers
    mode=timestamp+incrementing
    timestamp.column.name=modified
    incrementing.column.name=id
    topic.prefix=mysql-

Options, offsets and conditions are those of the connectors in Java. Rows are read by Spark, in ranges with both ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.jdbc.database import HeldConnection
from connect_dagster.connectors.jdbc.identifiers import TableId
from connect_dagster.connectors.jdbc.source.columns import JdbcColumn
from connect_dagster.connectors.jdbc.source.config import BULK, JdbcSourceConfig
from connect_dagster.connectors.jdbc.source.deletes import DeleteScan
from connect_dagster.connectors.jdbc.source.queriers import (
    BulkTableQuerier,
    TableQuerier,
    TimestampIncrementingTableQuerier,
)
from connect_dagster.connectors.jdbc.source.row_reader import RowReader, Target
from connect_dagster.connectors.jdbc.source.table_monitor import TableMonitor, grouped
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import (
    INCREMENTING,
    PROTOCOL,
    QUERY,
    TABLE,
    TIMESTAMP,
    Partition,
    TimestampIncrementingOffset,
    java_map_text,
    java_maps_text,
    old_table_partition,
    query_partition,
    snapshot_partition,
    table_partition,
)
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError, sql_error
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.expressions import java_patterns
from connect_dagster.plugin.connector import ExactlyOnceSupport, Properties, SourceConnector, SourceTask
from connect_dagster.plugin.lines import SourceBatch

log = logging.getLogger(__name__)

TABLES = "tables"
_WITHOUT_EFFECT = ("max.buffer.size", "poll.linger.ms")
_WAIT_SECONDS = 0.2
_STOP_SECONDS = 4.0


class JdbcSourceTask(SourceTask):
    """Read some tables, or the query, one after the other."""

    def start(self, config: Properties) -> None:
        """Connect, check the tables and look up their offsets."""
        self._config = JdbcSourceConfig.parse(config)
        self._ending = threading.Event()
        self._rereads = 0
        self._started = False
        self._queriers: list[ScheduledQuerier] = []
        self._connection = HeldConnection(self._connect)
        self._open_queriers(config)
        self._started = True

    def _open_queriers(self, config: Properties) -> None:
        """Schedule a querier for the query, or for each table."""
        parsed = self._config
        database = parsed.database()
        if parsed.query:
            self._queriers.append(self._scheduled(_query_target(parsed), None))
            return
        quoting = database.dialect.quoting.everywhere
        tables = quoting.parse_tables(config.get(TABLES, ""), catalogs=database.dialect.catalogs)
        if not tables:
            raise ConfigError("This task has no table to read: its connector found none")
        for table in tables:
            select = f"SELECT * FROM {database.dialect.quoting.table(table)}"
            topic = parsed.topic_prefix.strip() + table.name
            target = Target(select, quoting.table(table), topic, table_partition(table), table)
            self._queriers.append(self._scheduled(target, table))

    def poll(self) -> SourceBatch | None:
        """Return the next batch of the table that is due first."""
        next_due = min(self._queriers, key=lambda scheduled: scheduled.due)
        wait = next_due.due - time.monotonic()
        if wait > 0:
            self._ending.wait(min(wait, _WAIT_SECONDS))
            return None
        try:
            frame = next_due.querier.next()
        except DatabaseUnavailableError as error:
            self._connection.drop()
            next_due.retries += 1
            next_due.due = time.monotonic() + self._retry_delay(error, next_due.retries)
            return None
        next_due.retries = 0
        next_due.reschedule(busy=next_due.querier.busy, interval=self._config.poll_interval_ms / 1000)
        return frame

    def reread_delay(self, error: Exception) -> float | None:
        """Return the delay before rows are read again, for a database that may come back."""
        found = error if isinstance(error, DatabaseError) else sql_error(error, "Rows cannot be read")
        if not isinstance(found, DatabaseUnavailableError):
            return None
        self._rereads += 1
        return self._back_off(self._rereads)

    def encoded(self, batch: SourceBatch, records: int, size: int) -> None:
        """Fit the batches of the table to their bytes."""
        for scheduled in self._queriers:
            if scheduled.reader.target.topic == batch.topic:
                scheduled.reader.measured(records, size)

    def delivered(self, batch: SourceBatch) -> None:
        """Notify the queriers, which release what they kept for the frame."""
        self._rereads = 0
        for scheduled in self._queriers:
            scheduled.querier.delivered(batch)

    def stop(self) -> None:
        """Close the queriers and the connection."""
        if hasattr(self, "_ending"):
            self._ending.set()
            for scheduled in self._queriers:
                scheduled.querier.close()
            self._connection.drop()

    def _connect(self) -> Any:
        """Open a connection; only the start waits for a missing database, polls are repeated."""
        config = self._config
        database = config.database()
        if self._started:
            connection = database.connect()
        else:
            connection = database.connect_patiently(config.attempts, config.backoff_ms / 1000, self._ending.wait)
        if config.isolation != "DEFAULT":
            try:
                connection.isolate(config.isolation)
            except DatabaseError:
                connection.close()
                raise
        return connection

    def _retry_delay(self, error: DatabaseUnavailableError, retry: int) -> float:
        """Return the seconds before the n-th consecutive retry. Raises ConnectError after the last one."""
        seconds = self._back_off(retry)
        if seconds is None:
            raise ConnectError(f"Gave up after {retry - 1} retries (query.retry.attempts): {error}") from error
        log.warning("Will try again in %g s: %s", seconds, error)
        return seconds

    def _back_off(self, retry: int) -> float | None:
        """Return the seconds before the n-th consecutive retry; ``None`` after ``query.retry.attempts``."""
        if 0 <= self._config.retries < retry:
            return None
        return Backoff(0.2, self._config.backoff_ms / 1000).delay(retry)

    def _scheduled(self, target: Target, table: TableId | None) -> ScheduledQuerier:
        reader = RowReader(self.context.spark, self._config, target, self._connection, self.context.rate)
        return ScheduledQuerier(self._querier(reader, table), reader)

    def _querier(self, reader: RowReader, table: TableId | None) -> TableQuerier:
        config = self._config
        if config.mode == BULK:
            rows: TableQuerier = BulkTableQuerier(reader, self._saved_scan(reader))
        else:
            rows = self._incremental(reader, table)
        if not config.delete_scan_interval_ms:
            return rows
        return DeleteScan(rows, reader)

    def _incremental(self, reader: RowReader, table: TableId | None) -> TableQuerier:
        config = self._config
        columns = reader.described()
        timestamps = _timestamp_columns(config, table) if config.uses_timestamp else ()
        incrementing = _incrementing_column(config, table, columns) if config.uses_incrementing else ""
        _require_columns(columns, [*timestamps, *filter(None, (incrementing,))], reader.target)
        if config.validate_non_null and table is not None:
            _require_non_null(columns, timestamps, incrementing, reader.target)
        offset = self._stored_offset(reader.target, table)
        return TimestampIncrementingTableQuerier(
            reader, timestamps, incrementing, offset, self._initial_offset(reader), self._saved_scan(reader)
        )

    def _stored_offset(self, target: Target, table: TableId | None) -> TimestampIncrementingOffset | None:
        """Return the offset of an earlier task, possibly Java's; the current protocol goes before the old one."""
        partitions: list[Partition] = [target.partition]
        if table is not None:
            partitions.append(old_table_partition(table))
        found = list(zip(partitions, self.context.offsets.offsets(partitions), strict=True))
        for partition, offset in found:
            if offset is not None:
                log.info("Found offset %s for partition %s", java_maps_text(found), java_map_text(partition))
                return TimestampIncrementingOffset.of_offset(offset)
        return None

    def _initial_offset(self, reader: RowReader) -> TimestampIncrementingOffset:
        config = self._config
        timestamp = None
        if config.uses_timestamp and config.timestamp_initial is not None:
            timestamp = config.timestamp_initial * 1_000_000
            if config.timestamp_initial == -1:
                ((shown,),) = reader.connection.rows(reader.dialect.now, "timestamp")
                timestamp = reader.told_time(shown)
        incrementing = config.incrementing_initial if config.uses_incrementing else None
        return TimestampIncrementingOffset(timestamp, incrementing)

    def _saved_scan(self, reader: RowReader) -> dict[str, Any] | None:
        key = reader.key()
        if key is None or not key.whole:
            return None
        return self.context.offsets.offset(snapshot_partition(reader.target.partition, key.columns[0]))


class ScheduledQuerier:
    """A querier with the time of its next poll and its number of consecutive failures."""

    def __init__(self, querier: TableQuerier, reader: RowReader) -> None:
        self.querier = querier
        self.reader = reader
        self.due = 0.0
        self.retries = 0

    def reschedule(self, *, busy: bool, interval: float) -> None:
        """Set the next poll: now, behind the others, or after the interval."""
        now = time.monotonic()
        self.due = now if busy else now + interval


class JdbcSourceConnector(SourceConnector):
    """A source of the rows of a database's tables, or of a query.

    Tables are distributed over tasks; a query has one task.
    """

    config_def = JdbcSourceConfig
    task_class = JdbcSourceTask
    java_class: ClassVar[str] = "io.confluent.connect.jdbc.JdbcSourceConnector"
    java_task_class: ClassVar[str] = "io.confluent.connect.jdbc.source.JdbcSourceTask"
    other_java_classes: ClassVar[tuple[str, ...]] = ("io.aiven.connect.jdbc.JdbcSourceConnector",)
    version: ClassVar[str] = "0.1.0"

    def start(self, config: Properties) -> None:
        """Connect and find the tables."""
        if ignored := [name for name in _WITHOUT_EFFECT if name in config]:
            log.warning("These options have no effect, as single rows are not queued: %s", ", ".join(ignored))
        self._properties = dict(config)
        self._ending = threading.Event()
        self._parsed = parsed = JdbcSourceConfig.parse(config)
        self._monitor: TableMonitor | None = None
        connection = HeldConnection(self._connected)
        connection.get()
        if parsed.query:
            connection.drop()
            return
        context = self.context
        self._monitor = TableMonitor(parsed, connection, context.request_task_reconfiguration, context.raise_error)
        self._monitor.start()

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return a configuration for each group of tables, none without tables."""
        if self._monitor is None:
            return [{**self._properties, TABLES: ""}]
        tables = self._monitor.tables
        if not tables:
            log.warning("No tasks will be run because no tables were found")
            return []
        quoting = self._parsed.database().dialect.quoting
        groups = grouped(tables, min(len(tables), max_tasks))
        return [{**self._properties, TABLES: quoting.tables(group)} for group in groups]

    def exactly_once_support(self, config: Properties) -> ExactlyOnceSupport:
        """Support it where rows have positions, which those of the mode ``bulk`` have not."""
        is_bulk = JdbcSourceConfig.parse(config).mode.lower() == "bulk"
        return ExactlyOnceSupport.UNSUPPORTED if is_bulk else ExactlyOnceSupport.SUPPORTED

    def stop(self) -> None:
        """Stop the table monitor."""
        if hasattr(self, "_ending"):
            self._ending.set()
            if self._monitor is not None:
                self._monitor.stop(_STOP_SECONDS)

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each is an offset of a table or a query."""
        for partition, offset in offsets:
            if offset is None:
                continue
            if not partition or not {TABLE, QUERY} & partition.keys():
                raise ConnectError(
                    f"Partition {dict(partition or {})} does not belong to this connector: it needs '{TABLE}', with "
                    f"'{PROTOCOL}' 1 for a full name, or '{QUERY}'"
                )
            if not {INCREMENTING, TIMESTAMP} & offset.keys():
                raise ConnectError(f"Offset {dict(offset)} needs '{INCREMENTING}' or '{TIMESTAMP}'")
            TimestampIncrementingOffset.of_offset(offset)
        return True

    def _connected(self) -> Any:
        parsed = self._parsed
        return parsed.database().connect_patiently(parsed.attempts, parsed.backoff_ms / 1000, self._ending.wait)


def _query_target(config: JdbcSourceConfig) -> Target:
    name = f"query {config.shown_query}"
    return Target(config.query, name, config.topic_prefix.strip(), query_partition())


def _timestamp_columns(config: JdbcSourceConfig, table: TableId | None) -> tuple[str, ...]:
    if table is None or not config.timestamp_mapping:
        return tuple(name for name in config.timestamp_columns if name)
    columns = _mapped("timestamp.columns.mapping", config.timestamp_mapping, table)
    return tuple(name.strip() for name in columns.strip("[] ").split("|"))


def _incrementing_column(config: JdbcSourceConfig, table: TableId | None, columns: Sequence[JdbcColumn]) -> str:
    if table is not None and config.incrementing_mapping:
        return _mapped("incrementing.column.mapping", config.incrementing_mapping, table)
    if config.incrementing_column:
        return config.incrementing_column
    numbered = next((column.name for column in columns if column.incrementing), None)
    if numbered is None:
        raise ConfigError.invalid(
            "incrementing.column.name", "", f"Table {table} has no column that the database numbers: name one"
        )
    return numbered


def _mapped(key: str, mapping: Sequence[str], table: TableId) -> str:
    found = [one for one in mapping if java_patterns.matching(key, one.partition(":")[0].strip(), [str(table)])]
    if len(found) != 1:
        raise ConfigError.invalid(key, mapping, f"Table {table} must match one entry, and matches {len(found)}")
    return found[0].partition(":")[2].strip()


def _require_columns(columns: Sequence[JdbcColumn], names: Sequence[str], target: Target) -> None:
    there = {column.name.lower() for column in columns}
    missing = [name for name in names if name.lower() not in there]
    if missing:
        listed = ", ".join(column.name for column in columns)
        raise ConfigError(f"Column {missing[0]} does not exist in {target.name}, which has {listed}")


def _require_non_null(
    columns: Sequence[JdbcColumn], timestamps: Sequence[str], incrementing: str, target: Target
) -> None:
    optional = {column.name.lower(): column.optional for column in columns}
    if incrementing and optional[incrementing.lower()]:
        raise ConnectError(
            f"Cannot make incremental queries using incrementing column {incrementing} on {target.name} because this "
            "column is nullable."
        )
    if timestamps and all(optional[name.lower()] for name in timestamps):
        raise ConnectError(
            f"Cannot make incremental queries using timestamp columns [{', '.join(timestamps)}] on {target.name} "
            "because all of these columns nullable."
        )
