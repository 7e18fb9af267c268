"""Numbers as the bytes of Kafka's own serializers (Java: ``NumberConverter`` and its subclasses)."""

from __future__ import annotations

import struct
from abc import abstractmethod
from typing import Any, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.single_value import (
    PrimitiveConverter,
    class_of,
    class_of_json,
    class_of_value,
)
from connect_dagster.errors import DataError
from connect_dagster.plugin.converter import Decoder
from connect_dagster.plugin.schema import Schema, SchemaType

_LONG_BITS = 64


class NumberConverter(PrimitiveConverter):
    """Writes numbers of one type, null as no bytes; reads them with an optional schema.

    Attributes:
        layout: of the bytes, a format of ``struct``.
        type_name: of the type in Java's errors.
    """

    layout: ClassVar[str]
    type_name: ClassVar[str]

    @abstractmethod
    def number_in(self, column: Column) -> Column:
        """Return the number in a binary column; null where the length is wrong."""

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error of values of another type."""
        if schema is None:
            found = class_of_json(column)
            text = F.concat(F.lit(f"Failed to serialize to {self.type_name} (was "), found, F.lit("): "))
            return F.when(found != class_of(self.schema), text)
        if class_of(schema) == class_of(self.schema):
            return None
        return F.when(column.isNotNull(), self._incompatible(class_of(schema)))

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of one number."""
        if value is None:
            return None
        found = class_of_value(schema, value)
        if found != class_of(self.schema):
            raise DataError(self._incompatible(found))
        return struct.pack(self.layout, value)

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the number in the bytes of one header."""
        if data is None:
            return self.schema, None
        if len(data) != struct.calcsize(self.layout):
            raise DataError(self._unreadable())
        return self.schema, struct.unpack(self.layout, data)[0]

    def decoder(self, data: Column) -> Decoder:
        readable = data.isNull() | (F.length(data) == struct.calcsize(self.layout))
        return Decoder(self.schema, self.number_in(data), readable=readable, error=F.lit(self._unreadable()))

    def _incompatible(self, found: str) -> str:
        return f"Failed to serialize to {self.type_name} (was {found}): "

    def _unreadable(self) -> str:
        return f"Failed to deserialize {self.type_name}: "


class _IntegralConverter(NumberConverter):
    """Writes the bytes of the number itself."""

    def bytes_of(self, column: Column) -> Column:
        return _integral_to_bytes(column, struct.calcsize(self.layout))

    def number_in(self, column: Column) -> Column:
        return _integral_from_bytes(column, struct.calcsize(self.layout)).cast(self.schema.to_spark())


class ShortConverter(_IntegralConverter):
    """Numbers of 16 bits."""

    java_class = "org.apache.kafka.connect.converters.ShortConverter"
    schema = Schema(SchemaType.INT16, optional=True)
    layout = ">h"
    type_name = "short"


class IntegerConverter(_IntegralConverter):
    """Numbers of 32 bits."""

    java_class = "org.apache.kafka.connect.converters.IntegerConverter"
    schema = Schema(SchemaType.INT32, optional=True)
    layout = ">i"
    type_name = "integer"


class LongConverter(_IntegralConverter):
    """Numbers of 64 bits."""

    java_class = "org.apache.kafka.connect.converters.LongConverter"
    schema = Schema(SchemaType.INT64, optional=True)
    layout = ">q"
    type_name = "long"


class FloatConverter(NumberConverter):
    """Floating-point numbers of 32 bits."""

    java_class = "org.apache.kafka.connect.converters.FloatConverter"
    schema = Schema(SchemaType.FLOAT32, optional=True)
    layout = ">f"
    type_name = "float"

    def bytes_of(self, column: Column) -> Column:
        return _float_to_bytes(column)

    def number_in(self, column: Column) -> Column:
        return _float_from_bytes(column)


class DoubleConverter(NumberConverter):
    """Floating-point numbers of 64 bits."""

    java_class = "org.apache.kafka.connect.converters.DoubleConverter"
    schema = Schema(SchemaType.FLOAT64, optional=True)
    layout = ">d"
    type_name = "double"

    def bytes_of(self, column: Column) -> Column:
        return _double_to_bytes(column)

    def number_in(self, column: Column) -> Column:
        return _double_from_bytes(column)


def _integral_to_bytes(column: Column, size: int) -> Column:
    """Return the ``size`` bytes of an integral column; null stays null."""
    number = column.cast("bigint")
    kept = number if 8 * size == _LONG_BITS else number.bitwiseAND((1 << 8 * size) - 1)
    return F.unhex(F.lpad(F.hex(kept), 2 * size, "0"))


def _integral_from_bytes(column: Column, size: int) -> Column:
    """Return the signed number, as bigint, in a binary column of ``size`` bytes; null where there are more or fewer."""
    number = F.conv(F.hex(column), 16, -10).cast("bigint")
    unused = _LONG_BITS - 8 * size
    signed = F.shiftright(F.shiftleft(number, unused), unused) if unused else number
    return F.when(F.length(column) == size, signed)


def _double_to_bytes(column: Column) -> Column:
    """Return the eight bytes of a double column."""
    return _integral_to_bytes(_by_java(column, "java.lang.Double", "doubleToRawLongBits", "bigint"), 8)


def _double_from_bytes(column: Column) -> Column:
    """Return the double in a binary column of eight bytes."""
    return _by_java(_integral_from_bytes(column, 8), "java.lang.Double", "longBitsToDouble", "double")


def _float_to_bytes(column: Column) -> Column:
    """Return the four bytes of a float column."""
    return _integral_to_bytes(_by_java(column, "java.lang.Float", "floatToRawIntBits", "int"), 4)


def _float_from_bytes(column: Column) -> Column:
    """Return the float in a binary column of four bytes."""
    return _by_java(_integral_from_bytes(column, 4).cast("int"), "java.lang.Float", "intBitsToFloat", "float")


def _by_java(column: Column, class_name: str, method: str, type_: str) -> Column:
    """Return the result of a static method, which Spark passes as text."""
    said = F.reflect(F.lit(class_name), F.lit(method), column)
    return F.when(column.isNotNull(), said.cast(type_))
