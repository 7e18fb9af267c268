"""Names of the Java classes that hold Connect's values, which Java's error texts name."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

_BY_TYPE = {
    SchemaType.INT8: "java.lang.Byte",
    SchemaType.INT16: "java.lang.Short",
    SchemaType.INT32: "java.lang.Integer",
    SchemaType.INT64: "java.lang.Long",
    SchemaType.FLOAT32: "java.lang.Float",
    SchemaType.FLOAT64: "java.lang.Double",
    SchemaType.BOOLEAN: "java.lang.Boolean",
    SchemaType.STRING: "java.lang.String",
    SchemaType.BYTES: "[B",
    SchemaType.ARRAY: "java.util.ArrayList",
    SchemaType.MAP: "java.util.HashMap",
    SchemaType.STRUCT: "org.apache.kafka.connect.data.Struct",
}
_DATE = "java.util.Date"
_LOGICAL: dict[str | None, str] = {DECIMAL: "java.math.BigDecimal", DATE: _DATE, TIME: _DATE, TIMESTAMP: _DATE}


def class_of(schema: Schema) -> str:
    """The class of the values of a schema."""
    return _LOGICAL.get(schema.name) or _BY_TYPE[schema.type]


def class_of_json(text: Column) -> Column:
    """The class of a value out of JSON text, as ``JsonConverter`` makes it without a schema; ``null`` for null."""
    first = F.substring(F.ltrim(text), 1, 1)
    number = F.when(text.rlike("[.eE]"), "java.lang.Double").otherwise("java.lang.Long")
    return (
        F.when(text.isNull() | (first == "n"), "null")
        .when(first == '"', _BY_TYPE[SchemaType.STRING])
        .when(first == "{", _BY_TYPE[SchemaType.MAP])
        .when(first == "[", _BY_TYPE[SchemaType.ARRAY])
        .when(first.isin("t", "f"), _BY_TYPE[SchemaType.BOOLEAN])
        .otherwise(number)
    )


def class_of_variant(variant: Column) -> Column:
    """The class of a value inside schemaless data."""
    text = F.to_json(variant)
    whole = F.schema_of_variant(variant) == "BIGINT"
    number = F.when(whole, "java.lang.Long").otherwise("java.lang.Double")
    return F.when(text.rlike("^[-0-9]"), number).otherwise(class_of_json(text))
