"""Progress of a task's stream, in the form of Spark's StreamingQueryProgress, for sources and sinks."""

from __future__ import annotations

import threading
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One batch: what came in, how long it took, where the stream stands after it.

    Attributes:
        batchId: number of the batch in this run of the task.
        numInputRows: rows that Spark counted in the batch's plan.
        inputRowsPerSecond: since the end of the batch before.
        processedRowsPerSecond: of this batch alone.
        durationMs: milliseconds by phase.
        endOffset: where the stream stands: a source offset, or offsets by topic and partition.
    """

    batchId: int  # noqa: N815 (Spark's own name, as are the others)
    numInputRows: int  # noqa: N815
    inputRowsPerSecond: float  # noqa: N815
    processedRowsPerSecond: float  # noqa: N815
    durationMs: dict[str, int]  # noqa: N815
    endOffset: Any  # noqa: N815


@dataclass(slots=True)
class Progress:
    """Latest batch and running totals of one task; safe to read from any thread."""

    job_group: str
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _last: BatchProgress | None = None
    _total: int = 0
    _batches: int = 0
    _ended: float = field(default_factory=time.monotonic)

    def batch_done(self, rows: int, durations: dict[str, int], end_offset: Any) -> None:
        """Add a batch.

        Args:
            rows: rows that Spark counted.
            durations: milliseconds by phase; ``triggerExecution`` is the whole.
            end_offset: where the stream stands now.
        """
        with self._lock:
            now = time.monotonic()
            since, self._ended = max(now - self._ended, 1e-3), now
            took = max(durations.get("triggerExecution", 0) / 1000, 1e-3)
            self._last = BatchProgress(self._batches, rows, rows / since, rows / took, durations, end_offset)
            self._batches += 1
            self._total += rows

    @property
    def total(self) -> int:
        """Return the rows through Spark since the task started."""
        return self._total

    def as_json(self) -> dict[str, Any]:
        """Return the latest batch with the totals, ready for JSON."""
        with self._lock:
            last = asdict(self._last) if self._last is not None else {}
            return {**last, "totalInputRows": self._total, "jobGroup": self.job_group}


def planned_rows(spark: SparkSession, df: DataFrame) -> DataFrame:
    """Return the rows of a DataFrame's own plan, whose metrics count them.

    A DataFrame that is written is planned again, and the metrics of its first plan stay at zero.

    Args:
        spark: its session.
        df: not run yet.
    """
    jvm_df = df._jdf
    rows = jvm_df.queryExecution().toRdd()
    return DataFrame(spark._jsparkSession.internalCreateDataFrame(rows, jvm_df.schema(), False), spark)


def rows_through_plan(df: DataFrame) -> int:
    """Return the rows that came out of a plan that has run, by Spark's own metrics.

    Projections keep their number and count nothing; so the topmost operators that count are asked.
    """
    return _rows(df._jdf.queryExecution().executedPlan())


def rows_into_plan(df: DataFrame) -> int:
    """Return the rows at the leaves of a plan that has run: by Spark's metrics, and those that the plan itself holds.

    The optimizer filters the latter before anything runs, so they are counted in the plan as it was written.
    """
    execution = df._jdf.queryExecution()
    held = [leaf for leaf in _leaves(execution.analyzed()) if leaf.nodeName() == "LocalRelation"]
    read = [leaf for leaf in _leaves(execution.executedPlan()) if leaf.nodeName() != "LocalTableScan"]
    return sum(int(leaf.maxRows().get()) for leaf in held) + sum(map(_rows, read))


def _leaves(plan: Any) -> list[Any]:
    leaves = plan.collectLeaves()
    return [leaves.apply(index) for index in range(leaves.size())]


def _rows(plan: Any) -> int:
    metric = plan.metrics().get("numOutputRows")
    if metric.isDefined():
        return int(metric.get().value())
    children = plan.children()
    return sum(_rows(children.apply(index)) for index in range(children.size()))
