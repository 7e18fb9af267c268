"""How a table is read in chunks: the columns it is divided by, and what is read of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.incremental.key_columns import KeyColumn
from connect_dagster.connectors.mysql.incremental.snapshot_tables import SnapshotTable
from connect_dagster.connectors.mysql.notifications.notification import ScanStatus
from connect_dagster.connectors.mysql.records.captured_table import CapturedTable, RecordRules, captured_table
from connect_dagster.connectors.mysql.records.types import field_type
from connect_dagster.connectors.mysql.schema.model import Column, Table, Tables
from connect_dagster.errors import ConnectError, DataError


class SkippedTableError(ConnectError):
    """A table cannot be read, or no further.

    Attributes:
        scan: that notifications have of it.
    """

    def __init__(self, reason: str, scan: ScanStatus) -> None:
        super().__init__(reason)
        self.scan = scan


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """A plan, which holds as long as the table has this structure.

    Attributes:
        structure: of the table.
        captured: the way to its records.
        key: columns that it is divided by.
        readings: of all columns that are read, by name.
        condition: that rows fulfil, in parentheses; ``None`` for all.
    """

    structure: Table
    captured: CapturedTable
    key: tuple[KeyColumn, ...]
    readings: Mapping[str, Reading]
    condition: str | None


class ChunkPlans:
    """Makes plans, and keeps the newest one.

    Args:
        tables: that are known at the place that the log has reached.
        rules: of records.
    """

    def __init__(self, tables: Tables, rules: RecordRules) -> None:
        self._tables = tables
        self._rules = rules
        self._newest: tuple[SnapshotTable, ChunkPlan] | None = None

    def plan(self, table: SnapshotTable) -> ChunkPlan:
        """Return the plan of a table.

        Raises:
            SkippedTableError: it is not captured, is not known, or has no key.
        """
        structure = self._tables.get(table.id)
        if structure is None:
            raise SkippedTableError("its structure is not known to the connector", ScanStatus.UNKNOWN_SCHEMA)
        if self._newest is None or self._newest[0] != table or self._newest[1].structure is not structure:
            self._newest = table, self._made(table, structure)
        return self._newest[1]

    def holds(self, plan: ChunkPlan) -> bool:
        """Return whether the table of a plan has the structure that it had then."""
        return self._tables.get(plan.structure.id) is plan.structure

    def _made(self, table: SnapshotTable, structure: Table) -> ChunkPlan:
        if not self._rules.filters.captured([structure.id]):
            raise SkippedTableError("it is not captured, by the filters of tables", ScanStatus.UNKNOWN_SCHEMA)
        try:
            captured = captured_table(structure, self._rules)
            readings = {field.column.name: field.type.reading for field in (*captured.row, *captured.key)}
            key = []
            for column in _columns(table, structure, captured):
                reading = readings.setdefault(column.name, field_type(column, self._rules.modes).reading)
                key.append(KeyColumn.of(column, reading))
        except DataError as error:
            raise SkippedTableError(str(error), ScanStatus.SQL_EXCEPTION) from error
        return ChunkPlan(structure, captured, tuple(key), readings, table.condition)


def _columns(table: SnapshotTable, structure: Table, captured: CapturedTable) -> list[Column]:
    if table.surrogate is not None:
        column = structure.find(table.surrogate)
        if column is None:
            reason = f"it has no column {table.surrogate}, which the signal names as surrogate-key"
            raise SkippedTableError(reason, ScanStatus.SQL_EXCEPTION)
        return [column]
    if not captured.key:
        reason = "it has no key to divide it by: give the signal a surrogate-key"
        raise SkippedTableError(reason, ScanStatus.NO_PRIMARY_KEY)
    return [field.column for field in captured.key]
