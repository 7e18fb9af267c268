"""Bytes as they are (Java: ``ByteArrayConverter``)."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.single_value import (
    SingleValueConverter,
    class_of,
    class_of_json,
    class_of_value,
)
from connect_dagster.errors import DataError
from connect_dagster.plugin.converter import Decoder
from connect_dagster.plugin.schema import BYTES_SCHEMA, OPTIONAL_BYTES_SCHEMA, Schema, SchemaType

_INCOMPATIBLE = "ByteArrayConverter is not compatible with objects of type "


class ByteArrayConverter(SingleValueConverter):
    """Passes bytes through; any other schema is an error."""

    java_class = "org.apache.kafka.connect.converters.ByteArrayConverter"

    def encode(self, schema: Schema | None, column: Column) -> Column:
        """Return the column itself.

        Raises:
            DataError: with Java's text; the schema is not BYTES.
        """
        wrong = self.encode_errors(schema, column)
        return column if wrong is None else F.when(wrong.isNotNull(), F.raise_error(wrong)).cast("binary")

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error of schemaless values and of decimals, which are not bytes.

        Raises:
            DataError: as ``encode``.
        """
        _check(schema)
        if schema is None:
            return F.concat(F.lit(_INCOMPATIBLE), class_of_json(column))
        if class_of(schema) == class_of(BYTES_SCHEMA):
            return None
        return F.when(column.isNotNull(), _INCOMPATIBLE + class_of(schema))

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes themselves."""
        _check(schema)
        if value is not None and not isinstance(value, bytes):
            raise DataError(_INCOMPATIBLE + class_of_value(schema, value))
        return value

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the bytes themselves."""
        return OPTIONAL_BYTES_SCHEMA, data

    def decoder(self, data: Column) -> Decoder:
        return Decoder(OPTIONAL_BYTES_SCHEMA, data)


def _check(schema: Schema | None) -> None:
    if schema is not None and schema.type is not SchemaType.BYTES:
        raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
