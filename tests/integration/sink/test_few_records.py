"""Frames of few records beside frames over the same DataFrame: the same columns, without a job."""

import datetime
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.converters.plain.string_converter import StringConverter
from connect_dagster.kafka.fetched_records import FetchedRecords
from connect_dagster.plugin.converter import Predicate, Transform
from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.predicates.has_header_key import HasHeaderKey
from connect_dagster.predicates.record_is_tombstone import RecordIsTombstone
from connect_dagster.transforms.filter import Filter
from connect_dagster.transforms.hoist_field import HoistFieldValue
from connect_dagster.transforms.regex_router import RegexRouter
from connect_dagster.worker.bytes_bound import ReadBound
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.few_records import FewRecords
from connect_dagster.worker.sink.pipeline import OTHER_SCHEMA, UNREADABLE, SinkPipeline
from connect_dagster.worker.sink.planned_frame import PlannedFrame
from connect_dagster.worker.sink.plans import SinkPlanner
from connect_dagster.worker.sink.stream import MicroBatch
from connect_dagster.worker.transforms import TransformationStage

WHEN = datetime.datetime(2026, 1, 2, 3, 4, 5, 6000, tzinfo=datetime.UTC)
COLUMNS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def rows(*values: bytes | None) -> pa.Table:
    return pa.Table.from_pylist(
        [
            {
                "key": f"k{offset}".encode(),
                "value": value,
                "topic": "t",
                "partition": 0,
                "offset": offset,
                "timestamp": WHEN,
                "timestampType": 0,
                "headers": [{"key": "h", "value": b"1"}] if offset % 2 else None,
            }
            for offset, value in enumerate(values)
        ],
        COLUMNS,
    )


def pipeline(converter: type[StringConverter] | type[JsonConverter] = StringConverter, **options: Any) -> SinkPipeline:
    key, value = StringConverter(), converter()
    key.configure({}, is_key=True)
    value.configure({}, is_key=False)
    return SinkPipeline(key, value, SimpleHeaderConverter(), **{"tolerate": False, "headers": True, **options})


def few(spark: SparkSession, table: pa.Table) -> FewRecords:
    return FewRecords(spark, table, lambda: spark.createDataFrame(table))


def frame_of(pipeline: SinkPipeline, spark: SparkSession, table: pa.Table) -> SinkFrame:
    frame = pipeline.expected_of_few(few(spark, table))
    assert isinstance(frame, PlannedFrame)
    return frame


def jobs(spark: SparkSession, call: Callable[[], object]) -> int:
    """Return the number of Spark jobs of a call."""
    group = str(uuid.uuid4())
    spark.sparkContext.setJobGroup(group, group)
    call()
    # The tracker has jobs that have ended, once its listener was told of them.
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))


def test_records_and_columns_are_those_of_the_usual_frame(spark: SparkSession) -> None:
    planned, line = pipeline(), F.concat(F.col("value"), F.lit("!")).alias("line")
    for table in (rows(b"a", None, b""), rows(b"b"), rows("ü".encode(), b"\xff"), rows(b"c", b"d")):
        frame = frame_of(planned, spark, table)
        usual = planned.expected(spark.createDataFrame(table))
        assert usual is not None
        (plain,) = usual.frames
        assert frame.records() == plain.records()
        assert frame.to_arrow("offset", line).equals(plain.to_arrow("offset", line))
        assert frame.to_arrow().schema == plain.to_arrow().schema
        assert frame.df.columns == plain.df.columns
        assert [frame.has(name) for name in ("value", "headers", "other")] == [True, True, False]


def test_columns_that_are_selected_again_need_no_job(spark: SparkSession) -> None:
    planned, line = pipeline(), F.upper("value").alias("line")
    counts = []
    for number in range(4):
        frame = frame_of(planned, spark, rows(b"a", f"{number}".encode()))
        counts.append(jobs(spark, lambda frame=frame: frame.to_arrow(line)))  # type: ignore[misc]
    assert counts[0] > 0
    assert counts[1:] == [0, 0, 0]


@pytest.mark.parametrize(
    "column", [lambda: F.upper("value"), lambda: F.rand()], ids=["other columns each time", "a random number"]
)
def test_other_columns_are_planned_as_usual(spark: SparkSession, column: Callable[[], Any]) -> None:
    planned, fixed = pipeline(), column()
    for number in range(20):
        frame = frame_of(planned, spark, rows(f"{number}".encode()))
        (made,) = frame.to_arrow(column() if number % 2 else fixed).to_pylist()
        assert len(made) == 1


def test_a_frame_with_other_columns_or_rows_is_a_frame_as_others(spark: SparkSession) -> None:
    planned = pipeline()
    for _ in range(3):
        frame = frame_of(planned, spark, rows(b"a", b"b"))
        changed = frame.with_column("value", F.upper("value"))
        assert [record.value for record in changed.records()] == ["A", "B"]
        assert [record.value for record in frame.where(F.col("offset") > 0).records()] == ["b"]
        assert replace(frame, df=changed.df).to_arrow("value")["value"].to_pylist() == ["A", "B"]
        assert [record.value for record in frame.records()] == ["a", "b"]


def test_a_record_that_cannot_be_read_raises_as_usual(spark: SparkSession) -> None:
    planned = pipeline(JsonConverter)
    text = b'{"schema":{"type":"string","optional":true},"payload":"a"}'
    assert planned.expected_of_few(few(spark, rows(text))) is None
    with planned.searched(spark.createDataFrame(rows(text))):
        pass
    for _ in range(3):
        assert [one.value for one in frame_of(planned, spark, rows(text)).records()] == ["a"]
    other = b'{"schema":{"type":"int64","optional":true},"payload":1}'
    with pytest.raises(Exception, match=OTHER_SCHEMA):
        frame_of(planned, spark, rows(text, other)).records()
    broken = rows(text, text.replace(b'"a"', b"oops"))
    with pytest.raises(Exception, match=OTHER_SCHEMA):
        frame_of(planned, spark, broken).records()
    with planned.searched(spark.createDataFrame(broken)):
        pass
    with pytest.raises(Exception, match=UNREADABLE):
        frame_of(planned, spark, broken).records()


def test_a_batch_that_is_planned_as_usual_has_one_spark_task(spark: SparkSession) -> None:
    table = rows(b"a", b"b", b"c")
    one = TopicPartition("t", 0)
    batch = MicroBatch.of_fetched(FetchedRecords(table, {one: 0}, {one: 3}), spark)
    assert batch.df.rdd.getNumPartitions() == 1
    assert batch.df.toArrow().equals(table.cast(batch.df.toArrow().schema))
    assert (batch.size, batch.topics) == (3, {"t"})


TEXT = b'{"schema":{"type":"string","optional":true},"payload":"a"}'


def test_records_that_may_fail_as_data_need_no_job_unless_one_does(spark: SparkSession) -> None:
    planned = pipeline(JsonConverter, tolerate=True)
    for _ in range(2):  # a search for what was expected: some record was not simple
        with planned.searched(spark.createDataFrame(rows(TEXT))):
            pass
    assert planned.expected_of_few(few(spark, rows(TEXT))) is None, "a plan is kept when it is used again"
    for _ in range(2):
        frame = frame_of(planned, spark, rows(TEXT, TEXT))
        assert not frame.has(FAILURE)
        assert [one.value for one in frame.records()] == ["a", "a"]
    assert planned.expected_of_few(few(spark, rows(TEXT, b"oops"))) is None
    assert jobs(spark, lambda: planned.expected_of_few(few(spark, rows(TEXT)))) == 0


def configured(plugin: Transform | Predicate, **options: str) -> Any:
    plugin.configure(options)
    return plugin


def chain(**predicate: Any) -> list[TransformationStage]:
    route = configured(RegexRouter(), regex="(.*)", replacement="new-$1")
    return [
        TransformationStage("drop", Filter(), configured(RecordIsTombstone())),
        TransformationStage("route", route),
        TransformationStage("hoist", configured(HoistFieldValue(), field="line"), **predicate),
    ]


@pytest.mark.parametrize("tolerate", [False, True])
def test_records_behind_transforms_are_those_of_the_usual_frame(spark: SparkSession, tolerate: bool) -> None:
    planned = pipeline(transforms=chain(), tolerate=tolerate)
    table = rows(b"a", None, b"c")
    assert planned.expected_of_few(few(spark, table)) is None
    for _ in range(3):
        frame = frame_of(planned, spark, table)
        usual = planned.expected(spark.createDataFrame(table))
        assert usual is not None
        (plain,) = usual.frames
        assert frame.records() == plain.records()
        assert frame.records()[0].original_topic == "t"
        assert (frame.value_schema, frame.key_schema) == (plain.value_schema, plain.key_schema)
        assert frame.df.columns == plain.df.columns
    assert jobs(spark, lambda: frame_of(planned, spark, table).records()) == 0


class Unknown(HoistFieldValue):  # type: ignore[misc, valid-type]
    deterministic = False


def test_other_transforms_are_planned_as_usual(spark: SparkSession) -> None:
    unknown = pipeline(transforms=[TransformationStage("h", configured(Unknown(), field="line"))])
    split = pipeline(transforms=chain(predicate=configured(HasHeaderKey(), name="h")))
    for planned in (unknown, split):
        for _ in range(3):
            assert planned.expected_of_few(few(spark, rows(b"a", b"b"))) is None


def test_what_arrives_behind_transforms_is_counted(spark: SparkSession) -> None:
    table, one = rows(b"a", None, b"c"), TopicPartition("t", 0)
    planner = SinkPlanner(spark, pipeline(transforms=chain()), ReadBound(1 << 20), CountingReader(spark, {}))
    for number in range(3):
        plans = planner.plans(MicroBatch.of_fetched(FetchedRecords(table, {one: 0}, {one: 3}), spark))
        batch = plans.expected()
        assert batch is not None
        assert len(batch.records()) == 2
        assert plans.arrived == 2
        assert isinstance(batch.frames[0], PlannedFrame) is (number > 0)


def test_a_task_needs_no_job_for_columns_that_another_has_selected(spark: SparkSession) -> None:
    line, counts = F.upper("value").alias("line"), []
    record = b'{"schema":{"type":"string","optional":false},"payload":"%d"}'
    for number in range(3):
        task = pipeline(JsonConverter)
        task.key_converter = JsonConverter()
        task.key_converter.configure({}, is_key=True)
        table = rows(record % number)
        table = table.set_column(0, "key", pa.nulls(1, pa.binary()))
        task.guess(spark, lambda table=table: table)  # type: ignore[misc]
        frame = frame_of(task, spark, table)
        made: list[pa.Table] = []
        counts.append(jobs(spark, lambda frame=frame, made=made: made.append(frame.to_arrow(line))))  # type: ignore[misc]
        assert made[0].to_pylist() == [{"line": str(number)}]
    assert counts[0] > 0
    assert counts[1:] == [0, 0]


def test_tasks_that_tolerate_failures_have_their_own_plan(spark: SparkSession) -> None:
    table = rows(b'{"schema":{"type":"int32","optional":false},"payload":"x"}')
    strict, tolerant = pipeline(JsonConverter), pipeline(JsonConverter, tolerate=True)
    for task in (strict, tolerant):
        task.guess(spark, lambda: table)
    assert tolerant.expected_of_few(few(spark, table)) is None, "the record fails as data"
    with pytest.raises(Exception, match=UNREADABLE):
        frame_of(strict, spark, table).to_arrow("value")
