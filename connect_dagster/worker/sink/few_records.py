"""Frames of few records, whose columns are evaluated without a Spark job.

A frame of fetched records has their Arrow table. What its task selects with ``to_arrow`` is evaluated by a kept
projection of the same plan; its DataFrame is made when the task asks for it. Where transforms may leave records out, or
records may fail as data, the plan itself is evaluated first, so that what arrives is known.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.plugin.frame_columns import FAILURE
from connect_dagster.plugin.frames import SinkFrame
from connect_dagster.worker.sink.planned_frame import Plan, PlannedFrame, identities
from connect_dagster.worker.spark.kept_projection import KeptProjection, MadeOnce, NotKeptError

_MOST_SELECTIONS = 100


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


@dataclass(frozen=True, slots=True)
class _Selection:
    """Columns that a task has selected, which it keeps alive: their identity is its key."""

    columns: Sequence[Column | str]
    projection: MadeOnce[KeptProjection] = field(default_factory=MadeOnce)

    def run(self, few: FewRecords, plan: Plan) -> pa.Table | None:
        return self.projection.use(
            lambda: KeptProjection(few.spark, few.rows.schema, lambda df: plan(df).select(*self.columns)),
            lambda made: made.run(few.rows),
        )


class KeptSelections:
    """Kept projections of one plan, by the columns that are selected.

    A projection is made for columns that are selected again: it takes longer than a job, and a task may have other
    columns for each batch.
    """

    def __init__(self) -> None:
        self._selections: OrderedDict[tuple[object, ...], _Selection] = OrderedDict()
        self._lock = threading.Lock()  # tasks share a plan

    def run(self, few: FewRecords, plan: Plan, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return the columns of records; ``None`` where the plan has to run as usual.

        Args:
            few: the records.
            plan: over them, always the same.
            columns: of its result.
        """
        key = identities(columns)
        with self._lock:
            known = self._selections.pop(key, None)
            self._selections[key] = known or _Selection(columns)
            if len(self._selections) > _MOST_SELECTIONS:
                self._selections.popitem(last=False)
        return None if known is None else known.run(few, plan)


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

    @property
    def count(self) -> int:
        """Return the number of records."""
        return int(self.few.rows.num_rows)

    def df(self) -> DataFrame:
        """Return the records as a DataFrame."""
        return self.plan(self.few.df())

    def select(self, columns: Sequence[Column | str]) -> pa.Table | None:
        """Return columns of the records; ``None`` where the DataFrame has to be selected from."""
        return self.selections.run(self.few, self.plan, columns)


class KeptFrame:
    """The frame that transforms make of few records, kept from batch to batch.

    Args:
        spark: the worker's session.
        schema: of the records.
        frames: builds the frames over records in the columns of Spark's Kafka source.

    Raises:
        NotKeptError: there are several frames, or the plan cannot be kept.
    """

    def __init__(
        self, spark: SparkSession, schema: pa.Schema, frames: Callable[[DataFrame], Sequence[SinkFrame]]
    ) -> None:
        made: list[SinkFrame] = []

        def plan(df: DataFrame) -> DataFrame:
            found = frames(df)
            if len(found) != 1:
                raise NotKeptError("transforms make records of several schemas")
            made.extend(found)
            df = found[0].df
            return df.withColumn(FAILURE, F.col(FAILURE).isNotNull()) if FAILURE in df.columns else df

        self._spark = spark
        self._projection = KeptProjection(spark, schema, plan)
        (frame,) = made
        self._fields = {
            "value_schema": frame.value_schema,
            "key_schema": frame.key_schema,
            "header_converter": frame.header_converter,
        }
        self._selections = KeptSelections()

    def of(self, rows: pa.Table) -> PlannedFrame:
        """Return the frame of records.

        Raises:
            NotKeptError: a record fails; the plan as usual separates those, or raises.
        """
        made = self._projection.run(rows)
        if FAILURE in made.column_names:
            if pc.any(made.column(FAILURE)).as_py():
                raise NotKeptError("a record fails")
            made = made.drop_columns([FAILURE])
        few = FewRecords(self._spark, made, lambda: self._spark.createDataFrame(made).coalesce(1))
        planned = PlannedRecords(few, lambda df: df, frozenset(made.column_names), self._selections)
        return PlannedFrame.of(planned, **self._fields)
