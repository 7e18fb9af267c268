"""Columns of row images as Arrow arrays.

What comes out is the stored value in its plainest form: integers as int64, DECIMALs as unscaled bytes or as text,
dates as days, times as microseconds, timestamps, texts, ENUMs, SETs and JSON as strings, all else as bytes. Null and
absent cells are null.
"""

from __future__ import annotations

import re
import socket
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from connect_dagster.connectors.mysql.decode import charsets, number_kernels, text_kernels, time_kernels
from connect_dagster.connectors.mysql.decode.json_binary import json_texts
from connect_dagster.connectors.mysql.decode.kernels import Bytes, Flags, Offsets
from connect_dagster.connectors.mysql.decode.table_map import BLOBS, ColumnType, StoredColumn
from connect_dagster.errors import DataError

T = ColumnType
_YEAR_ZERO = 1900
_HEX = np.array([list(f"{byte:02x}".encode()) for byte in range(256)], np.uint8)
_INET4_BYTES = 4
_IPV4_MAPPED, _IPV4_COMPATIBLE = bytes(10) + b"\xff\xff", bytes(12)
_ZEROS = re.compile(r"(?:^|:)0(?::0)*(?::|$)")
_UUID_HYPHENS = (8, 12, 16, 20)  # digits before each


class Compact(Enum):
    """Types that have fewer bytes in the log than their texts have, named as in statements."""

    UUID = "UUID"
    INET4 = "INET4"
    INET6 = "INET6"


@dataclass(frozen=True, slots=True)
class Reading:
    """Facts about a column that its stored bytes do not have.

    Attributes:
        unsigned: of an integer.
        charset: of a text, an ENUM or a SET; ``None`` for bytes.
        labels: of an ENUM or a SET.
        decimals_as_text: as ``BigDecimal.toPlainString`` writes them.
        scale: of a DECIMAL in a result set, whose statement may compute one with fewer digits after the point.
        compact: of a type of MariaDB that is bytes in the log, and a text in a result set.
    """

    unsigned: bool = False
    charset: str | None = None
    labels: tuple[str, ...] = ()
    decimals_as_text: bool = False
    scale: int = 0
    compact: Compact | None = None


@dataclass(frozen=True, slots=True)
class Decoded:
    """A column.

    Attributes:
        impossible: the first image with a date that no calendar has, such as February 30, which is null; else -1.
    """

    values: pa.Array
    impossible: int = -1


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one column.

    Attributes:
        offsets: of each value in the buffer, below 0 where there is none.
        valid: which of them have a value; kernels take away those whose value is none.
    """

    buffer: Bytes
    offsets: Offsets
    stored: StoredColumn
    reading: Reading
    valid: Flags

    def __len__(self) -> int:
        return len(self.offsets)

    def array(self, kind: pa.DataType, *parts: npt.NDArray[Any]) -> pa.Array:
        """Return an Arrow array of these values, of which some are not valid."""
        nulls = len(self) - int(np.count_nonzero(self.valid))
        bitmap = pa.py_buffer(np.packbits(self.valid, bitorder="little")) if nulls else None
        return pa.Array.from_buffers(kind, len(self), [bitmap, *map(pa.py_buffer, parts)], nulls)


def decode(buffer: Bytes, offsets: Offsets, stored: StoredColumn, reading: Reading) -> Decoded:
    """Return the column whose values are at some offsets.

    Raises:
        DataError: the type, or the character set, is not known.
        IndexError: the bytes are not what the type says.
    """
    cells = Cells(buffer, np.ascontiguousarray(offsets), stored, reading, offsets >= 0)
    if stored.type not in _DECODERS:
        raise DataError(f"Columns of type {stored.type.name} are not supported")
    decoded = _DECODERS[stored.type](cells)
    return decoded if isinstance(decoded, Decoded) else Decoded(decoded)


def integers(cells: Cells) -> pa.Array:
    """Return numbers of the column's width."""
    return cells.array(pa.int64(), _numbers(cells, is_signed=not cells.reading.unsigned))


def _numbers(cells: Cells, *, is_signed: bool = False) -> npt.NDArray[np.int64]:
    out = np.empty(len(cells), np.int64)
    number_kernels.integers(cells.buffer, cells.offsets, cells.stored.width, is_signed, out)
    return out


def _year(cells: Cells) -> pa.Array:
    years = _numbers(cells)
    return cells.array(pa.int64(), np.where(years == 0, 0, years + _YEAR_ZERO))


def floats(cells: Cells) -> pa.Array:
    """Return numbers of 32 or 64 bits."""
    return cells.array(pa.float32() if cells.stored.width == 4 else pa.float64(), _copied(cells, is_reversed=False))


def _copied(cells: Cells, *, is_reversed: bool) -> Bytes:
    out = np.empty(len(cells) * cells.stored.width, np.uint8)
    number_kernels.copies(cells.buffer, cells.offsets, cells.stored.width, is_reversed, out)
    return out


def bits(cells: Cells) -> pa.Array:
    """Return one bit as a boolean, more as bytes, the lowest first."""
    if cells.stored.length == 1:
        return cells.array(pa.bool_(), np.packbits(_numbers(cells) != 0, bitorder="little"))
    width = cells.stored.width
    starts = np.arange(0, (len(cells) + 1) * width, width, dtype=np.int32)
    return cells.array(pa.binary(), starts, _copied(cells, is_reversed=True))


def _decimals(cells: Cells) -> pa.Array:
    stored, text = cells.stored, cells.reading.decimals_as_text
    starts = np.empty(len(cells) + 1, np.int32)
    most = stored.digits + 3 if text else number_kernels.unscaled_size(stored.digits)
    out = np.empty(len(cells) * most, np.uint8)
    write = number_kernels.decimal_text if text else number_kernels.unscaled
    size = write(cells.buffer, cells.offsets, stored.digits, stored.scale, starts, out)
    return cells.array(pa.string() if text else pa.binary(), starts, out[:size])


def _dates(cells: Cells) -> Decoded:
    out = np.empty(len(cells), np.int64)
    impossible = time_kernels.dates(cells.buffer, cells.offsets, out, cells.valid)
    return Decoded(cells.array(pa.int32(), out.astype(np.int32)), int(impossible))


def _datetimes(cells: Cells) -> Decoded:
    out = np.empty(len(cells), np.int64)
    impossible = time_kernels.datetimes(cells.buffer, cells.offsets, cells.stored.digits, out, cells.valid)
    return Decoded(cells.array(pa.int64(), out), int(impossible))


def _old_datetimes(cells: Cells) -> Decoded:
    out = np.empty(len(cells), np.int64)
    impossible = time_kernels.old_datetimes(cells.buffer, cells.offsets, out, cells.valid)
    return Decoded(cells.array(pa.int64(), out), int(impossible))


def _times(cells: Cells) -> pa.Array:
    out = np.empty(len(cells), np.int64)
    time_kernels.times(cells.buffer, cells.offsets, cells.stored.digits, out)
    return cells.array(pa.int64(), out)


def _old_times(cells: Cells) -> pa.Array:
    out = np.empty(len(cells), np.int64)
    time_kernels.old_times(cells.buffer, cells.offsets, out)
    return cells.array(pa.int64(), out)


def _timestamps(cells: Cells) -> pa.Array:
    micros = np.empty(len(cells), np.int64)
    time_kernels.timestamps(cells.buffer, cells.offsets, cells.stored.digits, micros)
    return zoned(cells, micros)


def _old_timestamps(cells: Cells) -> pa.Array:
    return zoned(cells, _numbers(cells) * 1_000_000)


def zoned(cells: Cells, micros: npt.NDArray[np.int64]) -> pa.Array:
    """Return microseconds since 1970 as texts of the column's digits; 0 is the zero timestamp, which is none."""
    cells.valid[micros == 0] = False
    size = time_kernels.zoned_size(cells.stored.digits)
    out = np.empty(len(cells) * size, np.uint8)
    time_kernels.zoned(micros, cells.stored.digits, out)
    return cells.array(pa.string(), np.arange(0, (len(cells) + 1) * size, size, dtype=np.int32), out)


def _characters(cells: Cells) -> pa.Array:
    charset = cells.reading.charset
    if cells.reading.compact is not None:
        return _COMPACT[cells.reading.compact](cells)
    if charset is None:
        fixed = cells.stored.type is T.STRING
        return _padded(cells) if fixed else cells.array(pa.binary(), *_gathered(cells)[:2])
    starts, out, ascii_only = _gathered(cells)
    if charset not in charsets.UTF8:
        return charsets.decoded(cells.array(pa.binary(), starts, out), charset)
    return utf8_texts(cells, starts, out, ascii_only=ascii_only)


def utf8_texts(cells: Cells, starts: Offsets, out: Bytes, *, ascii_only: bool) -> pa.Array:
    """Return texts that should be UTF-8; what is not is replaced."""
    texts = cells.array(pa.string(), starts, out)
    return texts if ascii_only or _is_utf8(texts) else charsets.decoded(texts.cast(pa.binary()), "utf8mb4")


def _is_utf8(texts: pa.Array) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _gathered(cells: Cells) -> tuple[Offsets, Bytes, bool]:
    starts = np.empty(len(cells) + 1, np.int32)
    size = text_kernels.measure(cells.buffer, cells.offsets, cells.stored.prefix, starts)
    out = np.empty(size, np.uint8)
    return starts, out, text_kernels.gather(cells.buffer, cells.offsets, cells.stored.prefix, starts, out)


def _padded(cells: Cells) -> pa.Array:
    """BINARY, of which zeros at the end are not in the log."""
    width = cells.stored.length
    out = np.empty(len(cells) * width, np.uint8)
    text_kernels.gather_padded(cells.buffer, cells.offsets, cells.stored.prefix, width, out)
    return cells.array(pa.binary(), np.arange(0, (len(cells) + 1) * width, max(width, 1), dtype=np.int32), out)


def _uuids(cells: Cells) -> pa.Array:
    digits = _HEX[np.frombuffer(_padded(cells).buffers()[2], np.uint8)].reshape(len(cells), -1)
    texts = np.insert(digits, _UUID_HYPHENS, ord("-"), axis=1)
    starts = np.arange(0, texts.size + 1, max(texts.shape[1], 1), dtype=np.int32)
    return cells.array(pa.string(), starts, np.ascontiguousarray(texts).ravel())


def _addresses(cells: Cells) -> pa.Array:
    write = socket.inet_ntoa if cells.stored.length == _INET4_BYTES else ipv6_text
    return pa.array([None if one is None else write(one) for one in _padded(cells).to_pylist()], pa.string())


def ipv6_text(address: bytes) -> str:
    """Return an address of 16 bytes as MariaDB writes it (``Inet6::to_string``): also one zero alone becomes ``::``."""
    start, ipv4 = address[:12], socket.inet_ntoa(address[12:])
    if start == _IPV4_MAPPED:
        return f"::ffff:{ipv4}"
    if start == _IPV4_COMPATIBLE and any(address[12:14]):
        return f"::{ipv4}"
    text = ":".join(f"{word:x}" for word in struct.unpack(">8H", address))
    longest = max(_ZEROS.finditer(text), key=lambda found: found[0].count("0"), default=None)
    return text if longest is None else f"{text[: longest.start()]}::{text[longest.end() :]}"


def _bytes(cells: Cells) -> pa.Array:
    return cells.array(pa.binary(), *_gathered(cells)[:2])


def _json(cells: Cells) -> pa.Array:
    starts, out = json_texts(cells.buffer, cells.offsets, cells.stored.prefix, cells.valid)
    return cells.array(pa.string(), starts, out)


def _enum(cells: Cells) -> pa.Array:
    """The label of a number from 1 on; 0 is MySQL's empty string for a value that was not allowed."""
    labels = pa.array(["", *cells.reading.labels], pa.string())
    numbers = _numbers(cells)
    cells.valid[numbers >= len(labels)] = False
    return labels.take(cells.array(pa.int64(), numbers))


def _set(cells: Cells) -> pa.Array:
    """The labels of all bits that are 1, with commas."""
    distinct, which = np.unique(_numbers(cells), return_inverse=True)
    labels = cells.reading.labels
    texts = [",".join(label for bit, label in enumerate(labels) if int(value) >> bit & 1) for value in distinct]
    return pa.array(texts, pa.string()).take(cells.array(pa.int64(), which.astype(np.int64)))


_COMPACT: Mapping[Compact, Callable[[Cells], pa.Array]] = {
    Compact.UUID: _uuids,
    Compact.INET4: _addresses,
    Compact.INET6: _addresses,
}
_DECODERS: Mapping[ColumnType, Callable[[Cells], pa.Array | Decoded]] = {
    **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG), integers),
    **dict.fromkeys((T.FLOAT, T.DOUBLE), floats),
    **dict.fromkeys((T.STRING, T.VARCHAR, T.VAR_STRING, *BLOBS), _characters),
    **dict.fromkeys((T.DATE, T.NEWDATE), _dates),
    **dict.fromkeys((T.GEOMETRY, T.VECTOR), _bytes),
    T.YEAR: _year,
    T.BIT: bits,
    T.NEWDECIMAL: _decimals,
    T.DATETIME2: _datetimes,
    T.DATETIME: _old_datetimes,
    T.TIME2: _times,
    T.TIME: _old_times,
    T.TIMESTAMP2: _timestamps,
    T.TIMESTAMP: _old_timestamps,
    T.JSON: _json,
    T.ENUM: _enum,
    T.SET: _set,
}
