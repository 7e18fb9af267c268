"""Struct columns taken apart and put together again, by Spark expressions (Java: ``Struct``, ``SchemaBuilder``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.literals import literal
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

SCHEMA_BUILDER_ERROR = "org.apache.kafka.connect.errors.SchemaBuilderException"
"""Java's class of errors about schemas that cannot be built."""


def field_value(struct: Column, field: SchemaField, *, replace_null: bool, struct_null: bool = False) -> Column:
    """Return a field of a struct column; where it is null, its default if ``replace_null`` is set and there is one.

    Args:
        struct: the column.
        field: which one.
        replace_null: whether the default replaces null.
        struct_null: whether the struct may be null itself and its field shall be so then.
    """
    value = struct.getField(field.name)
    if not replace_null or field.schema.default is None:
        return value
    default = literal(field.schema, field.schema.default)
    return F.coalesce(value, F.when(struct.isNotNull(), default) if struct_null else default)


def struct_of(old: Column, old_schema: Schema, names: Sequence[str], parts: Sequence[Column]) -> Column:
    """Return a struct column in place of an old one, null where that was null.

    What its schema requires is there: without the question Spark takes no struct apart that the next step takes apart.
    """
    made = F.struct(*(part.alias(name) for name, part in zip(names, parts, strict=True)))
    return F.when(old.isNotNull(), made) if old_schema.optional else made


def rebuilt(schema: Schema, fields: Iterable[SchemaField], *, optional: bool) -> Schema:
    """Return a struct's schema with other fields: it keeps its name, version, doc and parameters, but no default.

    Java: ``SchemaUtil.copySchemaBasics``.
    """
    return replace(schema, type=SchemaType.STRUCT, fields=tuple(fields), optional=optional, default=None)


def fields_by_name(schema: Schema) -> dict[str, SchemaField]:
    """Return the fields of a struct's schema by their names."""
    return {field.name: field for field in schema.fields}


def builder_fault(names: Iterable[str]) -> str | None:
    """Return the reason why Java's ``SchemaBuilder`` refuses a struct of these fields; ``None`` when it does not."""
    names = tuple(names)
    if "" in names:
        return "fieldName cannot be null."
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    return None if twice is None else f"Cannot create field because of field name duplication {twice}"
