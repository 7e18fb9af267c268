"""JdbcSource: rows of tables, or of a query, become records.

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
import re
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from connect_dagster.connectors.jdbc.database import HeldConnection
from connect_dagster.connectors.jdbc.identifiers import TableId
from connect_dagster.connectors.jdbc.source.columns import JdbcColumn
from connect_dagster.connectors.jdbc.source.config import BULK, JdbcSourceConfig
from connect_dagster.connectors.jdbc.source.deletes import DeleteScan
from connect_dagster.connectors.jdbc.source.positions import (
    INCREMENTING,
    PROTOCOL,
    QUERY,
    TABLE,
    TIMESTAMP,
    Partition,
    Position,
    java_map_text,
    java_maps_text,
    old_table_partition,
    query_partition,
    snapshot_partition,
    table_partition,
)
from connect_dagster.connectors.jdbc.source.readings import BulkReading, IncrementalReading, Reading
from connect_dagster.connectors.jdbc.source.row_reader import RowReader, Target
from connect_dagster.connectors.jdbc.source.table_monitor import TableMonitor, grouped
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError, sql_error
from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.plugin.connector import Properties, SourceConnector, SourceTask
from connect_dagster.plugin.frames import SourceFrame

log = logging.getLogger(__name__)

TABLES = "tables"
_WAIT_SECONDS = 0.2
_STOP_SECONDS = 4.0


class JdbcSourceTask(SourceTask):
    """Reads some tables, or the query, in turns."""

    def start(self, config: Properties) -> None:
        """Connect, check the tables and find where to go on."""
        self._config = JdbcSourceConfig.parse(config)
        self._ending = threading.Event()
        self._rereads = 0
        self._started = False
        self._turns: list[_Turn] = []
        self._connection = HeldConnection(self._connect)
        self._take_targets(config)
        self._started = True

    def _take_targets(self, config: Properties) -> None:
        """Have a turn for the query, or for each table."""
        parsed = self._config
        database = parsed.database()
        if parsed.query:
            self._turns.append(_Turn(self._reading(_query_target(parsed), None)))
            return
        quoting = database.dialect.quoting.everywhere
        tables = quoting.parse_tables(config.get(TABLES, ""), catalogs=database.dialect.catalogs)
        if not tables:
            raise ConfigError("This task has no table to read: none was found when its connector looked for some")
        for table in tables:
            select = f"SELECT * FROM {database.dialect.quoting.table(table)}"
            topic = parsed.topic_prefix.strip() + table.name
            target = Target(select, quoting.table(table), topic, table_partition(table), table)
            self._turns.append(_Turn(self._reading(target, table)))

    def poll(self) -> SourceFrame | None:
        """The next batch of whichever table has waited longest."""
        turn = min(self._turns, key=lambda one: one.due)
        wait = turn.due - time.monotonic()
        if wait > 0:
            self._ending.wait(min(wait, _WAIT_SECONDS))
            return None
        try:
            frame = turn.reading.next()
        except DatabaseUnavailableError as error:
            self._connection.drop()
            turn.retries += 1
            turn.due = time.monotonic() + self._lost(error, turn.retries)
            return None
        turn.retries = 0
        turn.took(busy=turn.reading.busy, interval=self._config.poll_interval_ms / 1000)
        return frame

    def reread_delay(self, error: Exception) -> float | None:
        """Wait for a database that may come back."""
        found = sql_error(error, "Rows cannot be read")
        if not isinstance(found, DatabaseUnavailableError):
            return None
        self._rereads += 1
        return self._back_off(self._rereads)

    def delivered(self, frame: SourceFrame) -> None:
        """Let the reading it came from forget what it kept for it."""
        self._rereads = 0
        for turn in self._turns:
            turn.reading.delivered(frame)

    def stop(self) -> None:
        """Close everything."""
        if hasattr(self, "_ending"):
            self._ending.set()
            for turn in self._turns:
                turn.reading.close()
            self._connection.drop()

    def _connect(self) -> Any:
        """A connection: polls are not held up by a database that is away, they are just tried again."""
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

    def _lost(self, error: DatabaseUnavailableError, retry: int) -> float:
        """Seconds until the next try, the so manieth in a row."""
        seconds = self._back_off(retry)
        if seconds is None:
            raise ConnectError(f"Gave up after {retry - 1} retries (query.retry.attempts): {error}") from error
        log.warning("Will try again in %g s: %s", seconds, error)
        return seconds

    def _back_off(self, retry: int) -> float | None:
        """Seconds to wait before the so manieth retry in a row; ``None`` when there were enough."""
        if 0 <= self._config.retries < retry:
            return None
        return min(self._config.backoff_ms / 1000, 0.1 * (1 << min(retry, 10)))

    def _reading(self, target: Target, table: TableId | None) -> Reading:
        config = self._config
        reader = RowReader(self.context.spark, config, target, self._connection)
        if config.mode == BULK:
            rows: Reading = BulkReading(reader, self._noted(reader))
        else:
            rows = self._incremental(reader, table)
        if not config.delete_scan_interval_ms:
            return rows
        return DeleteScan(rows, reader)

    def _incremental(self, reader: RowReader, table: TableId | None) -> Reading:
        config = self._config
        columns = reader.described()
        timestamps = _timestamp_columns(config, table) if config.uses_timestamp else ()
        incrementing = _incrementing_column(config, table, columns) if config.uses_incrementing else ""
        _require_columns(columns, [*timestamps, *filter(None, (incrementing,))], reader.target)
        if config.validate_non_null and table is not None:
            _require_non_null(columns, timestamps, incrementing, reader.target)
        position = self._position(reader.target, table)
        return IncrementalReading(
            reader, timestamps, incrementing, position, self._initial(reader), self._noted(reader)
        )

    def _position(self, target: Target, table: TableId | None) -> Position | None:
        """Where an earlier task, perhaps Java's, stopped; today's protocol goes before the old one."""
        partitions: list[Partition] = [target.partition]
        if table is not None:
            partitions.append(old_table_partition(table))
        found = [(partition, self.context.offsets.offset(partition)) for partition in partitions]
        for partition, offset in found:
            if offset is not None:
                log.info("Found offset %s for partition %s", java_maps_text(found), java_map_text(partition))
                return Position.of_offset(offset)
        return None

    def _initial(self, reader: RowReader) -> Position:
        config = self._config
        timestamp = None
        if config.uses_timestamp and config.timestamp_initial is not None:
            timestamp = config.timestamp_initial * 1_000_000
            if config.timestamp_initial == -1:
                ((shown,),) = reader.connection.rows(reader.dialect.now, "timestamp")
                timestamp = reader.told_time(shown)
        incrementing = config.incrementing_initial if config.uses_incrementing else None
        return Position(timestamp, incrementing)

    def _noted(self, reader: RowReader) -> dict[str, Any] | None:
        key = reader.key()
        if key is None or not key.whole:
            return None
        return self.context.offsets.offset(snapshot_partition(reader.target.partition, key.columns[0]))


class _Turn:
    """A reading, when it is due, and how often in a row it was tried in vain."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.due = 0.0
        self.retries = 0

    def took(self, *, busy: bool, interval: float) -> None:
        """Have the next turn at once, behind the others, or after the interval."""
        now = time.monotonic()
        self.due = now if busy else now + interval


class JdbcSourceConnector(SourceConnector):
    """Shares tables among tasks; a query is one task's."""

    config_def = JdbcSourceConfig
    task_class = JdbcSourceTask
    java_class: ClassVar[str] = "io.confluent.connect.jdbc.JdbcSourceConnector"
    java_task_class: ClassVar[str] = "io.confluent.connect.jdbc.source.JdbcSourceTask"
    other_java_classes: ClassVar[tuple[str, ...]] = ("io.aiven.connect.jdbc.JdbcSourceConnector",)
    version: ClassVar[str] = "0.1.0"

    def start(self, config: Properties) -> None:
        """Connect, and find the tables."""
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
        """A configuration for each group of tables; none where there are no tables."""
        if self._monitor is None:
            return [{**self._properties, TABLES: ""}]
        tables = self._monitor.tables
        if not tables:
            log.warning("No tasks will be run because no tables were found")
            return []
        quoting = self._parsed.database().dialect.quoting
        groups = grouped(tables, min(len(tables), max_tasks))
        return [{**self._properties, TABLES: quoting.tables(group)} for group in groups]

    def stop(self) -> None:
        """End looking for tables."""
        if hasattr(self, "_ending"):
            self._ending.set()
            if self._monitor is not None:
                self._monitor.stop(_STOP_SECONDS)

    def alter_offsets(
        self, config: Properties, offsets: Sequence[tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]]
    ) -> bool:
        """Check that each is a position in a table or a query."""
        for partition, offset in offsets:
            if offset is None:
                continue
            if not partition or not {TABLE, QUERY} & partition.keys():
                raise ConnectError(
                    f"Partition {dict(partition or {})} is none of this connector: it needs '{TABLE}', with "
                    f"'{PROTOCOL}' 1 for a full name, or '{QUERY}'"
                )
            if not {INCREMENTING, TIMESTAMP} & offset.keys():
                raise ConnectError(f"Offset {dict(offset)} needs '{INCREMENTING}' or '{TIMESTAMP}'")
            Position.of_offset(offset)
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
    found = [one for one in mapping if re.fullmatch(one.partition(":")[0].strip(), str(table))]
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
