"""The Spark plans of one batch: for its expected schemas, for those it has, and without the records that fail.

``BatchPlans`` counts the records that arrive at the task while the task runs the plan, so that a second look for
failed records costs nothing where none has failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_errors import is_spark_gone
from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.plugin.bisection import Bisection
from connect_dagster.plugin.frame_columns import FAILURE, RAW_RECORD
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.records import SinkRecord
from connect_dagster.worker.bytes_bound import ReadBound
from connect_dagster.worker.errors.failures import VALUE_CONVERTER, FailedRecord, Failure, RawRecord
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.frames import Acting
from connect_dagster.worker.record_frames import halves
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.few_records import FewRecords
from connect_dagster.worker.sink.pipeline import Mode, SinkPipeline
from connect_dagster.worker.sink.range_queries import RangeQueries
from connect_dagster.worker.sink.raw_records import Offsets, RecordEncoder, failed_records, raw_records, raw_records_at
from connect_dagster.worker.sink.stream import MicroBatch
from connect_dagster.worker.transforms import TRANSFORMATION

_READ, _ARRIVED, _FAILED = "read", "arrived", "failed"


class SinkPlanner:
    """Plans the batches of one task.

    Args:
        spark: the worker's session.
        pipeline: converters and transforms.
        bound: of the bytes of a batch.
        reader: of ranges of offsets.
        tolerance: of the task; ``None`` before it has one.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: SinkPipeline,
        bound: ReadBound,
        reader: CountingReader,
        tolerance: ToleranceOperator | None = None,
    ) -> None:
        self._spark = spark
        self._bound = bound
        self._reader = reader
        self._queries = RangeQueries(reader, bound)
        self._pipeline = pipeline if tolerance is None else replace(pipeline, tolerance=tolerance)
        self._encoder = RecordEncoder(
            spark, pipeline.key_converter, pipeline.value_converter, pipeline.header_converter
        )

    def under(self, tolerance: ToleranceOperator) -> SinkPlanner:
        """Return the planner whose plugins are called through a tolerance operator."""
        return SinkPlanner(self._spark, self._pipeline, self._bound, self._reader, tolerance)

    def plans(self, batch: MicroBatch) -> BatchPlans:
        """Return the plans of a batch, as it was read."""
        if batch.fetched is None:  # else it is within bounds already
            make_df = batch.make_df
            batch = replace(batch, make_df=lambda: self._bound(make_df()))
        return BatchPlans(self._spark, self._pipeline, batch, self._queries)

    def close(self) -> None:
        """Leave what is planned to other tasks; call it when no plan of the task runs any more."""
        self._queries.close()

    def raw_record(self, record: SinkRecord) -> RawRecord:
        """Return a record in the bytes that the converters make of it."""
        return self._encoder.raw_record(record)


@dataclass(slots=True)
class BatchPlans:
    """Plans of one batch; each new plan replaces the counts of the one before."""

    spark: SparkSession
    pipeline: SinkPipeline
    batch: MicroBatch
    queries: RangeQueries
    _read: list[Observation] = field(default_factory=list, init=False)
    _arriving: list[Observation] = field(default_factory=list, init=False)
    _may_fail: bool = field(default=False, init=False)
    _expected: bool = field(default=True, init=False)
    _poison: int = field(default=0, init=False)
    _few: int | None = field(default=None, init=False)  # fetched records behind transforms

    @property
    def tolerates(self) -> bool:
        """Return whether records that fail are skipped (``errors.tolerance=all``)."""
        return self.pipeline.tolerate

    @property
    def arrived(self) -> int | None:
        """Return the number of records that arrived; ``None`` where it is that of the batch, or is not known."""
        if self._few is not None:
            return self._few
        counted = _sum(self._arriving, _ARRIVED)
        return self.batch.size - self._poison if counted is None and self._poison else counted

    @property
    def may_have_failed(self) -> bool:
        """Return whether a record may have failed as data, by the counts of the plan that has run."""
        if not self._may_fail:
            return False
        read = _sum(self._read, _READ) if self._read else _sum(self._arriving, _ARRIVED)
        return not (_sum(self._arriving, _FAILED) == 0 and read == self.batch.size - self._poison)

    def expected(self) -> SinkBatch | None:
        """Return the plan for the schemas of the batch before, or of a record in this one; ``None`` without any.

        Running it fails with ``OTHER_SCHEMA`` in the text when a record has another schema.
        """
        if not self._expected:
            return None
        mode = self._mode()
        self.pipeline.guess(self.spark, self.batch.first_record)
        if self.batch.fetched is not None:
            few = FewRecords(self.spark, self.batch.fetched, lambda: self.batch.df)
            if (frame := self.pipeline.expected_of_few(few)) is not None:
                if self.pipeline.transforms:
                    self._few = frame.count
                return SinkBatch((frame,))
        if self.batch.ranges:
            batch = self.batch
            large = self.pipeline.expected_of_ranges(batch.ranges, lambda: batch.df, self.queries)
            if large is not None:
                return SinkBatch((large,))
        planned = self.pipeline.expected(self.batch.df, mode)
        return None if planned is None else self._counted(planned)

    @contextmanager
    def searched(self) -> Iterator[SinkBatch]:
        """Yield the plan for the schemas that a search of the batch finds; from here on nothing is expected."""
        self._expected = False
        with self.pipeline.searched(self.batch.df, self._mode()) as found:
            yield self._counted(found)

    def failed_records(self, *, first: bool = False) -> list[FailedRecord]:
        """Read the batch again for the records that failed as data.

        Args:
            first: whether the first of each frame is enough.
        """
        mode = Mode(as_data=True, raw_records=True)
        tolerance = self.pipeline.tolerance
        planned = self.pipeline.expected(self.batch.df, mode) if self._expected else None
        if planned is not None:
            return failed_records(planned, tolerance, first=first)
        with self.pipeline.searched(self.batch.df, mode) as found:
            return failed_records(found, tolerance, first=first)

    def drop_poison_records(self) -> list[FailedRecord]:
        """Take the records out of the batch that make its plan fail, and return them."""
        rest, failed = _without_poison_records(self.spark, self.pipeline, self.batch)
        if failed:
            self.batch, self._poison, self._expected = rest, len(failed), False
        return failed

    def raw_records_at(self, offsets: Sequence[Offsets]) -> Mapping[Offsets, Sequence[RawRecord]]:
        """Read records of the batch by partition and offset."""
        return raw_records_at(self.spark, self.batch.df, offsets)

    def _mode(self) -> Mode:
        self._read.clear()
        self._few = None
        watched = self.pipeline.tolerate and self.pipeline.transforms
        return Mode(as_data=self.pipeline.tolerate, watch=self._with_read_count if watched else _unchanged)

    def _with_read_count(self, df: DataFrame) -> DataFrame:
        """Count the records before a transform drops some."""
        observation = Observation()
        self._read.append(observation)
        return df.observe(observation, F.count(F.lit(1)).alias(_READ))

    def _counted(self, batch: SinkBatch) -> SinkBatch:
        """Return the batch without failed records, with counts of those that arrive and of those that failed."""
        self._arriving.clear()
        self._may_fail = any(frame.has(FAILURE) for frame in batch)
        if not self._may_fail and not self.pipeline.transforms:
            return batch
        return SinkBatch(tuple(map(self._observed, batch.frames)))

    def _observed(self, frame: SinkFrame) -> SinkFrame:
        observation = Observation()
        self._arriving.append(observation)
        if not frame.has(FAILURE):
            return replace(frame, df=frame.df.observe(observation, F.count(F.lit(1)).alias(_ARRIVED)))
        well = F.col(FAILURE).isNull()
        # Counted below the filter: Spark pushes nothing through it, so values are evaluated once.
        df = frame.df.observe(observation, F.count_if(well).alias(_ARRIVED), F.count_if(~well).alias(_FAILED))
        return replace(frame, df=df.where(well).drop(FAILURE, RAW_RECORD))


def _unchanged(df: DataFrame) -> DataFrame:
    return df


def _sum(observations: list[Observation], name: str) -> int | None:
    """Return the sum of what Spark has counted; ``None`` where it has not, or there was nothing to count."""
    # Observation.get would wait for a task that never looks at its records.
    rows = [one._jo.getRowOrEmpty() for one in observations if one._jo is not None]
    if not rows or not all(row.isDefined() for row in rows):
        return None
    found = [row.get() for row in rows]
    if any(row.schema() is None for row in found):  # the optimizer has left out the count
        return None
    return sum(int(row.getLong(row.fieldIndex(name))) for row in found if name in row.schema().fieldNames())


def _without_poison_records(
    spark: SparkSession, pipeline: SinkPipeline, batch: MicroBatch
) -> tuple[MicroBatch, list[FailedRecord]]:
    """Return the batch without the records that make its plan fail, and those records.

    The plan runs inside the task's own ``put``, so it is first run by itself: a plan that works then is not the cause.

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
        return replace(batch, make_df=partial(spark.createDataFrame, rest), fetched=None, ranges=()), failed
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
