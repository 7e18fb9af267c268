"""Flatten: fields of nested structs, or of objects in objects, become fields of the outermost one.

Example:
    transforms.flat.type=org.apache.kafka.connect.transforms.Flatten$Value
    transforms.flat.delimiter=_

Where the schema is optional it stays so, unlike in Java, as a frame's nulls have the schema of its other records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import (
    SCHEMA_BUILDER_ERROR,
    builder_fault,
    field_value,
    rebuilt,
    struct_of,
)
from connect_dagster.plugin.config import ConfigDef, config_key
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_transform import Change, FieldTransform, both_sides, refused


class FlattenConfig(ConfigDef):
    """Options of the transform (Java: ``Flatten.CONFIG_DEF``)."""

    delimiter: str = config_key("delimiter", default=".", doc="What joins the names of an outer and an inner field.")


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A field that is not a struct: its new name, its schema, its value."""

    name: str
    schema: Schema
    value: Column


class Flatten(FieldTransform):
    """Flattens structs or JSON objects, at any depth; arrays stay, nulls pass."""

    config_def: ClassVar[type[ConfigDef]] = FlattenConfig
    purpose = "flattening"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options."""
        self._delimiter = FlattenConfig.parse(config).delimiter

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return a struct of all fields that are not structs."""
        try:
            leaves = list(self._leaves(column, schema, "", schema.optional, schema.default))
        except DataError as error:
            return refused(column.isNotNull(), str(error))
        names = [leaf.name for leaf in leaves]
        fault = builder_fault(names)
        if fault is not None:
            return refused(column.isNotNull(), fault, SCHEMA_BUILDER_ERROR)
        fields = [SchemaField(leaf.name, leaf.schema) for leaf in leaves]
        updated = rebuilt(schema, fields, optional=schema.optional)
        return Change(struct_of(column, schema, names, [leaf.value for leaf in leaves]), updated)

    def _leaves(
        self, column: Column, schema: Schema, prefix: str, optional: bool, default: Mapping[str, Any] | None
    ) -> Iterator[_Leaf]:
        """Return the leaves below a struct; ``optional`` and ``default`` come from the structs around."""
        for field in schema.fields:
            name = self._joined(prefix, field.name)
            inherited = field.schema.default
            if inherited is None and default is not None:
                inherited = default.get(field.name)
            may_lack = optional or field.schema.optional
            match field.schema.type:
                case SchemaType.STRUCT:
                    inner = column.getField(field.name)
                    yield from self._leaves(inner, field.schema, name, may_lack, inherited)
                case SchemaType.MAP:
                    raise DataError(
                        f"Flatten transformation does not support MAP for record with schemas (for field {name})."
                    )
                case _:
                    updated = replace(field.schema, optional=may_lack, default=inherited)
                    yield _Leaf(name, updated, field_value(column, field, replace_null=True, struct_null=bool(prefix)))

    def _joined(self, outer: str, inner: str) -> str:
        return f"{outer}{self._delimiter}{inner}" if outer else inner

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return an object of all fields that are not objects."""
        entries = F.map_entries(json_objects.fields_of(text))
        # An object lies no deeper than there are braces.
        braces = F.length(text) - F.length(F.replace(text, F.lit("{"), F.lit("")))
        levels = F.when(braces > 1, F.sequence(F.lit(2), braces)).otherwise(F.array().cast("array<int>"))
        flat = F.aggregate(levels, entries, lambda found, _: F.flatten(F.transform(found, self._opened)))
        changed = json_objects.text_of(F.map_from_entries(_last_of_each_name(flat)))
        return Change(F.when(json_objects.is_object(text), changed).otherwise(text), None, self.not_objects(text))

    def _opened(self, entry: Column) -> Column:
        """Return the fields of an object, or the entry itself."""
        inner = F.map_entries(F.try_variant_get(entry["value"], "$", json_objects.FIELDS))
        name = F.when(entry["key"] == "", "").otherwise(F.concat(entry["key"], F.lit(self._delimiter)))
        opened = F.transform(
            inner, lambda part: F.struct(F.concat(name, part["key"]).alias("key"), part["value"].alias("value"))
        )
        return F.coalesce(opened, F.array(F.struct(entry["key"].alias("key"), entry["value"].alias("value"))))


def _last_of_each_name(entries: Column) -> Column:
    """Return the entries, of several of one name the last."""
    names = F.transform(entries, lambda entry: entry["key"])
    reverse = F.reverse(entries)
    unique = F.filter(
        reverse,
        lambda entry, i: F.array_position(F.transform(reverse, lambda other: other["key"]), entry["key"]) == i + 1,
    )
    return F.when(F.size(F.array_distinct(names)) < F.size(entries), F.reverse(unique)).otherwise(entries)


FlattenKey, FlattenValue = both_sides(Flatten, "org.apache.kafka.connect.transforms.Flatten")
