"""TABLE_MAP: which table the row events that follow belong to, and how its columns are stored.

With ``binlog_row_metadata=FULL`` it also has names, signs, character sets and labels; else only the table's model
knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

from connect_dagster.connectors.mysql.decode.number_kernels import decimal_size
from connect_dagster.connectors.mysql.decode.time_kernels import fraction_size
from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.protocol.wire import MalformedBytes

Value = TypeVar("Value")


class ColumnType(IntEnum):
    """Types of stored columns (MySQL: ``enum_field_types``)."""

    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    VECTOR = 242
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


T = ColumnType
BLOBS = frozenset({T.TINY_BLOB, T.MEDIUM_BLOB, T.LONG_BLOB, T.BLOB})
CHARACTERS = frozenset({T.STRING, T.VAR_STRING, T.VARCHAR, *BLOBS})
LABELLED = frozenset({T.ENUM, T.SET})
_NUMERIC = frozenset({T.TINY, T.SHORT, T.INT24, T.LONG, T.LONGLONG, T.NEWDECIMAL, T.FLOAT, T.DOUBLE, T.YEAR})
_WIDTHS = {
    T.TINY: 1,
    T.SHORT: 2,
    T.INT24: 3,
    T.LONG: 4,
    T.LONGLONG: 8,
    T.YEAR: 1,
    T.TIMESTAMP: 4,
    T.DATE: 3,
    T.NEWDATE: 3,
    T.TIME: 3,
    T.DATETIME: 8,
    T.NULL: 0,
}
# Bytes before the fraction.
_FRACTIONAL = {T.TIMESTAMP2: 4, T.DATETIME2: 5, T.TIME2: 3}
_PREFIXED = frozenset({*BLOBS, T.JSON, T.GEOMETRY, T.VECTOR})
_LENGTH_BITS = 0x30


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """How the values of a column are stored.

    Attributes:
        width: bytes of a value; 0 where a length is before it.
        prefix: bytes of that length.
        length: most bytes of a text or of bytes; bits of a BIT.
        digits: of a DECIMAL, or after the point of a time.
        scale: of a DECIMAL.
    """

    type: ColumnType
    width: int = 0
    prefix: int = 0
    length: int = 0
    digits: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Metadata:
    """Facts of a TABLE_MAP beyond types, each ``None`` where it does not; a value for each column.

    Attributes:
        collations: numbers of the collations of texts, ENUMs and SETs; 63 is that of bytes.
        labels: of ENUMs and SETs.
        geometries: numbers of the geometry types.
        primary_key: index of each column of the key, with the characters that count (0 for all).
    """

    unsigned: tuple[bool | None, ...] | None = None
    collations: tuple[int | None, ...] | None = None
    names: tuple[str, ...] | None = None
    labels: tuple[tuple[bytes, ...] | None, ...] | None = None
    geometries: tuple[int | None, ...] | None = None
    primary_key: tuple[tuple[int, int], ...] | None = None
    visible: tuple[bool, ...] | None = None


@dataclass(frozen=True, slots=True)
class TableMap:
    """A table as row events refer to it."""

    table_id: int
    schema: str
    name: str
    columns: tuple[StoredColumn, ...]
    nullable: tuple[bool, ...]
    metadata: Metadata

    @classmethod
    def parse(cls, body: bytes) -> TableMap:
        """Return the event of a body.

        Raises:
            MalformedBytes: it ends too early, or has a type of which the size is not known.
        """
        read = Reader(body)
        table_id, _ = read.unsigned(6), read.unsigned(2)
        schema, name = _name(read), _name(read)
        types = read.take(read.length())
        details = Reader(read.take(read.length()))
        columns = tuple(_column(kind, details) for kind in types)
        nullable = _low_bits(read.take((len(types) + 7) // 8), len(types))
        return cls(table_id, schema, name, columns, nullable, _metadata(read, columns))


def _name(read: Reader) -> str:
    text = read.text(read.length())
    read.unsigned(1)
    return text


def _column(kind: int, details: Reader) -> StoredColumn:
    try:
        column = ColumnType(kind)
    except ValueError:
        raise details.malformed(f"a column of type {kind}, which is not known") from None
    if column in _WIDTHS:
        return StoredColumn(column, width=_WIDTHS[column])
    if column in _FRACTIONAL:
        digits = details.unsigned(1)
        return StoredColumn(column, width=_FRACTIONAL[column] + fraction_size(digits), digits=digits)
    if column in _PREFIXED:
        return StoredColumn(column, prefix=details.unsigned(1))
    return _DETAILED[column](details, column)


def _float(details: Reader, column: ColumnType) -> StoredColumn:
    return StoredColumn(column, width=details.unsigned(1))


def _varchar(details: Reader, column: ColumnType) -> StoredColumn:
    length = details.unsigned(2)
    return StoredColumn(column, prefix=1 if length < 256 else 2, length=length)


def _bit(details: Reader, column: ColumnType) -> StoredColumn:
    bits, whole = details.unsigned(1), details.unsigned(1)
    return StoredColumn(column, width=whole + (1 if bits else 0), length=8 * whole + bits)


def _decimal(details: Reader, column: ColumnType) -> StoredColumn:
    digits, scale = details.unsigned(1), details.unsigned(1)
    return StoredColumn(column, width=decimal_size(digits, scale), digits=digits, scale=scale)


def _string(details: Reader, column: ColumnType) -> StoredColumn:
    """CHAR and BINARY, or an ENUM or SET. The two highest bits of a length hide, inverted, in the real type."""
    real, low = details.unsigned(1), details.unsigned(1)
    if real in LABELLED:
        return StoredColumn(ColumnType(real), width=low)
    length = ((real & _LENGTH_BITS) ^ _LENGTH_BITS) << 4 | low
    return StoredColumn(column, prefix=1 if length < 256 else 2, length=length)


_DETAILED: Mapping[ColumnType, Callable[[Reader, ColumnType], StoredColumn]] = {
    T.FLOAT: _float,
    T.DOUBLE: _float,
    T.VARCHAR: _varchar,
    T.VAR_STRING: _varchar,
    T.BIT: _bit,
    T.NEWDECIMAL: _decimal,
    T.STRING: _string,
    T.ENUM: _string,
    T.SET: _string,
}


def _low_bits(data: bytes, count: int) -> tuple[bool, ...]:
    return tuple(bool(data[place >> 3] >> (place & 7) & 1) for place in range(count))


class _Field(IntEnum):
    SIGNEDNESS = 1
    DEFAULT_CHARSET = 2
    COLUMN_CHARSET = 3
    COLUMN_NAME = 4
    SET_LABELS = 5
    ENUM_LABELS = 6
    GEOMETRY_TYPE = 7
    SIMPLE_PRIMARY_KEY = 8
    PRIMARY_KEY_WITH_PREFIX = 9
    LABEL_DEFAULT_CHARSET = 10
    LABEL_COLUMN_CHARSET = 11
    VISIBILITY = 12


def _metadata(read: Reader, columns: tuple[StoredColumn, ...]) -> Metadata:
    fields: dict[int, Reader] = {}
    while read.left:
        field = read.unsigned(1)
        fields[field] = Reader(read.take(read.length()))
    types = tuple(column.type for column in columns)
    return Metadata(
        _signs(fields, types),
        _collations(fields, types),
        _names(fields),
        _labels(fields, types),
        _spread(types, {T.GEOMETRY}, fields, _Field.GEOMETRY_TYPE, _all_lengths),
        _primary_key(fields),
        _visibility(fields, types),
    )


def _signs(fields: Mapping[int, Reader], types: tuple[ColumnType, ...]) -> tuple[bool | None, ...] | None:
    if _Field.SIGNEDNESS not in fields:
        return None
    bits = fields[_Field.SIGNEDNESS].rest()
    signs = (bool(bits[place >> 3] << (place & 7) & 0x80) for place in range(8 * len(bits)))
    return _placed(types, _NUMERIC, signs)


def _collations(fields: Mapping[int, Reader], types: tuple[ColumnType, ...]) -> tuple[int | None, ...] | None:
    texts = _charset_field(fields, types, CHARACTERS, _Field.DEFAULT_CHARSET, _Field.COLUMN_CHARSET)
    labels = _charset_field(fields, types, LABELLED, _Field.LABEL_DEFAULT_CHARSET, _Field.LABEL_COLUMN_CHARSET)
    if texts is None or labels is None:
        return texts or labels
    return tuple(text if label is None else label for text, label in zip(texts, labels, strict=True))


def _charset_field(
    fields: Mapping[int, Reader],
    types: tuple[ColumnType, ...],
    of: frozenset[ColumnType],
    default: _Field,
    each: _Field,
) -> tuple[int | None, ...] | None:
    """Return collations, which are written one by one, or as a default with the exceptions by index."""
    if each in fields:
        return _placed(types, of, iter(_all_lengths(fields[each])))
    if default not in fields:
        return None
    first, *pairs = _all_lengths(fields[default])
    others = dict(zip(pairs[::2], pairs[1::2], strict=True))
    count = sum(kind in of for kind in types)
    return _placed(types, of, iter([others.get(place, first) for place in range(count)]))


def _names(fields: Mapping[int, Reader]) -> tuple[str, ...] | None:
    if _Field.COLUMN_NAME not in fields:
        return None
    read, names = fields[_Field.COLUMN_NAME], []
    while read.left:
        names.append(read.text(read.length()))
    return tuple(names)


def _labels(fields: Mapping[int, Reader], types: tuple[ColumnType, ...]) -> tuple[tuple[bytes, ...] | None, ...] | None:
    enums = _spread(types, {T.ENUM}, fields, _Field.ENUM_LABELS, _label_lists)
    sets = _spread(types, {T.SET}, fields, _Field.SET_LABELS, _label_lists)
    if enums is None or sets is None:
        return enums or sets
    return tuple(one or other for one, other in zip(enums, sets, strict=True))


def _label_lists(read: Reader) -> list[tuple[bytes, ...]]:
    lists = []
    while read.left:
        lists.append(tuple(read.take(read.length()) for _ in range(read.length())))
    return lists


def _primary_key(fields: Mapping[int, Reader]) -> tuple[tuple[int, int], ...] | None:
    if _Field.SIMPLE_PRIMARY_KEY in fields:
        return tuple((index, 0) for index in _all_lengths(fields[_Field.SIMPLE_PRIMARY_KEY]))
    if _Field.PRIMARY_KEY_WITH_PREFIX in fields:
        numbers = _all_lengths(fields[_Field.PRIMARY_KEY_WITH_PREFIX])
        return tuple(zip(numbers[::2], numbers[1::2], strict=True))
    return None


def _visibility(fields: Mapping[int, Reader], types: tuple[ColumnType, ...]) -> tuple[bool, ...] | None:
    if _Field.VISIBILITY not in fields:
        return None
    bits = fields[_Field.VISIBILITY].rest()
    return tuple(bool(bits[place >> 3] << (place & 7) & 0x80) for place in range(len(types)))


def _all_lengths(read: Reader) -> list[int]:
    numbers = []
    while read.left:
        numbers.append(read.length())
    return numbers


def _spread(
    types: tuple[ColumnType, ...],
    of: set[ColumnType],
    fields: Mapping[int, Reader],
    field: _Field,
    values: Callable[[Reader], Sequence[Value]],
) -> tuple[Value | None, ...] | None:
    return _placed(types, frozenset(of), iter(values(fields[field]))) if field in fields else None


def _placed(
    types: tuple[ColumnType, ...], of: frozenset[ColumnType], values: Iterator[Value]
) -> tuple[Value | None, ...]:
    """Give each value to the next column of one of the types."""
    try:
        return tuple(next(values) if kind in of else None for kind in types)
    except (RuntimeError, StopIteration):
        raise MalformedBytes("fewer values in a field of the metadata than columns", 0, 0) from None
