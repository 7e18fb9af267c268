"""A snapshot: the structure of tables and their rows, at one position of the binary log.

Debezium: ``RelationalSnapshotChangeEventSource``. A snapshot that is not finished begins again at the next start, as
the transactions with its view are gone.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pymysql

from connect_dagster.connectors.mysql.decode.columns import Decoded
from connect_dagster.connectors.mysql.history.schema_changes import SchemaChanges, StatementPlace
from connect_dagster.connectors.mysql.locking_modes import Locks
from connect_dagster.connectors.mysql.options.failures import FailureRule
from connect_dagster.connectors.mysql.options.snapshots import TableOrder
from connect_dagster.connectors.mysql.positions.position import Position, SnapshotType
from connect_dagster.connectors.mysql.records.captured_table import (
    CapturedField,
    CapturedTable,
    RecordRules,
    captured_table,
    impossible_date,
)
from connect_dagster.connectors.mysql.records.change_records import read_records
from connect_dagster.connectors.mysql.records.envelope import SnapshotRecord
from connect_dagster.connectors.mysql.records.record_tables import RecordParts, record_headers, record_table
from connect_dagster.connectors.mysql.records.source_info import SourceColumns, source_struct
from connect_dagster.connectors.mysql.records.types import short_timestamps
from connect_dagster.connectors.mysql.schema.information_schema import database_names, table_names
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.selection.select_overrides import SelectOverrides
from connect_dagster.connectors.mysql.server.result_set import BatchLimits
from connect_dagster.connectors.mysql.server.server_error import ErrorNumber, as_connect_error, reported
from connect_dagster.connectors.mysql.server.sessions import Connection
from connect_dagster.connectors.mysql.snapshot.chunks import TableScan, plan, row_estimates
from connect_dagster.connectors.mysql.snapshot.initial_notices import InitialNotices
from connect_dagster.connectors.mysql.snapshot.locks import SnapshotLock, snapshot_view
from connect_dagster.connectors.mysql.snapshot.readers import SnapshotReaders, TableBatch
from connect_dagster.connectors.mysql.snapshot.snapshot_metrics import SnapshotMetrics
from connect_dagster.connectors.mysql.snapshot.structure import Statement, structure_statements
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)

_WAIT_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class SnapshotRules:
    """Options of a snapshot.

    Attributes:
        locks: that it takes.
        lock_wait_ms: longest wait for them.
        threads: number of connections that read rows.
        overrides: statements in place of those that read whole tables.
        order: of the tables.
        limits: of a batch.
    """

    locks: Locks
    lock_wait_ms: int
    threads: int
    overrides: SelectOverrides
    order: TableOrder
    limits: BatchLimits


@dataclass(frozen=True, slots=True)
class SnapshotMaking:
    """The parts that make records of a snapshot.

    Attributes:
        rules: of data records.
        parts: of data records.
        schema_changes: applies statements.
        tables: that are known, as statements leave them.
        partition: of the offsets.
        micros: gives the present time in microseconds since 1970.
        notices: report how far it is.
        impossible: what happens with dates that no calendar has.
        metrics: show how far it is.
    """

    rules: RecordRules
    parts: RecordParts
    schema_changes: SchemaChanges
    tables: Tables
    partition: Mapping[str, str]
    micros: Callable[[], int]
    notices: InitialNotices
    impossible: FailureRule
    metrics: SnapshotMetrics


class InitialSnapshot:
    """One snapshot.

    Args:
        connect: opens a session that reads tables.
        rules: options.
        making: makes records.

    Attributes:
        position: at which the tables were read; ``None`` before that is known.
    """

    def __init__(self, connect: Callable[[], Connection], rules: SnapshotRules, making: SnapshotMaking) -> None:
        self.position: Position | None = None
        self._connect = connect
        self._rules = rules
        self._making = making
        self._reports: list[SourceTable] = []
        self._opened = contextlib.ExitStack()

    def batches(self, *, structure: bool, data: bool, at: Position | None = None) -> Iterator[list[SourceTable]]:
        """Yield the batches, none where they do not come at once.

        Args:
            structure: whether the statements that make the tables are read.
            data: whether rows are read.
            at: position at which the structure counts, where the log is read on from it; ``None`` for the present one.

        Raises:
            RetriableError: the server is gone, or a table was altered before its rows were read.
            ConnectError: a right is missing, a lock was not granted, or a value cannot be read.
        """
        held: list[SourceTable] = []
        try:
            with self._opened:
                for found in self._all_batches(structure=structure, data=data, at=at):
                    # The last batch is held back, as the end of the snapshot is marked in it.
                    sent = [*held, *found][:-1] if found else []
                    yield [self._with_offset(batch) for batch in [*sent, *self._reported()]]
                    held = found[-1:] or held
        except BaseException as error:
            self._making.notices.aborted()
            self._making.metrics.aborted()
            if isinstance(error, pymysql.MySQLError | OSError):
                raise _raised(error) from error
            raise
        self._making.metrics.completed()
        completed = [self._at_end(batch) for batch in self._making.notices.completed()]
        yield [*(self._finished(batch) for batch in held), *completed]

    def close(self) -> None:
        """Close all connections."""
        self._opened.close()

    def _all_batches(self, *, structure: bool, data: bool, at: Position | None) -> Iterator[list[SourceTable]]:
        control = self._session()
        filters = self._making.rules.filters
        every = _tables(control)
        captured = filters.in_snapshot(every)
        readers = [self._session() for _ in range(self._rules.threads)] if data and captured else []
        lock = SnapshotLock(control, self._rules.locks, captured, self._rules.lock_wait_ms)
        with snapshot_view(lock, readers) as view:
            if view.position is None:
                raise ConnectError("The server has no binary log: log_bin must be ON")
            micros = self._making.micros()
            self.position = at or replace(view.position, timestamp=micros // 1_000_000)
            statements = _statements(control, filters.recorded(every)) if structure else []
            lock.release_after_structure()
            log.info("The snapshot has %d tables at %s", len(captured), self.position.offset())
            self._reports += self._making.notices.started()
            yield [batch for one in statements for batch in self._applied(one, micros)]
            if readers:
                yield from self._rows(control, captured, readers, lock)

    def _session(self) -> Connection:
        connection = self._connect()
        self._opened.callback(_close, connection)
        return connection

    def _applied(self, statement: Statement, micros: int) -> list[SourceTable]:
        position = self._running
        place = StatementPlace(position, position.position, micros, snapshot=SnapshotRecord.TRUE)
        return self._making.schema_changes.apply(statement.text, statement.database, place).batches

    @property
    def _running(self) -> Position:
        assert self.position is not None
        return replace(self.position, snapshot=SnapshotType.INITIAL)

    def _rows(
        self, control: Connection, captured: Sequence[TableId], readers: Sequence[Connection], lock: SnapshotLock
    ) -> Iterator[list[SourceTable]]:
        tables = self._captured_tables(captured)
        is_first = True
        estimates = row_estimates(control, tables)
        self._making.metrics.started(estimates)
        scans = [self._scan(one) for one in tables.values()]
        ranges = plan(control, scans, estimates, len(readers), self._rules.order)
        with SnapshotReaders(readers, ranges, self._rules.limits) as reading:
            while not reading.is_done:
                lock.keep_alive()
                batch = reading.take(_WAIT_SECONDS)
                if batch is not None:
                    self._reports += self._making.notices.of_batch(batch, captured)
                    self._making.metrics.read(batch)
                if batch is None or not batch.rows:
                    yield []
                    continue
                yield [self._records(tables[batch.table], batch, is_first=is_first)]
                is_first = False

    def _captured_tables(self, captured: Sequence[TableId]) -> dict[TableId, CapturedTable]:
        found = {}
        for table_id in captured:
            known = self._making.tables.get(table_id)
            if known is None:
                raise ConnectError(f"The structure of table {table_id} is not known, so that its rows cannot be read")
            found[table_id] = captured_table(known, self._making.rules)
        return found

    def _scan(self, table: CapturedTable) -> TableScan:
        known = self._making.tables.get(table.id)
        assert known is not None
        fields = {field.column.name: field for field in (*table.row, *table.key)}
        readings = {name: field.type.reading for name, field in fields.items()}
        return TableScan.of(known, readings, self._rules.overrides.statements.get(table.id))

    def _records(self, table: CapturedTable, batch: TableBatch, *, is_first: bool) -> SourceTable:
        records = read_records(table, self._decoder(table, batch.columns), batch.rows)
        columns = self._source_columns(batch.rows, _markers(batch, is_first=is_first))
        source = source_struct(self._making.parts.source, table.id, columns)
        headers = record_headers(records, self._making.parts.headers, lambda _: None)
        rows = record_table(records, source, self._making.micros(), headers)
        return SourceTable(
            rows, {}, None, topic=table.topic, value_schema=table.value_schema, key_schema=table.key_schema
        )

    def _decoder(self, table: CapturedTable, columns: Mapping[str, Decoded]) -> Callable[[CapturedField], pa.Array]:
        by_name = {name.lower(): decoded for name, decoded in columns.items()}

        def values(field: CapturedField) -> pa.Array:
            found = by_name.get(field.column.name.lower())
            if found is None:
                raise ConnectError(
                    f"The statement that reads {table.id} has no column {field.column.name}: "
                    "snapshot.select.statement.overrides must select all captured columns"
                )
            if found.impossible >= 0:
                self._making.impossible.apply(impossible_date(table.id, field, "in a row of the snapshot"))
            is_timestamp = field.column.base_type == "TIMESTAMP"
            return short_timestamps(found.values) if is_timestamp else found.values

        return values

    def _source_columns(self, count: int, markers: pa.Array) -> SourceColumns:
        position = self._running
        return SourceColumns(
            file=position.file,
            position=np.full(count, position.position),
            row=np.zeros(count, np.int64),
            micros=np.full(count, self._making.micros()),
            server_id=np.zeros(count, np.int64),
            gtid=pa.nulls(count, pa.string()),
            thread=np.full(count, -1),
            query=pa.nulls(count, pa.string()),
            snapshot=markers,
        )

    def _with_offset(self, batch: SourceTable) -> SourceTable:
        return replace(batch, source_partition=self._making.partition, source_offset=self._running.offset())

    def _finished(self, batch: SourceTable) -> SourceTable:
        """Return the last batch: its last record is marked, its offset is that of the end."""
        return self._at_end(replace(batch, table=_marked_last(batch.table)))

    def _at_end(self, batch: SourceTable) -> SourceTable:
        assert self.position is not None
        return replace(batch, source_partition=self._making.partition, source_offset=self.position.offset())

    def _reported(self) -> list[SourceTable]:
        reports, self._reports = self._reports, []
        return reports


def _close(connection: Connection) -> None:
    with contextlib.suppress(pymysql.Error):  # a reader closes the one that it has read to its end
        connection.close()


def _raised(error: pymysql.MySQLError | OSError) -> ConnectError:
    found = reported(error)
    if found.number == ErrorNumber.ER_TABLE_DEF_CHANGED:
        return RetriableError(f"A table was altered before the snapshot read it: {found}")
    return as_connect_error("to read the tables of the snapshot", error)


def _tables(control: Connection) -> list[TableId]:
    with control.cursor() as cursor:
        return [table for name in database_names(cursor) for table in table_names(cursor, name)]


def _statements(control: Connection, tables: Sequence[TableId]) -> list[Statement]:
    with control.cursor() as cursor:
        return list(structure_statements(cursor, tables))


def _markers(batch: TableBatch, *, is_first: bool) -> pa.Array:
    markers = [SnapshotRecord.TRUE.value] * batch.rows
    if batch.is_first:
        markers[0] = SnapshotRecord.FIRST_IN_DATA_COLLECTION.value
    if batch.is_last:
        markers[-1] = SnapshotRecord.LAST_IN_DATA_COLLECTION.value
    if is_first:
        markers[0] = SnapshotRecord.FIRST.value
    return pa.array(markers, pa.string())


def _marked_last(rows: pa.Table) -> pa.Table:
    """Return the records with the last one marked as the end of the snapshot."""
    values = rows.column("value").combine_chunks()
    source = values.field("source")
    markers = source.field("snapshot").to_pylist()
    markers[-1] = SnapshotRecord.LAST.value
    marked = _with_field(values, "source", _with_field(source, "snapshot", pa.array(markers, pa.string())))
    return rows.set_column(rows.schema.get_field_index("value"), "value", marked)


def _with_field(struct: pa.StructArray, name: str, values: pa.Array) -> pa.StructArray:
    names = [field.name for field in struct.type]
    fields = [values if one == name else struct.field(one) for one in names]
    return pa.StructArray.from_arrays(fields, names, mask=struct.is_null())
