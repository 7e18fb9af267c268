"""Header values as text that tells their type (Java: ``SimpleHeaderConverter``, the default)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pyspark.sql import Column

from connect_dagster.converters._support.header_text import value_text, value_text_column
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema
from connect_dagster.plugin.values import parse_string


class SimpleHeaderConverterConfig(ConfigDef):
    """The converter has no options."""


class SimpleHeaderConverter(HeaderConverter):
    """Writes the text of a value; reads from the text what it may be."""

    config_def: ClassVar[type[ConfigDef]] = SimpleHeaderConverterConfig
    java_class = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    version = KAFKA_VERSION

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options, of which there are none."""

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """The text's bytes."""
        return value_text_column(schema, column).cast("binary")

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """The text's bytes."""
        text = value_text(schema, value)
        return None if text is None else text.encode(errors="replace")

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """What the text says."""
        return parse_string(None if data is None else data.decode(errors="replace"))
