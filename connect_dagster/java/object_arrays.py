"""Java's serialised form of an ``Object[]`` of values (``java.io.ObjectOutputStream.writeObject``).

A class is described once; later places refer to it by a handle, numbered in the order in which things appear. Boxes of
small numbers and of booleans are one object wherever they appear, as in Java.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TypeAlias

from connect_dagster.java.object_classes import (
    ARRAY,
    BIG_DECIMAL,
    BIG_INTEGER,
    BIG_INTEGER_FIELDS,
    BLOCK,
    BOXES,
    BYTES,
    CLASS,
    END,
    FIRST_HANDLE,
    FORMATS,
    JAVA_TIME,
    LONG_STRING,
    MAGIC,
    NULL,
    OBJECT,
    OBJECTS,
    REFERENCE,
    STRING,
    TIMESTAMP,
    JavaClass,
    JavaType,
)
from connect_dagster.java.object_stream import modified_utf8

Value: TypeAlias = bool | int | float | Decimal | str | bytes | datetime | date | timedelta | None
"""A value in Python's terms: a ``Timestamp`` is a time in UTC, a ``LocalDate`` a date, a ``Duration`` a timedelta."""

_LONGEST_SHORT = 0xFFFF
_SMALL = range(-128, 128)
_UNUSED = (-1, -1, -2, -2)  # fields of a BigInteger that are no longer used
_DURATION, _LOCAL_DATE = 1, 3  # kinds of ``java.time.Ser``
_SECOND = timedelta(seconds=1)


def serialized_array(values: Sequence[tuple[JavaType, Value]] | None) -> bytes:
    """Return the stream that has only this array.

    Args:
        values: types and values, of which any may be ``None``; ``None`` for null in place of an array.
    """
    writer = _Writer()
    writer.array(values)
    return bytes(writer.out)


class _Writer:
    """A stream and the handles in it."""

    def __init__(self) -> None:
        self.out = bytearray(MAGIC)
        self._handles: dict[object, int] = {}
        self._next = 0

    def array(self, values: Sequence[tuple[JavaType, Value]] | None) -> None:
        if values is None:
            self._put(NULL)
            return
        self._put(ARRAY)
        self._class(OBJECTS)
        self._handle()
        self._pack("I", len(values))
        for kind, value in values:
            self._value(kind, value)

    def _value(self, kind: JavaType, value: Value) -> None:
        shared = (kind, value) if isinstance(value, bool) or _is_small(kind, value) else None
        if value is None:
            self._put(NULL)
        elif shared is not None and shared in self._handles:
            self._refer(shared)
        else:
            self._new(kind, value, shared)

    def _new(self, kind: JavaType, value: Value, shared: object) -> None:
        match value:
            case str():
                self._text(value)
            case bytes():
                self._bytes(value)
            case Decimal():
                self._decimal(value)
            case datetime():
                self._timestamp(value)
            case date():
                content = struct.pack(">biBB", _LOCAL_DATE, value.year, value.month, value.day)
                self._external(content)
            case timedelta():
                seconds, rest = divmod(value, _SECOND)
                self._external(struct.pack(">bqi", _DURATION, seconds, rest.microseconds * 1000))
            case int() if kind is JavaType.BIG_INTEGER:
                self._big_integer(value)
            case _:
                box = BOXES[kind]
                self._object(box, shared)
                ((code, _),) = box.fields
                self._pack(FORMATS[code], value)

    def _decimal(self, value: Decimal) -> None:
        sign, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        self._object(BIG_DECIMAL)
        self._pack("i", -exponent)
        self._big_integer(unscaled)
        self._put(END)

    def _big_integer(self, value: int) -> None:
        magnitude = abs(value).to_bytes((abs(value).bit_length() + 7) // 8)
        self._object(BIG_INTEGER)
        self._pack(f"{len(BIG_INTEGER_FIELDS)}i", *_UNUSED, (value > 0) - (value < 0))
        self._bytes(magnitude)
        self._put(END)

    def _timestamp(self, value: datetime) -> None:
        since = value.replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
        seconds, rest = divmod(since, _SECOND)
        self._object(TIMESTAMP)
        self._block(struct.pack(">q", seconds * 1000))
        self._pack("i", rest.microseconds * 1000)

    def _external(self, content: bytes) -> None:
        self._object(JAVA_TIME)
        self._block(content)

    def _block(self, content: bytes) -> None:
        self._put(BLOCK, len(content), *content, END)

    def _bytes(self, content: bytes) -> None:
        self._put(ARRAY)
        self._class(BYTES)
        self._handle()
        self._pack("I", len(content))
        self.out += content

    def _text(self, text: str) -> None:
        content = modified_utf8(text)
        is_long = len(content) > _LONGEST_SHORT
        self._put(LONG_STRING if is_long else STRING)
        self._handle()
        self._pack("Q" if is_long else "H", len(content))
        self.out += content

    def _object(self, kind: JavaClass, shared: object = None) -> None:
        self._put(OBJECT)
        self._class(kind)
        self._handle(shared)

    def _class(self, kind: JavaClass | None) -> None:
        if kind is None:
            self._put(NULL)
        elif kind in self._handles:
            self._refer(kind)
        else:
            self._put(CLASS)
            self._name(kind.name)
            self._handle(kind)
            self._pack("QBH", kind.version, kind.flags, len(kind.fields))
            for code, name in kind.fields:
                self._field(code, name)
            self._put(END)
            self._class(kind.parent)

    def _field(self, code: str, name: str) -> None:
        self._put(ord(code[0]))
        self._name(name)
        if code in FORMATS:
            return
        if code in self._handles:
            self._refer(code)
        else:
            self._put(STRING)
            self._handle(code)
            self._name(code)

    def _name(self, name: str) -> None:
        content = name.encode()
        self._pack("H", len(content))
        self.out += content

    def _refer(self, thing: object) -> None:
        self._put(REFERENCE)
        self._pack("I", FIRST_HANDLE + self._handles[thing])

    def _handle(self, thing: object = None) -> None:
        """Give the next number to something that was written; to one that comes again, under its name."""
        if thing is not None:
            self._handles[thing] = self._next
        self._next += 1

    def _put(self, *numbers: int) -> None:
        self.out += bytes(numbers)

    def _pack(self, layout: str, *values: object) -> None:
        self.out += struct.pack(f">{layout}", *values)


def _is_small(kind: JavaType, value: Value) -> bool:
    return kind in (JavaType.INTEGER, JavaType.LONG) and value in _SMALL
