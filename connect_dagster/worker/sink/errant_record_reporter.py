"""Records that a sink task itself reports as failed (KIP-610; Java: ``WorkerErrantRecordReporter``).

What is reported during a put is looked up after it: one pass over the batch brings the bytes of all of them. A record
that is not of the batch, or is reported later, is made into bytes by the connector's converters.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.plugin.records import SinkRecord, SourceRecord
from connect_dagster.worker.errors.failed_records import (
    TASK_PUT,
    FailedRecord,
    Failure,
    Original,
    ToleranceExceededError,
)
from connect_dagster.worker.errors.reporting import ErrorReports
from connect_dagster.worker.sink.originals import originals_at
from connect_dagster.worker.source import arrow_frames
from connect_dagster.worker.source.pipeline import SourcePipeline

_JAVA_TASK = "org.apache.kafka.connect.sink.SinkTask"
_ERROR = "__error"
_CONNECT = "org.apache.kafka.connect.errors.ConnectException"


@dataclass(frozen=True, slots=True)
class _Reported:
    """What the task said about one record."""

    topic: str
    partition: int
    offset: int
    failure: Failure
    record: SinkRecord | None = None
    error: Exception | None = None
    settled: Future[None] = field(default_factory=Future)


class ErrantRecords:
    """The reporter of one task (see ``ErrantRecordReporter``).

    Args:
        spark: the worker's session.
        reports: where the records go.
        converters: for records that are not as they were read.
    """

    def __init__(self, spark: SparkSession, reports: ErrorReports, converters: SourcePipeline) -> None:
        self._spark = spark
        self._reports = reports
        self._converters = converters
        self._reported: list[_Reported] = []
        self._lock = threading.Lock()

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Take a record that the task could not write."""
        failure = Failure.of(TASK_PUT, _JAVA_TASK, error)
        one = _Reported(*_place(record), failure, record, error)
        self._take([one])
        if not self._reports.policy.tolerate:
            raise ToleranceExceededError from error
        return one.settled

    def report_frame(self, frame: SinkFrame, error: Column | str) -> None:
        """Take all records of a frame; a null error is no failure."""
        text = F.lit(error) if isinstance(error, str) else error
        place = [frame.kafka_place(name).alias(name) for name in ("topic", "partition", "offset")]
        rows = frame.df.select(*place, text.alias(_ERROR)).where(F.col(_ERROR).isNotNull())
        found = [
            _Reported(
                row["topic"],
                row["partition"],
                row["offset"],
                Failure(TASK_PUT, _JAVA_TASK, _CONNECT, row[_ERROR]),
            )
            for row in rows.toArrow().to_pylist()
        ]
        self._take(found)
        if found and not self._reports.policy.tolerate:
            raise ToleranceExceededError

    def settle(self, batch: DataFrame | None) -> None:
        """Hand on what was reported since the last call.

        Args:
            batch: what Spark's source gave for the put that is over; ``None`` when there was none.

        Raises:
            ToleranceExceededError: a record was reported, and the connector does not tolerate that.
        """
        with self._lock:
            reported, self._reported = self._reported, []
        if not reported:
            return
        try:
            self._hand_on(reported, batch)
        except Exception as error:  # who waits for one of them would wait for ever
            for one in reported:
                one.settled.set_exception(error)
            raise
        for one in reported:
            one.settled.set_result(None)

    def _hand_on(self, reported: Sequence[_Reported], batch: DataFrame | None) -> None:
        places = [(one.partition, one.offset) for one in reported]
        found = {} if batch is None else originals_at(self._spark, batch, places)
        records = [
            FailedRecord(one.failure, self._original(one, found.get((one.partition, one.offset), ())), one.error)
            for one in reported
        ]
        self._reports.found_later(records)

    def _take(self, reported: Sequence[_Reported]) -> None:
        with self._lock:
            self._reported += reported

    def _original(self, one: _Reported, found: Sequence[Original]) -> Original:
        for original in found:
            if original.topic == one.topic:
                return original
        if one.record is None:
            return Original(one.topic, None, None, partition=one.partition, offset=one.offset)
        return self._written(one.record)

    def _written(self, record: SinkRecord) -> Original:
        source = SourceRecord(
            {},
            {},
            record.topic,
            record.value,
            record.value_schema,
            record.key,
            record.key_schema,
            record.partition,
            record.headers,
            record.timestamp,
        )
        (frame,) = arrow_frames.to_frames(self._spark, [source], self._converters.header_converter)
        table: pa.Table = self._converters.encode(self._converters.transform(frame)).toArrow()
        row: dict[str, Any] = table.to_pylist()[0]
        return Original(
            record.topic,
            row.get("key"),
            row.get("value"),
            partition=record.partition,
            offset=record.offset,
            timestamp=record.timestamp,
            timestamp_type=None if record.timestamp is None else "CreateTime",
            headers=tuple((header["key"], header["value"]) for header in row.get("headers") or ()),
        )


def _place(record: SinkRecord) -> tuple[str, int, int]:
    """Where a record was read, as far as it says."""
    topic, partition, offset = record.original_topic, record.original_kafka_partition, record.original_kafka_offset
    if topic is None or partition is None or offset is None:
        return record.topic, record.partition, record.offset
    return topic, partition, offset
