"""Statements that change tables: kept in the schema history, and sent as separate records.

Debezium: ``EventDispatcher.dispatchSchemaChangeEvent``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connect_dagster.connectors.mysql.positions import Position
from connect_dagster.connectors.mysql.records.envelope import SnapshotRecord
from connect_dagster.connectors.mysql.records.service_tables import ServiceRecord, service_table
from connect_dagster.connectors.mysql.records.source_info import SourceConstants
from connect_dagster.connectors.mysql.schema.ddl.events import DdlEvent, DdlKind
from connect_dagster.connectors.mysql.schema.schema_history import SchemaHistory
from connect_dagster.connectors.mysql.schema.table_changes import TableChange
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
        snapshot: of a statement that a snapshot has made.
    """

    position: Position
    start: int
    micros: int
    gtid: str | None = None
    snapshot: SnapshotRecord | None = None


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

    def apply(self, statement: str, database: str, place: StatementPlace) -> list[SourceTable]:
        """Apply a statement, keep its changes, and return their records: one batch without an offset, or none.

        Raises:
            ConnectError: it is not understood, or the schema history cannot be written.
        """
        made = []
        for event in self._history.events_of(statement, database):
            if event.kind is DdlKind.TRUNCATE_TABLE:
                continue
            milliseconds = self._micros() // 1000
            self._history.keep(event, place.position, milliseconds)
            if self._records is not None:
                made.append(_record(self._records.source, event, place, milliseconds))
        return self._batch(made)

    def _batch(self, made: list[ServiceRecord]) -> list[SourceTable]:
        if self._records is None or not made:
            return []
        of = self._records
        rows = service_table(made, of.key, of.value, partition=_FIRST_PARTITION, headers=of.headers)
        return [SourceTable(rows, {}, None, topic=of.topic, value_schema=of.value, key_schema=of.key)]


def _record(constants: SourceConstants, event: DdlEvent, place: StatementPlace, milliseconds: int) -> ServiceRecord:
    change = TableChange.of(event)
    source = {
        "version": constants.version,
        "connector": constants.connector,
        "name": constants.name,
        "ts_ms": place.micros // 1000,
        "snapshot": place.snapshot and place.snapshot.value,
        "db": event.database,
        "sequence": None,
        "ts_us": place.micros,
        "ts_ns": place.micros * 1000,
        "table": event.table_id and event.table_id.name,
        "server_id": place.position.server_id,
        "gtid": place.gtid,
        "file": place.position.file,
        "pos": place.start,
        "row": 0,
        "thread": None,
        "query": None,
    }
    value = {
        "source": source,
        "ts_ms": milliseconds,
        "databaseName": event.database,
        "schemaName": None,
        "ddl": event.statement,
        "tableChanges": [] if change is None else [change.record_value()],
    }
    return ServiceRecord({"databaseName": event.database}, value)
