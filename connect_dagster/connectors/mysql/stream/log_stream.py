"""The binary log in pieces: rows between two statements, or one event that stands alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from connect_dagster.connectors.mysql.decode.events import CHECKSUM_SIZE, EventType, FormatDescription, Rotate
from connect_dagster.connectors.mysql.decode.kernels import Bytes
from connect_dagster.connectors.mysql.decode.payloads import expanded
from connect_dagster.connectors.mysql.decode.scan import Events, wrong_checksums
from connect_dagster.connectors.mysql.options.failures import DEFAULT_RULES, FailureRule
from connect_dagster.connectors.mysql.server.server_error import ServerError, server_error
from connect_dagster.connectors.mysql.stream.log_buffer import LogBuffer, LogChunk, LogEnd, Receive
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.connectors.mysql.stream.timeline import (
    LogReading,
    Timeline,
    lone_events,
    timeline,
    without_beats,
)
from connect_dagster.errors import ConnectError


class LogEndedError(ConnectError):
    """The server has ended the log.

    Attributes:
        error: that it reports; ``None`` where it gives no reason.
    """

    def __init__(self, error: ServerError | None) -> None:
        super().__init__(f"The server has ended the binary log: {error or 'it gives no reason'}")
        self.error = error


@dataclass(frozen=True, slots=True)
class LogPiece:
    """Events of the log: any number with rows, or a single one that stands alone.

    Attributes:
        buffer: has their bodies, until the next piece is asked for.
        times: their transactions.
    """

    buffer: Bytes
    events: Events
    times: Timeline

    def lone(self) -> tuple[EventType, bytes] | None:
        """Return type and body of an event that stands alone; ``None`` for another piece."""
        if len(self.events) != 1 or not lone_events(self.buffer, self.events):
            return None
        return EventType(int(self.events.type[0])), self.events.body_bytes(self.buffer, 0)


class LogStream:
    """Reads the log of one connection.

    Args:
        receive: reads its bytes.
        buffer: collects them.
        place: at which the log begins.
        reading: what counts.
        corrupt: what happens with an event whose checksum is wrong. One without rows always ends the log, as all that
            follows depends on it.
    """

    def __init__(
        self,
        receive: Receive,
        buffer: LogBuffer,
        place: Place,
        reading: LogReading,
        corrupt: FailureRule = DEFAULT_RULES.events,
    ) -> None:
        self.place = place
        self._corrupt = corrupt
        self._receive = receive
        self._buffer = buffer
        self._reading = reading
        self._pieces: deque[tuple[Bytes, Events]] = deque()

    def next(self, wait: float) -> LogPiece | None:
        """Return the events that come next; ``place`` is after them then. ``None`` where none comes in time.

        Args:
            wait: longest time in seconds.

        Raises:
            LogEndedError: there are no more.
            RetriableError: the connection is lost.
            MalformedBytes: an event is not what it claims to be.
            ConnectError: the checksum of an event is wrong.
        """
        if not self._pieces:
            self._pieces.extend(self._arrived(wait))
        if not self._pieces:
            return None
        buffer, events = self._pieces.popleft()
        times = timeline(buffer, events, self.place, self._reading)
        piece = LogPiece(buffer, events, times)
        self.place = _after(piece)
        return piece

    def _arrived(self, wait: float) -> Iterator[tuple[Bytes, Events]]:
        chunk = self._buffer.next(self._receive, wait)
        if isinstance(chunk, LogEnd):
            raise LogEndedError(server_error(chunk.packet))
        if chunk is None:
            return
        sound = self._sound(chunk) if self._buffer.checksums else chunk.events
        self._take_format(chunk.buffer, sound)
        buffer, events = expanded(chunk.buffer, without_beats(sound))
        start = 0
        for lone in (*lone_events(buffer, events), len(events)):
            if lone > start:
                yield buffer, events.between(start, lone)
            if lone < len(events):
                yield buffer, events.between(lone, lone + 1)
            start = lone + 1

    def _sound(self, chunk: LogChunk) -> Events:
        """Return the events without those whose checksum is wrong."""
        wrong = wrong_checksums(chunk.buffer, chunk.events)
        for index in wrong:
            end = int(chunk.events.end_position[index])
            text = f"The CRC32 of the event before {self.place.file}:{end} is wrong"
            if chunk.events.table_id[index] < 0 or chunk.events.type[index] == EventType.TABLE_MAP:
                raise ConnectError(f"{text}: the binary log is damaged, on the server or on its way")
            self._corrupt.apply(text)
        return chunk.events.without(wrong) if wrong else chunk.events

    def _take_format(self, buffer: Bytes, events: Events) -> None:
        """Learn whether the events that follow end with a checksum; a format is the last event of its chunk."""
        if len(events) and events.type[-1] == EventType.FORMAT_DESCRIPTION:
            body = events.body_bytes(buffer, len(events) - 1)
            self._buffer.checksums = FormatDescription.parse(body[:-CHECKSUM_SIZE]).checksums


def _after(piece: LogPiece) -> Place:
    """Return the place after a piece, which a change of the file moves."""
    after, lone = piece.times.after, piece.lone()
    if lone is None or lone[0] is not EventType.ROTATE:
        return after
    rotate = Rotate.parse(lone[1])
    return replace(after, file=rotate.file, position=rotate.position, transaction=None)
