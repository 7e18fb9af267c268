"""Booleans as one byte (Java: ``BooleanConverter``)."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.single_value import (
    PrimitiveConverter,
    class_of,
    class_of_json,
    class_of_value,
)
from connect_dagster.errors import DataError
from connect_dagster.plugin.converter import Decoder
from connect_dagster.plugin.schema import Schema, SchemaType

_BYTES = {True: b"\x01", False: b"\x00"}
_VALUES = {data: value for value, data in _BYTES.items()}
_UNREADABLE = "Failed to deserialize boolean: "
_INCOMPATIBLE = "BooleanConverter is not compatible with objects of type "


class BooleanConverter(PrimitiveConverter):
    """Writes ``01`` and ``00``, null as no bytes; reads optional booleans."""

    java_class = "org.apache.kafka.connect.converters.BooleanConverter"
    schema = Schema(SchemaType.BOOLEAN, optional=True)

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error of schemaless values of another type.

        Raises:
            DataError: the schema is not BOOLEAN.
        """
        _check(schema)
        if schema is not None:
            return None
        found = class_of_json(column)
        return F.when(found != class_of(self.schema), F.concat(F.lit(_INCOMPATIBLE), found))

    def bytes_of(self, column: Column) -> Column:
        return F.when(column, _literal(True)).when(~column, _literal(False))

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the byte of one boolean."""
        _check(schema)
        if value is not None and not isinstance(value, bool):
            raise DataError(f"{_INCOMPATIBLE}{class_of_value(schema, value)}")
        return None if value is None else _BYTES[value]

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the boolean in the byte of one header."""
        if data is not None and data not in _VALUES:
            raise DataError(_UNREADABLE)
        return self.schema, None if data is None else _VALUES[data]

    def decoder(self, data: Column) -> Decoder:
        value = F.when(data == _literal(True), True).when(data == _literal(False), False)
        return Decoder(self.schema, value, readable=data.isNull() | value.isNotNull(), error=F.lit(_UNREADABLE))


def _check(schema: Schema | None) -> None:
    if schema is not None and schema.type is not SchemaType.BOOLEAN:
        raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")


def _literal(value: bool) -> Column:
    return F.lit(bytearray(_BYTES[value]))
