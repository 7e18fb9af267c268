"""Connect's data schema and its mapping to Spark types (Java: ``org.apache.kafka.connect.data``).

A schema describes one column of a record frame. ``None`` in place of a schema means schemaless data: the
column then holds JSON text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from pyspark.sql import types as spark

from connect_dagster.errors import DataError


class SchemaType(Enum):
    """Connect's types; the value is the word the JSON envelope uses."""

    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT32 = "float"
    FLOAT64 = "double"
    BOOLEAN = "boolean"
    STRING = "string"
    BYTES = "bytes"
    ARRAY = "array"
    MAP = "map"
    STRUCT = "struct"


DECIMAL = "org.apache.kafka.connect.data.Decimal"
DATE = "org.apache.kafka.connect.data.Date"
TIME = "org.apache.kafka.connect.data.Time"
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"


@dataclass(frozen=True, slots=True)
class SchemaField:
    """One field of a struct."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Schema:
    """Type of a key, a value or a part of one (Java: ``ConnectSchema``).

    Attributes:
        type: the physical type.
        optional: whether null is allowed.
        name: the schema's name; names a logical type where it is one of the four constants above.
        parameters: name and value pairs, such as ``scale`` of a Decimal.
        default: default value in Python's terms, used where a field is absent.
        fields: of a STRUCT, in order.
        key_schema: of a MAP.
        value_schema: of a MAP or ARRAY.
        unscaled: whether a column of Decimals has the bytes of their unscaled values, as Kafka Connect writes them, in
            place of Spark's decimals, which end at 38 digits; for sources that have such bytes.
    """

    type: SchemaType
    optional: bool = False
    name: str | None = None
    version: int | None = None
    doc: str | None = None
    parameters: tuple[tuple[str, str], ...] = ()
    default: Any = field(default=None, hash=False)  # a list or a dict has no hash
    fields: tuple[SchemaField, ...] = ()
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    unscaled: bool = False

    def to_spark(self) -> spark.DataType:
        """Spark type of a column that holds such values.

        Raises:
            DataError: a map or an array without the schema of its parts.
        """
        if self.name in _LOGICAL:
            return _LOGICAL[self.name](self)
        match self.type:
            case SchemaType.STRUCT:
                parts = [spark.StructField(f.name, f.schema.to_spark(), f.schema.optional) for f in self.fields]
                return spark.StructType(parts)
            case SchemaType.ARRAY:
                return spark.ArrayType(self.item.to_spark(), self.item.optional)
            case SchemaType.MAP:
                return spark.MapType(self.key.to_spark(), self.item.to_spark(), self.item.optional)
            case _:
                return _PRIMITIVES[self.type]()

    @property
    def item(self) -> Schema:
        """Schema of the items of an ARRAY or the values of a MAP.

        Raises:
            DataError: it is not known.
        """
        return self._part(self.value_schema, "values" if self.type is SchemaType.MAP else "items")

    @property
    def key(self) -> Schema:
        """Schema of the keys of a MAP.

        Raises:
            DataError: it is not known.
        """
        return self._part(self.key_schema, "keys")

    @property
    def scale(self) -> int:
        """Digits after the point of a Decimal.

        Raises:
            DataError: with Java's text; the parameter ``scale`` is missing or no number.
        """
        scale = dict(self.parameters).get("scale")
        if scale is None:
            raise DataError("Invalid Decimal schema: scale parameter not found.")
        try:
            return int(scale)
        except ValueError:
            raise DataError("Invalid scale parameter found in Decimal schema: ") from None

    def with_default(self, default: Any) -> Schema:
        """Return the schema with another default value; ``None`` for no default."""
        return replace(self, default=default)

    def _part(self, schema: Schema | None, what: str) -> Schema:
        if schema is None:
            raise DataError(f"A schema of type {self.type.value} needs the schema of its {what}")
        return schema


_PRIMITIVES: dict[SchemaType, type[spark.DataType]] = {
    SchemaType.INT8: spark.ByteType,
    SchemaType.INT16: spark.ShortType,
    SchemaType.INT32: spark.IntegerType,
    SchemaType.INT64: spark.LongType,
    SchemaType.FLOAT32: spark.FloatType,
    SchemaType.FLOAT64: spark.DoubleType,
    SchemaType.BOOLEAN: spark.BooleanType,
    SchemaType.STRING: spark.StringType,
    SchemaType.BYTES: spark.BinaryType,
}

# Time stays an integer (milliseconds of the day): Spark has no such type with millisecond precision.
_LOGICAL: dict[str | None, Callable[[Schema], spark.DataType]] = {
    DECIMAL: lambda schema: spark.BinaryType() if schema.unscaled else spark.DecimalType(38, schema.scale),
    DATE: lambda _: spark.DateType(),
    TIME: lambda _: spark.IntegerType(),
    TIMESTAMP: lambda _: spark.TimestampType(),
}

STRING_SCHEMA = Schema(SchemaType.STRING)
OPTIONAL_STRING_SCHEMA = Schema(SchemaType.STRING, optional=True)
BYTES_SCHEMA = Schema(SchemaType.BYTES)
OPTIONAL_BYTES_SCHEMA = Schema(SchemaType.BYTES, optional=True)
