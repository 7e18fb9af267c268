"""The primitive types of the binary log: little-endian numbers, lengths of 1 to 9 bytes, texts with a length before.

For the few events that are read one by one; rows go through the kernels.
"""

from __future__ import annotations

from connect_dagster.protocol.wire import MalformedBytes

# The first byte of a length: a value by itself up to 250, else the number of bytes that follow.
_LONG_LENGTHS = {0xFC: 2, 0xFD: 3, 0xFE: 8}


class Reader:
    """Reads one value after the other. Each method raises MalformedBytes when no such value comes next.

    Args:
        data: the bytes of an event, or of a part of one.
    """

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def position(self) -> int:
        """Index of the next byte."""
        return self._at

    @property
    def left(self) -> int:
        """Number of bytes that are left."""
        return len(self._data) - self._at

    def malformed(self, reason: str) -> MalformedBytes:
        """Return the error to raise for what is wrong at the next byte."""
        return MalformedBytes(reason, self._at, len(self._data))

    def unsigned(self, width: int) -> int:
        """Return a number of ``width`` bytes."""
        return int.from_bytes(self.take(width), "little")

    def big_endian(self, width: int) -> int:
        """Return a number of ``width`` bytes, the highest first."""
        return int.from_bytes(self.take(width), "big")

    def length(self) -> int:
        """Return a length-encoded integer (MySQL: ``net_field_length``)."""
        first = self.unsigned(1)
        if first <= 0xFA:
            return first
        if first not in _LONG_LENGTHS:
            raise self.malformed(f"a length cannot begin with {first:#x}")
        return self.unsigned(_LONG_LENGTHS[first])

    def text(self, size: int) -> str:
        """Return a text of ``size`` bytes; what is not UTF-8 is replaced, as Java does."""
        return self.take(size).decode(errors="replace")

    def take(self, size: int) -> bytes:
        """Return the next ``size`` bytes."""
        if size > self.left:
            raise self.malformed(f"{size} bytes were expected, {self.left} are left")
        start, self._at = self._at, self._at + size
        return self._data[start : self._at]

    def rest(self) -> bytes:
        """Return all bytes that are left."""
        return self.take(self.left)
