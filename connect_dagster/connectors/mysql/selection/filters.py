"""Which databases, tables and columns are captured, and whose statements the schema history keeps.

Debezium: ``RelationalTableFilters``, ``ColumnNameFilterFactory``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from connect_dagster.connectors.mysql.selection.regex_lists import NameFilter, RegexList
from connect_dagster.connectors.mysql.table_ids import TableId

BUILT_IN_DATABASES = frozenset({"mysql", "sys", "performance_schema", "information_schema"})


class HistoryScope(Enum):
    """The tables whose statements the schema history keeps."""

    ALL = "all"
    CAPTURED_DATABASES = "captured databases"
    CAPTURED_TABLES = "captured tables"


@dataclass(frozen=True, slots=True)
class CaptureFilters:
    """The filters of a connector.

    Attributes:
        databases: filter of names of databases.
        tables: filter of ``database.table``.
        columns: filter of ``database.table.column``.
        snapshot: ``snapshot.include.collection.list``; without expressions every captured table is in snapshots.
        without_built_in: whether tables of MySQL's own databases are left out (``table.ignore.builtin``).
        signals: ``signal.data.collection``, which is captured whatever the other filters are.
        history_scope: what the schema history keeps.
    """

    databases: NameFilter
    tables: NameFilter
    columns: NameFilter
    snapshot: RegexList
    without_built_in: bool = True
    signals: TableId | None = None
    history_scope: HistoryScope = HistoryScope.ALL

    def captured_databases(self, names: Sequence[str]) -> list[str]:
        """Return the databases whose own statements count, such as ``DROP DATABASE``, in their order."""
        return self.databases.kept(names)

    def captured(self, tables: Iterable[TableId]) -> list[TableId]:
        """Return the tables whose rows are captured, in their order."""
        tables = list(tables)
        kept = set(self.tables.kept([str(table) for table in self._of_kept_databases(tables)]))
        return [table for table in tables if str(table) in kept or self._is_for_signals(table)]

    def recorded(self, tables: Iterable[TableId]) -> list[TableId]:
        """Return the tables whose structure and statements are in the schema history, in their order."""
        match self.history_scope:
            case HistoryScope.CAPTURED_TABLES:
                return self.captured(self._without_built_in(list(tables)))
            case HistoryScope.CAPTURED_DATABASES:
                return self._of_kept_databases(list(tables))
            case HistoryScope.ALL:
                return self._without_built_in(list(tables))

    def in_snapshot(self, tables: Iterable[TableId]) -> list[TableId]:
        """Return the captured tables that a snapshot reads, in the order in which it reads them.

        That is the order of ``table.include.list``, by name among the tables of one expression; without such a list it
        is by name.
        """
        by_name = {str(table): table for table in self.captured(tables)}
        chosen = self.snapshot.matching(list(by_name)) if self.snapshot else list(by_name)
        ordered = self.tables.included.in_order(chosen)
        return [by_name[name] for name in dict.fromkeys([*ordered, *sorted(chosen)])]

    def columns_of(self, table: TableId, names: Sequence[str]) -> list[str]:
        """Return the columns of a captured table that records have, in their order."""
        if not self.columns:
            return list(names)
        kept = set(self.columns.kept([f"{table}.{name}" for name in names]))
        return [name for name in names if f"{table}.{name}" in kept]

    def _of_kept_databases(self, tables: list[TableId]) -> list[TableId]:
        kept = set(self.databases.kept(list(dict.fromkeys(table.database for table in tables))))
        return [table for table in self._without_built_in(tables) if table.database in kept]

    def _without_built_in(self, tables: list[TableId]) -> list[TableId]:
        if not self.without_built_in:
            return tables
        return [table for table in tables if table.database.lower() not in BUILT_IN_DATABASES]

    def _is_for_signals(self, table: TableId) -> bool:
        return self.signals is not None and str(table).lower() == str(self.signals).lower()
