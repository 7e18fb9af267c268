"""The columns of a table by parts of a record (Java: ``FieldsMetadata``). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from connect_dagster.connectors.jdbc.sink.config import KAFKA_KEY, JdbcSinkConfig, KeyMode
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaType


class Part(Enum):
    """The part of a record that a column comes from."""

    KEY = "key"
    """The key itself."""
    KEY_FIELD = "key field"
    VALUE = "value"
    """The value itself."""
    VALUE_FIELD = "value field"
    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class SinkField:
    """One column that records fill (Java: ``SinkRecordField``).

    Attributes:
        name: of the column, and of the field where the part has fields.
        schema: of its values.
        is_key: whether it belongs to the primary key.
    """

    name: str
    schema: Schema
    part: Part
    is_key: bool = False

    @property
    def optional(self) -> bool:
        """Return whether a column for it allows null."""
        return not self.is_key and self.schema.optional

    @property
    def default(self) -> Any:
        """Return the schema's default value."""
        return self.schema.default

    def __str__(self) -> str:
        kind = self.schema.type.name
        schema = f"{self.schema.name}:{kind}" if self.schema.name else kind
        key = "true" if self.is_key else "false"
        return f"SinkRecordField{{schema=Schema{{{schema}}}, name='{self.name}', isPrimaryKey={key}}}"


@dataclass(frozen=True, slots=True)
class SinkFields:
    """The columns that records of one pair of schemas fill.

    Attributes:
        keys: those of the primary key, in the order of ``pk.fields``.
        values: the others.
        created: all of them in the order in which a new table has them.
    """

    keys: tuple[SinkField, ...]
    values: tuple[SinkField, ...]
    created: tuple[SinkField, ...]

    @property
    def all(self) -> tuple[SinkField, ...]:
        """Return all columns, those of the key first."""
        return self.keys + self.values

    @classmethod
    def of(cls, config: JdbcSinkConfig, topic: str, key: Schema | None, value: Schema | None) -> SinkFields:
        """Return the columns for records of two schemas.

        Args:
            config: the connector's configuration.
            topic: named in errors.
            key: schema of the keys.
            value: schema of the values; ``None`` where all records are tombstones.

        Raises:
            ConnectError: the schemas do not fit the configuration; with Java's text.
        """
        if value is not None and value.type not in (SchemaType.STRUCT, SchemaType.STRING):
            raise ConnectError("Value schema must be of type Struct or String")
        keys = _KEYS[config.pk_mode](config, topic, key, value)
        values = _values(config, topic, value, {field.name for field in keys})
        if not keys and not values:
            raise ConnectError(f"No fields found using key and value schemas for table: {topic}")
        return cls(keys, values, _created(keys, values, value))


def _values(config: JdbcSinkConfig, topic: str, value: Schema | None, keys: set[str]) -> tuple[SinkField, ...]:
    if value is None:
        return ()
    if value.type is SchemaType.STRING:
        return (_single_value(config, topic, keys),)
    wanted = set(config.fields_whitelist)
    return tuple(
        SinkField(field.name, field.schema, Part.VALUE_FIELD)
        for field in value.fields
        if field.name not in keys and (not wanted or field.name in wanted)
    )


def _single_value(config: JdbcSinkConfig, topic: str, keys: set[str]) -> SinkField:
    wrong = [name for name in ("fields.whitelist", "timestamp.fields.list") if config.originals.get(name)]
    if wrong:
        raise ConnectError(
            f"Sink connector '{config.originals.get('name')}' is configured with field-level options that are not "
            f"applicable to String values: {', '.join(wrong)}. Remove these options, or have the upstream producer "
            "emit Struct values instead."
        )
    if config.string_column in keys:
        raise ConnectError(
            f"Configured string.output.value.column.name '{config.string_column}' conflicts with a primary key column "
            f"for table '{topic}'"
        )
    return SinkField(config.string_column, OPTIONAL_STRING_SCHEMA, Part.VALUE)


def _created(keys: Sequence[SinkField], values: Sequence[SinkField], value: Schema | None) -> tuple[SinkField, ...]:
    """Return Java's order: coordinates, fields of the value in its order, then those of the key only, by name."""
    found = {field.name: field for field in (*keys, *values)}
    of_value = [field.name for field in value.fields] if value is not None else []
    first = [name for name in (*KAFKA_KEY, *of_value, *(one.name for one in values)) if name in found]
    return tuple(found[name] for name in dict.fromkeys([*first, *sorted(found)]))


def _no_key(config: JdbcSinkConfig, topic: str, key: Schema | None, value: Schema | None) -> tuple[SinkField, ...]:
    return ()


def _kafka_key(config: JdbcSinkConfig, topic: str, key: Schema | None, value: Schema | None) -> tuple[SinkField, ...]:
    names = config.pk_fields or KAFKA_KEY
    if len(names) != len(KAFKA_KEY):
        raise ConnectError(
            f"PK mode for table '{topic}' is KAFKA so there should either be no field names defined for defaults "
            f"{_listed(KAFKA_KEY)} to be applicable, or exactly 3, defined fields are: {_listed(names)}"
        )
    schemas = (STRING_SCHEMA, Schema(SchemaType.INT32), Schema(SchemaType.INT64))
    parts = (Part.TOPIC, Part.PARTITION, Part.OFFSET)
    return tuple(
        SinkField(name, schema, part, is_key=True) for name, schema, part in zip(names, schemas, parts, strict=True)
    )


def _record_key(config: JdbcSinkConfig, topic: str, key: Schema | None, value: Schema | None) -> tuple[SinkField, ...]:
    if key is None:
        raise ConnectError(f"PK mode for table '{topic}' is RECORD_KEY, but record key schema is missing")
    if key.type is SchemaType.STRUCT:
        return _picked(config, topic, key, Part.KEY_FIELD)
    if key.type in (SchemaType.ARRAY, SchemaType.MAP):
        raise ConnectError(f"Key schema must be primitive type or Struct, but is of type: {key.type.name}")
    if len(config.pk_fields) != 1:
        raise ConnectError(
            "Need exactly one PK column defined since the key schema for records is a primitive type, "
            f"defined columns are: {_listed(config.pk_fields)}"
        )
    return (SinkField(config.pk_fields[0], key, Part.KEY, is_key=True),)


def _record_value(
    config: JdbcSinkConfig, topic: str, key: Schema | None, value: Schema | None
) -> tuple[SinkField, ...]:
    if value is None:
        raise ConnectError(f"PK mode for table '{topic}' is RECORD_VALUE, but record value schema is missing")
    if value.type is SchemaType.STRING:
        raise ConnectError("pk.mode record_value is not supported with String value schemas")
    return _picked(config, topic, value, Part.VALUE_FIELD)


def _picked(config: JdbcSinkConfig, topic: str, schema: Schema, part: Part) -> tuple[SinkField, ...]:
    fields = {field.name: field.schema for field in schema.fields}
    names = config.pk_fields or tuple(fields)
    where = "key" if part is Part.KEY_FIELD else "value"
    for name in names:
        if name not in fields:
            raise ConnectError(
                f"PK mode for table '{topic}' is {config.pk_mode.name} with configured PK fields {_listed(names)}, "
                f"but record {where} schema does not contain field: {name}"
            )
    return tuple(SinkField(name, fields[name], part, is_key=True) for name in names)


def _listed(names: Iterable[str]) -> str:
    return f"[{', '.join(names)}]"


_KEYS: Mapping[KeyMode, Any] = {
    KeyMode.NONE: _no_key,
    KeyMode.KAFKA: _kafka_key,
    KeyMode.RECORD_KEY: _record_key,
    KeyMode.RECORD_VALUE: _record_value,
}
