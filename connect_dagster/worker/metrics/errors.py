"""Errors of a task's records (Java: ``ErrorHandlingMetrics``)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from connect_dagster.plugin.metrics import MetricReading
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.metrics.groups import TASK_ERRORS


class ErrorMetrics:
    """Counts of what went wrong with records.

    Args:
        id: the task.
        today: seconds since the epoch.
    """

    def __init__(self, id: TaskId, today: Callable[[], float] = time.time) -> None:
        self._id = id
        self._today = today
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(TASK_ERRORS.numbers, 0)

    def skipped(self, records: int) -> None:
        """Records could not be processed and were left out, as ``errors.tolerance=all`` wants it."""
        with self._lock:
            self._failed(records)
            self._counts["total-record-errors"] += records
            self._counts["total-records-skipped"] += records

    def failed(self, records: int) -> None:
        """Count processed records that could not be delivered; the task continues."""
        with self._lock:
            self._failed(records)

    def fatal(self) -> None:
        """Count a record that could not be processed, which ends the task."""
        with self._lock:
            self._failed(1)
            self._counts["total-record-errors"] += 1

    def failed_try(self) -> None:
        """Count a failed operation that will be tried again."""
        with self._lock:
            self._counts["total-record-failures"] += 1

    def retried(self) -> None:
        """Count an operation that is tried again."""
        with self._lock:
            self._counts["total-retries"] += 1

    def logged(self) -> None:
        """Count a logged error of a record."""
        with self._lock:
            self._counts["total-errors-logged"] += 1

    def dead_letter_requested(self) -> None:
        """Count a record that will be written to the dead letter queue."""
        with self._lock:
            self._counts["deadletterqueue-produce-requests"] += 1

    def dead_letter_failed(self) -> None:
        """Count a record that could not be written to the dead letter queue."""
        with self._lock:
            self._counts["deadletterqueue-produce-failures"] += 1

    def read(self) -> MetricReading:
        """Return the group."""
        with self._lock:
            return MetricReading(TASK_ERRORS, (self._id.connector, str(self._id.task)), dict(self._counts))

    def _failed(self, records: int) -> None:
        self._counts["total-record-failures"] += records
        self._counts["last-error-timestamp"] = int(self._today() * 1000)
