"""A sink task: membership in its group, the stream over its partitions, put, and the commit of offsets.

Java: ``WorkerSinkTask``. Everything of the plugin's task runs on the task's thread: Spark's callback hands a batch
over and waits. After a put the position moves; what was put up to there is what the next commit commits.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.errors import RetriableError
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker import clients, sink_batches
from connect_dagster.worker.commits import Commits
from connect_dagster.worker.progress import Progress
from connect_dagster.worker.sink_member import GroupMember, Places, RebalanceListener
from connect_dagster.worker.sink_pipeline import (
    OTHER_SCHEMA,
    UNREADABLE,
    SinkPipeline,
    ToleranceExceededError,
)
from connect_dagster.worker.sink_stream import OfferedBatch, SinkStream
from connect_dagster.worker.states import State, TargetState, TaskId
from connect_dagster.worker.task import StatusListener, WorkerTask

log = logging.getLogger(__name__)

_IDLE_SECONDS = 0.1
_CHECK_SECONDS = 1.0
_DEFAULT_RETRY_MS = 1000
# A query asks the brokers for news a hundred times a second; a task that had none for so long sleeps instead.
_AWAKE_SECONDS = 10.0
# What the query's Kafka client says while the brokers are away: the stream starts again where it was.
_PASSING = re.compile(
    r"TimeoutException|DisconnectException|NetworkException|RetriableException|CoordinatorNotAvailable"
    r"|NotLeaderOrFollower|LeaderNotAvailable|UnknownTopicOrPartition|Failed to get offset|Cannot fetch record"
)


@dataclass(slots=True)
class SinkContext:
    """What a sink task may ask of its worker (see ``SinkTaskContext``); carried out after the call it is made in."""

    spark: SparkSession
    assignment: frozenset[TopicPartition] = frozenset()
    paused: set[TopicPartition] = field(default_factory=set)
    rewound: dict[TopicPartition, int] = field(default_factory=dict)
    timeout_ms: int | None = None
    commit_requested: bool = False

    def offset(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Rewind before the next ``put``."""
        self.rewound.update(offsets)

    def timeout(self, milliseconds: int) -> None:
        """Time to wait before the batch comes again after a RetriableError."""
        self.timeout_ms = milliseconds

    def pause(self, *partitions: TopicPartition) -> None:
        """Have no records of these partitions."""
        self.paused.update(partitions)

    def resume(self, *partitions: TopicPartition) -> None:
        """Have records of these partitions again."""
        self.paused.difference_update(partitions)

    def request_commit(self) -> None:
        """Have offsets committed after this ``put``."""
        self.commit_requested = True


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """What a sink task reads, and how often it commits.

    Attributes:
        topics: topic names; empty when there is a pattern.
        pattern: of ``topics.regex``.
        consumer: consumer settings in Java's names.
        max_poll_records: most records of one put; ``None`` for what the engine finds best.
        flush_interval: seconds between commits (``offset.flush.interval.ms``).
        flush_timeout: seconds a commit may take (``offset.flush.timeout.ms``).
    """

    topics: Sequence[str]
    pattern: re.Pattern[str] | None
    consumer: clients.Settings
    max_poll_records: int | None
    flush_interval: float
    flush_timeout: float


class WorkerSinkTask(WorkerTask):
    """One sink task with its group member and its stream.

    Args:
        config: the task's configuration.
        settings: what to read, and how often to commit.
        pipeline: the converters.
        on_topics: told the topics of each batch.
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
        settings: SinkSettings,
        pipeline: SinkPipeline,
        on_topics: Callable[[set[str]], None],
    ) -> None:
        super().__init__(id, task, spark, listener, target)
        self.progress = Progress(job_group=str(id))
        self._sink = task
        self._config = config
        self._settings = settings
        self._pipeline = pipeline
        self._on_topics = on_topics
        self._context = SinkContext(spark)
        self._position: dict[TopicPartition, int] = {}
        self._member: GroupMember | None = None
        self._stream: SinkStream | None = None
        self._streamed: frozenset[TopicPartition] = frozenset()
        self._watched: frozenset[TopicPartition] = frozenset()
        self._busy_at = time.monotonic()
        self._checked = 0.0
        self._commits = Commits(settings.flush_interval, settings.flush_timeout, str(id))
        task.context = self._context

    # Life cycle

    def _start_plugin(self) -> None:
        listener = RebalanceListener(self._assigned, self._revoked, self._lost)
        settings = self._settings
        self._member = GroupMember(settings.consumer, settings.topics, settings.pattern, listener)
        self._sink.start(self._config)
        log.info("WorkerSinkTask{id=%s} Sink task finished initialization and start", self.id)

    def _execute(self) -> None:
        try:
            self._stream_on()
        finally:  # also after a failure: what was put before it stays put
            self._stop_stream()
            self._give_up(list(self._position), commit=True)

    def _stream_on(self) -> None:
        while not self.stopping:
            woken = self._joined().poll(_IDLE_SECONDS if self._watched else 0)
            if self.paused:
                self._rest()
                continue
            self._report(State.RUNNING)
            if self._watched and (woken or self._context.rewound):
                self._wake()
            if not self._watched:
                self._steer()
                self._take_batch()
            self._commit_when_due()

    def _finish(self) -> None:
        """Nothing is left to do: a sink gives up its partitions however it ends."""

    def _release(self) -> None:
        member, self._member = self._member, None
        if member is not None:
            member.close()

    def _rest(self) -> None:
        """Paused: the member stays in the group, nothing is read; offsets are committed once."""
        if self._reported is not State.PAUSED:
            self._wake()
            self._stop_stream()
            self._commit(wait=True)
            self._report(State.PAUSED)
        self._await_change(_IDLE_SECONDS)

    # Rebalance: called by GroupMember.poll on the task's thread

    def _assigned(self, places: Places) -> None:
        self._stop_stream()
        self._watched = frozenset()
        self._position.update(self._joined().committed_or_reset(places))
        self._context.assignment = frozenset(self._position)
        self._commits.begin(self._position)
        self._sink.open(places)
        log.info("WorkerSinkTask{id=%s} Assigned %s", self.id, ", ".join(map(str, places)) or "no partitions")

    def _revoked(self, places: Places) -> None:
        self._stop_stream()
        self._give_up(places, commit=True)

    def _lost(self, places: Places) -> None:
        self._stop_stream()
        self._give_up(places, commit=False)

    def _give_up(self, places: Places, *, commit: bool) -> None:
        places = [place for place in places if place in self._position]
        if not places:
            return
        if commit:
            self._commit(wait=True)
        self._sink.close(places)
        for place in places:
            self._position.pop(place, None)
        self._context.assignment = frozenset(self._position)
        self._context.paused.intersection_update(self._position)
        self._watched = frozenset()

    # The stream

    def _steer(self) -> None:
        """Have the stream read what the task wants now: rewound offsets, no paused partitions."""
        if self._context.rewound:
            rewound, self._context.rewound = self._context.rewound, {}
            self._position.update({place: offset for place, offset in rewound.items() if place in self._position})
            self._stop_stream()
        wanted = frozenset(self._position) - self._context.paused
        if wanted != self._streamed:
            self._stop_stream()
        if self._stream is None and wanted:
            self._start_stream(wanted)
        self._check_stream()

    def _start_stream(self, wanted: frozenset[TopicPartition]) -> None:
        options = sink_batches.source_options(self._settings.consumer, self._settings.max_poll_records, self._sink)
        start = {place: self._position[place] for place in wanted}
        self._stream = SinkStream(self.spark, str(self.id), options, start)
        self._streamed = wanted
        self._busy_at = time.monotonic()

    def _stop_stream(self) -> None:
        stream, self._stream, self._streamed = self._stream, None, frozenset()
        if stream is not None:
            self._take_progress(stream)
            stream.stop()

    def _sleep(self) -> None:
        """Stop the query until the consumer is told of a record."""
        watched = self._streamed
        self._stop_stream()
        self._watched = watched
        self._joined().watch({place: self._position[place] for place in watched})

    def _wake(self) -> None:
        watched, self._watched = self._watched & self._position.keys(), frozenset()
        self._joined().unwatch(watched)
        self._busy_at = time.monotonic()

    def _check_stream(self) -> None:
        now = time.monotonic()
        if self._stream is None or now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        self._take_progress(self._stream)
        failure = self._stream.failure()
        if failure is not None:
            self._restart_or_raise(failure)

    def _restart_or_raise(self, failure: str) -> None:
        if not _PASSING.search(failure):
            raise RuntimeError(failure)
        log.warning(
            "WorkerSinkTask{id=%s} Lost the brokers, reading again from the last position: %s",
            self.id,
            failure,
        )
        self._stop_stream()

    def _take_progress(self, stream: SinkStream) -> None:
        for report in stream.progress():
            offsets = {str(place): offset for place, offset in self._position.items()}
            self.progress.batch_done(report["numInputRows"], dict(report["durationMs"]), offsets)

    # Batches

    def _take_batch(self) -> None:
        batch = self._stream.next(_IDLE_SECONDS) if self._stream is not None else None
        if batch is None:
            self._idle()
            return
        try:
            goes_on = all(map(self._delivered, sink_batches.parts(batch, self._settings.max_poll_records)))
        finally:
            batch.release()
            self._busy_at = time.monotonic()
        if not goes_on:
            self._stop_stream()

    def _idle(self) -> None:
        if self._stream is None:
            self._await_change(_IDLE_SECONDS)
        elif time.monotonic() - self._busy_at > _AWAKE_SECONDS:
            self._sleep()

    def _delivered(self, part: OfferedBatch) -> bool:
        """Put a part until the task takes it; answers whether the stream may go on from there."""
        while True:
            try:
                self._put(part)
            except RetriableError as error:
                log.error("WorkerSinkTask{id=%s} RetriableException from SinkTask:", self.id, exc_info=error)
                if not self._waited_for_retry(part):
                    return False
                continue
            self._position.update({place: end for place, end in part.end.items() if place in self._position})
            self._on_topics(part.topics)
            self._commit_when_due()
            return not self._context.rewound and not self._context.paused & self._streamed

    def _put(self, part: OfferedBatch) -> None:
        try:
            self._put_likely_or_searched(part)
        except Exception as error:
            if UNREADABLE in str(error):
                raise ToleranceExceededError("Tolerance exceeded in error handler") from error
            raise

    def _put_likely_or_searched(self, part: OfferedBatch) -> None:
        likely = self._pipeline.likely(part.df)
        if likely is not None and self._put_checked(likely):
            return
        with self._pipeline.searched(part.df) as batch:
            self._sink.put(batch)

    def _put_checked(self, likely: SinkBatch) -> bool:
        """Put a batch planned for the schemas of the one before; answers whether it had them."""
        try:
            self._sink.put(likely)
        except Exception as error:
            if OTHER_SCHEMA in str(error):
                return False
            raise
        return True

    def _waited_for_retry(self, part: OfferedBatch) -> bool:
        """Wait as long as the task asked, in the group all the while; answers whether the batch is still ours."""
        milliseconds, self._context.timeout_ms = self._context.timeout_ms, None
        due = time.monotonic() + (_DEFAULT_RETRY_MS if milliseconds is None else milliseconds) / 1000
        while (rest := due - time.monotonic()) > 0:
            if self.stopping or self.paused or not self._still_reading(part):
                return False
            self._await_change(min(rest, _IDLE_SECONDS))
        return not self.stopping and self._still_reading(part)

    def _still_reading(self, part: OfferedBatch) -> bool:
        self._joined().poll()
        return self._stream is not None and part.end.keys() <= self._position.keys()

    # Commits

    def _commit_when_due(self) -> None:
        self._commits.check_timeout()
        if self._context.commit_requested or self._commits.due():
            self._context.commit_requested = False
            self._commit(wait=False)

    def _commit(self, *, wait: bool) -> None:
        offsets = self._offsets_to_commit()
        if offsets is None:
            return None
        changed = self._commits.started(offsets)
        if not changed:
            return None
        if not wait:
            return self._joined().commit(changed, lambda error: self._commits.ended(changed, error))
        try:
            self._joined().commit_now(changed)
            self._commits.ended(changed, None)
        except KafkaException as error:
            self._commits.ended(changed, error)

    def _offsets_to_commit(self) -> dict[TopicPartition, int] | None:
        """What the task allows to be committed; after an error of the task the stream goes back to the last commit."""
        try:
            allowed = self._sink.pre_commit(dict(self._position))
        except Exception:
            log.exception("WorkerSinkTask{id=%s} Offset commit failed, rewinding to last committed offsets", self.id)
            self._context.rewound.update(self._commits.committed)
            return None
        return {place: offset for place, offset in allowed.items() if self._allowed(place, offset)}

    def _allowed(self, place: TopicPartition, offset: int) -> bool:
        if place in self._position and offset <= self._position[place]:
            return True
        log.warning(
            "WorkerSinkTask{id=%s} Ignoring invalid task provided offset %s/%d -- not yet consumed or not assigned",
            self.id,
            place,
            offset,
        )
        return False

    def _joined(self) -> GroupMember:
        assert self._member is not None
        return self._member
