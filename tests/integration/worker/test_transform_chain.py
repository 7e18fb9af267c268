"""Chains of transforms over frames: predicates, schemas that differ afterwards, records left out."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.converter import Predicate, Transform
from connect_dagster.plugin.frame_columns import FAILURE, ROW
from connect_dagster.plugin.frames import Frame, RecordFrame, SourceFrame
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaType
from connect_dagster.predicates.topic_name_matches import TopicNameMatches
from connect_dagster.transforms.regex_router import RegexRouter
from connect_dagster.worker.transforms import TransformationStage, apply_chain


class Even(Predicate):
    def configure(self, config: Mapping[str, str]) -> None: ...

    def test(self, frame: RecordFrame) -> Column:
        return F.length("value") % 2 == 0


class Change(Transform):
    def configure(self, config: Mapping[str, str]) -> None: ...


class Upper(Change):
    def apply(self, frame: Frame) -> Frame:
        return frame.with_column("value", F.upper("value")).with_column("topic", F.lit("upper"))


class Length(Change):
    def apply(self, frame: Frame) -> Frame:
        return frame.with_value(F.length("value"), Schema(SchemaType.INT32))


class OnlyA(Change):
    def apply(self, frame: Frame) -> Frame:
        return frame.where(F.col("value").startswith("a"))


class Drop(Change):
    drops = True

    def apply(self, frame: Frame) -> Frame:
        return frame.where(F.lit(False))


class ShortAndLong(Change):
    """Leaves short texts as they are, and makes numbers of the others."""

    def apply(self, frame: Frame) -> Frame:
        raise AssertionError("a worker calls apply_split")

    def apply_split(self, frame: Frame) -> Sequence[Frame]:
        short, long = frame.split(F.length("value") < 3)
        return [long.with_value(F.length("value"), Schema(SchemaType.INT32)), short]


class Fail(Change):
    def apply(self, frame: Frame) -> Frame:
        return frame.fail_where(F.col("value").startswith("b"), F.concat(F.lit("not "), "value"))


@pytest.fixture
def frame(spark: SparkSession) -> SourceFrame:
    df = spark.createDataFrame([("a",), ("bb",), ("ccc",), ("aaaa",)], "value string")
    return SourceFrame(df, {"p": 1}, {"o": 1}, topic="t")


def test_a_predicate_leaves_one_frame_when_the_schemas_stay(frame: SourceFrame) -> None:
    (changed,) = apply_chain([TransformationStage("u", Upper(), Even())], frame)
    assert [tuple(row) for row in changed.df.select("value", "topic").collect()] == [
        ("a", "t"),
        ("BB", "upper"),
        ("ccc", "t"),
        ("AAAA", "upper"),
    ]


def test_a_predicate_decides_which_records_of_one_topic_are_routed(frame: SourceFrame) -> None:
    router = RegexRouter()
    router.configure({"regex": "t", "replacement": "even"})
    (routed,) = apply_chain([TransformationStage("r", router, Even())], frame)
    assert routed.topic is None
    assert [row.topic for row in routed.df.collect()] == ["t", "even", "t", "even"]
    (routed,) = apply_chain([TransformationStage("r", router)], frame)
    assert routed.topic == "even"


def test_a_predicate_of_the_topic_leaves_one_topic_to_records_of_one(frame: SourceFrame) -> None:
    """A column of topics would cost a job of Spark for each batch, to find which there are."""
    router = RegexRouter()
    router.configure({"regex": "t", "replacement": "other"})
    for pattern, negate, topic in (("t", False, "other"), ("t", True, "t"), ("x", False, "t"), ("x", True, "other")):
        matches = TopicNameMatches()
        matches.configure({"pattern": pattern})
        (routed,) = apply_chain([TransformationStage("r", router, matches, negate=negate)], frame)
        assert (routed.topic, routed.has("topic")) == (topic, False)


def test_a_negated_predicate(frame: SourceFrame) -> None:
    (changed,) = apply_chain([TransformationStage("u", Upper(), Even(), negate=True)], frame)
    assert [row.value for row in changed.df.collect()] == ["A", "bb", "CCC", "aaaa"]


def test_a_frame_in_two_where_the_schemas_differ_then(frame: SourceFrame) -> None:
    lengths, others = apply_chain([TransformationStage("l", Length(), Even())], frame)
    assert (lengths.value_schema, others.value_schema) == (Schema(SchemaType.INT32), STRING_SCHEMA)
    rows = [(row[ROW], row.value) for one in (lengths, others) for row in one.df.collect()]
    assert [value for _, value in sorted(rows)] == ["a", 2, "ccc", 4]


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (TransformationStage("s", ShortAndLong()), ["a", "bb", 3, 4]),
        (TransformationStage("s", ShortAndLong(), Even()), ["a", "bb", "ccc", 4]),
        (TransformationStage("s", ShortAndLong(), Even(), negate=True), ["a", "bb", 3, "aaaa"]),
    ],
)
def test_a_transform_gives_records_several_schemas(
    frame: SourceFrame, stage: TransformationStage, expected: list[str | int]
) -> None:
    parts = apply_chain([stage], frame)
    assert {part.value_schema for part in parts} == {Schema(SchemaType.INT32), STRING_SCHEMA}
    rows = sorted((row[ROW], row.value) for part in parts for row in part.df.collect())
    assert [value for _, value in rows] == expected


def test_records_left_out_where_the_predicate_holds(frame: SourceFrame) -> None:
    (left,) = apply_chain([TransformationStage("d", Drop(), Even())], frame)
    assert [row.value for row in left.df.collect()] == ["a", "ccc"]
    (left,) = apply_chain([TransformationStage("d", Drop())], frame)
    assert left.df.collect() == []
    parts = apply_chain([TransformationStage("a", OnlyA(), Even())], frame)
    assert sorted(row.value for one in parts for row in one.df.collect()) == ["a", "aaaa", "ccc"]


def test_a_record_that_failed_says_where_and_why(frame: SourceFrame) -> None:
    (failed,) = apply_chain([TransformationStage("f", Fail()), TransformationStage("u", Upper())], frame)
    found = {row.value: row[FAILURE] and row[FAILURE].asDict() for row in failed.df.collect()}
    assert found.pop("BB") == {
        "stage": "TRANSFORMATION",
        "executor": f"{__name__}.Fail",
        "exception": "org.apache.kafka.connect.errors.DataException",
        "message": "not bb",
    }
    assert found == {"A": None, "CCC": None, "AAAA": None}


def test_a_predicate_spares_records_from_failing(frame: SourceFrame) -> None:
    (spared,) = apply_chain([TransformationStage("f", Fail(), Even(), negate=True)], frame)
    assert [row[FAILURE] for row in spared.df.collect()] == [None] * 4


def test_a_frame_keeps_its_place(frame: SourceFrame) -> None:
    (changed,) = apply_chain(
        [TransformationStage("u", Upper(), Even())], replace(frame, other_offsets=(({"p": 2}, {"o": 3}),))
    )
    assert changed.offsets == (({"p": 1}, {"o": 1}), ({"p": 2}, {"o": 3}))


@pytest.mark.parametrize(
    "step",
    [
        TransformationStage("a", OnlyA()),
        TransformationStage("a", OnlyA(), Even()),
        TransformationStage("a", OnlyA(), Even(), negate=True),
        TransformationStage("d", Drop()),
        TransformationStage("d", Drop(), Even()),
        TransformationStage("l", Length(), Even()),
        TransformationStage("s", ShortAndLong()),
        TransformationStage("s", ShortAndLong(), Even()),
    ],
)
def test_a_record_that_failed_is_never_left_out(frame: SourceFrame, step: TransformationStage) -> None:
    parts = apply_chain([TransformationStage("f", Fail()), step], frame)
    failed = [row[FAILURE].message for one in parts for row in one.df.collect() if row[FAILURE]]
    assert failed == ["not bb"]
