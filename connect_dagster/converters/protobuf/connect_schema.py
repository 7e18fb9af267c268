"""Descriptors as Connect schemas (Java: ``ProtobufData.toConnectSchema``), and as messages that columns hold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type

from connect_dagster.converters.protobuf.descriptors import ProtoFile
from connect_dagster.converters.protobuf.messages import WIRE_TYPES, Field, Kind, Meaning, Message
from connect_dagster.converters.protobuf.well_known import (
    BY_MESSAGE,
    CONNECT_TYPE,
    ENUM,
    PRECISION,
    TAG,
    UNION,
    WRAPPERS,
)
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

_ENTRY = "Entry"
# By the numbers of descriptors; groups (10) are not read.
_KINDS = {
    1: Kind.DOUBLE,
    2: Kind.FLOAT,
    3: Kind.INT64,
    4: Kind.UINT64,
    5: Kind.INT32,
    6: Kind.FIXED64,
    7: Kind.FIXED32,
    8: Kind.BOOL,
    9: Kind.STRING,
    11: Kind.MESSAGE,
    12: Kind.BYTES,
    13: Kind.UINT32,
    14: Kind.ENUM,
    15: Kind.SFIXED32,
    16: Kind.SFIXED64,
    17: Kind.SINT32,
    18: Kind.SINT64,
}
_TYPES = {
    Kind.INT32: SchemaType.INT32,
    Kind.SINT32: SchemaType.INT32,
    Kind.SFIXED32: SchemaType.INT32,
    Kind.FLOAT: SchemaType.FLOAT32,
    Kind.DOUBLE: SchemaType.FLOAT64,
    Kind.BOOL: SchemaType.BOOLEAN,
    Kind.ENUM: SchemaType.STRING,
    Kind.STRING: SchemaType.STRING,
    Kind.BYTES: SchemaType.BYTES,
}
_NARROW = {"int8": SchemaType.INT8, "int16": SchemaType.INT16}


@dataclass(frozen=True, slots=True)
class Reading:
    """Options of reading.

    Attributes:
        wrappers: wrapper messages are optional values, and all other values required (``wrapper.for.nullables``).
        keyword: values with the keyword ``optional`` are optional, others required (``optional.for.nullables``).
        full_names: schemas are named with their package (``enhanced.protobuf.schema.support``).
    """

    wrappers: bool = False
    keyword: bool = False
    full_names: bool = False


def read(file: ProtoFile, descriptor: Any, reading: Reading) -> tuple[Schema, Message]:
    """Return Connect's schema of a message, and the message.

    Raises:
        DataError: it cannot be a column, as a message that holds itself.
    """
    return _Translation(file, reading).struct(descriptor, ())


def arrow_type(schema: Schema) -> pa.DataType:
    """Return the Arrow type of a column of the schema, in which all may be null."""
    return to_arrow_type(nullable(schema).to_spark())


def nullable(schema: Schema) -> Schema:
    """Return the schema with all its parts optional."""
    return replace(
        schema,
        optional=True,
        fields=tuple(SchemaField(one.name, nullable(one.schema)) for one in schema.fields),
        key_schema=schema.key_schema and nullable(schema.key_schema),
        value_schema=schema.value_schema and nullable(schema.value_schema),
    )


@dataclass(frozen=True, slots=True)
class _Translation:
    file: ProtoFile
    reading: Reading

    def struct(self, descriptor: Any, around: tuple[str, ...]) -> tuple[Schema, Message]:
        if descriptor.full_name in around:
            raise DataError(f"Message {descriptor.full_name} holds itself: no column can have such a type")
        around = (*around, descriptor.full_name)
        made = {field.name: self._field(field, around) for field in descriptor.fields}
        unions = [one for one in descriptor.oneofs if not _is_synthetic(one)]
        fields = [
            SchemaField(_union_name(one), _union_schema(one, [made[field.name][0] for field in one.fields]))
            for one in unions
        ]
        plain = [field for field in descriptor.fields if field.containing_oneof not in unions]
        fields += [made[field.name][0] for field in plain]
        name = descriptor.full_name if self.reading.full_names else descriptor.name
        schema = Schema(SchemaType.STRUCT, name=name, fields=tuple(fields))
        columns = tuple((field.name, arrow_type(field.schema)) for field in fields)
        coded = sorted((field for _, field in made.values()), key=lambda one: one.number)
        return schema, Message(tuple(coded), columns)

    def _field(self, field: Any, around: tuple[str, ...]) -> tuple[SchemaField, Field]:
        if field.type not in _KINDS:
            raise DataError(f"Unknown Connect schema type: field {field.full_name} is a group")
        schema, message = self._value(field, around)
        repeated, keyword = _is_repeated(field), _has_keyword(field)
        if repeated and schema.type is not SchemaType.MAP:
            schema = Schema(SchemaType.ARRAY, optional=True, value_schema=replace(schema, optional=True))
        if not self.reading.wrappers and (keyword or not self.reading.keyword):
            schema = replace(schema, optional=True)
        schema = replace(schema, parameters=(*schema.parameters, (TAG, str(field.number))))
        kind = _KINDS[field.type]
        in_union = field.containing_oneof is not None and not _is_synthetic(field.containing_oneof)
        return SchemaField(field.name, schema), Field(
            number=field.number,
            name=field.name,
            kind=kind,
            arrow=arrow_type(schema),
            repeated=repeated,
            packed=repeated and WIRE_TYPES.get(kind) not in (2,) and field.is_packed,
            presence=in_union or (keyword and self.reading.keyword),
            union=_union_name(field.containing_oneof) if in_union else None,
            message=message,
            enum=field.enum_type.name if kind is Kind.ENUM else "",
            symbols=_symbols(field.enum_type) if kind is Kind.ENUM else (),
            default=_default(field),
        )

    def _value(self, field: Any, around: tuple[str, ...]) -> tuple[Schema, Message | None]:
        """Return the schema of one value of a field."""
        kind = _KINDS[field.type]
        if kind is Kind.MESSAGE:
            return self._message(field, around)
        if kind is Kind.ENUM:
            name = field.enum_type.name
            symbols = tuple((f"{ENUM}.{symbol}", str(number)) for symbol, number in _symbols(field.enum_type))
            return Schema(SchemaType.STRING, optional=True, name=name, parameters=((ENUM, name), *symbols)), None
        type_ = _TYPES.get(kind, SchemaType.INT64)
        if type_ is SchemaType.INT32:
            type_ = _NARROW.get(self.file.parameters(field).get(CONNECT_TYPE, ""), type_)
        return Schema(type_), None

    def _message(self, field: Any, around: tuple[str, ...]) -> tuple[Schema, Message]:
        descriptor = field.message_type
        if logical := BY_MESSAGE.get(descriptor.full_name):
            parameters = self._decimal_parameters(field) if logical.meaning is Meaning.DECIMAL else {}
            schema = replace(logical.schema, optional=True, parameters=tuple(parameters.items()))
            return schema, logical.message(int(parameters.get("scale", 0)))
        if self.reading.wrappers and descriptor.full_name in WRAPPERS:
            schema, message = wrapper(descriptor.full_name)
            return replace(schema, optional=True), message
        if _is_entry(descriptor):
            return self._map(descriptor, around)
        schema, message = self.struct(descriptor, around)
        return replace(schema, optional=True), message

    def _map(self, descriptor: Any, around: tuple[str, ...]) -> tuple[Schema, Message]:
        fields = sorted(descriptor.fields, key=lambda one: int(one.number))
        (key, coded_key), (value, coded_value) = (self._field(one, around) for one in fields)
        name = descriptor.name.removesuffix(_ENTRY)
        schema = Schema(
            SchemaType.MAP,
            optional=True,
            name=name[:1].lower() + name[1:],
            key_schema=key.schema,
            value_schema=value.schema,
        )
        columns = (("key", coded_key.arrow), ("value", coded_value.arrow))
        return schema, Message((coded_key, coded_value), columns)

    def _decimal_parameters(self, field: Any) -> dict[str, str]:
        said = {name: value for name, value in self.file.parameters(field).items() if _is_number(value)}
        found = {"scale": said.get("scale", "0")}
        return found | ({PRECISION: said["precision"]} if "precision" in said else {})


def wrapper(full_name: str) -> tuple[Schema, Message]:
    """Return the schema of what a wrapper message holds, and the message."""
    kind, type_ = WRAPPERS[full_name]
    schema = Schema(type_)
    default = {SchemaType.STRING: "", SchemaType.BYTES: b"", SchemaType.BOOLEAN: False}.get(type_, 0)
    field = Field(1, "value", kind, arrow_type(schema), default=default)
    return schema, Message((field,), meaning=Meaning.WRAPPER)


def _is_entry(descriptor: Any) -> bool:
    names = [field.name for field in descriptor.fields]
    return descriptor.name.endswith(_ENTRY) and names == ["key", "value"]


def _is_repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def _is_synthetic(oneof: Any) -> bool:
    """Return whether protoc made it for the keyword ``optional``."""
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def _has_keyword(field: Any) -> bool:
    """Return whether it has the keyword ``optional``, which proto2 has everywhere but at required fields."""
    if _is_repeated(field) or not field.has_presence:
        return False
    if field.containing_oneof is not None:
        return _is_synthetic(field.containing_oneof)
    return _KINDS.get(field.type) is not Kind.MESSAGE and not field.is_required


def _union_name(oneof: Any) -> str:
    return f"{oneof.name}_{oneof.index}"


def _union_schema(oneof: Any, fields: list[SchemaField]) -> Schema:
    return Schema(SchemaType.STRUCT, optional=True, name=UNION + oneof.name, fields=tuple(fields))


def _symbols(enum: Any) -> tuple[tuple[str, int], ...]:
    return tuple((value.name, int(value.number)) for value in enum.values)


def _default(field: Any) -> Any:
    kind = _KINDS[field.type]
    if kind is Kind.MESSAGE or _is_repeated(field):
        return None
    if kind is Kind.ENUM:
        return field.enum_type.values_by_number[field.default_value].name
    return field.default_value


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()
