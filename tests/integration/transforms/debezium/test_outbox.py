"""EventRouter on frames of an outbox table's change events: each option, and the records that pass."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaType
from connect_dagster.transforms.debezium.outbox import EventRouter
from connect_dagster.transforms.debezium.outbox_table import EventRouterConfig
from tests.integration.transforms.debezium.frames_of_events import Event, Made, change, made, sink, source, values
from tests.unit.transforms.debezium.change_events import INT32, INT64, envelope, names, struct

PLACEMENTS = "table.fields.additional.placement"


def moments(name: str) -> Schema:
    return Schema(SchemaType.INT64, optional=True, name=f"io.debezium.time.{name}", version=1)


ROW = struct(
    "shop.ops.outbox.Value",
    None,
    True,
    id=STRING_SCHEMA,
    aggregatetype=OPTIONAL_STRING_SCHEMA,
    aggregateid=STRING_SCHEMA,
    type=STRING_SCHEMA,
    payload=OPTIONAL_STRING_SCHEMA,
    millis=moments("Timestamp"),
    micros=moments("MicroTimestamp"),
    nanos=moments("NanoTimestamp"),
    version=Schema(SchemaType.INT32, optional=True),
    shard=INT32,
)
OUTBOX = envelope(ROW, title="shop.ops.outbox.Envelope")
KEY = struct("shop.ops.outbox.Key", id=STRING_SCHEMA)
TOPIC = "shop.ops.outbox"


def event(payload: str | None = "p", /, **fields: Any) -> Event:
    """Return the insert of an event."""
    columns = {
        "id": "e1",
        "aggregatetype": "order",
        "aggregateid": "7",
        "type": "OrderCreated",
        "payload": payload,
        "millis": 1_700_000_000_123,
        "micros": 1_700_000_000_123_456,
        "nanos": 1_700_000_000_123_456_789,
        "version": 1,
        "shard": 3,
    }
    return Event(change("c", None, {**columns, **fields}), {"id": "e1"}, topic=TOPIC)


def routed(spark: SparkSession, config: Mapping[str, str], *events: Event) -> list[Made]:
    return made(EventRouter(), config, outbox(spark, *events))


def outbox(spark: SparkSession, *events: Event) -> RecordFrame:
    return source(spark, events, OUTBOX, KEY)


def test_an_event(spark: SparkSession) -> None:
    (found,) = routed(spark, {}, event())
    assert (found.topic, found.key, found.value, found.headers) == ("outbox.event.order", "7", "p", (("id", "e1"),))
    assert (found.key_schema, found.value_schema) == (STRING_SCHEMA, OPTIONAL_STRING_SCHEMA)
    assert (found.timestamp, found.failed) == (2000, None)


def test_other_columns(spark: SparkSession) -> None:
    config = {
        "table.field.event.id": "aggregateid",
        "table.field.event.key": "shard",
        "table.field.event.payload": "type",
        "route.by.field": "id",
        "route.topic.regex": "e(.)",
        "route.topic.replacement": "events-$1",
    }
    (found,) = routed(spark, config, event())
    assert (found.topic, found.key, found.value, found.headers) == ("events-1", 3, "OrderCreated", (("id", "7"),))
    assert (found.key_schema, found.value_schema) == (INT32, STRING_SCHEMA)
    (found,) = routed(spark, {**config, "route.topic.regex": "x(.)"}, event())
    assert found.topic == "e1"


@pytest.mark.parametrize("column", ["millis", "micros", "nanos"])
def test_timestamps(spark: SparkSession, column: str) -> None:
    config = {"table.field.event.timestamp": column}
    found = routed(spark, config, event(), event(**{column: None}), event(**{column: -1}))
    last = -1 if column == "millis" else 0
    assert [one.timestamp for one in found] == [1_700_000_000_123, 2000, last]


def test_further_columns_in_headers_and_partition(spark: SparkSession) -> None:
    placements = "type:header:eventType,version:header,shard:partition"
    found = routed(spark, {PLACEMENTS: placements}, event(), event(version=None, shard=4))
    assert [one.partition for one in found] == [3, 4]
    assert found[0].headers == (("id", "e1"), ("eventType", "OrderCreated"), ("version", "1"))
    assert found[1].headers == (("id", "e1"), ("eventType", "OrderCreated"), ("version", None))
    earlier = replace(event(), headers=[("a", "b")])
    assert routed(spark, {}, earlier)[0].headers == (("a", "b"), ("id", "e1"))


def test_further_columns_in_the_value(spark: SparkSession) -> None:
    config = {PLACEMENTS: "type:envelope:eventType,shard:envelope"}
    found = routed(spark, config, event(), event(aggregatetype="customer"))
    assert values(found) == [{"payload": "p", "eventType": "OrderCreated", "shard": 3}] * 2
    assert [one.topic for one in found] == ["outbox.event.order", "outbox.event.customer"]
    # Both are named after the first one.
    (schema,) = {one.value_schema for one in found}
    assert schema is not None
    assert (schema.name, schema.version, schema.optional) == ("shop.ops.outbox.order.Value", None, False)
    assert names(schema) == ["payload string?", "eventType string", "shard int32"]


def test_versions_of_the_value(spark: SparkSession) -> None:
    config = {PLACEMENTS: "type:envelope", "table.field.event.schema.version": "version"}
    found = routed(spark, config, event(version=2), event(version=1), event(version=None), event(version=2))
    assert [one.value_schema and one.value_schema.version for one in found] == [2, 1, None, 2]


def test_columns_that_are_missing(spark: SparkSession) -> None:
    config = {PLACEMENTS: "type:header,gone:header,lost:envelope"}
    with pytest.raises(ConnectError, match="gone is not a valid field name"):
        routed(spark, config, event())
    (found,) = routed(spark, {**config, "table.field.additional.missing": "ignore"}, event())
    assert found.headers == (("id", "e1"), ("type", "OrderCreated"))
    assert found.value == {"payload": "p"}


def test_deletes_updates_and_tombstones_are_left_out(spark: SparkSession) -> None:
    columns = event().value["after"]
    others = [
        Event(change("d", columns), topic=TOPIC),
        Event(change("u", columns, columns), topic=TOPIC),
        Event(None, topic=TOPIC),
    ]
    read = Event(change("r", None, columns), topic=TOPIC)
    for behavior in ("warn", "error"):
        assert values(routed(spark, {"table.op.invalid.behavior": behavior}, event("a"), *others, read)) == ["a", "p"]
    found = routed(spark, {"table.op.invalid.behavior": "fatal"}, event("a"), *others)
    assert [one.failed for one in found] == [None, "Unexpected update message received, fail."]


def test_an_envelope_without_a_row_fails(spark: SparkSession) -> None:
    (found,) = routed(spark, {}, Event(change("t"), topic=TOPIC))
    assert found.failed == "Only Struct objects supported for [Read Outbox Event], found: null"


def test_an_event_without_a_topic_fails(spark: SparkSession) -> None:
    found = routed(spark, {}, event(aggregatetype=None), event())
    assert [one.failed for one in found] == [
        "An event has no value in aggregatetype, which decides on its topic",
        None,
    ]


@pytest.mark.parametrize("placements", ["", "type:envelope"])
def test_an_empty_payload_may_be_a_tombstone(spark: SparkSession, placements: str) -> None:
    events = [event(None), event(""), event(" \n"), event("p")]
    config = {"route.tombstone.on.empty.payload": "true", PLACEMENTS: placements}
    found = routed(spark, config, *events)
    assert values(found)[:3] == [None] * 3
    assert [one.value_schema is None for one in found] == [True] * 3 + [False]
    assert {(one.topic, one.key) for one in found} == {("outbox.event.order", "7")}
    assert None not in {one.value_schema for one in routed(spark, {PLACEMENTS: placements}, *events)}


def test_payloads_of_json_become_structs(spark: SparkSession) -> None:
    events = [
        event('{"id": 1, "name": "별 \\"x\\"", "tags": ["a", "b"], "none": null}'),
        event('{"id": 2, "name": "y", "tags": [], "none": null}'),
        event("text"),
        event(None),
        event('{ "id": 3, "name": "z", "tags": ["c"], "none": null }'),
        event("[1]"),
        event('{"at": 1.5, "big": 2147483648}'),
    ]
    found = routed(spark, {"table.expand.json.payload": "true"}, *events)
    assert values(found) == [
        {"id": 1, "name": '별 "x"', "tags": ["a", "b"]},
        {"id": 2, "name": "y"},
        "text",
        None,
        {"id": 3, "name": "z", "tags": ["c"]},
        "[1]",
        {"at": 1.5, "big": 2147483648},
    ]
    assert found[0].value_schema == found[4].value_schema
    assert found[6].value_schema is not None
    assert names(found[6].value_schema) == ["at double?", "big int64?"]
    config = {"table.expand.json.payload": "true", "table.json.payload.null.behavior": "optional_bytes"}
    assert routed(spark, config, events[1])[0].value == {"id": 2, "name": "y", "none": None}


def test_a_struct_of_json_beside_further_columns(spark: SparkSession) -> None:
    config = {"table.expand.json.payload": "true", PLACEMENTS: "type:envelope", "field.name.adjustment.mode": "avro"}
    (found,) = routed(spark, config, event('{"a": {"b": 1}}'))
    assert found.value == {"payload": {"a": {"b": 1}}, "type": "OrderCreated"}
    assert found.value_schema is not None
    assert found.value_schema.fields[0].schema.name == "payload"


def test_records_that_are_not_envelopes_pass(spark: SparkSession) -> None:
    beat = struct("io.debezium.connector.common.Heartbeat", ts_ms=INT64)
    (found,) = made(EventRouter(), {}, source(spark, [Event({"ts_ms": 1}, topic="beats")], beat))
    assert (found.value, found.value_schema, found.topic, found.headers) == ({"ts_ms": 1}, beat, "beats", ())
    texts = [Event('{"op":"c"}'), Event(None), Event("null")]
    assert values(made(EventRouter(), {}, source(spark, texts, None))) == ['{"op":"c"}']


def test_a_sink_keeps_its_partitions(spark: SparkSession) -> None:
    (found,) = made(EventRouter(), {}, sink(spark, [event()], OUTBOX, KEY))
    assert (found.value, found.partition, found.timestamp) == ("p", 0, 2000)


def test_a_replacement_with_other_groups_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ConfigError) as error:
        EventRouterConfig.parse({"route.topic.replacement": "${other}"})
    assert error.value.name == "route.topic.replacement"


@pytest.mark.parametrize(
    ("config", "deterministic"),
    [
        ({}, True),
        ({PLACEMENTS: "type:header"}, True),
        ({PLACEMENTS: "type:envelope"}, False),
        ({"table.expand.json.payload": "true"}, False),
    ],
    ids=str,
)
def test_plans_are_kept_where_records_do_not_decide(
    spark: SparkSession, config: dict[str, str], deterministic: bool
) -> None:
    transform = EventRouter()
    transform.configure(config)
    assert transform.deterministic is deterministic
