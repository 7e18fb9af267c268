"""The structure of tables at the place that the log has reached, for the rows that come next."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from connect_dagster.connectors.mysql.decode.table_map import TableMap
from connect_dagster.connectors.mysql.options.failures import FailureMode
from connect_dagster.connectors.mysql.records.captured_table import CapturedTable, RecordRules, captured_table
from connect_dagster.connectors.mysql.schema.model import Table, Tables
from connect_dagster.connectors.mysql.schema.table_map_check import differences
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Made:
    """A table that was looked up.

    Attributes:
        known: its structure.
        announced: the same as the log describes it.
    """

    known: Table
    announced: TableMap
    captured: CapturedTable


class CapturedTables:
    """Looks tables of row events up.

    Args:
        tables: that are known.
        rules: of records.
        mode: what happens where a captured table is not known, or is another one.
    """

    def __init__(self, tables: Tables, rules: RecordRules, mode: FailureMode) -> None:
        self._tables = tables
        self._rules = rules
        self._mode = mode
        self._is_captured: dict[TableId, bool] = {}
        self._made: dict[TableId, _Made] = {}

    def captured(self, announced: TableMap) -> CapturedTable | None:
        """Return the table of row events; ``None`` for one that is not captured, or is passed over.

        Raises:
            ConnectError: its structure is not known, or is another one.
        """
        table_id = TableId(announced.schema, announced.name)
        if table_id not in self._is_captured:
            self._is_captured[table_id] = bool(self._rules.filters.captured([table_id]))
        if not self._is_captured[table_id]:
            return None
        known = self._tables.get(table_id)
        if known is None:
            self._failed(table_id, "its structure is not known to the connector")
            return None
        made = self._made.get(table_id)
        if made is None or made.known is not known or made.announced != announced:
            if wrong := differences(known, announced):
                self._failed(table_id, "; ".join(wrong))
                return None
            made = self._made[table_id] = _Made(known, announced, captured_table(known, self._rules))
        return made.captured

    def truncated(self, table: TableId) -> CapturedTable | None:
        """Return a table that a statement truncates; ``None`` for one that is not captured, or is not known."""
        known = self._tables.get(table) if self._rules.filters.captured([table]) else None
        return None if known is None else captured_table(known, self._rules)

    def _failed(self, table_id: TableId, wrong: str) -> None:
        text = (
            f"Rows of table {table_id} cannot be read: {wrong}. One possible cause is a schema history that lacks "
            "statements: snapshot.mode=recovery for one start reads the structure of tables again, if no table changed "
            "since the stored position"
        )
        if self._mode is FailureMode.FAIL:
            raise ConnectError(text)
        log.log(logging.WARNING if self._mode is FailureMode.WARN else logging.DEBUG, "%s. They are left out.", text)
