"""Logical values and the numbers that Connect keeps them as (Java: ``Date``, ``Time``, ``Timestamp``)."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.schema import DATE, TIMESTAMP, Schema

_TO_NUMBER: dict[str | None, Callable[[Column], Column]] = {DATE: F.unix_date, TIMESTAMP: F.unix_millis}
_FROM_NUMBER: dict[str | None, Callable[[Column], Column]] = {
    DATE: lambda column: F.date_from_unix_date(column.cast("int")),
    TIMESTAMP: lambda column: F.timestamp_millis(column.cast("bigint")),
}


def physical(schema: Schema, column: Column) -> Column:
    """Return days or milliseconds of a date or timestamp column; any other column as it is."""
    return _TO_NUMBER.get(schema.name, _same)(column)


def logical(schema: Schema, column: Column) -> Column:
    """Return the logical value of days or milliseconds; any other column as it is."""
    return _FROM_NUMBER.get(schema.name, _same)(column)


def _same(column: Column) -> Column:
    return column
