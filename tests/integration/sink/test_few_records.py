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
from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.fetched_records import FetchedRecords
from connect_dagster.worker.sink.few_records import FewRecords, FewRecordsFrame
from connect_dagster.worker.sink.pipeline import OTHER_SCHEMA, UNREADABLE, SinkPipeline
from connect_dagster.worker.sink.stream import MicroBatch

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
    batch = pipeline.expected_of_few(few(spark, table))
    assert batch is not None
    (frame,) = batch.frames
    assert isinstance(frame, FewRecordsFrame)
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
    with pytest.raises(Exception, match=UNREADABLE):
        frame_of(planned, spark, rows(text, text.replace(b'"a"', b"oops"))).records()


def test_a_batch_that_is_planned_as_usual_has_one_spark_task(spark: SparkSession) -> None:
    table = rows(b"a", b"b", b"c")
    one = TopicPartition("t", 0)
    batch = MicroBatch.of_fetched(FetchedRecords(table, {one: 0}, {one: 3}), spark)
    assert batch.df.rdd.getNumPartitions() == 1
    assert batch.df.toArrow().equals(table.cast(batch.df.toArrow().schema))
    assert (batch.size, batch.topics) == (3, {"t"})


def test_records_that_may_fail_as_data_are_counted_by_spark(spark: SparkSession) -> None:
    planned = pipeline(JsonConverter, tolerate=True)
    text = b'{"schema":{"type":"string","optional":true},"payload":"a"}'
    with planned.searched(spark.createDataFrame(rows(text))):
        pass
    assert planned.expected(spark.createDataFrame(rows(text))) is not None
    assert planned.expected_of_few(few(spark, rows(text))) is None
