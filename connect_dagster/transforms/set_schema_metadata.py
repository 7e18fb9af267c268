"""SetSchemaMetadata: gives the schema of keys or values another name or version.

Example:
    transforms.name.type=org.apache.kafka.connect.transforms.SetSchemaMetadata$Value
    transforms.name.schema.name=shop.Order
    transforms.name.schema.version=2
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError
from connect_dagster.expressions import json_objects
from connect_dagster.expressions.struct_edits import field_value, struct_of
from connect_dagster.plugin.config import ConfigDef, Importance, config_key
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import Schema
from connect_dagster.transforms._support.field_transform import (
    Change,
    FieldTransform,
    both_sides,
    refused,
    replace_null_setting,
)


class SetSchemaMetadataConfig(ConfigDef):
    """Options of the transform (Java: ``SetSchemaMetadata.CONFIG_DEF``)."""

    name: str | None = config_key("schema.name", default=None, importance=Importance.HIGH, doc="The schema's new name.")
    schema_version: int | None = config_key(
        "schema.version", default=None, importance=Importance.HIGH, doc="The schema's new version."
    )
    replace_null: bool = replace_null_setting()


class SetSchemaMetadata(FieldTransform):
    """Renames a schema; the data stays, but for the defaults of a struct's fields that are null."""

    config_def: ClassVar[type[ConfigDef]] = SetSchemaMetadataConfig
    purpose = "updating schema metadata"

    def configure(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: there is neither a name nor a version.
        """
        options = SetSchemaMetadataConfig.parse(config)
        self._name, self._schema_version, self._replace_null = (
            options.name,
            options.schema_version,
            options.replace_null,
        )
        if self._name is None and self._schema_version is None:
            raise ConfigError("Neither schema name nor version configured")

    def with_schema(self, column: Column, schema: Schema, frame: RecordFrame) -> Change:
        """Return the same data under the new schema."""
        updated = replace(
            schema,
            name=schema.name if self._name is None else self._name,
            version=schema.version if self._schema_version is None else self._schema_version,
        )
        return Change(self._with_defaults(column, schema), updated)

    def unfit(self, column: Column, schema: Schema) -> Change:
        """Return an error, also for nulls, as Java asks any schema for its fields."""
        return refused(F.lit(True), "Cannot list fields on non-struct type")

    def _with_defaults(self, column: Column, schema: Schema) -> Column:
        if not self._replace_null or all(field.schema.default is None for field in schema.fields):
            return column
        names = [field.name for field in schema.fields]
        parts = [field_value(column, field, replace_null=True) for field in schema.fields]
        return struct_of(column, schema, names, parts)

    def schemaless(self, text: Column, frame: RecordFrame) -> Change:
        """Return an error, but for nulls."""
        return refused(~json_objects.is_null(text), f"Schema required for [{self.purpose}]")


SetSchemaMetadataKey, SetSchemaMetadataValue = both_sides(
    SetSchemaMetadata, "org.apache.kafka.connect.transforms.SetSchemaMetadata"
)
