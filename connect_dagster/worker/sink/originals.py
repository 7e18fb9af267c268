"""Records of a sink as they were read from Kafka, and which of a batch failed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frames import FAILURE, ORIGINAL, SinkBatch, SinkFrame
from connect_dagster.worker.errors.failed_records import FailedRecord, Failure, Original
from connect_dagster.worker.errors.plan_guard import PlanGuard
from connect_dagster.worker.sink.pipeline import original_column

Place = tuple[int, int]
_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}


def failed_records(batch: SinkBatch, guard: PlanGuard | None, *, first: bool) -> list[FailedRecord]:
    """The records that failed, by partition and offset.

    Args:
        batch: planned with failures as data, and originals.
        guard: knows what was raised.
        first: whether the first of each frame will do.
    """
    found = [one for frame in batch for one in _failed(frame, guard, first)]
    return sorted(found, key=lambda one: (one.original.topic or "", one.original.partition, one.original.offset))


def _failed(frame: SinkFrame, guard: PlanGuard | None, first: bool) -> list[FailedRecord]:
    if not frame.has(FAILURE) or not frame.has(ORIGINAL):
        return []
    df = frame.df.where(F.col(FAILURE).isNotNull()).select(FAILURE, ORIGINAL)
    return [_record(row, guard) for row in (df.limit(1) if first else df).toArrow().to_pylist()]


def _record(row: Mapping[str, Any], guard: PlanGuard | None) -> FailedRecord:
    failure = Failure.in_column(row[FAILURE])
    return FailedRecord(failure, _original(row[ORIGINAL]), None if guard is None else guard.cause(failure.message))


def originals(df: DataFrame) -> list[Original]:
    """Records as Spark's source gives them."""
    column = original_column(headers="headers" in df.columns)
    return [_original(row[ORIGINAL]) for row in df.select(column.alias(ORIGINAL)).toArrow().to_pylist()]


def originals_at(spark: SparkSession, df: DataFrame, places: Iterable[Place]) -> dict[Place, list[Original]]:
    """Records of some places, each a partition and an offset; several where the batch has several topics.

    Args:
        spark: the worker's session.
        df: a batch as Spark's source gives it.
        places: those wanted.
    """
    wanted = sorted(set(places))
    table = pa.table(
        {
            "partition": pa.array([partition for partition, _ in wanted], pa.int32()),
            "offset": pa.array([offset for _, offset in wanted], pa.int64()),
        }
    )
    found: dict[Place, list[Original]] = {}
    for one in originals(df.join(F.broadcast(spark.createDataFrame(table)), ["partition", "offset"], "left_semi")):
        assert one.partition is not None
        assert one.offset is not None
        found.setdefault((one.partition, one.offset), []).append(one)
    return found


def _original(row: Mapping[str, Any]) -> Original:
    kind = _TIMESTAMP_TYPES.get(row["timestampType"])
    return Original(
        row["topic"],
        row["key"],
        row["value"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp=None if kind is None else row["timestamp"],
        timestamp_type=kind,
        headers=tuple((header["key"], header["value"]) for header in row.get("headers") or ()),
    )
