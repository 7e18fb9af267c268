"""Signals about incremental snapshots (Debezium: ``ExecuteSnapshot``, ``StopSnapshot``)."""

from __future__ import annotations

import logging

from connect_dagster.connectors.mysql.incremental.incremental_snapshots import IncrementalSnapshots
from connect_dagster.connectors.mysql.incremental.snapshot_tables import SnapshotTable, table_id
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.signals.signal import (
    COLLECTIONS,
    BadSignalError,
    Condition,
    ExecuteSnapshot,
    StopSnapshot,
    matching_tables,
)
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import DataError
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)


class SnapshotRequests:
    """Applies them.

    Args:
        snapshots: of the connector.
        tables: that are known.
    """

    def __init__(self, snapshots: IncrementalSnapshots, tables: Tables) -> None:
        self._snapshots = snapshots
        self._tables = tables

    def execute(self, asked: ExecuteSnapshot, number: str | None) -> list[SourceTable]:
        """Add the tables of a signal.

        Raises:
            BadSignalError: one is not named as a table is.
            CostlyPatternError: a match takes too long.
        """
        chosen = self._chosen(asked.tables)
        log.info("Signal %s asks for an incremental snapshot of %s", number, ", ".join(map(str, chosen)))
        tables = [SnapshotTable(one, _condition(one, asked.conditions), asked.surrogate) for one in chosen]
        return self._snapshots.add(tables, number)

    def stop(self, asked: StopSnapshot) -> list[SourceTable]:
        """Take the tables of a signal off the snapshot. Raises as ``execute``."""
        running = [one.id for one in self._snapshots.context.tables]
        names = {str(one): one for one in running}
        found = {names[name] for expression in asked.tables for name in matching_tables(expression, list(names))}
        if not found:
            raise BadSignalError(f"no incremental snapshot reads any of {', '.join(asked.tables)}")
        return self._snapshots.stop(found)

    def pause(self) -> list[SourceTable]:
        """Pause."""
        return self._snapshots.pause()

    def go_on(self) -> list[SourceTable]:
        """End a pause."""
        return self._snapshots.go_on()

    def _chosen(self, expressions: tuple[str, ...]) -> list[TableId]:
        """Return the tables that are known and match; an expression that matches none is the name of one."""
        names = {str(table.id): table.id for table in self._tables}
        found: dict[TableId, None] = {}
        for expression in expressions:
            matching = [names[name] for name in matching_tables(expression, list(names))]
            found |= dict.fromkeys(matching or [_named(expression)])
        return list(found)


def _named(text: str) -> TableId:
    try:
        return table_id(text)
    except DataError as error:
        raise BadSignalError(f"its {COLLECTIONS} has an entry that matches no table and names none: {text}") from error


def _condition(table: TableId, conditions: tuple[Condition, ...]) -> str | None:
    """Return the condition of a table, in parentheses so that its operators stay among themselves."""
    for one in conditions:
        if matching_tables(one.tables, [str(table)], any_case=True):
            return f"({one.filter})"
    return None
