"""Header values as text that tells their type (Java: ``SimpleHeaderConverter``, the default)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pyspark.sql import Column

from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.java_text import as_java_text
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema


class SimpleHeaderConverterConfig(ConfigDef):
    """The converter has no options."""


class SimpleHeaderConverter(HeaderConverter):
    """Writes the text of a value; reads from the text what it may be."""

    config_def: ClassVar[type[ConfigDef]] = SimpleHeaderConverterConfig
    java_class = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    version = "4.3.1"

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options, of which there are none."""

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """The text's bytes."""
        return as_java_text(schema, column).cast("binary")

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """The text's bytes."""
        return value if value is None or isinstance(value, bytes) else str(value).encode()

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """What the text says."""
        return (None, None) if data is None else (STRING_SCHEMA, data.decode(errors="replace"))
