"""JSON with a schema registry (Java: ``io.confluent.connect.json.JsonSchemaConverter``).

Example:
    value.converter=io.confluent.connect.json.JsonSchemaConverter
    value.converter.schema.registry.url=http://localhost:8081

Each record is a zero byte, the id of its schema in the registry, and JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, cast

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import reading as json_reading
from connect_dagster.converters.json import text as json_text
from connect_dagster.converters.json.decoding import JsonDecoding, once
from connect_dagster.converters.json.encoding import REQUIRED_IS_NULL, JsonEncoding
from connect_dagster.converters.json_schema.translation import FromConnect, ToConnect, has_entries
from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.converters.schema_registry.converter import Reading, RegistryConverter, Writing
from connect_dagster.converters.schema_registry.registry import JSON_SCHEMA, RegisteredSchema
from connect_dagster.errors import ConfigError, DataError
from connect_dagster.plugin.config import Importance, config_key, one_of_ignoring_case
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

_Change = Callable[[Schema, Column], Column]
_DIALECT = "http://json-schema.org/draft-07/schema#"
_NO_SCHEMA = "JsonSchemaConverter writes data with a schema only, and this record has none"


class JsonSchemaConverterConfig(SchemaRegistryConfig):
    """Options of the converter (Java: ``JsonSchemaConverterConfig``, ``JsonSchemaDataConfig``)."""

    open: bool = config_key(
        "object.additional.properties",
        default=True,
        doc="Whether objects may have more members than their schema says.",
    )
    required: bool = config_key(
        "use.optional.for.nonrequired",
        default=False,
        doc="Whether members that the schema does not require are optional.",
    )
    decimal_format: str = config_key(
        "decimal.format",
        default="BASE64",
        validator=one_of_ignoring_case("NUMERIC", "BASE64"),
        doc="How decimals are written: BASE64 (bytes of the unscaled value) or NUMERIC.",
    )
    cache_size: int = config_key(
        "schemas.cache.config",
        default=1000,
        importance=Importance.LOW,
        doc="How many schemas Java's converter remembers; all are remembered here, up to a fixed number.",
    )
    validate_records: bool = config_key(
        "json.fail.invalid.schema",
        default=False,
        doc="Not supported: check each record against constraints of its schema beyond types.",
    )


class JsonSchemaConverter(RegistryConverter):
    """Writes and reads JSON whose schemas lie in a registry."""

    config_def: ClassVar[type[SchemaRegistryConfig]] = JsonSchemaConverterConfig
    java_class = "io.confluent.connect.json.JsonSchemaConverter"
    format = "JSON"

    def _take(self, options: SchemaRegistryConfig) -> None:
        own = cast("JsonSchemaConverterConfig", options)
        if own.validate_records:
            raise ConfigError(
                "json.fail.invalid.schema=true is not supported: records are checked for their types only"
            )
        numeric = own.decimal_format.upper() == "NUMERIC"
        self._required = own.required
        self._from_connect = FromConnect(own.open, own.required, numeric)
        self._encoding = JsonEncoding(numeric)
        self._decoding = JsonDecoding()

    def encode_errors(self, schema: Schema | None, column: Column) -> Column | None:
        """Return the error of records with null where their schema allows none, or without a schema."""
        if schema is None:
            return F.when(column != "null", _NO_SCHEMA)
        broken = self._encoding.breaks(schema, column)
        return None if broken is None else F.when(broken, REQUIRED_IS_NULL)

    def _writing(self, topic: str, schema: Schema | None) -> Writing | None:
        if schema is None:
            return None
        document = self._from_connect.json_schema(schema)
        if "type" not in document:  # some registries would not take it for a schema else
            document = {"$schema": _DIALECT, **document}
        text = json_text.dumps(document)
        registered = self.registry.to_write(topic, schema.name, text, JSON_SCHEMA)
        listed = _listed(schema)

        def payload(column: Column) -> Column:
            if listed == schema:
                return self._encoding.written(schema, column)
            # Each field's text refers to the whole: without this the lists would be made for each.
            return once(_to_lists(schema, column), lambda made: self._encoding.written(listed, made))

        return Writing(registered.id, payload)

    def _reading(self, registered: RegisteredSchema) -> Reading:
        if registered.type != JSON_SCHEMA:
            raise DataError(f"Schema {registered.id} is {registered.type}, not JSON Schema")
        schema = ToConnect(json.loads(registered.text), self._others(registered), self._required).schema()
        listed = _listed(schema)

        def value(payload: Column) -> Column:
            read = json_reading.bare(self._decoding, listed, payload).value
            return read if listed == schema else once(read, lambda found: _from_lists(schema, found))

        def is_null(payload: Column) -> Column:
            return json_reading.bare(self._decoding, listed, payload).valid

        return Reading(schema, value, is_null if schema.optional else None)

    def _others(self, registered: RegisteredSchema) -> dict[str, Any]:
        found: dict[str, Any] = {}
        open_ = list(registered.references)
        while open_:
            reference = open_.pop()
            if reference.name not in found:
                other = self.registry.referenced(reference)
                found[reference.name] = json.loads(other.text)
                open_ += other.references
        return found


def _listed(schema: Schema) -> Schema:
    """Return the schema with lists of entries in place of maps that are not objects in JSON."""
    match schema.type:
        case SchemaType.STRUCT:
            return replace(schema, fields=tuple(SchemaField(one.name, _listed(one.schema)) for one in schema.fields))
        case SchemaType.ARRAY:
            return replace(schema, value_schema=_listed(schema.item))
        case SchemaType.MAP if has_entries(schema):
            parts = (SchemaField("key", _listed(schema.key)), SchemaField("value", _listed(schema.item)))
            entry = Schema(SchemaType.STRUCT, fields=parts)
            return replace(schema, type=SchemaType.ARRAY, key_schema=None, value_schema=entry, default=None)
        case SchemaType.MAP:
            return replace(schema, value_schema=_listed(schema.item))
        case _:
            return schema


def _to_lists(schema: Schema, column: Column) -> Column:
    """Return a column of the schema as one of the listed schema."""

    def entries(schema: Schema, column: Column) -> Column:
        return F.transform(F.map_entries(column), lambda pair: _entry(schema, pair, _to_lists))

    return _changed(schema, column, _to_lists, entries)


def _from_lists(schema: Schema, column: Column) -> Column:
    """Return a column of the listed schema as one of the schema."""

    def map_(schema: Schema, column: Column) -> Column:
        return F.map_from_entries(F.transform(column, lambda pair: _entry(schema, pair, _from_lists)))

    return _changed(schema, column, _from_lists, map_)


def _entry(schema: Schema, pair: Column, change: _Change) -> Column:
    key, value = change(schema.key, pair["key"]), change(schema.item, pair["value"])
    return F.struct(key.alias("key"), value.alias("value"))


def _changed(schema: Schema, column: Column, change: _Change, of_entries: _Change) -> Column:
    if _listed(schema) == schema:
        return column
    match schema.type:
        case SchemaType.STRUCT:
            parts = [change(one.schema, column.getField(one.name)).alias(one.name) for one in schema.fields]
            return F.when(column.isNotNull(), F.struct(*parts))
        case SchemaType.ARRAY:
            return F.transform(column, lambda item: change(schema.item, item))
        case SchemaType.MAP if has_entries(schema):
            return of_entries(schema, column)
        case _:
            return F.transform_values(column, lambda _, item: change(schema.item, item))
