"""Connect schemas as JSON Schema (Java: ``JsonSchemaData.fromConnectSchema``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json_schema import names
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaType

_NULL = {"type": "null"}
_TYPES: dict[SchemaType, dict[str, str]] = {
    SchemaType.INT8: {"type": "integer", names.TYPE: "int8"},
    SchemaType.INT16: {"type": "integer", names.TYPE: "int16"},
    SchemaType.INT32: {"type": "integer", names.TYPE: "int32"},
    SchemaType.INT64: {"type": "integer", names.TYPE: "int64"},
    SchemaType.FLOAT32: {"type": "number", names.TYPE: "float32"},
    SchemaType.FLOAT64: {"type": "number", names.TYPE: "float64"},
    SchemaType.BOOLEAN: {"type": "boolean"},
    SchemaType.STRING: {"type": "string"},
    SchemaType.BYTES: {"type": "string", names.TYPE: "bytes"},
}


@dataclass(frozen=True, slots=True)
class FromConnect:
    """Options of writing.

    Attributes:
        open: objects may have more members than their schema (``object.additional.properties``).
        required: members that are not optional are listed (``use.optional.for.nonrequired``).
        numeric_decimals: default values of decimals are numbers (``decimal.format``).
    """

    open: bool = True
    required: bool = False
    numeric_decimals: bool = False

    def json_schema(self, schema: Schema, index: int | None = None) -> dict[str, Any]:
        """Return the JSON Schema of a schema; with the place of a field in its struct."""
        found = self._type(schema) | self._facts(schema)
        if schema.optional:
            found = {"oneOf": [_NULL, found]}
        return found if index is None else found | {names.INDEX: index}

    def _type(self, schema: Schema) -> dict[str, Any]:
        match schema.type:
            case SchemaType.STRING if symbols := _symbols(schema):
                return {"enum": symbols}
            case SchemaType.BYTES if schema.name == DECIMAL:
                return {"type": "number", names.TYPE: "bytes"}
            case SchemaType.ARRAY:
                return {"type": "array", "items": self.json_schema(schema.item)}
            case SchemaType.MAP if not names.has_entries(schema):
                return {
                    "type": "object",
                    names.TYPE: "map",
                    "additionalProperties": self.json_schema(schema.item),
                }
            case SchemaType.MAP:
                parts = {"key": self.json_schema(schema.key, 0), "value": self.json_schema(schema.item, 1)}
                return {"type": "array", names.TYPE: "map", "items": {"type": "object", "properties": parts}}
            case SchemaType.STRUCT:
                return self._object(schema)
            case _:
                return dict(_TYPES[schema.type])

    def _object(self, schema: Schema) -> dict[str, Any]:
        members = {field.name: self.json_schema(field.schema, i) for i, field in enumerate(schema.fields)}
        found: dict[str, Any] = {"type": "object", "properties": members}
        if self.required:
            found["required"] = [field.name for field in schema.fields if not field.schema.optional]
        return found if self.open else found | {"additionalProperties": False}

    def _facts(self, schema: Schema) -> dict[str, Any]:
        default = None
        if schema.default is not None:
            bare = replace(schema, default=None)
            default = json_envelope.value_to_json(bare, schema.default, numeric_decimals=self.numeric_decimals)
        parameters = {key: value for key, value in schema.parameters if not key.startswith(names.NAMESPACE)}
        facts = {
            "title": schema.name,
            names.VERSION: schema.version,
            "description": schema.doc,
            names.PARAMETERS: parameters or None,
            "default": default,
        }
        return {key: value for key, value in facts.items() if value is not None}


def _symbols(schema: Schema) -> list[str]:
    return [value for key, value in schema.parameters if key.startswith(names.SYMBOL)]
