"""Tells whoever wants to know of records that could not be handled, and decides whether the task goes on.

Java: ``RetryWithToleranceOperator`` with its reporters (``LogReporter``, ``DeadLetterQueueReporter``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.errors.dead_letter_queue import DeadLetterQueue
from connect_dagster.worker.errors.failed_records import FailedRecord, Original, RecordError, ToleranceExceededError
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.metrics.errors import ErrorMetrics

log = logging.getLogger(__name__)

OpenQueue = Callable[[], DeadLetterQueue]


class ErrorReports:
    """Reports of one task's records.

    Args:
        id: the task.
        policy: what the connector wants.
        metrics: counts of the task.
        open_queue: opens the dead letter queue, on the task's thread; ``None`` where there is none.
    """

    def __init__(
        self, id: TaskId, policy: ErrorPolicy, metrics: ErrorMetrics, open_queue: OpenQueue | None = None
    ) -> None:
        self.policy = policy
        self.metrics = metrics
        self._id = id
        self._open_queue = open_queue
        self._queue: DeadLetterQueue | None = None

    def open(self) -> None:
        """Prepare the dead letter queue. Raises ConnectError when that has no topic and gets none."""
        if self._open_queue is not None and self._queue is None:
            self._queue = self._open_queue()

    def failed(self, records: Sequence[FailedRecord]) -> None:
        """Records could not be processed, and are left out.

        Args:
            records: in their order.

        Raises:
            ToleranceExceededError: the connector does not tolerate that; then the first one is reported.
        """
        if not records:
            return
        if self.policy.tolerate:
            self.metrics.skipped(len(records))
            self.report(records)
        else:
            self.metrics.fatal()
            self._refuse(records[0])

    def found_later(self, records: Sequence[FailedRecord]) -> None:
        """Records that had been processed so far could not be delivered (Java: ``executeFailed``).

        Raises:
            ToleranceExceededError: as of ``failed``.
        """
        if not records:
            return
        if self.policy.tolerate:
            self.metrics.failed(len(records))
            self.report(records)
        else:
            self.metrics.fatal()
            self._refuse(records[0])

    def _refuse(self, record: FailedRecord) -> None:
        self.report([record])
        raise ToleranceExceededError from record.error or RecordError.of(record.failure)

    def report(self, records: Sequence[FailedRecord]) -> None:
        """Log records and send them to the dead letter queue, as the connector wants it; counts only that."""
        for record in records:
            if self.policy.log:
                self._log(record)
            if self._queue is not None:
                self._queue.write(record)

    def written(self, go_on: Callable[[], bool]) -> bool:
        """Wait until the dead letter queue has all that was reported.

        Args:
            go_on: whether to wait on.
        """
        return self._queue is None or self._queue.written(go_on)

    def close(self) -> None:
        """Let go of the queue."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def _log(self, record: FailedRecord) -> None:
        failure = record.failure
        shown = shown_record(record.original) if self.policy.log_messages else ""
        log.error(
            "Error encountered in task %s. Executing stage '%s' with class '%s'%s.\n%s",
            self._id,
            failure.stage,
            failure.executor,
            shown,
            failure.stacktrace.rstrip(),
        )
        self.metrics.logged()


def shown_record(original: Original) -> str:
    """A record as Java's log has it; of a source's, what is known here."""
    if original.source_partition is None:
        time = ""
        if original.timestamp_type is not None:
            time = f", timestamp={original.timestamp}, timestampType={original.timestamp_type}"
        place = f"topic='{original.topic}', partition={original.partition}, offset={original.offset}"
        return f", where consumed record is {{{place}{time}}}"
    return (
        f", where source record is = SourceRecord{{sourcePartition={original.source_partition}, "
        f"sourceOffset={original.source_offset}}} ConnectRecord{{topic='{original.topic}', "
        f"kafkaPartition={_text(original.partition)}, key={_text(original.key)}, value={_text(original.value)}, "
        f"timestamp={_text(original.timestamp)}}}"
    )


def _text(value: bytes | int | None) -> str:
    if value is None:
        return "null"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
