"""Events of the binary log as a server writes them, and rows read one by one, in the plainest way.

The writer is for tests that need bytes, the reader is what the kernels are compared with: it goes through a row value
by value, each with a function of its type, and shares nothing with them.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from connect_dagster.connectors.mysql.decode.events import EventType

ABSENT = object()
"""A cell that is not in an image."""
_WIDE = Context(prec=100)


def event(
    kind: int, body: bytes, *, timestamp: int = 0, server_id: int = 1, end: int = 0, checksum: bool = False
) -> bytes:
    size = 19 + len(body) + (4 if checksum else 0)
    content = struct.pack("<IBIIIH", timestamp, kind, server_id, size, end, 0) + body
    return content + struct.pack("<I", zlib.crc32(content)) if checksum else content


def packet(content: bytes, number: int = 0) -> bytes:
    return (len(content) + 1).to_bytes(3, "little") + bytes([number & 0xFF, 0]) + content


def length(value: int) -> bytes:
    if value < 251:
        return bytes([value])
    for mark, size in ((0xFC, 2), (0xFD, 3)):
        if value < 1 << 8 * size:
            return bytes([mark]) + value.to_bytes(size, "little")
    return b"\xfe" + value.to_bytes(8, "little")


@dataclass(frozen=True)
class Column:
    """A column: the code of its type, the details in a TABLE_MAP, how a value is written and read back."""

    code: int
    details: bytes
    write: Callable[[Any], bytes]
    read: Callable[[bytes, int], tuple[Any, int]]


def table_map(table_id: int, columns: Sequence[Column], *, name: str = "goods", metadata: bytes = b"") -> bytes:
    details = b"".join(column.details for column in columns)
    return b"".join(
        (
            table_id.to_bytes(6, "little") + b"\1\0",
            b"\3ops\0" + bytes([len(name)]) + name.encode() + b"\0",
            length(len(columns)) + bytes(column.code for column in columns),
            length(len(details)) + details,
            bits([True] * len(columns)),
            metadata,
        )
    )


def field(kind: int, content: bytes) -> bytes:
    return bytes([kind]) + length(len(content)) + content


def bits(flags: Sequence[bool]) -> bytes:
    number = sum(1 << place for place, flag in enumerate(flags) if flag)
    return number.to_bytes((len(flags) + 7) // 8, "little")


def rows_event(
    kind: EventType, table_id: int, columns: Sequence[Column], images: Iterable[Sequence[Any]], *, extra: bytes = b""
) -> bytes:
    """Write a body. All images of one kind (before, after) must have the same absent cells."""
    images = list(images)
    v2, update = kind >= EventType.WRITE_ROWS, kind in (EventType.UPDATE_ROWS, EventType.UPDATE_ROWS_V1)
    body = table_id.to_bytes(6, "little") + b"\1\0"
    if v2:
        body += struct.pack("<H", 2 + len(extra)) + extra
    body += length(len(columns))
    for place in range(2 if update else 1):
        image = images[place] if place < len(images) else [None] * len(columns)
        body += bits([cell is not ABSENT for cell in image])
    for image in images:
        present = [(column, cell) for column, cell in zip(columns, image, strict=True) if cell is not ABSENT]
        body += bits([cell is None for _, cell in present])
        body += b"".join(column.write(cell) for column, cell in present if cell is not None)
    return body


def read_rows(kind: EventType, body: bytes, columns: Sequence[Column]) -> list[list[Any]]:
    """Read the images of an event one by one."""
    at = 8
    if kind >= EventType.WRITE_ROWS:
        at += struct.unpack_from("<H", body, at)[0]
    at += 1 if body[at] < 251 else 3
    size = (len(columns) + 7) // 8
    bitmaps = 2 if kind in (EventType.UPDATE_ROWS, EventType.UPDATE_ROWS_V1) else 1
    used = [_flags(body[at + size * place :], len(columns)) for place in range(bitmaps)]
    at += size * bitmaps
    images: list[list[Any]] = []
    while at < len(body):
        present = used[len(images) % bitmaps]
        count = sum(present)
        nulls = iter(_flags(body[at:], count))
        at += (count + 7) // 8
        image: list[Any] = []
        for column, is_present in zip(columns, present, strict=True):
            if not is_present or next(nulls):
                image.append(None if is_present else ABSENT)
                continue
            value, at = column.read(body, at)
            image.append(value)
        images.append(image)
    return images


def _flags(data: bytes, count: int) -> list[bool]:
    return [bool(data[place // 8] >> place % 8 & 1) for place in range(count)]


def integer(code: int, width: int, *, signed: bool) -> Column:
    return Column(
        code,
        b"",
        lambda value: value.to_bytes(width, "little", signed=signed),
        lambda data, at: (int.from_bytes(data[at : at + width], "little", signed=signed), at + width),
    )


def floating(code: int, layout: str) -> Column:
    width = struct.calcsize(layout)
    return Column(
        code,
        bytes([width]),
        lambda value: struct.pack(layout, value),
        lambda data, at: (struct.unpack_from(layout, data, at)[0], at + width),
    )


def prefixed(code: int, details: bytes, prefix: int) -> Column:
    def read(data: bytes, at: int) -> tuple[bytes, int]:
        start = at + prefix
        end = start + int.from_bytes(data[at:start], "little")
        return data[start:end], end

    return Column(code, details, lambda value: len(value).to_bytes(prefix, "little") + value, read)


def varchar(most: int) -> Column:
    return prefixed(15, struct.pack("<H", most), 1 if most < 256 else 2)


def char(most: int) -> Column:
    """CHAR and BINARY; the two highest bits of the length are in the type's byte, inverted."""
    return prefixed(254, bytes([0xFE ^ (most >> 8) << 4, most & 0xFF]), 1 if most < 256 else 2)


def bit(count: int) -> Column:
    width = (count + 7) // 8
    return Column(
        16,
        bytes([count % 8, count // 8]),
        lambda value: value.to_bytes(width, "big"),
        lambda data, at: (int.from_bytes(data[at : at + width], "big"), at + width),
    )


def decimal(precision: int, scale: int) -> Column:
    """Digits in groups of nine from the point on, the sign as an inverted first bit, all bits inverted if negative."""
    sizes = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
    whole, part = precision - scale, scale
    groups = [whole % 9, *[9] * (whole // 9), *[9] * (part // 9), part % 9]

    def write(value: Decimal) -> bytes:
        digits = f"{abs(int(value.scaleb(scale, _WIDE))):0{precision}}"
        data = bytearray()
        for group in groups:
            data += int(digits[:group] or "0").to_bytes(sizes[group], "big")
            digits = digits[group:]
        data[0] ^= 0x80
        return bytes(byte ^ 0xFF for byte in data) if value < 0 else bytes(data)

    def read(data: bytes, at: int) -> tuple[Decimal, int]:
        end = at + sum(sizes[group] for group in groups)
        stored = bytearray(data[at:end])
        negative = not stored[0] & 0x80
        stored[0] ^= 0x80
        if negative:
            stored = bytearray(byte ^ 0xFF for byte in stored)
        digits, start = "", 0
        for group in groups:
            number = int.from_bytes(stored[start : start + sizes[group]], "big")
            digits += f"{number:0{group}}" if group else ""
            start += sizes[group]
        value = Decimal(int(digits)).scaleb(-scale, _WIDE)
        return (value.copy_negate() if negative else value), end

    return Column(246, bytes([precision, scale]), write, read)


def _fraction(micros: int, digits: int) -> int:
    size = (digits + 1) // 2
    return micros // int(100 ** (3 - size))


def date() -> Column:
    """Of (year, month, day)."""

    def read(data: bytes, at: int) -> tuple[tuple[int, int, int], int]:
        value = int.from_bytes(data[at : at + 3], "little")
        return (value // 512, value // 32 % 16, value % 32), at + 3

    return Column(10, b"", lambda value: (value[0] * 512 + value[1] * 32 + value[2]).to_bytes(3, "little"), read)


def datetime2(digits: int) -> Column:
    """Of (year, month, day, hour, minute, second, microsecond)."""
    size = (digits + 1) // 2

    def write(value: tuple[int, ...]) -> bytes:
        year, month, day, hour, minute, second, micros = value
        packed = ((year * 13 + month) << 5 | day) << 17 | hour << 12 | minute << 6 | second
        return (packed + (1 << 39)).to_bytes(5, "big") + _fraction(micros, digits).to_bytes(size, "big")

    def read(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
        packed = int.from_bytes(data[at : at + 5], "big") - (1 << 39)
        date, clock = divmod(packed, 1 << 17)
        micros = int.from_bytes(data[at + 5 : at + 5 + size], "big") * 100 ** (3 - size)
        months, day = divmod(date, 32)
        value = (*divmod(months, 13), day, clock // 4096, clock // 64 % 64, clock % 64, micros)
        return value, at + 5 + size

    return Column(18, bytes([digits]), write, read)


def timestamp2(digits: int) -> Column:
    """Of microseconds since 1970."""
    size = (digits + 1) // 2

    def write(value: int) -> bytes:
        seconds, micros = divmod(value, 1_000_000)
        return seconds.to_bytes(4, "big") + _fraction(micros, digits).to_bytes(size, "big")

    def read(data: bytes, at: int) -> tuple[int, int]:
        micros = int.from_bytes(data[at + 4 : at + 4 + size], "big") * 100 ** (3 - size)
        return int.from_bytes(data[at : at + 4], "big") * 1_000_000 + micros, at + 4 + size

    return Column(17, bytes([digits]), write, read)


def time2(digits: int) -> Column:
    """Of microseconds, negative ones as well."""
    size = (digits + 1) // 2
    zero = 1 << 8 * (3 + size) - 1

    def write(value: int) -> bytes:
        seconds, micros = divmod(abs(value), 1_000_000)
        clock = seconds // 3600 << 12 | seconds // 60 % 60 << 6 | seconds % 60
        packed = clock << 8 * size | _fraction(micros, digits)
        return (zero - packed if value < 0 else zero + packed).to_bytes(3 + size, "big")

    def read(data: bytes, at: int) -> tuple[int, int]:
        packed = int.from_bytes(data[at : at + 3 + size], "big") - zero
        clock, part = divmod(abs(packed), 1 << 8 * size)
        seconds = clock // 4096 * 3600 + clock // 64 % 64 * 60 + clock % 64
        value = seconds * 1_000_000 + part * 100 ** (3 - size)
        return (-value if packed < 0 else value), at + 3 + size

    return Column(19, bytes([digits]), write, read)


def enum(width: int) -> Column:
    return Column(254, bytes([247, width]), *_number(width))


def set_(width: int) -> Column:
    return Column(254, bytes([248, width]), *_number(width))


def _number(width: int) -> tuple[Callable[[int], bytes], Callable[[bytes, int], tuple[int, int]]]:
    plain = integer(0, width, signed=False)
    return plain.write, plain.read
