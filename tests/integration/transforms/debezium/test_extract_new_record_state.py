"""ExtractNewRecordState on frames of change events: each option, and the records that pass."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.errors import DataError
from connect_dagster.plugin.converter import Predicate
from connect_dagster.plugin.frame_columns import FAILURE, ROW
from connect_dagster.plugin.frames import RecordFrame
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaType
from connect_dagster.transforms.debezium.extract_new_record_state import ExtractNewRecordState
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.transforms import TransformationStage, apply_chain
from tests.integration.transforms.debezium.frames_of_events import (
    TOPIC,
    Event,
    Made,
    change,
    changes,
    made,
    optional,
    row,
    sink,
    source,
    values,
)
from tests.unit.transforms.debezium.change_events import ENVELOPE, INT64, names, struct
from tests.unit.transforms.debezium.change_events import ROW as ROW_SCHEMA

MODE = "delete.tombstone.handling.mode"
REQUIRED_ROW = replace(ROW_SCHEMA, optional=False)
ROWS = [row(1), row(1, "y"), row(2, None, "blue")]
HEARTBEAT = struct("io.debezium.connector.common.Heartbeat", 1, ts_ms=INT64)
COLORED = {"color": "red"}


def unwrapped(spark: SparkSession, config: Mapping[str, str]) -> list[Made]:
    return made(ExtractNewRecordState(), config, source(spark, changes()))


def deleted(id: int, name: str | None, color: str, mark: str, **more: Any) -> dict[str, Any]:
    return {**row(id, name, color), "__deleted": mark, **more}


MARKED = [
    deleted(1, "x", "red", "false"),
    deleted(1, "y", "red", "false"),
    deleted(1, "y", "red", "true"),
    deleted(2, None, "blue", "false"),
]
"""Rewritten, by which nulls take their default."""


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({MODE: "drop"}, ROWS),
        ({}, [*ROWS[:2], None, ROWS[2]]),
        ({MODE: "delete-to-tombstone"}, [*ROWS[:2], None, ROWS[2]]),
        ({MODE: "rewrite"}, MARKED),
        ({MODE: "rewrite-with-tombstone"}, [*MARKED[:3], None, MARKED[3]]),
        ({"delete.handling.mode": "drop"}, ROWS),
        ({"delete.handling.mode": "drop", "drop.tombstones": "false"}, [*ROWS[:2], None, ROWS[2]]),
        ({"delete.handling.mode": "none"}, [*ROWS[:2], None, ROWS[2]]),
        ({"delete.handling.mode": "none", "drop.tombstones": "false"}, [*ROWS[:2], None, None, ROWS[2]]),
        ({"delete.handling.mode": "rewrite"}, MARKED),
        ({"delete.handling.mode": "rewrite", "drop.tombstones": "false"}, [*MARKED[:3], None, MARKED[3]]),
    ],
    ids=str,
)
def test_deletes_and_tombstones(spark: SparkSession, config: dict[str, str], expected: list[Any]) -> None:
    assert values(unwrapped(spark, config)) == expected


@pytest.mark.parametrize(
    ("config", "schemas"),
    [
        ({MODE: "drop"}, [REQUIRED_ROW] * 3),
        ({}, [REQUIRED_ROW] * 2 + [ROW_SCHEMA, REQUIRED_ROW]),
        ({MODE: "delete-to-tombstone"}, [REQUIRED_ROW] * 2 + [None, REQUIRED_ROW]),
        ({"drop.tombstones": "false"}, [REQUIRED_ROW] * 2 + [None, REQUIRED_ROW]),
    ],
    ids=str,
)
def test_schemas_of_a_source(spark: SparkSession, config: dict[str, str], schemas: list[Schema | None]) -> None:
    assert [one.value_schema for one in unwrapped(spark, config)] == schemas


def test_a_sink_has_its_deletes_beside_its_rows(spark: SparkSession) -> None:
    events = [event for event in changes() if event.value is not None]
    found = made(ExtractNewRecordState(), {}, sink(spark, events))
    assert values(found) == [*ROWS[:2], None, ROWS[2]]
    assert {one.value_schema for one in found} == {ROW_SCHEMA}
    assert [one.key for one in found] == [{"id": 1}] * 3 + [{"id": 2}]
    found = made(ExtractNewRecordState(), {MODE: "drop"}, sink(spark, events))
    assert {one.value_schema for one in found} == {REQUIRED_ROW}


@pytest.mark.parametrize(("mode", "kept"), [("tombstone", []), ("rewrite", []), ("rewrite-with-tombstone", [None])])
def test_tombstones_in_a_frame_without_schema(spark: SparkSession, mode: str, kept: list[None]) -> None:
    tombstones = [Event(None, {"id": 1})]
    for frame in (source(spark, tombstones, None), sink(spark, tombstones, None)):
        found = made(ExtractNewRecordState(), {MODE: mode}, frame)
        assert values(found) == kept
        assert [(one.value_schema, one.key) for one in found] == [(None, {"id": 1})] * len(kept)


def test_a_null_with_an_optional_schema_keeps_it(spark: SparkSession) -> None:
    envelope = optional(ENVELOPE)
    (found,) = made(
        ExtractNewRecordState(), {MODE: "rewrite-with-tombstone"}, sink(spark, [Event(None, {"id": 1})], envelope)
    )
    assert (found.value, found.value_schema) == (None, envelope)


def test_records_that_are_not_envelopes_pass(spark: SparkSession) -> None:
    config = {MODE: "rewrite", "add.fields": "op", "add.headers": "op", "route.by.field": "name"}
    beats = [Event({"ts_ms": 5}, topic="__debezium-heartbeat.shop")]
    (found,) = made(ExtractNewRecordState(), config, source(spark, beats, HEARTBEAT))
    assert (found.value, found.value_schema, found.topic, found.headers) == (
        {"ts_ms": 5},
        HEARTBEAT,
        beats[0].topic,
        (),
    )
    text = '{"before":null,"after":{"id":1},"op":"c"}'
    found_texts = made(ExtractNewRecordState(), config, source(spark, [Event(text), Event("null"), Event("5")], None))
    assert values(found_texts) == [text, "5"]
    nameless = replace(ENVELOPE, name=None)
    (found,) = made(ExtractNewRecordState(), config, source(spark, [Event(change("c", None, row(1)))], nameless))
    assert found.value_schema == nameless


def test_added_fields(spark: SparkSession) -> None:
    config = {MODE: "rewrite", "add.fields": "op,source.ts_ms:at,transaction.id,ts_ms,snapshot,missing"}
    found = unwrapped(spark, config)
    more = {"__at": 1000, "__transaction_id": None, "__ts_ms": 2000, "__snapshot": None}
    assert values(found) == [{**one, "__op": op, **more} for one, op in zip(MARKED, ("c", "u", "d", "r"), strict=True)]
    assert found[0].value_schema is not None
    assert names(found[0].value_schema)[3:] == [
        "__deleted string?",
        "__op string?",
        "__at int64?",
        "__transaction_id string?",
        "__ts_ms int64?",
        "__snapshot string?",
    ]
    (first, *_) = unwrapped(spark, {"add.fields": "op", "add.fields.prefix": "dbz."})
    assert first.value == {**row(1), "dbz.op": "c"}


def test_a_row_with_the_name_of_an_added_field_fails(spark: SparkSession) -> None:
    with pytest.raises(DataError, match="field name duplication id"):
        unwrapped(spark, {"add.fields": "op:id", "add.fields.prefix": ""})


def test_nulls_stay_where_rows_are_not_rewritten_by_defaults(spark: SparkSession) -> None:
    found = unwrapped(spark, {MODE: "rewrite", "replace.null.with.default": "false"})
    assert [one.value["color"] for one in found] == [None, None, None, "blue"]


def test_added_headers(spark: SparkSession) -> None:
    config = {MODE: "rewrite-with-tombstone", "add.headers": "op,source.table:t,missing", "add.headers.prefix": "h."}
    found = unwrapped(spark, config)
    of_rows = [(("h.op", op), ("h.t", "goods")) for op in ("c", "u", "d", "r")]
    assert [one.headers for one in found] == [*of_rows[:3], (("h.op", "d"),), of_rows[3]]
    events = [Event(None, {"id": 1}, headers=[("a", "b")])]
    (tombstone,) = made(ExtractNewRecordState(), {**config, "add.headers": "table,op"}, source(spark, events, None))
    assert tombstone.headers == (("a", "b"), ("h.op", "d"))


def test_routes(spark: SparkSession) -> None:
    events = [
        Event(change("c", None, row(1, "new"))),
        Event(change("d", row(1, "old"))),
        Event(change("c", None, row(1, None))),
        Event(change("c", None, row(1, " \t"))),
    ]
    for mode in ("tombstone", "rewrite", "delete-to-tombstone"):
        found = made(ExtractNewRecordState(), {MODE: mode, "route.by.field": "name"}, source(spark, events))
        assert [one.topic for one in found] == ["new", "old", TOPIC, TOPIC]


@pytest.mark.parametrize(
    ("field", "message"), [("none", "none is not a valid field name"), ("id", "Field 'id' is not of type STRING")]
)
def test_a_route_is_a_field_of_text(spark: SparkSession, field: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        unwrapped(spark, {"route.by.field": field})


def test_fields_named_by_a_header_are_left_out(spark: SparkSession) -> None:
    listed = [("drop", '["name","id","__op"]')]
    events = [
        Event(change("c", None, row(1)), {"id": 1}, listed),
        Event(change("c", None, row(2)), {"id": 2}),
        Event(change("d", row(1)), {"id": 1}, listed),
        Event(change("c", None, row(3)), {"id": 3}, [("drop", "[]")]),
        Event(change("c", None, row(4)), {"id": 4}, [("drop", None)]),
        Event(change("c", None, row(5)), {"id": 5}, [("drop", "name")]),
    ]
    config = {MODE: "rewrite", "drop.fields.header.name": "drop", "add.fields": "op"}
    found = made(ExtractNewRecordState(), config, source(spark, events))
    assert values(found[:5]) == [
        {"id": 1, **COLORED, "__deleted": "false"},
        {**deleted(2, "x", "red", "false"), "__op": "c"},
        {"id": 1, **COLORED, "__deleted": "true", "__op": "d"},
        {**deleted(3, "x", "red", "false"), "__op": "c"},
        {**deleted(4, "x", "red", "false"), "__op": "c"},
    ]
    assert [one.failed for one in found] == [None] * 5 + ["Header drop has to be a list of field names"]


@pytest.mark.parametrize(
    ("compatibly", "value", "key"),
    [("true", {"id": 1, **COLORED}, {"id": 1, "other": 3}), ("false", COLORED, {"other": 3})],
)
def test_fields_left_out_of_keys_as_well(
    spark: SparkSession, compatibly: str, value: dict[str, Any], key: dict[str, Any]
) -> None:
    events = [Event(change("c", None, row(1)), {"id": 1, "part": 2, "other": 3}, [("drop", '["name","id","part"]')])]
    key_schema = struct("k", id=INT64, part=optional(INT64), other=INT64)
    config = {
        "drop.fields.header.name": "drop",
        "drop.fields.from.key": "true",
        "drop.fields.keep.schema.compatible": compatibly,
    }
    (found,) = made(ExtractNewRecordState(), config, source(spark, events, key_schema=key_schema))
    assert (found.value, found.key) == (value, key)
    assert found.key_schema is not None
    assert [field.name for field in found.key_schema.fields] == [*key]


class Small(Predicate):
    """Holds for the keys below 2."""

    def configure(self, config: Mapping[str, str]) -> None: ...

    def test(self, frame: RecordFrame) -> Column:
        return frame.column("key").getField("id") < 2


def test_records_for_which_a_predicate_is_false_pass(spark: SparkSession) -> None:
    transform = ExtractNewRecordState()
    transform.configure({})
    parts = apply_chain([TransformationStage("t", transform, Small())], source(spark, changes()))
    found = sorted((one[ROW], one.asDict(recursive=True)["value"]) for part in parts for one in part.df.collect())
    assert [number for number, _ in found] == [0, 1, 2, 4, 5]
    assert [value for _, value in found][:3] == [*ROWS[:2], None]
    assert [value["op"] for _, value in found[3:]] == ["t", "r"]


def test_a_record_that_failed_before_is_not_left_out(spark: SparkSession) -> None:
    frame = source(spark, changes()).fail_where(F.col("value").isNull(), "no value")
    for config in ({MODE: "drop"}, {}, {MODE: "rewrite-with-tombstone"}, {MODE: "delete-to-tombstone"}):
        transform = ExtractNewRecordState()
        transform.configure(config)
        parts = apply_chain([TransformationStage("t", transform)], frame)
        failed = [one[FAILURE].message for part in parts for one in part.df.collect() if one[FAILURE] is not None]
        assert failed == ["no value"]


def written(spark: SparkSession, config: Mapping[str, str], converters: Mapping[str, str]) -> list[bytes | None]:
    """The values as a source writes them."""
    transform = ExtractNewRecordState()
    transform.configure(config)
    key, value = JsonConverter(), JsonConverter()
    key.configure(converters, is_key=True)
    value.configure(converters, is_key=False)
    pipeline = SourcePipeline((TransformationStage("t", transform),), key, value, SimpleHeaderConverter())
    rows = pipeline.encode(pipeline.transform(source(spark, changes()))).collect()
    return [None if one.value is None else bytes(one.value) for one in sorted(rows, key=lambda one: one[ROW])]


def test_a_delete_as_json(spark: SparkSession) -> None:
    """A null with a schema is not a tombstone in JSON with schemas, which delete-to-tombstone is there for."""
    with_schema = written(spark, {}, {"schemas.enable": "true"})
    assert with_schema[0] is not None
    assert b'"optional":false,"name":"shop.ops.goods.Value"' in with_schema[0]
    assert with_schema[2] is not None
    assert with_schema[2].endswith(b'"optional":true,"name":"shop.ops.goods.Value"},"payload":null}')
    for schemas in ("true", "false"):
        assert written(spark, {MODE: "delete-to-tombstone"}, {"schemas.enable": schemas})[2] is None
        assert written(spark, {"drop.tombstones": "false"}, {"schemas.enable": schemas})[2] is None


def test_an_envelope_of_text_cannot_be_unwrapped(spark: SparkSession) -> None:
    text = Schema(SchemaType.STRING, optional=True)
    envelope = struct("x.Envelope", before=text, after=text, op=STRING_SCHEMA)
    frame = source(spark, [Event({"before": None, "after": "{}", "op": "c"})], envelope)
    with pytest.raises(DataError, match="Only Struct objects supported"):
        made(ExtractNewRecordState(), {}, frame)
