"""The plans of one source task that are kept from batch to batch.

A plan depends on the columns, the topic and the schemas of its records. It is kept where nothing else goes into it: the
converters are expressions of these, and so are transforms that are ``deterministic``; others may look at their records,
or at the time. The few records of a table are evaluated without a job; more of them, text and queries are read by a
DataFrame that Spark plans once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakSet

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema

from connect_dagster.expressions.java_calls import kept_in_jvm
from connect_dagster.expressions.offset_ranges import is_refused_read
from connect_dagster.plugin.frame_columns import FAILURE, RECEIPT
from connect_dagster.plugin.frames import SourceQuery, SourceTable, executors_are_local
from connect_dagster.plugin.lines import SourceLines, pieces
from connect_dagster.plugin.schema import Schema
from connect_dagster.worker.bytes_bound import EncodedBound
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.spark.arrow_files import to_arrow
from connect_dagster.worker.spark.kept_projection import KeptProjection, NotKeptError, check_is_lasting
from connect_dagster.worker.spark.table_slot import WHOLE, TableSlot
from connect_dagster.worker.spark.text_slot import PIECES, TextSlot
from connect_dagster.worker.transforms import is_deterministic

log = logging.getLogger(__name__)

# Beyond these a Spark job costs less than the rows.
FEW_ROWS, _FEW_BYTES = 10_000, 1 << 22
# A source may have a topic for each of many tables. A plan of fifty fields takes 1.7 MB of the JVM's heap, so that the
# plans of all tasks count, but for a few of each.
_MOST_PLANS, _FEW_PLANS = 100, 20
# Columns that only transforms look at, in the order in which a plan has them.
_BESIDE = ("partition", "headers", "timestamp", RECEIPT)

Keepable = SourceTable | SourceLines | SourceQuery


@dataclass(frozen=True, slots=True)
class KeptPlan:
    """A plan that encodes batches of one shape.

    Attributes:
        run: makes the columns for a producer, without the heads.
        topic: of all records; ``None`` where each has its own.
        heads: common prefix of all bytes of a column.
        df: runs for each query; ``None`` for other batches.
    """

    run: Callable[[Any], pa.Table]
    topic: str | None
    heads: Mapping[str, bytes]
    df: DataFrame | None = None

    def encoded(self, batch: Keepable) -> pa.Table:
        """Return the encoded records, without the heads.

        Raises:
            NotKeptError: a record fails, or the batch does not suit; its own plan raises, or separates them.
        """
        made = self.run(batch)
        if FAILURE not in made.column_names:
            return made
        if made.column(FAILURE).null_count < made.num_rows:
            raise NotKeptError("a record fails")
        return made.drop_columns([FAILURE])


@dataclass(frozen=True, slots=True)
class _Shape:
    """All that a plan depends on; ``columns`` are those of a table, or the DataFrame of a query."""

    topic: str | None  # the first to be compared
    columns: pa.Schema | DataFrame | None = None
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    has_returns: bool = False
    is_of_few: bool = False


@dataclass(frozen=True, slots=True)
class _Shared:
    """A plan that tasks share.

    Attributes:
        alike: of their pipelines.
        shape: of their batches, without the topic.
        make: makes it.
    """

    alike: Hashable
    shape: _Shape
    make: Callable[[], KeptPlan | None] = field(compare=False)


@kept_in_jvm(100)
def _shared_plan(shared: _Shared) -> KeptPlan | None:
    return shared.make()


class KeptPlans:
    """Keeps the plans of one task.

    Args:
        spark: the worker's session.
        pipeline: transforms and converters.
        bound: of a batch in memory; ``None`` where there is none.
    """

    def __init__(self, spark: SparkSession, pipeline: SourcePipeline, bound: EncodedBound | None) -> None:
        self._spark = spark
        self._pipeline = pipeline
        self._bound = bound
        self._is_deterministic = is_deterministic(pipeline.transforms)
        self._plans: list[tuple[_Shape, KeptPlan | None]] = []
        self._slots: dict[bool, TextSlot] = {}
        self._table_slot: TableSlot | None = None
        self._longest = 0
        with _tasks_lock:
            _tasks.add(self)

    def plan_for(self, batch: Keepable) -> KeptPlan | None:
        """Return the plan of a batch; ``None`` where the usual plan has to be made.

        Raises:
            Exception: a converter cannot make its expressions.
        """
        shape = self._shape(batch) if self._is_deterministic else None
        if shape is None:
            return None
        for place, (known, plan) in enumerate(self._plans):
            if known == shape:
                self._plans.insert(0, self._plans.pop(place))
                return plan
        if isinstance(batch, SourceTable) and shape.is_of_few:
            plan = self._of_alike(batch, shape)
        else:
            plan = self._built(batch)
        self._plans = [(shape, plan), *self._plans[: self._most - 1]]
        return plan

    @property
    def _most(self) -> int:
        with _tasks_lock:
            others = sum(len(one._plans) for one in _tasks if one is not self)
        return max(_FEW_PLANS, _MOST_PLANS - others)

    def close(self) -> None:
        """Forget the plans, and remove what they read."""
        self._plans = []
        for slot in self._slots.values():
            slot.close()
        if self._table_slot is not None:
            self._table_slot.close()

    def _shape(self, batch: Keepable) -> _Shape | None:
        if isinstance(batch, SourceLines):
            if not executors_are_local(self._spark):
                return None
            return _Shape(batch.topic, has_returns=batch.has_returns)
        if batch.topic is None and self._pipeline.needs_topic:  # records are encoded by topic, so they are looked at
            return None
        if isinstance(batch, SourceQuery):
            return _Shape(batch.topic, batch.df, batch.key_schema, batch.value_schema)
        is_of_few = _has_few(batch.table)
        if not batch.table.num_rows or not (is_of_few or executors_are_local(self._spark)):
            return None
        return _Shape(
            batch.topic,
            batch.table.schema,
            batch.key_schema,
            batch.value_schema,
            is_of_few=is_of_few,
        )

    def _of_alike(self, batch: SourceTable, shape: _Shape) -> KeptPlan | None:
        """Return the plan of a task that encodes alike, or make it; without transforms, topics change nothing else."""
        if self._pipeline.alike is None or self._pipeline.needs_topic:
            return self._built(batch)
        plan = _shared_plan(_Shared(self._pipeline.alike, replace(shape, topic=None), lambda: self._built(batch)))
        return None if plan is None else replace(plan, topic=batch.topic)

    def _built(self, batch: Keepable) -> KeptPlan | None:
        made: list[tuple[str | None, Mapping[str, bytes]]] = []

        def plan(df: DataFrame) -> DataFrame:
            frames = self._pipeline.transform(batch.over(df))
            if len(frames) != 1:
                raise NotKeptError("transforms make records of several schemas")
            (frame,) = frames
            if frame.topic is None and self._pipeline.needs_topic:
                raise NotKeptError("records are encoded by topics that a transform makes")
            encoded, heads = self._pipeline.encode_with_prefix(frame)
            made.append((frame.topic, heads))
            return encoded

        try:
            if isinstance(batch, SourceQuery):
                query = plan(batch.df)
                topic, heads = made[0]
                if self._bound is not None:
                    query = self._bound.over(query, heads=heads)
                return KeptPlan(_runs_of(query), topic, heads, query)
            run = self._of_text(batch, plan) if isinstance(batch, SourceLines) else self._of_table(batch.table, plan)
        except NotKeptError as error:
            log.debug("A plan is made for each batch: %s", error)
            return None
        return KeptPlan(run, *made[0])

    def _of_table(self, table: pa.Table, plan: Callable[[DataFrame], DataFrame]) -> Callable[[SourceTable], pa.Table]:
        # Converters keep the records and their order, and do not see these columns.
        beside = [] if self._pipeline.transforms else [name for name in _BESIDE if name in table.column_names]
        columns = table.drop_columns(beside).schema
        run = KeptProjection(self._spark, columns, plan).run if _has_few(table) else self._of_rows(columns, plan)
        given = to_arrow_schema(from_arrow_schema(table.select(beside).schema))

        def whole(rows: SourceTable) -> pa.Table:
            try:
                untouched = rows.table.select(beside).cast(given)
            except pa.ArrowException as error:
                raise NotKeptError(str(error)) from error
            made = run(rows.table.drop_columns(beside))
            first = int("topic" in made.column_names)
            for place, column in enumerate(untouched.columns):
                made = made.add_column(first + place, given.field(place), column)
            return made

        return whole

    def _of_rows(self, columns: pa.Schema, plan: Callable[[DataFrame], DataFrame]) -> Callable[[pa.Table], pa.Table]:
        slot = self._table_slot = self._table_slot or TableSlot(self._spark)
        frame = slot.frame(columns)
        given, encoded = to_arrow_schema(frame.schema), plan(frame)
        check_is_lasting(encoded)
        if self._bound is not None:
            encoded = self._bound.over(encoded)

        def run(rows: pa.Table) -> pa.Table:
            try:
                with slot.holding(rows.cast(given)):
                    return to_arrow(encoded)
            except (OSError, pa.ArrowException, Py4JError, PySparkException) as error:
                raise NotKeptError(str(error)) from error

        return run

    def _of_text(self, text: SourceLines, plan: Callable[[DataFrame], DataFrame]) -> Callable[[SourceLines], pa.Table]:
        slot = self._slot(text.has_returns)
        encoded = plan(slot.df)
        # A source knows how large a text is, but not what transforms make of it.
        if self._pipeline.transforms and self._bound is not None:
            encoded = self._bound.over(encoded)

        def run(lines: SourceLines) -> pa.Table:
            size = len(lines.data)
            self._longest = max(self._longest, size)
            try:
                slot.write(pieces(lines.data, -(-size // PIECES)))
                made = to_arrow(encoded)
                if size < self._longest * WHOLE:
                    slot.write([])
            except (OSError, PySparkException) as error:
                raise NotKeptError(str(error)) from error
            return made

        return run

    def _slot(self, has_returns: bool) -> TextSlot:
        if has_returns not in self._slots:
            self._slots[has_returns] = TextSlot(self._spark, has_returns)
        return self._slots[has_returns]


def _has_few(table: pa.Table) -> bool:
    """Return whether the records of a table are so few that they take no Spark job."""
    return bool(table.num_rows <= FEW_ROWS and table.nbytes <= _FEW_BYTES)


def _runs_of(query: DataFrame) -> Callable[[SourceQuery], pa.Table]:
    def run(batch: SourceQuery) -> pa.Table:
        try:
            batch.set_rows()
            return to_arrow(query)
        except (Py4JError, PySparkException) as error:
            if is_refused_read(error):  # as another plan would be
                raise
            raise NotKeptError(str(error)) from error

    return run


_tasks: WeakSet[KeptPlans] = WeakSet()
_tasks_lock = threading.Lock()
