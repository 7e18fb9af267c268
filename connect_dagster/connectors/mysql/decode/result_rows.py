"""Rows of a result set in MySQL's binary protocol, which prepared statements have, as Arrow arrays.

The arrays are those that ``columns`` makes of the binary log, so that what is done with them does not depend on where a
row comes from. One difference stays, which is Debezium's as well: JSON is the server's own text, with blanks.

Texts are UTF-8, to which the server converts them for a session with ``SET NAMES utf8mb4``; timestamps are those of the
session, whose zone must be UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from connect_dagster.connectors.mysql.decode import result_kernels, text_kernels
from connect_dagster.connectors.mysql.decode.columns import (
    Cells,
    Decoded,
    Reading,
    bits,
    floats,
    integers,
    utf8_texts,
    zoned,
)
from connect_dagster.connectors.mysql.decode.kernels import Bytes, Offsets
from connect_dagster.connectors.mysql.decode.number_kernels import unscaled_size
from connect_dagster.connectors.mysql.decode.result_kernels import ENCODED, TEMPORAL
from connect_dagster.connectors.mysql.decode.table_map import BLOBS, ColumnType, StoredColumn
from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.errors import DataError
from connect_dagster.protocol.wire import MalformedBytes

T = ColumnType
_UNSIGNED = 0x20
_MOST_FRACTION = 6
_WIDTHS = {
    T.TINY: 1,
    T.SHORT: 2,
    T.YEAR: 2,
    T.INT24: 4,
    T.LONG: 4,
    T.LONGLONG: 8,
    T.FLOAT: 4,
    T.DOUBLE: 8,
}
_TEMPORAL = frozenset({T.DATE, T.NEWDATE, T.TIME, T.DATETIME, T.TIMESTAMP})
_REASONS = {
    result_kernels.BEYOND_PACKET: "a row beyond its packet",
    result_kernels.REST_IN_PACKET: "a row with more bytes than its columns have",
    result_kernels.OUT_OF_ORDER: "a packet out of order",
    result_kernels.NOT_A_ROW: "a packet that is not a row of the binary protocol",
}


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A column of a result set.

    Attributes:
        name: in the table that it comes from, else its alias, which is the order of Connector/J's ``getColumnName``.
        stored: form of its values; ``width`` is that of the protocol.
        unsigned: of an integer.
    """

    name: str
    stored: StoredColumn
    unsigned: bool = False

    @classmethod
    def parse(cls, definition: bytes) -> ResultColumn:
        """Return the column of a definition (``Protocol::ColumnDefinition41``).

        Raises:
            MalformedBytes: it ends too early, or has a type that is not known.
        """
        read = Reader(definition)
        *_, alias, original = (read.text(read.length()) for _ in range(6))
        read.length()
        _charset, length, code, flags, decimals = (read.unsigned(width) for width in (2, 4, 1, 2, 1))
        try:
            kind = ColumnType(code)
        except ValueError:
            raise read.malformed(f"a column {alias} of type {code}, which is not known") from None
        is_decimal = kind is T.NEWDECIMAL
        stored = StoredColumn(
            kind,
            width=(length + 7) // 8 if kind is T.BIT else _WIDTHS.get(kind, 0),
            length=length,
            digits=0 if is_decimal else min(decimals, _MOST_FRACTION),
            scale=decimals if is_decimal else 0,
        )
        return cls(original or alias, stored, bool(flags & _UNSIGNED))

    @property
    def walked_width(self) -> int:
        """Return the bytes of a value, or which kind of length is before it."""
        if self.stored.type in _TEMPORAL:
            return TEMPORAL
        return _WIDTHS.get(self.stored.type, ENCODED)


class ResultWalk:
    """The cells of rows, filled in as bytes arrive.

    Args:
        columns: of the result set.
        most_rows: number of rows that are collected before they are decoded.
        sequence: number of the first packet.
    """

    def __init__(self, columns: Sequence[ResultColumn], most_rows: int, sequence: int) -> None:
        self._widths = np.array([column.walked_width for column in columns], np.int32)
        self._cells = np.empty((len(columns), most_rows), np.int32)
        self._sequence = sequence
        self.rows = 0
        self.state = result_kernels.INCOMPLETE

    def advance(self, buffer: Bytes, start: int, end: int) -> int:
        """Find the cells of complete rows; return the index of the next packet.

        Raises:
            MalformedBytes: a packet is not a row of these columns.
        """
        self.rows, at, self._sequence, self.state = map(
            int, result_kernels.walk(buffer, start, end, self._sequence, self._widths, self._cells, self.rows)
        )
        if self.state in _REASONS:
            raise MalformedBytes(_REASONS[self.state], at, end)
        return at

    def take(self) -> Offsets:
        """Return the offsets of each column, and begin with the next rows; they last until the next ``advance``."""
        cells, self.rows = self._cells[:, : self.rows], 0
        return cells


def decode(buffer: Bytes, offsets: Offsets, column: ResultColumn, reading: Reading) -> Decoded:
    """Return the column whose values are at some offsets.

    Raises:
        DataError: the type is not known.
        MalformedBytes: the bytes are not what the type says.
    """
    stored = column.stored
    if stored.type not in _DECODERS:
        raise DataError(f"Column {column.name} of a result set has the type {stored.type.name}, which is not supported")
    offsets = np.ascontiguousarray(offsets)
    # How the server wrote the number is in the definition; an expression may have another sign than the column.
    cells = Cells(buffer, offsets, stored, replace(reading, unsigned=column.unsigned), offsets >= 0)
    try:
        decoded = _DECODERS[stored.type](cells)
    except IndexError as error:
        raise MalformedBytes(f"column {column.name} has a value beyond its type", 0, len(buffer)) from error
    return decoded if isinstance(decoded, Decoded) else Decoded(decoded)


def _year(cells: Cells) -> pa.Array:
    return integers(replace(cells, reading=replace(cells.reading, unsigned=True)))


def _nothing(cells: Cells) -> pa.Array:
    return pa.nulls(len(cells))


def _bits(cells: Cells) -> pa.Array:
    _refuse(cells, result_kernels.of_other_size(cells.buffer, cells.offsets, cells.stored.width))
    contents = np.where(cells.valid, cells.offsets + 1, cells.offsets).astype(np.int32)
    return bits(replace(cells, offsets=contents))


def _decimals(cells: Cells) -> pa.Array:
    starts = np.empty(len(cells) + 1, np.int32)
    if cells.reading.decimals_as_text:
        out = np.empty(result_kernels.measure(cells.buffer, cells.offsets, np.empty_like(starts), starts), np.uint8)
        size, wrong = result_kernels.plain(cells.buffer, cells.offsets, starts, out)
    else:
        scale = cells.reading.scale
        digits = cells.stored.length + max(scale - cells.stored.scale, 0)  # the length counts sign and point as well
        out = np.empty(len(cells) * unscaled_size(min(digits, result_kernels.MOST_DIGITS)), np.uint8)
        size, wrong = result_kernels.unscaled(cells.buffer, cells.offsets, scale, starts, out)
    _refuse(cells, wrong)
    return cells.array(pa.string() if cells.reading.decimals_as_text else pa.binary(), starts, out[:size])


def _dates(cells: Cells) -> Decoded:
    out = np.empty(len(cells), np.int64)
    impossible, wrong = result_kernels.dates(cells.buffer, cells.offsets, out, cells.valid)
    _refuse(cells, wrong)
    return Decoded(cells.array(pa.int32(), out.astype(np.int32)), int(impossible))


def _datetimes(cells: Cells) -> Decoded:
    out = np.empty(len(cells), np.int64)
    impossible, wrong = result_kernels.datetimes(cells.buffer, cells.offsets, True, out, cells.valid)
    _refuse(cells, wrong)
    return Decoded(cells.array(pa.int64(), out), int(impossible))


def _timestamps(cells: Cells) -> Decoded:
    micros = np.empty(len(cells), np.int64)
    impossible, wrong = result_kernels.datetimes(cells.buffer, cells.offsets, False, micros, cells.valid)
    _refuse(cells, wrong)
    return Decoded(zoned(cells, micros), int(impossible))


def _times(cells: Cells) -> pa.Array:
    out = np.empty(len(cells), np.int64)
    _refuse(cells, result_kernels.times(cells.buffer, cells.offsets, out))
    return cells.array(pa.int64(), out)


def _characters(cells: Cells) -> pa.Array:
    is_text = cells.reading.charset is not None or cells.reading.compact is not None
    return _texts(cells) if is_text else _bytes(cells)


def _texts(cells: Cells) -> pa.Array:
    starts, out, ascii_only = _gathered(cells)
    return utf8_texts(cells, starts, out, ascii_only=ascii_only)


def _bytes(cells: Cells) -> pa.Array:
    return cells.array(pa.binary(), *_gathered(cells)[:2])


def _gathered(cells: Cells) -> tuple[Offsets, Bytes, bool]:
    starts, contents = np.empty(len(cells) + 1, np.int32), np.empty(len(cells), np.int32)
    out = np.empty(result_kernels.measure(cells.buffer, cells.offsets, contents, starts), np.uint8)
    return starts, out, text_kernels.gather(cells.buffer, contents, 0, starts, out)


def _refuse(cells: Cells, row: int) -> None:
    if row >= 0:
        reason = f"a value that a column of type {cells.stored.type.name} cannot have"
        raise MalformedBytes(reason, int(cells.offsets[row]), len(cells.buffer))


_DECODERS: Mapping[ColumnType, Callable[[Cells], pa.Array | Decoded]] = {
    **dict.fromkeys((T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG), integers),
    **dict.fromkeys((T.FLOAT, T.DOUBLE), floats),
    **dict.fromkeys((T.STRING, T.VARCHAR, T.VAR_STRING, *BLOBS), _characters),
    **dict.fromkeys((T.ENUM, T.SET, T.JSON), _texts),
    **dict.fromkeys((T.GEOMETRY, T.VECTOR), _bytes),
    **dict.fromkeys((T.DATE, T.NEWDATE), _dates),
    T.YEAR: _year,
    T.BIT: _bits,
    T.NEWDECIMAL: _decimals,
    T.DATETIME: _datetimes,
    T.TIMESTAMP: _timestamps,
    T.TIME: _times,
    T.NULL: _nothing,
}
