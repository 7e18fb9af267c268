"""Header values as text from which their type is read (Java: ``SimpleHeaderConverter``, ``Values``; the default)."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.text import java_double
from connect_dagster.errors import DataError
from connect_dagster.expressions.literals import literal
from connect_dagster.expressions.text import as_java_text
from connect_dagster.java.iso_dates import DAY_MS
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType
from connect_dagster.plugin.values import parse_string

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_DEPTH = 3


class SimpleHeaderConverterConfig(ConfigDef):
    """The converter has no options."""


class SimpleHeaderConverter(HeaderConverter):
    """Writes the text of a value; reads from the text what it may be."""

    config_def: ClassVar[type[ConfigDef]] = SimpleHeaderConverterConfig
    java_class = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
    version = KAFKA_VERSION

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Ignore the options."""

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """Return the text's bytes."""
        return value_text_column(schema, column).cast("binary")

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the text's bytes."""
        text = value_text(schema, value)
        return None if text is None else text.encode(errors="replace")

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return the value that the text holds."""
        return parse_string(None if data is None else data.decode(errors="replace"))


def value_text(schema: Schema | None, value: Any) -> str | None:
    """Return the text of one value in Python's terms; ``None`` for null.

    Raises:
        DataError: it is of no type that Connect knows.
    """
    return None if value is None else _appended(schema, value, embedded=False)


def _appended(schema: Schema | None, value: Any, *, embedded: bool) -> str:
    if value is None:
        return "null"
    if schema is not None and schema.name in _MILLISECONDS:
        return _moment_text(_MILLISECONDS[schema.name](value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return java_double(np.float32(value) if schema is not None and schema.type is SchemaType.FLOAT32 else value)
    if isinstance(value, int | Decimal):
        return str(value)
    if isinstance(value, str):
        return _quoted(value) if embedded else value
    if isinstance(value, bytes | bytearray | memoryview):
        encoded = base64.b64encode(value).decode()
        return f'"{encoded}"' if embedded else encoded
    if isinstance(value, datetime.datetime):
        return _moment_text(_from_datetime(value))
    if isinstance(value, datetime.date):
        return _moment_text(_from_date(value))
    if isinstance(value, list | tuple):
        part = None if schema is None else schema.value_schema
        return "[" + ",".join(_appended(part, item, embedded=True) for item in value) + "]"
    if isinstance(value, Mapping):
        return "{" + ",".join(_entries(schema, value)) + "}"
    raise DataError(f"Failed to serialize unexpected value type {type(value).__name__}: {value}")


def _entries(schema: Schema | None, value: Mapping[Any, Any]) -> list[str]:
    if schema is not None and schema.type is SchemaType.STRUCT:
        fields = [(one.name, one.schema, value.get(one.name)) for one in schema.fields]
        found = [(name, part, part.default if item is None else item) for name, part, item in fields]
        return [f"{_quoted(name)}:{_appended(part, item, embedded=True)}" for name, part, item in found]
    key, part = (None, None) if schema is None else (schema.key_schema, schema.value_schema)
    return [
        f"{_appended(key, name, embedded=True)}:{_appended(part, item, embedded=True)}" for name, item in value.items()
    ]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _moment_text(milliseconds: int) -> str:
    moment = _EPOCH + milliseconds * _MILLISECOND
    clock = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}Z"
    if milliseconds < DAY_MS:
        return clock
    day = moment.date().isoformat()
    return day if milliseconds % DAY_MS == 0 else f"{day}T{clock}"


def _from_date(value: datetime.date) -> int:
    return (value - _EPOCH.date()).days * DAY_MS


def _from_datetime(value: datetime.datetime) -> int:
    return ((value if value.tzinfo else value.replace(tzinfo=datetime.UTC)) - _EPOCH) // _MILLISECOND


_MILLISECONDS: Mapping[str | None, Callable[[Any], int]] = {
    DATE: _from_date,
    TIME: int,
    TIMESTAMP: _from_datetime,
}


def value_text_column(schema: Schema | None, column: Column) -> Column:
    """Return the text of a typed column, or of schemaless JSON text; null where it is null."""
    return _schemaless(column) if schema is None else _column(schema, column, embedded=False)


def _column(schema: Schema, column: Column, *, embedded: bool) -> Column:
    if schema.name in _MILLISECOND_COLUMNS:
        return _moment_column(_MILLISECOND_COLUMNS[schema.name](column))
    match schema.type:
        case SchemaType.STRING:
            return _quoted_column(column) if embedded else column
        case SchemaType.BYTES if schema.name != DECIMAL:
            return F.concat(F.lit('"'), F.base64(column), F.lit('"')) if embedded else F.base64(column)
        case SchemaType.ARRAY:
            return _joined(F.transform(column, lambda item: _part(schema.item, item)), "[", "]")
        case SchemaType.MAP:
            pairs = F.transform(
                F.map_entries(column),
                lambda pair: F.concat(_part(schema.key, pair["key"]), F.lit(":"), _part(schema.item, pair["value"])),
            )
            return _joined(pairs, "{", "}")
        case SchemaType.STRUCT:
            return F.when(column.isNotNull(), _joined(_fields(schema, column), "{", "}"))
        case _:
            return as_java_text(schema, column)


def _part(schema: Schema, column: Column) -> Column:
    return F.coalesce(_column(schema, column, embedded=True), F.lit("null"))


def _fields(schema: Schema, column: Column) -> Column:
    texts = []
    for one in schema.fields:
        value = column.getField(one.name)
        if one.schema.default is not None:
            value = F.coalesce(value, literal(one.schema, one.schema.default))
        texts.append(F.concat(F.lit(f"{_quoted(one.name)}:"), _part(one.schema, value)))
    return F.array(*texts) if texts else F.array().cast("array<string>")


def _joined(texts: Column, start: str, end: str) -> Column:
    return F.concat(F.lit(start), F.array_join(texts, ","), F.lit(end))


def _quoted_column(column: Column) -> Column:
    escaped = F.replace(F.replace(column, F.lit("\\"), F.lit("\\\\")), F.lit('"'), F.lit('\\"'))
    return F.concat(F.lit('"'), escaped, F.lit('"'))


def _moment_column(milliseconds: Column) -> Column:
    moment = F.timestamp_millis(milliseconds)
    clock, day = F.date_format(moment, "HH:mm:ss.SSS'Z'"), F.date_format(moment, "yyyy-MM-dd")
    return (
        F.when(milliseconds < DAY_MS, clock)
        .when(milliseconds % DAY_MS == 0, day)
        .otherwise(F.concat(day, F.lit("T"), clock))
    )


_MILLISECOND_COLUMNS: Mapping[str | None, Callable[[Column], Column]] = {
    DATE: lambda column: F.unix_date(column).cast("long") * DAY_MS,
    TIME: lambda column: column.cast("long"),
    TIMESTAMP: F.unix_millis,
}


def _schemaless(column: Column) -> Column:
    parsed = F.try_parse_json(F.when(~column.startswith('"'), column))
    return F.when(column.startswith('"'), as_java_text(None, column)).otherwise(_variant(parsed, _DEPTH))


def _variant(column: Column, depth: int) -> Column:
    """Return the text of parsed JSON; lists and maps are taken apart ``depth`` times, deeper ones stay JSON."""
    kind = F.schema_of_variant(column)
    text = (
        F.when(column.isNull() | F.is_variant_null(column), F.lit(None).cast("string"))
        .when(kind.isin("BIGINT", "BOOLEAN"), F.try_variant_get(column, "$", "string"))
        .when(kind == "STRING", _quoted_column(F.try_variant_get(column, "$", "string")))
        .when(kind.startswith("DECIMAL") | (kind == "DOUBLE"), F.try_variant_get(column, "$", "double").cast("string"))
    )
    if depth == 0:
        return text.otherwise(F.to_json(column))

    def part(item: Column) -> Column:
        return F.coalesce(_variant(item, depth - 1), F.lit("null"))

    items = F.transform(F.try_variant_get(column, "$", "array<variant>"), part)
    pairs = F.transform(
        F.map_entries(F.try_variant_get(column, "$", "map<string,variant>")),
        lambda pair: F.concat(_quoted_column(pair["key"]), F.lit(":"), part(pair["value"])),
    )
    return text.when(kind.startswith("ARRAY"), _joined(items, "[", "]")).otherwise(_joined(pairs, "{", "}"))
