"""Frames of few records, whose columns are evaluated without a Spark job.

A frame of fetched records has their Arrow table. What its task selects with ``to_arrow`` is evaluated by a kept
projection of the same plan; its DataFrame is made when the task asks for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from connect_dagster.worker.frames import WorkerSinkFrame
from connect_dagster.worker.spark.kept_projection import KeptProjection, NotKeptError

Plan = Callable[[DataFrame], DataFrame]
_MOST_SELECTIONS = 8


@dataclass(frozen=True, slots=True)
class FewRecords:
    """Records in the columns of Spark's Kafka source.

    Attributes:
        spark: the worker's session.
        rows: the records.
        df: returns the same records as a DataFrame.
    """

    spark: SparkSession
    rows: pa.Table
    df: Callable[[], DataFrame]


@dataclass(slots=True)
class _Selection:
    """Columns that a task has selected, which it keeps alive: their identity is its key."""

    columns: Sequence[Column | str]
    projection: KeptProjection | None = None
    is_kept: bool = True

    def run(self, few: FewRecords, plan: Plan) -> pa.Table | None:
        try:
            if self.projection is None and self.is_kept:
                self.is_kept = False  # unless it can be
                self.projection = KeptProjection(few.spark, few.rows.schema, lambda df: plan(df).select(*self.columns))
                self.is_kept = True
            return None if self.projection is None else self.projection.run(few.rows)
        except NotKeptError:
            return None


class KeptSelections:
    """Kept projections of one plan, by the columns that are selected.

    A projection is made for columns that are selected again: it takes longer than a job, and a task may have other
    columns for each batch.
    """

    def __init__(self) -> None:
        self._selections: dict[tuple[object, ...], _Selection] = {}

    def run(self, few: FewRecords, plan: Plan, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return the columns of records; ``None`` where the plan has to run as usual.

        Args:
            few: the records.
            plan: over them, always the same.
            columns: of its result.
        """
        key = tuple(one if isinstance(one, str) else id(one) for one in columns)
        known = self._selections.get(key)
        if known is not None:
            return known.run(few, plan)
        if len(self._selections) >= _MOST_SELECTIONS:
            self._selections.clear()
        self._selections[key] = _Selection(columns)
        return None


@dataclass(frozen=True, slots=True)
class PlannedRecords:
    """Few records under a plan.

    Attributes:
        few: the records.
        plan: of the frame.
        names: of the columns that it makes.
        selections: kept for the plan.
    """

    few: FewRecords
    plan: Plan
    names: frozenset[str]
    selections: KeptSelections


@dataclass(frozen=True, slots=True)
class FewRecordsFrame(WorkerSinkFrame):
    """A sink frame of few records; its copies with other columns or rows are frames as others.

    Make one with :meth:`of`, without a DataFrame.
    """

    _planned: PlannedRecords | None = field(default=None, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, planned: PlannedRecords, **others: Any) -> Self:
        """Return the frame of records.

        Args:
            planned: the records.
            others: the fields of the frame except ``df``.
        """
        frame = cls(df=None, **others)  # type: ignore[arg-type]
        object.__delattr__(frame, "df")
        object.__setattr__(frame, "_planned", planned)
        return frame

    def __getattr__(self, name: str) -> Any:
        """Make the DataFrame when it is asked for."""
        if name != "df" or self._planned is None:
            raise AttributeError(name)
        df = self._planned.plan(self._planned.few.df())
        object.__setattr__(self, "df", df)
        return df

    def has(self, name: str) -> bool:
        """Return whether ``df`` has this column."""
        return WorkerSinkFrame.has(self, name) if self._planned is None else name in self._planned.names

    def to_arrow(self, *columns: Column | str) -> pa.Table:
        """Return columns of the records, evaluated without a job where that is possible."""
        if (planned := self._planned) is not None:
            made = planned.selections.run(planned.few, planned.plan, columns or ("*",))
            if made is not None:
                return made
        return WorkerSinkFrame.to_arrow(self, *columns)
