"""Parts of a worker in memory: a clock that a test moves, a session without Spark, error handling that is recorded."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from pyspark.sql import SparkSession

from connect_dagster.plugin.samples import Windows
from connect_dagster.predicates.record_is_tombstone import RecordIsTombstone
from connect_dagster.protocol.states import State, TaskId
from connect_dagster.transforms.filter import Filter
from connect_dagster.worker.errors.failures import FailedRecord
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.metrics.errors import ErrorMetrics
from connect_dagster.worker.metrics.tasks import TaskPlugins
from connect_dagster.worker.transforms import TransformationStage

TASK = TaskId("c", 0)
WINDOWS = Windows()
PLUGINS = TaskPlugins({})


class Clock:
    """Time passes only where a task waits, and then at once."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def wait(self, changed: threading.Condition, seconds: float) -> None:
        self.now += max(0.0, seconds)


class LocalRows(list[Any]):
    """Rows as a frame."""

    def coalesce(self, partitions: int) -> "LocalRows":
        """Return the rows."""
        return self


class LocalSpark:
    """The calls of a task that name its Spark jobs."""

    _gateway = None

    def __init__(self) -> None:
        self.cancelled: list[str] = []

    @property
    def sparkContext(self) -> "LocalSpark":  # noqa: N802 (PySpark's name)
        return self

    def setJobGroup(self, name: str, text: str) -> None:  # noqa: N802
        """Take the name of a task's jobs."""

    def setLocalProperty(self, name: str, value: str) -> None:  # noqa: N802
        """Take the task's pool."""

    def cancelJobGroup(self, name: str) -> None:  # noqa: N802
        self.cancelled.append(name)

    def createDataFrame(self, rows: Any) -> "LocalRows":  # noqa: N802
        """Return the rows, which stand for their frame."""
        return LocalRows(rows)

    @property
    def as_session(self) -> SparkSession:
        return cast("SparkSession", self)


class _ClosingTransform(Filter):
    def __init__(self, closed: list[str], failure: Exception | None) -> None:
        self._closed = closed
        self._failure = failure

    def close(self) -> None:
        self._closed.append("transform")
        if self._failure is not None:
            raise self._failure


class _ClosingPredicate(RecordIsTombstone):
    def __init__(self, closed: list[str]) -> None:
        self._closed = closed

    def close(self) -> None:
        self._closed.append("predicate")


def closing_stage(closed: list[str], failure: Exception | None = None) -> TransformationStage:
    """A stage that notes which of its plugins is closed; the transform raises the failure then."""
    return TransformationStage("one", _ClosingTransform(closed, failure), _ClosingPredicate(closed))


@dataclass(slots=True)
class DeadLetters:
    """A dead letter queue in memory.

    Attributes:
        written: records in their order.
        failure: raised instead of taking a record.
        before_flush: called when the task waits for it.
    """

    written: list[FailedRecord] = field(default_factory=list)
    failure: Exception | None = None
    before_flush: Callable[[], None] = lambda: None
    closed: bool = False

    def write(self, record: FailedRecord) -> None:
        if self.failure is not None:
            raise self.failure
        self.written.append(record)

    def serve(self) -> None:
        """Nothing is due."""

    def flush(self, while_running: Callable[[], bool]) -> bool:
        self.before_flush()
        return while_running()

    def close(self) -> None:
        self.closed = True


def reporter(policy: ErrorPolicy, metrics: ErrorMetrics, queue: DeadLetters) -> ErrorReporter:
    return ErrorReporter(TASK, policy, metrics, lambda: queue)


@dataclass(slots=True)
class States:
    """The states that a task has reported, with their traces."""

    seen: list[State] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)

    def __call__(self, id: TaskId, state: State, trace: str | None) -> None:
        assert id == TASK
        self.seen.append(state)
        if trace is not None:
            self.traces.append(trace)


Script = Callable[[Any], Iterator[None]]
"""What happens around a task, a step between two of its polls; the task is stopped when the script ends."""


@dataclass(slots=True)
class Steps:
    """Runs a script, and fails where a task waits for nothing."""

    script: Iterator[None]
    stop: Callable[[], None]
    left: int = 5_000

    def next(self) -> None:
        self.left -= 1
        assert self.left, "the task polls forever"
        try:
            next(self.script)
        except StopIteration:
            self.stop()
