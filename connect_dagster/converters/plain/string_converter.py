"""Values as plain text (Java: ``StringConverter``)."""

from __future__ import annotations

import codecs
import datetime
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import converter_type
from connect_dagster.converters._support.single_value import SingleValueConverter
from connect_dagster.converters.json.text import java_decimal, java_double
from connect_dagster.expressions.text import as_java_text, text_of_utf8
from connect_dagster.plugin.config import ConfigDef, Importance, Width, config_key, one_of_ignoring_case
from connect_dagster.plugin.converter import Decoder
from connect_dagster.plugin.schema import DATE, DECIMAL, OPTIONAL_STRING_SCHEMA, TIME, TIMESTAMP, Schema, SchemaType

# Those that Spark's encode() knows.
_CHARSETS = ("UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32")
_MARKS = (codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


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


class StringConverter(SingleValueConverter):
    """Writes values as Java's ``toString``; reads optional strings."""

    config_def: ClassVar[type[ConfigDef]] = StringConverterConfig
    java_class = "org.apache.kafka.connect.storage.StringConverter"

    def configured(self, options: StringConverterConfig) -> None:
        self._charset = options.encoding.upper()

    def encode(self, schema: Schema | None, column: Column) -> Column:
        """Return the expression of the text's bytes; null stays null."""
        text = as_java_text(schema, column)
        return text.cast("binary") if self._charset == "UTF-8" else F.encode(text, self._charset)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of the text of one value."""
        return None if value is None else _bytes_in(self._charset, _java_text(schema, value))

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the text in the bytes of one header."""
        return OPTIONAL_STRING_SCHEMA, None if data is None else _text_in(self._charset, data)

    def decoder(self, data: Column) -> Decoder:
        text = text_of_utf8(data) if self._charset == "UTF-8" else F.decode(data, self._charset)
        return Decoder(OPTIONAL_STRING_SCHEMA, text)


def _text_in(charset: str, data: bytes) -> str:
    """Return the text in bytes; without a mark Java takes UTF-16 for big-endian, Python for this machine's order."""
    marked = charset != "UTF-16" or data.startswith(_MARKS)
    return data.decode(_python_charset(charset) if marked else "UTF-16BE", "replace")


def _bytes_in(charset: str, text: str) -> bytes:
    """Return the text in a character set as Java writes it: beyond eight bits big-endian, with a mark before UTF-16
    only.
    """
    if charset == "UTF-16":
        return codecs.BOM_UTF16_BE + text.encode("UTF-16BE", "replace") if text else b""
    return text.encode(_python_charset(charset), "replace")


def _python_charset(charset: str) -> str:
    return "UTF-32BE" if charset == "UTF-32" else charset


def _java_text(schema: Schema | None, value: Any) -> str:
    """Return the text of a value in Python's terms; ``null`` of none."""
    if value is None:
        return "null"
    if schema is not None and schema.name in _LOGICAL:
        return _LOGICAL[schema.name](value)
    if schema is not None and schema.type is SchemaType.STRUCT:
        parts = [
            (f.name, _java_text(f.schema, value.get(f.name))) for f in schema.fields if value.get(f.name) is not None
        ]
        return "Struct{" + ",".join(f"{name}={text}" for name, text in parts) + "}"
    match value:
        case bool():
            return str(value).lower()
        case float():
            return java_double(value)
        case Decimal():
            return java_decimal(value)
        case bytes():
            return value.decode(errors="replace")
        case list() | tuple():
            item = schema.item if schema else None
            return "[" + ", ".join(_java_text(item, one) for one in value) + "]"
        case dict():
            key, item = (schema.key, schema.item) if schema else (None, None)
            pairs = (f"{_java_text(key, name)}={_java_text(item, one)}" for name, one in value.items())
            return "{" + ", ".join(pairs) + "}"
        case _:
            return str(value)


def _moment(value: datetime.datetime) -> str:
    moment = value.astimezone(datetime.UTC) if value.tzinfo else value
    return moment.strftime("%a %b %d %H:%M:%S UTC %Y")


_LOGICAL: dict[str | None, Callable[[Any], str]] = {
    DECIMAL: java_decimal,
    DATE: lambda day: _moment(datetime.datetime.combine(day, datetime.time())),
    TIME: lambda milliseconds: _moment(_EPOCH + milliseconds * _MILLISECOND),
    TIMESTAMP: _moment,
}
