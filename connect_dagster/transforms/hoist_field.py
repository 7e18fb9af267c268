"""HoistField: wraps keys or values into a struct, or a JSON object, of one field.

Example:
    transforms.wrap.type=org.apache.kafka.connect.transforms.HoistField$Value
    transforms.wrap.field=line
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import SCHEMA_BUILDER_ERROR, builder_fault
from connect_dagster.plugin.config import ConfigDef, config_key
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.field_transform import Change, FieldTransform, both_sides, refused


class HoistFieldConfig(ConfigDef):
    """Options of the transform (Java: ``HoistField.CONFIG_DEF``)."""

    field: str = config_key("field", doc="Name of the one field that holds the data.")


class HoistField(FieldTransform):
    """Wraps data into a field; null too."""

    config_def: ClassVar[type[ConfigDef]] = HoistFieldConfig
    purpose = "field hoisting"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options."""
        self._field = HoistFieldConfig.parse(config).field

    def fits(self, schema: Schema) -> bool:
        """Return true for any schema."""
        return True

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return a struct whose field has the old schema."""
        fault = builder_fault((self._field,))
        if fault is not None:
            return refused(F.lit(True), fault, SCHEMA_BUILDER_ERROR)
        hoisted = Schema(SchemaType.STRUCT, fields=(SchemaField(self._field, schema),))
        return Change(F.struct(column.alias(self._field)), hoisted)

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return an object around the JSON text."""
        start = F.lit("{" + json_objects.key_text(self._field))
        return Change(F.concat(start, F.coalesce(text, F.lit("null")), F.lit("}")), None)


HoistFieldKey, HoistFieldValue = both_sides(HoistField, "org.apache.kafka.connect.transforms.HoistField")
