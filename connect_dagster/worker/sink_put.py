"""Puts one batch: plans it for the schemas it is likely to have, and tells the failures of a put apart."""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.errors import ConnectError, RetriableError
from connect_dagster.worker.sink_failures import is_passing_read, says
from connect_dagster.worker.sink_pipeline import OTHER_SCHEMA, UNREADABLE, SinkPipeline, ToleranceExceededError
from connect_dagster.worker.sink_stream import OfferedBatch


class PutFailedError(ConnectError):
    """The task's ``put`` raised what it may not recover from (Java's words for any such failure)."""

    def __init__(self) -> None:
        super().__init__("Exiting WorkerSinkTask due to unrecoverable exception.")


class BatchUnavailableError(Exception):
    """The brokers are away: the batch's records could not be read."""


@dataclass(slots=True)
class Putting:
    """Hands the records of one batch to a task, as often as it is asked.

    Attributes:
        likely: whether the schemas of the batch before are still worth a try.
    """

    task: SinkTask
    pipeline: SinkPipeline
    batch: OfferedBatch
    likely: bool = True

    def put(self) -> None:
        """Put the batch.

        Raises:
            RetriableError: the task wants it again.
            BatchUnavailableError: it could not be read.
            ToleranceExceededError: a record cannot be converted.
            PutFailedError: the task failed.
        """
        try:
            if not (self.likely and self._put_likely()):
                self._put_searched()
        except Exception as error:
            if says(error, UNREADABLE):
                raise ToleranceExceededError("Tolerance exceeded in error handler") from error
            if is_passing_read(error):
                raise BatchUnavailableError(str(error)) from error
            if isinstance(error, RetriableError):
                raise
            raise PutFailedError from error

    def _put_likely(self) -> bool:
        """Put a batch planned for the schemas of the one before; answers whether it had them."""
        planned = self.pipeline.likely(self.batch.df)
        if planned is None:
            return False
        try:
            self.task.put(planned)
        except Exception as error:
            if not says(error, OTHER_SCHEMA):
                raise
            self.likely = False
        return self.likely

    def _put_searched(self) -> None:
        with self.pipeline.searched(self.batch.df) as found:
            if found.frames:
                self.task.put(found)
