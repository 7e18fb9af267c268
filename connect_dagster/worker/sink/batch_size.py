"""Sizes the batches of a sink task in records, by the bytes that they have.

Spark's source bounds a batch in records alone. A batch is read with a bound of bytes in its plan
(``worker/bytes_bound.py``): the first Spark task that reads more fails, before it holds them, and the batch is read
again with fewer records. The bytes of each batch are counted: the first one is small, the next have as many records as
fit by its count, and they grow again where records become smaller.
"""

from __future__ import annotations

from connect_dagster.expressions.offset_ranges import LEAST_TO_SPLIT, TASKS
from connect_dagster.worker.bytes_bound import Measured

MOST_RECORDS = 200_000
"""Bigger batches take more memory and the same time (docs/decisions/0002-spark-session.md)."""

# Records differ: a batch is planned for half of the bytes.
_PLANNED_SHARE = 0.5
# A batch that is too large is read twice, so that a little more is not worth a try.
_WORTH_A_TRY = 4


class BatchSize:
    """The records of a task's batches, as many as fit into the bytes of a Spark task.

    Args:
        most_records: however small they are.
        most_bytes: that a Spark task may read.
    """

    def __init__(self, most_records: int, most_bytes: int) -> None:
        self._most_records = most_records
        self._most_bytes = most_bytes
        self.records = min(most_records, LEAST_TO_SPLIT)
        self._is_first = True

    def shrink(self, read: Measured) -> None:
        """Take fewer records from here on, at most half as many, as a Spark task has read too many bytes."""
        self._is_first = False
        self.records = max(1, min(self.records // 2, self._fitting(read)))

    def grow(self, read: Measured) -> None:
        """Take more records from here on where at least four times as many would fit, or any behind the first batch.

        Args:
            read: counts of a batch, which may have no records.
        """
        if not read.records:
            return
        fitting = self._fitting(read)
        if fitting >= _WORTH_A_TRY * self.records or fitting == self._most_records or self._is_first:
            self.records = max(fitting, self.records)
        self._is_first = False

    def _fitting(self, read: Measured) -> int:
        """Return the number of such records that the Spark tasks of a batch may read."""
        each = max(1, read.bytes / max(1, read.records))
        of_task = int(_PLANNED_SHARE * self._most_bytes / each)
        fitting = of_task * TASKS if of_task * TASKS >= LEAST_TO_SPLIT else of_task
        return max(1, min(self._most_records, fitting))
