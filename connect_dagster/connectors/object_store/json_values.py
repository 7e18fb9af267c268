"""Values as lines of JSON, as ``JsonConverter`` without schemas writes them (Confluent: ``JsonFormat``).

Maps whose keys are not strings are objects here, where Java has arrays of pairs.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark

from connect_dagster.connectors.object_store.formats import VALUE, Encoded, with_nulls
from connect_dagster.expressions import decimal_bytes
from connect_dagster.plugin.schema import DATE, DECIMAL, TIMESTAMP, Schema, SchemaType

_WRAPPED = '{"v":'


def lines_of_json(schema: Schema | None, *, numeric_decimals: bool) -> Encoded:
    """Return values as JSON text.

    Args:
        schema: ``None`` for values that are JSON text already.
        numeric_decimals: whether decimals are numbers (``json.decimal.format=NUMERIC``), else base64 of their bytes.
    """
    text = F.col(VALUE) if schema is None else _text(schema, F.col(VALUE), numeric_decimals)
    return Encoded(text, spark.StringType(), [F.col(VALUE)])


def _text(schema: Schema, column: Column, numeric: bool) -> Column:
    ready = _ready(schema, with_nulls(column, schema)[0], numeric)
    options = {"ignoreNullFields": "false"}
    if schema.type is SchemaType.STRUCT:
        return F.to_json(ready, options)
    # Spark makes JSON of structs, arrays and maps alone.
    wrapped = F.to_json(F.struct(ready.alias("v")), options)
    inner = F.substring(wrapped, F.lit(len(_WRAPPED) + 1), F.length(wrapped) - len(_WRAPPED) - 1)
    return F.when(column.isNotNull(), inner)


def _ready(schema: Schema, column: Column, numeric: bool) -> Column:
    """Return a column of what JSON has for a type: numbers for dates and times, text for bytes."""
    match schema.name:
        case name if name == DECIMAL:
            return column if numeric else decimal_bytes.written(schema, column)
        case name if name == DATE:
            return F.unix_date(column)
        case name if name == TIMESTAMP:
            return F.unix_millis(column)
    if not _differs(schema):
        return column
    match schema.type:
        case SchemaType.STRUCT:
            fields = [_ready(field.schema, column[field.name], numeric).alias(field.name) for field in schema.fields]
            return F.when(column.isNotNull(), F.struct(*fields))
        case SchemaType.ARRAY:
            return F.transform(column, lambda item: _ready(schema.item, item, numeric))
        case SchemaType.MAP:
            return F.transform_values(column, lambda _, item: _ready(schema.item, item, numeric))
        case _:
            return column


def _differs(schema: Schema) -> bool:
    """Return whether Spark's JSON of such values is another one."""
    match schema.type:
        case SchemaType.STRUCT:
            return any(_differs(field.schema) for field in schema.fields)
        case SchemaType.ARRAY | SchemaType.MAP:
            return _differs(schema.item)
        case _:
            return schema.name in (DECIMAL, DATE, TIMESTAMP)
