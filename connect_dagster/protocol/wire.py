"""Kafka's primitive types as bytes (Kafka protocol guide, "Protocol Primitive Types"; KIP-482 for the compact ones).

A ``Reader`` walks through a byte string; the functions give the bytes of one value, to be added up. All numbers are
big-endian. What is read is what would be written: a form that Kafka never writes is malformed, so that bytes
that were read without an error come back equal. Independent of messages.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

_LONGEST_VARINT = 5  # bytes of 7 bits, for a number of 32 bits
_LONGEST_STRING = 0x7FFF
NO_TAGS = b"\x00"
"""A tag buffer without tags."""


class MalformedBytes(ValueError):
    """Bytes that are not such a message.

    Attributes:
        reason: what is wrong.
        position: index of the byte from which on it is wrong, counted from the start of the outermost bytes.
        size: how many bytes there are.
    """

    def __init__(self, reason: str, position: int, size: int) -> None:
        super().__init__(f"{reason}, at byte {position} of {size}")
        self.reason = reason
        self.position = position
        self.size = size


class Reader:
    """Reads one value after the other. Each method raises MalformedBytes when no such value comes next.

    Args:
        data: the bytes.
        start: index of the first one to read.
        end: index after the last one to read; all of them by default.
    """

    __slots__ = ("_at", "_data", "_end")

    def __init__(self, data: bytes, start: int = 0, end: int | None = None) -> None:
        self._data = data
        self._at = start
        self._end = len(data) if end is None else end

    @property
    def position(self) -> int:
        """Index of the next byte."""
        return self._at

    @property
    def exhausted(self) -> bool:
        """Return whether nothing is left."""
        return self._at == self._end

    def finish(self) -> None:
        """Make sure that nothing is left."""
        if not self.exhausted:
            raise self.malformed(f"{self._end - self._at} bytes more than the message has")

    def malformed(self, reason: str, position: int | None = None) -> MalformedBytes:
        """Return the error to raise for what is wrong, by default at the next byte."""
        return MalformedBytes(reason, self._at if position is None else position, len(self._data))

    def int8(self) -> int:
        return self._number(">b")

    def int16(self) -> int:
        return self._number(">h")

    def int32(self) -> int:
        return self._number(">i")

    def int64(self) -> int:
        return self._number(">q")

    def unsigned_varint(self) -> int:
        """Return a number of 32 bits, in groups of 7 bits, the lowest first."""
        start, value = self._at, 0
        for place in range(_LONGEST_VARINT):
            byte = self._take(1, "a varint")[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                if value > 0xFFFFFFFF or (byte == 0 and place > 0):
                    break
                return value
        raise self.malformed("not a varint of 32 bits in its shortest form", start)

    def string(self) -> str:
        return self._present(self.nullable_string, "string")

    def nullable_string(self) -> str | None:
        return self._text(self._length(self.int16, "string"))

    def data(self) -> bytes:
        """BYTES."""
        return self._present(self.nullable_data, "byte string")

    def nullable_data(self) -> bytes | None:
        """NULLABLE_BYTES."""
        return self._bytes(self._length(self.int32, "byte string"))

    def nested(self) -> Reader | None:
        """Read NULLABLE_BYTES that hold a separate message: a reader of just these, which counts positions as we do."""
        content = self.nullable_data()
        return None if content is None else Reader(self._data, self._at - len(content), self._at)

    def array(self, item: Callable[[], T]) -> tuple[T, ...]:
        """ARRAY of what ``item`` reads."""
        return self._present(lambda: self.nullable_array(item), "array")

    def nullable_array(self, item: Callable[[], T]) -> tuple[T, ...] | None:
        return self._items(self._length(self.int32, "array"), item)

    def compact_string(self) -> str:
        return self._present(self.compact_nullable_string, "string")

    def compact_nullable_string(self) -> str | None:
        return self._text(self._compact_length("string"))

    def compact_data(self) -> bytes:
        """COMPACT_BYTES."""
        return self._present(lambda: self._bytes(self._compact_length("byte string")), "byte string")

    def compact_array(self, item: Callable[[], T]) -> tuple[T, ...]:
        """COMPACT_ARRAY of what ``item`` reads."""
        return self._present(lambda: self._items(self._compact_length("array"), item), "array")

    def tags(self) -> bytes:
        """TAG_BUFFER, as the bytes it is: what its tags mean is not asked."""
        start = self._at
        for _ in range(self.unsigned_varint()):
            self.unsigned_varint()
            self._take(self.unsigned_varint(), "a tag")
        return self._data[start : self._at]

    def _number(self, layout: str) -> int:
        size = struct.calcsize(layout)
        return int(struct.unpack(layout, self._take(size, f"a number of {size} bytes"))[0])

    def _length(self, number: Callable[[], int], what: str) -> int | None:
        start, length = self._at, number()
        if length < -1:
            raise self.malformed(f"{what} of length {length}", start)
        return self._fitting(None if length == -1 else length, what, start)

    def _compact_length(self, what: str) -> int | None:
        start, length = self._at, self.unsigned_varint() - 1
        return self._fitting(None if length == -1 else length, what, start)

    def _fitting(self, length: int | None, what: str, start: int) -> int | None:
        # No item of an array is shorter than a byte: a length that is nonsense is found before memory is asked for.
        if length is not None and length > self._end - self._at:
            raise self.malformed(f"{what} of length {length} where {self._end - self._at} bytes are left", start)
        return length

    def _present(self, read: Callable[[], T | None], what: str) -> T:
        start, value = self._at, read()
        if value is None:
            raise self.malformed(f"{what} must not be null", start)
        return value

    def _text(self, length: int | None) -> str | None:
        start, content = self._at, self._bytes(length)
        if content is None:
            return None
        try:
            return content.decode()
        except UnicodeDecodeError as error:
            raise self.malformed("string is not UTF-8", start + error.start) from error

    def _bytes(self, length: int | None) -> bytes | None:
        return None if length is None else self._take(length, "a byte string")

    def _items(self, count: int | None, item: Callable[[], T]) -> tuple[T, ...] | None:
        return None if count is None else tuple(item() for _ in range(count))

    def _take(self, count: int, what: str) -> bytes:
        start = self._at
        if count > self._end - start:
            raise self.malformed(f"{what} was expected, but the bytes end")
        self._at = start + count
        return self._data[start : self._at]


def int8(value: int) -> bytes:
    """INT8. Raises struct.error for a number out of its range."""
    return struct.pack(">b", value)


def int16(value: int) -> bytes:
    """INT16. Raises struct.error for a number out of its range."""
    return struct.pack(">h", value)


def int32(value: int) -> bytes:
    """INT32. Raises struct.error for a number out of its range."""
    return struct.pack(">i", value)


def int64(value: int) -> bytes:
    """INT64. Raises struct.error for a number out of its range."""
    return struct.pack(">q", value)


def unsigned_varint(value: int) -> bytes:
    """Return a number of 32 bits, in groups of 7 bits, the lowest first."""
    groups = bytearray()
    while value >= 0x80:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)


def string(text: str) -> bytes:
    """STRING. Raises ValueError for one of more than 32767 bytes."""
    content = _utf8(text)
    if len(content) > _LONGEST_STRING:
        raise ValueError(f"a string of {len(content)} bytes is longer than Kafka's {_LONGEST_STRING}: {text[:40]!r}…")
    return int16(len(content)) + content


def nullable_string(text: str | None) -> bytes:
    """NULLABLE_STRING. Raises ValueError for one of more than 32767 bytes."""
    return int16(-1) if text is None else string(text)


def data(content: bytes) -> bytes:
    """BYTES."""
    return int32(len(content)) + content


def nullable_data(content: bytes | None) -> bytes:
    """NULLABLE_BYTES."""
    return int32(-1) if content is None else data(content)


def array(items: Iterable[bytes]) -> bytes:
    """ARRAY of items that are bytes already."""
    encoded = list(items)
    return int32(len(encoded)) + b"".join(encoded)


def nullable_array(items: Iterable[bytes] | None) -> bytes:
    """ARRAY, or null."""
    return int32(-1) if items is None else array(items)


def compact_string(text: str) -> bytes:
    """COMPACT_STRING."""
    return compact_data(_utf8(text))


def compact_nullable_string(text: str | None) -> bytes:
    """COMPACT_NULLABLE_STRING."""
    return unsigned_varint(0) if text is None else compact_string(text)


def compact_data(content: bytes) -> bytes:
    """COMPACT_BYTES."""
    return unsigned_varint(len(content) + 1) + content


def compact_array(items: Iterable[bytes]) -> bytes:
    """COMPACT_ARRAY of items that are bytes already."""
    encoded = list(items)
    return unsigned_varint(len(encoded) + 1) + b"".join(encoded)


def _utf8(text: str) -> bytes:
    return text.encode(errors="replace")  # half a surrogate pair becomes "?", as in Java
