"""Values as plain text (Java: ``StringConverter``)."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import converter_type, type_name
from connect_dagster.converters._support.java_value_text import java_value_text
from connect_dagster.expressions.text import as_java_text
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef, Importance, Width, config_key, one_of_ignoring_case
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, Schema

# Those that Spark's encode() knows.
_CHARSETS = ("UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32")
_MARKS = (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)


class StringConverterConfig(ConfigDef):
    """Options of the converter (Java: ``StringConverterConfig``)."""

    type: str = converter_type()
    encoding: str = config_key(
        "converter.encoding",
        default="UTF-8",
        importance=Importance.HIGH,
        validator=one_of_ignoring_case(*_CHARSETS),
        width=Width.MEDIUM,
        display_name="Encoding",
        doc="The character set of the text.",
    )


class StringConverter(Converter, HeaderConverter):
    """Writes what Java's ``toString`` says of a value; reads optional strings."""

    config_def: ClassVar[type[ConfigDef]] = StringConverterConfig
    java_class = "org.apache.kafka.connect.storage.StringConverter"
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options."""
        self._configure({"converter.type": type_name(is_key=is_key), **config})

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options."""
        self._configure({"converter.type": "header", **config})

    def _configure(self, config: Mapping[str, str]) -> None:
        options = StringConverterConfig.parse(config)
        self._charset = options.encoding.upper()
        self._decoders: dict[str, Decoder] = {}

    def encode(self, schema: Schema | None, column: Column, *, ascii: bool = False) -> Column:
        """Expression of the text's bytes; null stays null."""
        text = as_java_text(schema, column)
        return text.cast("binary") if self._charset == "UTF-8" else F.encode(text, self._charset)

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """As of data."""
        return self.encode(schema, column)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Bytes of the text of one value."""
        return None if value is None else _bytes_in(self._charset, java_value_text(schema, value))

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """The text in the bytes of one header."""
        return OPTIONAL_STRING_SCHEMA, None if data is None else _text_in(self._charset, data)

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """The one decoder there is."""
        return [self.expected_decoder(column)]

    def expected_decoder(self, column: str) -> Decoder:
        """The one decoder there is, the same object at each call; bytes that are no text become U+FFFD, as in Java."""
        if column not in self._decoders:
            value = F.col(column)
            utf8 = self._charset == "UTF-8"
            text = F.make_valid_utf8(value.cast("string")) if utf8 else F.decode(value, self._charset)
            self._decoders[column] = Decoder(OPTIONAL_STRING_SCHEMA, text)
        return self._decoders[column]


def _text_in(charset: str, data: bytes) -> str:
    """The text in bytes; without a mark Java takes UTF-16 for big-endian, Python for this machine's order."""
    marked = charset != "UTF-16" or data.startswith(_MARKS)
    return data.decode(_python_charset(charset) if marked else "UTF-16BE", "replace")


def _bytes_in(charset: str, text: str) -> bytes:
    """Text in a character set as Java writes it: beyond eight bits big-endian, with a mark before UTF-16 only."""
    if charset == "UTF-16":
        return codecs.BOM_UTF16_BE + text.encode("UTF-16BE", "replace") if text else b""
    return text.encode(_python_charset(charset), "replace")


def _python_charset(charset: str) -> str:
    return "UTF-32BE" if charset == "UTF-32" else charset
