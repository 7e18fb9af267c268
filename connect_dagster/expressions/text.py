"""Text of Connect values as Java's ``toString`` writes it, as Spark expressions.

Two connectors' users see it: in files written by FileStreamSink and in records written by StringConverter. Two things
differ: bytes are decoded as UTF-8 (Java prints an object's address), and maps keep their order (Java's have none).
"""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import decimal_bytes, java_calls
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType


def as_java_text(schema: Schema | None, column: Column) -> Column:
    """Return the text of a typed column as a string column; null where the value is null."""
    if schema is None:
        return _schemaless(column)
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name](decimal_bytes.scaled(schema, column))
    return _BY_TYPE.get(schema.type, _scalar)(schema, column)


def text_of_utf8(data: Column) -> Column:
    """Return the text of a binary column; bytes that are not UTF-8 become U+FFFD, as in Java."""
    text = data.cast("string")
    return F.when(java_calls.is_utf8(data), text).otherwise(F.make_valid_utf8(text))


def _scalar(schema: Schema, column: Column) -> Column:
    return column if schema.type is SchemaType.STRING else column.cast("string")


def _array(schema: Schema, column: Column) -> Column:
    return _joined(F.transform(column, lambda item: _nested(schema.item, item)), "[", "]", ", ")


def _map(schema: Schema, column: Column) -> Column:
    entries = F.transform(
        F.map_entries(column),
        lambda pair: F.concat(_nested(schema.key, pair["key"]), F.lit("="), _nested(schema.item, pair["value"])),
    )
    return _joined(entries, "{", "}", ", ")


def _struct(schema: Schema, column: Column) -> Column:
    """Return the text of a struct; Java leaves out fields that are null."""
    parts = []
    for field in schema.fields:
        value = column.getField(field.name)
        parts.append(F.when(value.isNotNull(), F.concat(F.lit(f"{field.name}="), _nested(field.schema, value))))
    texts = F.array_compact(F.array(*parts)) if parts else F.array().cast("array<string>")
    return F.when(column.isNotNull(), _joined(texts, "Struct{", "}", ","))


def _nested(schema: Schema, column: Column) -> Column:
    return F.coalesce(as_java_text(schema, column), F.lit("null"))


def _joined(texts: Column, start: str, end: str, separator: str) -> Column:
    return F.concat(F.lit(start), F.array_join(texts, separator), F.lit(end))


def _schemaless(column: Column, depth: int = 3) -> Column:
    """Return the text of a column of JSON text."""
    parsed = F.parse_json(F.when(~column.startswith('"'), column))
    return F.when(column.startswith('"'), _unquoted(column)).otherwise(_variant(parsed, depth))


def _unquoted(column: Column) -> Column:
    """Return the string in a JSON string, which is known to be one: quotes are the only frequent escape."""
    inner = F.substring(column, F.lit(2), F.length(column) - F.lit(2))
    escaped_quote = F.lit('\\"')
    simple = column.endswith('"') & ~F.replace(inner, escaped_quote, F.lit("")).contains("\\")
    return F.when(simple, F.replace(inner, escaped_quote, F.lit('"'))).otherwise(F.get_json_object(column, "$"))


def _variant(column: Column, depth: int) -> Column:
    """Return the text of parsed JSON; lists in lists are taken apart ``depth`` times, deeper ones stay JSON."""
    kind = F.schema_of_variant(column)
    text = (
        F.when(column.isNull() | F.is_variant_null(column), F.lit(None).cast("string"))
        .when(kind.isin("STRING", "BIGINT", "BOOLEAN"), F.try_variant_get(column, "$", "string"))
        .when(kind.startswith("DECIMAL") | (kind == "DOUBLE"), F.try_variant_get(column, "$", "double").cast("string"))
    )
    if depth == 0:
        return text.otherwise(F.to_json(column))
    items = F.transform(
        F.try_variant_get(column, "$", "array<variant>"),
        lambda item: F.coalesce(_variant(item, depth - 1), F.lit("null")),
    )
    return text.when(kind.startswith("ARRAY"), _joined(items, "[", "]", ", ")).otherwise(F.to_json(column))


def _decimal(column: Column) -> Column:
    """Return the text of ``BigDecimal.toString``, also used in JSON; a cast never prints the scientific form."""
    text = F.to_json(F.struct(column.alias("p")))
    return F.when(column.isNotNull(), F.substring(text, F.lit(6), F.length(text) - F.lit(6)))


def _date(moment: Column) -> Column:
    return F.date_format(moment, "EEE MMM dd HH:mm:ss zzz yyyy")


_BY_TYPE: dict[SchemaType, Callable[[Schema, Column], Column]] = {
    SchemaType.BYTES: lambda _, column: text_of_utf8(column),
    SchemaType.ARRAY: _array,
    SchemaType.MAP: _map,
    SchemaType.STRUCT: _struct,
}

_LOGICAL: dict[str | None, Callable[[Column], Column]] = {
    DECIMAL: _decimal,
    DATE: lambda column: _date(column.cast("timestamp")),
    TIME: lambda column: _date(F.timestamp_millis(column)),
    TIMESTAMP: _date,
}
