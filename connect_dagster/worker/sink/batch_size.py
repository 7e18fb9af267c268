"""Bounds the batches of a sink task in bytes.

Spark's source bounds a batch in records alone. A batch is read with a bound of bytes in its plan: the first Spark task
that reads more fails, before it holds them, and the batch is read again with fewer records. While batches are smaller
than they could be, their bytes are counted, so that they grow again where records become smaller.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_calls import TaskCounters
from connect_dagster.worker.errors.failures import chain

MOST_RECORDS = 200_000
"""Bigger batches take more memory and the same time (docs/decisions/0002-spark-session.md)."""

# Records differ: a batch is planned for half of the bytes.
_PLANNED_SHARE = 0.5
_WORTH_A_NEW_QUERY = 4
_TEXT = "connect_dagster: the batch is too large"
_COUNTS = re.compile(rf"{_TEXT}: (\d+) bytes in (\d+) records")
_RECORDS, _BYTES = 0, 1


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts of a batch, as far as it was read.

    Attributes:
        bytes: of keys, values and headers.
        records: that have them.
    """

    bytes: int
    records: int


class BatchTooLargeError(Exception):
    """A batch has more bytes than a Spark task may read.

    Attributes:
        read: counts until then.
    """

    def __init__(self, read: Measured) -> None:
        super().__init__(f"{_TEXT}: {read.bytes} bytes in {read.records} records")
        self.read = read


def too_large(error: BaseException) -> BatchTooLargeError | None:
    """Return the error that says how large a batch is, if a Spark job failed because of it."""
    for one in chain(error):
        if found := _COUNTS.search(str(one)):
            return BatchTooLargeError(Measured(int(found[1]), int(found[2])))
    return None


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


class BytesBound:
    """The bound in the plans of a task's batches.

    Args:
        most_bytes: that a Spark task may read; one record may have more.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._check: Column | None = None

    def over(self, df: DataFrame) -> DataFrame:
        """Return the records, whose evaluation fails where a Spark task reads too many bytes.

        Args:
            df: columns of Spark's Kafka source.
        """
        if self._check is None:  # kept: it takes dozens of calls into the JVM
            self._check = _is_within(self._most_bytes, size_of_record(df))
        return df.where(self._check)


def size_of_record(df: DataFrame) -> Column:
    """Return the bytes of a record over the columns of Spark's Kafka source."""
    sizes = [F.length("key"), F.length("value")]
    if "headers" in df.columns:
        sizes.append(F.aggregate("headers", F.lit(0), lambda sum, one: sum + _size_of_header(one)))
    return sum((F.coalesce(size, F.lit(0)) for size in sizes[1:]), F.coalesce(sizes[0], F.lit(0)))


def _size_of_header(header: Column) -> Column:
    return F.length(header["key"]) + F.coalesce(F.length(header["value"]), F.lit(0))


def _is_within(most_bytes: int, size: Column) -> Column:
    counters = TaskCounters(2)
    # The first record of a Spark task passes, however large: a batch of one record cannot be smaller.
    several = counters.after_adding(_RECORDS, F.lit(1)) > 1
    excess = counters.after_adding(_BYTES, size) > most_bytes
    text = F.concat(
        F.lit(f"{_TEXT}: "),
        counters.value(_BYTES).cast("string"),
        F.lit(" bytes in "),
        counters.value(_RECORDS).cast("string"),
        F.lit(" records"),
    )
    return F.when(several & excess, F.raise_error(text)).otherwise(F.lit(True))
