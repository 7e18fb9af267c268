"""The Structured Streaming query that reads a sink task's partitions, and passes its batches to the task's thread.

The query reads exactly the partitions and from the offsets it is started with. Its checkpoint is temporary: offsets
are in the consumer group, so every start makes a new one. A batch stays offered until the task releases it, whole or
in parts where a user limits the records of a put.
"""

from __future__ import annotations

import functools
import json
import logging
import operator
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)
from pyspark.sql.streaming.query import StreamingQuery

from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.scratch import memory_folder
from connect_dagster.worker.errors.failures import StreamFailure, stream_failure
from connect_dagster.worker.spark import references as java_references

log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, int]

_REPORT_SECONDS = 1.0
_STOP_SECONDS = 2.0
_POLL_SECONDS = 0.005
_MOST_RECORDS = "maxOffsetsPerTrigger"
_OF_STREAMS = (_MOST_RECORDS, "minPartitions")
# A known record that does not arrive: the brokers are away, and the task must poll its group meanwhile.
_FETCH_MS = 10_000
_FASTER_FETCHES = {
    "fetch.max.wait.ms": "10",
    "max.poll.records": "10000",
    "receive.buffer.bytes": str(1 << 20),
}
# Spark's message (MicroBatchExecution).
_NO_NEWS = "Waiting for data to arrive"


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One micro-batch of the query.

    Attributes:
        df: Spark's columns of a Kafka source, nothing read yet.
        start: first offset of each partition.
        end: offset after the batch of each partition, with offsets that compaction and transactions leave out.
        options: of Spark's Kafka source, without partitions and offsets.
    """

    df: DataFrame
    start: dict[TopicPartition, int]
    end: dict[TopicPartition, int]
    options: Mapping[str, str]

    def first_record(self) -> DataFrame:
        """Read the first record of a partition, if it still exists, outside of the query, whose reads are counted."""
        partition = max(self.end, key=lambda partition: self.end[partition] - self.start[partition])
        first = self.start[partition]
        until = {"endingOffsets": _offsets({partition: first + 1})}
        options = {name: value for name, value in self.options.items() if name not in _OF_STREAMS}
        reader = self.df.sparkSession.read.format("kafka").options(**options)
        return reader.options(**_assignment({partition: first}), **until).load()

    @property
    def size(self) -> int:
        """Return the count of offsets, with those that have no record (compacted, or of a transaction's end)."""
        return sum(end - self.start[partition] for partition, end in self.end.items())

    @property
    def topics(self) -> set[str]:
        """Return the topics with records in the batch."""
        return {partition.topic for partition, end in self.end.items() if end > self.start.get(partition, 0)}


class OffsetOutOfRangeError(Exception):
    """A partition's log ends before the offset that the query would read next."""


class Stream(Protocol):
    """The methods of ``SinkStream``."""

    def next(self, seconds: float) -> MicroBatch | None:
        """Return the offered batch."""

    def done(self) -> None:
        """Release the batch."""

    def failure(self) -> StreamFailure | None:
        """Return why the query ended."""

    def waits_for_news(self) -> bool:
        """Return whether the query found no records."""

    def report(self) -> Mapping[str, Any] | None:
        """Return Spark's progress of the last batch."""

    def await_report(self) -> Mapping[str, Any] | None:
        """Wait for that progress."""

    def stop(self) -> None:
        """End the query."""


class SinkStream:
    """A running query over a fixed set of partitions.

    Args:
        spark: the worker's session.
        name: of the task; names the query.
        options: options of Spark's Kafka source, without partitions and offsets.
        start: the first offset to read of each partition.
        most_records: of a batch; it has one of each partition at least.
    """

    def __init__(
        self, spark: SparkSession, name: str, options: Mapping[str, str], start: Offsets, most_records: int
    ) -> None:
        self._spark = spark
        self._name = name
        self._options = options
        self._position = dict(start)
        self._offered: MicroBatch | None = None
        self._handling = False
        self._out_of_range = False
        self._closed = False
        self._changed = threading.Condition()
        self._running_batch = self._done_batch = self._reported_batch = -1
        self._checkpoint = Path(tempfile.mkdtemp(prefix="connect-dagster-", dir=memory_folder()))
        self._query = self._start(spark, name, {**options, _MOST_RECORDS: str(most_records), **_assignment(start)})

    def next(self, seconds: float) -> MicroBatch | None:
        """Return the offered batch; ``None`` when none comes in time.

        Raises:
            OffsetOutOfRangeError: the query reads no further until it is stopped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._offered is not None or self._out_of_range, seconds)
            if self._out_of_range:
                raise OffsetOutOfRangeError
            batch, self._offered = self._offered, None
            return batch

    def done(self) -> None:
        """Release the batch: the query continues."""
        with self._changed:
            self._done_batch = self._running_batch
            self._handling = False
            self._changed.notify_all()

    def failure(self) -> StreamFailure | None:
        """Return the failure of a query that ended by itself; ``None`` while it runs."""
        if self._query.isActive:
            return None
        return stream_failure(self._query)

    def waits_for_news(self) -> bool:
        """Return whether the query has searched for records and found none."""
        return bool(self._query.status["message"] == _NO_NEWS)

    def report(self) -> dict[str, Any] | None:
        """Return Spark's progress of the last released batch, once for each batch; ``None`` before it exists."""
        if self._reported_batch >= self._done_batch:
            return None
        report = self._query.lastProgress
        if report is None or report["batchId"] < self._done_batch:
            return None
        self._reported_batch = self._done_batch
        return dict(report) if report["batchId"] == self._done_batch else None

    def await_report(self) -> dict[str, Any] | None:
        """Wait for this progress, which Spark makes right after the release of a batch."""
        deadline = time.monotonic() + _REPORT_SECONDS
        while self._reported_batch < self._done_batch and time.monotonic() < deadline:
            report = self.report()
            if report is not None or not self._query.isActive:
                return report
            time.sleep(_POLL_SECONDS)
        return None

    def stop(self) -> None:
        """End the query; a batch that is not released is dropped and will be read again.

        A query whose brokers are away ends late, as its clients wait for them; its batches are ignored from here on.
        """
        with self._changed:
            self._closed = True
            self._offered = None
            self._changed.notify_all()
        ending = threading.Thread(target=self._end, name=f"ending-{self._name}", daemon=True)
        ending.start()
        ending.join(_STOP_SECONDS)
        shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _end(self) -> None:
        try:
            self._query.stop()
        except (Py4JError, PySparkException, OSError) as error:  # too late for Spark, or its JVM is gone
            log.warning("The query of %s did not end in time, its further batches are ignored: %s", self._name, error)
        java_references.close_idle_callbacks(self._spark)
        shutil.rmtree(self._checkpoint, ignore_errors=True)

    def _start(self, spark: SparkSession, name: str, options: Mapping[str, str]) -> StreamingQuery:
        source = spark.readStream.format("kafka").options(**options).load()
        writer = source.writeStream.foreachBatch(self._offer).option("checkpointLocation", str(self._checkpoint))
        return writer.queryName(f"{name} {self._checkpoint.name}").start()

    def _offer(self, df: DataFrame, batch_id: int) -> None:
        """Runs on Spark's callback thread: blocks until the task releases the batch or stops the query."""
        with self._changed:
            if self._closed:  # its checkpoint may be gone
                return
            end = self._planned_end(batch_id)
            start = {partition: self._position.get(partition, 0) for partition in end}
            if any(end[partition] < offset for partition, offset in start.items()):
                self._end_out_of_range()
                return
            self._offered = MicroBatch(df, start, end, self._options)
            self._position.update(end)
            self._running_batch = batch_id
            self._handling = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed or not self._handling)

    def _end_out_of_range(self) -> None:
        """Keep the query from its next batch, which would begin at the end of the shorter log."""
        self._out_of_range = True
        self._changed.notify_all()
        self._changed.wait_for(lambda: self._closed)

    def _planned_end(self, batch_id: int) -> dict[TopicPartition, int]:
        """Read the end offsets that Spark writes before a batch (``OffsetSeqLog``: version, metadata, offsets)."""
        *_, last = (self._checkpoint / "offsets" / str(batch_id)).read_text().splitlines()
        return {
            TopicPartition(topic, int(partition)): offset
            for topic, partitions in json.loads(last).items()
            for partition, offset in partitions.items()
        }


def _assignment(start: Offsets) -> dict[str, str]:
    """Return the options ``assign`` and ``startingOffsets`` for these offsets."""
    assigned: dict[str, list[int]] = {}
    for partition in sorted(start, key=lambda partition: partition.partition):
        assigned.setdefault(partition.topic, []).append(partition.partition)
    return {"assign": json.dumps(assigned), "startingOffsets": _offsets(start)}


def _offsets(partitions: Offsets) -> str:
    offsets: dict[str, dict[str, int]] = {}
    for partition, offset in partitions.items():
        offsets.setdefault(partition.topic, {})[str(partition.partition)] = offset
    return json.dumps(offsets)


def source_options(consumer: Settings, *, headers: bool) -> dict[str, str]:
    """Return the options of Spark's Kafka source.

    Args:
        consumer: settings of the task's consumer.
        headers: whether to read headers.
    """
    return {
        **clients.spark_options({**_FASTER_FETCHES, **consumer}),
        "minPartitions": "2",
        # A truncated partition continues at its new start, unless the user chose to fail.
        "failOnDataLoss": str(consumer.get("auto.offset.reset") == "none").lower(),
        "kafkaConsumer.pollTimeoutMs": str(_FETCH_MS),
        "includeHeaders": str(headers).lower(),
    }


def latest_offsets(report: Mapping[str, Any]) -> dict[TopicPartition, int]:
    """Return the ends of the partitions when Spark planned the batch of a progress report."""
    # As a mapping, Spark's report has offsets as Python's repr.
    latest = [json.loads(source.json)["latestOffset"] or {} for source in report["sources"]]
    return {
        TopicPartition(topic, int(partition)): end
        for topics in latest
        for topic, partitions in topics.items()
        for partition, end in partitions.items()
    }


def parts(batch: MicroBatch, limit: int | None) -> Iterator[MicroBatch]:
    """Yield the batch in parts of at most ``limit`` records (``max.poll.records``), in the order of each partition.

    A batch without offsets has no parts; the first batch of a query over empty partitions is one.
    """
    if all(end == batch.start[partition] for partition, end in batch.end.items()):
        return
    if limit is None or batch.size <= limit:
        yield batch
        return
    for partition, end in batch.end.items():
        for first in range(batch.start[partition], end, limit):
            yield _part(batch, partition, first, min(first + limit, end))


def _part(batch: MicroBatch, partition: TopicPartition, first: int, end: int) -> MicroBatch:
    conditions = (
        F.col("topic") == partition.topic,
        F.col("partition") == partition.partition,
        F.col("offset") >= first,
        F.col("offset") < end,
    )
    rows = batch.df.where(functools.reduce(operator.and_, conditions))
    return replace(batch, df=rows, start={partition: first}, end={partition: end})
