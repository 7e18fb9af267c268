"""Bytes of the binary log in packets, as they arrive, and the whole events in them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from connect_dagster.connectors.mysql.decode.kernels import Bytes
from connect_dagster.connectors.mysql.decode.scan import Events, Stop, scan_events, scan_packets
from connect_dagster.errors import RetriableError

Receive = Callable[[memoryview, float], int]
"""Fills a buffer with the bytes that are there, at most; waits for the first ones for some seconds. 0: none came."""

_PACKET_HEADER = 4
_MARK = 1  # a zero before each event
_LARGEST_PACKET = 0xFFFFFF


@dataclass(frozen=True, slots=True)
class LogChunk:
    """Whole events of the log. The bytes are valid until the next ones are asked for."""

    buffer: Bytes
    events: Events


@dataclass(frozen=True, slots=True)
class LogEnd:
    """A packet without an event: an error, or the end.

    Attributes:
        packet: its content.
    """

    packet: bytes


class LogBuffer:
    """Collects what arrives, and gives the events in it.

    Args:
        size: bytes of the log that are held; more where one event is larger.
        checksums: whether events end with a CRC32.
    """

    def __init__(self, size: int, *, checksums: bool) -> None:
        self.checksums = checksums
        self._bytes: Bytes = np.empty(size, np.uint8)
        self._start = self._end = 0

    def next(self, receive: Receive, wait: float) -> LogChunk | LogEnd | None:
        """Return the events that have arrived, in memory first; ``None`` where none comes in time.

        Args:
            receive: reads more bytes.
            wait: longest time in seconds until the first byte.

        Raises:
            RetriableError: the connection is lost.
            MalformedBytes: an event is shorter than its header.
        """
        found = self._whole()
        if found is None and self._fill(receive, wait):
            found = self._whole()
        return found

    def _fill(self, receive: Receive, wait: float) -> bool:
        """Read what is there; return whether there was anything."""
        self._make_room()
        view, before = self._bytes.data, self._end
        self._end += receive(view[self._end :], wait)
        # What has come counts before the end of the connection, which is found again: it may be the server's reason.
        with suppress(RetriableError):
            while before < self._end < len(view) and (count := receive(view[self._end :], 0)):
                self._end += count
        return self._end > before

    def _make_room(self) -> None:
        left = self._bytes[self._start : self._end]
        room = np.empty(2 * len(self._bytes), np.uint8) if len(left) == len(self._bytes) else self._bytes
        room[: len(left)] = left.copy() if room is self._bytes else left
        self._bytes, self._start, self._end = room, 0, len(left)

    def _whole(self) -> LogChunk | LogEnd | None:
        found = scan_packets(self._bytes, self._start, self._end, checksums=self.checksums)
        if len(found.events):
            self._start = found.end
            return LogChunk(self._bytes, found.events)
        match found.stop:
            case Stop.SPLIT:
                return self._joined()
            case Stop.ENDED:
                return LogEnd(self._packet(self._start))
            case Stop.MALFORMED:
                scan_events(self._bytes[self._start + _PACKET_HEADER + _MARK : self._end])  # raises
        return None

    def _joined(self) -> LogChunk | None:
        """Return the event that several packets hold; ``None`` where the last one is not here yet."""
        parts, at = [], self._start
        while True:
            if at + _PACKET_HEADER > self._end or at + _PACKET_HEADER + self._size(at) > self._end:
                return None
            parts.append(self._bytes[at + _PACKET_HEADER : at + _PACKET_HEADER + self._size(at)])
            last, at = self._size(at) < _LARGEST_PACKET, at + _PACKET_HEADER + self._size(at)
            if last:
                break
        self._start = at
        event = np.concatenate(parts)[_MARK:]
        return LogChunk(event, scan_events(event, checksums=self.checksums))

    def _packet(self, at: int) -> bytes:
        start = at + _PACKET_HEADER
        return self._bytes[start : start + self._size(at)].tobytes()

    def _size(self, at: int) -> int:
        return int.from_bytes(self._bytes[at : at + 3].tobytes(), "little")
