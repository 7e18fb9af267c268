"""Avro's schemas as Connect's (Java: ``AvroData.toConnectSchema``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.converters.avro import defaults, names
from connect_dagster.converters.avro.types import AvroField, AvroType
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, STRING_SCHEMA, TIME, TIMESTAMP, Schema, SchemaField, SchemaType

_TYPES = {
    "boolean": SchemaType.BOOLEAN,
    "int": SchemaType.INT32,
    "long": SchemaType.INT64,
    "float": SchemaType.FLOAT32,
    "double": SchemaType.FLOAT64,
    "bytes": SchemaType.BYTES,
    "fixed": SchemaType.BYTES,
    "string": SchemaType.STRING,
    "enum": SchemaType.STRING,
    "record": SchemaType.STRUCT,
    "map": SchemaType.MAP,
}
_SMALL = {"int8": SchemaType.INT8, "int16": SchemaType.INT16}
_LOGICAL = {("int", "date"): DATE, ("int", "time-millis"): TIME, ("long", "timestamp-millis"): TIMESTAMP}


@dataclass(frozen=True, slots=True)
class ToConnect:
    """Options of the mapping.

    Attributes:
        meta_data: take docs and properties (``connect.meta.data``).
        enhanced: fields of unions have full names (``enhanced.avro.schema.support``).
    """

    meta_data: bool = True
    enhanced: bool = False

    def schema(self, type_: AvroType, version: int | None = None) -> Schema:
        """Return the Connect schema.

        Args:
            type_: the Avro schema.
            version: version of the result where the schema itself has none.

        Raises:
            DataError: Connect has no such schema, with Java's text where it has one.
        """
        return self._schema(type_, version=version)

    def union_field(self, type_: AvroType) -> str:
        """Return the name of the field for a branch of a union."""
        if type_.kind in ("record", "enum"):
            return (type_.name or "") if self.enhanced else type_.short_name
        return type_.kind

    def _schema(
        self, type_: AvroType, *, optional: bool = False, field: AvroField | None = None, version: int | None = None
    ) -> Schema:
        if type_.kind == "union" and type_.value is not type_:
            single = self._schema(type_.value, optional=optional or type_.nullable)
            return single if field is None else _with_default(single, type_.value, field)
        made = self._union(type_) if type_.kind == "union" else self._plain(type_)
        made = self._annotated(made, type_, version)
        if field is not None:
            made = _with_default(made, type_, field)
        return replace(made, optional=made.optional or optional)

    def _plain(self, type_: AvroType) -> Schema:
        match type_.kind:
            case "bytes" | "fixed" if type_.logical == "decimal":
                return _decimal(type_)
            case kind if (kind, type_.logical) in _LOGICAL:
                return Schema(_TYPES[kind], name=_LOGICAL[kind, type_.logical or ""], version=1)
            case "int" if type_.logical is None and names.TYPE in type_.props:
                return Schema(_small(type_.props[names.TYPE]))
            case "array":
                return self._array(type_.part)
            case "map":
                return Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=self._schema(type_.part))
            case "record":
                return self._record(type_)
            case "enum":
                return self._enum(type_)
            case "null":
                raise DataError("Standalone null schemas are not supported by this converter")
            case _:
                return Schema(_TYPES[type_.kind])

    def _array(self, item: AvroType) -> Schema:
        if not is_entry(item):
            return Schema(SchemaType.ARRAY, value_schema=self._schema(item))
        if {one.name for one in item.fields} != {names.KEY, names.VALUE}:
            raise DataError(
                "Found map encoded as array of key-value pairs, but array elements do not match the expected format."
            )
        parts = {one.name: self._schema(one.type) for one in item.fields}
        return Schema(SchemaType.MAP, key_schema=parts[names.KEY], value_schema=parts[names.VALUE])

    def _record(self, type_: AvroType) -> Schema:
        docs = [(names.RECORD_DOC, type_.doc), *((names.FIELD_DOC + one.name, one.doc) for one in type_.fields)]
        parameters = tuple((key, doc) for key, doc in docs if doc is not None and self.meta_data)
        fields = tuple(SchemaField(one.name, self._schema(one.type, field=one)) for one in type_.fields)
        return Schema(SchemaType.STRUCT, parameters=parameters, fields=fields)

    def _enum(self, type_: AvroType) -> Schema:
        texts = ((names.ENUM_DOC, type_.doc), (names.ENUM_DEFAULT, type_.default))
        parameters = [(key + type_.short_name, text) for key, text in texts if text is not None and self.meta_data]
        parameters.append((names.ENUM, type_.name or ""))
        parameters += [(f"{names.ENUM}.{symbol}", symbol) for symbol in type_.symbols]
        return Schema(SchemaType.STRING, parameters=tuple(parameters))

    def _union(self, type_: AvroType) -> Schema:
        if {one.kind for one in type_.choices} in ({"int", "long"}, {"float", "double"}):
            raise DataError("A union of two kinds of numbers only is not supported by this converter")
        fields = [SchemaField(self.union_field(one), self._schema(one, optional=True)) for one in type_.choices]
        if len({one.name for one in fields}) < len(fields):
            raise DataError("Multiple union schemas map to the Connect union field name")
        return Schema(SchemaType.STRUCT, optional=type_.nullable, name=names.UNION, fields=tuple(fields))

    def _annotated(self, made: Schema, type_: AvroType, version: int | None) -> Schema:
        props = type_.props
        stated = props.get(names.VERSION)
        if stated is not None and not isinstance(stated, int):
            raise DataError(f"Invalid Connect version found: {stated}")
        parameters = dict(made.parameters) | self._parameters(props)
        return replace(
            made,
            name=made.name or _name(type_),
            version=made.version if made.version is not None else version if stated is None else stated,
            doc=props.get(names.DOC) if self.meta_data else None,
            parameters=tuple(parameters.items()),
            default=defaults.to_connect(made, props.get(names.DEFAULT)),
        )

    def _parameters(self, props: Mapping[str, Any]) -> dict[str, str]:
        found = props.get(names.PARAMETERS) if self.meta_data else None
        if found is not None and not isinstance(found, dict):
            raise DataError(f"Expected JSON object for schema parameters but found: {found}")
        for value in (found or {}).values():
            if not isinstance(value, str):
                raise DataError(f"Expected schema parameter values to be strings but found: {value}")
        own = {key: str(value) for key, value in props.items() if key.startswith(names.AVRO_PROPERTY)}
        return {**(found or {}), **own}


def is_entry(type_: AvroType) -> bool:
    """Return whether arrays of this type are maps."""
    return type_.kind == "record" and (
        type_.name == f"{names.NAMESPACE}.{names.MAP_ENTRY}" or type_.props.get(names.INTERNAL_TYPE) == names.MAP_ENTRY
    )


def _with_default(made: Schema, type_: AvroType, field: AvroField) -> Schema:
    """Replace the schema's default by that of the field, and mark the schema's."""
    if not field.has_default or field.default is None or made.name == names.UNION:
        return made
    flag = () if names.DEFAULT in type_.props else ((names.FIELD_DEFAULT, "true"),)
    return replace(made, parameters=(*made.parameters, *flag), default=defaults.to_connect(made, field.default))


def _name(type_: AvroType) -> str | None:
    found = type_.props.get(names.NAME)
    if found is not None and not isinstance(found, str):
        raise DataError(f"Invalid schema name: {found}")
    name = found or (type_.name if type_.kind in ("record", "enum") else None)
    return None if name == names.DEFAULT_NAME else name


def _small(name: Any) -> SchemaType:
    if name not in _SMALL:
        raise DataError("Connect type annotation for Avro int field is null")
    return _SMALL[name]


def _decimal(type_: AvroType) -> Schema:
    scale, precision = type_.props.get("scale"), type_.props.get("precision")
    if not isinstance(scale, int):
        raise DataError("scale must be specified and must be a number.")
    if precision is not None and not isinstance(precision, int):
        raise DataError("precision property must be a JSON Integer.")
    parameters = [("scale", str(scale))]
    if precision not in (None, names.DEFAULT_PRECISION):
        parameters.append((names.PRECISION, str(precision)))
    return Schema(SchemaType.BYTES, name=DECIMAL, version=1, parameters=tuple(parameters))
