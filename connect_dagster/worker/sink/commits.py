"""Schedules the commits of a sink task and records their results. Does not use Kafka or Spark."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit that has no result yet: its number, and the offsets that have changed."""

    number: int
    offsets: dict[TopicPartition, int]


class Commits:
    """The commits of one task: one at a time, each with its number; late results are ignored.

    Args:
        interval: seconds from one commit to the next.
        timeout: seconds after which a commit counts as failed.
        task: the task's id, for the log.
        clock: seconds of a monotonic clock.
    """

    def __init__(self, interval: float, timeout: float, task: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.committed: dict[TopicPartition, int] = {}
        self._reset: set[TopicPartition] = set()
        self._interval = interval
        self._timeout = timeout
        self._task = task
        self._clock = clock
        self._next = clock() + interval
        self._number = 0
        self._began: float | None = None

    def begin(self, committed: Offsets) -> None:
        """Treat the offsets that newly assigned partitions begin with as committed."""
        self.committed.update(committed)

    def forget(self, partitions: Iterable[TopicPartition]) -> None:
        """Remove partitions that move to another task."""
        for partition in partitions:
            self.committed.pop(partition, None)
            self._reset.discard(partition)

    def reset(self, offsets: Offsets) -> None:
        """Continue at offsets that the group does not have: commit them next, and ignore a commit without result."""
        self.committed.update(offsets)
        self._reset.update(offsets)
        self._began = None

    def due(self) -> bool:
        """Return whether the next commit should begin."""
        return not self.waiting and self._clock() >= self._next

    @property
    def waiting(self) -> bool:
        """Return whether a commit has no result yet."""
        return self._began is not None

    def postpone(self) -> None:
        """Schedule the next commit one interval from now."""
        self._next = self._clock() + self._interval

    def started(self, offsets: Offsets) -> Commit | None:
        """Begin a commit; return ``None`` when no offset has changed."""
        self.postpone()
        changed = {
            partition: offset
            for partition, offset in offsets.items()
            if self.committed.get(partition) != offset or partition in self._reset
        }
        if not changed:
            return None
        self._number += 1
        self._began = self._clock()
        return Commit(self._number, changed)

    def ended(self, commit: Commit, error: Exception | None) -> float | None:
        """Record the result of a commit; ignore that of a commit which has timed out.

        Returns:
            Seconds that the commit took; ``None`` when the result came too late.
        """
        if commit.number != self._number or self._began is None:
            log.debug("WorkerSinkTask{id=%s} Ignoring the late result of commit %d", self._task, commit.number)
            return None
        took, self._began = self._clock() - self._began, None
        if error is None:
            self.committed.update(commit.offsets)
            self._reset.difference_update(commit.offsets)
        else:
            log.error("WorkerSinkTask{id=%s} Commit of offsets failed, will be tried again: %s", self._task, error)
        return took

    def check_timeout(self) -> bool:
        """Give up a commit that takes too long; return whether there was one."""
        if self._began is None or self._clock() - self._began <= self._timeout:
            return False
        log.warning("WorkerSinkTask{id=%s} Commit of offsets timed out", self._task)
        self._began = None
        return True
