"""Decimals as the bytes of their unscaled value and back, by Spark expressions (Java: ``Decimal.fromLogical``).

Big-endian two's complement in as few bytes as possible, as ``BigInteger.toByteArray`` gives. Spark has no such
function: the value is cut into two 64-bit halves, whose hexadecimal texts are joined.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import DataError

_UNSCALED = "decimal(38,0)"
_MOST_DIGITS = 38
_HALF_DIGITS = 16
# Leading bytes that only repeat the sign of the byte after them.
_REDUNDANT = "^(?:(?:00(?=[0-7]))+|(?:FF(?=[89A-F]))+)"


def from_decimal(column: Column) -> Column:
    """Return the bytes of the unscaled value of a decimal column."""
    # Spark may print a small decimal as 1.23E-7: the digits before the E are the unscaled value there too.
    digits = F.replace(F.substring_index(column.cast("string"), "E", 1), F.lit("."), F.lit(""))
    unscaled = digits.cast(_UNSCALED)
    low = F.pmod(unscaled, _power_of_two(64))
    truncated = F.call_function("div", unscaled, _power_of_two(64))
    high = F.when((unscaled < 0) & (low != 0), truncated - 1).otherwise(truncated)
    signed_low = F.when(low >= _power_of_two(63), low - _power_of_two(64)).otherwise(low).cast("bigint")
    hexadecimal = F.concat(_half(high), _half(signed_low))
    return F.unhex(F.regexp_replace(hexadecimal, _REDUNDANT, ""))


def to_decimal(column: Column, scale: int) -> Column:
    """Return the ``decimal(38, scale)`` whose unscaled value a binary column holds; null where it needs over 38 digits.

    Raises:
        DataError: Spark has no decimals of this scale.
    """
    if not 0 <= scale <= _MOST_DIGITS:  # Spark would raise for the whole batch
        raise DataError(f"Decimals of scale {scale} cannot be read: it may be 0 to {_MOST_DIGITS}")
    digits = F.hex(column)
    fill = F.when(F.substring(digits, 1, 1) >= "8", F.lit("F")).otherwise(F.lit("0"))
    padded = F.lpad(digits, F.lit(2 * _HALF_DIGITS), fill)
    high = F.conv(F.substring(padded, 1, _HALF_DIGITS), 16, -10).cast("decimal(20,0)")
    low = F.conv(F.substring(padded, _HALF_DIGITS + 1, _HALF_DIGITS), 16, 10).cast("decimal(20,0)")
    # Halves of one sign: otherwise the upper one alone may need a digit more than both.
    negative = high < 0
    high, low = F.when(negative, high + 1).otherwise(high), F.when(negative, low - _power_of_two(64)).otherwise(low)
    unscaled = F.try_add(F.try_multiply(high, _power_of_two(64)).cast(_UNSCALED), low)
    scaled = F.concat(unscaled.cast("string"), F.lit(f"E-{scale}")).try_cast(f"decimal(38,{scale})")
    return F.when(F.length(column).between(1, _HALF_DIGITS), scaled)


def _half(column: Column) -> Column:
    return F.lpad(F.hex(column), _HALF_DIGITS, "0")


def _power_of_two(exponent: int) -> Column:
    return F.lit(str(2**exponent)).cast("decimal(20,0)")
