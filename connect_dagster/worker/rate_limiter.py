"""Paces a task with a limit: it moves records, and waits until their time is over before it moves the next.

A limit is a leaky bucket. A task that was idle has saved a second at most, so that single records never wait.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from connect_dagster.plugin.rate import UNLIMITED, Rate

Result = TypeVar("Result")
_SAVED_SECONDS = 1.0
_STEP_SECONDS = 0.1
_PART_SECONDS = 0.25


class RateLimiter:
    """Compute the waits of a task; for one thread.

    Args:
        rate: of the task.
        waited: called with the milliseconds of each wait.
        clock: seconds of a monotonic clock.

    Attributes:
        rate: of the task.
    """

    def __init__(
        self,
        rate: Rate = UNLIMITED,
        waited: Callable[[float], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rate = rate
        self._waited = waited
        self._clock = clock
        self._free_at = clock()
        self._bytes_each = 0.0

    def moved(self, records: int, bytes: int) -> None:
        """Note records that were moved, or are about to be."""
        if records:
            self._bytes_each = bytes / records
        self._free_at = max(self._free_at, self._clock() - _SAVED_SECONDS) + self.rate.seconds(records, bytes)

    def moved_table(self, table: pa.Table) -> None:
        """Note records in bytes, in columns ``value`` and perhaps ``key``."""
        if self.rate.is_limited:
            self.moved(table.num_rows, _bytes_of(table))

    def parts(self, table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
        """Yield records in parts of a quarter of a second, each with the number of its first one; all without a limit.

        Args:
            table: columns ``value`` and perhaps ``key``; in one part, too, where it has no rows.
        """
        rows = max(1, table.num_rows)
        step = rows
        if self.rate.is_limited:
            each = _bytes_of(table) / rows
            step = max(1, int(min(rows, self.rate.most_records(_PART_SECONDS, each))))
        for start in range(0, rows, step):
            yield start, table.slice(start, step)

    @property
    def delay(self) -> float:
        """Return the seconds until the next records may be moved."""
        return max(0.0, self._free_at - self._clock())

    def wait(self, wait: Callable[[float], bool]) -> bool:
        """Wait until the next records may be moved.

        Args:
            wait: waits for seconds; returns whether to go on.

        Returns:
            Whether the time is over; ``False`` where the wait was given up.
        """
        while self.delay:
            if not self.wait_a_step(wait):
                return False
        return True

    def wait_a_step(self, wait: Callable[[float], Result]) -> Result:
        """Wait a tenth of a second at most, by a function that waits for seconds, and return what it returns."""
        step = min(self.delay, _STEP_SECONDS)
        self._waited(step * 1000)
        return wait(step)

    def most_records(self, seconds: float) -> int | None:
        """Return the most records to move at once for some seconds of the limit, by the size of those before.

        ``None`` without a limit.
        """
        if not self.rate.is_limited:
            return None
        return max(1, int(self.rate.most_records(seconds, self._bytes_each)))


def _bytes_of(table: pa.Table) -> int:
    columns = [table.column(name) for name in ("key", "value") if name in table.column_names]
    return sum(pc.sum(pc.binary_length(column)).as_py() or 0 for column in columns)
