"""Ranges of offsets of a sink task, whose records are counted as Spark reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

from connect_dagster.expressions.java_calls import RecordCounter
from connect_dagster.expressions.offset_ranges import OffsetRange, OffsetRangeReader, RangeSlot
from connect_dagster.worker.bytes_bound import Measured, size_of_record
from connect_dagster.worker.spark.kept_projection import NotKeptError


class CountedSlot(NamedTuple):
    """A slot whose records are counted.

    Attributes:
        ranges: that it reads.
        counter: of its records.
        df: the records, in the columns of Spark's Kafka source.
    """

    ranges: RangeSlot
    counter: RecordCounter
    df: DataFrame


class CountingReader(OffsetRangeReader):
    """Reads ranges of offsets, and counts the records that plans have read; twice where one ran twice."""

    def __init__(self, spark: SparkSession, options: Mapping[str, str]) -> None:
        super().__init__(spark, options)
        self._counter: RecordCounter | None = None
        self._counters: list[RecordCounter] = []  # those of slots, and that one
        self._forgotten = Measured(0, 0)

    @property
    def counted(self) -> Measured:
        """Return the counts until now."""
        return Measured(
            self._forgotten.bytes + sum(one.bytes for one in self._counters),
            self._forgotten.records + sum(one.records for one in self._counters),
        )

    def read_counted(self, ranges: Sequence[OffsetRange]) -> DataFrame:
        """Return what :meth:`read` returns, and count the records once they are read."""
        df = self.read(ranges)
        if self._counter is None:
            self._counter = _counter_of(df)
            self._counters.append(self._counter)
        return df.where(self._counter.condition)

    def counted_slot(self, ranges: Sequence[OffsetRange]) -> CountedSlot:
        """Return a DataFrame over these ranges, or others of the same layout, whose records are counted.

        Raises:
            NotKeptError: this Spark has other parts.
        """
        slot = self.slot(ranges)
        if slot is None:
            raise NotKeptError("Spark has other parts than Spark 4.1")
        counter = _counter_of(slot.df)
        self._counters.append(counter)
        return CountedSlot(slot, counter, slot.df.where(counter.condition))

    def take_over_counted(self, slot: CountedSlot, ranges: Sequence[OffsetRange]) -> None:
        """Read ranges of this task by the slot of a reader that has ended, of the same kind, and count from nothing.

        Args:
            slot: of another reader; has as many ranges for each Spark task.
            ranges: the first ones.

        Raises:
            NotKeptError: this Spark has other parts.
        """
        if not self.take_over(slot.ranges, ranges):
            raise NotKeptError("Spark has other parts than Spark 4.1")
        slot.counter.reset()
        self._counters.append(slot.counter)

    def forget(self, slot: CountedSlot) -> None:
        """Keep the counts of a slot alone, which is not read any more."""
        counter, before = slot.counter, self._forgotten
        self._forgotten = Measured(before.bytes + counter.bytes, before.records + counter.records)
        self._counters.remove(counter)


def _counter_of(df: DataFrame) -> RecordCounter:
    return RecordCounter(size_of_record(tuple(df.columns)))
