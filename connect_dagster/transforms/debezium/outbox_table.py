"""Options of EventRouter, and what they make of the columns of an outbox table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

from pydantic import model_validator

from connect_dagster.errors import ConfigError, ConnectError, DataError
from connect_dagster.expressions import java_patterns
from connect_dagster.expressions.struct_edits import builder_fault, fields_by_name
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Width,
    config_group,
    config_key,
    one_of_ignoring_case,
)
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms.debezium import json_payloads, schema_names
from connect_dagster.transforms.debezium.envelopes import field_of
from connect_dagster.transforms.debezium.options import check_replacement, optional_one_of

REGEX, REPLACEMENT = "route.topic.regex", "route.topic.replacement"
PAYLOAD = "payload"
"""Field of the payload in values that are structs."""

_PLACEMENTS = "table.fields.additional.placement"
_MISSING, _OLD_MISSING = "table.field.additional.missing", "table.fields.additional.error.on.missing"
_OLD_BEHAVIOR, _BEHAVIOR = "debezium.op.invalid.behavior", "table.op.invalid.behavior"
_FATAL, _WARN, _ERROR, _IGNORE = "fatal", "warn", "error", "ignore"
_KEY = "aggregateid"
_FORM = "Each item has to be column:placement or column:placement:alias, where the placement is one of"
# Units of time of a column in a millisecond, by the name of its schema.
_UNITS = {
    "io.debezium.time.Timestamp": 1,
    "io.debezium.time.MicroTimestamp": 1_000,
    "io.debezium.time.NanoTimestamp": 1_000_000,
}


class Placement(Enum):
    """Where a further column goes."""

    HEADER = "header"
    ENVELOPE = "envelope"
    PARTITION = "partition"


@dataclass(frozen=True, slots=True)
class AdditionalField:
    """A further column of the table.

    Attributes:
        field: its name.
        placement: where it goes.
        alias: its name there.
    """

    field: str
    placement: Placement
    alias: str

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Return the field of an item of the option.

        Raises:
            ValueError: it has another form.
        """
        field, *others = (part.strip() for part in text.split(":"))
        if not field or len(others) not in (1, 2) or not others[-1]:
            raise ValueError(text)
        return cls(field, Placement(others[0].lower()), others[1] if len(others) == 2 else field)


def _valid_placements(name: str, value: Any) -> None:
    for item in value or ():
        try:
            AdditionalField.parsed(item)
        except ValueError as error:
            allowed = ", ".join(one.value for one in Placement)
            raise ConfigError.invalid(name, value, f"{_FORM} {allowed}; one is '{item}'") from error


def _column(
    name: str, default: str | None, display_name: str, doc: str, importance: Importance = Importance.LOW
) -> Any:
    return config_key(name, default=default, importance=importance, display_name=display_name, doc=doc)


class EventRouterConfig(ConfigDef):
    """Options of the transform (Debezium: ``EventRouterConfigDefinition``)."""

    with config_group("Table", width=Width.MEDIUM):
        id_field: str = _column(
            "table.field.event.id", "id", "Event ID Field", "Column with the event's id, which becomes a header."
        )
        key_field: str = _column("table.field.event.key", _KEY, "Event Key Field", "Column with the key of the event.")
        type_field: str = _column(
            "table.field.event.type",
            "type",
            "Event Type Field",
            f"Column with the type of the event; without effect, {_PLACEMENTS} gives it a place.",
        )
        payload_field: str = _column(
            "table.field.event.payload", "payload", "Event Payload Field", "Column with the payload of the event."
        )
        timestamp_field: str | None = _column(
            "table.field.event.timestamp",
            None,
            "Event Timestamp Field",
            "Column with the time of the record; without one it is the time at which the change was read.",
            Importance.MEDIUM,
        )
        placements: tuple[str, ...] = config_key(
            _PLACEMENTS,
            default=(),
            importance=Importance.HIGH,
            validator=_valid_placements,
            display_name="Settings for each additional column in the outbox table",
            doc="Further columns, each as column:placement or column:placement:alias, such as type:header:eventType. "
            "The placement is header, envelope, which makes the value a struct of them and the payload, or partition.",
        )
        missing: str = config_key(
            _MISSING,
            default=_ERROR,
            validator=one_of_ignoring_case(_ERROR, _IGNORE),
            display_name="Behavior when an additional field is missing in the change data",
            doc="Whether a table without one of these columns is an error, or the column is ignored.",
        )
        version_field: str | None = _column(
            "table.field.event.schema.version",
            None,
            "Event Schema Version Field",
            "Column with the version of the value's schema, where that is a struct.",
        )
        behavior: str = config_key(
            _BEHAVIOR,
            default=_WARN,
            validator=one_of_ignoring_case(_WARN, _ERROR, _FATAL),
            display_name="Behavior when capturing an unexpected outbox event",
            doc="Whether an update makes a record fail (fatal), or is left out (warn, error).",
        )
        expands: bool = config_key(
            "table.expand.json.payload",
            default=False,
            display_name="Expand Payload escaped string as real JSON",
            doc="Whether a payload that is text with a JSON object becomes a struct, with a schema made from it; other "
            "text stays. A Spark job finds the shapes of each batch.",
        )
        nulls: str = config_key(
            "table.json.payload.null.behavior",
            default="ignore",
            validator=one_of_ignoring_case(*json_payloads.NULL_BEHAVIORS),
            display_name="Behavior when json payload including null value",
            doc="Whether a null in such an object has no field (ignore), or is one of bytes (optional_bytes).",
        )
        names: str = config_key(
            "field.name.adjustment.mode",
            default="none",
            validator=one_of_ignoring_case(*schema_names.MODES),
            importance=Importance.LOW,
            doc="How characters that Avro's names cannot have are written in the fields of such a struct.",
        )
    with config_group("Router", width=Width.MEDIUM):
        route_field: str = _column(
            "route.by.field",
            "aggregatetype",
            "Field to route events by",
            "Column whose value decides on the topic.",
            Importance.HIGH,
        )
        regex: str = config_key(
            REGEX,
            default="(?<routedByValue>.*)",
            importance=Importance.LOW,
            validator=java_patterns.regex,
            display_name="The name of the routed topic",
            doc="Java regular expression for that value; where it matches as a whole, the replacement is the topic.",
        )
        replacement: str = config_key(
            REPLACEMENT,
            default="outbox.event.${routedByValue}",
            importance=Importance.HIGH,
            display_name="The name of the routed topic",
            doc="The topic; $1 or ${name} stands for a group of the expression.",
        )
        empty_is_tombstone: bool = config_key(
            "route.tombstone.on.empty.payload",
            default=False,
            importance=Importance.HIGH,
            display_name="Empty payloads cause a tombstone message",
            doc="Whether an event whose payload is null or blank becomes a tombstone.",
        )
    errs_on_missing: bool | None = config_key(
        _OLD_MISSING,
        default=None,
        width=Width.MEDIUM,
        doc=f"Of Debezium 2 and 3 up to 3.5: whether that is an error. {_MISSING} replaces it.",
    )
    old_key_field: str | None = _column(
        "table.field.event.payload.id",
        None,
        "",
        "Of Debezium 1: column with the key, where table.field.event.key is not set.",
    )
    old_behavior: str | None = config_key(
        _OLD_BEHAVIOR,
        default=None,
        importance=Importance.LOW,
        validator=optional_one_of(_WARN, _ERROR, _FATAL),
        doc=f"Earlier name of {_BEHAVIOR}.",
    )

    @model_validator(mode="after")
    def _fits(self) -> Self:
        check_replacement(REGEX, self.regex, REPLACEMENT, self.replacement)
        return self

    @property
    def key_column(self) -> str:
        """Return the column with the key."""
        return self.old_key_field if self.old_key_field and self.key_field == _KEY else self.key_field

    @property
    def fails_at_updates(self) -> bool:
        """Return whether an update makes its record fail."""
        return (self.old_behavior or self.behavior).lower() == _FATAL

    @property
    def ignores_missing(self) -> bool:
        """Return whether a table may lack one of the further columns."""
        return self.missing.lower() == _IGNORE or self.errs_on_missing is False

    @property
    def additional(self) -> tuple[AdditionalField, ...]:
        """Return the further columns."""
        return tuple(map(AdditionalField.parsed, self.placements))


@dataclass(frozen=True, slots=True)
class OutboxTable:
    """The purposes of the columns of an outbox table.

    Attributes:
        row: schema of the table's rows.
        id: becomes a header.
        payload: becomes the value, or a field of it.
        key: becomes the key.
        route: decides on the topic.
        timestamp: with the units of a millisecond; ``None`` for the time in the envelope.
        version: of the value's schema; ``None`` for none.
        additional: further columns with their places; those that are missing are left out.
    """

    row: Schema
    id: SchemaField
    payload: SchemaField
    key: SchemaField
    route: SchemaField
    timestamp: tuple[SchemaField, int] | None
    version: SchemaField | None
    additional: tuple[tuple[AdditionalField, SchemaField], ...]

    @classmethod
    def of(cls, row: Schema, options: EventRouterConfig) -> Self:
        """Return the table whose rows have a schema.

        Raises:
            ConnectError: it lacks a column, or one is of a wrong type.
        """
        fields = fields_by_name(row)
        for name, purpose in ((options.payload_field, "payload"), (options.id_field, "event-id")):
            if name not in fields:
                raise ConnectError(f"Unable to find {purpose} field {name} in event")
        version = None
        if options.version_field is not None and has_envelope(options.additional):
            version = field_of(row, options.version_field, SchemaType.INT32)
        return cls(
            row,
            fields[options.id_field],
            fields[options.payload_field],
            field_of(row, options.key_column),
            field_of(row, options.route_field, SchemaType.STRING),
            _timestamp(row, options.timestamp_field),
            version,
            tuple(
                (one, field_of(row, one.field, SchemaType.INT32 if one.placement is Placement.PARTITION else None))
                for one in options.additional
                if not (options.ignores_missing and one.field not in fields)
            ),
        )

    def placed(self, placement: Placement) -> list[tuple[AdditionalField, SchemaField]]:
        """Return the further columns of a placement."""
        return [(one, field) for one, field in self.additional if one.placement is placement]

    def value_schema(self, payload: Schema, route: str | None, version: int | None) -> Schema:
        """Return the schema of values that are structs.

        Args:
            payload: schema of the payload.
            route: value of the column that decides on the topic.
            version: of the schema.

        Raises:
            DataError: two fields have one name.
        """
        more = [SchemaField(one.alias, field.schema) for one, field in self.placed(Placement.ENVELOPE)]
        fields = (SchemaField(PAYLOAD, payload), *more)
        fault = builder_fault(field.name for field in fields)
        if fault is not None:
            raise DataError(fault)
        start, dot, end = (self.row.name or "").rpartition(".")
        name = f"{route}" if self.row.name is None else f"{start}{dot}{route}.{end}"
        return Schema(SchemaType.STRUCT, name=name, version=version, fields=fields)


def has_envelope(additional: Sequence[AdditionalField]) -> bool:
    """Return whether values are structs, with further fields."""
    return any(one.placement is Placement.ENVELOPE for one in additional)


def _timestamp(row: Schema, name: str | None) -> tuple[SchemaField, int] | None:
    if name is None:
        return None
    if name not in fields_by_name(row):
        raise ConnectError(f"Unable to find timestamp field {name} in event")
    field = field_of(row, name, SchemaType.INT64)
    if field.schema.name not in _UNITS:
        allowed = ", ".join(_UNITS)
        raise ConnectError(
            f"Unsupported field type {field.schema.name} for event timestamp in {name}; it has to be one of {allowed}"
        )
    return field, _UNITS[field.schema.name]
