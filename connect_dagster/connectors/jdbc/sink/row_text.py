r"""Rows as the text of a bulk load, by Spark column expressions: a line for each record.

PostgreSQL's ``COPY`` and MariaDB's and MySQL's ``LOAD DATA`` both take columns between tabs, rows between line feeds,
a backslash before what would be taken for one of these, and ``\N`` for null.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.sink.fields import SinkField
from connect_dagster.connectors.jdbc.sink.values import SinkValues
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.schema import DECIMAL, TIMESTAMP, Schema, SchemaType

NULL = r"\N"
# The backslash first, as the others bring new ones.
_ESCAPES = (("\\", "\\\\"), ("\t", "\\t"), ("\n", "\\n"), ("\r", "\\r"))


def lines(fields: Sequence[SinkField], values: SinkValues, text: Text) -> Column:
    """Return a line for each record, line feed included.

    Raises:
        ConnectError: no column can hold values of a field.
    """
    columns = [F.coalesce(text(field, values), F.lit(NULL)) for field in fields]
    return F.concat(F.concat_ws("\t", *columns), F.lit("\n"))


def postgresql_text(field: SinkField, values: SinkValues) -> Column:
    """Return a field's value as ``COPY`` reads it; null where it is null."""
    column = values.column(field)
    if values.is_timestamp(field):
        # A column with a time zone goes by the offset, one without by what stands before it.
        ahead = F.lit("+00") if values.config.db_timezone == "UTC" else _offset(column, values.instant(field))
        return F.concat(column.cast("string"), ahead)
    if field.schema.type is SchemaType.ARRAY:
        return _escaped(_array(field.schema, column))
    return _postgresql_value(field.schema, column)


def mysql_text(field: SinkField, values: SinkValues) -> Column:
    """Return a field's value as ``LOAD DATA`` reads it, bytes as hexadecimal digits; null where it is null."""
    column = values.column(field)
    if field.schema.type is SchemaType.BOOLEAN:
        return column.cast("int").cast("string")
    if field.schema.type is SchemaType.ARRAY:
        raise ConnectError(f"Unsupported source data type: ARRAY of field {field.name}")
    if is_binary(field):
        return F.hex(column)
    return _plain(field.schema, column)


def is_binary(field: SinkField) -> bool:
    """Return whether a field's values are bytes."""
    return field.schema.type is SchemaType.BYTES and field.schema.name != DECIMAL


Text = Callable[[SinkField, SinkValues], Column]


def _postgresql_value(schema: Schema, column: Column) -> Column:
    if schema.type is SchemaType.BYTES and schema.name != DECIMAL:
        return F.concat(F.lit(r"\\x"), F.hex(column))
    return _plain(schema, column)


def _plain(schema: Schema, column: Column) -> Column:
    text = column.cast("string")
    return _escaped(text) if schema.type is SchemaType.STRING else text


def _escaped(text: Column) -> Column:
    # Hardly any text has such a character, and looking for one costs less than replacing none.
    wanted = functools.reduce(operator.or_, (text.contains(char) for char, _ in _ESCAPES))
    escaped = functools.reduce(lambda column, pair: F.replace(column, F.lit(pair[0]), F.lit(pair[1])), _ESCAPES, text)
    return F.when(wanted, escaped).otherwise(text)


def _offset(wall: Column, instant: Column) -> Column:
    """Return the offset of the local time from UTC at an instant, such as ``+09:00:00``."""
    # Not by the wall alone: in autumn it shows an hour twice.
    seconds = F.unix_seconds(wall) - F.unix_seconds(instant)
    sign = F.when(seconds < 0, F.lit("-")).otherwise(F.lit("+"))
    parts = (F.abs(seconds) / 3600, F.abs(seconds) % 3600 / 60, F.abs(seconds) % 60)
    return F.concat(sign, F.concat_ws(":", *(F.lpad(F.floor(part).cast("string"), 2, "0") for part in parts)))


def _array(schema: Schema, column: Column) -> Column:
    """Return PostgreSQL's text of an array."""
    item = schema.item
    if item.type in (SchemaType.STRUCT, SchemaType.MAP) or item.name == TIMESTAMP:
        raise ConnectError(f"Unsupported source data type: ARRAY of {item.type.name}")
    items = F.transform(column, lambda one: F.coalesce(_array_item(item, one), F.lit("NULL")))
    return F.when(column.isNotNull(), F.concat(F.lit("{"), F.array_join(items, ","), F.lit("}")))


def _array_item(schema: Schema, item: Column) -> Column:
    if schema.type is SchemaType.ARRAY:
        return _array(schema, item)
    if schema.type is SchemaType.STRING:
        quoted = F.replace(F.replace(item, F.lit("\\"), F.lit("\\\\")), F.lit('"'), F.lit('\\"'))
        return F.concat(F.lit('"'), quoted, F.lit('"'))
    if schema.type is SchemaType.BYTES and schema.name != DECIMAL:
        return F.concat(F.lit('"\\\\x'), F.hex(item), F.lit('"'))
    return item.cast("string")
