"""Connect schemas as JSON Schema, and back (Java: ``JsonSchemaData``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DECIMAL, STRING_SCHEMA, Schema, SchemaField, SchemaType

# Words that Confluent adds to JSON Schema.
_TYPE = "connect.type"
_INDEX = "connect.index"
_VERSION = "connect.version"
_PARAMETERS = "connect.parameters"
_NAMESPACE = "io.confluent.connect.json"
_ENUM = f"{_NAMESPACE}.Enum"
_SYMBOL = f"{_ENUM}."

_NULL = {"type": "null"}
_TYPES: dict[SchemaType, dict[str, str]] = {
    SchemaType.INT8: {"type": "integer", _TYPE: "int8"},
    SchemaType.INT16: {"type": "integer", _TYPE: "int16"},
    SchemaType.INT32: {"type": "integer", _TYPE: "int32"},
    SchemaType.INT64: {"type": "integer", _TYPE: "int64"},
    SchemaType.FLOAT32: {"type": "number", _TYPE: "float32"},
    SchemaType.FLOAT64: {"type": "number", _TYPE: "float64"},
    SchemaType.BOOLEAN: {"type": "boolean"},
    SchemaType.STRING: {"type": "string"},
    SchemaType.BYTES: {"type": "string", _TYPE: "bytes"},
}


def has_entries(schema: Schema) -> bool:
    """Return whether a MAP is written as a list of entries, as its keys are not strings or may be null."""
    return schema.key.type is not SchemaType.STRING or schema.key.optional


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
        return found if index is None else found | {_INDEX: index}

    def _type(self, schema: Schema) -> dict[str, Any]:
        match schema.type:
            case SchemaType.STRING if symbols := _symbols(schema):
                return {"enum": symbols}
            case SchemaType.BYTES if schema.name == DECIMAL:
                return {"type": "number", _TYPE: "bytes"}
            case SchemaType.ARRAY:
                return {"type": "array", "items": self.json_schema(schema.item)}
            case SchemaType.MAP if not has_entries(schema):
                return {
                    "type": "object",
                    _TYPE: "map",
                    "additionalProperties": self.json_schema(schema.item),
                }
            case SchemaType.MAP:
                parts = {"key": self.json_schema(schema.key, 0), "value": self.json_schema(schema.item, 1)}
                return {"type": "array", _TYPE: "map", "items": {"type": "object", "properties": parts}}
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
        parameters = {key: value for key, value in schema.parameters if not key.startswith(_NAMESPACE)}
        facts = {
            "title": schema.name,
            _VERSION: schema.version,
            "description": schema.doc,
            _PARAMETERS: parameters or None,
            "default": default,
        }
        return {key: value for key, value in facts.items() if value is not None}


def _symbols(schema: Schema) -> list[str]:
    return [value for key, value in schema.parameters if key.startswith(_SYMBOL)]


_NUMBERS = {
    "int8": SchemaType.INT8,
    "int16": SchemaType.INT16,
    "int32": SchemaType.INT32,
    "int64": SchemaType.INT64,
    "float32": SchemaType.FLOAT32,
    "float64": SchemaType.FLOAT64,
    "bytes": SchemaType.BYTES,
}
_BY_DEFAULT = {"integer": SchemaType.INT64, "number": SchemaType.FLOAT64}


@dataclass(frozen=True, slots=True)
class ToConnect:
    """Reads one document.

    Attributes:
        document: the whole JSON Schema, in which references are looked up.
        others: further documents by the name that references give them.
        required: members that are not listed as required are optional (``use.optional.for.nonrequired``).
    """

    document: Any
    others: Mapping[str, Any]
    required: bool = False

    def schema(self) -> Schema:
        """Return Connect's schema of the document.

        Raises:
            DataError: it describes what is no Connect type, as values of one of several types.
        """
        return self._schema(self.document, ())

    def _schema(self, found: Any, around: tuple[str, ...]) -> Schema:
        if not isinstance(found, Mapping):
            raise DataError(f"Unsupported schema type {found!r}")
        if "$ref" in found:
            return self._referred(str(found["$ref"]), around)
        choices = _choices(found)
        if choices is not None:
            return self._one_of(choices, around)
        schema = self._bare(found, around)
        version = found.get(_VERSION)
        schema = replace(
            schema,
            name=found.get("title"),
            version=version if isinstance(version, int) else None,
            doc=found.get("description"),
            parameters=(*schema.parameters, *(found.get(_PARAMETERS) or {}).items()),
        )
        return schema.with_default(json_envelope.value_from_json(schema, found.get("default")))

    def _one_of(self, choices: list[Any], around: tuple[str, ...]) -> Schema:
        real = [one for one in choices if one.get("type") != "null"]
        if len(real) != 1 or len(choices) > 2:
            raise DataError("Values of one of several types are not supported: oneOf or anyOf of more than null")
        return replace(self._schema(real[0], around), optional=True)

    def _bare(self, found: Mapping[str, Any], around: tuple[str, ...]) -> Schema:
        if "enum" in found:
            symbols = tuple((f"{_SYMBOL}{one}", str(one)) for one in found["enum"])
            return Schema(SchemaType.STRING, parameters=((_ENUM, ""), *symbols))
        connect_type = found.get(_TYPE)
        match found.get("type"):
            case "boolean":
                return Schema(SchemaType.BOOLEAN)
            case "integer" | "number" as number:
                if connect_type is not None and connect_type not in _NUMBERS:
                    raise DataError(f"Unsupported type {connect_type}")
                return Schema(_NUMBERS[connect_type] if connect_type else _BY_DEFAULT[number])
            case "string":
                return Schema(SchemaType.BYTES if connect_type == "bytes" else SchemaType.STRING)
            case "array":
                return self._array(found, around)
            case "object" if connect_type == "map":
                item = self._schema(found.get("additionalProperties"), around)
                return Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=item)
            case "object":
                return self._struct(found, around)
            case None if "properties" in found:
                return self._struct(found, around)
            case other:
                raise DataError(f"Unsupported schema type {other}")

    def _array(self, found: Mapping[str, Any], around: tuple[str, ...]) -> Schema:
        items = found.get("items")
        if not isinstance(items, Mapping):
            raise DataError("Array schema did not specify the items type")
        if found.get(_TYPE) == "map" and "properties" in items:
            key, value = (self._schema(items["properties"].get(name), around) for name in ("key", "value"))
            return Schema(SchemaType.MAP, key_schema=key, value_schema=value)
        return Schema(SchemaType.ARRAY, value_schema=self._schema(items, around))

    def _struct(self, found: Mapping[str, Any], around: tuple[str, ...]) -> Schema:
        members = list((found.get("properties") or {}).items())
        places = {name: _index(member, place) for place, (name, member) in enumerate(members)}
        required = found.get("required") or []
        fields = []
        for name, member in sorted(members, key=lambda one: places[one[0]]):
            schema = self._schema(member, around)
            if self.required and name not in required:
                schema = replace(schema, optional=True)
            fields.append(SchemaField(name, schema))
        return Schema(SchemaType.STRUCT, fields=tuple(fields))

    def _referred(self, reference: str, around: tuple[str, ...]) -> Schema:
        if reference in around:
            raise DataError(f"{reference} holds itself: no column can have such a type")
        name, _, path = reference.partition("#")
        if name and name not in self.others:
            raise DataError(f"{reference} is not among the schema's references")
        target = self.others[name] if name else self.document
        for step in filter(None, path.split("/")):
            target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, Mapping) else None
        document = replace(self, document=self.others[name]) if name else self
        return document._schema(target, (*around, reference))


def _choices(found: Mapping[str, Any]) -> list[Any] | None:
    """Return the schemas of which a value has one; ``None`` where there is one only."""
    types = found.get("type")
    if isinstance(types, list):
        return [{**found, "type": one} for one in types]
    choices = found.get("oneOf", found.get("anyOf"))
    return choices if isinstance(choices, list) else None


def _index(member: Any, place: int) -> int:
    index = member.get(_INDEX) if isinstance(member, Mapping) else None
    return index if isinstance(index, int) else place
