"""JSON Schema as Connect schemas (Java: ``JsonSchemaData.toConnectSchema``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json_schema import names
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType

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
        version = found.get(names.VERSION)
        schema = replace(
            schema,
            name=found.get("title"),
            version=version if isinstance(version, int) else None,
            doc=found.get("description"),
            parameters=(*schema.parameters, *(found.get(names.PARAMETERS) or {}).items()),
        )
        return schema.with_default(json_envelope.value_from_json(schema, found.get("default")))

    def _one_of(self, choices: list[Any], around: tuple[str, ...]) -> Schema:
        real = [one for one in choices if one.get("type") != "null"]
        if len(real) != 1 or len(choices) > 2:
            raise DataError("Values of one of several types are not supported: oneOf or anyOf of more than null")
        return replace(self._schema(real[0], around), optional=True)

    def _bare(self, found: Mapping[str, Any], around: tuple[str, ...]) -> Schema:
        if "enum" in found:
            symbols = tuple((f"{names.SYMBOL}{one}", str(one)) for one in found["enum"])
            return Schema(SchemaType.STRING, parameters=((names.ENUM, ""), *symbols))
        connect_type = found.get(names.TYPE)
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
        if found.get(names.TYPE) == "map" and "properties" in items:
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
    index = member.get(names.INDEX) if isinstance(member, Mapping) else None
    return index if isinstance(index, int) else place
