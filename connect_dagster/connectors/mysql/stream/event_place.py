"""Where an event is, in words of messages."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.connectors.mysql.positions.position import Position
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece


@dataclass(frozen=True, slots=True)
class EventPlace:
    """Where an event is.

    Attributes:
        file: of the log.
        start: position of the event.
        end: position after it; 0 where the server does not say.
        before: position to store for all that comes before the event's piece of the log.
    """

    file: str
    start: int
    end: int
    before: Position

    @classmethod
    def of(cls, piece: LogPiece, index: int) -> EventPlace:
        """Return the place of an event of a piece."""
        times = piece.times
        start, end = int(times.position[index]), int(piece.events.end_position[index])
        return cls(times.before.file, start, end, times.before.stored())

    def __str__(self) -> str:
        """Return file and position, and the command that shows the event."""
        until = f" --stop-position={self.end}" if self.end > self.start else ""
        command = f"mysqlbinlog --start-position={self.start}{until} --verbose {self.file}"
        return f"{self.file}:{self.start} (`{command}` shows it)"
