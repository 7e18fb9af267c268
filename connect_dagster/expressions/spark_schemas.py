"""Connect's schema of what Spark has made: of a query's columns, of a table's."""

from __future__ import annotations

from pyspark.sql import types as spark

from connect_dagster.errors import DataError
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
    # A column that is always null: of the type that everything can be cast from.
    spark.NullType: (SchemaType.STRING, None),
}


def connect_schema(kind: spark.DataType, optional: bool, place: str) -> Schema:
    """Return the schema of values of a Spark type; a cast to its ``to_spark()`` makes such values.

    Args:
        kind: the type.
        optional: whether there may be nulls.
        place: the column's name, for the error.

    Raises:
        DataError: Connect has no such type.
    """
    match kind:
        case spark.StructType():
            fields = tuple(
                SchemaField(one.name, connect_schema(one.dataType, one.nullable, f"{place}.{one.name}")) for one in kind
            )
            return Schema(SchemaType.STRUCT, optional, fields=fields)
        case spark.ArrayType():
            item = connect_schema(kind.elementType, kind.containsNull, f"{place}[]")
            return Schema(SchemaType.ARRAY, optional, value_schema=item)
        case spark.MapType():
            key = connect_schema(kind.keyType, False, f"{place} (key)")
            value = connect_schema(kind.valueType, kind.valueContainsNull, f"{place} (value)")
            return Schema(SchemaType.MAP, optional, key_schema=key, value_schema=value)
        case spark.DecimalType():
            return Schema(SchemaType.BYTES, optional, DECIMAL, 1, parameters=(("scale", str(kind.scale)),))
    if type(kind) not in _PRIMITIVES:
        raise DataError(
            f"Column {place} is of Spark's type {kind.simpleString()}, which Kafka Connect has none for; "
            "cast it where it is made, for instance to a string"
        )
    physical, name = _PRIMITIVES[type(kind)]
    return Schema(physical, optional, name, None if name is None else 1)
