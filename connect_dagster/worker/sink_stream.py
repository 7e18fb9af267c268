"""The Structured Streaming query that reads a sink task's partitions, and hands its batches to the task's thread.

The query reads exactly the partitions and from the offsets it is started with. Its checkpoint is scratch: offsets
live in the consumer group, so every start begins afresh. A batch stays offered until the task releases it.
"""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, int]

_MEMORY_FOLDER = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class OfferedBatch:
    """One batch of the query.

    Attributes:
        df: Spark's columns of a Kafka source, nothing read yet.
        start: first offset of each partition.
        end: offset after the batch of each partition, with what compaction and transactions leave out.
    """

    df: DataFrame
    start: dict[TopicPartition, int]
    end: dict[TopicPartition, int]
    _released: threading.Event = field(default_factory=threading.Event)

    @property
    def topics(self) -> set[str]:
        """Topics with something in the batch."""
        return {place.topic for place, end in self.end.items() if end > self.start.get(place, 0)}

    def release(self) -> None:
        """Let the query go on."""
        self._released.set()

    def await_release(self) -> None:
        """Block until :meth:`release`."""
        self._released.wait()


class SinkStream:
    """A running query over a fixed set of partitions.

    Args:
        spark: the worker's session.
        name: of the task; names the query.
        options: options of Spark's Kafka source, without partitions and offsets.
        start: the first offset to read of each partition.
    """

    def __init__(self, spark: SparkSession, name: str, options: Mapping[str, str], start: Offsets) -> None:
        self._position = dict(start)
        self._offered: OfferedBatch | None = None
        self._unreleased: OfferedBatch | None = None
        self._closed = False
        self._changed = threading.Condition()
        self._seen_batches = 0
        folder = _MEMORY_FOLDER if _MEMORY_FOLDER.is_dir() else None
        self._checkpoint = Path(tempfile.mkdtemp(prefix="connect-dagster-", dir=folder))
        self._query = self._start(spark, name, {**options, **_places(start)})

    def next(self, seconds: float) -> OfferedBatch | None:
        """The batch that waits to be handled, ``None`` when none comes in time."""
        with self._changed:
            self._changed.wait_for(lambda: self._offered is not None, seconds)
            batch, self._offered = self._offered, None
            return batch

    def failure(self) -> str | None:
        """Why the query ended by itself, ``None`` while it runs."""
        if self._query.isActive:
            return None
        error = self._query.exception()
        return str(error) if error is not None else "The query ended without an error"

    def progress(self) -> Iterator[dict[str, Any]]:
        """Spark's progress of the batches that ended since the last call."""
        for report in self._query.recentProgress:
            if report["batchId"] >= self._seen_batches and report["numInputRows"] > 0:
                self._seen_batches = report["batchId"] + 1
                yield report

    def stop(self) -> None:
        """End the query; a batch that is not done with is dropped and will be read again."""
        with self._changed:
            self._closed = True
            self._offered = None
            if self._unreleased is not None:
                self._unreleased.release()
        self._query.stop()
        shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _start(self, spark: SparkSession, name: str, options: Mapping[str, str]) -> StreamingQuery:
        source = spark.readStream.format("kafka").options(**options).load()
        writer = source.writeStream.foreachBatch(self._offer).option("checkpointLocation", str(self._checkpoint))
        return writer.queryName(f"{name} {self._checkpoint.name}").start()

    def _offer(self, df: DataFrame, batch_id: int) -> None:
        """Runs on Spark's callback thread: blocks until the task has handled the batch."""
        end = self._planned_end(batch_id)
        batch = OfferedBatch(df, {place: self._position.get(place, 0) for place in end}, end)
        with self._changed:
            if self._closed:
                return
            self._position.update(end)
            self._offered = self._unreleased = batch
            self._changed.notify_all()
        batch.await_release()

    def _planned_end(self, batch_id: int) -> dict[TopicPartition, int]:
        """Spark writes down where a batch ends before it runs it (``OffsetSeqLog``: version, metadata, offsets)."""
        *_, last = (self._checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
        return {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in json.loads(last).items()
            for partition, offset in partitions.items()
        }


def _places(start: Offsets) -> dict[str, str]:
    """Options ``assign`` and ``startingOffsets`` for these offsets."""
    offsets: dict[str, dict[str, int]] = {}
    for place, offset in start.items():
        offsets.setdefault(place.topic, {})[str(place.partition)] = offset
    assigned = {topic: sorted(int(partition) for partition in found) for topic, found in offsets.items()}
    return {"assign": json.dumps(assigned), "startingOffsets": json.dumps(offsets)}
