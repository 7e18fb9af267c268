"""Decimals as the bytes of their unscaled value and back, within Spark's plans (Java: ``Decimal.fromLogical``).

Big-endian two's complement in as few bytes as possible, as ``BigInteger.toByteArray`` gives. Spark has no such
function, and one made of those it has is an expression so large that planning it took half a minute.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import DataError
from connect_dagster.expressions import java_calls
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

PRECISION = "connect.decimal.precision"
"""Parameter with the number of digits."""

_MOST_DIGITS = 38


def written(schema: Schema, column: Column) -> Column:
    """Return the bytes of the unscaled values of a Decimal's column."""
    return column if schema.unscaled else from_decimal(column, schema.scale)


def scaled(schema: Schema, column: Column) -> Column:
    """Return a Decimal's column as Spark's decimals.

    Raises:
        DataError: they may have more digits than Spark's.
    """
    if not schema.unscaled:
        return column
    digits = int(dict(schema.parameters).get(PRECISION, _MOST_DIGITS))
    if digits > _MOST_DIGITS:
        raise DataError(
            f"Decimals of {digits} digits can only be written as their bytes; elsewhere they have at most "
            f"{_MOST_DIGITS}. A source may have an option to send them as text"
        )
    return to_decimal(column, schema.scale)


def all_scaled(schema: Schema, column: Column) -> tuple[Schema, Column]:
    """Return a column, and its schema, with Spark's decimals in place of bytes of unscaled values.

    Raises:
        DataError: some may have more digits than Spark's.
    """
    if not _has_unscaled(schema):
        return schema, column
    match schema.type:
        case SchemaType.STRUCT:
            parts = [(field.name, *all_scaled(field.schema, column.getField(field.name))) for field in schema.fields]
            fields = tuple(SchemaField(name, part) for name, part, _ in parts)
            made = F.struct(*(value.alias(name) for name, _, value in parts))
            return replace(schema, fields=fields), F.when(column.isNotNull(), made)
        case SchemaType.ARRAY:
            item, _ = all_scaled(schema.item, F.lit(None))
            return replace(schema, value_schema=item), F.transform(column, lambda one: all_scaled(schema.item, one)[1])
        case SchemaType.MAP:
            item, _ = all_scaled(schema.item, F.lit(None))
            values = F.transform_values(column, lambda _, one: all_scaled(schema.item, one)[1])
            return replace(schema, value_schema=item), values
        case _:
            return replace(schema, unscaled=False), scaled(schema, column)


def _has_unscaled(schema: Schema) -> bool:
    match schema.type:
        case SchemaType.STRUCT:
            return any(_has_unscaled(field.schema) for field in schema.fields)
        case SchemaType.ARRAY | SchemaType.MAP:
            return _has_unscaled(schema.item)
        case _:
            return schema.unscaled


def from_decimal(column: Column, scale: int) -> Column:
    """Return the bytes of the unscaled value of a decimal column of some scale."""
    return java_calls.unscaled_bytes(column, scale)


def to_decimal(column: Column, scale: int) -> Column:
    """Return the ``decimal(38, scale)`` whose unscaled value a binary column holds; null where it needs over 38 digits.

    Raises:
        DataError: Spark has no decimals of this scale.
    """
    if not 0 <= scale <= _MOST_DIGITS:  # Spark would raise for the whole batch
        raise DataError(f"Decimals of scale {scale} cannot be read: it may be 0 to {_MOST_DIGITS}")
    return F.when(F.length(column) > 0, java_calls.decimal_of_bytes(column, _MOST_DIGITS, scale))
