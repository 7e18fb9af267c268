"""Java's serialised ``HashMap<byte[], byte[]>``, the content of a standalone worker's offsets file.

Layout after the Java Object Serialization Specification, chapter 6: a magic number, one object whose class is
``java.util.HashMap``, its two fields, its capacity and size, then keys and values in turn. A class is described once;
later places refer to it by a handle, numbered in the order in which things appear. Pure: bytes in, bytes out. What
we write is what Java writes for ``new HashMap<>()`` and as many puts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from connect_dagster.errors import DataError

T = TypeVar("T")

_MAGIC = bytes.fromhex("aced0005")
_NULL, _REFERENCE, _CLASS, _OBJECT, _ARRAY, _BLOCK, _END = 0x70, 0x71, 0x72, 0x73, 0x75, 0x77, 0x78
_FIRST_HANDLE = 0x7E0000
_BYTES_HANDLE = _FIRST_HANDLE + 2  # after the class of the map, and the map
_FIELD_SIZES = {"B": 1, "C": 2, "D": 8, "F": 4, "I": 4, "J": 8, "S": 2, "Z": 1}

_MAP_NAME, _BYTES_NAME = "java.util.HashMap", "[B"
_LOAD_FACTOR = 0.75


def _text(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(">H", len(encoded)) + encoded


_MAP_CLASS = (
    bytes([_CLASS])
    + _text(_MAP_NAME)
    + struct.pack(">QBH", 0x0507DAC1C31660D1, 0x03, 2)  # serial version, serialisable with own method, two fields
    + b"F"
    + _text("loadFactor")
    + b"I"
    + _text("threshold")
    + bytes([_END, _NULL])
)
_BYTES_CLASS = (
    bytes([_CLASS]) + _text(_BYTES_NAME) + struct.pack(">QBH", 0xACF317F8060854E0, 0x02, 0) + bytes([_END, _NULL])
)
_BYTES_AGAIN = struct.pack(">BI", _REFERENCE, _BYTES_HANDLE)


def dumps(entries: Mapping[bytes, bytes | None]) -> bytes:
    """Return the serialised map, with its entries in the order given."""
    capacity, threshold = _shape(len(entries))
    parts = [_MAGIC, bytes([_OBJECT]), _MAP_CLASS, struct.pack(">fI", _LOAD_FACTOR, threshold)]
    parts.append(struct.pack(">BBII", _BLOCK, 8, capacity, len(entries)))
    described = False
    for item in _flat(entries):
        if item is None:
            parts.append(bytes([_NULL]))
        else:
            kind = _BYTES_AGAIN if described else _BYTES_CLASS
            parts += [bytes([_ARRAY]), kind, struct.pack(">I", len(item)), item]
            described = True
    return b"".join(parts) + bytes([_END])


def loads(data: bytes) -> dict[bytes, bytes | None]:
    """Parse a serialised map; returns its entries in the order written.

    Raises:
        DataError: the bytes are something else, or damaged; names the place.
    """
    return _Stream(data).read_map()


def _flat(entries: Mapping[bytes, bytes | None]) -> Iterator[bytes | None]:
    for key, value in entries.items():
        yield key
        yield value


def _shape(size: int) -> tuple[int, int]:
    """Return capacity and resize threshold of a HashMap after n puts; it has no table before the first."""
    capacity = 16
    while size > capacity * _LOAD_FACTOR:
        capacity *= 2
    return capacity, int(capacity * _LOAD_FACTOR) if size else 0


@dataclass(frozen=True, slots=True)
class _ClassDescription:
    name: str
    field_bytes: int


@dataclass(slots=True)
class _Stream:
    """A reader of the content that such a map has."""

    data: bytes
    at: int = 0
    handles: list[object] = field(default_factory=list)

    def read_map(self) -> dict[bytes, bytes | None]:
        self._expect(_MAGIC, "a Java serialisation header")
        self._expect(bytes([_OBJECT]), "an object")
        described = self._class(_MAP_NAME)
        self.handles.append(described.name)  # the map itself
        self._take(described.field_bytes)
        size = self._size()
        entries = dict(self._entry() for _ in range(size))
        self._expect(bytes([_END]), "the end of the map")
        if self.at != len(self.data):
            raise self._damaged("there is more after the end of the map", self.at)
        return entries

    def _size(self) -> int:
        self._expect(bytes([_BLOCK, 8]), "capacity and size of the map")
        start = self.at
        _, size = struct.unpack(">ii", self._take(8))
        if size < 0:
            raise self._damaged(f"the map has a size of {size}", start)
        return int(size)

    def _entry(self) -> tuple[bytes, bytes | None]:
        start, key = self.at, self._bytes()
        if key is None:
            raise self._damaged("a key is null", start)
        return key, self._bytes()

    def _bytes(self) -> bytes | None:
        start, tag = self.at, self._byte()
        if tag == _NULL:
            return None
        if tag == _REFERENCE:
            return self._referred(start, bytes)
        if tag != _ARRAY:
            raise self._damaged(f"expected an array of bytes but found content of type 0x{tag:02x}", start)
        self._class(_BYTES_NAME)
        value = self._take(self._int())
        self.handles.append(value)
        return value

    def _class(self, wanted: str) -> _ClassDescription:
        start, tag = self.at, self._byte()
        if tag not in (_CLASS, _REFERENCE):
            raise self._damaged(f"expected class {wanted} but found content of type 0x{tag:02x}", start)
        described = self._referred(start, _ClassDescription) if tag == _REFERENCE else self._new_class(wanted)
        if described.name != wanted:
            raise self._damaged(f"expected {wanted} but found {described.name}", start)
        return described

    def _new_class(self, wanted: str) -> _ClassDescription:
        start, name = self.at, self._utf()
        if name != wanted:  # before its fields, which may be of kinds that this reader does not know
            raise self._damaged(f"expected {wanted} but found {name}", start)
        self._take(9)  # serial version, flags
        described = _ClassDescription(name, self._field_bytes())
        self.handles.append(described)
        self._expect(bytes([_END, _NULL]), f"the end of class {name}")
        return described

    def _field_bytes(self) -> int:
        total = 0
        for _ in range(self._short()):
            start, kind = self.at, chr(self._byte())
            if kind not in _FIELD_SIZES:
                raise self._damaged(f"a field of type {kind!r} is not expected", start)
            self._utf()
            total += _FIELD_SIZES[kind]
        return total

    def _referred(self, start: int, kind: type[T]) -> T:
        number = self._int() - _FIRST_HANDLE
        found = self.handles[number] if 0 <= number < len(self.handles) else None
        if not isinstance(found, kind):
            raise self._damaged("a reference leads nowhere", start)
        return found

    def _expect(self, wanted: bytes, what: str) -> None:
        start = self.at
        if self._take(len(wanted)) != wanted:
            raise self._damaged(f"expected {what}", start)

    def _byte(self) -> int:
        return self._take(1)[0]

    def _short(self) -> int:
        return int.from_bytes(self._take(2))

    def _int(self) -> int:
        return int.from_bytes(self._take(4))

    def _utf(self) -> str:
        return self._take(self._short()).decode(errors="replace")

    def _take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) < count:
            raise self._damaged(f"{count} more bytes were expected, there are {len(taken)}", self.at)
        self.at += count
        return taken

    def _damaged(self, reason: str, place: int) -> DataError:
        return DataError(f"not a serialised Java HashMap of byte arrays: {reason}, at byte {place} of {len(self.data)}")
