"""When a sink task commits offsets, and what came of it. Knows neither Kafka nor Spark."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping

from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, int]


class Commits:
    """The commits of one task: one at a time, each with its number, late answers ignored.

    Args:
        interval: seconds from one commit to the next.
        timeout: seconds after which a commit counts as failed.
        task: the task's id, for the log.
    """

    def __init__(self, interval: float, timeout: float, task: str) -> None:
        self.committed: dict[TopicPartition, int] = {}
        self._interval = interval
        self._timeout = timeout
        self._task = task
        self._next = time.monotonic() + interval
        self._began: float | None = None

    def begin(self, committed: Offsets) -> None:
        """Take the offsets that a new assignment begins with as committed."""
        self.committed.update(committed)

    def due(self) -> bool:
        """Whether the next commit should begin."""
        return self._began is None and time.monotonic() >= self._next

    def started(self, offsets: Offsets) -> dict[TopicPartition, int]:
        """Begin a commit; answers those of the offsets that are news."""
        self._next = time.monotonic() + self._interval
        changed = {place: offset for place, offset in offsets.items() if self.committed.get(place) != offset}
        self._began = time.monotonic() if changed else None
        return changed

    def ended(self, offsets: Offsets, error: Exception | None) -> None:
        """Take the answer to a commit."""
        self._began = None
        if error is None:
            self.committed.update(offsets)
        else:
            log.error("WorkerSinkTask{id=%s} Commit of offsets failed, will be tried again: %s", self._task, error)

    def check_timeout(self) -> None:
        """Give up a commit that takes too long."""
        if self._began is not None and time.monotonic() - self._began > self._timeout:
            log.warning("WorkerSinkTask{id=%s} Commit of offsets timed out", self._task)
            self._began = None
