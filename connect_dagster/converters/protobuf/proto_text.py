"""Connect schemas as ``.proto`` text (Java: ``ProtobufData.fromConnectSchema``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote_plus

from connect_dagster.converters.protobuf.messages import Meaning
from connect_dagster.converters.protobuf.well_known import (
    CONNECT_TYPE,
    ENUM,
    KIND_OF,
    LOGICAL,
    PRECISION,
    TAG,
    UNION,
    WRAPPER_OF,
    WRAPPERS_FILE,
)
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

_META_FILE = "confluent/meta.proto"
_UNNAMED = "ConnectDefault"
_MAP_KEYS = {SchemaType.STRING, SchemaType.BOOLEAN, SchemaType.INT32, SchemaType.INT64}
_NARROW = {SchemaType.INT8: "int8", SchemaType.INT16: "int16"}
_INDENT = "  "


@dataclass(frozen=True, slots=True)
class Writing:
    """Options of writing.

    Attributes:
        wrappers: optional values are wrapper messages (``wrapper.for.nullables``).
        keyword: optional values have the keyword ``optional`` (``optional.for.nullables``).
        scrub: characters that names cannot have are replaced (``scrub.invalid.names``).
    """

    wrappers: bool = False
    keyword: bool = False
    scrub: bool = False

    def name(self, name: str) -> str:
        """Return a name as it is written."""
        if not self.scrub:
            return name
        encoded = quote_plus(name, safe="*")
        started = encoded if re.match("[A-Za-z]", encoded) else f"x{encoded}"
        return re.sub("[^A-Za-z0-9_]", "_", started)


def full_name(schema: Schema, writing: Writing) -> str:
    """Return the name of the message of a STRUCT, with its package."""
    package, _, name = (schema.name or f"{_UNNAMED}1").rpartition(".")
    return f"{package}.{writing.name(name)}" if package else writing.name(name)


def proto_text(schema: Schema, writing: Writing) -> str:
    """Return the text of a file with one message, for a STRUCT.

    Raises:
        DataError: with Java's text; the schema has what Protobuf has not, as lists of lists.
    """
    package, _, name = full_name(schema, writing).rpartition(".")
    made = _Text(writing)
    body = list(made.message(name, schema))
    lines = ['syntax = "proto3";', *([f"package {package};"] if package else []), ""]
    if made.imports:
        lines += [*(f'import "{one}";' for one in sorted(made.imports)), ""]
    return "\n".join([*lines, *body, ""])


@dataclass(slots=True)
class _Text:
    writing: Writing
    imports: set[str] = field(default_factory=set)
    unnamed: int = 1

    def message(self, name: str, schema: Schema) -> Iterator[str]:
        """Return the lines of a message with all definitions in it."""
        number, inner, fields = 1, [], []
        known: dict[str, Schema] = {}
        for one in schema.fields:
            if (one.schema.name or "").startswith(UNION):
                lines, inside = self._oneof(one, known)
            else:
                tag = dict(one.schema.parameters).get(TAG)
                line, inside = self._field(one, int(tag or number), known)
                lines = [line]
                number += tag is None
            fields += lines
            inner += inside
        yield f"message {name} {{"
        yield from (_INDENT + line for line in [*fields, *inner])
        yield "}"

    def _oneof(self, union: SchemaField, known: dict[str, Schema]) -> tuple[list[str], list[str]]:
        lines, inner = [], []
        for one in union.schema.fields:
            tag = dict(one.schema.parameters).get(TAG)
            if tag is None:
                raise DataError(f"Field {one.name} of union {union.name} has no parameter {TAG}")
            line, inside = self._field(one, int(tag), known, labels=False)
            lines.append(_INDENT + line)
            inner += inside
        name = (union.schema.name or "").removeprefix(UNION).rpartition(".")[2]
        return [f"oneof {self.writing.name(name)} {{", *lines, "}"], inner

    def _field(
        self, one: SchemaField, number: int, known: dict[str, Schema], *, labels: bool = True
    ) -> tuple[str, list[str]]:
        """Return a field's line, and the lines of what has to be defined for it."""
        schema, name = one.schema, self.writing.name(one.name)
        label = ""
        if schema.type is SchemaType.ARRAY:
            label, schema = "repeated ", schema.item
        parameters = _parameters(schema)
        type_, inner = self._type(schema, name, known)
        if schema.type is SchemaType.MAP and not type_.startswith("map<"):
            label = "repeated "
        elif labels and not label and self._has_keyword(schema):
            label = "optional "
        if parameters:
            self.imports.add(_META_FILE)
        return f"{label}{type_} {name} = {number}{_option(parameters)};", inner

    def _has_keyword(self, schema: Schema) -> bool:
        return self.writing.keyword and schema.optional and not self.writing.wrappers and schema.type in KIND_OF

    def _type(self, schema: Schema, field_name: str, known: dict[str, Schema]) -> tuple[str, list[str]]:
        if logical := LOGICAL.get(schema.name):
            self.imports.add(logical.file)
            return logical.meaning.value, []
        match schema.type:
            case SchemaType.ARRAY:
                raise DataError("Array cannot be nested")
            case SchemaType.MAP:
                return self._map(schema, known)
            case SchemaType.STRUCT:
                return self._struct(schema, field_name, known)
            case SchemaType.STRING if ENUM in dict(schema.parameters):
                return self._enum(schema, known)
            case _ if self.writing.wrappers and schema.optional:
                self.imports.add(WRAPPERS_FILE)
                return WRAPPER_OF[schema.type], []
            case _:
                return KIND_OF[schema.type].value, []

    def _struct(self, schema: Schema, field_name: str, known: dict[str, Schema]) -> tuple[str, list[str]]:
        name = self._unqualified(schema)
        if name == field_name:
            name += "Message"
        if name in known:
            if known[name].fields == schema.fields:
                return name, []
            raise DataError(f"Two schemas of different fields have the name {name}")
        known[name] = schema
        return name, list(self.message(name, schema))

    def _map(self, schema: Schema, known: dict[str, Schema]) -> tuple[str, list[str]]:
        fields = (SchemaField("key", schema.key), SchemaField("value", schema.item))
        key_fits = schema.key.type in _MAP_KEYS and not (self.writing.wrappers and schema.key.optional)
        value_fits = schema.item.type not in (SchemaType.ARRAY, SchemaType.MAP) and not _parameters(schema.item)
        if key_fits and value_fits:
            value, inner = self._type(schema.item, "value", known)
            return f"map<{KIND_OF[schema.key.type].value}, {value}>", inner
        name = self._unqualified(schema)
        entry = name[:1].upper() + name[1:] + "Entry"
        return entry, list(self.message(entry, Schema(SchemaType.STRUCT, fields=fields)))

    def _enum(self, schema: Schema, known: dict[str, Schema]) -> tuple[str, list[str]]:
        name = self._unqualified(schema)
        if name in known:
            return name, []
        known[name] = schema
        prefix = f"{ENUM}."
        symbols = [(key.removeprefix(prefix), value) for key, value in schema.parameters if key.startswith(prefix)]
        return name, [f"enum {name} {{", *(f"{_INDENT}{symbol} = {number};" for symbol, number in symbols), "}"]

    def _unqualified(self, schema: Schema) -> str:
        if schema.name:
            return self.writing.name(schema.name.rpartition(".")[2])
        self.unnamed += 1
        return f"{_UNNAMED}{self.unnamed}"


def _parameters(schema: Schema) -> dict[str, str]:
    """Return the text of Confluent's option of a field: what its type does not express."""
    if (logical := LOGICAL.get(schema.name)) is not None:
        said = dict(schema.parameters)
        names = {PRECISION: "precision", "scale": "scale"} if logical.meaning is Meaning.DECIMAL else {}
        return {short: said[name] for name, short in names.items() if name in said}
    return {CONNECT_TYPE: _NARROW[schema.type]} if schema.type in _NARROW else {}


def _option(parameters: Mapping[str, str]) -> str:
    if not parameters:
        return ""
    pairs = ", ".join(f"{{ key: {json.dumps(key)}, value: {json.dumps(value)} }}" for key, value in parameters.items())
    return f" [(confluent.field_meta) = {{ params: [{pairs}] }}]"
