"""Runs a sink task: rebalances, the batches of its partitions, put, and the commit of offsets.

Java: ``WorkerSinkTask``. All calls of the plugin's task are made on the task's thread. The position moves after a put,
and the next commit commits the position.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from connect_dagster.backoff import Backoff
from connect_dagster.errors import RetriableError
from connect_dagster.kafka.fetched_records import FEW_RECORDS, FetchedRecords
from connect_dagster.kafka.offset_reset import Reset, ResetCause
from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.worker.bytes_bound import BatchTooLargeError, Measured
from connect_dagster.worker.errors.reporter import ErrorReporter
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.errors.tolerance import ToleranceOperator
from connect_dagster.worker.metrics.tasks import SinkTaskMetrics
from connect_dagster.worker.rate_limiter import RateLimiter
from connect_dagster.worker.sink.batch_size import BatchSize
from connect_dagster.worker.sink.commits import Commit, Commits
from connect_dagster.worker.sink.consumer import Consumer, RebalanceListener, TopicPartitions
from connect_dagster.worker.sink.context import SinkContext
from connect_dagster.worker.sink.errant_record_reporter import WorkerErrantRecordReporter
from connect_dagster.worker.sink.put import BatchUnavailableError, ErrorContext, Planner, PutAttempt
from connect_dagster.worker.sink.stream import MicroBatch, OffsetOutOfRangeError, SinkStream
from connect_dagster.worker.spark import references as java_references
from connect_dagster.worker.spark.progress import Progress
from connect_dagster.worker.task import Clock, StatusListener, SystemClock, WorkerTask
from connect_dagster.worker.transforms import TransformationChain

log = logging.getLogger(__name__)

_IDLE_SECONDS = 0.1
# The consumer wakes the task for records and rebalances, but not when it is asked to stop.
_ASLEEP_SECONDS = 0.4
_DEFAULT_RETRY_MS = 1000
# A task that reads with Spark asks the brokers for records so often, and sleeps after this long without any.
_ASK_SECONDS = 0.01
_AWAKE_SECONDS = 1.0
_BROKERS_AWAY = Backoff(0.1, 0.5)
# A batch of a task with a rate limit lasts as long.
_LIMITED_SECONDS = 1.0


OpenConsumer = Callable[[RebalanceListener], Consumer]
OpenStream = Callable[[Mapping[TopicPartition, int], int, bool], SinkStream]
"""Takes the first offset to read of each partition, the most records of a batch, and whether a log may be another one
than for the stream before."""


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Limits and intervals of a sink task.

    Attributes:
        most_records: of one put (``max.poll.records``).
        flush_interval: seconds between commits (``offset.flush.interval.ms``).
        flush_timeout: seconds a commit may take (``offset.flush.timeout.ms``).
        most_bytes: that one Spark task may read for a batch.
    """

    most_records: int
    flush_interval: float
    flush_timeout: float
    most_bytes: int


class WorkerSinkTask(WorkerTask):
    """One sink task with its consumer and its stream.

    Args:
        config: the task's configuration.
        configs: returns it as it is now.
        settings: limits and intervals.
        planner: converters and transforms.
        transforms: closed at the end of the task.
        open_consumer: joins the group, on the task's thread.
        open_stream: makes a stream from these offsets, with batches of this size.
        on_topics: receives the topics of each batch.
        metrics: of the task.
        reporter: of failed records.
        limiter: paces the records; none by default.
        clock: for timeouts, back-off and idle time.
    """

    _kind = "WorkerSinkTask"

    def __init__(
        self,
        id: TaskId,
        task: SinkTask,
        spark: SparkSession,
        listener: StatusListener,
        target: TargetState,
        *,
        config: Mapping[str, str],
        configs: Callable[[], Mapping[str, str]],
        settings: SinkSettings,
        planner: Planner,
        transforms: TransformationChain,
        open_consumer: OpenConsumer,
        open_stream: OpenStream,
        on_topics: Callable[[set[str]], None],
        metrics: SinkTaskMetrics,
        reporter: ErrorReporter,
        limiter: RateLimiter | None = None,
        clock: Clock | None = None,
    ) -> None:
        clock = clock or SystemClock()
        super().__init__(id, task, spark, listener, target, transforms, clock)
        self._limiter = limiter or RateLimiter()
        self.progress = Progress(job_group=str(id))
        self._metrics = metrics
        self._sink = task
        self._config = config
        self._settings = settings
        self._open_consumer = open_consumer
        self._open_stream = open_stream
        retries = Retries(reporter.policy, metrics.errors, self._waited_for_retry, clock.monotonic)
        self._planner = planner.under(ToleranceOperator(retries))
        self._on_topics = on_topics
        self._reporter = reporter
        self._errant = WorkerErrantRecordReporter(reporter, planner.raw_record)
        self._errors = ErrorContext(reporter, retries, self._errant)
        self._batch: MicroBatch | None = None
        self._abandoned = threading.Event()
        errant = self._errant if reporter.policy.reports else None
        self._context = SinkContext(spark, configs, metrics, errant_record_reporter=errant)
        self._position: dict[TopicPartition, int] = {}
        self._consumer: Consumer | None = None
        self._stream: SinkStream | None = None
        self._streamed: frozenset[TopicPartition] = frozenset()
        self._batch_size = BatchSize(settings.most_records, settings.most_bytes)
        self._watched: frozenset[TopicPartition] = frozenset()
        self._look_at = 0.0  # for offsets without records, while it sleeps
        self._is_fetching = True  # unless the consumer could not serve the position: then Spark reads first
        self._rewound: set[TopicPartition] = set()  # to offsets that the task has asked for and not read yet
        self._displaced = self._needs_new_consumers = False
        self._busy_at = self._not_before = clock.monotonic()
        self._outages = 0  # since the last batch
        self._commits = Commits(settings.flush_interval, settings.flush_timeout, str(id), clock.monotonic)
        task.context = self._context

    # Life cycle

    def _start_plugin(self) -> None:
        self._reporter.open()
        self._consumer = self._open_consumer(RebalanceListener(self._assigned, self._revoked, self._lost))
        self._sink.start(self._config)
        log.info("WorkerSinkTask{id=%s} Sink task finished initialization and start", self.id)

    def _execute(self) -> None:
        try:
            self._stream_on()
        except BaseException:  # records put before the failure are committed
            try:
                self._leave()
            except Exception:
                log.exception("WorkerSinkTask{id=%s} Could not close partitions after a failure", self.id)
            raise
        self._leave()

    def _stream_on(self) -> None:
        while not self.stopping:
            woken = self._joined.poll(self._longest_poll)
            self._reporter.serve()
            if self.paused:
                self._rest()
                continue
            self._report(State.RUNNING)
            if self._limiter.delay:
                self._limiter.wait_a_step(self._await_change)
            elif not self._watched:
                self._steer()
                self._take_batch()
            elif self._stream_is_outdated():
                self._wake()
            elif not (self._take_fetched() if woken else self._is_at_ends()):
                self._wake()
                self._is_fetching = False
            self._commit_when_due()

    @property
    def _longest_poll(self) -> float:
        if self._watched:
            return _ASLEEP_SECONDS
        # Partitions that come first are heard of at once, not at the end of a pause.
        return 0 if self._position or self.paused else _IDLE_SECONDS

    def _leave(self) -> None:
        self._stop_stream()
        self._give_up(list(self._position), commit=True, closing=True)

    def _finish(self) -> None:
        """Do nothing: ``_execute`` has given up the partitions."""

    def _release(self) -> None:
        self._abandoned.set()
        self._reporter.close()
        if self._consumer is None:
            return
        if threading.current_thread() is self._thread:
            self._planner.close()
            self._consumer.close()
        else:
            self._abandon(self._consumer)

    def _abandon(self, consumer: Consumer) -> None:
        """Release the partitions from another thread, while the task is blocked in its own code."""
        consumer.abandon()
        self.spark.sparkContext.cancelJobGroup(str(self.id))

    def _rest(self) -> None:
        """Stay in the group without reading, and commit the offsets once."""
        if self._reported is not State.PAUSED:
            self._wake()
            self._stop_stream()
            self._commit(wait=True)
            self._report(State.PAUSED)
        self._commit_when_due()
        self._await_change(_IDLE_SECONDS)

    # Rebalances: called by Consumer.poll on the task's thread

    def _assigned(self, partitions: TopicPartitions) -> None:
        self._stop_stream()
        self._wake()
        begin = self._joined.committed_or_reset(partitions)
        self._position.update(begin)
        self._commits.begin(begin)
        self._needs_new_consumers = True
        self._moved()
        self._context.assigned(frozenset(self._position))
        self._context.topic_ids = self._joined.topic_ids()
        log.info("WorkerSinkTask{id=%s} Assigned %s", self.id, ", ".join(map(str, partitions)) or "no partitions")
        self._sink.open(partitions)

    def _revoked(self, partitions: TopicPartitions) -> None:
        self._stop_stream()
        self._give_up(partitions, commit=True)

    def _lost(self, partitions: TopicPartitions) -> None:
        self._stop_stream()
        self._give_up(partitions, commit=False)

    def _give_up(self, partitions: TopicPartitions, *, commit: bool, closing: bool = False) -> None:
        partitions = [partition for partition in partitions if partition in self._position]
        if not partitions:
            return
        self._wake()
        if commit:
            self._commit(wait=True, closing=closing)
        try:
            self._sink.close(partitions)
        finally:
            for partition in partitions:
                self._position.pop(partition, None)
                self._rewound.discard(partition)
            self._commits.forget(partitions)
            self._moved()
            self._context.assigned(frozenset(self._position))

    # The stream

    def _readable(self) -> frozenset[TopicPartition]:
        return frozenset(self._position) - self._context.paused

    def _stream_is_outdated(self) -> bool:
        """Return whether other offsets or partitions have to be read, or watched, than now."""
        rewound = self._displaced or bool(self._context.rewound)
        return rewound or self._readable() != (self._watched or self._streamed)

    def _steer(self) -> None:
        """Start the stream that the task needs: from other offsets, or of other partitions."""
        if self._stream_is_outdated():
            self._stop_stream()
        elif self._stream is not None:
            self._stream.most_records = self._most_records
        rewound = self._context.take_rewound()
        rewound = {partition: offset for partition, offset in rewound.items() if partition in self._position}
        self._position.update(rewound)
        self._rewound.update(rewound)
        if self._stream is None and self._readable() and self._clock.monotonic() >= self._not_before:
            self._start_stream()

    def _start_stream(self) -> None:
        resets = self._reset_positions()
        if resets is None:
            self._read_again_later("the offsets of the partitions are not known now")
        elif not self._context.rewound and (readable := self._readable()):
            start, most = {partition: self._position[partition] for partition in readable}, self._most_records
            self._stream = self._open_stream(start, most, self._needs_new_consumers)
            self._streamed, self._needs_new_consumers = readable, False

    def _reset_positions(self) -> Mapping[TopicPartition, Reset] | None:
        """Move the positions that are not in their logs; return those, or ``None`` when the logs are not known now.

        The task opens a partition again whose log has other records at the offsets that it has seen. An offset of its
        own, such as one it keeps in a database, is not held against the log twice.
        """
        resets = self._joined.resets(self._position)
        if resets is None:
            return None
        self._displaced = False
        if resets:
            offsets = {partition: reset.offset for partition, reset in resets.items()}
            replaced = [partition for partition, reset in resets.items() if self._is_replaced(partition, reset)]
            self._position.update(offsets)
            self._rewound.difference_update(resets)
            self._reopen(replaced)
            self._commits.reset(offsets)
            self._needs_new_consumers = True
            self._moved()
        return resets

    def _is_replaced(self, partition: TopicPartition, reset: Reset) -> bool:
        rewound = partition in self._rewound
        return reset.cause is ResetCause.RECREATED or (reset.cause is ResetCause.TRUNCATED and not rewound)

    def _reopen(self, partitions: TopicPartitions) -> None:
        if not partitions:
            return
        self._sink.close(partitions)
        self._context.drop_rewound(partitions)
        self._context.topic_ids = self._joined.topic_ids()
        self._sink.open(partitions)

    def _stop_stream(self) -> None:
        self._stream, self._streamed = None, frozenset()

    def _sleep(self, ends: Mapping[TopicPartition, int] | None = None) -> bool:
        """Let the consumer fetch the next records, and ask for nothing; return whether it fetches.

        Args:
            ends: of the partitions, where records are before them.
        """
        watched = self._streamed
        start = {partition: self._position[partition] for partition in watched}
        until = {partition: end for partition, end in (ends or {}).items() if end > start[partition]}
        if not self._joined.watch(start, until):
            self._busy_at = self._clock.monotonic()
            return False
        self._stop_stream()
        self._watched = watched
        self._look_at = self._clock.monotonic() + self._settings.flush_interval
        return True

    def _wake(self) -> None:
        watched, self._watched = self._watched & self._position.keys(), frozenset()
        if watched:
            self._joined.unwatch(watched)
        self._busy_at = self._clock.monotonic()

    def _read_again_later(self, why: str) -> None:
        level = logging.DEBUG if self._outages else logging.WARNING
        log.log(level, "WorkerSinkTask{id=%s} Lost the brokers, reading again from the last position: %s", self.id, why)
        self._stop_stream()
        self._outages += 1
        self._not_before = self._clock.monotonic() + _BROKERS_AWAY.delay(self._outages)

    def _moved(self) -> None:
        self._metrics.moved_to(self._position, self._commits.committed)

    # Batches

    @property
    def _most_records(self) -> int:
        """Return the most records of the next batch: as many as fit, or as the rate limit lets pass in a second."""
        limit = self._limiter.most_records(_LIMITED_SECONDS)
        return self._batch_size.records if limit is None else min(limit, self._batch_size.records)

    def _take_batch(self) -> None:
        stream, began = self._stream, self._clock.monotonic()
        if stream is None:
            if self._position:
                self._await_change(_IDLE_SECONDS)
            return
        ends = self._joined.ends(self._streamed)
        self._metrics.ends_seen(ends)
        asked = self._clock.monotonic() - began
        if self._is_fetching and 0 < self._waiting(ends) <= FEW_RECORDS and self._sleep(ends):
            self._look_at = self._clock.monotonic() + _AWAKE_SECONDS
            return
        try:
            batch = stream.next(ends)
        except OffsetOutOfRangeError:
            self._displaced = True
            return
        if batch is None:
            self._idle()
            return
        if not (self._put(batch, stream, asked) and self._moved_past(batch)):
            self._stop_stream()
        else:
            self._is_fetching = True
            if batch.size <= FEW_RECORDS and self._waiting(ends) == 0:
                self._sleep()
        batch = None  # else the batch stays in memory
        java_references.let_go()
        self._busy_at = self._clock.monotonic()

    def _waiting(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return the count of offsets between the position and the ends, as far as those are known."""
        return sum(max(0, ends.get(one, 0) - self._position[one]) for one in self._streamed)

    def _take_fetched(self) -> bool:
        """Put the records that the consumer has fetched; return whether it may fetch the next ones."""
        fetched = self._joined.take_fetched(min(FEW_RECORDS, self._most_records))
        if fetched is None or not self._follows(fetched):
            return False
        batch = MicroBatch.of_fetched(fetched, self.spark)
        goes_on = self._put(batch, None, 0.0) and self._moved_past(batch)
        java_references.let_go()
        self._look_at = self._clock.monotonic() + _AWAKE_SECONDS
        return goes_on

    def _follows(self, fetched: FetchedRecords) -> bool:
        """Return whether records are the next ones, and not at the same offsets of a topic that was created again.

        A log that was truncated, or has lost its first records, makes the consumer's fetch fail.
        """
        is_next = all(one in self._watched and first >= self._position[one] for one, first in fetched.start.items())
        return is_next and not self._joined.recreated({partition.topic for partition in fetched.start})

    def _is_at_ends(self) -> bool:
        """Return whether a sleeping task has no offsets before it; looks after a second of quiet, then rarely.

        The consumer does not report offsets without a record, such as those of a transaction's end.
        """
        if self._clock.monotonic() < self._look_at:
            return True
        self._look_at = self._clock.monotonic() + self._settings.flush_interval
        ends = self._joined.ends(self._watched)
        self._metrics.ends_seen(ends)
        return all(self._position[partition] == end for partition, end in ends.items())

    def _idle(self) -> None:
        if self._clock.monotonic() - self._busy_at > _AWAKE_SECONDS:
            self._sleep()
        else:
            self._await_change(_ASK_SECONDS)

    def _moved_past(self, batch: MicroBatch) -> bool:
        """Advance the position after a put; return whether the batch read after this one may follow."""
        self._outages = 0
        self._position.update({one: end for one, end in batch.end.items() if one in self._position})
        self._rewound.difference_update(batch.end)
        self._moved()
        self._on_topics(batch.topics)
        self._commit_when_due()
        return not self._stream_is_outdated()

    def _put(self, batch: MicroBatch, stream: SinkStream | None, asked: float) -> bool:
        """Put a batch until the task accepts it; return ``False`` when it has to be read again later.

        Args:
            batch: the next one.
            stream: counts the records that are read; ``None`` for fetched ones.
            asked: seconds that the brokers took to tell the ends of the partitions.
        """
        self._batch, before = batch, None if stream is None else stream.counted
        plans = self._planner.plans(batch)
        attempt = PutAttempt(self._sink, plans, self._errors)
        try:
            while True:
                began = self._clock.monotonic()
                try:
                    attempt.run()
                    break
                except RetriableError as error:
                    log.error("WorkerSinkTask{id=%s} RetriableException from SinkTask:", self.id, exc_info=error)
                    self._metrics.errors.retried()
                    if not self._waited(batch, self._context.take_timeout(_DEFAULT_RETRY_MS)):
                        return False
        except RetryGivenUpError:
            return False
        except OffsetOutOfRangeError:
            self._displaced = True
            return False
        except BatchUnavailableError as error:
            self._read_again_later(str(error))
            return False
        except BatchTooLargeError as error:
            self._read_less(error)
            return False
        finally:
            self._batch = None  # else the batch stays in memory
        took = self._clock.monotonic() - began
        if stream is not None and before is not None:
            counted = stream.counted.since(before)
            self._batch_size.grow(counted)
        else:
            counted = Measured(0, len(batch.fetched or ()))
        read = counted.records
        self._note_moved(batch, counted)
        self._metrics.put_ended(took * 1000, batch.size, read, attempt.plans.arrived)
        seconds = {"latestOffset": asked, "addBatch": took, "triggerExecution": asked + took}
        milliseconds = {phase: round(one * 1000) for phase, one in seconds.items()}
        offsets = {str(partition): offset for partition, offset in (self._position | batch.end).items()}
        self.progress.batch_done(read, milliseconds, offsets)
        return True

    def _note_moved(self, batch: MicroBatch, counted: Measured) -> None:
        """Note a batch for the rate limit; Spark may have read it several times, for a plugin that runs jobs."""
        if batch.fetched is not None:
            self._limiter.moved_table(batch.fetched)
        elif not counted.records:  # the task has run no plan
            self._limiter.moved(batch.size, 0)
        else:
            records = min(batch.size, counted.records)
            self._limiter.moved(records, counted.bytes * records // counted.records)

    def _read_less(self, error: BatchTooLargeError) -> None:
        self._batch_size.shrink(error.read)
        log.info(
            "WorkerSinkTask{id=%s} %d records have %d bytes, reading again in batches of at most %d records",
            self.id,
            error.read.records,
            error.read.bytes,
            self._batch_size.records,
        )

    def _waited_for_retry(self, seconds: float) -> bool:
        """Wait before a plugin is called again for the batch that is put."""
        return self._batch is not None and self._waited(self._batch, seconds)

    def _waited(self, batch: MicroBatch, seconds: float) -> bool:
        """Wait as a live member of the group; return whether the batch still belongs to this task."""
        due = self._clock.monotonic() + seconds
        while self._still_reading(batch):
            left = due - self._clock.monotonic()
            if left <= 0:
                return True
            self._await_change(min(left, _IDLE_SECONDS))
        return False

    def _still_reading(self, batch: MicroBatch) -> bool:
        self._joined.poll()
        self._commit_when_due()
        given_up = self.stopping or self.paused or self._context.rewound
        is_reading = self._stream is not None or bool(self._watched)
        return not given_up and is_reading and batch.end.keys() <= self._position.keys()

    # Commits

    def _commit_when_due(self) -> None:
        if self._commits.check_timeout():
            self._metrics.commit_ended(0, succeeded=False)
        if self._commits.due():
            self._look_ahead()
        if not self._commits.waiting and (self._context.take_commit_requested() or self._commits.due()):
            self._commit(wait=False)

    def _look_ahead(self) -> None:
        """Fetch the ends of partitions that no batch has reported since the last time."""
        if partitions := self._metrics.stale_ends(self._position):
            self._metrics.ends_seen(self._joined.ends(partitions))

    def _commit(self, *, wait: bool, closing: bool = False) -> None:
        if not self._all_reported():
            return
        offsets = self._of_topics_read(self._offsets_to_commit(closing=closing))
        commit = self._commits.started(offsets) if offsets else None
        if commit is None:
            if offsets:  # no offset has changed, which Java counts as a commit
                self._metrics.commit_ended(0, succeeded=True)
            return
        self._metrics.commit_began(commit.number)
        if wait:
            self._commit_now(commit)
        else:
            self._joined.commit(commit.offsets, lambda error: self._commit_ended(commit, error))

    def _all_reported(self) -> bool:
        """Wait until the reports of failed records are written, before their offsets are committed."""
        self._errant.settle(None)
        return self._reporter.flush(lambda: not self._abandoned.is_set())

    def _commit_ended(self, commit: Commit, error: Exception | None) -> None:
        seconds = self._commits.ended(commit, error)
        if seconds is None:
            self._metrics.commit_skipped()
            return
        self._metrics.commit_ended(seconds * 1000, succeeded=error is None)
        self._moved()

    def _commit_now(self, commit: Commit) -> None:
        try:
            self._joined.commit_now(commit.offsets)
        except KafkaException as error:
            self._commit_ended(commit, error)
        else:
            self._commit_ended(commit, None)

    def _offsets_to_commit(self, *, closing: bool) -> dict[TopicPartition, int]:
        """Return the offsets that the task allows to commit; after an error of the task, rewind to the last commit."""
        self._commits.postpone()
        if not self._position:
            return {}
        try:
            allowed = self._sink.pre_commit(self._taken_in())
        except Exception:
            self._metrics.commit_ended(0, succeeded=False)
            if closing:
                log.warning("WorkerSinkTask{id=%s} Offset commit failed during close", self.id, exc_info=True)
            else:
                log.exception(
                    "WorkerSinkTask{id=%s} Offset commit failed, rewinding to last committed offsets", self.id
                )
                self._context.rewound.update(self._commits.committed)
            return {}
        return {partition: offset for partition, offset in allowed.items() if self._allowed(partition, offset)}

    def _of_topics_read(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Leave out offsets of topics that were created again: the new ones have other records there."""
        recreated = self._joined.recreated({partition.topic for partition in self._position})
        self._displaced = self._displaced or bool(recreated)
        return {partition: offset for partition, offset in offsets.items() if partition.topic not in recreated}

    def _taken_in(self) -> dict[TopicPartition, int]:
        """Return the position, but no offset beyond one that the task has rewound to."""
        rewound = self._context.rewound
        return {partition: min(offset, rewound.get(partition, offset)) for partition, offset in self._position.items()}

    def _allowed(self, partition: TopicPartition, offset: int) -> bool:
        if partition in self._position and offset <= self._position[partition]:
            return True
        log.warning(
            "WorkerSinkTask{id=%s} Ignoring invalid task provided offset %s/%d -- not yet consumed or not assigned",
            self.id,
            partition,
            offset,
        )
        return False

    @property
    def _joined(self) -> Consumer:
        assert self._consumer is not None
        return self._consumer
