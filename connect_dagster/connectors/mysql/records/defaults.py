"""Default values of columns as those of their fields.

Debezium: ``BinlogDefaultValueConverter``. As there, a text keeps the doubled quotes and backslashes of its statement,
whole numbers are rounded, a UUID has none, and a time that is not one is the epoch, or null where the column is
nullable.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, DecimalException, localcontext
from typing import Any

import pyarrow as pa

from connect_dagster.connectors.mysql.records.type_modes import DecimalMode, TimePrecisionMode, TypeModes
from connect_dagster.connectors.mysql.records.types import EPOCH_TIMESTAMP, FieldType, field_type
from connect_dagster.connectors.mysql.schema.column_types import JdbcType
from connect_dagster.connectors.mysql.schema.ddl.default_values import NOW
from connect_dagster.connectors.mysql.schema.model import Column
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaType

_EPOCH = datetime(1970, 1, 1)
_DAY = timedelta(days=1)
_MOST_DIGITS = 100
_LARGEST = (1 << 63) - 1
_INTEGERS = frozenset({JdbcType.SMALLINT, JdbcType.INTEGER, JdbcType.BIGINT})
_FLOATS = frozenset({JdbcType.FLOAT, JdbcType.REAL, JdbcType.DOUBLE})
_DECIMALS = frozenset({JdbcType.DECIMAL, JdbcType.NUMERIC})
_BYTES = frozenset({JdbcType.BINARY, JdbcType.VARBINARY, JdbcType.BLOB})
_IN_A_DAY = frozenset({TimePrecisionMode.CONNECT, TimePrecisionMode.ISOSTRING})
_BOOLEANS = {"true": "1", "false": "0"}
_DATETIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?")
_TIMESTAMP = re.compile(r"(\d+)\D+(\d+)\D+(\d+)(?:\D+(\d+)(?:\D+(\d+)(?:\D+(\d+)(?:\.(\d+))?)?)?)?")
_TIME = re.compile(r"(?:\d+-\d+-\d+ )?(-?)(\d+):(\d+)(?::(\d+)(?:\.(\d+))?)?")
_ZERO_TIMESTAMP = re.compile(r"(\d{4}-\d\d-00|\d{4}-00-\d\d|0000-\d\d-\d\d) 00:00:00(\.\d{1,6})?")


def default_of_field(column: Column, modes: TypeModes) -> Any:
    """Return the default value of a column's field, in the form of ``Schema.default``.

    It is ``None`` for a column without a default value, for null and for an expression.

    Raises:
        DataError: the text of the default value is not one of the type; or the type is not known.
    """
    if column.default is None:
        return None
    field = field_type(column, modes)
    try:
        return _value(column, column.default, field, modes)
    except (ArithmeticError, DecimalException, OverflowError, ValueError) as error:
        reason = f"The default value {column.default!r} of column {column.name} is not one of the type {column.type}"
        raise DataError(reason) from error


def _value(column: Column, text: str, field: FieldType, modes: TypeModes) -> Any:
    jdbc = column.jdbc_type
    if jdbc in _TIMES:
        return _TIMES[jdbc](column, text.strip(), field, modes)
    if column.base_type == "YEAR":
        return _year(int(text))
    if jdbc in _INTEGERS:
        return _integer(_number(text), field.schema)
    if jdbc in _FLOATS:
        return float(_number(text))
    if jdbc in _DECIMALS:
        return _decimal(_number(text), column, modes)
    if jdbc is JdbcType.BIT:
        return _bits(text.strip(), column.length or 1)
    if jdbc is JdbcType.BOOLEAN:
        return _is_set(text.strip())
    if jdbc in _BYTES:
        return field.convert(pa.array([text.encode()]))[0].as_py()
    return text if field.schema.type is SchemaType.STRING and column.base_type != "UUID" else None


def _number(text: str) -> str:
    """Return the text of a number, in which TRUE and FALSE are 1 and 0."""
    return _BOOLEANS.get(text.strip().lower(), text.strip())


def _integer(text: str, schema: Schema) -> int | Decimal:
    """Return a whole number; halves are rounded up, and what Connect's largest type cannot hold is its largest."""
    number = int(text) if text.lstrip("+-").isdigit() else math.floor(Decimal(text) + Decimal("0.5"))
    return Decimal(number) if schema.type is SchemaType.BYTES else min(number, _LARGEST)


def _decimal(text: str, column: Column, modes: TypeModes) -> Decimal | float | str:
    with localcontext(prec=_MOST_DIGITS):
        number = Decimal(text).quantize(Decimal(1).scaleb(-(column.scale or 0)), ROUND_HALF_UP)
    match modes.decimals:
        case DecimalMode.PRECISE:
            return number
        case DecimalMode.DOUBLE:
            return float(number)
        case DecimalMode.STRING:
            return f"{number:f}"


def _year(number: int) -> int:
    """Return a year, of which two digits are one from 1970 to 2069."""
    if number >= 100:
        return number
    return number + (1900 if number >= 70 else 2000)


def _bits(text: str, length: int) -> bool | bytes:
    if length == 1:
        return _is_set(text)
    return int(text, 2).to_bytes((length + 7) // 8, "little")


def _is_set(text: str) -> bool:
    return int(text) != 0 if text.lstrip("+-").isdigit() else text.lower() == "true"


def _date(column: Column, text: str, field: FieldType, _: TypeModes) -> Any:
    found = _moment(column, text)
    if found is None:
        return None
    return _converted(field, pa.array([(found - _EPOCH).days], pa.int32()))


def _datetime(column: Column, text: str, field: FieldType, _: TypeModes) -> Any:
    found = _moment(column, text)
    return None if found is None else _converted(field, pa.array([_micros(found - _EPOCH)], pa.int64()))


def _moment(column: Column, text: str) -> datetime | None:
    """Return a time; the epoch where the text is not one, or null where the column is nullable."""
    match = _DATETIME.fullmatch(text)
    try:
        if match is not None:
            return _moment_of(*match.groups())
    except ValueError:
        pass
    return None if column.optional else _EPOCH


def _timestamp(column: Column, text: str, _: FieldType, __: TypeModes) -> str | None:
    """Return a time in UTC, with as many digits after the point as the column has."""
    if text in ("0", NOW) or _ZERO_TIMESTAMP.fullmatch(text):
        return None if column.optional else EPOCH_TIMESTAMP
    match = _TIMESTAMP.fullmatch(text)
    if match is None:
        raise ValueError(text)
    moment = _moment_of(*match.groups())
    digits = column.length or 0
    fraction = f".{moment.microsecond:06d}"[: digits + 1] if digits else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _time(_: Column, text: str, field: FieldType, modes: TypeModes) -> Any:
    match = _TIME.fullmatch(text)
    if match is None:
        raise ValueError(text)
    sign, hours, minutes, seconds, fraction = match.groups()
    length = timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(seconds or 0), microseconds=_fraction(fraction)
    )
    length = -length if sign else length
    if modes.times in _IN_A_DAY and not timedelta(0) <= length < _DAY:
        raise ValueError(text)
    return _converted(field, pa.array([_micros(length)], pa.int64()))


def _moment_of(
    year: str, month: str, day: str, hour: str | None, minute: str | None, second: str | None, fraction: str | None
) -> datetime:
    clock = [int(part or 0) for part in (hour, minute, second)]
    return datetime(int(year), int(month), int(day), clock[0], clock[1], clock[2], _fraction(fraction))


def _fraction(digits: str | None) -> int:
    return int((digits or "").ljust(6, "0")[:6])


def _micros(length: timedelta) -> int:
    return length // timedelta(microseconds=1)


def _converted(field: FieldType, stored: pa.Array) -> Any:
    """Return what the field's conversion makes of a value as it is stored."""
    return field.convert(stored)[0].as_py()


_TIMES: Mapping[JdbcType, Callable[[Column, str, FieldType, TypeModes], Any]] = {
    JdbcType.DATE: _date,
    JdbcType.TIME: _time,
    JdbcType.TIMESTAMP: _datetime,
    JdbcType.TIMESTAMP_WITH_TIMEZONE: _timestamp,
}
