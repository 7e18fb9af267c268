"""Statements that change tables: kept in the schema history, and sent as separate records.

Debezium: ``EventDispatcher.dispatchSchemaChangeEvent``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from connect_dagster.connectors.mysql.history.schema_history import SchemaHistory
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.records.envelope import SnapshotRecord
from connect_dagster.connectors.mysql.records.service_tables import ServiceRecord, service_table
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.schema.ddl.events import DdlEvent, DdlKind
from connect_dagster.connectors.mysql.schema.table_changes import TableChange
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.schema import Schema

_FIRST_PARTITION = 0


@dataclass(frozen=True, slots=True)
class SchemaChangeRecords:
    """Records of schema changes.

    Attributes:
        topic: of them.
        key: schema of keys.
        value: schema of values.
        source: constants of ``source``.
        headers: of each record.
    """

    topic: str
    key: Schema
    value: Schema
    source: SourceConstants
    headers: Mapping[str, bytes | None]


@dataclass(frozen=True, slots=True)
class StatementPlace:
    """Where a statement is.

    Attributes:
        position: as the schema history keeps it.
        start: of the statement in the file.
        micros: its time in microseconds since 1970.
        gtid: of its transaction.
        thread: of the server that writes the transaction.
        snapshot: of a statement that a snapshot has made.
    """

    position: Position
    start: int
    micros: int
    gtid: str | None = None
    thread: int | None = None
    snapshot: SnapshotRecord | None = None


@dataclass(frozen=True, slots=True)
class AppliedStatement:
    """Effects of a statement.

    Attributes:
        batches: of schema changes: one without an offset, or none.
        truncated: tables that lost all their rows.
    """

    batches: list[SourceTable]
    truncated: list[TableId]


class SchemaChanges:
    """Applies statements.

    Args:
        history: knows the tables.
        records: of the changes; ``None`` for none.
        micros: gives the present time in microseconds since 1970.
    """

    def __init__(self, history: SchemaHistory, records: SchemaChangeRecords | None, micros: Callable[[], int]) -> None:
        self._history = history
        self._records = records
        self._micros = micros

    def apply(self, statement: str, database: str, place: StatementPlace) -> AppliedStatement:
        """Apply a statement, keep its changes, and return their records.

        Raises:
            ConnectError: the schema history cannot be written; the tables are as before then.
        """
        saved = self._history.tables.saved()
        try:
            return self._applied(statement, database, place)
        except ConnectError:
            self._history.tables.restore(saved)  # the statement will be read again
            raise

    def _applied(self, statement: str, database: str, place: StatementPlace) -> AppliedStatement:
        made = []
        found = self._history.events_of(statement, database)
        events = [event for event in found if event.kind is not DdlKind.TRUNCATE_TABLE]
        truncated = [event.table_id for event in found if event not in events and event.table_id is not None]
        for event in events:
            milliseconds = self._micros() // 1000
            self._history.keep(event, place.position, milliseconds)
            if self._records is not None:
                of = _Change(event.database, _table_names(event, events), event.statement, TableChange.of(event))
                made.append(_record(self._records.source, of, place, milliseconds))
        return AppliedStatement(self._batch(made), truncated)

    def put(self, changes: Sequence[TableChange], database: str, place: StatementPlace) -> list[SourceTable]:
        """Apply changes that are not in the log, keep them, and return their records as ``apply`` does.

        Args:
            changes: of tables.
            database: of the tables.
            place: that the log has reached.

        Raises:
            ConnectError: the schema history cannot be written.
        """
        made = []
        for change in changes:
            milliseconds = self._micros() // 1000
            self._history.put(change, database, place.position, milliseconds)
            if self._records is not None:
                of = _Change(database, change.id.name, None, change)
                made.append(_record(self._records.source, of, place, milliseconds))
        return self._batch(made)

    def _batch(self, made: list[ServiceRecord]) -> list[SourceTable]:
        if self._records is None or not made:
            return []
        of = self._records
        rows = service_table(made, of.key, of.value, partition=_FIRST_PARTITION, headers=of.headers)
        return [SourceTable(rows, {}, None, topic=of.topic, value_schema=of.value, key_schema=of.key)]


def _table_names(event: DdlEvent, events: Sequence[DdlEvent]) -> str | None:
    """Return the names of the tables of its database that a statement changes, which each of its records has."""
    if event.kind is DdlKind.OTHER:
        return ""
    ids = [one.table_id for one in events if one.database == event.database]
    return ",".join(dict.fromkeys(table.name for table in ids if table is not None)) or None


@dataclass(frozen=True, slots=True)
class _Change:
    """The part of a record that says what has changed, and by which statement."""

    database: str
    tables: str | None
    ddl: str | None
    change: TableChange | None


def _record(constants: SourceConstants, of: _Change, place: StatementPlace, milliseconds: int) -> ServiceRecord:
    source = {
        "version": constants.version,
        "connector": constants.connector,
        "name": constants.name,
        "ts_ms": place.micros // 1000,
        "snapshot": place.snapshot and place.snapshot.value,
        "db": of.database,
        "sequence": None,
        "ts_us": place.micros,
        "ts_ns": place.micros * 1000,
        "table": of.tables,
        "server_id": place.position.server_id,
        "gtid": place.gtid,
        "file": place.position.file,
        "pos": place.start,
        "row": 0,
        "thread": place.thread,
        "query": None,
    }
    value = {
        "source": source,
        "ts_ms": milliseconds,
        "databaseName": of.database,
        "schemaName": None,
        "ddl": of.ddl,
        "tableChanges": [] if of.change is None else [of.change.record_value()],
    }
    return ServiceRecord({"databaseName": of.database}, value)
