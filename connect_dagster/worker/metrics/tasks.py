"""Metrics of tasks (Java: ``TaskMetricsGroup``, ``SourceTaskMetricsGroup``, ``SinkTaskMetricsGroup``).

Tasks record from their threads, once a batch or more rarely; requests read from others.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.plugin.metrics import MetricReading, Read, Value
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.samples import Samples, Windows
from connect_dagster.protocol.states import State, TaskId
from connect_dagster.worker.metrics.errors import ErrorMetrics
from connect_dagster.worker.metrics.groups import PREDICATE, SINK_TASK, SOURCE_TASK, TASK, TRANSFORM

log = logging.getLogger(__name__)

Offsets = Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class AliasedPlugin:
    """One transform of a chain, or a predicate: its alias, class and version (Java: ``AliasedPluginInfo``)."""

    alias: str
    class_name: str
    version: str


@dataclass(frozen=True, slots=True)
class TaskPlugins:
    """The plugins of a task.

    Attributes:
        texts: classes and versions by Kafka's names (``key-converter-class``).
        transforms: the chain.
        predicates: of the chain, each once.
    """

    texts: Mapping[str, str]
    transforms: tuple[AliasedPlugin, ...] = ()
    predicates: tuple[AliasedPlugin, ...] = ()


class PluginMetrics:
    """The readings that a plugin adds to those of its connector or task (Java: ``PluginMetricsImpl``, KIP-877).

    Args:
        owner: names it in the log.
        windows: how much of the past counts.
        tags: put before those of groups that have the tags of the worker.

    Attributes:
        windows: how much of the past counts.
    """

    def __init__(self, owner: str, windows: Windows, tags: Mapping[str, str]) -> None:
        self.windows = windows
        self._owner = owner
        self._tags = tags
        self._added: list[Read] = []

    def add(self, read: Read) -> None:
        """Show further readings."""
        self._added.append(read)

    def read(self, now: float) -> Iterator[MetricReading]:
        """Yield the readings; log those that cannot be read."""
        for read in self._added:
            try:
                yield from [self._tagged(reading) for reading in read(now)]
            except Exception:
                log.warning("Metrics that the plugin of %s has added cannot be read", self._owner, exc_info=True)

    def _tagged(self, reading: MetricReading) -> MetricReading:
        group = reading.group
        if not group.has_worker_tags:
            return reading
        if taken := self._tags.keys() & set(group.tags):
            raise ConnectError(f"Cannot use {min(taken)} as a tag name of {group.type}: the worker sets it")
        whole = replace(group, tags=(*self._tags, *group.tags))
        return replace(reading, group=whole, tags=(*self._tags.values(), *reading.tags))


class TaskMetrics:
    """Metrics of tasks of both directions.

    Args:
        id: the task.
        windows: how much of the past counts.
        plugins: the task's plugins.
        clock: seconds of a clock that never goes back.

    Attributes:
        id: the task.
        windows: how much of the past counts.
        errors: of records.
        clients: the statistics of the task's Kafka clients.
    """

    def __init__(
        self, id: TaskId, windows: Windows, plugins: TaskPlugins, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.id = id
        self.windows = windows
        self.errors = ErrorMetrics(id)
        self.clients = StatisticsCollector.of_windows(windows)
        self._plugins = plugins
        self._place = (id.connector, str(id.task))
        self._tags = dict(zip(TASK.tags, self._place, strict=True))
        self._added = [PluginMetrics(f"task {id}", windows, self._tags)]
        self._clock = clock
        self._lock = threading.Lock()
        self._moved = clock()
        self._states = StateTimes(State.UNASSIGNED, self._moved)
        self._batch_sizes = Samples(windows)
        self._commit_times = Samples(windows)
        self._commits = Samples(windows)
        self._throttled = 0.0

    @property
    def state(self) -> State:
        """Return the state that was reported last."""
        return self._states.state

    def add(self, read: Read) -> None:
        """Show further readings with those of the task."""
        self._added[0].add(read)

    def of_plugin(self, tag: str, value: str) -> PluginMetrics:
        """Return the metrics of a plugin of the task, which have a tag for it after those of the task."""
        tags = {**self._tags, tag: value}
        self._added.append(PluginMetrics(f"task {self.id}, {tag} {value},", self.windows, tags))
        return self._added[-1]

    def changed(self, state: State) -> None:
        """Record a state of the task."""
        with self._lock:
            self._states.change(state, self._clock())

    def throttled(self, milliseconds: float) -> None:
        """Record a wait for the rate limit."""
        with self._lock:
            self._throttled += milliseconds

    def commit_ended(self, milliseconds: float, *, succeeded: bool) -> None:
        """Record the end of a commit of offsets."""
        with self._lock:
            self._commit_ended(milliseconds, self._clock(), succeeded)

    def read(self, now: float) -> list[MetricReading]:
        """Return all groups of the task."""
        with self._lock:
            own = {**self._plugins.texts, **self._common(now)}
            special = self._special(now)
        chain = [
            MetricReading(
                group, (*self._place, one.alias), {f"{kind}-class": one.class_name, f"{kind}-version": one.version}
            )
            for group, kind, plugins in (
                (TRANSFORM, "transform", self._plugins.transforms),
                (PREDICATE, "predicate", self._plugins.predicates),
            )
            for one in plugins
        ]
        added = [reading for one in self._added for reading in one.read(now)]
        return [MetricReading(TASK, self._place, own), *special, self.errors.read(), *chain, *added]

    def _common(self, now: float) -> dict[str, Value]:
        return {
            "status": self._states.state.value.lower(),
            "running-ratio": self._states.ratio(State.RUNNING, now),
            "pause-ratio": self._states.ratio(State.PAUSED, now),
            "offset-commit-max-time-ms": self._commit_times.maximum(now),
            "offset-commit-avg-time-ms": self._commit_times.average(now),
            "batch-size-max": self._batch_sizes.maximum(now),
            "batch-size-avg": self._batch_sizes.average(now),
            "offset-commit-failure-percentage": self._commits.share(False, now),
            "offset-commit-success-percentage": self._commits.share(True, now),
            "last-record-seconds-ago": now - self._moved,
            "throttle-time-ms-total": self._throttled,
        }

    def _special(self, now: float) -> list[MetricReading]:
        """Return the metrics of this direction; called with the lock held."""
        return []

    def _commit_ended(self, milliseconds: float, now: float, succeeded: bool) -> None:
        self._commits.record(float(succeeded), now)
        if succeeded:
            self._commit_times.record(milliseconds, now)


class SourceTaskMetrics(TaskMetrics):
    """Metrics of a source task. Arguments as of :class:`TaskMetrics`."""

    def __init__(
        self, id: TaskId, windows: Windows, plugins: TaskPlugins, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(id, windows, plugins, clock)
        self._poll_times = Samples(windows)
        self._polls = Samples(windows)
        self._writes = Samples(windows)
        self._active_counts = Samples(windows)
        self._turn_waits = Samples(windows)
        self._transaction_sizes = Samples(windows)
        self._polled = self._written = self._active = self._refused = 0
        self._turn_waited = 0.0

    def poll_ended(self, milliseconds: float) -> None:
        """Record a poll that returned records."""
        with self._lock:
            self._poll_times.record(milliseconds, self._clock())

    def turn_waited(self, milliseconds: float) -> None:
        """Record the wait of a batch for its turn; 0 for one that had none to wait for."""
        with self._lock:
            self._turn_waits.record(milliseconds, self._clock())
            self._turn_waited += milliseconds

    def batch_polled(self, records: int) -> None:
        """So many records of a poll have been read."""
        with self._lock:
            now = self._clock()
            self._polled += records
            self._polls.record(records, now)
            self._batch_sizes.record(records, now)
            self._now_active(self._active + records, now)

    def transaction_committed(self, records: int, milliseconds: float) -> None:
        """Record a transaction with the offsets in it (Java: ``ExactlyOnceWorkerSourceTask.commitTransaction``).

        Args:
            records: number of its records, without those of offsets.
            milliseconds: of its commit.
        """
        with self._lock:
            now = self._clock()
            self._transaction_sizes.record(records, now)
            self._commit_ended(milliseconds, now, succeeded=True)

    def record_refused(self) -> None:
        """Count a record that Kafka refused; the task continues without it."""
        with self._lock:
            self._refused += 1

    def batch_written(self, polled: int, sent: int) -> None:
        """Kafka has acknowledged a batch.

        Args:
            polled: records of the batch before transforms.
            sent: records of it after them, refused ones included.
        """
        with self._lock:
            now = self._clock()
            written, self._refused = sent - self._refused, 0
            self._written += written
            self._writes.record(written, now)
            self._moved = now
            self._now_active(max(0, self._active - polled), now)

    def _now_active(self, count: int, now: float) -> None:
        self._active = count
        self._active_counts.record(count, now)

    def _special(self, now: float) -> list[MetricReading]:
        values: dict[str, Value] = {
            "source-record-poll-rate": self._polls.rate(now),
            "source-record-poll-total": self._polled,
            "source-record-write-rate": self._writes.rate(now),
            "source-record-write-total": self._written,
            "poll-batch-max-time-ms": self._poll_times.maximum(now),
            "poll-batch-avg-time-ms": self._poll_times.average(now),
            "source-record-active-count": self._active,
            "source-record-active-count-max": self._active_counts.maximum(now),
            "source-record-active-count-avg": self._active_counts.average(now),
            "transaction-size-min": self._transaction_sizes.minimum(now),
            "transaction-size-max": self._transaction_sizes.maximum(now),
            "transaction-size-avg": self._transaction_sizes.average(now),
            "turn-wait-max-time-ms": self._turn_waits.maximum(now),
            "turn-wait-time-ms-total": self._turn_waited,
        }
        return [MetricReading(SOURCE_TASK, self._place, values)]


class SinkTaskMetrics(TaskMetrics):
    """Metrics of a sink task. Arguments as of :class:`TaskMetrics`.

    A put has as many records as Spark has counted: offsets left out by compaction and transactions do not count.
    """

    def __init__(
        self, id: TaskId, windows: Windows, plugins: TaskPlugins, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(id, windows, plugins, clock)
        self._put_times = Samples(windows)
        self._reads = Samples(windows)
        self._sends = Samples(windows)
        self._completions = Samples(windows)
        self._skips = Samples(windows)
        self._active_counts = Samples(windows)
        self._read = self._sent = self._completed = self._skipped = self._commit_number = self._active = 0
        self._position: dict[TopicPartition, int] = {}
        self._ends: dict[TopicPartition, int] = {}
        self._fresh_ends: set[TopicPartition] = set()

    def put_ended(self, milliseconds: float, offsets: int, read: int, arrived: int | None) -> None:
        """Record a batch that the task has put.

        Args:
            milliseconds: the time of the put.
            offsets: offsets of the batch.
            read: records that Spark read for it, or a multiple of them; 0 where the task has run no plan.
            arrived: records that came through converters and transforms, where that was counted.
        """
        read = min(offsets, read or offsets)
        sent = read if arrived is None else min(read, arrived)
        with self._lock:
            now = self._clock()
            self._put_times.record(milliseconds, now)
            self._batch_sizes.record(offsets, now)
            self._moved = now
            self._read += read
            self._reads.record(read, now)
            self._sent += sent
            self._sends.record(sent, now)

    def moved_to(self, position: Offsets, committed: Offsets) -> None:
        """Record new positions and committed offsets of the task."""
        active = sum(max(0, position[place] - offset) for place, offset in committed.items() if place in position)
        with self._lock:
            self._position = dict(position)
            self._ends = {place: end for place, end in self._ends.items() if place in position}
            self._active = active
            self._active_counts.record(active, self._clock())

    def ends_seen(self, ends: Offsets) -> None:
        """Record the ends of partitions."""
        with self._lock:
            self._ends.update(ends)
            self._fresh_ends.update(ends)

    def stale_ends(self, places: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Those partitions whose ends were not seen since the last call."""
        with self._lock:
            fresh, self._fresh_ends = self._fresh_ends, set()
        return [place for place in places if place not in fresh]

    def commit_began(self, number: int) -> None:
        """Record the start of a commit of offsets."""
        with self._lock:
            self._commit_number = number

    def commit_skipped(self) -> None:
        """Count a response to a commit that came too late."""
        with self._lock:
            self._skipped += 1
            self._skips.record(1, self._clock())

    def _commit_ended(self, milliseconds: float, now: float, succeeded: bool) -> None:
        super()._commit_ended(milliseconds, now, succeeded)
        if succeeded:
            self._completed += 1
            self._completions.record(1, now)

    def _lags(self) -> list[int]:
        return [max(0, end - self._position[place]) for place, end in self._ends.items() if place in self._position]

    def _special(self, now: float) -> list[MetricReading]:
        lags = self._lags()
        values: dict[str, Value] = {
            "sink-record-read-rate": self._reads.rate(now),
            "sink-record-read-total": self._read,
            "sink-record-send-rate": self._sends.rate(now),
            "sink-record-send-total": self._sent,
            "sink-record-lag-max": max(lags, default=math.nan),
            "sink-record-lag": sum(lags) if lags else math.nan,
            "partition-count": len(self._position),
            "offset-commit-seq-no": self._commit_number,
            "offset-commit-completion-rate": self._completions.rate(now),
            "offset-commit-completion-total": self._completed,
            "offset-commit-skip-rate": self._skips.rate(now),
            "offset-commit-skip-total": self._skipped,
            "put-batch-max-time-ms": self._put_times.maximum(now),
            "put-batch-avg-time-ms": self._put_times.average(now),
            "sink-record-active-count": self._active,
            "sink-record-active-count-max": self._active_counts.maximum(now),
            "sink-record-active-count-avg": self._active_counts.average(now),
        }
        return [MetricReading(SINK_TASK, self._place, values)]


class StateTimes:
    """The state now, and the time spent in those before it (Java: ``StateTracker``).

    Args:
        state: the state to begin with.
        now: seconds of a clock that never goes back.
    """

    __slots__ = ("_seconds", "_since", "state")

    def __init__(self, state: State, now: float) -> None:
        self.state = state
        self._since = now
        self._seconds: dict[State, float] = {}

    def change(self, state: State, now: float) -> None:
        """Come to another state."""
        self._seconds[self.state] = self._in(self.state, now)
        self.state, self._since = state, now

    def ratio(self, state: State, now: float) -> float:
        """Part of the time since the beginning that was spent in a state, from 0 to 1."""
        total = sum(self._in(one, now) for one in {*self._seconds, self.state})
        return self._in(state, now) / total if total > 0 else 0.0

    def _in(self, state: State, now: float) -> float:
        return self._seconds.get(state, 0.0) + (now - self._since if state is self.state else 0.0)
