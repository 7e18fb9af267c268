"""ByLogicalTableRouter on frames of change events: topics, keys, names of schemas, and the records that pass."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema
from connect_dagster.transforms.debezium.by_logical_table_router import ByLogicalTableRouter, ByLogicalTableRouterConfig
from tests.integration.transforms.debezium.frames_of_events import (
    Event,
    Made,
    change,
    made,
    optional,
    row,
    sink,
    source,
    values,
)
from tests.unit.transforms.debezium.change_events import ENVELOPE, INT64, KEY, names, struct

SHARDS = {"topic.regex": r"(.*)_shard(\d+)", "topic.replacement": "$1"}
TABLE = "__dbz__physicalTableIdentifier"
FIRST, SECOND, OTHER = "shop.goods_shard1", "shop.goods_shard2", "shop.people"


def routed(frame: RecordFrame, config: Mapping[str, str] = SHARDS) -> list[Made]:
    return made(ByLogicalTableRouter(), config, frame)


def inserts(*topics: str) -> list[Event]:
    return [Event(change("c", None, row(number)), {"id": number}, topic=topic) for number, topic in enumerate(topics)]


def schema_names(one: Made) -> list[str | None]:
    """The names of the key, the envelope and its rows."""
    rows = [] if one.value_schema is None else [field.schema.name for field in one.value_schema.fields[:2]]
    key, value = (None if schema is None else schema.name for schema in (one.key_schema, one.value_schema))
    return [key, value, *rows]


def test_a_frame_of_one_topic(spark: SparkSession) -> None:
    (found,) = routed(source(spark, inserts(FIRST)))
    assert (found.topic, found.key) == ("shop.goods", {"id": 0, TABLE: FIRST})
    assert schema_names(found) == ["shop.goods.Key", "shop.goods.Envelope", "shop.goods.Value", "shop.goods.Value"]
    # Java copies rows field by field, by which nulls take their default.
    assert found.value["after"] == row(0, "x", "red")
    assert (found.value["before"], found.value["op"]) == (None, "c")


def test_a_frame_of_several_topics(spark: SparkSession) -> None:
    found = routed(sink(spark, inserts(FIRST, OTHER, SECOND, "shop.people_shard1")))
    assert [one.topic for one in found] == ["shop.goods", OTHER, "shop.goods", "shop.people"]
    assert [one.key.get(TABLE) for one in found] == [FIRST, None, SECOND, "shop.people_shard1"]
    assert [one.key_schema and one.key_schema.name for one in found] == [
        "shop.goods.Key",
        KEY.name,
        "shop.goods.Key",
        "shop.people.Key",
    ]


def test_records_of_other_topics_pass(spark: SparkSession) -> None:
    for frame in (source(spark, inserts(OTHER)), sink(spark, inserts(OTHER))):
        (found,) = routed(frame)
        assert (found.topic, found.key_schema, found.value_schema) == (OTHER, KEY, ENVELOPE)
        assert (found.key, found.value["after"]) == ({"id": 0}, row(0))


def test_a_topic_that_becomes_empty_passes(spark: SparkSession) -> None:
    config = {"topic.regex": "(.*)x?(y?)", "topic.replacement": "$2"}
    for frame in (source(spark, inserts(FIRST)), sink(spark, inserts(FIRST))):
        (found,) = routed(frame, config)
        assert (found.topic, found.key_schema) == (FIRST, KEY)


def test_keys_name_their_table_in_another_way(spark: SparkSession) -> None:
    config = {**SHARDS, "key.field.name": "shard", "key.field.regex": r".*shard(\d)", "key.field.replacement": "s$1"}
    for frame in (source(spark, inserts(FIRST)), sink(spark, inserts(FIRST))):
        (found,) = routed(frame, config)
        assert found.key == {"id": 0, "shard": "s1"}
        assert found.key_schema is not None
        assert names(found.key_schema) == ["id int32", "shard string"]
    unmatched = {**config, "key.field.regex": r"none(\d)"}
    for frame in (source(spark, inserts(FIRST)), sink(spark, inserts(FIRST))):
        assert routed(frame, unmatched)[0].key == {"id": 0, "shard": FIRST}


def test_keys_may_stay(spark: SparkSession) -> None:
    (found,) = routed(source(spark, inserts(FIRST)), {**SHARDS, "key.enforce.uniqueness": "false"})
    assert (found.key, schema_names(found)[0]) == ({"id": 0}, "shop.goods.Key")


def test_names_for_avro(spark: SparkSession) -> None:
    config = {**SHARDS, "topic.replacement": "$1-all", "schema.name.adjustment.mode": "avro"}
    (found,) = routed(source(spark, inserts(FIRST)), config)
    assert found.topic == "shop.goods-all"
    assert schema_names(found) == [f"shop.goods_all.{name}" for name in ("Key", "Envelope", "Value", "Value")]


@pytest.mark.parametrize("schema", [None, ENVELOPE])
def test_tombstones_change_topic_and_key(spark: SparkSession, schema: Schema | None) -> None:
    (found,) = routed(source(spark, [Event(None, {"id": 1}, topic=FIRST)], schema))
    assert (found.value, found.topic, found.key) == (None, "shop.goods", {"id": 1, TABLE: FIRST})


def test_records_that_are_not_envelopes_change_topic_and_key(spark: SparkSession) -> None:
    schema = struct("shop.Heartbeat", ts_ms=INT64)
    (found,) = routed(source(spark, [Event({"ts_ms": 1}, {"id": 1}, topic=FIRST)], schema))
    assert (found.value, found.value_schema, found.topic) == ({"ts_ms": 1}, schema, "shop.goods")
    assert found.key == {"id": 1, TABLE: FIRST}


def test_records_without_a_key(spark: SparkSession) -> None:
    """A key of null has no schema afterwards, as in Java."""
    events = [*inserts(FIRST), replace(inserts(FIRST)[0], key=None)]
    keyed, keyless = routed(source(spark, events, key_schema=optional(KEY)))
    assert (keyed.key, keyed.key_schema and keyed.key_schema.optional) == ({"id": 0, TABLE: FIRST}, True)
    assert (keyless.key, keyless.key_schema, keyless.topic) == (None, None, "shop.goods")
    (found,) = routed(source(spark, [replace(inserts(FIRST)[0], key=None)], key_schema=None))
    assert (found.key, found.key_schema, found.failed) == (None, None, None)


@pytest.mark.parametrize(
    ("schema", "key", "found"),
    [
        (STRING_SCHEMA, "k", "java.lang.String"),
        (None, '{"id":1}', "java.util.HashMap"),
        (None, "5", "java.lang.Long"),
    ],
)
def test_a_key_that_is_not_a_struct_fails(spark: SparkSession, schema: Schema | None, key: str, found: str) -> None:
    events = [Event(change("c", None, row(1)), key, topic=FIRST)]
    (failed,) = routed(source(spark, events, key_schema=schema))
    assert failed.failed == f"Only Struct objects supported for [Updating schema], found: {found}"
    (passed,) = routed(source(spark, [replace(events[0], topic=OTHER)], key_schema=schema))
    assert (passed.failed, passed.key) == (None, key)


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("topic.replacement", {**SHARDS, "topic.replacement": "$9"}),
        ("topic.replacement", {**SHARDS, "topic.replacement": "${no}"}),
        ("key.field.replacement", {**SHARDS, "key.field.regex": "(a)", "key.field.replacement": "$2"}),
    ],
)
def test_a_replacement_with_other_groups_is_refused(spark: SparkSession, name: str, config: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as error:
        ByLogicalTableRouterConfig.parse(config)
    assert (error.value.name, error.value.value) == (name, config[name])
    assert f"(it may have groups of {name.replace('replacement', 'regex')}: " in str(error.value)


def test_values_are_in_their_order(spark: SparkSession) -> None:
    found = routed(sink(spark, inserts(FIRST, SECOND, FIRST, OTHER)))
    assert [value["after"]["id"] for value in values(found)] == [0, 1, 2, 3]
