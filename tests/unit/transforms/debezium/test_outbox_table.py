"""Options of EventRouter, what the columns of an outbox table are for, and the schemas of values."""

import pytest

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaType
from connect_dagster.transforms.debezium.outbox_table import AdditionalField, EventRouterConfig, OutboxTable, Placement
from tests.unit.transforms.debezium.change_events import INT32, INT64, names, struct

PLACEMENTS, BEHAVIOR = "table.fields.additional.placement", "table.op.invalid.behavior"
MICROS = Schema(SchemaType.INT64, name="io.debezium.time.MicroTimestamp", version=1)
ROW = struct(
    "shop.ops.outbox.Value",
    None,
    True,
    id=STRING_SCHEMA,
    aggregatetype=STRING_SCHEMA,
    aggregateid=STRING_SCHEMA,
    type=STRING_SCHEMA,
    payload=OPTIONAL_STRING_SCHEMA,
    at=MICROS,
    seconds=INT64,
    shard=INT32,
)


def table(row: Schema = ROW, /, **config: str) -> OutboxTable:
    """Return the table for options, whose dots are double underscores here."""
    return OutboxTable.of(row, EventRouterConfig.parse({name.replace("__", "."): one for name, one in config.items()}))


def test_defaults() -> None:
    options = EventRouterConfig.parse({})
    assert (options.id_field, options.key_field, options.type_field, options.payload_field, options.route_field) == (
        "id",
        "aggregateid",
        "type",
        "payload",
        "aggregatetype",
    )
    assert (options.regex, options.replacement) == ("(?<routedByValue>.*)", "outbox.event.${routedByValue}")
    assert (options.fails_at_updates, options.ignores_missing, options.additional) == (False, False, ())
    assert (options.empty_is_tombstone, options.expands, options.nulls) == (False, False, "ignore")


def test_further_columns() -> None:
    options = EventRouterConfig.parse({PLACEMENTS: "type:header:eventType, at : Envelope, shard:partition"})
    assert options.additional == (
        AdditionalField("type", Placement.HEADER, "eventType"),
        AdditionalField("at", Placement.ENVELOPE, "at"),
        AdditionalField("shard", Placement.PARTITION, "shard"),
    )


@pytest.mark.parametrize(
    ("config", "name", "right"),
    [
        ({PLACEMENTS: "type"}, PLACEMENTS, "header, envelope, partition; one is 'type'"),
        ({PLACEMENTS: "type:header:a:b"}, PLACEMENTS, "column:placement or column:placement:alias"),
        ({PLACEMENTS: "type:body"}, PLACEMENTS, "header, envelope, partition; one is 'type:body'"),
        ({PLACEMENTS: ":header"}, PLACEMENTS, "column:placement"),
        ({BEHAVIOR: "skip"}, BEHAVIOR, "FATAL"),
        ({"debezium.op.invalid.behavior": "skip"}, "debezium.op.invalid.behavior", "FATAL"),
        ({"table.field.additional.missing": "warn"}, "table.field.additional.missing", "IGNORE"),
        (
            {"table.fields.additional.error.on.missing": "no"},
            "table.fields.additional.error.on.missing",
            "true or false",
        ),
        ({"table.expand.json.payload": "1"}, "table.expand.json.payload", "true or false"),
        ({"table.json.payload.null.behavior": "null"}, "table.json.payload.null.behavior", "OPTIONAL_BYTES"),
        ({"field.name.adjustment.mode": "xml"}, "field.name.adjustment.mode", "AVRO"),
        ({"route.topic.regex": "("}, "route.topic.regex", "Invalid regex"),
        ({"route.tombstone.on.empty.payload": "1"}, "route.tombstone.on.empty.payload", "true or false"),
    ],
)
def test_a_wrong_option_is_refused_with_what_would_be_right(config: dict[str, str], name: str, right: str) -> None:
    with pytest.raises(ConfigError) as error:
        EventRouterConfig.parse(config)
    assert error.value.name == name
    assert f"for configuration {name}: " in str(error.value)
    assert right in str(error.value)


@pytest.mark.parametrize(
    ("config", "fails"),
    [
        ({BEHAVIOR: "fatal"}, True),
        ({BEHAVIOR: "Error"}, False),
        ({"debezium.op.invalid.behavior": "FATAL"}, True),
        ({"debezium.op.invalid.behavior": "warn", BEHAVIOR: "fatal"}, False),
    ],
)
def test_updates(config: dict[str, str], fails: bool) -> None:
    assert EventRouterConfig.parse(config).fails_at_updates is fails


@pytest.mark.parametrize(
    ("config", "column"),
    [
        ({}, "aggregateid"),
        ({"table.field.event.payload.id": "type"}, "type"),
        ({"table.field.event.payload.id": "type", "table.field.event.key": "id"}, "id"),
    ],
)
def test_keys_of_debezium_1(config: dict[str, str], column: str) -> None:
    assert OutboxTable.of(ROW, EventRouterConfig.parse(config)).key.name == column


def test_columns_of_the_table() -> None:
    found = table(table__field__event__timestamp="at", table__fields__additional__placement="type:header,at:envelope:t")
    assert (found.id.name, found.payload.name, found.key.name, found.route.name) == (
        "id",
        "payload",
        "aggregateid",
        "aggregatetype",
    )
    assert found.timestamp is not None
    assert (found.timestamp[0].name, found.timestamp[1]) == ("at", 1000)
    assert [one.alias for one, _ in found.placed(Placement.ENVELOPE)] == ["t"]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"table__field__event__payload": "no"}, "Unable to find payload field no in event"),
        ({"table__field__event__id": "no"}, "Unable to find event-id field no in event"),
        ({"table__field__event__key": "no"}, "no is not a valid field name"),
        ({"table__field__event__timestamp": "no"}, "Unable to find timestamp field no in event"),
        ({"table__field__event__timestamp": "shard"}, "Field 'shard' is not of type INT64"),
        ({"table__field__event__timestamp": "seconds"}, "Unsupported field type None for event timestamp in seconds"),
        ({"route__by__field": "no"}, "no is not a valid field name"),
        ({"route__by__field": "shard"}, "Field 'shard' is not of type STRING"),
        ({"table__fields__additional__placement": "no:header"}, "no is not a valid field name"),
        ({"table__fields__additional__placement": "type:partition"}, "Field 'type' is not of type INT32"),
        (
            {"table__fields__additional__placement": "type:envelope", "table__field__event__schema__version": "type"},
            "Field 'type' is not of type INT32",
        ),
    ],
)
def test_a_table_that_lacks_a_column_is_an_error(config: dict[str, str], message: str) -> None:
    with pytest.raises(ConnectError) as error:
        table(**config)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "ignoring",
    [{"table__field__additional__missing": "ignore"}, {"table__fields__additional__error__on__missing": "false"}],
)
def test_further_columns_that_are_missing_may_be_ignored(ignoring: dict[str, str]) -> None:
    found = table(table__fields__additional__placement="no:header,gone:envelope,type:envelope", **ignoring)
    assert [one.field for one, _ in found.additional] == ["type"]


def test_a_version_matters_to_structs_alone() -> None:
    version = {"table__field__event__schema__version": "shard"}
    assert table(**version).version is None
    assert table(table__fields__additional__placement="type:envelope", **version).version is not None


@pytest.mark.parametrize(
    ("name", "expected"),
    [("shop.ops.outbox.Value", "shop.ops.outbox.order.Value"), ("Value", "order.Value"), (None, "order")],
)
def test_values_are_named_after_row_and_route(name: str | None, expected: str) -> None:
    fields = {field.name: field.schema for field in ROW.fields}
    found = table(struct(name, **fields), table__fields__additional__placement="type:envelope:kind,shard:envelope")
    schema = found.value_schema(OPTIONAL_STRING_SCHEMA, "order", 2)
    assert (schema.name, schema.version, schema.optional) == (expected, 2, False)
    assert names(schema) == ["payload string?", "kind string", "shard int32"]


def test_fields_of_values_have_unique_names() -> None:
    found = table(table__fields__additional__placement="type:envelope:payload")
    with pytest.raises(ConnectError, match="Cannot create field because of field name duplication payload"):
        found.value_schema(STRING_SCHEMA, "order", None)
