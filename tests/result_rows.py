"""Result sets in the binary protocol as a server writes them, and rows read one by one, in the plainest way.

The writer is for tests that need bytes, the reader is what the kernels are compared with: it goes through a row value
by value, each with a function of its type, and shares nothing with them.
"""

import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from tests.binlog import length

LARGEST = 0xFFFFFF
UNSIGNED = 0x20


@dataclass(frozen=True)
class Column:
    """A column: what its definition says, how a value is written and read back."""

    code: int
    write: Callable[[Any], bytes]
    read: Callable[[bytes, int], tuple[Any, int]]
    length: int = 0
    flags: int = 0
    decimals: int = 0
    charset: int = 63


def definition(column: Column, name: str = "a", original: str = "a") -> bytes:
    texts = (b"def", b"ops", b"g", b"goods", name.encode(), original.encode())
    fixed = struct.pack("<HIBHBxx", column.charset, column.length, column.code, column.flags, column.decimals)
    return b"".join(length(len(text)) + text for text in texts) + b"\x0c" + fixed


def packets(content: bytes, number: int) -> bytes:
    """Return a content as one packet, or as more where it is too long for one."""
    parts: list[bytes] = []
    while True:
        part, content = content[:LARGEST], content[LARGEST:]
        parts.append(len(part).to_bytes(3, "little") + bytes([(number + len(parts)) & 0xFF]) + part)
        if len(part) < LARGEST:
            return b"".join(parts)


def row(columns: Sequence[Column], values: Sequence[Any]) -> bytes:
    bitmap = sum(1 << place + 2 for place, value in enumerate(values) if value is None)
    cells = (column.write(value) for column, value in zip(columns, values, strict=True) if value is not None)
    return b"\0" + bitmap.to_bytes((len(columns) + 9) // 8, "little") + b"".join(cells)


def rows(columns: Sequence[Column], values: Iterable[Sequence[Any]], number: int = 0) -> bytes:
    return b"".join(packets(row(columns, each), number + place) for place, each in enumerate(values))


def end(number: int) -> bytes:
    return packets(b"\xfe\0\0\2\0", number)


def error(code: int, text: str, number: int) -> bytes:
    return packets(b"\xff" + struct.pack("<H", code) + b"#HY000" + text.encode(), number)


def read_row(content: bytes, columns: Sequence[Column]) -> list[Any]:
    """Read the values of a row one by one."""
    size = (len(columns) + 9) // 8
    bitmap = int.from_bytes(content[1 : 1 + size], "little")
    at = 1 + size
    values: list[Any] = []
    for place, column in enumerate(columns):
        if bitmap >> place + 2 & 1:
            values.append(None)
            continue
        value, at = column.read(content, at)
        values.append(value)
    assert at == len(content)
    return values


def integer(code: int, width: int, *, signed: bool) -> Column:
    return Column(
        code,
        lambda value: value.to_bytes(width, "little", signed=signed),
        lambda data, at: (int.from_bytes(data[at : at + width], "little", signed=signed), at + width),
        flags=0 if signed else UNSIGNED,
    )


def floating(code: int, layout: str) -> Column:
    return Column(
        code,
        lambda value: struct.pack(layout, value),
        lambda data, at: (struct.unpack_from(layout, data, at)[0], at + struct.calcsize(layout)),
        decimals=31,
    )


def encoded(code: int, most: int = 0, flags: int = 0, decimals: int = 0) -> Column:
    """Bytes with a length-encoded integer before them."""

    def read(data: bytes, at: int) -> tuple[bytes, int]:
        sizes = {0xFC: 2, 0xFD: 3, 0xFE: 8}
        size, start = data[at], at + 1
        if size in sizes:
            start += sizes[size]
            size = int.from_bytes(data[at + 1 : start], "little")
        return data[start : start + size], start + size

    return Column(code, lambda value: length(len(value)) + value, read, most, flags, decimals)


def decimal(precision: int, scale: int) -> Column:
    plain = encoded(246)

    def read(data: bytes, at: int) -> tuple[Decimal, int]:
        text, after = plain.read(data, at)
        return Decimal(text.decode()), after

    most = precision + (1 if scale else 0) + 1
    return Column(246, lambda value: plain.write(f"{value:.{scale}f}".encode()), read, most, 0, scale)


def bit(count: int) -> Column:
    width, plain = (count + 7) // 8, encoded(16)

    def read(data: bytes, at: int) -> tuple[int, int]:
        content, after = plain.read(data, at)
        return int.from_bytes(content, "big"), after

    return Column(16, lambda value: plain.write(value.to_bytes(width, "big")), read, count, UNSIGNED)


def date() -> Column:
    """Of (year, month, day)."""

    def write(value: tuple[int, int, int]) -> bytes:
        return b"\4" + struct.pack("<HBB", *value) if any(value) else b"\0"

    def read(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
        value = struct.unpack_from("<HBB", data, at + 1) if data[at] else (0, 0, 0)
        return value, at + 1 + data[at]

    return Column(10, write, read)


def datetime(code: int, digits: int) -> Column:
    """Of (year, month, day, hour, minute, second, microsecond), in the shortest form."""

    def write(value: tuple[int, ...]) -> bytes:
        content = struct.pack("<HBBBBBI", *value)
        size = 11 if value[6] else 7 if any(value[3:]) else 4 if any(value) else 0
        return bytes([size]) + content[:size]

    def read(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
        content = data[at + 1 : at + 1 + data[at]].ljust(11, b"\0")
        return struct.unpack("<HBBBBBI", content), at + 1 + data[at]

    return Column(code, write, read, decimals=digits)


def time(digits: int) -> Column:
    """Of microseconds, negative ones as well."""

    def write(value: int) -> bytes:
        seconds, micros = divmod(abs(value), 1_000_000)
        clock = (seconds // 86_400, seconds // 3600 % 24, seconds // 60 % 60, seconds % 60)
        content = struct.pack("<BIBBBI", value < 0, *clock, micros)
        size = 12 if micros else 8 if value else 0
        return bytes([size]) + content[:size]

    def read(data: bytes, at: int) -> tuple[int, int]:
        size = data[at]
        content = data[at + 1 : at + 1 + size].ljust(12, b"\0")
        negative, days, hours, minutes, seconds, micros = struct.unpack("<BIBBBI", content)
        value = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000 + micros
        return (-value if negative else value), at + 1 + size

    return Column(11, write, read, decimals=digits)
