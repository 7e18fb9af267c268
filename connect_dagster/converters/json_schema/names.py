"""Words that Confluent adds to JSON Schema (Java: the constants of ``JsonSchemaData``)."""

from __future__ import annotations

from connect_dagster.plugin.schema import Schema, SchemaType

TYPE = "connect.type"
INDEX = "connect.index"
VERSION = "connect.version"
PARAMETERS = "connect.parameters"
NAMESPACE = "io.confluent.connect.json"
ENUM = f"{NAMESPACE}.Enum"
SYMBOL = f"{ENUM}."


def has_entries(schema: Schema) -> bool:
    """Return whether a MAP is written as a list of entries, as its keys are not strings or may be null."""
    return schema.key.type is not SchemaType.STRING or schema.key.optional
