"""Connect's schema of what a Spark format reads, and the expression that makes such a value of it."""

from __future__ import annotations

from pyspark.sql import types as spark

from connect_dagster.plugin.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIMESTAMP, Schema, SchemaField, SchemaType

_PRIMITIVES: dict[type[spark.DataType], tuple[SchemaType, str | None]] = {
    spark.ByteType: (SchemaType.INT8, None),
    spark.ShortType: (SchemaType.INT16, None),
    spark.IntegerType: (SchemaType.INT32, None),
    spark.LongType: (SchemaType.INT64, None),
    spark.FloatType: (SchemaType.FLOAT32, None),
    spark.DoubleType: (SchemaType.FLOAT64, None),
    spark.BooleanType: (SchemaType.BOOLEAN, None),
    spark.StringType: (SchemaType.STRING, None),
    spark.CharType: (SchemaType.STRING, None),
    spark.VarcharType: (SchemaType.STRING, None),
    spark.BinaryType: (SchemaType.BYTES, None),
    spark.DateType: (SchemaType.INT32, DATE),
    spark.TimestampType: (SchemaType.INT64, TIMESTAMP),
    spark.TimestampNTZType: (SchemaType.INT64, TIMESTAMP),
}
# Connect's logical types carry the version 1.
_LOGICAL_VERSION = 1


def connect_schema(type_: spark.DataType, optional: bool, place: str) -> Schema:
    """The schema of values of a Spark type; casting the column to ``to_spark()`` of it makes such values.

    Args:
        type_: the type.
        optional: whether there may be nulls.
        place: name of the column, for the error.

    Raises:
        DataError: Connect has no such type.
    """
    match type_:
        case spark.StructType():
            fields = tuple(
                SchemaField(one.name, connect_schema(one.dataType, one.nullable, f"{place}.{one.name}"))
                for one in type_
            )
            return Schema(SchemaType.STRUCT, optional, fields=fields)
        case spark.ArrayType():
            item = connect_schema(type_.elementType, type_.containsNull, f"{place}[]")
            return Schema(SchemaType.ARRAY, optional, value_schema=item)
        case spark.MapType():
            key = connect_schema(type_.keyType, False, f"{place} (key)")
            value = connect_schema(type_.valueType, type_.valueContainsNull, f"{place} (value)")
            return Schema(SchemaType.MAP, optional, key_schema=key, value_schema=value)
        case spark.DecimalType():
            scale = (("scale", str(type_.scale)),)
            return Schema(SchemaType.BYTES, optional, DECIMAL, _LOGICAL_VERSION, parameters=scale)
    if type(type_) not in _PRIMITIVES:
        raise DataError(
            f"Column {place} is of Spark's type {type_.simpleString()}, which Kafka Connect has none for; "
            "cast it where it is made, for instance to a string"
        )
    kind, name = _PRIMITIVES[type(type_)]
    return Schema(kind, optional, name, None if name is None else _LOGICAL_VERSION)
