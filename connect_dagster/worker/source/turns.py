"""Big batches of a worker's source tasks, one after the other.

One big batch keeps all cores busy. Several at once are hardly faster, take more memory, and leave a task with a single
line waiting for its share of the cores (docs/decisions/0006-big-batches-take-turns.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_BIG_ROWS = 5_000


class Turns:
    """Shared by the source tasks of one worker."""

    def __init__(self) -> None:
        self._turn = threading.Lock()

    @contextmanager
    def taken(self, rows: int) -> Iterator[None]:
        """Wait for a turn, unless the batch is small.

        Args:
            rows: how many the batch is likely to have: those of the one before.
        """
        if rows < _BIG_ROWS:
            yield
            return
        with self._turn:
            yield
