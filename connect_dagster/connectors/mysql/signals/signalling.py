"""The part of streaming that hears signals, and that sends what incremental snapshots read.

Its batches come after those of the piece of the log in which a signal, or the end of a window, is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.connectors.mysql.incremental.chunk_server import CLOSE, OPEN
from connect_dagster.connectors.mysql.incremental.context import ENTRIES, IncrementalContext
from connect_dagster.connectors.mysql.incremental.incremental_snapshots import IncrementalSnapshots
from connect_dagster.connectors.mysql.incremental.read_records import LogRow
from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.signals.signal import Signal
from connect_dagster.connectors.mysql.signals.signal_actions import SignalActions
from connect_dagster.connectors.mysql.signals.signal_table import SignalRow, SignalTable
from connect_dagster.connectors.mysql.signals.signal_topic import SignalTopicReader
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SignalChannels:
    """Where signals come from.

    Attributes:
        table: of signals and of the marks of windows.
        is_heard: whether its rows are signals as well.
        topic: of signals.
    """

    table: SignalTable | None = None
    is_heard: bool = True
    topic: SignalTopicReader | None = None


class Signalling:
    """Hears signals.

    Args:
        channels: that they come from.
        actions: do what they ask for.
        context: of incremental snapshots.
        snapshots: take these; ``None`` without a table of signals.
        heartbeat: makes a record that has nothing but an offset; ``None`` without heartbeats.
    """

    def __init__(
        self,
        channels: SignalChannels,
        actions: SignalActions,
        context: IncrementalContext,
        snapshots: IncrementalSnapshots | None,
        heartbeat: Callable[[], SourceTable] | None,
    ) -> None:
        self._channels = channels
        self._actions = actions
        self._context = context
        self._snapshots = snapshots
        self._heartbeat = heartbeat

    def restore(self, offset: Mapping[str, Any]) -> None:
        """Go on with the incremental snapshot of a stored offset, if one is in it.

        Raises:
            ConnectError: an entry of it cannot be read.
        """
        self._context.restore({name: offset[name] for name in ENTRIES if name in offset})
        if self._snapshots is not None:
            self._snapshots.resume()
        elif self._context.is_running:
            log.warning("The incremental snapshot of %s waits for a signal.data.collection", self._context.tables[0].id)

    def stored(self, position: Position) -> Position:
        """Return what to store of a position that the log has reached."""
        others = (*position.others, *self._context.entries().items())
        return replace(self._actions.chosen_position or position, others=others)

    def after(self, piece: LogPiece, changes: Sequence[ChangeTable], place: Place) -> list[SourceTable]:
        """Handle a piece of the log; return batches, without offsets, that come after its records.

        Args:
            piece: of the log.
            changes: its records.
            place: after it.
        """
        table, snapshots = self._channels.table, self._snapshots
        made: list[SourceTable] = []
        for row in [] if table is None else table.rows(changes):
            made += self._of_row(row, piece, changes, place)
        if snapshots is not None:
            snapshots.passed(changes)
            snapshots.piece_ended()
        return [*made, *self.idle(place)]

    def idle(self, place: Place) -> list[SourceTable]:
        """Do what does not depend on the log; return batches without offsets.

        Args:
            place: that the log has reached.
        """
        made = [] if self._snapshots is None else self._snapshots.read_if_due()
        topic = self._channels.topic
        for signal in [] if topic is None else topic.read():
            made += self._act(signal, place)
        return made

    def close(self) -> None:
        """Close the connections."""
        if self._snapshots is not None:
            self._snapshots.close()
        if self._channels.topic is not None:
            self._channels.topic.close()

    def _of_row(
        self, row: SignalRow, piece: LogPiece, changes: Sequence[ChangeTable], place: Place
    ) -> list[SourceTable]:
        signal, snapshots = row.signal, self._snapshots
        if signal.type in (OPEN, CLOSE):
            number = signal.id or ""
            if snapshots is None:
                return []
            if signal.type == CLOSE:
                return snapshots.close_window(number, changes, LogRow(piece, row.event, row.row))
            snapshots.open_window(number, row.event)
            return []
        return self._act(signal, place) if self._channels.is_heard else []

    def _act(self, signal: Signal, place: Place) -> list[SourceTable]:
        before = self._actions.chosen_position
        made = self._actions.act(signal, place)
        if self._heartbeat is not None and self._actions.chosen_position is not before:
            made.append(self._heartbeat())
        return made
