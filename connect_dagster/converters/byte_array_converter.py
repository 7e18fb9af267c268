"""Bytes as they are (Java: ``ByteArrayConverter``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.converter_type import converter_type, type_name
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.errors import DataError
from connect_dagster.plugin.schema import OPTIONAL_BYTES_SCHEMA, Schema, SchemaType

_NOT_BYTES = "ByteArrayConverter is not compatible with objects of type class java.lang.String"


class ByteArrayConverterConfig(ConfigDef):
    """Options of the converter."""

    type: str = converter_type()


class ByteArrayConverter(Converter):
    """Passes bytes through; any other schema is an error."""

    config_def: ClassVar[type[ConfigDef]] = ByteArrayConverterConfig
    java_class = "org.apache.kafka.connect.converters.ByteArrayConverter"
    version = "4.3.1"

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options, of which there are none."""
        ByteArrayConverterConfig.parse({"converter.type": type_name(is_key=is_key), **config})
        self._decoders: dict[str, Decoder] = {}

    def encode(self, schema: Schema | None, column: Column, *, ascii: bool = False) -> Column:
        """The column itself.

        Raises:
            DataError: with Java's text; the schema is not BYTES.
        """
        if schema is None:
            return F.when(column.isNotNull(), F.raise_error(_NOT_BYTES)).cast("binary")
        if schema.type is not SchemaType.BYTES:
            raise DataError(f"Invalid schema type for ByteArrayConverter: {schema.type.name}")
        return column

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """The one decoder there is."""
        return [self.likely(column)]

    def likely(self, column: str) -> Decoder:
        """The one decoder there is, the same object at each call."""
        return self._decoders.setdefault(column, Decoder(OPTIONAL_BYTES_SCHEMA, F.col(column)))
