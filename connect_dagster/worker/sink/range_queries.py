"""Queries over ranges of offsets that Spark plans once: what a task selects of each of its large batches.

To resolve, optimize and plan a query takes as long as ten thousand records. A query is kept for a plan, the columns
that are selected and the partitions that each Spark task reads; the ranges are set for each batch.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from connect_dagster.expressions.offset_ranges import OffsetRange, layout
from connect_dagster.worker.sink.counting_reader import CountedSlot, CountingReader
from connect_dagster.worker.sink.planned_frame import Plan, identities
from connect_dagster.worker.spark.arrow_files import to_arrow
from connect_dagster.worker.spark.kept_projection import MadeOnce, NotKeptError, check_is_lasting

# Batches of one Spark task and of several, and the columns of a record or two.
_MOST_KEPT = 4
_MOST_IDLE = 8


class IdleQueries:
    """Queries over one plan that tasks have left, for the next tasks over it: to plan one takes 0.1 CPU-seconds."""

    def __init__(self) -> None:
        self._queries: list[_Query] = []
        self._lock = threading.Lock()

    def take(self, key: _Key) -> _Query | None:
        """Return a query, which belongs to the caller from here on; ``None`` where none was left."""
        with self._lock:
            for place, query in enumerate(self._queries):
                if query.key == key:
                    return self._queries.pop(place)
            return None

    def give(self, query: _Query) -> None:
        """Keep a query that nobody runs; the one that was given first is dropped where they become many."""
        with self._lock:
            self._queries.append(query)
            del self._queries[:-_MOST_IDLE]


class _Key(NamedTuple):
    """Identify a query under one plan; equal where it can read the ranges of another task.

    Attributes:
        reader: its kind.
        over: wraps what is read.
        shape: count of ranges that each Spark task reads.
        columns: their identities, valid while the query keeps them alive.
    """

    reader: tuple[str, ...]
    over: Plan
    shape: tuple[int, ...]
    columns: tuple[object, ...]


class RangeQueries:
    """Kept queries of one task.

    Args:
        reader: of the task.
        over: wraps what is read, always in the same way.
    """

    def __init__(self, reader: CountingReader, over: Plan) -> None:
        self._reader = reader
        self._over = over
        self._queries: OrderedDict[tuple[object, ...], _Query] = OrderedDict()

    def run(
        self, ranges: Sequence[OffsetRange], plan: Plan, columns: Sequence[Column | str], idle: IdleQueries
    ) -> pa.Table | None:
        """Return columns of the records of ranges.

        Args:
            ranges: one of each partition at most.
            plan: over the records.
            columns: of its result.
            idle: queries over the plan that other tasks have left.

        Returns:
            ``None`` where the query has to be planned as usual: it depends on more than the records, or is the first
            one over a small batch, which may remain the only one.
        """
        ordered = sorted(ranges, key=lambda one: (one.partition.topic, one.partition.partition))
        partitions = layout(ordered)
        key = (plan, partitions, *identities(columns))
        known = self._queries.pop(key, None)
        query = known or self._query(ordered, tuple(map(len, partitions)), plan, columns, idle)
        self._queries[key] = query
        if len(self._queries) > _MOST_KEPT:
            _, dropped = self._queries.popitem(last=False)
            if dropped.slot is not None:
                self._reader.forget(dropped.slot)
        if known is None and query.slot is None and len(partitions) == 1:
            return None
        return query.run(ordered, self._reader, self._over)

    def _query(
        self,
        ranges: Sequence[OffsetRange],
        shape: tuple[int, ...],
        plan: Plan,
        columns: Sequence[Column | str],
        idle: IdleQueries,
    ) -> _Query:
        key = _Key(self._reader.kind, self._over, shape, identities(columns))
        left = idle.take(key)
        if left is not None and left.slot is not None:
            try:
                self._reader.take_over_counted(left.slot, ranges)
            except NotKeptError:
                pass
            else:
                return left
        return _Query(key, plan, columns, idle)

    def close(self) -> None:
        """Leave the queries to other tasks; none runs any more."""
        while self._queries:
            _, query = self._queries.popitem()
            if query.slot is not None:
                query.idle.give(query)


@dataclass(frozen=True, slots=True)
class _Query:
    """Columns of a plan, which it keeps alive: their identity is in its key."""

    key: _Key
    plan: Plan
    columns: Sequence[Column | str]
    idle: IdleQueries
    made: MadeOnce[tuple[CountedSlot, DataFrame]] = field(default_factory=MadeOnce)

    @property
    def slot(self) -> CountedSlot | None:
        return None if self.made.known is None else self.made.known[0]

    def run(self, ranges: Sequence[OffsetRange], reader: CountingReader, over: Plan) -> pa.Table | None:
        def make() -> tuple[CountedSlot, DataFrame]:
            check_is_lasting(self.plan(reader.read(ranges)).select(*self.columns))
            slot = reader.counted_slot(ranges)
            return slot, self.plan(over(slot.df)).select(*self.columns)

        def read(made: tuple[CountedSlot, DataFrame]) -> pa.Table:
            slot, df = made
            slot.ranges.set(ranges)
            return to_arrow(df)

        return self.made.use(make, read)


@dataclass(frozen=True, slots=True)
class PlannedRanges:
    """Ranges of offsets under a plan.

    Attributes:
        queries: of the task.
        ranges: of the batch.
        read: returns their records as a DataFrame, in the columns of Spark's Kafka source.
        plan: of the frame.
        names: of the columns that it makes.
        idle: queries over the plan that other tasks have left.
    """

    queries: RangeQueries
    ranges: Sequence[OffsetRange]
    read: Callable[[], DataFrame]
    plan: Plan
    names: frozenset[str]
    idle: IdleQueries
    count: None = field(default=None, init=False)

    def df(self) -> DataFrame:
        """Return the records as a DataFrame."""
        return self.plan(self.read())

    def select(self, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return columns of the records; ``None`` where the DataFrame has to be selected from."""
        return self.queries.run(self.ranges, self.plan, columns, self.idle)
