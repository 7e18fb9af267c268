"""Connect's schemas as Avro's (Java: ``AvroData.fromConnectSchema``).

Members stand in the order in which Java's library writes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.converters.avro import defaults, names
from connect_dagster.converters.json import text as json_text
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DECIMAL, Schema, SchemaType

_PRIMITIVES = {
    SchemaType.INT8: "int",
    SchemaType.INT16: "int",
    SchemaType.INT32: "int",
    SchemaType.INT64: "long",
    SchemaType.FLOAT32: "float",
    SchemaType.FLOAT64: "double",
    SchemaType.BOOLEAN: "boolean",
    SchemaType.STRING: "string",
    SchemaType.BYTES: "bytes",
}


@dataclass(frozen=True, slots=True)
class FromConnect:
    """Options of the mapping.

    Attributes:
        meta_data: write what Avro has no place for as properties (``connect.meta.data``).
        enhanced: write enums as enums (``enhanced.avro.schema.support``).
        optional_keys: maps whose keys are optional strings are maps, too (``allow.optional.map.keys``).
        scrub: change names that Avro does not take (``scrub.invalid.names``).
    """

    meta_data: bool = True
    enhanced: bool = False
    optional_keys: bool = False
    scrub: bool = False

    def text(self, schema: Schema) -> str:
        """Return the Avro schema, as JSON.

        Raises:
            DataError: Avro has no such schema.
        """
        return json_text.dumps(_Writer(self).whole(schema, None), halves=False)

    def field_name(self, name: str) -> str:
        """Return the name of a field in Avro.

        Raises:
            DataError: Avro does not take the name.
        """
        if self.scrub:
            return names.scrubbed(name)
        if not names.is_valid(name):
            raise DataError(f"Illegal name in Avro: {name!r}; scrub.invalid.names=true changes such names")
        return name


class _Writer:
    """Writes one schema: a name is defined where it first stands."""

    def __init__(self, mapping: FromConnect) -> None:
        self._mapping = mapping
        self._defined: dict[str, Schema] = {}

    def whole(self, schema: Schema, space: str | None) -> Any:
        """Return the schema, a union with null where it is optional."""
        if schema.type is SchemaType.STRUCT and schema.name == names.UNION:
            null = ["null"] if schema.optional else []
            return [*null, *(self._required(one.schema, space) for one in schema.fields)]
        required = self._required(schema, space)
        if not schema.optional:
            return required
        null_last = schema.default is not None and schema.type is not SchemaType.STRUCT
        return [required, "null"] if null_last else ["null", required]

    def _required(self, schema: Schema, space: str | None) -> Any:
        match schema.type:
            case SchemaType.STRUCT:
                return self._record(schema, space)
            case SchemaType.ARRAY:
                found = {"type": "array", "items": self.whole(schema.item, space)}
            case SchemaType.MAP if names.has_text_keys(schema, optional_too=self._mapping.optional_keys):
                found = {"type": "map", "values": self.whole(schema.item, space)}
            case SchemaType.MAP:
                found = {"type": "array", "items": self._entry(schema, space)}
            case SchemaType.STRING if self._mapping.enhanced and names.ENUM in dict(schema.parameters):
                return self._enum(schema, space)
            case _:
                found = {"type": _PRIMITIVES[schema.type]}
        found |= self._properties(schema)
        return found["type"] if len(found) == 1 else found

    def _record(self, schema: Schema, space: str | None) -> Any:
        parameters = dict(schema.parameters)
        head = self._head("record", schema.name or names.DEFAULT_NAME, space)
        if names.RECORD_DOC in parameters:
            head["doc"] = parameters[names.RECORD_DOC]

        def fields(inner: str) -> dict[str, Any]:
            docs = {f.name: parameters.get(names.FIELD_DOC + f.name) for f in schema.fields}
            written = [
                self._field(self._mapping.field_name(f.name), f.schema, inner, docs[f.name]) for f in schema.fields
            ]
            return {"fields": written, **self._properties(schema)}

        return self._defined_once(head, schema, space, fields)

    def _entry(self, schema: Schema, space: str | None) -> Any:
        head = self._head("record", schema.name or f"{names.NAMESPACE}.{names.MAP_ENTRY}", space)
        internal = {} if schema.name is None else {names.INTERNAL_TYPE: names.MAP_ENTRY}

        def fields(inner: str) -> dict[str, Any]:
            parts = ((names.KEY, schema.key), (names.VALUE, schema.item))
            return {"fields": [self._field(name, part, inner, None) for name, part in parts], **internal}

        return self._defined_once(head, schema, space, fields)

    def _enum(self, schema: Schema, space: str | None) -> Any:
        parameters = dict(schema.parameters)
        short = (schema.name or names.DEFAULT_NAME).rpartition(".")[2]
        head = self._head("enum", parameters[names.ENUM], space)
        if names.ENUM_DOC + short in parameters:
            head["doc"] = parameters[names.ENUM_DOC + short]
        head["symbols"] = [value for key, value in schema.parameters if key.startswith(f"{names.ENUM}.")]
        if names.ENUM_DEFAULT + short in parameters:
            head["default"] = parameters[names.ENUM_DEFAULT + short]
        return self._defined_once(head, schema, space, lambda _: self._properties(schema))

    def _head(self, kind: str, name: str, space: str | None) -> dict[str, Any]:
        namespace, _, short = name.rpartition(".")
        if self._mapping.scrub:
            namespace = ".".join(map(names.scrubbed, namespace.split("."))) if namespace else ""
        head = {"type": kind, "name": self._mapping.field_name(short)}
        if namespace != (space or ""):
            head["namespace"] = namespace
        return head

    def _defined_once(
        self, head: dict[str, Any], schema: Schema, space: str | None, rest: Callable[[str], dict[str, Any]]
    ) -> Any:
        """Return the definition where its name is new, else the name."""
        namespace = head.get("namespace", space or "")
        full = f"{namespace}.{head['name']}" if namespace else head["name"]
        if full not in self._defined:
            self._defined[full] = schema
            return head | rest(namespace)
        if not _alike(self._defined[full], schema):
            raise DataError(f"Can't redefine: {full}")
        return head["name"] if namespace == (space or "") else full

    def _field(self, name: str, schema: Schema, space: str, doc: str | None) -> dict[str, Any]:
        found: dict[str, Any] = {"name": name, "type": self.whole(schema, space)}
        if doc is not None:
            found["doc"] = doc
        if schema.default is not None:
            found["default"] = defaults.to_avro(schema, schema.default)
        elif schema.optional:
            found["default"] = None
        return found

    def _properties(self, schema: Schema) -> dict[str, Any]:
        parameters = dict(schema.parameters)
        found: dict[str, Any] = {}
        precision = int(parameters.get(names.PRECISION, names.DEFAULT_PRECISION))
        if schema.name == DECIMAL:
            found |= {"scale": schema.scale, "precision": precision}
        if self._mapping.meta_data:
            found |= _meta_data(schema)
        if schema.name == DECIMAL and 0 <= schema.scale <= precision:
            found["logicalType"] = "decimal"
        elif schema.name in names.LOGICAL_TYPES:
            found["logicalType"] = names.LOGICAL_TYPES[schema.name]
        return found | {key: value for key, value in parameters.items() if key.startswith(names.AVRO_PROPERTY)}


def _meta_data(schema: Schema) -> dict[str, Any]:
    parameters = dict(schema.parameters)
    from_field = parameters.pop(names.FIELD_DEFAULT, None) is not None
    found: dict[str, Any] = {names.DOC: schema.doc, names.VERSION: schema.version}
    found[names.PARAMETERS] = parameters or None
    if schema.default is not None and not from_field:
        found[names.DEFAULT] = defaults.to_avro(schema, schema.default)
    found[names.NAME] = schema.name
    found[names.TYPE] = schema.type.value if schema.type in (SchemaType.INT8, SchemaType.INT16) else None
    return {key: value for key, value in found.items() if value is not None}


def _alike(one: Schema, other: Schema) -> bool:
    return replace(one, optional=False) == replace(other, optional=False)
