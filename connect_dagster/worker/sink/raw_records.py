"""Reads the records of a sink's batch as they are in Kafka: those that failed, and those at some offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frame_columns import FAILURE, RAW_RECORD
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.worker.errors.failures import FailedRecord, Failure
from connect_dagster.worker.errors.raw_record import RawRecord
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.sink.pipeline import raw_record_column

Offsets = tuple[int, int]
"""Partition and offset of a record."""
_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}


def failed_records(batch: SinkBatch, tolerance: ToleranceOperator | None, *, first: bool) -> list[FailedRecord]:
    """Return the records that failed, by partition and offset.

    Args:
        batch: planned with failures as data, and raw records.
        tolerance: has the exceptions of records that failed with their frame.
        first: whether the first of each frame is enough.
    """
    found = [one for frame in batch for one in _failed(frame, tolerance, first)]
    return sorted(found, key=lambda one: (one.record.topic or "", one.record.partition, one.record.offset))


def _failed(frame: SinkFrame, tolerance: ToleranceOperator | None, first: bool) -> list[FailedRecord]:
    if not frame.has(FAILURE) or not frame.has(RAW_RECORD):
        return []
    df = frame.df.where(F.col(FAILURE).isNotNull()).select(FAILURE, RAW_RECORD)
    return [_record(row, tolerance) for row in (df.limit(1) if first else df).toArrow().to_pylist()]


def _record(row: Mapping[str, Any], tolerance: ToleranceOperator | None) -> FailedRecord:
    failure = Failure.in_column(row[FAILURE])
    return FailedRecord(
        failure, _raw_record(row[RAW_RECORD]), None if tolerance is None else tolerance.cause_of(failure.message)
    )


def raw_records(df: DataFrame) -> list[RawRecord]:
    """Return records as Spark's source gives them."""
    column = raw_record_column(headers="headers" in df.columns)
    return [_raw_record(row[RAW_RECORD]) for row in df.select(column.alias(RAW_RECORD)).toArrow().to_pylist()]


def raw_records_at(spark: SparkSession, df: DataFrame, offsets: Iterable[Offsets]) -> dict[Offsets, list[RawRecord]]:
    """Return records by partition and offset; several for one where the batch has several topics.

    Args:
        spark: the worker's session.
        df: a batch as Spark's source gives it.
        offsets: of the records.
    """
    asked = sorted(set(offsets))
    table = pa.table(
        {
            "partition": pa.array([partition for partition, _ in asked], pa.int32()),
            "offset": pa.array([offset for _, offset in asked], pa.int64()),
        }
    )
    found: dict[Offsets, list[RawRecord]] = {}
    for one in raw_records(df.join(F.broadcast(spark.createDataFrame(table)), ["partition", "offset"], "left_semi")):
        assert one.partition is not None
        assert one.offset is not None
        found.setdefault((one.partition, one.offset), []).append(one)
    return found


def _raw_record(row: Mapping[str, Any]) -> RawRecord:
    kind = _TIMESTAMP_TYPES.get(row["timestampType"])
    return RawRecord(
        row["topic"],
        row["key"],
        row["value"],
        partition=row["partition"],
        offset=row["offset"],
        timestamp=None if kind is None else row["timestamp"],
        timestamp_type=kind,
        headers=tuple((header["key"], header["value"]) for header in row.get("headers") or ()),
    )
