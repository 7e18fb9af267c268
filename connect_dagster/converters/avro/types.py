"""Avro schemas as values: read from their JSON, written as what Spark's Avro functions are to see of them.

Pure: independent of Connect and Spark.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from connect_dagster.errors import DataError

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_STRUCTURE = frozenset(
    ("type", "name", "namespace", "fields", "items", "values", "symbols", "size", "doc", "default", "aliases")
)
# Logical types that Spark converts exactly as Connect does.
_TEMPORAL = {("int", "date"), ("long", "timestamp-millis")}


@dataclass(frozen=True, slots=True)
class AvroField:
    """One field of a record.

    Attributes:
        default: its default value as JSON; only where ``has_default``.
    """

    name: str
    type: AvroType
    doc: str | None = None
    has_default: bool = False
    default: Any = None


@dataclass(frozen=True, slots=True)
class AvroType:
    """An Avro schema.

    Attributes:
        kind: ``record``, ``enum``, ``fixed``, ``array``, ``map``, ``union`` or the name of a primitive.
        name: full name of a record, an enum or a fixed.
        props: attributes that Avro gives no meaning to, and ``logicalType`` with its own.
        fields: of a record.
        item: of an array or a map.
        branches: of a union.
        symbols: of an enum.
        size: of a fixed, in bytes.
        default: default symbol of an enum.
    """

    kind: str
    name: str | None = None
    doc: str | None = None
    props: Mapping[str, Any] = field(default_factory=dict)
    fields: tuple[AvroField, ...] = ()
    item: AvroType | None = None
    branches: tuple[AvroType, ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    default: str | None = None

    @property
    def logical(self) -> str | None:
        """Return the logical type's name in lower case."""
        found = self.props.get("logicalType")
        return found.lower() if isinstance(found, str) else None

    @property
    def short_name(self) -> str:
        """Return the name without its namespace."""
        return (self.name or "").rpartition(".")[2]

    @property
    def nullable(self) -> bool:
        """Return whether it is a union with null."""
        return any(branch.kind == "null" for branch in self.branches)

    @property
    def choices(self) -> tuple[AvroType, ...]:
        """Branches of a union other than null."""
        return tuple(branch for branch in self.branches if branch.kind != "null")

    @property
    def value(self) -> AvroType:
        """Return the other type of a union of null and one type; for all else the type itself."""
        return self.choices[0] if self.kind == "union" and len(self.choices) == 1 else self

    @property
    def part(self) -> AvroType:
        """Return the items of an array, the values of a map."""
        assert self.item is not None
        return self.item


def parsed(text: str, references: Mapping[str, str] | None = None) -> AvroType:
    """Return the schema in a text.

    Args:
        text: JSON, or the name of a primitive without quotes.
        references: texts of the schemas it names, by those names.

    Raises:
        DataError: the text is not a schema, or the schema contains itself.
    """
    reader = _Reader()
    try:
        for referenced in (references or {}).values():
            reader.read(json.loads(referenced), None)
        found = text if text.strip() in PRIMITIVES else json.loads(text)
        return reader.read(found, None)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"Not an Avro schema: {text} ({error})") from error


class _Reader:
    """Reads schemas that name each other."""

    def __init__(self) -> None:
        self._named: dict[str, AvroType] = {}
        self._open: set[str] = set()

    def read(self, found: Any, namespace: str | None) -> AvroType:
        if isinstance(found, str):
            return self._by_name(found.strip(), namespace)
        if isinstance(found, list):
            return AvroType("union", branches=tuple(self.read(one, namespace) for one in found))
        kind = found["type"]
        if not isinstance(kind, str):
            return self.read(kind, namespace)
        props = {key: value for key, value in found.items() if key not in _STRUCTURE}
        match kind:
            case "record" | "error" | "enum" | "fixed":
                return self._definition(found, kind, props, namespace)
            case "array":
                return AvroType(kind, props=props, item=self.read(found["items"], namespace))
            case "map":
                return AvroType(kind, props=props, item=self.read(found["values"], namespace))
            case _ if kind in PRIMITIVES:
                return AvroType(kind, props=props)
            case _:
                return self._by_name(kind, namespace)

    def _by_name(self, name: str, namespace: str | None) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = _full_name(name, namespace)
        if full in self._open:
            raise DataError(f"The Avro schema {full} contains itself: such records cannot be columns of a frame")
        if full not in self._named and name in self._named:
            full = name
        return self._named[full]

    def _definition(self, found: Any, kind: str, props: dict[str, Any], namespace: str | None) -> AvroType:
        full = _full_name(found["name"], found.get("namespace", namespace))
        self._open.add(full)
        made = AvroType(
            "record" if kind == "error" else kind,
            full,
            found.get("doc"),
            props,
            tuple(self._field(one, full.rpartition(".")[0]) for one in found.get("fields", ())),
            symbols=tuple(found.get("symbols", ())),
            size=found.get("size", 0),
            default=found.get("default") if kind == "enum" else None,
        )
        self._open.remove(full)
        self._named[full] = made
        return made

    def _field(self, found: Any, namespace: str) -> AvroField:
        type_ = self.read(found["type"], namespace)
        return AvroField(found["name"], type_, found.get("doc"), "default" in found, found.get("default"))


def _full_name(name: str, namespace: str | None) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def physical(type_: AvroType, *, wrapper: tuple[AvroField, ...] = ()) -> str:
    """Return the text of a schema with the same bytes: without names, defaults and properties that Spark might act
    upon.

    Args:
        type_: the schema.
        wrapper: fields after it; given any, the schema is the first field, ``payload``, of a record.
    """
    numbers = count()
    if wrapper:
        type_ = AvroType("record", fields=(AvroField("payload", type_), *wrapper))
    return json.dumps(_physical(type_, numbers))


def _physical(type_: AvroType, numbers: Iterator[int]) -> Any:
    match type_.kind:
        case "record":
            name = f"r{next(numbers)}"
            fields = [{"name": one.name, "type": _physical(one.type, numbers)} for one in type_.fields]
            return {"type": "record", "name": name, "fields": fields}
        case "enum":
            return {"type": "enum", "name": f"r{next(numbers)}", "symbols": list(type_.symbols)}
        case "fixed":
            return {"type": "fixed", "name": f"r{next(numbers)}", "size": type_.size}
        case "array":
            return {"type": "array", "items": _physical(type_.part, numbers)}
        case "map":
            return {"type": "map", "values": _physical(type_.part, numbers)}
        case "union":
            return [_physical(one, numbers) for one in type_.branches]
        case kind if (kind, type_.logical) in _TEMPORAL:
            return {"type": kind, "logicalType": type_.logical}
        case kind:
            return kind
