"""Finds the records of a sink's batch that make its plan fail.

The plan runs inside the task's own ``put``, so it is first run by itself: a plan that works then is not the cause.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from pyspark.sql import SparkSession

from connect_dagster.isolation.descriptions import class_name
from connect_dagster.plugin.bisection import Bisection
from connect_dagster.worker.errors.failures import VALUE_CONVERTER, FailedRecord, Failure, is_spark_gone
from connect_dagster.worker.frames import Acting
from connect_dagster.worker.record_frames import halves
from connect_dagster.worker.sink.pipeline import SinkPipeline
from connect_dagster.worker.sink.raw_records import raw_records
from connect_dagster.worker.sink.stream import MicroBatch
from connect_dagster.worker.transforms import TRANSFORMATION


def without_poison_records(
    spark: SparkSession, pipeline: SinkPipeline, batch: MicroBatch
) -> tuple[MicroBatch, list[FailedRecord]]:
    """Return the batch without the records that make its plan fail, and those records.

    Args:
        spark: the worker's session.
        pipeline: tolerates records that fail as data.
        batch: as Spark's source gives it.

    Raises:
        Exception: its records could not be read again.
    """
    rows = batch.df.toArrow()
    failed: list[FailedRecord] = []

    def attempt(part: pa.Table) -> pa.Table:
        _run_plan(spark, pipeline, part)
        return part

    def rejected(row: pa.Table, error: Exception) -> pa.Table:
        (raw,) = raw_records(spark.createDataFrame(row))
        acting = _culprit(spark, pipeline, row)
        failed.append(FailedRecord(Failure.of(acting.stage, acting.executor, error), raw, error))
        return row.slice(0, 0)

    try:
        attempt(rows)
    except Exception:
        rest = pa.concat_tables(list(Bisection(rows, attempt, halves, rejected, is_spark_gone)))
        return replace(batch, df=spark.createDataFrame(rest)), failed
    return batch, []


def _run_plan(spark: SparkSession, pipeline: SinkPipeline, rows: pa.Table) -> None:
    with pipeline.searched(spark.createDataFrame(rows)) as batch:
        for frame in batch:
            frame.df.write.format("noop").mode("overwrite").save()


def _culprit(spark: SparkSession, pipeline: SinkPipeline, row: pa.Table) -> Acting:
    """Return the plugin that fails for a single record: the converters, else the first transform that makes it fail."""
    for count in range(len(pipeline.transforms) + 1):
        try:
            _run_plan(spark, replace(pipeline, transforms=pipeline.transforms[:count]), row)
        except Exception:
            if count:
                return Acting(TRANSFORMATION, class_name(type(pipeline.transforms[count - 1].transform)))
            break
    return Acting(VALUE_CONVERTER, class_name(type(pipeline.value_converter)))
