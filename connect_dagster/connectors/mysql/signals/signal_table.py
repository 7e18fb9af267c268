"""Signals that are rows of a table (Debezium: ``SourceSignalChannel``)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from connect_dagster.connectors.mysql.incremental.chunk_server import CLOSE
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.signals.signal import Signal
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.connectors.mysql.table_ids import TableId

log = logging.getLogger(__name__)

_COLUMNS = 3


@dataclass(frozen=True, slots=True)
class SignalRow:
    """A signal and where its row is.

    Attributes:
        event: index of its event in the piece.
        row: its number in the event.
    """

    signal: Signal
    event: int
    row: int


@dataclass(frozen=True, slots=True)
class SignalTable:
    """The table.

    Attributes:
        id: its name.
        deletes: whether the delete of a row ends the window that it began (``INSERT_DELETE``).
    """

    id: TableId
    deletes: bool

    def rows(self, changes: Sequence[ChangeTable]) -> list[SignalRow]:
        """Return the signals among the records of a piece, in the order of the log."""
        found = [row for one in changes if self._is(one.captured.id) for row in self._rows(one)]
        return sorted(found, key=lambda row: (row.event, row.row))

    def _is(self, table: TableId) -> bool:
        return str(table).lower() == str(self.id).lower()

    def _rows(self, change: ChangeTable) -> Iterator[SignalRow]:
        names = [field.name for field in change.captured.row]
        values = change.rows.column("value").to_pylist()
        for value, event, row in zip(values, np.asarray(change.event), np.asarray(change.row), strict=True):
            signal = value and self._signal(value, names)
            if signal:
                yield SignalRow(signal, int(event), int(row))

    def _signal(self, value: Mapping[str, Any], names: Sequence[str]) -> Signal | None:
        match Operation(value["op"]):
            case Operation.CREATE:
                return _signal(value["after"], names)
            case Operation.DELETE if self.deletes:
                opened = _signal(value["before"], names)
                closing = None if opened is None or opened.id is None else opened.id.replace("open", "close")
                return None if opened is None else Signal(closing, CLOSE, opened.data)
        return None


def _signal(row: Mapping[str, Any], names: Sequence[str]) -> Signal | None:
    parts = [row[name] for name in names]
    if len(parts) != _COLUMNS or not all(part is None or isinstance(part, str) for part in parts):
        log.warning("A row of the table of signals is passed over: three columns of texts make a signal, not %s", row)
        return None
    return Signal(*parts)
