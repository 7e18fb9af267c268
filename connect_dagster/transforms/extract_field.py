"""ExtractField: one field takes the place of the whole key or value.

Example:
    transforms.id.type=org.apache.kafka.connect.transforms.ExtractField$Key
    transforms.id.field=id
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import field_value, fields_by_name
from connect_dagster.expressions.value_classes import class_of_variant
from connect_dagster.plugin.config import ConfigDef, Importance, config_key, one_of_ignoring_case
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_path import steps
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    Wrong,
    refused,
    replace_null_setting,
)
from connect_dagster.transforms._support.side import both_sides

_UNKNOWN = "java.lang.IllegalArgumentException"


class ExtractFieldConfig(ConfigDef):
    """Options of the transform (Java: ``ExtractField.CONFIG_DEF``)."""

    field: str = config_key("field", doc="The field to take out.")
    replace_null: bool = replace_null_setting()
    syntax: str = config_key(
        "field.syntax.version",
        default="V1",
        importance=Importance.HIGH,
        validator=one_of_ignoring_case("V1", "V2"),
        doc="V1: the field is a name. V2: it is a path of names joined by dots; backticks keep a name's own dots.",
    )


class ExtractField(FieldTransform):
    """Takes a field out of structs or JSON objects; nulls pass."""

    config_def: ClassVar[type[ConfigDef]] = ExtractFieldConfig
    purpose = "field extraction"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: an option is missing or wrong, or the path is none.
        """
        options = ExtractFieldConfig.parse(config)
        self._path, self._replace_null = options.field, options.replace_null
        self._steps = steps(options.field, options.syntax.upper()) or ("",)

    def unfit(self, column: Column, schema: Schema) -> Change:
        """Data without fields; Java looks for the field even where there is no data."""
        change = FieldTransform.unfit(self, column, schema)
        return Change(None, None, (*change.wrong, Wrong(F.lit(True), "Cannot look up fields on non-struct type")))

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """The field with its schema."""
        try:
            found = self._fields(schema)
        except DataError as error:
            return refused(F.lit(True), str(error))
        if found is None:
            return refused(F.lit(True), f"Unknown field: {self._path}", _UNKNOWN)
        for field in found[:-1]:
            column = field_value(column, field, replace_null=True, struct_null=True)
        value = field_value(column, found[-1], replace_null=self._replace_null, struct_null=True)
        return Change(value, found[-1].schema)

    def _fields(self, schema: Schema) -> list[SchemaField] | None:
        found: list[SchemaField] = []
        for name in self._steps:
            within = found[-1].schema if found else schema
            if within.type is not SchemaType.STRUCT:
                raise DataError("Cannot look up fields on non-struct type")
            field = fields_by_name(within).get(name)
            if field is None:
                return None
            found.append(field)
        return found

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """The field as JSON text; null where it is absent."""
        value, wrong = json_objects.field(text, self._steps[0]), list(self.not_objects(text))
        start = "Only Map objects supported in absence of schema for [nested field access], found: "
        for name in self._steps[1:]:
            outer = F.to_json(value)
            fault = ~json_objects.is_object(outer) & ~json_objects.is_null(outer)
            wrong.append(Wrong(fault, F.concat(F.lit(start), class_of_variant(value))))
            value = json_objects.field_within(value, name)
        return Change(F.to_json(value), None, tuple(wrong))


ExtractFieldKey, ExtractFieldValue = both_sides(ExtractField, "org.apache.kafka.connect.transforms.ExtractField")
