"""MySQL's binary JSON, written and read value by value (``sql-common/json_binary.h``)."""

from __future__ import annotations

import base64
import json
import struct
from decimal import Decimal
from typing import Any

from tests.binlog import decimal


class Unsigned(int):
    """A number that MySQL keeps as unsigned."""


class Opaque(bytes):
    """A value of another type: the type's number, then its bytes."""


def write(value: Any, *, large: bool = False) -> bytes:
    """Write a document, with offsets of 2 or 4 bytes."""
    kind, content, _ = _value(value, large)
    return bytes([kind]) + content


def _value(value: Any, large: bool) -> tuple[int, bytes, bool]:
    """Return type, bytes, and whether they stand in the entry of a container."""
    if value is None or isinstance(value, bool):
        return 4, bytes([{None: 0, True: 1, False: 2}[value]]), True
    if isinstance(value, int):
        return _number(value, large)
    if isinstance(value, float):
        return 11, struct.pack("<d", value), False
    if isinstance(value, Opaque):
        return 15, value[:1] + _size(len(value) - 1) + value[1:], False
    if isinstance(value, str):
        return 12, _size(len(value.encode())) + value.encode(), False
    return _container(value, large)


def _number(value: int, large: bool) -> tuple[int, bytes, bool]:
    signed = not isinstance(value, Unsigned)
    for kind, width in ((5, 2), (7, 4), (9, 8)):
        low = -(1 << 8 * width - 1) if signed else 0
        high = (1 << 8 * width - (1 if signed else 0)) - 1
        if low <= value <= high:
            content = value.to_bytes(width, "little", signed=signed)
            return kind + (0 if signed else 1), content, width == 2 or (width == 4 and large)
    raise ValueError(f"{value} has more than 64 bits")


def _container(value: Any, large: bool) -> tuple[int, bytes, bool]:
    names = [name.encode() for name in value] if isinstance(value, dict) else []
    values = list(value.values()) if isinstance(value, dict) else value
    width = 4 if large else 2
    at = 2 * width + len(names) * (width + 2) + len(values) * (width + 1)
    entries, contents = b"", b""
    for name in names:
        entries += (at + len(contents)).to_bytes(width, "little") + len(name).to_bytes(2, "little")
        contents += name
    for part in values:
        kind, content, inlined = _value(part, large)
        entries += bytes([kind])
        entries += content.ljust(width, b"\0") if inlined else (at + len(contents)).to_bytes(width, "little")
        contents += b"" if inlined else content
    total = at + len(contents)
    kind = (0 if isinstance(value, dict) else 2) + (1 if large else 0)
    return kind, len(values).to_bytes(width, "little") + total.to_bytes(width, "little") + entries + contents, False


def _size(size: int) -> bytes:
    groups = bytearray()
    while size >= 0x80:
        groups.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*groups, size])


def text(document: bytes) -> str:
    """Return the text of a document, as mysql-binlog-connector-java writes it."""
    return _text(document, document[0], 1)


def _text(data: bytes, kind: int, at: int) -> str:
    if kind < 4:
        return _container_text(data, kind, at)
    if kind == 4:
        return ("null", "true", "false")[data[at]]
    if kind in (5, 7, 9):
        return str(int.from_bytes(data[at : at + {5: 2, 7: 4, 9: 8}[kind]], "little", signed=True))
    if kind in (6, 8, 10):
        return str(int.from_bytes(data[at : at + {6: 2, 8: 4, 10: 8}[kind]], "little"))
    if kind == 11:
        return _double(struct.unpack_from("<d", data, at)[0])
    if kind == 12:
        size, at = _read_size(data, at)
        return _string(data[at : at + size])
    size, start = _read_size(data, at + 1)
    return _opaque(data[at], data[start : start + size])


def _container_text(data: bytes, kind: int, at: int) -> str:
    width = 4 if kind & 1 else 2

    def number(place: int, size: int) -> int:
        return int.from_bytes(data[place : place + size], "little")

    count, entry = number(at, width), at + 2 * width
    names = []
    if kind < 2:
        for _ in range(count):
            start = at + number(entry, width)
            names.append(_string(data[start : start + number(entry + width, 2)]) + ":")
            entry += width + 2
    parts = []
    for _ in range(count):
        of = data[entry]
        inlined = of in (4, 5, 6) or (of in (7, 8) and width == 4)
        parts.append(_text(data, of, entry + 1 if inlined else at + number(entry + 1, width)))
        entry += width + 1
    if kind < 2:
        return "{" + ",".join(name + part for name, part in zip(names, parts, strict=True)) + "}"
    return "[" + ",".join(parts) + "]"


def _read_size(data: bytes, at: int) -> tuple[int, int]:
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return size, at


def _string(data: bytes) -> str:
    text = json.dumps(data.decode(), ensure_ascii=False)
    for code in range(32):
        text = text.replace(f"\\u{code:04x}", f"\\u{code:04X}")
    return text


def _double(value: float) -> str:
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    return f"{Decimal(value):f}"


def _opaque(kind: int, data: bytes) -> str:
    if kind == 246:
        return f"{decimal(data[0], data[1]).read(data[2:], 0)[0]:f}"
    if kind not in (7, 10, 11, 12):
        return f'"{base64.b64encode(data).decode()}"'
    packed = int.from_bytes(data, "little", signed=True)
    whole, micros = divmod(abs(packed), 1 << 24)
    date, clock = divmod(whole, 1 << 17) if kind != 11 else (0, whole)
    months, day = divmod(date, 32)
    parts = [f"{months // 13:04}-{months % 13:02}-{day:02}"] if kind != 11 else []
    if kind != 10:
        time = f"{clock >> 12:02}:{clock >> 6 & 63:02}:{clock & 63:02}"
        parts.append(time + (f".{micros:06}".rstrip("0") if micros else ""))
    return f'"{"-" if packed < 0 else ""}{" ".join(parts)}"'


def packed(year: int, month: int, day: int, hour: int, minute: int, second: int, micros: int) -> bytes:
    """Return a moment as opaque values have it."""
    date = (year * 13 + month) << 5 | day
    number = (date << 17 | hour << 12 | minute << 6 | second) << 24 | micros
    return number.to_bytes(8, "little")
