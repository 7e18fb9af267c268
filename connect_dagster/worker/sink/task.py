"""A sink task: membership in its group, the stream over its partitions, put, and the commit of offsets.

Java: ``WorkerSinkTask``. Everything of the plugin's task runs on the task's thread: Spark's callback hands a batch
over and waits. After a put the position moves; what was put up to there is what the next commit commits.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from confluent_kafka import KafkaException
from pyspark.sql import SparkSession

from connect_dagster.errors import RetriableError
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.connector import SinkTask
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.worker.errors.plan_guard import PlanGuard
from connect_dagster.worker.errors.reporting import ErrorReports
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.metrics.tasks import SinkTaskMetrics
from connect_dagster.worker.sink import batches as sink_batches
from connect_dagster.worker.sink.commits import Commit, Commits
from connect_dagster.worker.sink.consumer import GroupMember, Places, RebalanceListener
from connect_dagster.worker.sink.context import SinkContext
from connect_dagster.worker.sink.errant_record_reporter import ErrantRecords
from connect_dagster.worker.sink.pipeline import SinkPipeline
from connect_dagster.worker.sink.put import BatchUnavailableError, Handling, Putting
from connect_dagster.worker.sink.stream import OfferedBatch, SinkStream
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.spark import references as java_references
from connect_dagster.worker.spark.progress import Progress
from connect_dagster.worker.task import StatusListener, WorkerTask

log = logging.getLogger(__name__)

_IDLE_SECONDS = 0.1
_CHECK_SECONDS = 1.0
_DEFAULT_RETRY_MS = 1000
# A query asks the brokers for news a hundred times a second; a task that had none for so long sleeps instead.
_AWAKE_SECONDS = 10.0
_BROKERS_AWAY_SECONDS = 1.0


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
    consumer: Settings
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
        metrics: told what the task does.
        reports: told of records that fail.
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
        metrics: SinkTaskMetrics,
        reports: ErrorReports,
    ) -> None:
        super().__init__(id, task, spark, listener, target)
        self.progress = Progress(job_group=str(id))
        self._metrics = metrics
        self._sink = task
        self._config = config
        self._settings = settings
        retries = Retries(reports.policy, metrics.errors, self._waited_for_try)
        self._pipeline = replace(pipeline, guard=PlanGuard(retries))
        self._on_topics = on_topics
        self._reports = reports
        self._errant = ErrantRecords(spark, reports, _converters_of(pipeline))
        self._handling = Handling(reports, retries, self._errant)
        self._part: OfferedBatch | None = None
        self._abandoned = threading.Event()
        self._context = SinkContext(spark, errant_record_reporter=self._errant if reports.policy.reports else None)
        self._position: dict[TopicPartition, int] = {}
        self._member: GroupMember | None = None
        self._stream: SinkStream | None = None
        self._streamed: frozenset[TopicPartition] = frozenset()
        self._watched: frozenset[TopicPartition] = frozenset()
        self._busy_at = time.monotonic()
        self._checked = self._not_before = time.monotonic()
        self._commits = Commits(settings.flush_interval, settings.flush_timeout, str(id))
        task.context = self._context

    # Life cycle

    def _start_plugin(self) -> None:
        self._reports.open()
        listener = RebalanceListener(self._assigned, self._revoked, self._lost)
        settings = self._settings
        self._member = GroupMember(settings.consumer, settings.topics, settings.pattern, listener)
        self._sink.start(self._config)
        log.info("WorkerSinkTask{id=%s} Sink task finished initialization and start", self.id)

    def _execute(self) -> None:
        try:
            self._stream_on()
        except BaseException:  # what was put before the failure stays put
            try:
                self._leave()
            except Exception:
                log.exception("WorkerSinkTask{id=%s} Could not close partitions after a failure", self.id)
            raise
        self._leave()

    def _stream_on(self) -> None:
        while not self.stopping:
            woken = self._joined().poll(_IDLE_SECONDS if self._watched else 0)
            if self.paused:
                self._rest()
                continue
            self._report(State.RUNNING)
            if self._watched and (woken or self._wanted_anew()):
                self._wake()
            if not self._watched:
                self._steer()
                self._take_batch()
            self._commit_when_due()

    def _leave(self) -> None:
        self._stop_stream()
        self._give_up(list(self._position), commit=True, closing=True)

    def _finish(self) -> None:
        """Nothing is left to do: a sink gives up its partitions however it ends."""

    def _release(self) -> None:
        self._abandoned.set()
        self._reports.close()
        if self._member is None:
            return
        if threading.current_thread() is self._thread:
            self._member.close()
        else:
            self._abandon(self._member)

    def _abandon(self, member: GroupMember) -> None:
        """Called by another thread, while the task hangs in its own code: free what it holds."""
        member.abandon()
        self.spark.sparkContext.cancelJobGroup(str(self.id))
        stream = self._stream
        if stream is not None:
            stream.stop()

    def _rest(self) -> None:
        """Paused: the member stays in the group, nothing is read; offsets are committed once."""
        if self._reported is not State.PAUSED:
            self._wake()
            self._stop_stream()
            self._commit(wait=True)
            self._report(State.PAUSED)
        self._commit_when_due()
        self._await_change(_IDLE_SECONDS)

    # Rebalance: called by GroupMember.poll on the task's thread

    def _assigned(self, places: Places) -> None:
        self._stop_stream()
        self._wake()
        begin = self._joined().committed_or_reset(places)
        self._position.update(begin)
        self._commits.begin(begin)
        self._moved()
        self._context.assigned(frozenset(self._position))
        log.info("WorkerSinkTask{id=%s} Assigned %s", self.id, ", ".join(map(str, places)) or "no partitions")
        self._sink.open(places)

    def _revoked(self, places: Places) -> None:
        self._stop_stream()
        self._give_up(places, commit=True)

    def _lost(self, places: Places) -> None:
        self._stop_stream()
        self._give_up(places, commit=False)

    def _give_up(self, places: Places, *, commit: bool, closing: bool = False) -> None:
        places = [place for place in places if place in self._position]
        if not places:
            return
        self._wake()
        if commit:
            self._commit(wait=True, closing=closing)
        try:
            self._sink.close(places)
        finally:
            for place in places:
                self._position.pop(place, None)
            self._commits.forget(places)
            self._moved()
            self._context.assigned(frozenset(self._position))

    # The stream

    def _wanted(self) -> frozenset[TopicPartition]:
        return frozenset(self._position) - self._context.paused

    def _wanted_anew(self) -> bool:
        """Whether the task asked for something else than what is read, or watched, now."""
        return bool(self._context.rewound) or self._wanted() != (self._watched or self._streamed)

    def _steer(self) -> None:
        """Have the stream read what the task wants now: rewound offsets, no paused partitions."""
        if self._wanted_anew():
            self._stop_stream()
        rewound = self._context.take_rewound()
        self._position.update({place: offset for place, offset in rewound.items() if place in self._position})
        wanted = self._wanted()
        if self._stream is None and wanted and time.monotonic() >= self._not_before:
            self._start_stream(wanted)
        self._check_stream()

    def _start_stream(self, wanted: frozenset[TopicPartition]) -> None:
        settings = self._settings
        options = sink_batches.source_options(
            settings.consumer, settings.max_poll_records, headers=self._pipeline.reads_headers
        )
        start = {place: self._position[place] for place in wanted}
        self._stream = SinkStream(self.spark, str(self.id), options, start)
        self._streamed = wanted
        self._busy_at = time.monotonic()

    def _stop_stream(self) -> None:
        stream, self._stream, self._streamed = self._stream, None, frozenset()
        if stream is not None:
            self._take_progress(stream.await_report())
            self._metrics.batches_counted(0)
            stream.stop()

    def _sleep(self) -> None:
        """Stop the query until the consumer is told of a record."""
        watched = self._streamed
        if self._joined().watch({place: self._position[place] for place in watched}):
            self._stop_stream()
            self._watched = watched
        self._busy_at = time.monotonic()

    def _wake(self) -> None:
        watched, self._watched = self._watched & self._position.keys(), frozenset()
        if watched:
            self._joined().unwatch(watched)
        self._busy_at = time.monotonic()

    def _check_stream(self) -> None:
        now = time.monotonic()
        if self._stream is None or now - self._checked < _CHECK_SECONDS:
            return
        self._checked = now
        self._take_progress(self._stream.report())
        failure = self._stream.failure()
        if failure is not None and not failure.passing:
            raise RuntimeError(failure.text)
        if failure is not None:
            self._read_again_later(failure.text)

    def _read_again_later(self, why: str) -> None:
        log.warning("WorkerSinkTask{id=%s} Lost the brokers, reading again from the last position: %s", self.id, why)
        self._stop_stream()
        self._not_before = time.monotonic() + _BROKERS_AWAY_SECONDS

    def _take_progress(self, report: Mapping[str, Any] | None) -> None:
        if report is not None:
            offsets = {str(place): offset for place, offset in self._position.items()}
            self.progress.batch_done(report["numInputRows"], dict(report["durationMs"]), offsets)
            self._metrics.batches_counted(report["numInputRows"])
            self._metrics.ends_seen(sink_batches.latest_offsets(report))

    def _moved(self) -> None:
        self._metrics.moved_to(self._position, self._commits.committed)

    # Batches

    def _take_batch(self) -> None:
        stream = self._stream
        batch = stream.next(_IDLE_SECONDS) if stream is not None else None
        if stream is None or batch is None:
            self._idle()
            return
        self._take_progress(stream.report())
        if all(map(self._delivered, sink_batches.parts(batch, self._settings.max_poll_records))):
            stream.done()
        else:
            self._stop_stream()
        batch = None  # else it would not be let go
        java_references.let_go()
        self._busy_at = time.monotonic()

    def _idle(self) -> None:
        if self._stream is None:
            self._await_change(_IDLE_SECONDS)
        elif time.monotonic() - self._busy_at > _AWAKE_SECONDS and self._stream.waits_for_news():
            self._sleep()

    def _delivered(self, part: OfferedBatch) -> bool:
        """Put a part until the task takes it; answers whether what was read after it may follow."""
        if not self._put(part):
            return False
        self._position.update({place: end for place, end in part.end.items() if place in self._position})
        self._moved()
        self._on_topics(part.topics)
        self._commit_when_due()
        return not self._wanted_anew()

    def _put(self, part: OfferedBatch) -> bool:
        """Put a part as often as the task wants it; answers ``False`` when it has to be read again some time."""
        self._part = part
        try:
            return self._put_until_taken(Putting(self.spark, self._sink, self._pipeline, self._handling, part))
        finally:
            self._part = None  # else it would not be let go

    def _put_until_taken(self, putting: Putting) -> bool:
        part = putting.batch
        while True:
            began = time.monotonic()
            try:
                putting.put()
            except RetryGivenUpError:
                return False
            except RetriableError as error:
                log.error("WorkerSinkTask{id=%s} RetriableException from SinkTask:", self.id, exc_info=error)
                self._metrics.errors.retried()
                if not self._waited(part, self._context.take_timeout(_DEFAULT_RETRY_MS)):
                    return False
            except BatchUnavailableError as error:
                self._read_again_later(str(error))
                return False
            else:
                took = (time.monotonic() - began) * 1000
                self._metrics.put_ended(took, sink_batches.size(part), putting.arrived)
                return True

    def _waited_for_try(self, seconds: float) -> bool:
        """Wait before a plugin is asked again for the batch that is put."""
        return self._part is not None and self._waited(self._part, seconds)

    def _waited(self, part: OfferedBatch, seconds: float) -> bool:
        """Wait, in the group all the while; answers whether the batch is still ours."""
        due = time.monotonic() + seconds
        while self._still_reading(part):
            rest = due - time.monotonic()
            if rest <= 0:
                return True
            self._await_change(min(rest, _IDLE_SECONDS))
        return False

    def _still_reading(self, part: OfferedBatch) -> bool:
        self._joined().poll()
        self._commit_when_due()
        given_up = self.stopping or self.paused or self._context.rewound
        return not given_up and self._stream is not None and part.end.keys() <= self._position.keys()

    # Commits

    def _commit_when_due(self) -> None:
        if self._commits.check_timeout():
            self._metrics.commit_ended(0, succeeded=False)
        if self._commits.due():
            self._look_ahead()
        if not self._commits.waiting and (self._context.take_commit_requested() or self._commits.due()):
            self._commit(wait=False)

    def _look_ahead(self) -> None:
        """Learn where those partitions end of which no batch has told since the last time."""
        if places := self._metrics.stale_ends(self._position):
            self._metrics.ends_seen(self._joined().ends(places))

    def _commit(self, *, wait: bool, closing: bool = False) -> None:
        if not self._all_reported():
            return
        offsets = self._offsets_to_commit(closing=closing)
        commit = self._commits.started(offsets) if offsets else None
        if commit is None:
            if offsets:  # nothing is news, which Java counts as a commit all the same
                self._metrics.commit_ended(0, succeeded=True)
            return
        self._metrics.commit_began(commit.number)
        if wait:
            self._commit_now(commit)
        else:
            self._joined().commit(commit.offsets, lambda error: self._commit_ended(commit, error))

    def _all_reported(self) -> bool:
        """Wait for the reports of failed records, which come before the commit of their offsets."""
        self._errant.settle(None)
        return self._reports.written(lambda: not self._abandoned.is_set())

    def _commit_ended(self, commit: Commit, error: Exception | None) -> None:
        seconds = self._commits.ended(commit, error)
        if seconds is None:
            self._metrics.commit_skipped()
            return
        self._metrics.commit_ended(seconds * 1000, succeeded=error is None)
        self._moved()

    def _commit_now(self, commit: Commit) -> None:
        try:
            self._joined().commit_now(commit.offsets)
        except KafkaException as error:
            self._commit_ended(commit, error)
        else:
            self._commit_ended(commit, None)

    def _offsets_to_commit(self, *, closing: bool) -> dict[TopicPartition, int]:
        """What the task allows to be committed; after an error of the task the stream goes back to the last commit."""
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
        return {place: offset for place, offset in allowed.items() if self._allowed(place, offset)}

    def _taken_in(self) -> dict[TopicPartition, int]:
        """The position, or where the task has asked to go back to, which nobody may commit beyond."""
        rewound = self._context.rewound
        return {place: min(offset, rewound.get(place, offset)) for place, offset in self._position.items()}

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


def _converters_of(pipeline: SinkPipeline) -> SourcePipeline:
    """The converters in the other direction."""
    assert pipeline.header_converter is not None
    return SourcePipeline((), pipeline.key_converter, pipeline.value_converter, pipeline.header_converter)
