"""The structure of tables at the place that the log has reached, for the rows that come next."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Protocol

from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.options.failures import FailureRule
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.records.captured_table import CapturedTable, RecordRules, captured_table
from connect_dagster.connectors.mysql.schema.model import Table, Tables
from connect_dagster.connectors.mysql.schema.table_map_check import differences
from connect_dagster.connectors.mysql.stream.event_place import EventPlace
from connect_dagster.connectors.mysql.table_ids import TableId

log = logging.getLogger(__name__)


class PresentStructure(Protocol):
    """The structure that tables have now, which may be another one than at the place that the log has reached."""

    def read(self, table: TableId) -> Table | None:
        """Return the structure of a table; ``None`` where the server does not give it."""

    def keep(self, table: Table, position: Position) -> None:
        """Have a structure count from a position on."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A table that was looked up.

    Attributes:
        known: its structure; ``None`` where it is not known.
        announced: the same as the log describes it.
        captured: ``None`` where both differ.
    """

    known: Table | None
    announced: TableMap
    captured: CapturedTable | None = None


class CapturedTables:
    """Looks tables of row events up.

    Args:
        tables: that are known.
        rules: of records.
        rule: for captured tables that are not known as the log has them, now neither.
        present: asks the server.
    """

    def __init__(self, tables: Tables, rules: RecordRules, rule: FailureRule, present: PresentStructure) -> None:
        self._tables = tables
        self._rules = rules
        self._rule = rule
        self._present = present
        self._is_captured: dict[TableId, bool] = {}
        self._made: dict[TableId, _Made] = {}

    def captured(self, announced: TableMap, place: EventPlace) -> CapturedTable | None:
        """Return the table of row events; ``None`` for one that is not captured, or is passed over.

        Args:
            announced: the table as the log describes it.
            place: of the first of the events.

        Raises:
            ConnectError: its structure is not known, or is another one.
        """
        table_id = TableId(announced.schema, announced.name)
        if table_id not in self._is_captured:
            self._is_captured[table_id] = bool(self._rules.filters.captured([table_id]))
        if not self._is_captured[table_id]:
            return None
        known, made = self._tables.get(table_id), self._made.get(table_id)
        if made is None or made.known is not known or made.announced != announced:
            made = self._made[table_id] = self._looked_up(table_id, announced, place)
        if made.captured is None:
            self._failed(table_id, _wrong(made.known, announced), place)
        return made.captured

    def _looked_up(self, table_id: TableId, announced: TableMap, place: EventPlace) -> _Made:
        known = self._tables.get(table_id)
        if wrong := _wrong(known, announced):
            present = self._present.read(table_id)
            if _wrong(present, announced) or present is None:
                return _Made(known, announced)
            log.warning(
                "Rows of table %s at %s have another structure than the known one: %s. The structure that the server "
                "has now fits, and is taken",
                table_id,
                place,
                wrong,
            )
            self._present.keep(present, place.before)
            known = self._tables.get(table_id)
        assert known is not None
        return _Made(known, announced, captured_table(known, self._rules))

    def truncated(self, table: TableId) -> CapturedTable | None:
        """Return a table that a statement truncates; ``None`` for one that is not captured, or is not known."""
        known = self._tables.get(table) if self._rules.filters.captured([table]) else None
        return None if known is None else captured_table(known, self._rules)

    def _failed(self, table_id: TableId, wrong: str, place: EventPlace) -> None:
        self._rule.apply(
            f"Rows of table {table_id} at {place} cannot be read: {wrong}; nor does the structure fit that the server "
            "has now. One possible cause is a schema history that lacks statements: snapshot.mode=recovery for one "
            "start reads the structure of all tables again, if none changed since the stored position"
        )


def _wrong(known: Table | None, announced: TableMap) -> str:
    """Return in words how a table differs from what the log says; empty where it does not."""
    if known is None:
        return "its structure is not known to the connector"
    return "; ".join(differences(known, announced))
