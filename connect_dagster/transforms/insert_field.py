"""InsertField: adds fields with a record's topic, partition, offset, timestamp, or a fixed text.

Example:
    transforms.from.type=org.apache.kafka.connect.transforms.InsertField$Value
    transforms.from.topic.field=topic
    transforms.from.static.field=source!
    transforms.from.static.value=crm

Where the schema is optional it stays so, unlike in Java, as a frame's nulls have the schema of its other records.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import (
    SCHEMA_BUILDER_ERROR,
    builder_fault,
    field_value,
    rebuilt,
    struct_of,
)
from connect_dagster.plugin.config import ConfigDef, Importance, Type, config_key
from connect_dagster.plugin.frames import RecordFrame, SinkFrame
from connect_dagster.plugin.schema import TIMESTAMP, Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    both_sides,
    refused,
    replace_null_setting,
)

_SUFFIXES = "A last ! makes the field required, ? optional, which it is without either."
_NO_OFFSET = "Only SinkRecord supported for [field insertion], found: org.apache.kafka.connect.source.SourceRecord"


def _name_setting(of: str, doc: str) -> str | None:
    name: str | None = config_key(
        of, type=Type.STRING, default=None, importance=Importance.MEDIUM, doc=f"{doc} {_SUFFIXES}"
    )
    return name


class InsertFieldConfig(ConfigDef):
    """Options of the transform (Java: ``InsertField.CONFIG_DEF``)."""

    topic: str | None = _name_setting("topic.field", "Name of the field for the topic.")
    partition: str | None = _name_setting("partition.field", "Name of the field for the partition.")
    offset: str | None = _name_setting("offset.field", "Name of the field for the offset, which only sinks have.")
    timestamp: str | None = _name_setting("timestamp.field", "Name of the field for the record's timestamp.")
    static: str | None = _name_setting("static.field", "Name of the field for a fixed text.")
    static_value: str | None = config_key("static.value", default=None, doc="The fixed text.")
    replace_null: bool = replace_null_setting()


@dataclass(frozen=True, slots=True)
class _Insertion:
    """A field to add; ``of`` is the column it comes from, or ``static``."""

    of: str
    name: str
    optional: bool

    @classmethod
    def parsed(cls, of: str, spec: str) -> Self:
        return cls(of, spec[:-1] if spec.endswith(("!", "?")) else spec, optional=not spec.endswith("!"))


_SCHEMAS = {
    "topic": Schema(SchemaType.STRING),
    "partition": Schema(SchemaType.INT32),
    "offset": Schema(SchemaType.INT64),
    "timestamp": Schema(SchemaType.INT64, name=TIMESTAMP, version=1),
    "static": Schema(SchemaType.STRING),
}
_NULLABLE = ("partition", "timestamp")


class InsertField(FieldTransform):
    """Adds fields to structs or JSON objects; nulls pass."""

    config_def: ClassVar[type[ConfigDef]] = InsertFieldConfig
    purpose = "field insertion"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: no field is named, or the fixed text is missing.
        """
        options = InsertFieldConfig.parse(config)
        specs = [(of, getattr(options, of)) for of in _SCHEMAS]
        self._insertions = tuple(_Insertion.parsed(of, spec) for of, spec in specs if spec is not None)
        self._static, self._replace_null = options.static_value, options.replace_null
        if not self._insertions:
            raise ConfigError("No field insertion configured")
        if options.static is not None and self._static is None:
            reason = f"No value specified for static field: {options.static}"
            raise ConfigError.invalid("static.value", None, reason)

    def facts(self, frame: RecordFrame) -> object:
        """Return the columns that exist; a source's topic is often a constant."""
        return isinstance(frame, SinkFrame), tuple(map(frame.has, _SCHEMAS)), getattr(frame, "topic", None)

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the struct's fields, then the new ones."""
        names = [*(field.name for field in schema.fields), *(one.name for one in self._insertions)]
        fault = builder_fault(names)
        if fault is not None:
            return refused(column.isNotNull(), fault, SCHEMA_BUILDER_ERROR)
        if self._lacks_offset(frame):
            return refused(column.isNotNull(), _NO_OFFSET)
        added = [SchemaField(one.name, _with_optional(_SCHEMAS[one.of], one.optional)) for one in self._insertions]
        parts = [field_value(column, field, replace_null=self._replace_null) for field in schema.fields]
        parts += [self._typed(one, frame) for one in self._insertions]
        updated = rebuilt(schema, [*schema.fields, *added], optional=schema.optional)
        return Change(struct_of(column, schema, names, parts), updated)

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return the object's fields but those of the same names, then the new ones."""
        if self._lacks_offset(frame):
            wrong = (*self.not_objects(text), Wrong(json_objects.is_object(text), _NO_OFFSET))
            return Change(None, None, wrong)
        inserted = {
            one.name: (self._source(one, frame), one.of) for one in self._insertions if self._is_known(one, frame)
        }
        kept = F.map_filter(json_objects.fields_of(text), lambda key, _: ~_is_inserted(key, inserted))
        base = F.when(json_objects.ready_for(text, inserted), text).otherwise(json_objects.text_of(kept))
        members = [
            F.concat(F.lit(json_objects.key_text(name)), json_objects.json_of(source))
            for name, (source, _) in inserted.items()
        ]
        present = [
            F.when(source.isNotNull(), member).otherwise("") if of in _NULLABLE else member
            for member, (source, of) in zip(members, inserted.values(), strict=True)
        ]
        changed = json_objects.spliced(base, present)
        return Change(F.when(json_objects.is_object(text), changed).otherwise(text), None, self.not_objects(text))

    def _lacks_offset(self, frame: RecordFrame) -> bool:
        return not isinstance(frame, SinkFrame) and any(one.of == "offset" for one in self._insertions)

    def _is_known(self, one: _Insertion, frame: RecordFrame) -> bool:
        return one.of not in _NULLABLE or frame.has(one.of)

    def _source(self, one: _Insertion, frame: RecordFrame) -> Column:
        return F.lit(self._static) if one.of == "static" else frame.column(one.of)

    def _typed(self, one: _Insertion, frame: RecordFrame) -> Column:
        source = self._source(one, frame)
        if one.of == "timestamp":
            return F.timestamp_millis(source.cast("bigint"))
        return source.cast(_SCHEMAS[one.of].to_spark())


def _is_inserted(key: Column, inserted: Mapping[str, tuple[Column, str]]) -> Column:
    """Return whether a field gives way to a new one; one that is not known does not count."""
    conditions = [
        (key == name) & source.isNotNull() if of in _NULLABLE else key == name
        for name, (source, of) in inserted.items()
    ]
    return functools.reduce(operator.or_, conditions, F.lit(False))


def _with_optional(schema: Schema, optional: bool) -> Schema:
    return Schema(schema.type, optional=optional, name=schema.name, version=schema.version)


InsertFieldKey, InsertFieldValue = both_sides(InsertField, "org.apache.kafka.connect.transforms.InsertField")
