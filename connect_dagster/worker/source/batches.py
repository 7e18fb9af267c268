"""Encodes polled frames: one plan and one Spark job for each, whose failed records are split off in Arrow.

A plan bounds the bytes that it gives. A batch that is larger goes through the disk, and so do those after it, until
they are small again (docs/decisions/0033-large-batches-of-sources-go-through-the-disk.md).

Only where the job itself fails, and ``errors.tolerance`` allows it, the records are read into memory and bisected for
those that make it fail.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.java_errors import is_spark_gone
from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.plugin.bisection import Bisection
from connect_dagster.plugin.frame_columns import FAILURE, RAW_RECORD, RECEIPT, ROW
from connect_dagster.plugin.frames import SourceFrame, SourceQuery, SourceTable, executors_are_local
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch, SourceLines
from connect_dagster.worker.bytes_bound import EncodedBound, too_large
from connect_dagster.worker.errors.failures import (
    VALUE_CONVERTER,
    FailedRecord,
    Failure,
    is_spark_failure,
)
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.frames import Acting
from connect_dagster.worker.record_frames import ListedRecords, Polled, batches_of, halves, joined
from connect_dagster.worker.source.kept_plans import FEW_ROWS, Keepable, KeptPlan, KeptPlans
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.source.raw_records import raw_records
from connect_dagster.worker.source.spill import spilled
from connect_dagster.worker.spark.arrow_files import to_arrow
from connect_dagster.worker.spark.kept_projection import NotKeptError
from connect_dagster.worker.spark.progress import planned_rows, rows_into_plan, rows_through_plan
from connect_dagster.worker.transforms import TRANSFORMATION, apply_chain

log = logging.getLogger(__name__)

# Up to here Python splits text before Spark has begun a job.
_FEW_BYTES = 1 << 14
# A topic of several may have most records of a batch.
_MOST_SHARES = 4
_OF_SPARKS_SINK = ("partition", "headers", "key", "value")
# Of lists that join: fewer than take turns with other tasks' (``LargeBatchGate``), and than take a Spark job.
_MOST_ROWS, _MOST_BYTES = 4_999, 1 << 22
_NONE = pa.Table.from_batches([], pa.schema([("value", pa.binary())]))


@dataclass(frozen=True, slots=True)
class Planned:
    """A polled frame with its plan.

    Attributes:
        frame: as polled.
        topic: topic of all records; ``None`` where each has its own.
        plan: encodes the records; ``None`` where a Spark job failed while it was built.
        frames: number of frames that the transforms made of it.
        heads: common prefix of all bytes of a column, which the plan omits.
        error: the failure of that job.
        in_worker: whether the worker itself has read the records; it sends them, which keeps their order.
    """

    frame: SourceFrame
    topic: str | None
    plan: DataFrame | None
    heads: Mapping[str, bytes] = field(default_factory=dict)
    error: Exception | None = None
    frames: int = 1
    in_worker: bool = False


@dataclass(frozen=True, slots=True)
class PlannedBefore:
    """Polled records with a plan that was kept.

    Attributes:
        batch: as polled.
        kept: encodes the records.
    """

    batch: Keepable
    kept: KeptPlan

    @property
    def topic(self) -> str | None:
        """Return the topic of all records; ``None`` where each has its own."""
        return self.kept.topic


@dataclass(frozen=True, slots=True)
class Encoded:
    """An encoded frame.

    Attributes:
        table: records to send.
        failed: records that are skipped.
        polled: number of records of the frame.
        plan: the plan that has run, for Spark's count of its rows; ``None`` where several have.
        size: bytes of the records without their heads.
        sent: number of records that executors have sent.
    """

    table: pa.Table
    failed: Sequence[FailedRecord]
    polled: int
    plan: DataFrame | None = None
    size: int = 0
    sent: int = 0

    def counted(self) -> int:
        """Return the number of records that Spark has counted."""
        return self.table.num_rows + len(self.failed) if self.plan is None else rows_through_plan(self.plan)


NO_RECORDS = Encoded(_NONE, (), 0)


class SubmittedBatch:
    """A polled batch with its plan, and the lists of records that have joined it while it waited to be encoded.

    A batch takes some milliseconds however few its records are; a task that polls small lists would be that slow. None
    waits for others.

    Args:
        batch: as polled.
        planned: its plan.

    Attributes:
        batch: all records, after :meth:`join`.
        planned: their plan.
    """

    def __init__(self, batch: SourceBatch, planned: Planned | PlannedBefore) -> None:
        self.batch = batch
        self.planned = planned
        self._lists = [batch] if isinstance(batch, ListedRecords) else []
        self._rows = sum(one.table.num_rows for one in self._lists)
        self._bytes = sum(one.table.nbytes for one in self._lists)

    def absorb(self, later: SubmittedBatch) -> bool:
        """Have a later list of records with the same plan join this one; return whether it did.

        For the thread that polls, while no other has this batch.
        """
        if not (self._lists and later._lists and self._plan is not None and self._plan is later._plan):
            return False
        rows, size = self._rows + later._rows, self._bytes + later._bytes
        if rows > _MOST_ROWS or size > _MOST_BYTES:
            return False
        self._lists += later._lists
        self._rows, self._bytes = rows, size
        return True

    def join(self) -> None:
        """Make one batch of the lists, once none can join any more."""
        if len(self._lists) > 1:
            self.batch = batch = joined(self._lists)
            assert isinstance(self.planned, PlannedBefore)
            self.planned = replace(self.planned, batch=batch)
        self._lists = []

    @property
    def _plan(self) -> object | None:
        return self.planned.kept if isinstance(self.planned, PlannedBefore) else None


class Executors(Protocol):
    """The methods of ``ExecutorWriter``."""

    def write(self, rows: DataFrame, topic: str) -> None:
        """Write records to a topic."""


class SourceBatches:
    """Plans and encodes frames of one task.

    Args:
        spark: the worker's session.
        pipeline: transforms and converters.
        policy: error policy of the connector.
        bound: of a batch in memory; ``None`` for none.
        executors: send batches, where they are on other machines.
        keep_records: whether single records are kept, for ``SourceTask.commit_record``.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: SourcePipeline,
        policy: ErrorPolicy,
        bound: EncodedBound | None = None,
        executors: Executors | None = None,
        *,
        keep_records: bool = False,
    ) -> None:
        self._keep_records = keep_records
        self._executors = executors
        self._spark = spark
        self._pipeline = pipeline
        self._policy = policy
        self._bound = bound if executors_are_local(spark) else None
        self._spills = False
        self._kept = KeptPlans(spark, pipeline, self._bound)

    @property
    def header_converter(self) -> HeaderConverter:
        """Return the connector's converter of headers."""
        return self._pipeline.header_converter

    def under(self, tolerance: ToleranceOperator) -> SourceBatches:
        """Return the batches whose plugins are called through a tolerance operator."""
        pipeline = replace(self._pipeline, tolerance=tolerance)
        return SourceBatches(
            self._spark, pipeline, self._policy, self._bound, self._executors, keep_records=self._keep_records
        )

    def polled(self, polled: Polled) -> list[SourceBatch]:
        """Return the batches of the result of a poll.

        Raises:
            DataError: a value does not fit its schema.
        """
        return batches_of(
            polled,
            self._pipeline.header_converter,
            keep_records=self._keep_records,
            needs_topic=self._pipeline.needs_topic,
        )

    def planned(self, batch: SourceBatch) -> Planned | PlannedBefore:
        """Return the plan of a batch; call it on the task's thread.

        Raises:
            RetryGivenUpError: the task was asked to stop before a retry.
        """
        if isinstance(batch, SourceFrame):
            return self._planned_frame(batch)
        if isinstance(batch, SourceLines) and len(batch.data) <= _FEW_BYTES and batch.data.count(b"\n") < FEW_ROWS:
            batch = batch.table()
        kept = self._kept_plan(batch)
        if kept is not None:
            return PlannedBefore(batch, kept)
        return self._planned_frame(batch.frame(self._spark), in_worker=not isinstance(batch, SourceQuery))

    def _kept_plan(self, batch: Keepable) -> KeptPlan | None:
        # Executors that send records run each plan with Spark's sink.
        if self._spills or (self._executors is not None and isinstance(batch, SourceQuery)):
            return None
        try:
            return self._kept.plan_for(batch)
        except Exception as error:
            if not self._is_bisected(error):
                raise
            return None

    def close(self) -> None:
        """Remove what kept plans read."""
        self._kept.close()

    def _planned_frame(self, frame: SourceFrame, *, in_worker: bool = False) -> Planned:
        frame = self._with_raw_records(frame)
        try:
            transformed = self._pipeline.transform(frame)
            topic = transformed[0].topic if len(transformed) == 1 else None
            if len(transformed) == 1 and (in_worker or self._executors is None):  # executors add no heads
                plan, heads = self._pipeline.encode_with_prefix(transformed[0])
                return Planned(frame, topic, plan, heads, in_worker=in_worker)
            plan = self._pipeline.encode(transformed)
            return Planned(frame, topic, plan, frames=len(transformed), in_worker=in_worker)
        except Exception as error:
            if not self._is_bisected(error):
                raise
            return Planned(frame, frame.topic, None, error=error)

    def remote(self, planned: Planned | PlannedBefore) -> Callable[[], Encoded] | None:
        """Return a function that has the executors send a batch, and returns what is known of it then.

        ``None`` where the worker has to send it: executors of the worker's own machine leave that to it, Spark's sink
        knows no timestamps, and would not return the topics of records that differ in it. The function raises whatever
        a Spark job can; the batch may be encoded then.
        """
        executors = self._executors
        if executors is None or isinstance(planned, PlannedBefore) or planned.in_worker:
            return None
        plan, topic = planned.plan, planned.topic
        if plan is None or topic is None or {"timestamp", "topic", RECEIPT, ROW}.intersection(plan.columns):
            return None
        return lambda: self._sent(planned.frame, plan, topic, executors)

    def _sent(self, frame: SourceFrame, plan: DataFrame, topic: str, executors: Executors) -> Encoded:
        # Not by an Observation: it never has a result once an executor is lost.
        kept = _well(planned_rows(self._spark, plan))
        executors.write(planned_rows(self._spark, kept), topic)
        rows = rows_through_plan(plan)
        sent = rows_through_plan(kept) if FAILURE in plan.columns else rows
        failed = self._failed(self._failures(plan), frame) if sent < rows else []
        return Encoded(_NONE, failed, self._polled(plan, rows), plan, sent=sent)

    def encoded(self, planned: Planned | PlannedBefore) -> Encoded:
        """Run the plan of a batch; raise its error unless errors are tolerated."""
        if isinstance(planned, Planned):
            return self._encoded_frame(planned)
        try:
            table = planned.kept.encoded(planned.batch)
        except NotKeptError as error:
            if not self._is_too_large(error):
                log.debug("A batch is planned by itself: %s", error)
            return self._encoded_frame(self._planned_frame(planned.batch.frame(self._spark)))
        polled = self._polled_before(planned, table.num_rows) if self._pipeline.transforms else table.num_rows
        return Encoded(_with_heads(table, planned.kept.heads), (), polled, size=table.nbytes)

    def _polled_before(self, planned: PlannedBefore, rows: int) -> int:
        """Return the number of records of a batch, of which transforms have left a number of rows."""
        match planned.batch:
            case SourceTable(table=table):
                return int(table.num_rows)
            case SourceLines(count=count):
                return count
            case _:
                return rows if planned.kept.df is None else self._polled(planned.kept.df, rows)

    def _encoded_frame(self, planned: Planned) -> Encoded:
        if planned.plan is None:
            assert planned.error is not None
            return self._bisected(planned.frame, planned.error)
        try:
            return self._run_in_memory(planned, planned.plan) or self._run_on_disk(planned, planned.plan)
        except Exception as error:
            if not self._is_bisected(error):
                raise
            return self._bisected(planned.frame, error)

    def _run_in_memory(self, planned: Planned, plan: DataFrame) -> Encoded | None:
        """Return the encoded records; ``None`` where they are too many bytes, or those of the batch before were."""
        if self._spills:
            return None
        if self._bound is not None:
            plan = self._bound.over(plan, frames=min(planned.frames, _MOST_SHARES), heads=planned.heads)
        try:
            table = _in_order(to_arrow(plan))
        except Exception as error:
            if not self._is_too_large(error):
                raise
            return None
        well, failed = self._split(table, planned.frame)
        polled = self._polled(plan, table.num_rows)
        return Encoded(_with_heads(well, planned.heads), failed, polled, plan, table.nbytes)

    def _is_too_large(self, error: Exception) -> bool:
        """Return whether a job failed because of the bytes of its batch; the next ones go through the disk then."""
        if (large := too_large(error)) is None:
            return False
        log.info("A batch goes through the disk, as do the next ones until they are small again: %s", large)
        self._spills = True
        return True

    def _run_on_disk(self, planned: Planned, plan: DataFrame) -> Encoded:
        parts: list[pa.Table] = []

        def finished(rows: pa.Table) -> pa.Table:
            if FAILURE in rows.column_names:
                well = rows.column(FAILURE).is_null()
                parts.append(rows.select([FAILURE]).filter(pc.invert(well)))
                rows = rows.filter(well).drop_columns([FAILURE])
            return _with_heads(rows, planned.heads)

        found = spilled(self._spark, plan, finished)
        self._spills = self._bound is not None and not self._bound.has_room_for(found.bytes)
        failures = pa.concat_tables(parts) if parts else _NONE
        failed = self._failed(self._with_raw(failures, plan), planned.frame) if failures.num_rows else []
        polled = self._polled(plan, found.table.num_rows + failures.num_rows)
        return Encoded(found.table, failed, polled, plan, found.bytes)

    def _with_raw(self, failures: pa.Table, plan: DataFrame) -> pa.Table:
        """Return the failures of a batch on disk with the records as they were polled, which are read again."""
        if RAW_RECORD not in plan.columns:
            return failures
        again = self._failures(plan)
        # Where the rows have changed meanwhile, the first look counts.
        return again if again.num_rows == failures.num_rows else failures

    def _failures(self, plan: DataFrame) -> pa.Table:
        """Run a plan once more for the records that fail."""
        rows = plan.where(F.col(FAILURE).isNotNull())
        return _in_order(rows.select(*(name for name in rows.columns if name in (ROW, FAILURE, RAW_RECORD))).toArrow())

    def _polled(self, plan: DataFrame, rows: int) -> int:
        return max(rows_into_plan(plan), rows) if self._pipeline.transforms else rows

    def _is_bisected(self, error: Exception) -> bool:
        return self._policy.tolerate and is_spark_failure(error)

    def _with_raw_records(self, frame: SourceFrame) -> SourceFrame:
        if not self._policy.reports:
            return frame
        columns = [F.col(name) for name in frame.df.columns if name not in (FAILURE, ROW)]
        return frame.with_column(RAW_RECORD, F.struct(*columns))

    def _split(self, table: pa.Table, frame: SourceFrame) -> tuple[pa.Table, list[FailedRecord]]:
        if FAILURE not in table.column_names:
            return table, []
        well = table.column(FAILURE).is_null()
        kept = table.drop_columns([name for name in (FAILURE, RAW_RECORD) if name in table.column_names])
        if pc.all(well).as_py() is not False:
            return kept, []
        return kept.filter(well), self._failed(table.filter(pc.invert(well)), frame)

    def _failed(self, table: pa.Table, frame: SourceFrame) -> list[FailedRecord]:
        if not self._policy.tolerate:
            table = table.slice(0, 1)
        failures = [Failure.in_column(found) for found in table.column(FAILURE).to_pylist()]
        rows = None
        if RAW_RECORD in table.column_names:
            rows = pa.Table.from_struct_array(table.column(RAW_RECORD))
        found = raw_records(self._spark, self._pipeline, frame, rows, len(failures))
        return [
            FailedRecord(failure, original, self._cause(failure))
            for failure, original in zip(failures, found, strict=True)
        ]

    def _cause(self, failure: Failure) -> Exception | None:
        tolerance: ToleranceOperator | None = self._pipeline.tolerance
        return None if tolerance is None else tolerance.cause_of(failure.message)

    # Bisection of a plan that fails

    def _bisected(self, frame: SourceFrame, error: Exception) -> Encoded:
        try:
            rows = frame.df.drop(RAW_RECORD).toArrow()
        except Exception:
            raise error from None  # it is the reading that fails
        if not rows.num_rows:
            raise error

        def attempt(part: pa.Table) -> tuple[pa.Table, list[FailedRecord]]:
            again = self._part(frame, part)
            return self._split(self._run(again), frame)

        def rejected(row: pa.Table, error: Exception) -> tuple[pa.Table, list[FailedRecord]]:
            return _NONE, [self._poison_record(frame, row, error)]

        found = list(Bisection(rows, attempt, halves, rejected, is_spark_gone))
        well = pa.concat_tables([table for table, _ in found], promote_options="default")
        return Encoded(well, [one for _, failed in found for one in failed], rows.num_rows)

    def _run(self, frame: SourceFrame) -> pa.Table:
        """Return the encoded records with a column for their topic, which only some parts of a frame may have."""
        transformed = self._pipeline.transform(self._with_raw_records(frame))
        table = _in_order(self._pipeline.encode(transformed).toArrow())
        if "topic" in table.column_names:
            return table
        return table.append_column("topic", pa.array([transformed[0].topic] * table.num_rows, pa.string()))

    def _part(self, frame: SourceFrame, rows: pa.Table) -> SourceFrame:
        return replace(frame, df=self._spark.createDataFrame(rows))

    def _poison_record(self, frame: SourceFrame, row: pa.Table, error: Exception) -> FailedRecord:
        acting = self._culprit(self._part(frame, row))
        (original,) = raw_records(self._spark, self._pipeline, frame, row, 1)
        return FailedRecord(Failure.of(acting.stage, acting.executor, error), original, error)

    def _culprit(self, frame: SourceFrame) -> Acting:
        """Return the plugin that fails for a single record: the first such transform, else a converter."""
        for count, step in enumerate(self._pipeline.transforms, 1):
            try:
                parts = apply_chain(self._pipeline.transforms[:count], frame)
                for part in parts:
                    part.df.toArrow()
            except Exception:
                return Acting(TRANSFORMATION, class_name(type(step.transform)))
        return Acting(VALUE_CONVERTER, class_name(type(self._pipeline.value_converter)))


def _with_heads(table: pa.Table, heads: Mapping[str, bytes]) -> pa.Table:
    """Return the records with the common prefix of each column before values that are not null."""
    for name, head in heads.items():
        rest = table.column(name)
        whole = pc.binary_join_element_wise(pa.scalar(head, rest.type), rest, pa.scalar(b"", rest.type))
        table = table.set_column(table.schema.get_field_index(name), name, whole)
    return table


def _in_order(table: pa.Table) -> pa.Table:
    """Return the records of several frames in the order in which they were polled."""
    return table.sort_by(ROW).drop_columns([ROW]) if ROW in table.column_names else table


def _well(rows: DataFrame) -> DataFrame:
    """Return the records that have not failed, with the columns that Spark's Kafka sink knows."""
    kept = rows.where(F.col(FAILURE).isNull()) if FAILURE in rows.columns else rows
    return kept.select(*(name for name in _OF_SPARKS_SINK if name in rows.columns))
