"""Finds the events in what a server sent, and their headers as columns.

Bytes come as packets of MySQL's protocol (3 bytes of length, a number, a zero) or, inside a compressed transaction,
one event after the other.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from connect_dagster.connectors.mysql.decode.events import CHECKSUM_SIZE, HEADER_SIZE, EventType
from connect_dagster.connectors.mysql.decode.kernels import Bytes, Flags, LongMatrix, Longs, kernel, unsigned
from connect_dagster.protocol.wire import MalformedBytes

_PACKET_HEADER = 4
_SPLIT_SIZE = 0xFFFFFF
# Rows of the matrix that the kernel fills.
_BODY, _LENGTH, _TYPE, _TIMESTAMP, _SERVER, _START, _END, _TABLE = range(8)
_COLUMNS = 8
_FORMAT_DESCRIPTION = int(EventType.FORMAT_DESCRIPTION)
_TABLE_MAP = int(EventType.TABLE_MAP)
_FIRST_ROWS, _LAST_ROWS = int(EventType.WRITE_ROWS_V1), int(EventType.DELETE_ROWS)
_FIRST_COMPRESSED, _LAST_COMPRESSED = (
    int(EventType.WRITE_ROWS_COMPRESSED_V1),
    int(EventType.DELETE_ROWS_COMPRESSED),
)
_NOT_ROWS = (int(EventType.INCIDENT), int(EventType.ROWS_QUERY))


class Stop(IntEnum):
    """Why a scan ended."""

    INCOMPLETE = 0  # the last event goes on in bytes that have not come yet
    SPLIT = 1  # a packet of 16 MB, whose event goes on in the next one
    ENDED = 2  # an EOF or ERR packet
    MALFORMED = 3  # an event shorter than its header
    FORMAT = 4  # a FORMAT_DESCRIPTION, which decides on the checksums of the events after it


_INCOMPLETE, _SPLIT, _ENDED, _MALFORMED, _FORMAT = (int(stop) for stop in Stop)


@dataclass(frozen=True, slots=True)
class Events:
    """Headers of events as columns, in the order of the log.

    The body of a FORMAT_DESCRIPTION ends with its checksum; those of other events do not.

    Attributes:
        matrix: a row for each of the columns below.
    """

    matrix: Longs

    def __len__(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def body(self) -> Longs:
        """Index of the first byte after the header."""
        return self._row(_BODY)

    @property
    def length(self) -> Longs:
        """Bytes of the body."""
        return self._row(_LENGTH)

    @property
    def type(self) -> Longs:
        """One of EventType."""
        return self._row(_TYPE)

    @property
    def timestamp(self) -> Longs:
        """Seconds since 1970."""
        return self._row(_TIMESTAMP)

    @property
    def server_id(self) -> Longs:
        """Server that wrote the event first."""
        return self._row(_SERVER)

    @property
    def position(self) -> Longs:
        """Position of the event in the file; negative for an event that is in no file."""
        return self._row(_START)

    @property
    def end_position(self) -> Longs:
        """Position in the file after the event."""
        return self._row(_END)

    @property
    def table_id(self) -> Longs:
        """Table of a TABLE_MAP or a row event, else -1."""
        return self._row(_TABLE)

    @property
    def rows(self) -> Flags:
        """True for an event with rows that are not compressed."""
        found: Flags = (self.table_id >= 0) & (self.type != _TABLE_MAP) & (self.type < _FIRST_COMPRESSED)
        return found

    def body_bytes(self, buffer: Bytes, index: int) -> bytes:
        """Return the body of one event."""
        start = int(self.body[index])
        return buffer[start : start + int(self.length[index])].tobytes()

    def between(self, first: int, last: int) -> Events:
        """Return the events from one index up to, and without, another one."""
        return Events(self.matrix[:, first:last])

    def placed(self, position: int, end_position: int) -> Events:
        """Return the events with one position for all, that of the event they were packed in."""
        matrix = self.matrix.copy()
        matrix[_START], matrix[_END] = position, end_position
        return Events(matrix)

    def shifted(self, by: int) -> Events:
        """Return the events of a buffer that begins later in another one."""
        matrix = self.matrix.copy()
        matrix[_BODY] += by
        return Events(matrix)

    @classmethod
    def joined(cls, parts: Sequence[Events]) -> Events:
        """Return the events of several parts, one after the other."""
        return cls(np.concatenate([part.matrix for part in parts], axis=1))

    def without(self, indices: Sequence[int]) -> Events:
        """Return the events without some of them."""
        return Events(np.delete(self.matrix, indices, axis=1))

    def unpacked(self, index: int, *, body: int, length: int, event_type: int) -> None:
        """Let an event stand where its decompressed body is."""
        self.matrix[_BODY, index] = body
        self.matrix[_LENGTH, index] = length
        self.matrix[_TYPE, index] = event_type

    def _row(self, index: int) -> Longs:
        row: Longs = self.matrix[index]
        return row


@dataclass(frozen=True, slots=True)
class Scanned:
    """Result of a scan.

    Attributes:
        end: index after the last whole event.
    """

    events: Events
    end: int
    stop: Stop


def scan_packets(buffer: Bytes, start: int, end: int, *, checksums: bool) -> Scanned:
    """Find the events in packets of the protocol."""
    most = (end - start) // (_PACKET_HEADER + 1 + HEADER_SIZE) + 1
    return _scanned(buffer, start, end, True, checksums, most)


def scan_events(buffer: Bytes, *, checksums: bool = False) -> Events:
    """Find events that follow each other without packets.

    Raises:
        MalformedBytes: the last one is not whole.
    """
    found = _scanned(buffer, 0, len(buffer), False, checksums, len(buffer) // HEADER_SIZE + 1)
    if found.stop is not Stop.INCOMPLETE or found.end != len(buffer):
        raise MalformedBytes("an event that is not whole", found.end, len(buffer))
    return found.events


def _scanned(buffer: Bytes, start: int, end: int, packets: bool, checksums: bool, limit: int) -> Scanned:
    matrix = np.empty((_COLUMNS, limit), np.int64)
    count, after, stop = _scan(buffer, start, end, packets, CHECKSUM_SIZE if checksums else 0, matrix)
    return Scanned(Events(matrix[:, :count]), int(after), Stop(int(stop)))


def wrong_checksums(buffer: Bytes, events: Events) -> list[int]:
    """Return the indices of events that differ from the CRC32 after their bodies."""
    view = buffer.data
    starts = events.body - HEADER_SIZE
    ends = events.body + events.length
    ends[events.type == _FORMAT_DESCRIPTION] -= CHECKSUM_SIZE  # it has its own in its body
    return [
        index
        for index, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
        if zlib.crc32(view[start:end]) != int.from_bytes(view[end : end + CHECKSUM_SIZE], "little")
    ]


@kernel
def _scan(
    buffer: Bytes, start: int, end: int, packets: bool, checksum: int, matrix: LongMatrix
) -> tuple[int, int, int]:
    """Fill the matrix; return the number of events, the index after them and why there are no more."""
    count = 0
    at = start
    while True:
        if packets:
            if at + _PACKET_HEADER + 1 > end:
                return count, at, _INCOMPLETE
            size = unsigned(buffer, at, 3)
            if size == _SPLIT_SIZE:
                return count, at, _SPLIT
            event = at + _PACKET_HEADER + 1
            after = at + _PACKET_HEADER + size
            if after > end:
                return count, at, _INCOMPLETE
            if buffer[event - 1] != 0:
                return count, at, _ENDED
        else:
            if at + HEADER_SIZE > end:
                return count, at, _INCOMPLETE
            event = at
            after = at + unsigned(buffer, at + 9, 4)
            if after > end:
                return count, at, _INCOMPLETE
        body = event + HEADER_SIZE
        length = after - body - checksum
        if length < 0:
            return count, at, _MALFORMED
        kind = unsigned(buffer, event + 4, 1)
        if kind == _FORMAT_DESCRIPTION:
            length += checksum
        matrix[_BODY, count] = body
        matrix[_LENGTH, count] = length
        matrix[_TYPE, count] = kind
        matrix[_TIMESTAMP, count] = unsigned(buffer, event, 4)
        matrix[_SERVER, count] = unsigned(buffer, event + 5, 4)
        matrix[_END, count] = unsigned(buffer, event + 13, 4)
        matrix[_START, count] = matrix[_END, count] - (after - event)
        matrix[_TABLE, count] = -1
        if (
            kind == _TABLE_MAP
            or (_FIRST_ROWS <= kind <= _LAST_ROWS and not _NOT_ROWS[0] <= kind <= _NOT_ROWS[1])
            or _FIRST_COMPRESSED <= kind <= _LAST_COMPRESSED
        ):
            if length < 8:
                return count, at, _MALFORMED
            matrix[_TABLE, count] = unsigned(buffer, body, 6)
        count += 1
        at = after
        if packets and kind == _FORMAT_DESCRIPTION:
            return count, at, _FORMAT
