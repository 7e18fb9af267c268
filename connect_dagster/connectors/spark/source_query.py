"""A streaming query that passes on its micro-batches and continues when they are delivered."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from connect_dagster.connectors.spark.checkpoint import LastingCheckpoint, OwnCheckpoint
from connect_dagster.errors import ConnectError

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0


class _AbandonedError(Exception):
    """End the query within a batch, so that Spark does not commit it."""


@dataclass(frozen=True, slots=True)
class Offered:
    """A micro-batch.

    Attributes:
        df: its rows; nothing is read yet.
        batch: Spark's number of it.
        end: the offset after it; ``None`` where only the checkpoint holds it.
    """

    df: DataFrame
    batch: int
    end: str | None


class SourceQuery:
    """A running query.

    Args:
        source: what ``readStream`` loaded.
        checkpoint: where it begins and what it remembers.
        interval_ms: least time between two looks for something new.
    """

    def __init__(self, source: DataFrame, checkpoint: OwnCheckpoint | LastingCheckpoint, interval_ms: int) -> None:
        self._checkpoint = checkpoint
        self._offered: Offered | None = None
        self._undelivered = False
        self._closed = False
        self._changed = threading.Condition()
        writer = source.writeStream.foreachBatch(self._offer).option("checkpointLocation", checkpoint.location)
        try:
            # Without a name: Spark takes one at a time of each, and the task before may still be ending.
            self._query = writer.trigger(processingTime=f"{interval_ms} milliseconds").start()
        except BaseException:
            checkpoint.remove()
            raise

    def next(self, seconds: float) -> Offered | None:
        """Return the batch that waits to be sent, ``None`` when none comes in time.

        Raises:
            ConnectError: the query has ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._offered is not None, seconds)
            batch, self._offered = self._offered, None
        if batch is None and not self._query.isActive:
            raise ConnectError(f"The streaming query has ended: {self._query.exception()}")
        return batch

    def delivered(self) -> None:
        """Acknowledge the batch: Spark commits it and continues."""
        with self._changed:
            self._undelivered = False
            self._changed.notify_all()

    def stop(self) -> None:
        """End the query; a batch that was not delivered will come again."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        ending = threading.Thread(target=self._end, name="ending-spark-source", daemon=True)
        ending.start()
        ending.join(_STOP_SECONDS)

    def _offer(self, df: DataFrame, batch: int) -> None:
        """Run on Spark's callback thread."""
        with self._changed:
            if not self._closed:
                self._offered = Offered(df, batch, self._checkpoint.end_of(batch))
                self._undelivered = True
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closed or not self._undelivered)
            if self._undelivered or self._closed:
                raise _AbandonedError(f"batch {batch} was not delivered before the task ended")

    def _end(self) -> None:
        try:
            self._query.stop()
        except (Py4JError, PySparkException, OSError) as error:  # too late for Spark, or without its JVM
            log.warning("The streaming query did not end in time, what it still reads is ignored: %s", error)
        self._checkpoint.remove()
