"""Batches that Spark's executors send: what they are given, and what the worker knows afterwards."""

from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.frames import SourceFrame, SourceTable
from connect_dagster.plugin.lines import SourceBatch, SourceLines
from connect_dagster.plugin.schema import STRING_SCHEMA
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.source import kept_plans
from connect_dagster.worker.source.batches import Planned, SourceBatches
from connect_dagster.worker.source.pipeline import SourcePipeline

PLACE = {"file": "a"}


class Executors:
    """Executors that keep what they are to send."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, list[str]]] = []

    def write(self, rows: DataFrame, topic: str) -> None:
        self.sent.append((topic, [bytes(row.value).decode() for row in rows.collect()]))


def remote_batches(spark: SparkSession, executors: Executors, policy: ErrorPolicy | None = None) -> SourceBatches:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    pipeline = SourcePipeline((), converter, converter, SimpleHeaderConverter())
    return SourceBatches(spark, pipeline, policy or ErrorPolicy(), executors=executors)


def texts(spark: SparkSession, missing: int | None = None) -> SourceFrame:
    value = F.when(F.col("id") != -1 if missing is None else F.col("id") != missing, F.col("id").cast("string"))
    df = spark.range(0, 6, 1, 2).select(value.alias("value"))
    return SourceFrame(df=df, source_partition=PLACE, source_offset={}, topic="t", value_schema=STRING_SCHEMA)


def test_they_send_whole_values(spark: SparkSession) -> None:
    executors = Executors()
    batches = remote_batches(spark, executors)
    send = batches.remote(batches.planned(texts(spark)))
    assert send is not None
    known = send()
    assert executors.sent == [("t", [f'"{number}"' for number in range(6)])]
    assert (known.sent, known.polled, [*known.failed]) == (6, 6, [])
    assert known.table.num_rows == 0


def test_records_that_fail_are_known_afterwards(spark: SparkSession) -> None:
    executors = Executors()
    batches = remote_batches(spark, executors, ErrorPolicy(tolerate=True))
    send = batches.remote(batches.planned(texts(spark, missing=3)))
    assert send is not None
    known = send()
    assert executors.sent == [("t", [f'"{number}"' for number in (0, 1, 2, 4, 5)])]
    assert (known.sent, known.polled, len(known.failed)) == (5, 6, 1)


@pytest.mark.parametrize(
    "batch",
    [
        SourceLines(b"\n".join(b"%d" % number for number in range(10_000)), PLACE, {}, "t"),
        SourceTable(pa.table({"value": ["x"]}), PLACE, {}, topic="t", value_schema=STRING_SCHEMA),
    ],
)
def test_what_the_worker_has_read_it_sends(
    spark: SparkSession, batch: SourceBatch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_plans, "executors_are_local", lambda _: False)
    batches = remote_batches(spark, Executors())
    planned = batches.planned(batch)
    assert batches.remote(planned) is None
    assert batches.encoded(planned).table.num_rows == (batch.count if isinstance(batch, SourceLines) else 1)
    batches.close()


@pytest.mark.parametrize("timestamp", [True, False])
def test_records_with_timestamps_or_topics_come_to_the_worker(spark: SparkSession, timestamp: bool) -> None:
    batches = remote_batches(spark, Executors())
    frame = texts(spark)
    if timestamp:
        frame = frame.with_column("timestamp", F.timestamp_millis(F.lit(1)))
    else:
        topic = F.when(F.col("value") < "3", "few").otherwise("many")
        frame = replace(frame.with_column("topic", topic), topic=None)
    planned = batches.planned(frame)
    assert isinstance(planned, Planned)
    assert batches.remote(planned) is None
    assert batches.encoded(planned).table.num_rows == 6
