"""Transforms of fields on JSON text as producers write it: spelled and spaced in any way."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import SourceFrame


def changed(spark: SparkSession, name: str, config: Mapping[str, str], texts: Sequence[str | None]) -> list[Any]:
    """The parsed values after a transform; the message where a record failed."""
    transform = Plugins().transformation(name).plugin()
    transform.configure(config)
    df = spark.createDataFrame([(text,) for text in texts], "value string").coalesce(1)
    frame = transform.apply(SourceFrame(df, {}, {}, topic="orders", value_schema=None))
    rows = frame.df.collect()
    failed = [row[FAILURE] if frame.has(FAILURE) else None for row in rows]
    return [_parsed(row["value"]) if bad is None else bad["message"] for row, bad in zip(rows, failed, strict=True)]


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


@pytest.mark.parametrize(
    "name", ["InsertField", "InsertField$Value", "org.apache.kafka.connect.transforms.InsertField"]
)
def test_aliases(name: str) -> None:
    found = [one.class_name for one in Plugins().all() if name in (*one.aliases, one.class_name)]
    assert found == (["org.apache.kafka.connect.transforms.InsertField$Value"] if name.endswith("$Value") else [])


def test_fields_are_inserted_whatever_the_text_looks_like(spark: SparkSession) -> None:
    texts = [
        '{"a":1}',
        ' { "a" : 1 } ',
        '\r\n\t{"a":1}\n',
        "{}",
        '{"topic":"old","a":1}',
        '{"\\u0074opic":"old"}',
        "\n null",
        None,
        "[1]",
        '"x"',
    ]
    config = {"topic.field": "topic", "static.field": "s", "static.value": 'a "b"'}
    added = {"topic": "orders", "s": 'a "b"'}
    only = "Only Map objects supported in absence of schema for [field insertion], found: java."
    assert changed(spark, "InsertField$Value", config, texts) == [
        {"a": 1, **added},
        {"a": 1, **added},
        {"a": 1, **added},
        added,
        {"a": 1, **added},
        added,
        None,
        None,
        f"{only}util.ArrayList",
        f"{only}lang.String",
    ]


def test_inserted_fields_leave_the_other_text_alone(spark: SparkSession) -> None:
    df = spark.createDataFrame([('{"big":123456789012345678901234567890.10,"a":1.0}',)], "value string")
    transform = Plugins().transformation("InsertField$Value").plugin()
    transform.configure({"topic.field": "t"})
    after = transform.apply(SourceFrame(df, {}, {}, topic="orders", value_schema=None))
    assert after.df.first()["value"] == '{"big":123456789012345678901234567890.10,"a":1.0,"t":"orders"}'  # type: ignore[index]


def test_numbers_keep_their_kind(spark: SparkSession) -> None:
    texts = ['{"a":1.0}', '{"a":1}', '{"a":1e3}', '{"a":9223372036854775807}']
    found = changed(spark, "Cast$Value", {"spec": "a:string"}, texts)
    assert found == [{"a": "1.0"}, {"a": "1"}, {"a": "1000.0"}, {"a": "9223372036854775807"}]


def test_nested_objects_become_flat_at_any_depth(spark: SparkSession) -> None:
    deep = '{"a":' * 12 + "1" + "}" * 12
    texts = [deep, '{"a":{},"b":[{"c":1}],"d":{"e":null,"f":{"g":"{{{"}}}', '{"a":{"b":1},"a.b":2}']
    assert changed(spark, "Flatten$Value", {}, texts) == [
        {".".join("a" * 12): 1},
        {"b": [{"c": 1}], "d.e": None, "d.f.g": "{{{"},
        {"a.b": 2},
    ]


def test_of_fields_that_get_one_name_the_last_of_javas_map_stays(spark: SparkSession) -> None:
    assert changed(spark, "ReplaceField$Value", {"renames": "a:b"}, ['{"a":1,"b":2}', '{"a":1}', '{"b":2}']) == [
        {"b": 2},
        {"b": 1},
        {"b": 2},
    ]
