"""Admits one large batch of a worker's source tasks at a time.

One large batch keeps all cores busy. Several at once are hardly faster, take more memory, and delay a task with a
single record (docs/decisions/0006-big-batches-take-turns.md).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_LARGE_ROWS = 5_000


class LargeBatchGate:
    """Shared by the source tasks of one worker."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def admit(self, rows: int) -> Iterator[None]:
        """Wait until no other large batch is encoded; a small batch passes at once.

        Args:
            rows: the expected size, which is the size of the batch before.
        """
        if rows < _LARGE_ROWS:
            yield
            return
        with self._lock:
            yield
