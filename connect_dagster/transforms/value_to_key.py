"""ValueToKey: makes the key out of some fields of the value.

Example:
    transforms.key.type=org.apache.kafka.connect.transforms.ValueToKey
    transforms.key.fields=id,city
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import field_value, fields_by_name
from connect_dagster.plugin.config import ConfigDef, Importance, UniqueValues, config_key
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_transform import Change, FieldTransform, Wrong, replace_null_setting


class ValueToKeyConfig(ConfigDef):
    """Options of the transform (Java: ``ValueToKey.CONFIG_DEF``)."""

    fields_: tuple[str, ...] = config_key(
        "fields",
        importance=Importance.HIGH,
        validator=UniqueValues(empty=False),
        doc="Names of the value's fields that make the key, in this order.",
    )
    replace_null: bool = replace_null_setting()


class ValueToKey(FieldTransform):
    """Copies fields of the value into a new key."""

    config_def: ClassVar[type[ConfigDef]] = ValueToKeyConfig
    java_class = "org.apache.kafka.connect.transforms.ValueToKey"
    purpose = "copying fields from value to key"
    nulls = "wrong"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options."""
        options = ValueToKeyConfig.parse(config)
        self._fields, self._replace_null = options.fields_, options.replace_null

    def written(self, frame: Frame, column: Column, schema: Schema | None) -> Frame:
        """Return the frame with the new key."""
        return frame.with_key(column, schema)

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return a struct of the fields."""
        fields = fields_by_name(schema)
        missing = next((name for name in self._fields if name not in fields), None)
        wrong = self.null_structs(column, schema)
        if missing is not None:
            return Change(None, None, (*wrong, Wrong(F.lit(True), f"Field does not exist: {missing}")))
        parts = [
            field_value(column, fields[name], replace_null=self._replace_null).alias(name) for name in self._fields
        ]
        key = Schema(SchemaType.STRUCT, fields=tuple(SchemaField(name, fields[name].schema) for name in self._fields))
        return Change(F.struct(*parts), key, wrong)

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return a JSON object of the fields, null where one is absent."""
        return Change(json_objects.chosen(text, self._fields), None, self.not_objects(text))
