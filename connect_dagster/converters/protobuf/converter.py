"""Protobuf with a schema registry (Java: ``io.confluent.connect.protobuf.ProtobufConverter``).

Between id and message a record names its message by indexes: their count, then each. Columns are coded whole, in
Spark's Python workers over Arrow. Why not with Spark's functions: docs/decisions/0019-a-protobuf-codec-over-columns.md
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql import types as spark
from pyspark.sql.pandas.functions import arrow_udf

from connect_dagster.converters.protobuf import connect_schema, decoding, encoding, ragged
from connect_dagster.converters.protobuf.descriptors import ProtoFile
from connect_dagster.converters.protobuf.messages import UNNAMED, Message
from connect_dagster.converters.protobuf.proto_text import Writing as Translation
from connect_dagster.converters.protobuf.proto_text import full_name, proto_text
from connect_dagster.converters.protobuf.well_known import ENUM, WRAPPER_OF, WRAPPERS
from connect_dagster.converters.schema_registry import wire
from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.converters.schema_registry.converter import Reading, RegistryConverter, Writing
from connect_dagster.converters.schema_registry.registry import PROTOBUF, RegisteredSchema
from connect_dagster.errors import DataError
from connect_dagster.expressions.decimal_bytes import all_scaled
from connect_dagster.plugin.config import Importance, Type, config_key
from connect_dagster.plugin.schema import Schema, SchemaType


def _switch(name: str, doc: str, *, default: bool = False) -> Any:
    return config_key(name, type=Type.BOOLEAN, default=default, doc=doc)


class ProtobufConverterConfig(SchemaRegistryConfig):
    """Options of the converter."""

    full_names: bool = _switch("enhanced.protobuf.schema.support", "Name schemas with their package.")
    scrub_names: bool = _switch("scrub.invalid.names", "Replace characters that Protobuf's names cannot have.")
    keyword: bool = _switch(
        "optional.for.nullables", "Write optional values with the keyword optional, so that null can be told."
    )
    wrappers: bool = _switch(
        "wrapper.for.nullables", "Write optional values as wrapper messages, so that null can be told."
    )
    raw_wrappers: bool = _switch(
        "wrapper.for.raw.primitives", "Values that are not structs are wrapper messages.", default=True
    )
    cache_size: int = config_key(
        "schemas.cache.config", default=1000, importance=Importance.LOW, doc="How many schemas are kept."
    )


_FIRST = b"\0"
_MOST_INDEXES = 8


class ProtobufConverter(RegistryConverter):
    """Writes and reads Protobuf messages."""

    config_def: ClassVar[type[SchemaRegistryConfig]] = ProtobufConverterConfig
    java_class = "io.confluent.connect.protobuf.ProtobufConverter"
    format = "Protobuf"

    def _take(self, options: SchemaRegistryConfig) -> None:
        own = cast("ProtobufConverterConfig", options)
        self._translation = Translation(own.wrappers, own.keyword, own.scrub_names)
        self._as_connect = connect_schema.Reading(own.wrappers, own.keyword, own.full_names)
        self._raw_wrappers = own.raw_wrappers

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error of records with null in a list, with no symbol of an enum, or without a schema."""
        if schema is None:
            return F.when(column != "null", "Protobuf cannot be written without a schema")
        wrong = _broken(schema, column)
        return None if wrong is None else F.when(wrong, "Protobuf has no null in lists and no unknown enum symbols")

    def _writing(self, topic: str, schema: Schema | None) -> Writing | None:
        if schema is None:
            return None
        if schema.type is SchemaType.STRUCT:
            name = full_name(schema, self._translation)
            text = proto_text(schema, self._translation)
        elif self._raw_wrappers and schema.type in WRAPPER_OF:
            name, text = WRAPPER_OF[schema.type], _wrappers_text()
        else:
            raise DataError(f"Unsupported root schema of type {schema.type.name}")
        registered = self.registry.to_write(topic, name, text, PROTOBUF)
        file = self._file(registered)
        indexes = file.indexes(name)
        message = self._message(file, file.message(indexes))[1]
        write = _columnwise(lambda column: encoding.encoded(message, column), spark.BinaryType())
        start = F.lit(bytearray(_index_bytes(indexes)))
        return Writing(registered.id, lambda column: F.concat(start, write(all_scaled(schema, column)[1])))

    def _message(self, file: ProtoFile, descriptor: Any) -> tuple[Schema, Message]:
        if self._raw_wrappers and descriptor.full_name in WRAPPERS:
            return connect_schema.wrapper(descriptor.full_name)
        return connect_schema.read(file, descriptor, self._as_connect)

    def _file(self, registered: RegisteredSchema) -> ProtoFile:
        if registered.type != PROTOBUF:
            raise DataError(f"Schema {registered.id} is {registered.type}, not Protobuf")
        imports: dict[str, str] = {}
        open_ = list(registered.references)
        while open_:
            reference = open_.pop()
            if reference.name not in imports:
                found = self.registry.referenced(reference)
                imports[reference.name] = found.text
                open_ += found.references
        return ProtoFile(registered.text, imports)

    def _beginning(self, record: Column) -> Column:
        """Return the prefix and the indexes, of which each has one byte."""
        count = F.conv(F.hex(F.substring(record, wire.PREFIX_SIZE + 1, 1)), 16, 10).cast("int")
        size = F.when(count <= 2 * _MOST_INDEXES, F.shiftright(count, 1) + 1).otherwise(1)
        return F.when(wire.has_prefix(record), F.substring(record, F.lit(1), F.coalesce(size, F.lit(0)) + 5)).otherwise(
            wire.beginning(record)
        )

    def _reading_after(self, beginning: bytes) -> Reading:
        file = self._file(self.registry.schema(wire.schema_id(beginning)))
        named = beginning[wire.PREFIX_SIZE :]
        schema, message = self._message(file, file.message(_indexes(named)))
        # A value that is not a struct is optional, as in Java.
        schema = schema if schema.type is SchemaType.STRUCT else connect_schema.nullable(schema)
        type_ = connect_schema.nullable(schema).to_spark()
        read = _columnwise(lambda column: decoding.decoded(message, column), type_)
        return Reading(schema, lambda payload: read(F.substring(payload, len(named) + 1, 2**31 - 1)))

    def _reading(self, registered: RegisteredSchema) -> Reading:
        return self._reading_after(wire.prefix(registered.id) + _FIRST)


def _columnwise(code: Callable[[pa.Array], pa.Array], type_: spark.DataType) -> Callable[[Column], Column]:
    """Return a function over Arrow columns as a function over Spark's."""

    def whole(column: pa.Array) -> pa.Array:
        return code(column)

    return cast("Callable[[Column], Column]", cast("Any", arrow_udf)(whole, returnType=type_))


def _index_bytes(indexes: list[int]) -> bytes:
    """Return the indexes as bytes; Java writes those of the first message as one zero."""
    if indexes == [0]:
        return _FIRST
    numbers = np.array([2 * number for number in (len(indexes), *indexes)], np.uint64)
    return b"".join(ragged.varints(numbers).to_pylist())


def _indexes(data: bytes) -> list[int]:
    if not data or len(data) != 1 + data[0] // 2:
        raise DataError("The bytes after the schema's id do not name a message")
    return [number // 2 for number in data[1:]] or [0]


def _wrappers_text() -> str:
    lines = ['syntax = "proto3";', "package google.protobuf;", ""]
    for name, (kind, _) in WRAPPERS.items():
        lines += [f"message {name.rpartition('.')[2]} {{", f"  {kind.value} value = 1;", "}"]
    return "\n".join([*lines, ""])


def _broken(schema: Schema, column: Column) -> Column | None:
    """Return whether a value has what no message can hold; ``None`` where none can."""
    symbols = [key.removeprefix(f"{ENUM}.") for key, _ in schema.parameters if key.startswith(f"{ENUM}.")]
    match schema.type:
        case SchemaType.STRING if symbols:
            return column.isNotNull() & ~column.isin(symbols) & ~column.rlike(UNNAMED)
        case SchemaType.STRUCT:
            checks = [_broken(field.schema, column.getField(field.name)) for field in schema.fields]
        case SchemaType.ARRAY:
            checks = [_any_broken(schema.item, column, null=schema.item.optional)]
        case SchemaType.MAP:
            checks = [_any_broken(schema.item, F.map_values(column), null=False)]
        case _:
            checks = []
    there = [F.coalesce(check, F.lit(False)) for check in checks if check is not None]
    return F.greatest(*there, F.lit(False)) if there else None


def _any_broken(schema: Schema, items: Column, *, null: bool) -> Column | None:
    if _broken(schema, F.lit(None)) is None and not null:
        return None
    return F.exists(items, lambda item: _coalesced(_broken(schema, item)) | (item.isNull() & F.lit(null)))


def _coalesced(check: Column | None) -> Column:
    return F.lit(False) if check is None else F.coalesce(check, F.lit(False))
