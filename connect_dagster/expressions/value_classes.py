"""Names of the Java classes that hold Connect's values, which Java's error texts name."""

from __future__ import annotations

from typing import Any

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


_OF_PYTHON: dict[type, SchemaType] = {
    bool: SchemaType.BOOLEAN,
    int: SchemaType.INT64,
    float: SchemaType.FLOAT64,
    str: SchemaType.STRING,
    bytes: SchemaType.BYTES,
    list: SchemaType.ARRAY,
}


def class_of(schema: Schema) -> str:
    """Return the class of the values of a schema."""
    return _LOGICAL.get(schema.name) or _BY_TYPE[schema.type]


def simple_class_of(type_: SchemaType) -> str:
    """Return the simple name of the class of a type's values (Java: ``Class.getSimpleName``)."""
    return "byte[]" if type_ is SchemaType.BYTES else _BY_TYPE[type_].rpartition(".")[2]


def class_of_python(value: Any) -> str:
    """Return the class of a schemaless value in Python's terms, as ``JsonConverter`` makes it."""
    return _BY_TYPE[_OF_PYTHON.get(type(value), SchemaType.MAP)]


def class_of_json(text: Column) -> Column:
    """Return the class of a value in JSON text, as ``JsonConverter`` makes it without a schema; ``null`` for null."""
    number = F.when(text.rlike("[.eE]"), "java.lang.Double").otherwise("java.lang.Long")
    return _by_first_character(F.ltrim(text), number)


def class_of_variant(variant: Column) -> Column:
    """Return the class of a value inside schemaless data."""
    whole = F.schema_of_variant(variant) == "BIGINT"
    return _by_first_character(F.to_json(variant), F.when(whole, "java.lang.Long").otherwise("java.lang.Double"))


_BY_FIRST_CHARACTER = {
    "n": "null",
    '"': _BY_TYPE[SchemaType.STRING],
    "{": _BY_TYPE[SchemaType.MAP],
    "[": _BY_TYPE[SchemaType.ARRAY],
    "t": _BY_TYPE[SchemaType.BOOLEAN],
    "f": _BY_TYPE[SchemaType.BOOLEAN],
}


def _by_first_character(text: Column, number: Column) -> Column:
    # A missing text is null. The text is used once, as it may be costly.
    known = F.create_map(*(F.lit(word) for pair in _BY_FIRST_CHARACTER.items() for word in pair))
    return F.coalesce(known[F.coalesce(F.substring(text, 1, 1), F.lit("n"))], number)
