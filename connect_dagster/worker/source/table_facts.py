"""Facts about the records of a table that make its plan cheaper: Spark would ask each record for them again."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.schema import Schema, SchemaType

_SIDES = ("key", "value")


def with_facts(batch: SourceTable) -> SourceTable:
    """Return a batch whose columns say which required fields have no nulls, and whether all text is ASCII.

    Optional fields stay as they are, with all that is in them: a plan is kept for batches of equal columns, and whether
    they have nulls differs from batch to batch.
    """
    table = batch.table
    for name, schema in zip(_SIDES, (batch.key_schema, batch.value_schema), strict=True):
        place = table.schema.get_field_index(name)
        if place >= 0 and schema is not None:
            column = _one_chunk(table.column(place))
            table = table.set_column(place, *_stated(table.schema.field(place), column, schema))
    return replace(batch, table=table, ascii=batch.ascii or _is_ascii(batch))


def _one_chunk(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _stated(field: pa.Field, values: pa.Array, schema: Schema) -> tuple[pa.Field, pa.Array]:
    """Return a field and its values, with all that is required of them where they have it."""
    if schema.type is SchemaType.STRUCT and not schema.optional and pa.types.is_struct(values.type):
        values = _stated_struct(values, schema)
    is_nullable = field.nullable and (schema.optional or values.null_count > 0)
    return pa.field(field.name, values.type, nullable=is_nullable), values


def _stated_struct(values: pa.StructArray, schema: Schema) -> pa.StructArray:
    schemas = {field.name: field.schema for field in schema.fields}
    fields, columns = [], []
    for place in range(values.type.num_fields):
        field, column = values.type.field(place), values.field(place)
        if field.name in schemas:
            field, column = _stated(field, column, schemas[field.name])
        fields.append(field)
        columns.append(column)
    mask = values.is_null() if values.null_count else None
    return pa.StructArray.from_arrays(columns, fields=fields, mask=mask)


def _is_ascii(batch: SourceTable) -> bool:
    """Return whether keys and values have no text beyond ASCII, and their schemas, whose names are written, neither."""
    if not all(repr(schema).isascii() for schema in (batch.key_schema, batch.value_schema)):
        return False
    sides = (batch.table.column(name) for name in _SIDES if name in batch.table.column_names)
    return all(_has_ascii_text(chunk) for side in sides for chunk in side.chunks)


def _has_ascii_text(values: pa.Array) -> bool:
    """Return whether all text in values is ASCII, as far as that is known."""
    kind = values.type
    if pa.types.is_string(kind):
        return pc.all(pc.string_is_ascii(values)).as_py() is not False
    if pa.types.is_struct(kind):
        return all(_has_ascii_text(values.field(place)) for place in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _has_ascii_text(values.keys) and _has_ascii_text(values.items)
    if pa.types.is_list(kind):
        return _has_ascii_text(values.values)
    return bool(pa.types.is_primitive(kind) or pa.types.is_binary(kind) or pa.types.is_null(kind))
