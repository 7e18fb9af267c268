"""A streaming query that passes on its micro-batches and continues when they are delivered; its checkpoint.

Spark writes down the end of each batch before it runs it, and that it is done after (``OffsetSeqLog``,
``CommitLog``): lines of a version, metadata, and one source's offset as JSON.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import threading
import uuid
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from connect_dagster.errors import ConnectError
from connect_dagster.scratch import memory_folder

log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
_VERSION = "v1"


class OwnCheckpoint:
    """A folder for the life of a task; created again where the task runs.

    Args:
        offset: end of the last batch that was done, as ``end_of`` answered it; ``None`` to begin at the beginning.
    """

    def __init__(self, offset: str | None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="connect-dagster-", dir=memory_folder()))
        if offset is not None:
            self._write("metadata", json.dumps({"id": str(uuid.uuid4())}))
            self._write(
                "offsets/0", f"{_VERSION}\n{json.dumps({'batchWatermarkMs': 0, 'batchTimestampMs': 0})}\n{offset}"
            )
            self._write("commits/0", f"{_VERSION}\n{json.dumps({'nextBatchWatermarkMs': 0})}")

    @property
    def location(self) -> str:
        """Return the folder for ``checkpointLocation``."""
        return str(self._folder)

    def end_of(self, batch: int) -> str:
        """Return the end of a batch, as its source writes it."""
        return (self._folder / "offsets" / str(batch)).read_text().splitlines()[-1]

    def remove(self) -> None:
        """Delete it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _write(self, name: str, text: str) -> None:
        file = self._folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


class LastingCheckpoint:
    """A folder or URL that outlives the task, for formats whose offset alone is not enough."""

    def __init__(self, location: str) -> None:
        self.location = location

    def end_of(self, batch: int) -> None:
        """Do nothing: only Spark reads it."""

    def remove(self) -> None:
        """Leave it for the next task."""


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
            log.warning("The streaming query did not end in time, its further batches are ignored: %s", error)
        self._checkpoint.remove()
