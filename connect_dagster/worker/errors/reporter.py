"""Reports failed records to the log and the dead letter queue, and ends the task where errors are not tolerated.

Java: ``RetryWithToleranceOperator`` with its reporters (``LogReporter``, ``DeadLetterQueueReporter``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Protocol

from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.errors.failures import FailedRecord, RecordError, ToleranceExceededError
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.metrics.errors import ErrorMetrics

log = logging.getLogger(__name__)


class Queue(Protocol):
    """The methods of ``DeadLetterQueue``."""

    def write(self, record: FailedRecord) -> None:
        """Send one record."""

    def serve(self) -> None:
        """Do what is due without a record."""

    def flush(self, while_running: Callable[[], bool]) -> bool:
        """Wait until every record is acknowledged or refused."""

    def close(self) -> None:
        """Close the producer."""


class ErrorReporter:
    """Reporter of one task.

    Args:
        id: the task.
        policy: of the connector.
        metrics: counts of the task.
        open_queue: opens the dead letter queue, on the task's thread; ``None`` where there is none.
    """

    def __init__(
        self, id: TaskId, policy: ErrorPolicy, metrics: ErrorMetrics, open_queue: Callable[[], Queue] | None = None
    ) -> None:
        self.policy = policy
        self.metrics = metrics
        self._id = id
        self._open_queue = open_queue
        self._queue: Queue | None = None

    def open(self) -> None:
        """Open the dead letter queue.

        Raises:
            ConnectError: its topic does not exist and cannot be created.
        """
        if self._open_queue is not None and self._queue is None:
            self._queue = self._open_queue()

    def failed(self, records: Sequence[FailedRecord]) -> None:
        """Count and report records that a converter or a transform failed, and skip them.

        Args:
            records: in their order.

        Raises:
            ToleranceExceededError: errors are not tolerated; only the first record is reported.
        """
        if not records:
            return
        if not self.policy.tolerate:
            self._fail(records[0])
        self.metrics.skipped(len(records))
        self.report(records)

    def execute_failed(self, records: Sequence[FailedRecord]) -> None:
        """Count and report records that failed after the pipeline (Java: ``executeFailed``).

        Raises:
            ToleranceExceededError: errors are not tolerated; only the first record is reported.
        """
        if not records:
            return
        if not self.policy.tolerate:
            self._fail(records[0])
        self.metrics.failed(len(records))
        self.report(records)

    def _fail(self, record: FailedRecord) -> None:
        self.metrics.fatal()
        self.report([record])
        raise ToleranceExceededError from record.error or RecordError.of(record.failure)

    def report(self, records: Sequence[FailedRecord]) -> None:
        """Write records to the log and the dead letter queue, by the policy."""
        for record in records:
            if self.policy.log:
                self._log(record)
            if self._queue is not None:
                self._queue.write(record)

    def serve(self) -> None:
        """Have the dead letter queue do what is due without a record; on the thread that reports."""
        if self._queue is not None:
            self._queue.serve()

    def flush(self, while_running: Callable[[], bool]) -> bool:
        """Wait until the dead letter queue has every reported record.

        Args:
            while_running: whether to keep waiting.

        Returns:
            ``False`` when the wait was given up.
        """
        return self._queue is None or self._queue.flush(while_running)

    def close(self) -> None:
        """Close the dead letter queue."""
        queue, self._queue = self._queue, None
        if queue is not None:
            queue.close()

    def _log(self, record: FailedRecord) -> None:
        failure = record.failure
        log.error(
            "Error encountered in task %s. Executing stage '%s' with class '%s'%s.\n%s",
            self._id,
            failure.stage,
            failure.executor,
            record.record.log_text() if self.policy.log_messages else "",
            failure.stacktrace.rstrip(),
        )
        self.metrics.logged()
