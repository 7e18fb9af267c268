"""Columns by whose order a table is divided: how their values look in Java, and as parameters of statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.connectors.mysql.server.parameters import Parameter
from connect_dagster.errors import DataError
from connect_dagster.java.object_arrays import Value
from connect_dagster.java.object_classes import JavaType

_EPOCH = datetime(1970, 1, 1)
_UNSIGNED = 1 << 64
_INTEGERS = frozenset({"TINYINT", "SMALLINT", "MEDIUMINT", "YEAR"})
_TEXTS = frozenset({"CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "NCHAR", "NVARCHAR"})
_BYTES = frozenset({"BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB"})


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """A column of a key.

    Attributes:
        reading: how its values are decoded.
        type: of its values in Java.
    """

    column: Column
    reading: Reading
    type: JavaType

    @classmethod
    def of(cls, column: Column, reading: Reading) -> KeyColumn:
        """Return the column of a table.

        Raises:
            DataError: no keys are of its type.
        """
        kind = _java_type(column)
        if kind is None:
            raise DataError(f"Column {column.name} of type {column.type} cannot be a key to divide its table by")
        return cls(column, reading, kind)

    def value(self, decoded: pa.Scalar) -> Value:
        """Return a decoded value in Python's terms."""
        value = decoded.as_py()
        convert = _VALUES.get(self.type)
        found: Value = value if value is None or convert is None else convert(self, value)
        return found

    def parameter(self, value: Value) -> Parameter:
        """Return a value, ours or Java's, to compare the column with.

        ENUMs and SETs are in the order of their numbers, so these are compared.
        """
        labels = self.column.labels
        match value:
            case str() if self.column.base_type == "ENUM":
                return labels.index(value) + 1 if value in labels else 0
            case str() if self.column.base_type == "SET":
                return sum(1 << labels.index(label) for label in value.split(",") if label in labels)
            case bytes() if self.column.base_type == "BIT":
                return int.from_bytes(value)
            case bool():
                return int(value)
            case datetime():
                return value.isoformat(" ")
            case date():
                return value.year if self.column.base_type == "YEAR" else value.isoformat()
            case timedelta():
                return _time_text(value)
            case _:
                return value


def _java_type(column: Column) -> JavaType | None:
    base = column.base_type
    if base in _INTEGERS:
        return JavaType.INTEGER
    if base in _TEXTS:
        return JavaType.TEXT
    if base in _BYTES:
        return JavaType.BYTES
    if base == "BIT":
        return JavaType.BOOLEAN if (column.length or 1) == 1 else JavaType.BYTES
    signed, unsigned = _TYPES.get(base, (None, None))
    return unsigned if column.unsigned else signed


def _pair(kind: JavaType) -> tuple[JavaType, JavaType]:
    return kind, kind


_TYPES: Mapping[str, tuple[JavaType | None, JavaType | None]] = {
    **dict.fromkeys(("INT", "INTEGER"), (JavaType.INTEGER, JavaType.LONG)),
    **dict.fromkeys(("DECIMAL", "NUMERIC", "DEC", "FIXED"), _pair(JavaType.BIG_DECIMAL)),
    **dict.fromkeys(("DOUBLE", "DOUBLE PRECISION", "REAL"), _pair(JavaType.DOUBLE)),
    **dict.fromkeys(("BOOLEAN", "BOOL"), _pair(JavaType.BOOLEAN)),
    **dict.fromkeys(("ENUM", "SET", "UUID", "INET4", "INET6"), _pair(JavaType.TEXT)),
    **dict.fromkeys(("DATETIME", "TIMESTAMP"), _pair(JavaType.TIMESTAMP)),
    "BIGINT": (JavaType.LONG, JavaType.BIG_INTEGER),
    "FLOAT": _pair(JavaType.FLOAT),
    "DATE": _pair(JavaType.LOCAL_DATE),
    "TIME": _pair(JavaType.DURATION),
}


def _boolean(_: KeyColumn, value: Any) -> bool:
    return bool(value)


def _big_integer(_: KeyColumn, value: int) -> int:
    return value % _UNSIGNED


def _decimal(of: KeyColumn, value: bytes | str) -> Decimal:
    if isinstance(value, str):
        return Decimal(value)
    unscaled = int.from_bytes(value, signed=True)
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -of.reading.scale))


def _bytes(of: KeyColumn, value: bytes) -> bytes:
    return value[::-1] if of.column.base_type == "BIT" else value


def _timestamp(_: KeyColumn, value: int | str) -> datetime:
    if isinstance(value, str):
        return datetime.fromisoformat(value).replace(tzinfo=None)
    return _EPOCH + timedelta(microseconds=value)


def _date(_: KeyColumn, value: int) -> date:
    return (_EPOCH + timedelta(days=value)).date()


def _duration(_: KeyColumn, value: int) -> timedelta:
    return timedelta(microseconds=value)


_VALUES: Mapping[JavaType, Callable[[KeyColumn, Any], Value]] = {
    JavaType.BOOLEAN: _boolean,
    JavaType.BIG_INTEGER: _big_integer,
    JavaType.BIG_DECIMAL: _decimal,
    JavaType.BYTES: _bytes,
    JavaType.TIMESTAMP: _timestamp,
    JavaType.LOCAL_DATE: _date,
    JavaType.DURATION: _duration,
}


def _time_text(value: timedelta) -> str:
    micros = abs(value) // timedelta(microseconds=1)
    seconds, fraction = divmod(micros, 1_000_000)
    sign = "-" if value < timedelta() else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{fraction:06}"
