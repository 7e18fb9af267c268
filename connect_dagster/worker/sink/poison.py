"""Finds the records of a sink's batch that make its plan fail.

The plan runs inside the task's own ``put``, so it is first run by itself: what then works is the task's own failure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa
from pyspark.sql import SparkSession

from connect_dagster.isolation.descriptions import class_name
from connect_dagster.plugin.frames import Acting
from connect_dagster.worker.errors.bisect import narrowed
from connect_dagster.worker.errors.failed_records import VALUE_CONVERTER, FailedRecord, Failure
from connect_dagster.worker.sink.originals import originals
from connect_dagster.worker.sink.pipeline import SinkPipeline
from connect_dagster.worker.sink.stream import OfferedBatch
from connect_dagster.worker.transforms import TRANSFORMATION


@dataclass(frozen=True, slots=True)
class Purified:
    """A batch without the records that make its plan fail, and those records."""

    batch: OfferedBatch
    failed: list[FailedRecord]


def purified(spark: SparkSession, pipeline: SinkPipeline, batch: OfferedBatch) -> Purified | None:
    """The batch without such records; ``None`` when there are none.

    Args:
        spark: the worker's session.
        pipeline: tolerates records that fail as data.
        batch: as offered.

    Raises:
        Exception: its records could not be read again.
    """
    rows = batch.df.toArrow()

    def run(part: pa.Table) -> tuple[pa.Table, list[FailedRecord]]:
        _evaluate(spark, pipeline, part)
        return part, []

    def poison(row: pa.Table, error: Exception) -> tuple[pa.Table, list[FailedRecord]]:
        (original,) = originals(spark.createDataFrame(row))
        acting = _culprit(spark, pipeline, row)
        return row.slice(0, 0), [FailedRecord(Failure.of(acting.stage, acting.executor, error), original, error)]

    try:
        run(rows)
    except Exception:
        found = list(narrowed(rows, run, poison))
    else:
        return None
    well = pa.concat_tables([part for part, _ in found])
    return Purified(replace(batch, df=spark.createDataFrame(well)), [one for _, failed in found for one in failed])


def _evaluate(spark: SparkSession, pipeline: SinkPipeline, rows: pa.Table) -> None:
    with pipeline.searched(spark.createDataFrame(rows)) as batch:
        for frame in batch:
            frame.df.write.format("noop").mode("overwrite").save()


def _culprit(spark: SparkSession, pipeline: SinkPipeline, row: pa.Table) -> Acting:
    """What fails at a single record: the converters, else the first transform with which it does."""
    for count in range(len(pipeline.transforms) + 1):
        try:
            _evaluate(spark, replace(pipeline, transforms=pipeline.transforms[:count]), row)
        except Exception:
            if count:
                return Acting(TRANSFORMATION, class_name(type(pipeline.transforms[count - 1].transform)))
            break
    return Acting(VALUE_CONVERTER, class_name(type(pipeline.value_converter)))
