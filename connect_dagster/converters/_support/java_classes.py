"""Java's classes of Connect values, as its errors name them: ``class java.lang.Long``."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

_BY_NAME = {
    DECIMAL: "java.math.BigDecimal",
    DATE: "java.util.Date",
    TIME: "java.util.Date",
    TIMESTAMP: "java.util.Date",
}
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
# What JsonConverter makes of JSON without a schema, by the first character.
_BY_BEGINNING = {
    '"': SchemaType.STRING,
    "{": SchemaType.MAP,
    "[": SchemaType.ARRAY,
    "t": SchemaType.BOOLEAN,
    "f": SchemaType.BOOLEAN,
}
_OF_PYTHON: dict[type, SchemaType] = {
    bool: SchemaType.BOOLEAN,
    int: SchemaType.INT64,
    float: SchemaType.FLOAT64,
    str: SchemaType.STRING,
    bytes: SchemaType.BYTES,
    list: SchemaType.ARRAY,
    dict: SchemaType.MAP,
}
_FRACTION = "[.eE]"


def class_of(schema: Schema) -> str:
    """The class of a schema's values that are not null."""
    return f"class {_BY_NAME.get(schema.name or '', _BY_TYPE[schema.type])}"


def class_of_json(text: Column) -> Column:
    """The class of the value in JSON text without a schema; null where it is null."""
    first = F.substring(text, 1, 1)
    found = F.when(text.isNull() | (text == "null"), F.lit(None).cast("string"))
    for beginning, type_ in _BY_BEGINNING.items():
        found = found.when(first == beginning, f"class {_BY_TYPE[type_]}")
    number = F.when(text.rlike(_FRACTION), _BY_TYPE[SchemaType.FLOAT64]).otherwise(_BY_TYPE[SchemaType.INT64])
    return found.otherwise(F.concat(F.lit("class "), number))


def class_of_value(schema: Schema | None, value: Any) -> str:
    """The class of one value in Python's terms."""
    if schema is not None:
        return class_of(schema)
    return f"class {_BY_TYPE[_OF_PYTHON.get(type(value), SchemaType.MAP)]}"
