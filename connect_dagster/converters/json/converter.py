"""Connect data as JSON, with its schema beside it or without (Java: ``JsonConverter``).

Example:
    value.converter=org.apache.kafka.connect.json.JsonConverter
    value.converter.schemas.enable=true

Schemas are written as a literal and read once each: records whose text begins with a known schema are found by that
beginning. How values become text and back is in ``json.encoding`` and ``json.decoding``; single values, for headers,
are written and read here by the same rules.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters._support.converter_type import converter_type, type_name
from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.json import text as json_text
from connect_dagster.converters.json.encoding import REQUIRED_IS_NULL, JsonEncoding
from connect_dagster.converters.json.reading import MALFORMED, NO_ENVELOPE, JsonReading, SchemalessReading
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.java import jackson
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Width,
    config_group,
    config_key,
    one_of_ignoring_case,
)
from connect_dagster.plugin.converter import Converter, Decoder
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.schema import Schema, SchemaType


class JsonConverterConfig(ConfigDef):
    """Options of the converter (Java: ``JsonConverterConfig``)."""

    type: str = converter_type()
    with config_group("Schemas", importance=Importance.HIGH, width=Width.MEDIUM, first=0):
        schemas_enable: bool = config_key(
            "schemas.enable",
            default=True,
            display_name="Enable Schemas",
            doc="Write each record with its schema, and expect one when reading.",
        )
        schemas_cache_size: int = config_key(
            "schemas.cache.size", default=1000, display_name="Schema Cache Size", doc="How many schemas are remembered."
        )
        schema_content: str | None = config_key(
            "schema.content",
            default=None,
            display_name="Schema Content",
            doc="The schema of all records, as JSON: records then hold the payload alone. Only sinks use it.",
        )
    with config_group("Serialization", importance=Importance.LOW, width=Width.MEDIUM, first=0):
        decimal_format: str = config_key(
            "decimal.format",
            default="BASE64",
            validator=one_of_ignoring_case("NUMERIC", "BASE64"),
            display_name="Decimal Format",
            doc="How decimals are written: BASE64 (bytes of the unscaled value) or NUMERIC.",
        )
        replace_null_with_default: bool = config_key(
            "replace.null.with.default",
            default=True,
            display_name="Replace null with default",
            doc="Whether null becomes the default value where a field has one.",
        )


class JsonConverter(Converter, HeaderConverter):
    """Writes what Java Connect writes, byte for byte, and reads what it reads."""

    config_def: ClassVar[type[ConfigDef]] = JsonConverterConfig
    java_class = "org.apache.kafka.connect.json.JsonConverter"
    version = KAFKA_VERSION

    def configure(self, config: Mapping[str, str], *, is_key: bool) -> None:
        """Take the options.

        Raises:
            ConfigError: ``schema.content`` is not a schema, or another value is wrong.
        """
        self._configure({"converter.type": type_name(is_key=is_key), **config})

    def configure_headers(self, config: Mapping[str, str]) -> None:
        """Take the options.

        Raises:
            ConfigError: as ``configure``.
        """
        self._configure({"converter.type": "header", **config})

    def _configure(self, config: Mapping[str, str]) -> None:
        options = JsonConverterConfig.parse(config)
        self._numeric = options.decimal_format.upper() == "NUMERIC"
        self._enveloped = options.schemas_enable
        self._encoding = JsonEncoding(self._numeric, options.replace_null_with_default)
        self._fixed = _schema_content(options.schema_content) if options.schemas_enable else None
        self._reading: JsonReading | SchemalessReading = SchemalessReading()
        if options.schemas_enable:
            self._reading = JsonReading(options.replace_null_with_default, options.schemas_cache_size, self._fixed)

    def encode(self, schema: Schema | None, column: Column) -> Column:
        """Return the expression of the bytes of a typed column."""
        head, rest = self.encode_with_prefix(schema, column)
        return F.concat(F.lit(bytearray(head)), rest) if head else rest

    def encode_with_prefix(self, schema: Schema | None, column: Column) -> tuple[bytes, Column]:
        """Return the schema, where it stands beside the payload, and what follows."""
        if schema is None:
            return b"", self._encode_schemaless(column)
        if not self._enveloped:
            return b"", self._encoding.written(schema, column)
        head = json_envelope.schema_text(schema, numeric_decimals=self._numeric)
        return f'{{"schema":{head},'.encode(), self._encoding.written(schema, column, '"payload":', "}")

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error of records with null where their schema allows none."""
        broken = None if schema is None else self._encoding.breaks(schema, column)
        return None if broken is None else F.when(broken, REQUIRED_IS_NULL)

    def _encode_schemaless(self, column: Column) -> Column:
        """Return the JSON text as it is; null is a tombstone, as in Java where neither schema nor value is there."""
        value = F.when(column != "null", column)
        if self._enveloped:
            value = F.concat(F.lit('{"schema":null,"payload":'), value, F.lit("}"))
        return value.cast("binary")

    def expect(self, record: bytes | None) -> bool:
        """Expect the schema that stands before the payload."""
        return self._reading.expect(record)

    def decoders(self, df: DataFrame, column: str) -> Sequence[Decoder]:
        """Return the decoders of a batch's binary column; runs a Spark job to find its schemas."""
        return self._reading.decoders(df, column)

    def expected_decoder(self, column: str) -> Decoder | None:
        """Return the decoder of the batch before, where it had only one schema."""
        return self._reading.expected_decoder(column)

    def encode_header(self, schema: Schema | None, column: Column) -> Column:
        """Return the bytes that ``encode`` returns."""
        return self.encode(schema, column)

    def to_bytes(self, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of one value."""
        if schema is None and value is None:
            return None
        payload = json_text.dumps(value) if schema is None else self._written(schema, value)
        if not self._enveloped:
            return payload.encode()
        head = json_envelope.schema_text(schema, numeric_decimals=self._numeric)
        return f'{{"schema":{head},"payload":{payload}}}'.encode()

    def _written(self, schema: Schema, value: Any) -> str:
        return _value_text(schema, value, numeric_decimals=self._numeric, replace_null=self._encoding.replace_null)

    def to_value(self, data: bytes | None) -> tuple[Schema | None, Any]:
        """Return schema and value of one header."""
        if data is None:
            return None, None
        schema, payload = self._parted(data)
        if schema is None:
            return None, payload
        return schema, _read(schema, payload, replace_null=self._encoding.replace_null)

    def _parted(self, data: bytes) -> tuple[Schema | None, Any]:
        try:
            found = jackson.from_json(data) if data else None
        except ValueError as error:
            raise DataError(MALFORMED) from error
        if not self._enveloped or self._fixed is not None:
            return self._fixed, found
        if not isinstance(found, dict) or found.keys() != {"schema", "payload"}:
            raise DataError(NO_ENVELOPE)
        return json_envelope.from_json(found["schema"]), found["payload"]


def _schema_content(text: str | None) -> Schema | None:
    if not text:
        return None
    try:
        return json_envelope.from_json(json.loads(text))
    except (ValueError, DataError) as error:
        raise ConfigError(f"Failed to parse schema in converter config due to serialization error: {error}") from error


def _value_text(schema: Schema, value: Any, *, numeric_decimals: bool, replace_null: bool) -> str:
    """Return the JSON text of a value.

    Raises:
        DataError: with Java's text; it has null where the schema allows none.
    """
    filled = _filled(schema, value, replace_null)
    return json_text.dumps(json_envelope.value_to_json(schema, filled, numeric_decimals=numeric_decimals))


def _filled(schema: Schema, value: Any, replace_null: bool) -> Any:
    if value is None:
        return _in_place_of_null(schema, replace_null, REQUIRED_IS_NULL)
    match schema.type:
        case SchemaType.STRUCT:
            return {f.name: _filled(f.schema, value.get(f.name), replace_null) for f in schema.fields}
        case SchemaType.ARRAY:
            return [_filled(schema.item, item, replace_null) for item in value]
        case SchemaType.MAP:
            return {
                _filled(schema.key, key, replace_null): _filled(schema.item, item, replace_null)
                for key, item in value.items()
            }
        case _:
            return value


def _read(schema: Schema, found: Any, *, replace_null: bool) -> Any:
    """Return the value that parsed JSON holds.

    Raises:
        DataError: it does not fit the schema.
    """
    if found is None:
        return _in_place_of_null(schema, replace_null, f"Invalid null value for required {schema.type.name} field")
    try:
        return _read_present(schema, found, replace_null)
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"Payload does not fit its schema of type {schema.type.name}") from error


def _read_present(schema: Schema, found: Any, replace_null: bool) -> Any:
    match schema.type:
        case SchemaType.STRUCT:
            return {f.name: _read(f.schema, found.get(f.name), replace_null=replace_null) for f in schema.fields}
        case SchemaType.ARRAY:
            return [_read(schema.item, item, replace_null=replace_null) for item in found]
        case SchemaType.MAP:
            pairs = found.items() if schema.key.type is SchemaType.STRING else found
            return {
                _read(schema.key, key, replace_null=replace_null): _read(schema.item, item, replace_null=replace_null)
                for key, item in pairs
            }
        case _:
            return json_envelope.value_from_json(schema, found)


def _in_place_of_null(schema: Schema, replace_null: bool, error: str) -> Any:
    if schema.default is not None and replace_null:
        return schema.default
    if not schema.optional:
        raise DataError(error)
    return None
