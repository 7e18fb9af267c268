"""Sizes the batches of a sink task in records, by the bytes that they have.

Spark's source bounds a batch in records alone. A batch is read with a bound of bytes in its plan
(``worker/bytes_bound.py``): the first Spark task that reads more fails, before it holds them, and the batch is read
again with fewer records. While batches are smaller than they could be, their bytes are counted, so that they grow again
where records become smaller.
"""

from __future__ import annotations

from connect_dagster.worker.bytes_bound import Measured

MOST_RECORDS = 200_000
"""Bigger batches take more memory and the same time (docs/decisions/0002-spark-session.md)."""

# Records differ: a batch is planned for half of the bytes.
_PLANNED_SHARE = 0.5
_WORTH_A_NEW_QUERY = 4


class BatchSize:
    """The records of a task's batches, as many as fit into the bytes of a Spark task.

    Args:
        most_records: however small they are.
        most_bytes: that a Spark task may read.
    """

    def __init__(self, most_records: int, most_bytes: int) -> None:
        self._most_records = most_records
        self._most_bytes = most_bytes
        self.records = most_records

    @property
    def is_reduced(self) -> bool:
        """Return whether batches have fewer records than they might."""
        return self.records < self._most_records

    def shrink(self, read: Measured) -> None:
        """Take fewer records from here on, at most half as many, as a Spark task has read too many bytes."""
        self.records = max(1, min(self.records // 2, self._fitting(read)))

    def grow(self, read: Measured) -> None:
        """Take more records from here on where at least four times as many would fit."""
        fitting = self._fitting(read)
        if fitting >= _WORTH_A_NEW_QUERY * self.records or fitting == self._most_records:
            self.records = fitting

    def _fitting(self, read: Measured) -> int:
        """Return the number of such records that one Spark task may read, as a partition may have all of them."""
        each = max(1, read.bytes / max(1, read.records))
        return max(1, min(self._most_records, int(_PLANNED_SHARE * self._most_bytes / each)))
