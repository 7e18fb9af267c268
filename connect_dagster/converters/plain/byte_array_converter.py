"""Bytes as they are (Java: ``ByteArrayConverter``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import converter_type, type_name
from connect_dagster.converters._support.java_classes import class_of, class_of_json, class_of_value
from connect_dagster.errors import DataError
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import BYTES_SCHEMA, OPTIONAL_BYTES_SCHEMA, Schema, SchemaType

_NOT_BYTES = "ByteArrayConverter is not compatible with objects of type "


class ByteArrayConverterConfig(ConfigDef):
    """Options of the converter."""

    type: str = converter_type()


class ByteArrayConverter(Converter, HeaderConverter):
    """Passes bytes through; any other schema is an error."""

    config_def: ClassVar[type[ConfigDef]] = ByteArrayConverterConfig
    java_class = "org.apache.kafka.connect.converters.ByteArrayConverter"
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options, of which there are none."""
        self._configure({"converter.type": type_name(is_key=is_key), **config})

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options, of which there are none."""
        self._configure({"converter.type": "header", **config})

    def _configure(self, config: Mapping[str, str]) -> None:
        ByteArrayConverterConfig.parse(config)
        self._decoders: dict[str, Decoder] = {}

    def encode(self, schema: Schema | None, column: Column, *, ascii: bool = False) -> Column:
        """The column itself.

        Raises:
            DataError: with Java's text; the schema is not BYTES.
        """
        wrong = self.encode_errors(schema, column)
        return column if wrong is None else F.when(wrong.isNotNull(), F.raise_error(wrong)).cast("binary")

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """The error of schemaless values and of decimals, none of which are bytes.

        Raises:
            DataError: as ``encode``.
        """
        _check(schema)
        if schema is None:
            return F.concat(F.lit(_NOT_BYTES), class_of_json(column))
        if class_of(schema) == class_of(BYTES_SCHEMA):
            return None
        return F.when(column.isNotNull(), _NOT_BYTES + class_of(schema))

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """As of data."""
        return self.encode(schema, column)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """The bytes themselves."""
        _check(schema)
        if value is not None and not isinstance(value, bytes):
            raise DataError(_NOT_BYTES + class_of_value(schema, value))
        return value

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """The bytes themselves."""
        return OPTIONAL_BYTES_SCHEMA, data

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """The one decoder there is."""
        return [self.expected_decoder(column)]

    def expected_decoder(self, column: str) -> Decoder:
        """The one decoder there is, the same object at each call."""
        return self._decoders.setdefault(column, Decoder(OPTIONAL_BYTES_SCHEMA, F.col(column)))


def _check(schema: Schema | None) -> None:
    if schema is not None and schema.type is not SchemaType.BYTES:
        raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
