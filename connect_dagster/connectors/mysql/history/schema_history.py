"""The structure of tables at each place of the log, and the record that is kept of it.

Debezium: ``BinlogDatabaseSchema`` and ``AbstractSchemaHistory``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from connect_dagster.connectors.mysql.history.history_record import HistoryRecord
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.schema.ddl.events import DdlEvent, DdlKind
from connect_dagster.connectors.mysql.schema.ddl.parser import DdlParser
from connect_dagster.connectors.mysql.schema.ddl.unrecorded import is_unrecorded
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.schema.table_changes import TableChange
from connect_dagster.connectors.mysql.selection.filters import CaptureFilters, HistoryScope
from connect_dagster.errors import DataError

log = logging.getLogger(__name__)


class HistoryStore(Protocol):
    """The methods of ``HistoryTopic`` that a history uses."""

    def records(self) -> Iterable[bytes]:
        """Return all records."""

    def write(self, value: bytes) -> None:
        """Write a record."""


@dataclass(frozen=True, slots=True)
class HistoryRules:
    """Options of a history.

    Attributes:
        source: the partition of the connector's offsets.
        filters: decide on the tables whose statements are kept.
        skips_unparseable: whether statements that are not understood are passed over.
        passes_over: returns those of some statements that the user passes over.
    """

    source: Mapping[str, str]
    filters: CaptureFilters
    skips_unparseable: bool
    passes_over: Callable[[Sequence[str]], list[str]]


class SchemaHistory:
    """Knows the tables, and keeps what changes them.

    Args:
        store: keeps records.
        parser: applies statements to its tables.
        rules: options.
    """

    def __init__(self, store: HistoryStore, parser: DdlParser, rules: HistoryRules) -> None:
        self._store = store
        self._parser = parser
        self._rules = rules

    @property
    def tables(self) -> Tables:
        """Return the tables as they are at the place that the log has reached."""
        return self._parser.tables

    def recover(self, until: Position) -> int:
        """Apply what was kept up to a position; return the number of records.

        Raises:
            ConnectError: the history cannot be read, or a record of it is not one of a history.
        """
        count = 0
        for value in self._store.records():
            record = HistoryRecord.parse(value)
            if dict(record.source) == dict(self._rules.source) and Position.of(record.position).is_at_or_before(until):
                self._apply(record)
                count += 1
        return count

    def _apply(self, record: HistoryRecord) -> None:
        if record.changes:
            for change in record.changes:
                change.apply(self.tables)
        elif record.ddl is not None:
            self.events_of(record.ddl, record.database)

    def events_of(self, statement: str, database: str | None) -> list[DdlEvent]:
        """Apply a statement, and return the changes that count.

        One that changes no table that is known, such as CREATE INDEX, is one of the current database, as in Debezium.
        Tables that are in a statement which is not understood are no longer known.
        """
        events = self._parsed(statement, database)
        is_truncate = any(event.kind is DdlKind.TRUNCATE_TABLE for event in events)
        if not is_truncate and self._rules.passes_over([statement]):
            log.debug("The filter of statements passes over %s", statement)
            return []
        if not events and self._keeps_others() and not is_unrecorded(statement):
            events = [DdlEvent(DdlKind.OTHER, database or "", statement)]
        return [event for event in events if self._counts(event)]

    def _keeps_others(self) -> bool:
        return self._rules.filters.history_scope is not HistoryScope.CAPTURED_TABLES

    def _parsed(self, statement: str, database: str | None) -> list[DdlEvent]:
        saved = self.tables.saved()
        try:
            return self._parser.parse(statement, database)
        except DataError as error:
            if self._rules.skips_unparseable:
                log.warning("A statement is passed over: %s", error)
                return []
            self.tables.restore(saved)
            return self._forgotten(statement, error)

    def _forgotten(self, statement: str, error: DataError) -> list[DdlEvent]:
        """Forget the tables that a statement names which is not understood: the server is asked for them later."""
        text = statement.lower()
        named = [table.id for table in self.tables if table.name.lower() in text]
        for table in named:
            self.tables.remove(table)
        log.warning(
            "%s. The server is asked for the structure of the tables that it names when rows of them come: %s",
            error,
            ", ".join(map(str, named)) or "none that is known",
        )
        return [DdlEvent(DdlKind.DROP_TABLE, table.database, statement, table) for table in named]

    def _counts(self, event: DdlEvent) -> bool:
        filters = self._rules.filters
        if event.table_id is None:
            is_any = not event.database or filters.history_scope is HistoryScope.ALL
            return is_any or bool(filters.captured_databases([event.database]))
        renamed = [] if event.previous_id is None else [event.previous_id]
        return bool(filters.recorded([event.table_id, *renamed]))

    def keep(self, event: DdlEvent, position: Position, milliseconds: int) -> None:
        """Keep a change, before anything that depends on it is sent.

        Where only captured tables are kept, statements about databases are not, but for variables of the server.

        Args:
            event: the change.
            position: of its statement.
            milliseconds: present time since 1970.

        Raises:
            ConnectError: it cannot be written.
        """
        is_variable = not event.database and event.statement.upper().startswith("SET ")
        if event.table_id is None and not is_variable and not self._keeps_others():
            return
        change = TableChange.of(event)
        changes = () if change is None else (change,)
        self._write(changes, event.database, event.statement, position, milliseconds)

    def put(self, change: TableChange, database: str, position: Position, milliseconds: int) -> None:
        """Keep and apply a change that is not in the log.

        Args:
            change: of a table.
            database: of the table.
            position: that the log has reached.
            milliseconds: present time since 1970.

        Raises:
            ConnectError: it cannot be written.
        """
        self._write((change,), database, None, position, milliseconds)
        change.apply(self.tables)

    def _write(
        self, changes: tuple[TableChange, ...], database: str, ddl: str | None, position: Position, milliseconds: int
    ) -> None:
        record = HistoryRecord(self._rules.source, position.offset(), milliseconds, database, ddl, changes)
        self._store.write(record.to_json().encode())
