"""Schemas of JSON payloads, which ``table.expand.json.payload`` makes of each text (Debezium: ``JsonSchemaData``).

>>> schema = expanded("payload", '{"id": 1, "name": "x", "gone": null}')
>>> [(field.name, field.schema.type.name) for field in schema.fields]
[('id', 'INT32'), ('name', 'STRING')]

Texts of one shape get one schema. :func:`shape` is the shape as a column: Spark finds those of a batch, and only one
text of each is read here. A shape has markers for values, of which the kinds alone matter, and in arrays one marker for
several equal ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.struct_edits import fields_by_name
from connect_dagster.java import jackson
from connect_dagster.plugin.schema import OPTIONAL_BYTES_SCHEMA, OPTIONAL_STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.transforms.debezium.schema_names import adjusted

NULL_BEHAVIORS = ("ignore", "optional_bytes")
"""Values of ``table.json.payload.null.behavior``."""

_INT_DIGITS = (
    r"\d{1,9}|1\d{9}|20\d{8}|21[0-3]\d{7}|214[0-6]\d{6}|2147[0-3]\d{5}|21474[0-7]\d{4}|214748[0-2]\d{3}|2147483[0-5]\d{2}"
    r"|21474836[0-3]\d|214748364[0-7]"
)
_STRING = r'("[^"]*"\s*:?)'
_BEFORE, _AFTER = r"(?<![\d.eE+\-])", r"(?![\d.eE])"
ESCAPES = (("\\\\", "\ue001"), ('\\"', "\ue000"))
"""Escapes of a string that would hide its end, and what is in their place: the pairs first."""
SHAPES = (
    (r'("[^"]*"\s*:)|"[^"]*"', '$1""'),
    (rf"{_STRING}|{_BEFORE}(?:-?(?:{_INT_DIGITS})|-2147483648){_AFTER}", "$1#"),
    (rf"{_STRING}|{_BEFORE}-?\d{{10,18}}{_AFTER}", "$1~"),
    (rf"{_STRING}|-?\d+(?=[.eE])[\d.eE+\-]*", "$1^"),
    (r'(""\^~#|(?<!["^~])[#~^]|true|false)(?:\s*,\s*\1)+', "$1"),
)
"""Steps from a text to its shape: what matches, and what is in its place."""

_INT32, _INT64 = 1 << 31, 1 << 63


@dataclass(frozen=True, slots=True)
class Expansion:
    """How payloads are expanded.

    Attributes:
        nulls: one of ``NULL_BEHAVIORS``.
        names: how names of fields are adjusted, one of ``schema_names.MODES``.
    """

    nulls: str = "ignore"
    names: str = "none"


class _NoSchemaError(Exception):
    """An array has parts of several kinds, or of none."""


def shape(text: Column) -> Column:
    """Return the shape of JSON text."""
    for escape, character in ESCAPES:
        text = F.replace(text, F.lit(escape), F.lit(character))
    for pattern, replacement in SHAPES:
        text = F.regexp_replace(text, pattern, replacement)
    return text


def expanded(name: str, text: str, expansion: Expansion | None = None) -> Schema | None:
    """Return the schema of a payload; ``None`` where it stays a text, as it is not an object that has one.

    Debezium makes a schema of an array as well, but not the data for it.

    Args:
        name: of the field with the payload, after which its structs are named.
        text: the payload.
        expansion: how; ``None`` for the defaults.
    """
    if not text.startswith("{"):
        return None
    try:
        return _Schemas(expansion or Expansion()).of(name, jackson.from_json(text.encode()))
    except (ValueError, _NoSchemaError):
        return None


@dataclass(frozen=True, slots=True)
class _Schemas:
    expansion: Expansion

    def of(self, name: str | None, value: Any) -> Schema | None:
        """Return the schema of a value; ``None`` where it has none."""
        match value:
            case None:
                return OPTIONAL_BYTES_SCHEMA if self.expansion.nulls == "optional_bytes" else None
            case str():
                return OPTIONAL_STRING_SCHEMA
            case bool():
                return Schema(SchemaType.BOOLEAN, optional=True)
            case int():
                return Schema(_integer(value), optional=True)
            case Mapping():
                return self._struct(name, value)
            case Sequence():
                return self._array(name, value) if value else None
            case _:
                return Schema(SchemaType.FLOAT64, optional=True)

    def _struct(self, name: str | None, value: Mapping[str, Any]) -> Schema:
        fields: dict[str, SchemaField] = {}
        for key, item in value.items():
            field = adjusted(key, self.expansion.names, is_field=True)
            schema = self.of(f"{name}.{field}" if name else field, item)
            if schema is not None:
                fields.setdefault(field, SchemaField(field, schema))
        return Schema(SchemaType.STRUCT, optional=True, name=name, fields=tuple(fields.values()))

    def _array(self, name: str | None, values: Sequence[Any]) -> Schema:
        sample = self._sample(values)
        if not isinstance(sample, Mapping):
            item = self.of(None, sample)
            if item is None:
                raise _NoSchemaError
            return Schema(SchemaType.ARRAY, optional=True, value_schema=item)
        structs = [self._struct(name, value) for value in values if isinstance(value, Mapping)]
        merged = structs[0]
        for struct in structs[1:]:
            merged = _merged(merged, struct)
        # Java's copy of a schema is required, where there are two to merge.
        item = replace(merged, optional=len(set(structs)) == 1)
        return Schema(SchemaType.ARRAY, optional=True, value_schema=item)

    def _sample(self, values: Sequence[Any]) -> Any:
        """Return the first value that is not null.

        Raises:
            _NoSchemaError: another is of another kind.
        """
        present = [value for value in values if value is not None]
        kinds = {_kind(value) for value in present}
        # Numbers of two types are not alike either.
        if len(kinds) > 1 or (kinds == {"number"} and len({self.of(None, value) for value in present}) > 1):
            raise _NoSchemaError
        return present[0] if present else None


def _integer(value: int) -> SchemaType:
    if -_INT32 <= value < _INT32:
        return SchemaType.INT32
    return SchemaType.INT64 if -_INT64 <= value < _INT64 else SchemaType.FLOAT64


def _kind(value: Any) -> str:
    match value:
        case str():
            return "string"
        case bool():
            return "boolean"
        case Mapping():
            return "object"
        case Sequence():
            return "array"
        case _:
            return "number"


def _merged(one: Schema, other: Schema) -> Schema:
    """Return a struct with the fields of both; of two of a name the first, but bytes, which are those of null."""
    fields = fields_by_name(one)
    for name, field in fields_by_name(other).items():
        known = fields.get(name)
        if known is None or (known.schema.type is SchemaType.BYTES and field.schema.type is not SchemaType.BYTES):
            fields[name] = field
    return replace(one, fields=tuple(fields.values()))
