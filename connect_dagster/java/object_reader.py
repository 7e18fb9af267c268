"""Reads what Java serialised as an ``Object[]`` of values; :mod:`object_arrays` writes it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from connect_dagster.errors import DataError
from connect_dagster.java.object_arrays import Value
from connect_dagster.java.object_classes import (
    ARRAY,
    BLOCK,
    CLASS,
    END,
    FIRST_HANDLE,
    FORMATS,
    LONG_STRING,
    MAGIC,
    NULL,
    OBJECT,
    REFERENCE,
    STRING,
    Flag,
    JavaClass,
)

_EPOCH = datetime(1970, 1, 1)
_DURATION, _LOCAL_DATE, _LOCAL_DATE_TIME = 1, 3, 5
_OBJECTS, _BYTES = "[Ljava.lang.Object;", "[B"


def parsed_array(data: bytes) -> tuple[Value, ...] | None:
    """Return the values of an array; ``None`` for a null in its place.

    Raises:
        DataError: the bytes are something else, damaged, or have values of other classes.
    """
    try:
        found = _Stream(data).only()
    except (IndexError, struct.error, ValueError, OverflowError, AttributeError, KeyError, TypeError) as error:
        raise DataError(f"not a serialised Object[] of Java: {error}") from error
    if found is not None and not isinstance(found, tuple):
        raise DataError(f"not an Object[], but {found!r}, was serialised in Java")
    return found


class _Stream:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._handles: list[Any] = []

    def only(self) -> Any:
        if self._take(len(MAGIC)) != MAGIC:
            raise ValueError("it does not begin as one")
        found = self._value()
        if self._at != len(self._data):
            raise ValueError(f"there is more after byte {self._at}")
        return found

    def _value(self) -> Any:
        tag = self._byte()
        match tag:
            case _ if tag == NULL:
                return None
            case _ if tag == REFERENCE:
                return self._referred()
            case _ if tag in (STRING, LONG_STRING):
                return self._text("Q" if tag == LONG_STRING else "H")
            case _ if tag == ARRAY:
                return self._array()
            case _ if tag == OBJECT:
                return self._object()
        raise ValueError(f"content of type 0x{tag:02x} at byte {self._at - 1}")

    def _text(self, size: str) -> str:
        place = self._reserved()
        text = self._utf(size)
        self._handles[place] = text
        return text

    def _array(self) -> Any:
        kind = self._class()
        place = self._reserved()
        (count,) = self._unpack("I")
        if kind is None or kind.name not in (_OBJECTS, _BYTES):
            raise ValueError(f"an array of class {kind and kind.name}")
        content: Any = self._take(count) if kind.name == _BYTES else tuple(self._value() for _ in range(count))
        self._handles[place] = content
        return content

    def _object(self) -> Value:
        kind = self._class()
        if kind is None:
            raise ValueError("an object without a class")
        place = self._reserved()
        fields: dict[str, Any] = {}
        block = b""
        for one in kind.line():
            if not one.flags & Flag.EXTERNALIZABLE:
                fields |= self._fields(one)
            if one.flags & (Flag.OWN_METHOD | Flag.IN_BLOCKS):
                block += self._blocks()
        if kind.name not in _VALUES:
            raise ValueError(f"a value of class {kind.name}")
        self._handles[place] = value = _VALUES[kind.name](fields, block)
        return value

    def _fields(self, kind: JavaClass) -> dict[str, Any]:
        return {
            name: self._unpack(FORMATS[code])[0] if code in FORMATS else self._value() for code, name in kind.fields
        }

    def _blocks(self) -> bytes:
        content = b""
        while (tag := self._byte()) != END:
            if tag != BLOCK:
                raise ValueError(f"content of type 0x{tag:02x} in place of the end of an object")
            content += self._take(self._byte())
        return content

    def _class(self) -> JavaClass | None:
        tag = self._byte()
        if tag == NULL:
            return None
        if tag == REFERENCE:
            found = self._referred()
            if not isinstance(found, JavaClass):
                raise ValueError("a reference that leads to no class")
            return found
        if tag != CLASS:
            raise ValueError(f"content of type 0x{tag:02x} in place of a class")
        name = self._utf("H")
        place = self._reserved()
        version, flags, count = self._unpack("QBH")
        fields = tuple(self._field() for _ in range(count))
        if self._byte() != END:
            raise ValueError(f"class {name} has annotations")
        self._handles[place] = found = JavaClass(name, version, Flag(flags), fields, self._class())
        return found

    def _field(self) -> tuple[str, str]:
        code, name = chr(self._byte()), self._utf("H")
        return (code if code in FORMATS else str(self._value())), name

    def _referred(self) -> Any:
        (number,) = self._unpack("I")
        return self._handles[number - FIRST_HANDLE]

    def _reserved(self) -> int:
        self._handles.append(None)
        return len(self._handles) - 1

    def _utf(self, size: str) -> str:
        (count,) = self._unpack(size)
        halves = self._take(count).replace(b"\xc0\x80", b"\0").decode("utf-8", "surrogatepass")
        return halves.encode("utf-16-be", "surrogatepass").decode("utf-16-be")

    def _byte(self) -> int:
        return self._take(1)[0]

    def _unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(f">{layout}", self._take(struct.calcsize(f">{layout}")))

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise IndexError(f"it ends in the middle, at byte {len(self._data)}")
        self._at += count
        return taken


def _boxed(fields: Mapping[str, Any], _: bytes) -> Value:
    value: Value = fields["value"]
    return value


def _big_integer(fields: Mapping[str, Any], _: bytes) -> int:
    return int(fields["signum"]) * int.from_bytes(fields["magnitude"])


def _big_decimal(fields: Mapping[str, Any], _: bytes) -> Decimal:
    unscaled = fields["intVal"]
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -fields["scale"]))


def _timestamp(fields: Mapping[str, Any], block: bytes) -> datetime:
    return _time(block).replace(microsecond=fields["nanos"] // 1000)


def _time(block: bytes) -> datetime:
    return _EPOCH + timedelta(milliseconds=struct.unpack(">q", block)[0])


def _of_java_time(_: Mapping[str, Any], block: bytes) -> Value:
    kind, content = block[0], block[1:]
    if kind == _DURATION:
        seconds, nanos = struct.unpack(">qi", content)
        return timedelta(seconds=seconds, microseconds=nanos // 1000)
    if kind in (_LOCAL_DATE, _LOCAL_DATE_TIME):
        day = datetime(*struct.unpack(">iBB", content[:6]))
        return day.date() if kind == _LOCAL_DATE else day + _time_of_day(content[6:])
    raise ValueError(f"a value of java.time of kind {kind}")


def _time_of_day(content: bytes) -> timedelta:
    """Return the time of a ``LocalTime``, whose last part other than zero has its bits turned."""
    parts = list(struct.unpack(f">{min(len(content), 3)}b", content[:3]))
    if parts[-1] < 0:
        parts[-1] = ~parts[-1]
    hours, minutes, seconds = (*parts, 0, 0)[:3]
    nanos = struct.unpack(">i", content[3:])[0] if len(content) > 3 else 0
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=nanos // 1000)


_VALUES: Mapping[str, Callable[[Mapping[str, Any], bytes], Value]] = {
    **{f"java.lang.{name}": _boxed for name in ("Boolean", "Byte", "Short", "Integer", "Long", "Float", "Double")},
    "java.math.BigInteger": _big_integer,
    "java.math.BigDecimal": _big_decimal,
    "java.sql.Timestamp": _timestamp,
    "java.sql.Date": lambda _, block: _time(block).date(),
    "java.sql.Time": lambda _, block: _time(block) - _EPOCH,
    "java.util.Date": lambda _, block: _time(block),
    "java.time.Ser": _of_java_time,
}
