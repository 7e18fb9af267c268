"""All that a worker measures: its starts, its connectors, its tasks, its group.

Java: ``WorkerMetricsGroup``, ``ConnectorStatusMetricsGroup``, ``ConnectorMetricsGroup``. A task that FAILED keeps its
metrics until it is restarted or deleted.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from connect_dagster.isolation.plugins import PluginDescription
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.plugin.metrics import MetricReading, Value
from connect_dagster.plugin.metrics import Metrics as AddedMetrics
from connect_dagster.plugin.samples import Samples, Windows
from connect_dagster.protocol.states import State, TaskId
from connect_dagster.worker.metrics.clients import client_readings
from connect_dagster.worker.metrics.families import Family, families
from connect_dagster.worker.metrics.groups import (
    APP_INFO,
    CONNECTOR,
    COORDINATOR,
    GROUP_CLIENT,
    REBALANCE,
    WORKER,
    WORKER_CONNECTOR,
)
from connect_dagster.worker.metrics.tasks import (
    PluginMetrics,
    SinkTaskMetrics,
    SourceTaskMetrics,
    TaskMetrics,
    TaskPlugins,
)

ConnectorListener = Callable[[str, State, str | None], None]
TaskListener = Callable[[TaskId, State, str | None], None]
Metrics = TypeVar("Metrics", bound=TaskMetrics)

_HOUR = 3600
_COUNTED_STATES = (
    State.RUNNING,
    State.PAUSED,
    State.FAILED,
    State.UNASSIGNED,
    State.DESTROYED,
    State.RESTARTING,
)


class WorkerMetrics:
    """The metrics of one worker.

    Args:
        worker_id: ``host:port``.
        windows: how much of the past counts.
        clock: seconds of a clock that never goes back.
        today: seconds since the epoch.

    Attributes:
        clients: the statistics of the Kafka clients that tasks share.
    """

    def __init__(
        self,
        worker_id: str,
        windows: Windows,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], float] = time.time,
    ) -> None:
        self._worker_id = worker_id
        self._windows = windows
        self.clients = StatisticsCollector.of_windows(windows)
        self._clock = clock
        self._started = today()
        self._lock = threading.Lock()
        self._connectors: dict[str, _ConnectorMetrics] = {}
        self._tasks: dict[TaskId, TaskMetrics] = {}
        self._connector_starts = _Starts(windows)
        self._task_starts = _Starts(windows)
        self._group: RebalanceMetrics | None = None

    # Connectors

    def connector(self, name: str, plugin: PluginDescription[Any], listener: ConnectorListener) -> ConnectorListener:
        """Measure a connector that is about to start.

        Args:
            name: the connector's name.
            plugin: what it is.
            listener: called with each state.

        Returns:
            A listener that measures and then calls that one.
        """
        measured = {
            "status": State.UNASSIGNED.value.lower(),
            "connector-class": plugin.class_name,
            "connector-type": plugin.kind.value,
            "connector-version": plugin.version,
        }
        with self._lock:
            added = PluginMetrics(f"connector {name}", self._windows, {"connector": name})
            self._connectors[name] = _ConnectorMetrics(measured, added)
        starting = _Starting(self._connector_starts, self._clock)

        def changed(name: str, state: State, trace: str | None) -> None:
            measured["status"] = state.value.lower()
            starting.changed(state)
            listener(name, state, trace)

        return changed

    def of_connector(self, name: str) -> AddedMetrics:
        """Return the metrics to which a connector that is measured may add some."""
        return self._connectors[name].added

    def connector_start_failed(self) -> None:
        """Count a connector that could not be made."""
        self._connector_starts.ended(False, self._clock())

    def remove_connectors(self, names: Iterable[str]) -> None:
        """Forget connectors that stop."""
        with self._lock:
            for name in names:
                self._connectors.pop(name, None)

    # Tasks

    def source_task(self, id: TaskId, plugins: TaskPlugins) -> SourceTaskMetrics:
        """Measure a source task that is about to start."""
        return self._task(SourceTaskMetrics(id, self._windows, plugins, self._clock))

    def sink_task(self, id: TaskId, plugins: TaskPlugins) -> SinkTaskMetrics:
        """Measure a sink task that is about to start."""
        return self._task(SinkTaskMetrics(id, self._windows, plugins, self._clock))

    def listening(self, measured: TaskMetrics, listener: TaskListener) -> TaskListener:
        """Return a listener that measures a task's states and then calls the given one."""
        starting = _Starting(self._task_starts, self._clock)

        def changed(id: TaskId, state: State, trace: str | None) -> None:
            measured.changed(state)
            starting.changed(state)
            listener(id, state, trace)

        return changed

    def task_start_failed(self, id: TaskId) -> None:
        """Count a task that could not be made: it is FAILED and has no other metrics."""
        self._task_starts.ended(False, self._clock())
        self._task(TaskMetrics(id, self._windows, TaskPlugins({}), self._clock)).changed(State.FAILED)

    def remove_tasks(self, ids: Iterable[TaskId]) -> None:
        """Forget tasks that stop."""
        with self._lock:
            for id in ids:
                self._tasks.pop(id, None)

    def _task(self, measured: Metrics) -> Metrics:
        with self._lock:
            self._tasks[measured.id] = measured
        return measured

    # The group

    def join_group(self, client_id: str, measured: Callable[[], Mapping[str, float]]) -> RebalanceMetrics:
        """Measure a distributed worker's membership, too.

        Args:
            client_id: of the group's member.
            measured: numbers of ``connect-coordinator-metrics`` and ``connect-metrics`` by Kafka's names
                (``assigned-tasks``); must not block.
        """
        self._group = RebalanceMetrics(self._windows, client_id, measured)
        return self._group

    # Reading

    def families(self, version: str, commit: str) -> tuple[Family, ...]:
        """Everything, by its name in Prometheus.

        Args:
            version: of Kafka Connect, for those who ask a worker what it is.
            commit: of it.
        """
        now = self._clock()
        with self._lock:
            connectors, tasks = dict(self._connectors), list(self._tasks.values())
        collectors = [self.clients, *(task.clients for task in tasks)]
        info: dict[str, Value] = {
            "version-info": version,
            "commit-id-info": commit,
            "start-time-seconds": self._started,
        }
        return families(
            [
                MetricReading(APP_INFO, (self._worker_id,), info),
                self._worker(len(connectors), len(tasks), now),
                *(self._group.read(now) if self._group is not None else ()),
                *_task_counts(tasks),
                *(MetricReading(CONNECTOR, (name,), dict(one.texts)) for name, one in connectors.items()),
                *(reading for task in tasks for reading in task.read(now)),
                *(reading for one in connectors.values() for reading in one.added.read(now)),
                *client_readings(one for clients in collectors for one in clients.read()),
            ]
        )

    def _worker(self, connectors: int, tasks: int, now: float) -> MetricReading:
        values: dict[str, Value] = {"connector-count": connectors, "task-count": tasks}
        for what, starts in (("connector", self._connector_starts), ("task", self._task_starts)):
            values |= {f"{what}-startup-{name}": value for name, value in starts.read(now).items()}
        return MetricReading(WORKER, (), values)


@dataclass(frozen=True, slots=True)
class _ConnectorMetrics:
    """Texts of a connector by Kafka's names, and the metrics that it has added."""

    texts: dict[str, str]
    added: PluginMetrics


def _task_counts(tasks: list[TaskMetrics]) -> list[MetricReading]:
    by_connector: dict[str, Counter[State]] = {}
    for task in tasks:
        by_connector.setdefault(task.id.connector, Counter())[task.state] += 1
    return [
        MetricReading(
            WORKER_CONNECTOR,
            (connector,),
            {
                "connector-total-task-count": states.total(),
                **{f"connector-{state.value.lower()}-task-count": states[state] for state in _COUNTED_STATES},
            },
        )
        for connector, states in by_connector.items()
    ]


class _Starts:
    """Results of starts of connectors, or of tasks."""

    def __init__(self, windows: Windows) -> None:
        self._lock = threading.Lock()
        self._succeeded = self._failed = 0
        self._results = Samples(windows)

    def ended(self, succeeded: bool, now: float) -> None:
        with self._lock:
            self._results.record(float(succeeded), now)
            if succeeded:
                self._succeeded += 1
            else:
                self._failed += 1

    def read(self, now: float) -> dict[str, float]:
        with self._lock:
            return {
                "attempts-total": self._succeeded + self._failed,
                "success-total": self._succeeded,
                "success-percentage": self._results.share(True, now),
                "failure-total": self._failed,
                "failure-percentage": self._results.share(False, now),
            }


class _Starting:
    """One start: it has succeeded with the first RUNNING, and failed with a FAILED before it."""

    def __init__(self, starts: _Starts, clock: Callable[[], float]) -> None:
        self._starts = starts
        self._clock = clock
        self._over = False

    def changed(self, state: State) -> None:
        if not self._over and state in (State.RUNNING, State.FAILED):
            self._over = True
            self._starts.ended(state is State.RUNNING, self._clock())


class RebalanceMetrics:
    """Metrics of a distributed herder's group.

    Args:
        windows: how much of the past counts.
        client_id: of the group's member.
        measured: the member's own numbers by Kafka's names; names that no group has are passed over.

    Attributes:
        protocol: the protocol of the group by Java's name (``SESSIONED``); may be set at any time.
    """

    def __init__(self, windows: Windows, client_id: str, measured: Callable[[], Mapping[str, float]]) -> None:
        self.protocol: str | None = None
        self._client_id = client_id
        self._measured = measured
        self._lock = threading.Lock()
        self._times = Samples(windows)
        self._finished = Samples(windows)
        self._milliseconds = 0.0
        self._completed = 0
        self._began: float | None = None
        self._ended = -math.inf
        self._epoch: int | None = None
        self._leader: str | None = None

    def rebalance_started(self, now: float) -> None:
        """The worker has begun to join.

        Args:
            now: seconds of the clock that the worker's metrics go by (``time.monotonic``).
        """
        with self._lock:
            self._began = now

    def rebalance_succeeded(self, now: float, epoch: int, leader: str | None) -> None:
        """The worker has its assignment.

        Args:
            now: as above.
            epoch: generation of the group.
            leader: the leader's URL, ``None`` while it is not known.
        """
        with self._lock:
            milliseconds = 1000 * (now - self._began) if self._began is not None else 0.0
            self._times.record(milliseconds, now)
            self._finished.record(1, now)
            self._milliseconds += milliseconds
            self._began, self._ended = None, now
            self._completed += 1
            self._epoch, self._leader = epoch, leader

    def read(self, now: float) -> list[MetricReading]:
        """Return the groups of rebalances, of the coordinator, and of the member's connections."""
        with self._lock:
            known: dict[str, Value | None] = {
                "connect-protocol": self.protocol,
                "leader-name": self._leader,
                "epoch": self._epoch,
                "completed-rebalances-total": self._completed,
                "rebalancing": float(self._began is not None),
                "rebalance-max-time-ms": self._times.maximum(now),
                "rebalance-avg-time-ms": self._times.average(now),
                "time-since-last-rebalance-ms": 1000 * (now - self._ended),
            }
            # Java's coordinator measures the same a little earlier, without the start of connectors and tasks.
            rebalances: dict[str, Value] = {
                "rebalance-latency-avg": self._times.average(now),
                "rebalance-latency-max": self._times.maximum(now),
                "rebalance-latency-total": self._milliseconds,
                "rebalance-total": self._completed,
                "rebalance-rate-per-hour": _HOUR * self._finished.rate(now),
                "last-rebalance-seconds-ago": now - self._ended if self._completed else -1,
            }
        values = {name: value for name, value in known.items() if value is not None}
        client, measured = (self._client_id,), self._measured()
        return [
            MetricReading(REBALANCE, (), values),
            MetricReading(COORDINATOR, client, {**measured, **rebalances}),
            MetricReading(GROUP_CLIENT, client, measured),
        ]
