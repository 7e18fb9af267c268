"""Maps as lists of entries and back, where JSON Schema has no objects for them: keys that are not strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json_schema.names import has_entries
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

_Change = Callable[[Schema, Column], Column]


def listed(schema: Schema) -> Schema:
    """Return the schema with lists of entries in place of such maps."""
    match schema.type:
        case SchemaType.STRUCT:
            return replace(schema, fields=tuple(SchemaField(one.name, listed(one.schema)) for one in schema.fields))
        case SchemaType.ARRAY:
            return replace(schema, value_schema=listed(schema.item))
        case SchemaType.MAP if has_entries(schema):
            parts = (SchemaField("key", listed(schema.key)), SchemaField("value", listed(schema.item)))
            entry = Schema(SchemaType.STRUCT, fields=parts)
            return replace(schema, type=SchemaType.ARRAY, key_schema=None, value_schema=entry, default=None)
        case SchemaType.MAP:
            return replace(schema, value_schema=listed(schema.item))
        case _:
            return schema


def to_lists(schema: Schema, column: Column) -> Column:
    """Return a column of the schema as one of the listed schema."""

    def entries(schema: Schema, column: Column) -> Column:
        return F.transform(F.map_entries(column), lambda pair: _entry(schema, pair, to_lists))

    return _changed(schema, column, to_lists, entries)


def from_lists(schema: Schema, column: Column) -> Column:
    """Return a column of the listed schema as one of the schema."""

    def map_(schema: Schema, column: Column) -> Column:
        return F.map_from_entries(F.transform(column, lambda pair: _entry(schema, pair, from_lists)))

    return _changed(schema, column, from_lists, map_)


def _entry(schema: Schema, pair: Column, change: _Change) -> Column:
    key, value = change(schema.key, pair["key"]), change(schema.item, pair["value"])
    return F.struct(key.alias("key"), value.alias("value"))


def _changed(schema: Schema, column: Column, change: _Change, of_entries: _Change) -> Column:
    if listed(schema) == schema:
        return column
    match schema.type:
        case SchemaType.STRUCT:
            parts = [change(one.schema, column.getField(one.name)).alias(one.name) for one in schema.fields]
            return F.when(column.isNotNull(), F.struct(*parts))
        case SchemaType.ARRAY:
            return F.transform(column, lambda item: change(schema.item, item))
        case SchemaType.MAP if has_entries(schema):
            return of_entries(schema, column)
        case _:
            return F.transform_values(column, lambda _, item: change(schema.item, item))
