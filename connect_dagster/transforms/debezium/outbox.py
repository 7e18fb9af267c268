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
from typing import ClassVar

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_patterns import Regex
from connect_dagster.expressions.struct_edits import field_value
from connect_dagster.plugin.config import ConfigDef
from connect_dagster.plugin.frames import Frame, RecordFrame
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType
from connect_dagster.transforms._support.record_headers import converter_of, with_headers
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
    without_value,
)
from connect_dagster.transforms.debezium.json_payloads import Expansion, expanded, shape
from connect_dagster.transforms.debezium.outbox_table import (
    PAYLOAD,
    REGEX,
    EventRouterConfig,
    OutboxTable,
    Placement,
    has_envelope,
)

_ID_HEADER, _SHAPE = "id", "__shape"
_DELETE, _UPDATE = "d", "u"


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
        self._topics = Regex(REGEX, options.regex, options.replacement)
        self._expansion = Expansion(options.nulls.lower(), options.names.lower()) if options.expands else None
        self._routes: dict[tuple[Schema, int | None], str] = {}
        # Then schemas depend on the payloads, on versions, or on the first event.
        self.deterministic = not options.expands and not has_envelope(options.additional)

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
        found = frame.df.groupBy(_SHAPE).agg(F.min(payload).alias(PAYLOAD)).collect()
        by_schema: dict[Schema, list[str]] = {}
        for row in found:
            text = row[PAYLOAD]
            made = None if text is None else expanded(self._options.payload_field, text, self._expansion)
            if made is not None:
                by_schema.setdefault(made, []).append(row[_SHAPE])
        parts = []
        for made, shapes in by_schema.items():
            part, frame = frame.split(F.col(_SHAPE).isin(*shapes))
            parts.append((_without_shape(part), F.from_json(payload, made.to_spark().json()), made))
        return [*parts, (_without_shape(frame), payload, schema)]

    def _with_values(
        self, frame: Frame, table: OutboxTable, event: Column, payload: Column, schema: Schema
    ) -> list[Frame]:
        """Return the events with their values: the payload, or a struct with further fields."""
        if not has_envelope(self._options.additional):
            return [frame.with_value(payload, schema)]
        more = [(one.alias, field) for one, field in table.placed(Placement.ENVELOPE)]
        parts = [(name, field_value(event, field, replace_null=True, struct_null=True)) for name, field in more]
        value = F.struct(payload.alias(PAYLOAD), *(column.alias(name) for name, column in parts))
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
