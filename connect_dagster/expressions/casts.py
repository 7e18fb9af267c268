"""Java's conversions between Connect's types, by Spark expressions that never raise (Java: ``Cast.castValueToType``).

Narrowing wraps around as in Java; of what Java refuses the result is null and there is a text of the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import decimal_bytes
from connect_dagster.expressions.text import as_java_text
from connect_dagster.expressions.value_classes import class_of
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

OUTPUTS = (
    SchemaType.INT8,
    SchemaType.INT16,
    SchemaType.INT32,
    SchemaType.INT64,
    SchemaType.FLOAT32,
    SchemaType.FLOAT64,
    SchemaType.BOOLEAN,
    SchemaType.STRING,
)
"""Types that values can be cast to."""

INPUTS = (*OUTPUTS, SchemaType.BYTES)
"""Types that values can be cast from."""

_TO_NUMBER: dict[str | None, Callable[[Column], Column]] = {DATE: F.unix_date, TIMESTAMP: F.unix_millis}
_FROM_NUMBER: dict[str | None, Callable[[Column], Column]] = {
    DATE: lambda column: F.date_from_unix_date(column.cast("int")),
    TIMESTAMP: lambda column: F.timestamp_millis(column.cast("bigint")),
}
_BITS = {SchemaType.INT8: 8, SchemaType.INT16: 16, SchemaType.INT32: 32, SchemaType.INT64: 64}
_FLOATS = (SchemaType.FLOAT32, SchemaType.FLOAT64)
_WHOLE = r"^[+-]?[0-9]+\z"
_SPECIAL = r"^[\x00-\x20]*[+-]?(?:NaN|Infinity)[\x00-\x20]*\z"
_DAY_MILLIS = 86_400_000
_TIME_FORMAT = "HH:mm:ss.SSS'Z'"


@dataclass(frozen=True, slots=True)
class CastColumn:
    """A column cast.

    Attributes:
        value: null where the old one is, or cannot be cast.
        error: text of the error where it cannot, else null; ``None`` where all can.
    """

    value: Column
    error: Column | None = None


def cast_column(schema: Schema, column: Column, target: SchemaType) -> CastColumn:
    """Return a typed column cast to one of ``OUTPUTS``."""
    if schema.type not in INPUTS:
        return _refused(column, target, unsupported(schema.type))
    if target is SchemaType.STRING:
        return CastColumn(_to_text(schema, column))
    if schema.name == DECIMAL:
        column = decimal_bytes.scaled(schema, column)
        return CastColumn(_from_decimal(column, target))
    match schema.type:
        case SchemaType.BYTES:
            return _refused(column, target, f"Unexpected type in Cast transformation: class {class_of(schema)}")
        case SchemaType.STRING:
            return _from_text(column, target)
        case SchemaType.BOOLEAN:
            return CastColumn(_from_boolean(column, target))
        case SchemaType.FLOAT32 | SchemaType.FLOAT64:
            return CastColumn(_from_float(column, target))
        case _:
            return CastColumn(_from_whole(physical(schema, column), target))


def listed(types: tuple[SchemaType, ...]) -> str:
    """Return the types as Java prints a set of them."""
    return f"[{', '.join(one.name for one in types)}]"


def unsupported(source: SchemaType) -> str:
    """Return Java's text where a type cannot be cast from."""
    return f"Cast transformation does not support casting from {source.name}; supported types are {listed(INPUTS)}"


def _refused(column: Column, target: SchemaType, text: str) -> CastColumn:
    return CastColumn(F.lit(None).cast(_spark(target)), F.when(column.isNotNull(), F.lit(text)))


def _spark(target: SchemaType) -> str:
    return Schema(target).to_spark().simpleString()


def _from_whole(column: Column, target: SchemaType) -> Column:
    if target is SchemaType.BOOLEAN:
        return column != 0
    if target in _FLOATS:
        return column.cast(_spark(target))
    return _wrapped(column, _BITS[target])


def _wrapped(column: Column, bits: int) -> Column:
    """Return the lowest bits of an integer column, as a signed number."""
    if bits == 64:
        return column.cast("bigint")
    lost = 64 - bits
    shifted = F.shiftright(F.shiftleft(column.cast("bigint"), lost), lost)
    return shifted.cast({8: "tinyint", 16: "smallint", 32: "int"}[bits])


def _from_boolean(column: Column, target: SchemaType) -> Column:
    return column if target is SchemaType.BOOLEAN else column.cast(_spark(target))


def _from_float(column: Column, target: SchemaType) -> Column:
    """Convert a float as Java does: to an int or long within its range, then to fewer bits."""
    if target in _FLOATS:
        return column.cast(_spark(target))
    number = column.cast("double")
    if target is SchemaType.BOOLEAN:
        return F.when(column.isNotNull(), ~F.isnan(number) & (F.abs(number) >= 1))
    if target is SchemaType.INT64:
        return _limited(number, 64).cast("bigint")
    return _wrapped(_limited(number, 32), _BITS[target])


def _limited(number: Column, bits: int) -> Column:
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return (
        F.when(F.isnan(number), F.lit(0).cast("bigint"))
        .when(number >= float(highest), F.lit(highest).cast("bigint"))
        .when(number <= float(lowest), F.lit(lowest).cast("bigint"))
        .otherwise(number.cast("bigint"))
    )


def _from_decimal(column: Column, target: SchemaType) -> Column:
    if target in _FLOATS:
        return column.cast(_spark(target))
    whole = F.coalesce(column.try_cast("bigint"), _lowest_long(column))
    return whole != 0 if target is SchemaType.BOOLEAN else _wrapped(whole, _BITS[target])


def _lowest_long(column: Column) -> Column:
    """Return the lowest 64 bits of a decimal's integer part."""
    integer = F.when(column < 0, F.ceil(column)).otherwise(F.floor(column)).cast("decimal(38,0)")
    low = F.pmod(integer, _power_of_two(64))
    return F.when(low >= _power_of_two(63), low - _power_of_two(64)).otherwise(low).cast("bigint")


def _power_of_two(exponent: int) -> Column:
    return F.lit(str(2**exponent)).cast("decimal(20,0)")


def _from_text(column: Column, target: SchemaType) -> CastColumn:
    if target is SchemaType.BOOLEAN:
        return CastColumn(F.lower(column) == "true")
    number = column.try_cast(_spark(target))
    # Spark trims blanks around integers, and reads inf and nan in any case.
    value = (
        F.when(F.isnan(number) | (F.abs(number) == float("inf")), F.when(_is_java_float(column), number)).otherwise(
            number
        )
        if target in _FLOATS
        else F.when(column.rlike(_WHOLE), number)
    )
    text = F.concat(F.lit("Value ("), column, F.lit(") was out of range for requested data type"))
    return CastColumn(value, F.when(column.isNotNull() & value.isNull(), text))


def _is_java_float(column: Column) -> Column:
    return ~F.lower(column).contains("n") | column.rlike(_SPECIAL)


def _to_text(schema: Schema, column: Column) -> Column:
    if schema.name in _LOGICAL_TEXTS:
        return _LOGICAL_TEXTS[schema.name](column)
    if schema.type is SchemaType.BYTES and schema.name != DECIMAL:
        return F.replace(F.base64(column), F.lit("\r\n"), F.lit(""))  # Spark breaks lines
    return as_java_text(schema, column)


def _moment_text(moment: Column) -> Column:
    """Return a time of day up to the first day of the epoch, a date at midnight, else both (``dateFormatFor``)."""
    millis = F.unix_millis(moment)
    return (
        F.when(millis < _DAY_MILLIS, F.date_format(moment, _TIME_FORMAT))
        .when(millis % _DAY_MILLIS == 0, F.date_format(moment, "yyyy-MM-dd"))
        .otherwise(F.date_format(moment, f"yyyy-MM-dd'T'{_TIME_FORMAT}"))
    )


_LOGICAL_TEXTS: dict[str | None, Callable[[Column], Column]] = {
    DATE: lambda column: _moment_text(column.cast("timestamp")),
    TIME: lambda column: _moment_text(F.timestamp_millis(column)),
    TIMESTAMP: _moment_text,
}


def physical(schema: Schema, column: Column) -> Column:
    """Return days or milliseconds of a date or timestamp column; any other column as it is."""
    return _TO_NUMBER.get(schema.name, _same)(column)


def logical(schema: Schema, column: Column) -> Column:
    """Return the logical value of days or milliseconds; any other column as it is."""
    return _FROM_NUMBER.get(schema.name, _same)(column)


def _same(column: Column) -> Column:
    return column
