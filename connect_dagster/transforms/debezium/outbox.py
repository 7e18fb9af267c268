"""EventRouter: the rows of an outbox table become the events that an application has written into them.

Example:
    transforms.outbox.type=io.debezium.transforms.outbox.EventRouter
    transforms.outbox.route.by.field=aggregatetype
    transforms.outbox.table.fields.additional.placement=type:header:eventType

An insert becomes a record with the payload as its value, the id of the event as a header, and topic and key from
columns of the table. Deletes and tombstones are left out, and so are updates, which an outbox has none of. Records that
are not envelopes pass, among them all without schema.

Unlike Debezium, updates that are left out are not logged one by one. A value with further fields is named after the
topic value of the first event with a payload of its schema, as in Debezium.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar, Self

from pydantic import model_validator
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConfigError, ConnectError, DataError
from connect_dagster.expressions import java_patterns
from connect_dagster.expressions.java_patterns import Regex
from connect_dagster.expressions.struct_edits import builder_fault, field_value, fields_by_name
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Width,
    config_group,
    config_key,
    one_of_ignoring_case,
)
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.record_headers import converter_of, with_headers
from connect_dagster.transforms.debezium import json_payloads, schema_names
from connect_dagster.transforms.debezium.by_logical_table_router import check_replacement
from connect_dagster.transforms.debezium.envelopes import (
    AFTER,
    OP,
    TS_MS,
    SplittingTransform,
    field_of,
    is_blank,
    is_envelope,
    is_null,
    is_source,
    optional_one_of,
    without_value,
)
from connect_dagster.transforms.debezium.json_payloads import Expansion, expanded, shape

_PLACEMENTS = "table.fields.additional.placement"
_MISSING, _OLD_MISSING = "table.field.additional.missing", "table.fields.additional.error.on.missing"
_REGEX, _REPLACEMENT = "route.topic.regex", "route.topic.replacement"
_OLD_BEHAVIOR, _BEHAVIOR = "debezium.op.invalid.behavior", "table.op.invalid.behavior"
_FATAL, _WARN, _ERROR, _IGNORE = "fatal", "warn", "error", "ignore"
_PAYLOAD, _ID_HEADER, _SHAPE = "payload", "id", "__shape"
_KEY = "aggregateid"
_DELETE, _UPDATE = "d", "u"
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


def _column(name: str, default: str | None, doc: str, importance: Importance = Importance.LOW) -> Any:
    return config_key(name, default=default, importance=importance, doc=doc)


class EventRouterConfig(ConfigDef):
    """Options of the transform (Debezium: ``EventRouterConfigDefinition``)."""

    with config_group("Table", width=Width.MEDIUM):
        id_field: str = _column("table.field.event.id", "id", "Column with the event's id, which becomes a header.")
        key_field: str = _column("table.field.event.key", _KEY, "Column with the key of the event.")
        type_field: str = _column(
            "table.field.event.type",
            "type",
            f"Column with the type of the event; without effect, {_PLACEMENTS} gives it a place.",
        )
        payload_field: str = _column("table.field.event.payload", "payload", "Column with the payload of the event.")
        timestamp_field: str | None = _column(
            "table.field.event.timestamp",
            None,
            "Column with the time of the record; without one it is the time at which the change was read.",
            Importance.MEDIUM,
        )
        placements: tuple[str, ...] = config_key(
            _PLACEMENTS,
            default=(),
            importance=Importance.HIGH,
            validator=_valid_placements,
            doc="Further columns, each as column:placement or column:placement:alias, such as type:header:eventType. "
            "The placement is header, envelope, which makes the value a struct of them and the payload, or partition.",
        )
        missing: str = config_key(
            _MISSING,
            default=_ERROR,
            validator=one_of_ignoring_case(_ERROR, _IGNORE),
            doc="Whether a table without one of these columns is an error, or the column is ignored.",
        )
        version_field: str | None = _column(
            "table.field.event.schema.version",
            None,
            "Column with the version of the value's schema, where that is a struct.",
        )
        errs_on_missing: bool | None = config_key(
            _OLD_MISSING,
            default=None,
            doc=f"Of Debezium 2 and 3 up to 3.5: whether that is an error. {_MISSING} replaces it.",
        )
        behavior: str = config_key(
            _BEHAVIOR,
            default=_WARN,
            validator=one_of_ignoring_case(_WARN, _ERROR, _FATAL),
            doc="Whether an update makes a record fail (fatal), or is left out (warn, error).",
        )
        expands: bool = config_key(
            "table.expand.json.payload",
            default=False,
            doc="Whether a payload that is text with a JSON object becomes a struct, with a schema made from it; other "
            "text stays. A Spark job finds the shapes of each batch.",
        )
        nulls: str = config_key(
            "table.json.payload.null.behavior",
            default="ignore",
            validator=one_of_ignoring_case(*json_payloads.NULL_BEHAVIORS),
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
            "route.by.field", "aggregatetype", "Column whose value decides on the topic.", Importance.HIGH
        )
        regex: str = config_key(
            _REGEX,
            default="(?<routedByValue>.*)",
            importance=Importance.LOW,
            validator=java_patterns.regex,
            doc="Java regular expression for that value; where it matches as a whole, the replacement is the topic.",
        )
        replacement: str = config_key(
            _REPLACEMENT,
            default="outbox.event.${routedByValue}",
            importance=Importance.HIGH,
            doc="The topic; $1 or ${name} stands for a group of the expression.",
        )
        empty_is_tombstone: bool = config_key(
            "route.tombstone.on.empty.payload",
            default=False,
            importance=Importance.HIGH,
            doc="Whether an event whose payload is null or blank becomes a tombstone.",
        )
    old_key_field: str | None = _column(
        "table.field.event.payload.id",
        None,
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
        check_replacement(_REGEX, self.regex, _REPLACEMENT, self.replacement)
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
        if options.version_field is not None and _has_envelope(options.additional):
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
        fields = (SchemaField(_PAYLOAD, payload), *more)
        fault = builder_fault(field.name for field in fields)
        if fault is not None:
            raise DataError(fault)
        start, dot, end = (self.row.name or "").rpartition(".")
        name = f"{route}" if self.row.name is None else f"{start}{dot}{route}.{end}"
        return Schema(SchemaType.STRUCT, name=name, version=version, fields=fields)


def _has_envelope(additional: Sequence[AdditionalField]) -> bool:
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


class EventRouter(SplittingTransform):
    """Routes the events of an outbox table to topics."""

    config_def: ClassVar[type[ConfigDef]] = EventRouterConfig
    java_class = "io.debezium.transforms.outbox.EventRouter"

    def configure(self, config: Mapping[str, str]) -> None:
        """Compile the expression.

        Raises:
            ConfigError: an option is wrong.
        """
        options = EventRouterConfig.parse(config)
        self._options = options
        self._topics = Regex(_REGEX, options.regex, options.replacement)
        self._expansion = Expansion(options.nulls.lower(), options.names.lower()) if options.expands else None
        self._routes: dict[tuple[Schema, int | None], str] = {}
        # Then schemas depend on the payloads, on versions, or on the first event.
        self.deterministic = not options.expands and not _has_envelope(options.additional)

    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        """Return the events, and separately what gets another schema: tombstones, payloads of several shapes.

        Raises:
            ConnectError: the table lacks a column that an option names.
        """
        schema = frame.value_schema
        if schema is None or not is_envelope(schema):
            return [frame.where(~is_null(frame))]
        table = OutboxTable.of(field_of(schema, AFTER, SchemaType.STRUCT).schema, self._options)
        frame = self._events(frame, field_of(schema, OP, SchemaType.STRING).name)
        event = frame.column("value").getField(AFTER)
        frame = self._addressed(frame, table, schema, event)
        tombstones: list[Frame] = []
        payload = field_value(event, table.payload, replace_null=True, struct_null=True)
        if self._options.empty_is_tombstone:
            empty, frame = frame.split(_is_empty(payload, table.payload.schema))
            tombstones = [without_value(empty)]
        values = [
            part
            for one, expanded_payload, payload_schema in self._expanded(frame, payload, table.payload.schema)
            for part in self._with_values(one, table, event, expanded_payload, payload_schema)
        ]
        return [*tombstones, *values]

    def _events(self, frame: Frame, operation: str) -> Frame:
        """Return the inserts, and updates where they fail."""
        value = frame.column("value")
        op = F.coalesce(value.getField(operation), F.lit(""))
        fails = self._options.fails_at_updates
        dropped = (op == _DELETE) if fails else op.isin(_DELETE, _UPDATE)
        frame = frame.where(value.isNotNull() & ~dropped)
        if fails:
            update = value.isNotNull() & (op == _UPDATE)
            text = "Unexpected update message received, fail."
            frame = frame.fail_where(update, text, "java.lang.IllegalStateException")
        missing = value.isNotNull() & value.getField(AFTER).isNull()
        return frame.fail_where(missing, "Only Struct objects supported for [Read Outbox Event], found: null")

    def _addressed(self, frame: Frame, table: OutboxTable, schema: Schema, event: Column) -> Frame:
        """Return the events with their topic, partition, key, headers and timestamp."""

        def value(field: SchemaField) -> Column:
            return field_value(event, field, replace_null=True, struct_null=True)

        headers = [(_ID_HEADER, table.id), *((one.alias, field) for one, field in table.placed(Placement.HEADER))]
        converter = converter_of(frame)
        frame = with_headers(
            frame,
            # Records without an event have failed: what is required of its fields is not asked of them.
            [
                (name, F.when(event.isNotNull(), converter.encode_header(field.schema, value(field))))
                for name, field in headers
            ],
        )
        route = event.getField(table.route.name)
        text = f"An event has no value in {table.route.name}, which decides on its topic"
        frame = frame.fail_where(event.isNotNull() & route.isNull(), text, "java.lang.NullPointerException")
        frame = frame.with_column("topic", F.coalesce(self._topics.found(route), route))
        frame = frame.with_key(value(table.key), table.key.schema)
        frame = frame.with_column("timestamp", _milliseconds(frame, table, schema, event))
        partitions = table.placed(Placement.PARTITION)
        if partitions:
            _, field = partitions[-1]
            return frame.with_column("partition", event.getField(field.name))
        has_old = is_source(frame) and frame.has("partition")
        return frame.with_column("partition", F.lit(None).cast("int")) if has_old else frame

    def _expanded(self, frame: Frame, payload: Column, schema: Schema) -> list[tuple[Frame, Column, Schema]]:
        """Return the events by the schema of their payload; runs a Spark job where payloads are expanded."""
        if self._expansion is None or schema.type is not SchemaType.STRING:
            return [(frame, payload, schema)]
        # Other texts have no schema, and would each be a shape.
        frame = frame.with_column(_SHAPE, F.when(payload.startswith("{"), shape(payload)))
        found = frame.df.groupBy(_SHAPE).agg(F.min(payload).alias(_PAYLOAD)).collect()
        by_schema: dict[Schema, list[str]] = {}
        for row in found:
            text = row[_PAYLOAD]
            made = None if text is None else expanded(self._options.payload_field, text, self._expansion)
            if made is not None:
                by_schema.setdefault(made, []).append(row[_SHAPE])
        parts = []
        for made, shapes in by_schema.items():
            part, frame = frame.split(F.col(_SHAPE).isin(*shapes))
            parts.append((_without_shape(part), F.from_json(payload, made.to_spark()), made))
        return [*parts, (_without_shape(frame), payload, schema)]

    def _with_values(
        self, frame: Frame, table: OutboxTable, event: Column, payload: Column, schema: Schema
    ) -> list[Frame]:
        """Return the events with their values: the payload, or a struct with further fields."""
        if not _has_envelope(self._options.additional):
            return [frame.with_value(payload, schema)]
        more = [(one.alias, field) for one, field in table.placed(Placement.ENVELOPE)]
        parts = [(name, field_value(event, field, replace_null=True, struct_null=True)) for name, field in more]
        value = F.struct(payload.alias(_PAYLOAD), *(column.alias(name) for name, column in parts))
        frames: list[Frame] = []
        for part, version in self._by_version(frame, table, event):
            route = self._first_route(part, event.getField(table.route.name), (schema, version))
            frames.append(part.with_value(value, table.value_schema(schema, route, version)))
        return frames

    def _by_version(self, frame: Frame, table: OutboxTable, event: Column) -> list[tuple[Frame, int | None]]:
        if table.version is None:
            return [(frame, None)]
        version = field_value(event, table.version, replace_null=False)
        found = [row[0] for row in frame.df.select(version).distinct().collect() if row[0] is not None]
        parts = []
        for number in sorted(found):
            part, frame = frame.split(version == number)
            parts.append((part, number))
        return [*parts, (frame, None)]

    def _first_route(self, frame: Frame, route: Column, place: tuple[Schema, int | None]) -> str | None:
        """Return the value that decided on the topic of the first event of a schema; a Spark job finds a new one."""
        if place not in self._routes:
            found = frame.df.where(route.isNotNull()).select(route).limit(1).collect()
            if not found:
                return None
            self._routes[place] = found[0][0]
        return self._routes[place]


def _is_empty(payload: Column, schema: Schema) -> Column:
    """Return whether an event has no payload."""
    return payload.isNull() | is_blank(payload) if schema.type is SchemaType.STRING else payload.isNull()


def _milliseconds(frame: RecordFrame, table: OutboxTable, schema: Schema, event: Column) -> Column:
    """Return the timestamps of the events."""
    processed = frame.column("value").getField(field_of(schema, TS_MS, SchemaType.INT64).name)
    if table.timestamp is None:
        return processed
    field, units = table.timestamp
    found = event.getField(field.name)
    return F.coalesce(found if units == 1 else F.call_function("div", found, F.lit(units).cast("long")), processed)


def _without_shape(frame: Frame) -> Frame:
    return frame.with_rows(frame.df.drop(_SHAPE))
