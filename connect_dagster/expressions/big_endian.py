"""Numbers as bytes in network order and back, by Spark expressions (Java: ``ByteBuffer``)."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

_LONG_BITS = 64


def from_integral(column: Column, size: int) -> Column:
    """Return the ``size`` bytes of an integral column; null stays null."""
    number = column.cast("bigint")
    kept = number if 8 * size == _LONG_BITS else number.bitwiseAND((1 << 8 * size) - 1)
    return F.unhex(F.lpad(F.hex(kept), 2 * size, "0"))


def to_integral(column: Column, size: int) -> Column:
    """Return the signed number, as bigint, in a binary column of ``size`` bytes; null where there are more or fewer."""
    number = F.conv(F.hex(column), 16, -10).cast("bigint")
    unused = _LONG_BITS - 8 * size
    signed = F.shiftright(F.shiftleft(number, unused), unused) if unused else number
    return F.when(F.length(column) == size, signed)


def from_double(column: Column) -> Column:
    """Return the eight bytes of a double column."""
    return from_integral(_by_java(column, "java.lang.Double", "doubleToRawLongBits", "bigint"), 8)


def to_double(column: Column) -> Column:
    """Return the double in a binary column of eight bytes."""
    return _by_java(to_integral(column, 8), "java.lang.Double", "longBitsToDouble", "double")


def from_float(column: Column) -> Column:
    """Return the four bytes of a float column."""
    return from_integral(_by_java(column, "java.lang.Float", "floatToRawIntBits", "int"), 4)


def to_float(column: Column) -> Column:
    """Return the float in a binary column of four bytes."""
    return _by_java(to_integral(column, 4).cast("int"), "java.lang.Float", "intBitsToFloat", "float")


def _by_java(column: Column, class_name: str, method: str, type_: str) -> Column:
    """Return the result of a static method, which Spark passes as text."""
    said = F.reflect(F.lit(class_name), F.lit(method), column)
    return F.when(column.isNotNull(), said.cast(type_))
