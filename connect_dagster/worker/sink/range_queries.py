"""Queries over ranges of offsets that Spark plans once: what a task selects of each of its large batches.

To resolve, optimize and plan a query takes as long as ten thousand records. A query is kept for a plan, the columns
that are selected and the partitions that each Spark task reads; the ranges are set for each batch.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import Column, DataFrame

from connect_dagster.worker.sink.offset_ranges import OffsetRange, OffsetRangeReader, RangeSlot, layout
from connect_dagster.worker.sink.planned_frame import Plan, identities
from connect_dagster.worker.spark.kept_projection import MadeOnce, check_is_lasting

# Batches of one Spark task and of several, and the columns of a record or two.
_MOST_KEPT = 4


class RangeQueries:
    """Kept queries of one task.

    Args:
        reader: of the task.
        over: wraps what is read, always in the same way.
    """

    def __init__(self, reader: OffsetRangeReader, over: Plan) -> None:
        self._reader = reader
        self._over = over
        self._queries: OrderedDict[tuple[object, ...], _Query] = OrderedDict()

    def run(self, ranges: Sequence[OffsetRange], plan: Plan, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return columns of the records of ranges.

        Args:
            ranges: one of each partition at most.
            plan: over the records.
            columns: of its result.

        Returns:
            ``None`` where the query has to be planned as usual: it depends on more than the records, or is the first
            one over a small batch, which may remain the only one.
        """
        ordered = sorted(ranges, key=lambda one: (one.partition.topic, one.partition.partition))
        partitions = layout(ordered)
        key = (plan, partitions, *identities(columns))
        known = self._queries.pop(key, None)
        self._queries[key] = query = known or _Query(plan, columns)
        if len(self._queries) > _MOST_KEPT:
            self._queries.popitem(last=False)
        if known is None and len(partitions) == 1:
            return None
        return query.run(ordered, self._reader, self._over)


@dataclass(frozen=True, slots=True)
class _Query:
    """Columns of a plan, which it keeps alive: their identity is its key."""

    plan: Plan
    columns: Sequence[Column | str]
    made: MadeOnce[tuple[RangeSlot, DataFrame]] = field(default_factory=MadeOnce)

    def run(self, ranges: Sequence[OffsetRange], reader: OffsetRangeReader, over: Plan) -> pa.Table | None:
        def make() -> tuple[RangeSlot, DataFrame]:
            check_is_lasting(self.plan(reader.read(ranges)).select(*self.columns))
            slot = reader.slot(ranges)
            return slot, self.plan(over(slot.df)).select(*self.columns)

        def read(made: tuple[RangeSlot, DataFrame]) -> pa.Table:
            slot, df = made
            slot.set(ranges)
            return df.toArrow()

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
    """

    queries: RangeQueries
    ranges: Sequence[OffsetRange]
    read: Callable[[], DataFrame]
    plan: Plan
    names: frozenset[str]
    count: None = field(default=None, init=False)

    def df(self) -> DataFrame:
        """Return the records as a DataFrame."""
        return self.plan(self.read())

    def select(self, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return columns of the records; ``None`` where the DataFrame has to be selected from."""
        return self.queries.run(self.ranges, self.plan, columns)
