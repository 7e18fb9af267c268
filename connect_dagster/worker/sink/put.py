"""Puts one batch: first with the plan for its expected schemas, and classifies the error where a put fails.

A put is at most four frames deep between the task's loop and the plugin: ``_take_batch``, ``_put``,
``PutAttempt.run`` and ``PutAttempt._put``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NoReturn, Protocol

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import SinkRecord
from connect_dagster.worker.bytes_bound import BatchTooLargeError, too_large
from connect_dagster.worker.errors.failures import (
    FailedRecord,
    RawRecord,
    ToleranceExceededError,
    is_lost_read,
    is_passing_read,
    is_retriable_job,
    is_spark_failure,
    says,
)
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.sink.errant_record_reporter import WorkerErrantRecordReporter
from connect_dagster.worker.sink.pipeline import OTHER_SCHEMA, UNREADABLE
from connect_dagster.worker.sink.raw_records import Offsets
from connect_dagster.worker.sink.stream import MicroBatch, OffsetOutOfRangeError


class PutFailedError(ConnectError):
    """The task's ``put`` raised an error that is not retriable; the text is Java's."""

    def __init__(self) -> None:
        super().__init__("Exiting WorkerSinkTask due to unrecoverable exception.")


class BatchUnavailableError(Exception):
    """The brokers are away: the batch's records could not be read."""


class Plans(Protocol):
    """The methods of ``BatchPlans``."""

    @property
    def tolerates(self) -> bool:
        """Return whether records that fail are skipped."""

    @property
    def arrived(self) -> int | None:
        """Return the number of records that arrived, if it is known."""

    @property
    def may_have_failed(self) -> bool:
        """Return whether a record may have failed as data."""

    def expected(self) -> SinkBatch | None:
        """Return the plan for the expected schemas."""

    def searched(self) -> AbstractContextManager[SinkBatch]:
        """Yield the plan for the schemas that the batch has."""

    def failed_records(self, *, first: bool = False) -> list[FailedRecord]:
        """Return the records that failed as data."""

    def drop_poison_records(self) -> list[FailedRecord]:
        """Take out the records that make the plan fail, and return them."""

    def raw_records_at(self, offsets: Sequence[Offsets]) -> Mapping[Offsets, Sequence[RawRecord]]:
        """Return records by partition and offset."""


class Planner(Protocol):
    """The methods of ``SinkPlanner``."""

    def under(self, tolerance: ToleranceOperator) -> Planner:
        """Return the planner whose plugins are called through a tolerance operator."""

    def plans(self, batch: MicroBatch) -> Plans:
        """Return the plans of a batch."""

    def close(self) -> None:
        """Leave what is planned to other tasks."""

    def raw_record(self, record: SinkRecord) -> RawRecord:
        """Return a record in bytes."""


@dataclass(frozen=True, slots=True)
class ErrorContext:
    """The error handling of one sink task.

    Attributes:
        reporter: of records that fail in the pipeline.
        retries: of Spark jobs that raise RetriableError.
        errant: reporter of records that the task rejects.
    """

    reporter: ErrorReporter
    retries: Retries
    errant: WorkerErrantRecordReporter


@dataclass(slots=True)
class PutAttempt:
    """Attempts to put one batch; ``run`` may be called again after a RetriableError.

    Attributes:
        task: the plugin's task.
        plans: of the batch.
        errors: error handling of the task.
    """

    task: SinkTask
    plans: Plans
    errors: ErrorContext
    _poison: list[FailedRecord] = field(default_factory=list, init=False)

    def run(self) -> None:
        """Put the batch and report its failed records.

        Raises:
            RetriableError: the task asks for the batch again.
            RetryGivenUpError: the task was asked to do something else.
            BatchUnavailableError: the records could not be read.
            BatchTooLargeError: the batch has to be read with fewer records.
            OffsetOutOfRangeError: the records are not in their logs any more.
            ToleranceExceededError: a record failed, and errors are not tolerated.
            PutFailedError: the task raised another error.
        """
        attempts, is_whole = self.errors.retries.begin(), True
        try:
            while True:
                try:
                    self._put()
                    break
                except RetryGivenUpError:
                    raise
                except Exception as error:
                    if (large := too_large(error)) is not None:
                        raise large from error
                    if is_whole and is_retriable_job(error) and attempts.wait_after(error):
                        continue
                    if not self._drop_poison_records(error):
                        self._fail(error)
                    is_whole = False
            self._report_failed_records()
        except (ToleranceExceededError, PutFailedError, RetryGivenUpError, BatchTooLargeError):
            raise
        except Exception as error:
            if is_passing_read(error):
                raise BatchUnavailableError(str(error)) from error
            if is_lost_read(error):
                raise OffsetOutOfRangeError from error
            raise

    def _put(self) -> None:
        """Put the batch with the plan for its expected schemas; where a record has another schema, search for all."""
        try:
            expected = self.plans.expected()
            if expected is not None:
                try:
                    self.task.put(expected)
                    return
                except Exception as error:
                    if not says(error, OTHER_SCHEMA):
                        raise
            with self.plans.searched() as found:
                if found.frames:
                    self.task.put(found)
        finally:  # the task's own reports count, however the put ended
            self.errors.errant.settle(self.plans.raw_records_at)

    def _drop_poison_records(self, error: Exception) -> bool:
        """Take the records out of the batch that make its plan fail; return whether there were any."""
        is_poison = is_spark_failure(error) and not (isinstance(error, RetriableError) or _is_unread(error))
        if not is_poison or self._poison or not self.plans.tolerates:
            return False
        self._poison = self.plans.drop_poison_records()
        return bool(self._poison)

    def _fail(self, error: Exception) -> NoReturn:
        if says(error, UNREADABLE):
            self.errors.reporter.failed(self.plans.failed_records(first=True))
            raise ToleranceExceededError from error
        if _is_unread(error) or isinstance(error, RetriableError):
            raise error
        raise PutFailedError from error

    def _report_failed_records(self) -> None:
        failed, self._poison = self._poison, []
        if self.plans.may_have_failed:
            failed = failed + self.plans.failed_records()
        self.errors.reporter.failed(failed)


def _is_unread(error: Exception) -> bool:
    return is_passing_read(error) or is_lost_read(error)
