"""A source task with batches, a producer and stored offsets in memory.

Values say what their records do: ``bad…`` cannot be written by the converter, ``drop…`` is dropped by a transform.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame

from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.errors import ConnectError, DataError
from connect_dagster.plugin.connector import SourceTask, importable_class
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.protocol.states import State, TargetState
from connect_dagster.storage.offset_store import SourceOffsets
from connect_dagster.worker.errors.failures import VALUE_CONVERTER, FailedRecord, Failure, RawRecord
from connect_dagster.worker.errors.policy import DeadLetterSettings, ErrorPolicy
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.metrics.tasks import SourceTaskMetrics
from connect_dagster.worker.record_frames import Polled
from connect_dagster.worker.source.batches import Encoded, Planned, PlannedBefore
from connect_dagster.worker.source.delivery import Batch, BatchGivenUpError
from connect_dagster.worker.source.sender import RejectedRecord
from connect_dagster.worker.source.task import WorkerSourceTask
from connect_dagster.worker.source.transaction_ends import End, TransactionEnds
from tests.unit.worker.local_worker import (
    PLUGINS,
    TASK,
    WINDOWS,
    Clock,
    DeadLetters,
    LocalSpark,
    States,
    closing_stage,
    reporter,
)

NONE = ErrorPolicy()
REPORTING = ErrorPolicy(dead_letters=DeadLetterSettings("dead"))
TOLERANT = ErrorPolicy(tolerate=True, dead_letters=DeadLetterSettings("dead"))
RETRYING = ErrorPolicy(retry_timeout_ms=1000)
RUN = [State.RUNNING, State.UNASSIGNED]
FAILED = [State.RUNNING, State.FAILED]
PLACE = {"file": "a"}


def frame(offset: int, *values: str, place: Mapping[str, Any] = PLACE) -> SourceFrame:
    """A frame of these values, with the offset after them."""
    return SourceFrame(cast("DataFrame", list(values)), place, {"position": offset}, topic="t")


class Batches:
    """Plans and encodes frames of values.

    Attributes:
        on_plan: behaviour of further plans: called with nothing, through the tolerance operator.
        on_encode: behaviour of further runs of a plan.
    """

    def __init__(self) -> None:
        self.on_plan: list[Callable[[], None]] = []
        self.on_encode: list[Callable[[], None]] = []
        self.tolerance: ToleranceOperator | None = None
        self.header_converter = SimpleHeaderConverter()

    def under(self, tolerance: ToleranceOperator) -> "Batches":
        self.tolerance = tolerance
        return self

    def polled(self, polled: Polled) -> list[SourceBatch]:
        if polled is None:
            return []
        return [polled] if isinstance(polled, SourceFrame) else [*cast("Sequence[SourceBatch]", polled)]

    def planned(self, batch: SourceBatch) -> Planned:
        assert isinstance(batch, SourceFrame)
        if self.on_plan:
            assert self.tolerance is not None
            self.tolerance.build(lambda: self.on_plan.pop(0)(), _raised)
        return Planned(batch, batch.topic, batch.df)

    def encoded(self, planned: Planned | PlannedBefore) -> Encoded:
        assert isinstance(planned, Planned)
        if self.on_encode:
            self.on_encode.pop(0)()
        values = cast("list[str]", planned.plan)
        kept = [value.encode() for value in values if not value.startswith(("bad", "drop"))]
        failed = [_failed(value) for value in values if value.startswith("bad")]
        return Encoded(pa.table({"value": pa.array(kept, pa.binary())}), failed, len(values))

    def remote(self, planned: Planned | PlannedBefore) -> None:
        """Have no executors on other machines."""

    def close(self) -> None:
        """Have nothing to remove."""


def _raised(error: Exception) -> None:
    raise error


def _failed(value: str) -> FailedRecord:
    error = DataError("no JSON")
    return FailedRecord(Failure.of(VALUE_CONVERTER, "x.Json", error), RawRecord("t", None, value.encode()), error)


@dataclass(slots=True)
class Producer:
    """A delivery whose brokers acknowledge a batch when a test says so.

    Attributes:
        sent: values by batch, in their order.
        ends: of the transactions behind them.
        held: whether batches wait for ``acknowledge``.
        encoding: how often Spark is still busy with the batch before.
        rejected: values that the brokers reject.
        finishing: whether each drain was to commit an open transaction.
        failure: raised by the next call, as of an earlier batch.
    """

    sent: list[list[bytes]] = field(default_factory=list)
    ends: list[End | None] = field(default_factory=list)
    held: bool = False
    rejected: set[bytes] = field(default_factory=set)
    failure: Exception | None = None
    waiting: list[Callable[[], None]] = field(default_factory=list)
    drained: list[float] = field(default_factory=list)
    finishing: list[bool] = field(default_factory=list)
    closed: bool = False
    has_given_up: bool = False
    encoding: int = 0

    def has_encoded(self, seconds: float) -> bool:
        self.encoding -= 1
        return self.encoding < 0

    def resume(self) -> None:
        self.has_given_up = False

    def submit(self, batch: Batch[Encoded]) -> None:
        if self.has_given_up:
            return
        try:
            encoded = batch.encode()
        except BatchGivenUpError:
            self.has_given_up = True
            return
        except Exception as error:
            self.failure = error
            return
        values = encoded.table.column("value").to_pylist()
        for value in values:
            rejection = ConnectError("Unrecoverable exception from producer send callback: too large")
            record = {"topic": batch.topic, "value": value}
            if value in self.rejected and not batch.tolerate(RejectedRecord(rejection, record)):
                self.failure = rejection
                return
        self.ends.append(batch.end)
        self.sent.append([value for value in values if value not in self.rejected])
        self.waiting.append(lambda: batch.delivered(encoded) if batch.reported() else None)
        if not self.held:
            self.acknowledge()

    def acknowledge(self) -> None:
        waiting, self.waiting = self.waiting, []
        try:
            for delivered in waiting:
                delivered()
        except Exception as error:  # on a thread of its own, which passes it on
            self.failure = error

    def check(self) -> None:
        if self.failure is not None:
            raise self.failure

    def drain(self, seconds: float, *, finishing: bool = True) -> bool:
        self.drained.append(seconds)
        self.finishing.append(finishing)
        return not self.waiting and self.failure is None

    def finish(self) -> None:
        """Have no transaction open."""

    def close(self) -> None:
        self.closed = True


@dataclass(slots=True)
class Offsets:
    """Stored offsets of a connector."""

    saved: list[list[tuple[Mapping[str, Any], Mapping[str, Any] | None]]] = field(default_factory=list)
    failures: list[Exception] = field(default_factory=list)
    closed: bool = False

    def save(self, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        if self.failures:
            raise self.failures.pop(0)
        self.saved.append(list(offsets))

    def close(self) -> None:
        self.closed = True


class RecordingTask(SourceTask):
    """Polls by a script; the task is stopped when the script ends."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.script: Iterator[Polled] = iter(())
        self.stop_worker: Callable[[], None] = lambda: None
        self.on: dict[str, list[Exception]] = {}
        self.rereads: list[float | None] = []
        self.acknowledged: list[SourceFrame] = []

    def start(self, config: Mapping[str, str]) -> None:
        self._called("start")

    def poll(self) -> Polled:
        try:
            return next(self.script)
        except StopIteration:
            self.stop_worker()
            return None

    def rewind(self) -> None:
        self._called("rewind")

    def reread_delay(self, error: Exception) -> float | None:
        return self.rereads.pop(0) if self.rereads else None

    def delivered(self, batch: SourceBatch) -> None:
        assert isinstance(batch, SourceFrame)
        self.acknowledged.append(batch)

    def commit(self) -> None:
        self._called("commit")

    def stop(self) -> None:
        self._called("stop")

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if self.on.get(name):
            raise self.on[name].pop(0)


class LocalSource:
    """A source task, and all that is around it."""

    def __init__(
        self, policy: ErrorPolicy = NONE, ends: TransactionEnds | None = None, *, transactional: bool = False
    ) -> None:
        self.clock = Clock()
        self.closed: list[str] = []
        self.batches = Batches()
        self.stage = closing_stage(self.closed)
        self.producer = Producer()
        self.offsets = Offsets()
        self.plugin = RecordingTask()
        self.states = States()
        self.topics: list[set[str]] = []
        self.queue = DeadLetters()
        self.producer_failure: Exception | None = None
        self.metrics = SourceTaskMetrics(TASK, WINDOWS, PLUGINS, self.clock.monotonic)
        self.task = WorkerSourceTask(
            TASK,
            self.plugin,
            LocalSpark().as_session,
            self.states,
            TargetState.STARTED,
            config={},
            configs=lambda: {"password": "new"},
            batches=self.batches,
            transforms=[self.stage],
            open_clients=lambda _: (self._make_delivery(), cast("SourceOffsets", self.offsets)),
            transactional=transactional,
            ends=ends,
            flush_seconds=5.0,
            on_topics=self.topics.append,
            metrics=self.metrics,
            reporter=reporter(policy, self.metrics.errors, self.queue),
            load_class=importable_class,
            clock=self.clock,
        )

    def run(self, script: Callable[[], Iterator[Polled]]) -> None:
        """Run the task until the script of its polls has ended, and it with it."""
        self.plugin.script = script()
        self.plugin.stop_worker = self.task.stop
        self.task.start()
        assert self.task.await_stop(60)

    def counts(self) -> dict[str, int]:
        values = self.metrics.errors.read().values
        return {name: int(value) for name, value in values.items() if value and name != "last-error-timestamp"}

    def _make_delivery(self) -> Producer:
        if self.producer_failure is not None:
            raise self.producer_failure
        return self.producer
