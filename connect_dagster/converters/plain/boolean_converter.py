"""Booleans as one byte (Java: ``BooleanConverter``)."""

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
from connect_dagster.plugin.schema import Schema, SchemaType

_OPTIONAL = Schema(SchemaType.BOOLEAN, optional=True)
_BYTES = {True: b"\x01", False: b"\x00"}
_VALUES = {data: value for value, data in _BYTES.items()}
_UNREADABLE = "Failed to deserialize boolean: "
_NOT_THIS = "BooleanConverter is not compatible with objects of type "


class BooleanConverterConfig(ConfigDef):
    """Options of the converter (Java: ``BooleanConverterConfig``)."""

    type: str = converter_type()


class BooleanConverter(Converter, HeaderConverter):
    """Writes ``01`` and ``00``, null as no bytes; reads optional booleans."""

    config_def: ClassVar[type[ConfigDef]] = BooleanConverterConfig
    java_class = "org.apache.kafka.connect.converters.BooleanConverter"
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options, of which there are none."""
        self._configure({"converter.type": type_name(is_key=is_key), **config})

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options, of which there are none."""
        self._configure({"converter.type": "header", **config})

    def _configure(self, config: Mapping[str, str]) -> None:
        BooleanConverterConfig.parse(config)
        self._decoders: dict[str, Decoder] = {}

    def encode(self, schema: Schema | None, column: Column, *, ascii: bool = False) -> Column:
        """The one byte.

        Raises:
            DataError: with Java's text; the schema is not BOOLEAN.
        """
        _check(schema)
        if schema is not None:
            return _byte(column)
        wrong = _wrong(column)
        failed = F.raise_error(wrong).cast("binary")
        return F.when(wrong.isNotNull(), failed).otherwise(_byte(column.try_cast("boolean")))

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """The error of schemaless values of another type."""
        return _wrong(column) if schema is None else None

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """As of data."""
        return self.encode(schema, column)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """The byte of one boolean."""
        _check(schema)
        if value is not None and not isinstance(value, bool):
            raise DataError(f"{_NOT_THIS}{class_of_value(schema, value)}")
        return None if value is None else _BYTES[value]

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """The boolean in the byte of one header."""
        if data is not None and data not in _VALUES:
            raise DataError(_UNREADABLE)
        return _OPTIONAL, None if data is None else _VALUES[data]

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """The one decoder there is."""
        return [self.expected_decoder(column)]

    def expected_decoder(self, column: str) -> Decoder:
        """The one decoder there is, the same object at each call."""
        if column not in self._decoders:
            data = F.col(column)
            value = F.when(data == _literal(True), True).when(data == _literal(False), False)
            readable = data.isNull() | value.isNotNull()
            self._decoders[column] = Decoder(_OPTIONAL, value, readable=readable, error=F.lit(_UNREADABLE))
        return self._decoders[column]


def _check(schema: Schema | None) -> None:
    if schema is not None and schema.type is not SchemaType.BOOLEAN:
        raise DataError(f"Invalid schema type for BooleanConverter: {schema.type.name}")


def _wrong(column: Column) -> Column:
    found = class_of_json(column)
    return F.when(found != class_of(_OPTIONAL), F.concat(F.lit(_NOT_THIS), found))


def _byte(column: Column) -> Column:
    return F.when(column, _literal(True)).when(~column, _literal(False))


def _literal(value: bool) -> Column:
    return F.lit(bytearray(_BYTES[value]))
