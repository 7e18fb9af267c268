"""Runs a source task: poll, plan, run in Spark, deliver, commit.

Java: ``AbstractWorkerSourceTask``, ``WorkerSourceTask`` and ``ExactlyOnceWorkerSourceTask``. A micro-batch stream whose
cursor the connector owns; an idle task costs no Spark job. Offsets become committable when the brokers acknowledged the
batch before them, or are in the transaction of its records.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import SparkSession

from connect_dagster.errors import RetriableError, RewindError
from connect_dagster.plugin.connector import LoadClass, OffsetReader, Properties, SourceTask, TransactionContext
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.plugin.rate import UNLIMITED, Rate
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.storage.offset_store import SourceOffsets
from connect_dagster.worker.errors.failures import KAFKA_PRODUCE, FailedRecord, Failure, exception_text
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.metrics.tasks import SourceTaskMetrics
from connect_dagster.worker.record_frames import ListedRecords, Polled
from connect_dagster.worker.source.batches import NO_RECORDS, Encoded, Planned, PlannedBefore, SubmittedBatch
from connect_dagster.worker.source.delivery import Batch, BatchGivenUpError, topics_of
from connect_dagster.worker.source.raw_records import rejected_raw_record
from connect_dagster.worker.source.sender import RejectedRecord
from connect_dagster.worker.source.transaction_ends import End, NoEnds, RequestedEnds, TransactionEnds
from connect_dagster.worker.spark.progress import Progress
from connect_dagster.worker.task import Clock, StatusListener, SystemClock, WorkerTask
from connect_dagster.worker.transforms import TransformationChain

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.1
_LOOK_SECONDS = 0.1
_LEAST_SECONDS_OF_A_POLL = 0.02
"""A source whose polls return at once would otherwise keep a core, and Python's lock, busy."""
_JAVA_TASK = "org.apache.kafka.connect.runtime.WorkerSourceTask"


class Batches(Protocol):
    """The methods of ``SourceBatches``."""

    @property
    def header_converter(self) -> HeaderConverter:
        """Return the connector's converter of headers."""

    def under(self, tolerance: ToleranceOperator) -> Batches:
        """Return the batches whose plugins are called through a tolerance operator."""

    def polled(self, polled: Polled) -> list[SourceBatch]:
        """Return the batches of the result of a poll."""

    def planned(self, batch: SourceBatch) -> Planned | PlannedBefore:
        """Return the plan of a batch."""

    def encoded(self, planned: Planned | PlannedBefore) -> Encoded:
        """Run the plan."""

    def remote(self, planned: Planned | PlannedBefore) -> Callable[[], Encoded] | None:
        """Return a function that has the executors send the records."""

    def close(self) -> None:
        """Remove what kept plans read."""


class Deliveries(Protocol):
    """The methods of ``Delivery``."""

    def submit(self, batch: Batch[Encoded]) -> None:
        """Queue a batch."""

    def check(self) -> None:
        """Raise the error of an earlier batch."""

    def has_encoded(self, seconds: float) -> bool:
        """Wait until every batch is encoded or dropped."""

    @property
    def has_given_up(self) -> bool:
        """Return whether batches are dropped."""

    def resume(self) -> None:
        """Take batches again."""

    def drain(self, seconds: float, *, finishing: bool = True) -> bool:
        """Wait until every batch is acknowledged or dropped."""

    def finish(self) -> None:
        """Have an open transaction committed soon."""

    def close(self) -> None:
        """Drop what is not acknowledged."""


OpenClients = Callable[[Callable[[], bool]], tuple[Deliveries, SourceOffsets]]
"""Opens a task's producer and its offsets, from a function that returns whether to give up."""


@dataclass(frozen=True, slots=True)
class SourceContext:
    """The worker's side of ``SourceTaskContext``."""

    spark: SparkSession
    configs: Callable[[], Properties]
    offsets: OffsetReader
    metrics: Metrics
    header_converter: HeaderConverter
    load_class: LoadClass
    transaction_context: TransactionContext | None = None
    rate: Rate = UNLIMITED


class WorkerSourceTask(WorkerTask):
    """One source task with its producer.

    Args:
        config: the task's configuration.
        configs: returns it as it is now.
        batches: transforms and converters.
        transforms: closed at the end of the task.
        open_clients: opens the producer and the connector's committed offsets, on the task's thread; takes a function
            that returns whether the task was asked to stop.
        transactional: whether the producer writes offsets as well, in its transactions.
        ends: of its transactions.
        flush_seconds: how long the end waits for acknowledgements (``offset.flush.timeout.ms``).
        on_topics: receives the topics of each batch.
        metrics: of the task.
        reporter: of failed records.
        load_class: finds classes that the task's options name.
        rate: of the task.
        clock: for timeouts, back-off and idle time.
    """

    _kind = "WorkerSourceTask"

    def __init__(
        self,
        id: TaskId,
        task: SourceTask,
        spark: SparkSession,
        listener: StatusListener,
        target: TargetState,
        *,
        config: Mapping[str, str],
        configs: Callable[[], Properties],
        batches: Batches,
        transforms: TransformationChain,
        open_clients: OpenClients,
        transactional: bool = False,
        ends: TransactionEnds | None = None,
        flush_seconds: float,
        on_topics: Callable[[set[str]], None],
        metrics: SourceTaskMetrics,
        reporter: ErrorReporter,
        load_class: LoadClass,
        rate: Rate = UNLIMITED,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        super().__init__(id, task, spark, listener, target, transforms, clock)
        self.progress = Progress(job_group=str(id))
        retries = Retries(reporter.policy, metrics.errors, self._wait_unless_stopped, clock.monotonic)
        self._batches = batches.under(ToleranceOperator(retries))
        self._reporter = reporter
        self._released = threading.Event()
        self._metrics = metrics
        self._source = task
        self._config = config
        self._configs = configs
        self._load_class = load_class
        self._rate = rate
        self._open_clients = open_clients
        self._transactional = transactional
        self._ends = ends or NoEnds()
        self._delivery: Deliveries | None = None
        self._offsets: SourceOffsets | None = None
        self._flush_seconds = flush_seconds
        self._on_topics = on_topics
        self._committable: dict[str, tuple[Mapping[str, Any], Mapping[str, Any] | None]] = {}
        self._committing = threading.Lock()
        self._committed = threading.Event()

    def commit_offsets(self) -> bool:
        """Store the offsets of all acknowledged batches; return whether there were any. Called by the committer.

        A task that writes in transactions has none: what it has not committed there may still be aborted.
        """
        if self._transactional:
            return False
        with self._committing:
            began = self._clock.monotonic()
            pending, self._committable = self._committable, {}
            if not pending or self._offsets is None:
                self._metrics.commit_ended(0, succeeded=True)
                self._committed.set()
                return False
            try:
                self._offsets.save(list(pending.values()))
            except Exception:
                self._committable = {**pending, **self._committable}
                self._metrics.commit_ended(self._since(began), succeeded=False)
                raise
            self._metrics.commit_ended(self._since(began), succeeded=True)
            self._committed.set()
            return True

    def _start_plugin(self) -> None:
        self._reporter.open()
        self._delivery, offsets = self._open_clients(lambda: self.stopping)
        self._offsets = offsets
        self._source.context = SourceContext(
            self.spark,
            self._configs,
            offsets,
            self._metrics,
            self._batches.header_converter,
            self._load_class,
            self._ends if isinstance(self._ends, RequestedEnds) else None,
            self._rate,
        )
        self._source.start(self._config)
        log.info("WorkerSourceTask{id=%s} Source task finished initialization and start", self.id)

    def _execute(self) -> None:
        delivery = self._opened()
        try:
            self._stream_on(delivery)
            self._send_requested_end(delivery)
        except BaseException:
            # Commit the batches delivered before it, but no open transaction (Java: ``finalOffsetCommit``).
            self._commit_at_end(delivery, finishing=False)
            raise
        self._commit_at_end(delivery)

    def _stream_on(self, delivery: Deliveries) -> None:
        while not self.stopping:
            delivery.check()
            if delivery.has_given_up and not self._rewound(delivery):
                return
            self._call_commit()
            if self.paused:
                self._send_requested_end(delivery)
                delivery.finish()
                self._report(State.PAUSED)
                self._await_change(1)
                continue
            self._report(State.RUNNING)
            if self._source.polls_late and (not delivery.has_encoded(_LOOK_SECONDS) or delivery.has_given_up):
                continue
            with suppress(RetryGivenUpError):  # asked to stop: the next start polls these records again
                for batch, end in self._polled():
                    self._send(batch, delivery, end)

    def _rewound(self, delivery: Deliveries) -> bool:
        """Have the source go back to the last batch that is delivered; return ``False`` when asked to stop before."""
        while not delivery.drain(_LEAST_SECONDS_OF_A_POLL):
            delivery.check()
            if not self._wait_unless_stopped(_LEAST_SECONDS_OF_A_POLL):
                return False
        self._source.rewind()
        delivery.resume()
        return True

    def _polled(self) -> Sequence[tuple[SourceBatch | None, End | None]]:
        began = self._clock.monotonic()
        batches = self._poll(began)
        if not batches:
            self._await_change(_LEAST_SECONDS_OF_A_POLL - (self._clock.monotonic() - began))
        return batches

    def _poll(self, began: float) -> Sequence[tuple[SourceBatch | None, End | None]]:
        try:
            polled = self._source.poll()
            if polled is None:
                return ()
            self._metrics.poll_ended(self._since(began))
            return self._with_ends(polled)
        except RetriableError as error:
            log.warning("WorkerSourceTask{id=%s} failed to poll records. Will retry.", self.id, exc_info=error)
            self._metrics.errors.retried()
            self._await_change(_RETRY_SECONDS)
            return ()

    def _with_ends(self, polled: Polled) -> list[tuple[SourceBatch | None, End | None]]:
        """Return the batches of a poll with the ends of transactions behind them; an end may be without a batch."""
        found: list[tuple[SourceBatch | None, End | None]] = []
        for part, end in self._ends.parts(polled):
            batches = self._batches.polled(part)
            found += zip(batches, [None] * (len(batches) - 1) + [end], strict=False)
        end = self._ends.after_poll(has_records=bool(found))
        if end is not None:
            batch = found.pop()[0] if found and found[-1][1] is None else None
            found.append((batch, end))
        return found

    def _send_requested_end(self, delivery: Deliveries) -> None:
        """End a transaction where that was requested since the last records."""
        if (end := self._ends.after_poll(has_records=False)) is not None:
            self._send(None, delivery, end)

    def _send(self, batch: SourceBatch | None, delivery: Deliveries, end: End | None) -> None:
        if batch is None:
            delivery.submit(Batch(lambda: NO_RECORDS, None, lambda _: None, end=end))
        else:
            self._send_batch(batch, delivery, end)

    def _send_batch(self, batch: SourceBatch, delivery: Deliveries, end: End | None) -> None:
        began = self._clock.monotonic()
        sent = SubmittedBatch(batch, self._batches.planned(batch))
        took = {"queryPlanning": self._clock.monotonic() - began}
        kept: list[pa.Table] = []

        def encode() -> Encoded:
            sent.join()
            started = self._clock.monotonic()
            encoded = self._encoded(sent.planned)
            took["addBatch"] = self._clock.monotonic() - started
            if encoded.size:
                self._source.encoded(sent.batch, encoded.polled, encoded.size)
            return noted(encoded)

        def noted(encoded: Encoded) -> Encoded:
            self._metrics.batch_polled(encoded.polled)
            self._reporter.failed(encoded.failed)
            return encoded

        def received(receipts: pa.Table) -> None:
            if isinstance(sent.batch, ListedRecords):
                kept.append(receipts)
            else:
                self._source.received(sent.batch, receipts)

        def delivered(encoded: Encoded) -> None:
            batch, topic = sent.batch, sent.planned.topic
            if isinstance(batch, ListedRecords):
                self._commit_records(batch, kept)
            if self._transactional:
                self._committed.set()
            else:
                self._acknowledge(batch)
            self._source.delivered(batch)
            self._metrics.batch_written(encoded.polled, encoded.table.num_rows + encoded.sent)
            took["triggerExecution"] = self._clock.monotonic() - began
            self.progress.batch_done(encoded.counted(), _milliseconds(took), dict(batch.source_offset or {}))
            by_executors = {topic} if encoded.sent and topic is not None else set[str]()
            self._on_topics(topics_of(topic, encoded.table) | by_executors)

        send = self._batches.remote(sent.planned)
        remote = None if send is None else lambda: noted(send())
        delivery.submit(
            Batch(
                encode,
                sent.planned.topic,
                delivered,
                lambda rejected: self._tolerated(rejected, sent.batch),
                remote,
                received,
                lambda: self._reporter.flush(lambda: not self._released.is_set()),
                batch.offsets,
                end,
                None if self._transactional else sent,  # a transaction takes the offsets of each batch
            )
        )

    def _encoded(self, planned: Planned | PlannedBefore) -> Encoded:
        """Encode a batch; read it again for as long as the source asks for it.

        Raises:
            BatchGivenUpError: the source goes back, or the task is asked to stop.
        """
        while True:
            try:
                return self._batches.encoded(planned)
            except RewindError as error:
                log.warning("WorkerSourceTask{id=%s} Records are polled again: %s", self.id, exception_text(error))
                self._metrics.errors.retried()
                raise BatchGivenUpError from error
            except Exception as error:
                seconds = self._source.reread_delay(error)
                if seconds is None:
                    raise
                if not self._wait_unless_stopped(seconds):
                    raise BatchGivenUpError from error
                log.warning(
                    "WorkerSourceTask{id=%s} Records could not be read, will be read again: %s",
                    self.id,
                    exception_text(error),
                )
                self._metrics.errors.retried()

    def _tolerated(self, rejected: RejectedRecord, polled: SourceBatch) -> bool:
        """Report a record that Kafka rejected; return whether the task continues without it."""
        if not self._reporter.policy.tolerate:
            self._metrics.errors.fatal()
            return False
        log.error("WorkerSourceTask{id=%s} failed to send record: %s", self.id, rejected.error)
        self._metrics.record_refused()
        failure = Failure.of(KAFKA_PRODUCE, _JAVA_TASK, rejected.error)
        self._reporter.execute_failed(
            [FailedRecord(failure, rejected_raw_record(polled, rejected.record), rejected.error)]
        )
        return True

    def _commit_records(self, batch: ListedRecords, receipts: Sequence[pa.Table]) -> None:
        failed = 0
        for record, metadata in batch.with_metadata(receipts):
            try:
                self._source.commit_record(record, metadata)
            except Exception:
                failed += 1
                if failed == 1:
                    log.exception(
                        "WorkerSourceTask{id=%s} Exception thrown while calling task.commit_record()", self.id
                    )
        if failed > 1:
            log.error("WorkerSourceTask{id=%s} task.commit_record() failed for %d records in all", self.id, failed)

    def _acknowledge(self, batch: SourceBatch) -> None:
        with self._committing:
            for partition, offset in batch.offsets:
                self._committable[repr(sorted(partition.items()))] = (partition, offset)

    def _commit_at_end(self, delivery: Deliveries, *, finishing: bool = True) -> None:
        if not delivery.drain(self._flush_seconds, finishing=finishing):
            log.error(
                "WorkerSourceTask{id=%s} Failed to flush: records were not acknowledged within %d ms; "
                "their offsets are not committed, a restart sends them again",
                self.id,
                self._flush_seconds * 1000,
            )
        self._commit_or_log()
        self._call_commit()

    def _commit_or_log(self) -> None:
        try:
            self.commit_offsets()
        except Exception:
            log.exception("WorkerSourceTask{id=%s} Failed to commit offsets, a restart sends records again", self.id)

    def _call_commit(self) -> None:
        if not self._committed.is_set():
            return
        self._committed.clear()
        try:
            self._source.commit()
        except Exception:
            log.exception("WorkerSourceTask{id=%s} Exception thrown while calling task.commit()", self.id)

    def _finish(self) -> None:
        self._opened().check()

    def _release(self) -> None:
        self._released.set()
        if self._delivery is not None:
            self._delivery.close()
        self._batches.close()
        self._reporter.close()
        self._commit_or_log()
        with self._committing:
            # The next run of this task may have committed since: an abandoned one commits nothing more.
            offsets, self._offsets = self._offsets, None
        if offsets is not None:
            offsets.close()

    def _opened(self) -> Deliveries:
        assert self._delivery is not None
        return self._delivery

    def _since(self, began: float) -> float:
        """Return the milliseconds since a moment of the clock."""
        return (self._clock.monotonic() - began) * 1000


def _milliseconds(seconds: Mapping[str, float]) -> dict[str, int]:
    return {name: round(value * 1000) for name, value in seconds.items()}
