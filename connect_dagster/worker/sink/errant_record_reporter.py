"""Reports the records that a sink task rejects (KIP-610; Java: ``WorkerErrantRecordReporter``).

One pass over the batch after a put reads the bytes of all records reported during it. A record of another batch, or one
that is reported later, is encoded by the connector's converters.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.plugin.records import SinkRecord
from connect_dagster.worker.errors.failures import TASK_PUT, FailedRecord, Failure, RawRecord, ToleranceExceededError
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.sink.raw_records import Offsets

RawRecordsAt = Callable[[Sequence[Offsets]], Mapping[Offsets, Sequence[RawRecord]]]

_JAVA_TASK = "org.apache.kafka.connect.sink.SinkTask"
_ERROR = "__error"
_CONNECT = "org.apache.kafka.connect.errors.ConnectException"


@dataclass(frozen=True, slots=True)
class _Reported:
    """One record that the task reported."""

    topic: str
    partition: int
    offset: int
    failure: Failure
    record: SinkRecord | None = None
    error: Exception | None = None
    settled: Future[None] = field(default_factory=Future)


class WorkerErrantRecordReporter:
    """Reporter of one task (see ``ErrantRecordReporter``).

    Args:
        reporter: receives the records.
        encode: returns a record in bytes, for one that is not in the batch as it was read.
    """

    def __init__(self, reporter: ErrorReporter, encode: Callable[[SinkRecord], RawRecord]) -> None:
        self._reporter = reporter
        self._encode = encode
        self._reported: list[_Reported] = []
        self._lock = threading.Lock()

    @property
    def tolerates(self) -> bool:
        """Return whether the task continues without the records that it reports (``errors.tolerance=all``)."""
        return self._reporter.policy.tolerate

    def report(self, record: SinkRecord, error: Exception) -> Future[None]:
        """Report a record that the task could not write."""
        failure = Failure.of(TASK_PUT, _JAVA_TASK, error)
        one = _Reported(*_place(record), failure, record, error)
        self._take([one])
        if not self._reporter.policy.tolerate:
            raise ToleranceExceededError from error
        return one.settled

    def report_frame(self, frame: SinkFrame, error: Column | str) -> None:
        """Report the records of a frame whose error is not null."""
        text = F.lit(error) if isinstance(error, str) else error
        place = [frame.original_coordinate(name).alias(name) for name in ("topic", "partition", "offset")]
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
        if found and not self._reporter.policy.tolerate:
            raise ToleranceExceededError

    def settle(self, raw_records_at: RawRecordsAt | None) -> None:
        """Pass the records reported since the last call to the error reporter.

        Args:
            raw_records_at: reads records of the batch that was put; ``None`` after no put.

        Raises:
            ToleranceExceededError: a record was reported, and errors are not tolerated.
        """
        with self._lock:
            reported, self._reported = self._reported, []
        if not reported:
            return
        try:
            self._pass_on(reported, raw_records_at)
        except Exception as error:  # else a task that waits for one of them waits forever
            for one in reported:
                one.settled.set_exception(error)
            raise
        for one in reported:
            one.settled.set_result(None)

    def _pass_on(self, reported: Sequence[_Reported], raw_records_at: RawRecordsAt | None) -> None:
        offsets = [(one.partition, one.offset) for one in reported]
        found = {} if raw_records_at is None else raw_records_at(offsets)
        records = [
            FailedRecord(one.failure, self._raw_record(one, found.get((one.partition, one.offset), ())), one.error)
            for one in reported
        ]
        self._reporter.execute_failed(records)

    def _take(self, reported: Sequence[_Reported]) -> None:
        with self._lock:
            self._reported += reported

    def _raw_record(self, one: _Reported, found: Sequence[RawRecord]) -> RawRecord:
        for raw in found:
            if raw.topic == one.topic:
                return raw
        if one.record is None:
            return RawRecord(one.topic, None, None, partition=one.partition, offset=one.offset)
        return self._encode(one.record)


def _place(record: SinkRecord) -> tuple[str, int, int]:
    """Return topic, partition and offset that the record was read from, as far as it has them."""
    topic, partition, offset = record.original_topic, record.original_kafka_partition, record.original_kafka_offset
    if topic is None or partition is None or offset is None:
        return record.topic, record.partition, record.offset
    return topic, partition, offset
