"""Points in time in the forms that TimestampConverter knows, to and from epoch milliseconds, without an overflow.

Java: the translators of ``TimestampConverter``, ``TimeUnit``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.java.iso_dates import DAY_MS
from connect_dagster.plugin.schema import DATE, TIME, TIMESTAMP

_LONGEST = 2**63 - 1
_LAST_TIMESTAMP_MS = _LONGEST // 1000

# How many units there are in a millisecond, and milliseconds in a unit.
_FINER: Mapping[str, int] = {"microseconds": 1_000, "nanoseconds": 1_000_000}
_COARSER: Mapping[str, int] = {"seconds": 1_000}
PRECISIONS = ("nanoseconds", "microseconds", "milliseconds", "seconds")


def from_unix(number: Column, precision: str) -> Column:
    """Return epoch milliseconds of a count of units since 1970."""
    if precision in _FINER:
        return _divided(number, _FINER[precision])
    return _multiplied(number, _COARSER[precision]) if precision in _COARSER else number


def to_unix(milliseconds: Column, precision: str) -> Column:
    """Return the count of units since 1970 of epoch milliseconds."""
    if precision in _FINER:
        return _multiplied(milliseconds, _FINER[precision])
    return _divided(milliseconds, _COARSER[precision]) if precision in _COARSER else milliseconds


FROM_LOGICAL: Mapping[str | None, Callable[[Column], Column]] = {
    DATE: lambda column: F.unix_date(column).cast("long") * DAY_MS,
    TIME: lambda column: column.cast("long"),
    TIMESTAMP: F.unix_millis,
}
"""Epoch milliseconds of a column of a logical type."""


def days(milliseconds: Column) -> Column:
    """Return the day as a number; null where it has too many digits for an int."""
    before_midnight = F.when(milliseconds % DAY_MS < 0, 1).otherwise(0)
    return (_divided(milliseconds, DAY_MS) - before_midnight).try_cast("int")


def time_of_day(milliseconds: Column) -> Column:
    """Return milliseconds since midnight."""
    return F.pmod(milliseconds, F.lit(DAY_MS)).cast("int")


def to_timestamp(milliseconds: Column) -> Column:
    """Return a timestamp; null beyond those that Spark has."""
    known = milliseconds.between(-_LAST_TIMESTAMP_MS, _LAST_TIMESTAMP_MS)
    return F.timestamp_millis(F.when(known, milliseconds))


def _divided(number: Column, units: int) -> Column:
    """Divide towards zero, as ``TimeUnit`` does."""
    return F.call_function("div", number, F.lit(units).cast("long"))


def _multiplied(number: Column, units: int) -> Column:
    """Return the largest number where it is too large, as ``TimeUnit`` has it."""
    limit = _LONGEST // units
    return (
        F.when(number > limit, F.lit(_LONGEST))
        .when(number < -limit, F.lit(-_LONGEST - 1))
        .otherwise(F.greatest(F.least(number, F.lit(limit)), F.lit(-limit)) * F.lit(units).cast("long"))
    )
