"""Puts one batch: plans it for the schemas it is likely to have, and tells the failures of a put apart."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.errors import ConnectError, RetriableError
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
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
    _arriving: list[Observation] = field(default_factory=list, init=False)

    @property
    def arrived(self) -> int | None:
        """Records that the put brought to the task; ``None`` where all of the batch did, or nobody knows."""
        # Observation.get would wait for a task that never looks at its records.
        rows = [one._jo.getRowOrEmpty() for one in self._arriving if one._jo is not None]
        return sum(row.get().getLong(0) for row in rows) if rows and all(row.isDefined() for row in rows) else None

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
            self.task.put(self._counted(planned))
        except Exception as error:
            if not says(error, OTHER_SCHEMA):
                raise
            self.likely = False
        return self.likely

    def _put_searched(self) -> None:
        with self.pipeline.searched(self.batch.df) as found:
            if found.frames:
                self.task.put(self._counted(found))

    def _counted(self, batch: SinkBatch) -> SinkBatch:
        """The batch, counting its records on their way where some may be left out."""
        self._arriving.clear()
        if not self.pipeline.tolerate and not self.pipeline.transforms:
            return batch
        return SinkBatch(tuple(map(self._observed, batch.frames)))

    def _observed(self, frame: SinkFrame) -> SinkFrame:
        observation = Observation()
        self._arriving.append(observation)
        return replace(frame, df=frame.df.observe(observation, F.count(F.lit(1))))
