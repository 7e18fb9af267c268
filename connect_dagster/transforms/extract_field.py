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

from connect_dagster.errors import ConfigError, DataError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import field_value, fields_by_name
from connect_dagster.expressions.value_classes import class_of_variant
from connect_dagster.plugin.config import ConfigDef, Importance, config_key, one_of_ignoring_case
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

_UNKNOWN = "java.lang.IllegalArgumentException"
_TICK, _DOT, _BACKSLASH = "`", ".", "\\"


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
        self._steps = _path(options.field, options.syntax.upper()) or ("",)

    def unfit(self, column: Column, schema: Schema) -> Change:
        """Return the error of data without fields; Java looks for the field also in null."""
        change = FieldTransform.unfit(self, column, schema)
        return Change(None, None, (*change.wrong, Wrong(F.lit(True), "Cannot look up fields on non-struct type")))

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the field with its schema."""
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
        """Return the field as JSON text; null where it is absent."""
        value, wrong = json_objects.field(text, self._steps[0]), list(self.not_objects(text))
        start = "Only Map objects supported in absence of schema for [nested field access], found: "
        for name in self._steps[1:]:
            outer = F.to_json(value)
            fault = ~json_objects.is_object(outer) & ~json_objects.is_null(outer)
            wrong.append(Wrong(fault, F.concat(F.lit(start), class_of_variant(value))))
            value = json_objects.field_within(value, name)
        return Change(F.to_json(value), None, tuple(wrong))


ExtractFieldKey, ExtractFieldValue = both_sides(ExtractField, "org.apache.kafka.connect.transforms.ExtractField")


def _path(path: str, version: str) -> tuple[str, ...]:
    """Return the names on a path, outermost first (Java: ``SingleFieldPath``, KIP-821).

    Args:
        path: as configured.
        version: ``V1``, where the path is one name, or ``V2``: dots divide, backticks around a name keep its dots,
            a backslash keeps a backtick that a dot follows.

    Raises:
        ConfigError: a backtick has no partner, in Java's words.
    """
    return (path,) if version == "V1" else tuple(_divided(path))


def _divided(path: str) -> list[str]:
    found: list[str] = []
    at = 0
    while at < len(path):
        name, at = _quoted(path, at) if path[at] == _TICK else _plain(path, at)
        found.append(name)
    return [*found, ""] if path.endswith(_DOT) else found


def _plain(path: str, start: int) -> tuple[str, int]:
    """Return a name and where the next one begins."""
    name, _, _ = path[start:].partition(_DOT)
    return name, start + len(name) + 1


def _quoted(path: str, opening: int) -> tuple[str, int]:
    """Return a name in backticks and the start of the next one; a backtick before a dot or the end closes it."""
    name, start, at = "", opening + 1, opening + 1
    while True:
        at = path.find(_TICK, at)
        escaped = at > 0 and path[at - 1] == _BACKSLASH
        last = at == len(path) - 1
        if at < 0 or (last and escaped):
            raise ConfigError(
                f"Incomplete backtick pair in path: [{path}], consider adding a backslash before backtick at "
                f"position {opening} to escape it"
            )
        if last or (path[at + 1] == _DOT and not escaped):
            return name + path[start:at], at + 2
        if path[at + 1] == _DOT:
            name, start = name + path[start : at - 1] + _TICK, at + 1
        at += 1
