"""Puts one batch: plans it for the schemas it is likely to have, and tells the failures of a put apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.frames import FAILURE, ORIGINAL, SinkBatch, SinkFrame
from connect_dagster.worker.errors.failed_records import (
    FailedRecord,
    ToleranceExceededError,
    is_retriable_job,
    is_spark_failure,
)
from connect_dagster.worker.errors.read_failures import is_passing_read, says
from connect_dagster.worker.errors.reporting import ErrorReports
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.sink.batches import size
from connect_dagster.worker.sink.errant_record_reporter import ErrantRecords
from connect_dagster.worker.sink.originals import failed_records
from connect_dagster.worker.sink.pipeline import OTHER_SCHEMA, UNREADABLE, Mode, SinkPipeline
from connect_dagster.worker.sink.poison import purified
from connect_dagster.worker.sink.stream import OfferedBatch

_READ, _WELL, _FAILED = "read", "well", "failed"
# Fewer are searched for their schemas as fast as one of them is read.
_WORTH_A_GUESS = 10_000


class PutFailedError(ConnectError):
    """The task's ``put`` raised what it may not recover from (Java's words for any such failure)."""

    def __init__(self) -> None:
        super().__init__("Exiting WorkerSinkTask due to unrecoverable exception.")


class BatchUnavailableError(Exception):
    """The brokers are away: the batch's records could not be read."""


@dataclass(frozen=True, slots=True)
class Handling:
    """What is done about records that fail.

    Attributes:
        reports: told of them.
        retries: of the plan's jobs.
        errant: records that the task reports itself.
    """

    reports: ErrorReports
    retries: Retries
    errant: ErrantRecords


@dataclass(slots=True)
class Putting:
    """Hands the records of one batch to a task, as often as it is asked.

    Attributes:
        likely: whether the schemas of the batch before are still worth a try.
    """

    spark: SparkSession
    task: SinkTask
    pipeline: SinkPipeline
    handling: Handling
    batch: OfferedBatch
    likely: bool = True
    _arriving: list[Observation] = field(default_factory=list, init=False)
    _reading: list[Observation] = field(default_factory=list, init=False)
    _may_fail: bool = field(default=False, init=False)
    _poisoned: list[FailedRecord] = field(default_factory=list, init=False)
    _lost: int = field(default=0, init=False)

    @property
    def arrived(self) -> int | None:
        """Records that the put brought to the task; ``None`` where all of the batch did, or nobody knows."""
        counted = _sum(self._arriving, _WELL)
        return size(self.batch) - self._lost if counted is None and self._lost else counted

    def put(self) -> None:
        """Put the batch.

        Raises:
            RetriableError: the task wants it again.
            RetryGivenUpError: the worker wants something else of the task.
            BatchUnavailableError: it could not be read.
            ToleranceExceededError: a record cannot be converted.
            PutFailedError: the task failed.
        """
        try:
            self._put()
            self._report_failed()
        except (ToleranceExceededError, PutFailedError, RetryGivenUpError):
            raise
        except Exception as error:
            if is_passing_read(error):
                raise BatchUnavailableError(str(error)) from error
            raise

    def _put(self) -> None:
        try:
            self.handling.retries.call(self._put_once, is_retriable_job)
        except RetryGivenUpError:
            raise
        except Exception as error:
            if not self._put_without_poison(error):
                self._raise(error)

    def _raise(self, error: Exception) -> None:
        if says(error, UNREADABLE):
            self.handling.reports.failed(self._failed_records(first=True))
            raise ToleranceExceededError from error
        if is_passing_read(error) or isinstance(error, RetriableError):
            raise error
        raise PutFailedError from error

    def _put_once(self) -> None:
        try:
            if not (self.likely and self._put_likely()):
                self._put_searched()
        finally:  # what the task has reported is reported, whatever came of the put
            self.handling.errant.settle(self.batch.df)

    def _put_likely(self) -> bool:
        """Put a batch planned for the schemas of the one before, or of a record in it; answers whether it had them."""
        mode = self._mode()
        planned = self.pipeline.likely(self.batch.df, mode)
        if planned is None and size(self.batch) >= _WORTH_A_GUESS:
            self.pipeline.guess(self.batch.first_record())
            planned = self.pipeline.likely(self.batch.df, mode)
        if planned is None:
            return False
        try:
            self.task.put(self._counted(planned))
        except Exception as error:
            if not says(error, OTHER_SCHEMA):
                raise
            self.likely = False
        return self.likely

    def _put_searched(self) -> None:
        self.likely = False
        with self.pipeline.searched(self.batch.df, self._mode()) as found:
            if found.frames:
                self.task.put(self._counted(found))

    # Counting

    def _mode(self) -> Mode:
        self._reading.clear()
        watched = self.pipeline.tolerate and self.pipeline.transforms
        return Mode(as_data=self.pipeline.tolerate, watch=self._read if watched else _as_it_is)

    def _read(self, df: DataFrame) -> DataFrame:
        """The records, counted before a transform leaves some out."""
        observation = Observation()
        self._reading.append(observation)
        return df.observe(observation, F.count(F.lit(1)).alias(_READ))

    def _counted(self, batch: SinkBatch) -> SinkBatch:
        """The batch without failed records, counting on their way those that arrive and those that do not."""
        self._arriving.clear()
        self._may_fail = any(frame.has(FAILURE) for frame in batch)
        if not self._may_fail and not self.pipeline.transforms:
            return batch
        return SinkBatch(tuple(map(self._observed, batch.frames)))

    def _observed(self, frame: SinkFrame) -> SinkFrame:
        observation = Observation()
        self._arriving.append(observation)
        if not frame.has(FAILURE):
            return replace(frame, df=frame.df.observe(observation, F.count(F.lit(1)).alias(_WELL)))
        well = F.col(FAILURE).isNull()
        # Counted below the filter: Spark pushes nothing through it, so values are worked out once.
        df = frame.df.observe(observation, F.count_if(well).alias(_WELL), F.count_if(~well).alias(_FAILED))
        return replace(frame, df=df.where(well).drop(FAILURE, ORIGINAL))

    # Records that failed

    def _report_failed(self) -> None:
        failed = [*self._poisoned]
        if self._may_fail and not self._all_well():
            failed += self._failed_records(first=False)
        self._poisoned.clear()
        self.handling.reports.failed(failed)

    def _all_well(self) -> bool:
        """Whether every record of the batch was looked at, and none has failed."""
        seen = _sum(self._reading, _READ) if self._reading else _sum(self._arriving, _WELL)
        return _sum(self._arriving, _FAILED) == 0 and seen == size(self.batch) - self._lost

    def _failed_records(self, *, first: bool) -> list[FailedRecord]:
        """A second look at the batch, for the records that failed as they were read."""
        mode = Mode(as_data=True, originals=True)
        guard = self.pipeline.guard
        planned = self.pipeline.likely(self.batch.df, mode) if self.likely else None
        if planned is not None:
            return failed_records(planned, guard, first=first)
        with self.pipeline.searched(self.batch.df, mode) as found:
            return failed_records(found, guard, first=first)

    def _put_without_poison(self, error: Exception) -> bool:
        """Put the batch without the records that make its plan fail; answers ``False`` when that is not why."""
        of_its_own = isinstance(error, RetriableError) or not is_spark_failure(error) or is_passing_read(error)
        if of_its_own or not self.pipeline.tolerate or self._poisoned:
            return False
        pure = purified(self.spark, self.pipeline, self.batch)
        if pure is None:
            return False
        self.batch, self._poisoned, self._lost, self.likely = pure.batch, pure.failed, len(pure.failed), False
        try:
            self._put_once()
        except Exception as again:
            self._raise(again)
        return True


def _as_it_is(df: DataFrame) -> DataFrame:
    return df


def _sum(observations: list[Observation], name: str) -> int | None:
    """What Spark has counted for all of them; ``None`` where it has not, or nothing was to be counted."""
    # Observation.get would wait for a task that never looks at its records.
    rows = [one._jo.getRowOrEmpty() for one in observations if one._jo is not None]
    if not rows or not all(row.isDefined() for row in rows):
        return None
    found = [row.get() for row in rows]
    if any(row.schema() is None for row in found):  # the optimizer has left out what was to be counted
        return None
    return sum(int(row.getLong(row.fieldIndex(name))) for row in found if name in row.schema().fieldNames())
