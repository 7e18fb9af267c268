"""ReplaceField: leaves out fields and renames others.

Example:
    transforms.tidy.type=org.apache.kafka.connect.transforms.ReplaceField$Value
    transforms.tidy.exclude=password
    transforms.tidy.renames=id:customer_id

Where the schema is optional it stays so, unlike in Java, as a frame's nulls have the schema of its other records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import (
    SCHEMA_BUILDER_ERROR,
    builder_fault,
    field_value,
    fields_by_name,
    rebuilt,
    struct_of,
)
from connect_dagster.expressions.value_classes import class_of
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.plugin.config import ConfigDef, UniqueValues, config_key
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    both_sides,
    refused,
    replace_null_setting,
)


def split_pair(text: str) -> list[str]:
    """Return the text at its colons, without empty parts at the end, as ``String.split`` does it."""
    parts = text.split(":")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return parts


def _renames(mappings: Sequence[str]) -> dict[str, str]:
    pairs = [split_pair(mapping) for mapping in mappings]
    for mapping, parts in zip(mappings, pairs, strict=True):
        if len(parts) != 2:
            raise ConfigError.invalid("renames", mappings, f"Invalid rename mapping: {mapping}")
    return {old: new for old, new in pairs}  # noqa: C416 (dict() would lose the types)


def _valid_renames(name: str, value: Any) -> None:
    _renames(value)


class ReplaceFieldConfig(ConfigDef):
    """Options of the transform (Java: ``ReplaceField.CONFIG_DEF``)."""

    exclude: tuple[str, ...] = config_key(
        "exclude", default=(), validator=UniqueValues(), doc="Fields to leave out, also such as include names."
    )
    include: tuple[str, ...] = config_key(
        "include", default=(), validator=UniqueValues(), doc="Fields to keep; all when none is named."
    )
    renames: tuple[str, ...] = config_key(
        "renames", default=(), validator=_valid_renames, doc="Old and new names of fields, such as a:b,c:d."
    )
    replace_null: bool = replace_null_setting()


class ReplaceField(FieldTransform):
    """Filters and renames the fields of structs or JSON objects; nulls pass."""

    config_def: ClassVar[type[ConfigDef]] = ReplaceFieldConfig
    purpose = "field replacement"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: a renaming is none, or another option is wrong.
        """
        options = ReplaceFieldConfig.parse(config)
        self._exclude, self._include = frozenset(options.exclude), frozenset(options.include)
        self._renames = _renames(options.renames)
        # As in Java, where a field is read by the name that leads to its new one, even if it was never renamed.
        self._sources = {self._renames[old]: old for old in hash_map_order(self._renames)}
        self._replace_null = options.replace_null

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the struct of the fields that stay."""
        kept = [
            SchemaField(self._renames.get(field.name, field.name), field.schema)
            for field in schema.fields
            if self._stays(field.name)
        ]
        names = [field.name for field in kept]
        fault = builder_fault(names)
        if fault is not None:
            return refused(column.isNotNull(), fault, SCHEMA_BUILDER_ERROR)
        try:
            sources = [self._source(field, schema) for field in kept]
        except DataError as error:
            return refused(column.isNotNull(), str(error))
        read = [
            _read(column, field, source, replace_null=self._replace_null)
            for field, source in zip(kept, sources, strict=True)
        ]
        updated = rebuilt(schema, kept, optional=schema.optional)
        parts, wrong = [part for part, _ in read], tuple(fault for _, faults in read for fault in faults)
        return Change(struct_of(column, schema, names, parts), updated, wrong)

    def _stays(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _source(self, field: SchemaField, schema: Schema) -> SchemaField:
        name = self._sources.get(field.name, field.name)
        found = fields_by_name(schema).get(name)
        if found is None:
            raise DataError(f"{name} is not a valid field name")
        return found

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the object of the fields that stay."""
        fields = json_objects.fields_of(text)
        if self._exclude:
            fields = json_objects.without(fields, self._exclude)
        if self._include:
            fields = F.map_filter(fields, lambda key, _: key.isin(*self._include))
        if self._renames:
            fields = self._renamed(fields)
        changed = json_objects.text_of(fields)
        return Change(F.when(json_objects.is_object(text), changed).otherwise(text), None, self.not_objects(text))

    def _renamed(self, fields: Column) -> Column:
        """Return the fields under their new names; of several with one name the last in Java's map stays."""
        for new in set(self._renames.values()):
            rivals = [old for old, name in self._renames.items() if name == new]
            if new not in self._renames:
                rivals.append(new)
            fields = _last_alone(fields, hash_map_order(filter(self._stays, rivals)))
        names = F.create_map(*(F.lit(name) for pair in self._renames.items() for name in pair))
        return F.transform_keys(fields, lambda key, _: F.coalesce(names[key], key))


def _last_alone(fields: Column, rivals: Sequence[str]) -> Column:
    """Return the fields without any that a later one of its rivals puts aside."""
    for i, name in enumerate(rivals[:-1]):
        winners = F.array(*map(F.lit, rivals[i + 1 :]))
        kept = json_objects.without(fields, (name,))
        fields = F.when(F.arrays_overlap(F.map_keys(fields), winners), kept).otherwise(fields)
    return fields


def _read(
    column: Column, field: SchemaField, source: SchemaField, *, replace_null: bool
) -> tuple[Column, tuple[Wrong, ...]]:
    """Return a field's value, and the records where what is read does not fit it (Java: ``Struct.put``)."""
    value = field_value(column, source, replace_null=replace_null)
    if source.schema is field.schema or source.schema == field.schema:
        return value, ()
    null = column.isNotNull() & value.isNull()
    wrong = (Wrong(null, _null_text(field)),) if not field.schema.optional else ()
    if source.schema.to_spark() == field.schema.to_spark():
        return value, wrong
    return F.lit(None).cast(field.schema.to_spark()), (*wrong, Wrong(value.isNotNull(), _misfit_text(field, source)))


def _null_text(field: SchemaField) -> str:
    return f'Invalid value: null used for required field: "{field.name}", schema type: {field.schema.type.name}'


def _misfit_text(field: SchemaField, source: SchemaField) -> str:
    if source.schema.type is field.schema.type is SchemaType.STRUCT:
        return "Struct schemas do not match."
    named = f' "{field.schema.name}"' if field.schema.name is not None else ""
    return (
        f"Invalid Java object for schema{named} with type {field.schema.type.name}: class {class_of(source.schema)} "
        f'for field: "{field.name}"'
    )


ReplaceFieldKey, ReplaceFieldValue = both_sides(ReplaceField, "org.apache.kafka.connect.transforms.ReplaceField")
