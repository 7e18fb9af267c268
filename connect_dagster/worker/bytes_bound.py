"""Bounds in bytes within the plans of batches: the job fails before its Spark tasks hold more.

Each Spark task adds up the bytes of its records in separate counters, of which it has a copy
(docs/decisions/0023-batches-are-bounded-in-bytes.md). A batch that is too large is read again: by a sink with fewer
records, by a source through the disk.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_calls import TaskCounters, kept_in_jvm, tasks_of_stage
from connect_dagster.expressions.java_errors import chain

_TEXT = "connect_dagster: the batch is too large"
_COUNTS = re.compile(rf"{_TEXT}: (\d+) bytes in (\d+) records")
_RECORDS, _BYTES = 0, 1
_KEPT = 20
_ROOM = 4
# Python puts the heads before the records, which takes none of the JVM's heap: they count in part.
_SHARE_OF_HEADS = 8
_NO_HEADS: Mapping[str, bytes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Measured:
    """Counts of a batch, as far as it was read.

    Attributes:
        bytes: of keys, values and headers.
        records: that have them.
    """

    bytes: int
    records: int

    def since(self, before: Measured) -> Measured:
        """Return the counts of what has been read after others."""
        return Measured(self.bytes - before.bytes, self.records - before.records)


class BatchTooLargeError(Exception):
    """A batch has more bytes than its Spark tasks may hold.

    Attributes:
        read: counts of one Spark task until then.
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


@dataclass(frozen=True, slots=True)
class ReadBound:
    """The bound of what a sink task reads, to be called with its records.

    Attributes:
        most_bytes: that a Spark task may read; one record may have more, as a batch of one record cannot be smaller.
    """

    most_bytes: int

    def __call__(self, df: DataFrame) -> DataFrame:
        """Return the records, whose evaluation fails where a Spark task reads too many bytes.

        Args:
            df: columns of Spark's Kafka source.
        """
        return df.where(_read_check(self.most_bytes, tuple(df.columns)))


@kept_in_jvm(20)
def _read_check(most_bytes: int, columns: tuple[str, ...]) -> Column:
    """Return a condition that is true or raises; tasks share it, as it takes dozens of calls into the JVM."""
    counters = TaskCounters(2)
    several = counters.after_adding(_RECORDS, F.lit(1)) > 1
    excess = counters.after_adding(_BYTES, size_of_record(columns)) > most_bytes
    return F.when(several & excess, _raised(counters)).otherwise(F.lit(True))


class EncodedBound:
    """The bound of what the plans of a source task give.

    Args:
        most_bytes: of a batch; each of its Spark tasks may have an equal share.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._checks: dict[tuple[object, ...], Column] = {}

    def over(self, df: DataFrame, *, frames: int = 1, heads: Mapping[str, bytes] = _NO_HEADS) -> DataFrame:
        """Return the records, whose evaluation fails where a Spark task has more bytes than its share.

        Args:
            df: columns for a producer.
            frames: number of frames that share the batch, each with separate Spark tasks.
            heads: bytes that Python puts before each record, by column.
        """
        columns = df.columns
        omitted = sum(map(len, heads.values())) // _SHARE_OF_HEADS
        wanted = ("headers" in columns, "key" in columns, frames, omitted)
        check = self._checks.get(wanted)
        if check is None:
            if len(self._checks) >= _KEPT:
                self._checks.clear()
            check = self._checks[wanted] = self._made(df, frames, omitted)
        # Not a filter: Spark would push it below the projection, and encode each record twice.
        return df.withColumn("value", check)

    def has_room_for(self, size: int) -> bool:
        """Return whether a batch of this size in bytes is far from the bound, though its Spark tasks differ."""
        return size * _ROOM <= self._most_bytes

    def _made(self, df: DataFrame, frames: int, omitted: int) -> Column:
        counters = TaskCounters(2)
        # Both count each record, also where the first alone would decide.
        counted = counters.after_adding(_RECORDS, F.lit(1)) > 0
        size = size_of_record(tuple(df.columns))
        size = size + omitted if omitted else size
        excess = counters.after_adding(_BYTES, size) * tasks_of_stage() > self._most_bytes * frames
        return F.when(counted & excess, _raised(counters)).otherwise(F.col("value"))


@kept_in_jvm(20)
def size_of_record(columns: tuple[str, ...]) -> Column:
    """Return the bytes of a record's key, value and headers, as far as they are among these columns."""
    sizes = [F.octet_length(name) for name in ("key", "value") if name in columns]
    if "headers" in columns:
        headers = F.col("headers")
        # Joined, not summed up by a lambda: Spark generates no code for a plan that has one.
        texts = (headers["key"], headers["value"].cast("array<string>"))
        sizes += [F.octet_length(F.array_join(text, "")) for text in texts]
    return sum((F.coalesce(size, F.lit(0)) for size in sizes[1:]), F.coalesce(sizes[0], F.lit(0)))


def _raised(counters: TaskCounters) -> Column:
    """Fail the Spark task, with its counts."""
    text = F.concat(
        F.lit(f"{_TEXT}: "),
        counters.value(_BYTES).cast("string"),
        F.lit(" bytes in "),
        counters.value(_RECORDS).cast("string"),
        F.lit(" records"),
    )
    return F.raise_error(text)
