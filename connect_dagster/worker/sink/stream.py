"""The batches of a sink task: ranges of offsets from its position to the ends of its partitions, or fetched records.

A batch is a DataFrame over ranges that are planned here, without a streaming query: offsets are in the consumer group,
so that a query's checkpoint, log and polls would be a second truth (docs/decisions/0034-sinks-plan-their-batches.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from connect_dagster.expressions.offset_ranges import OffsetRange, shared_out
from connect_dagster.kafka.fetched_records import FetchedRecords
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.bytes_bound import Measured
from connect_dagster.worker.sink.counting_reader import CountingReader

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True)
class MicroBatch:
    """One batch.

    Attributes:
        make_df: returns the columns of Spark's Kafka source, nothing read yet.
        start: first offset of each partition.
        end: offset after the batch of each partition, with offsets that compaction and transactions leave out.
        first_record: reads the first record of a partition, outside of the counts of the batch, if it still exists.
        fetched: the records, where the consumer has fetched them.
        ranges: of offsets that ``make_df`` reads; empty where it reads no log.
    """

    make_df: Callable[[], DataFrame]
    start: dict[TopicPartition, int]
    end: dict[TopicPartition, int]
    first_record: Callable[[], pa.Table]
    fetched: pa.Table | None = None
    ranges: Sequence[OffsetRange] = ()

    @classmethod
    def of_fetched(cls, records: FetchedRecords, spark: SparkSession) -> MicroBatch:
        """Return the batch of records that the consumer has fetched."""

        def make_df() -> DataFrame:
            # One Spark task, as of a small range: a sink may write a file for each.
            return spark.createDataFrame(records.rows).coalesce(1)

        # Copied: Spark does not take slices of nested columns.
        return cls(make_df, records.start, records.end, lambda: records.rows.take([0]), records.rows)

    @cached_property
    def df(self) -> DataFrame:
        """Return the records, as ``make_df`` makes them for the first call."""
        return self.make_df()

    @property
    def size(self) -> int:
        """Return the count of offsets, with those that have no record (compacted, or of a transaction's end)."""
        return sum(end - self.start[partition] for partition, end in self.end.items())

    @property
    def topics(self) -> set[str]:
        """Return the topics with records in the batch."""
        return {partition.topic for partition, end in self.end.items() if end > self.start[partition]}


class OffsetOutOfRangeError(Exception):
    """A partition's log ends before the offset that is read next."""


class SinkStream:
    """Batches of a fixed set of partitions, one after the other.

    Args:
        reader: of the task.
        start: the first offset to read of each partition.
        most_records: of a batch.
        new_consumers: whether to read by new ones, as a log may be another one than for the stream before.

    Attributes:
        most_records: of the next batch.
    """

    def __init__(self, reader: CountingReader, start: Offsets, most_records: int, new_consumers: bool) -> None:
        self._reader = reader
        if new_consumers:
            reader.renew_consumers()
        self._position = dict(start)
        self.most_records = most_records

    def next(self, ends: Offsets) -> MicroBatch | None:
        """Return the batch after the one before; ``None`` without records.

        Args:
            ends: of the partitions, as far as they are known now.

        Raises:
            OffsetOutOfRangeError: a log ends before the position.
        """
        if any(ends.get(partition, offset) < offset for partition, offset in self._position.items()):
            raise OffsetOutOfRangeError
        backlogs = {one: ends.get(one, offset) - offset for one, offset in self._position.items()}
        shares = shared_out(self.most_records, backlogs)
        ranges = [
            OffsetRange(one, self._position[one], self._position[one] + count)
            for one, count in shares.items()
            if count > 0
        ]
        if not ranges:
            return None
        start, end = {one.partition: one.start for one in ranges}, {one.partition: one.end for one in ranges}
        # What has come last is first when a next batch cannot have all.
        self._position = {one: offset for one, offset in self._position.items() if one not in end} | end
        make_df, first_record = partial(self._reader.read_counted, ranges), partial(self._first_record, ranges)
        return MicroBatch(make_df, start, end, first_record, ranges=ranges)

    def _first_record(self, ranges: list[OffsetRange]) -> pa.Table:
        largest = max(ranges, key=lambda one: one.size)
        return self._reader.read([largest._replace(end=largest.start + 1)]).toArrow()

    @property
    def counted(self) -> Measured:
        """Return the counts of what Spark has read for the task."""
        return self._reader.counted
