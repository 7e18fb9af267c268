"""Runs connectors and tasks, as a herder assigns them (Java: ``Worker``)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.config_transformer import ConfigTransformer, Transformed
from connect_dagster.isolation.plugin_source import class_path
from connect_dagster.isolation.plugins import PluginDescription, Plugins
from connect_dagster.kafka.override_policy import ClientPolicy
from connect_dagster.kafka.producer_fencing import fence_producers
from connect_dagster.kafka.transactional_producer import TransactionalProducer
from connect_dagster.plugin.connector import Connector, LoadClass, OffsetReader, SourceConnector
from connect_dagster.plugin.metrics import Metrics
from connect_dagster.plugin.samples import Windows
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.protocol.work import Work
from connect_dagster.storage.offset_store import OffsetStore, SourceOffsets
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.metrics.worker_metrics import WorkerMetrics
from connect_dagster.worker.reload_watch import ReloadWatch
from connect_dagster.worker.source.opening import ExactlyOnceStart
from connect_dagster.worker.source.task import WorkerSourceTask
from connect_dagster.worker.source.topic_creation import topic_groups
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.task_builder import RunningTask, TaskBuilder, TaskListeners
from connect_dagster.worker.task_clients import TaskClients
from connect_dagster.worker.worker_connector import Listener, WorkerConnector

log = logging.getLogger(__name__)

_CONNECTOR_STOP_SECONDS = 5.0
_CANCEL_SECONDS = 5.0
_FENCING_SECONDS = 60.0
Properties = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _ConnectorContext:
    """Services of this worker for a connector (see ``ConnectorContext``)."""

    metrics: Metrics
    reconfigure: Callable[[], None]
    fail: Callable[[Exception], None]
    load_class: LoadClass

    def request_task_reconfiguration(self) -> None:
        """Request the task configurations again."""
        self.reconfigure()

    def raise_error(self, error: Exception) -> None:
        """Fail the connector."""
        self.fail(error)


@dataclass(frozen=True, slots=True)
class _SourceConnectorContext(_ConnectorContext):
    """The same for a source connector (see ``SourceConnectorContext``)."""

    offsets: CommittedOffsets


@dataclass(frozen=True, slots=True)
class CommittedOffsets(OffsetReader):
    """Reads the committed offsets of a connector as they are at each call (Java: ``OffsetStorageReaderImpl``).

    Attributes:
        open: opens the offsets, read up to their current end; raises ConnectError.
    """

    open: Callable[[], SourceOffsets]

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the last committed offset of a source partition; ``None`` without one. Raises ConnectError."""
        with closing(self.open()) as stored:
            return stored.offset(partition)

    def offsets(self, partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Return the last committed offsets of many partitions, which are read once. Raises ConnectError."""
        with closing(self.open()) as stored:
            return stored.offsets(partitions)


class Worker:
    """Connectors and tasks of one process.

    Args:
        worker_id: ``host:port``, shown in statuses.
        config: the worker's configuration.
        plugins: all plugins.
        session: the Spark session, shared by all tasks.
        offsets: committed offsets of source connectors.
        transformer: for placeholders in configurations; by default without config providers.
        is_member: returns whether this worker's group still counts it in; source tasks send nothing while it is false.
    """

    def __init__(
        self,
        worker_id: str,
        config: WorkerConfig,
        plugins: Plugins,
        session: Session,
        offsets: OffsetStore,
        transformer: ConfigTransformer | None = None,
        is_member: Callable[[], bool] = lambda: True,
    ) -> None:
        self.id = worker_id
        self.config = config
        self.plugins = plugins
        self.offsets = offsets
        windows = Windows(config.metrics_sample_window_ms / 1000, config.metrics_num_samples)
        self.metrics = WorkerMetrics(worker_id, windows)
        self._transformer = transformer or ConfigTransformer({})
        self._watch = ReloadWatch(self._transformer, config.config_reload_interval_ms / 1000)
        policy = ClientPolicy.of(config.originals)
        policy.announce()
        self._clients = TaskClients(config, policy, self.metrics.clients)
        self._builder = TaskBuilder(
            config, plugins, session, offsets, self.metrics, self._clients, self.masked, is_member
        )
        self._connectors: dict[str, WorkerConnector] = {}
        self._tasks: dict[TaskId, RunningTask] = {}
        self._lock = threading.RLock()
        self._ending = threading.Event()
        self._committer = threading.Thread(target=self._commit_regularly, name="offset-committer", daemon=True)

    def start(self, on_outdated: Callable[[], None]) -> None:
        """Start committing the offsets of source tasks, and looking for changed values, at their intervals.

        Args:
            on_outdated: called, again and again, while :meth:`outdated` returns work that is to be restarted.
        """
        self._committer.start()
        threading.Thread(target=self._look_regularly, args=(on_outdated,), name="config-reload", daemon=True).start()

    def stop(self) -> None:
        """Stop all connectors and tasks, each within its time."""
        with self._lock:
            self._ending.set()
            connectors, tasks = list(self._connectors), list(self._tasks)
        self.stop_work(connectors, tasks)

    def stop_work(self, connectors: Sequence[str], tasks: Sequence[TaskId]) -> None:
        """Stop connectors and tasks side by side: connectors within five seconds in all, tasks as :meth:`stop_tasks`.

        Those that do not run here are ignored. Those that take longer are abandoned, side by side and within five
        seconds in all: the caller may be the thread that has to rejoin a group in time.
        """
        stopping_connectors, stopping_tasks = self._ask_connectors_to_stop(connectors), self._ask_tasks_to_stop(tasks)
        began = time.monotonic()
        for running in stopping_connectors:
            running.await_shutdown(max(0.0, began + _CONNECTOR_STOP_SECONDS - time.monotonic()))
        self._watch.stopped([*connectors, *tasks])  # a connector may have started until now
        deadline = began + self.config.task_shutdown_graceful_timeout_ms / 1000
        late = [task for task in stopping_tasks if not task.await_stop(max(0.0, deadline - time.monotonic()))]
        for task in late:
            log.error("Graceful stop of task %s failed.", task.id)
        _cancel_side_by_side(late)

    def masked(self, text: str) -> str:
        """Return the text or the trace of an error without values of config providers and without secrets."""
        return self._transformer.hidden.in_error(text)

    # Connectors

    def start_connector(
        self,
        name: str,
        config: Properties,
        target: TargetState,
        listener: Listener,
        reconfigure: Callable[[], None],
    ) -> Future[State]:
        """Instantiate a connector and bring it to its target state.

        Args:
            name: of the connector.
            config: its configuration as it was written.
            target: STARTED, PAUSED or STOPPED.
            listener: called with each state, and with the trace of a failure.
            reconfigure: called when the connector requests new task configurations.

        Raises:
            ConnectError: it runs already, or its class cannot be loaded.
        """
        described, connector = self._make_connector(name, config)
        # The lock is for the table: a plugin's code, which may block, would keep other connectors from stopping.
        with self._lock:
            self._require_running()
            if name in self._connectors:
                raise ConnectError(f"Connector with name {name} already exists")
            listening = self.metrics.connector(name, described, listener)
            running = WorkerConnector(
                name, connector, dict(config), self._transformer, listening, self._watch, self._check
            )
            connector.context = self._context(name, config, connector, reconfigure, running.fail)
            self._connectors[name] = running
        return running.transition(target)

    def _context(
        self,
        name: str,
        config: Properties,
        connector: Connector,
        reconfigure: Callable[[], None],
        fail: Callable[[Exception], None],
    ) -> _ConnectorContext:
        metrics, load_class = self.metrics.of_connector(name), self.plugins.load_class
        if not isinstance(connector, SourceConnector):
            return _ConnectorContext(metrics, reconfigure, fail, load_class)
        offsets = CommittedOffsets(lambda: self.offsets.open(name, self._transformer.transform(config).config))
        return _SourceConnectorContext(metrics, reconfigure, fail, load_class, offsets)

    def _require_running(self) -> None:
        """Raise ConnectError after the stop: what starts now would be stopped by nobody."""
        if self._ending.is_set():
            raise ConnectError("The worker is stopping")

    def _check(self, config: SourceConnectorConfig | SinkConnectorConfig) -> None:
        """Raise ConfigError for wrong ``topic.creation.`` settings of a source."""
        if isinstance(config, SourceConnectorConfig):
            topic_groups(config, enabled=self.config.topic_creation_enable)

    def _make_connector(self, name: str, config: Properties) -> tuple[PluginDescription[Connector], Connector]:
        try:
            described = self._described(config)
            log.info("Creating connector %s of type %s", name, config["connector.class"])
            connector = described.plugin()
        except Exception:
            self.metrics.connector_start_failed()
            raise
        log.info("Instantiated connector %s with version %s of type %s", name, described.version, described.class_name)
        return described, connector

    def _described(self, config: Properties) -> PluginDescription[Connector]:
        return self.plugins.connector(config["connector.class"], config.get("connector.plugin.version"))

    def stop_connector(self, name: str) -> None:
        """Stop a connector; ignore one that is not running."""
        self.stop_work([name], [])

    def _ask_connectors_to_stop(self, names: Sequence[str]) -> list[WorkerConnector]:
        with self._lock:
            stopping = [self._connectors.pop(name) for name in names if name in self._connectors]
            self.metrics.remove_connectors(names)
        for running in stopping:
            log.info("Stopping connector %s", running.name)
            running.shutdown()
        return stopping

    def set_target_state(self, name: str, target: TargetState) -> Future[State] | None:
        """Pause, resume or stop the connector and its tasks; return the future state of the connector."""
        if target is not TargetState.STARTED:
            self._watch.stopped([name])  # it starts with values of that time; tasks keep theirs
        for id, task in list(self._tasks.items()):
            if id.connector == name:
                task.transition(target)
        running = self._connectors.get(name)
        return running.transition(target) if running is not None else None

    def fail_connector(self, name: str, error: Exception) -> None:
        """Make a connector FAILED for a reason outside of it."""
        running = self._connectors.get(name)
        if running is not None:
            running.fail(error)

    def runs_connector(self, name: str) -> bool:
        """Return whether the connector object is in this worker."""
        return name in self._connectors

    def task_configs(self, name: str) -> Future[list[dict[str, str]]]:
        """Return the connector's task configurations, with the task's class and a sink's topics added.

        They are stored as they are, with the placeholders of the connector's configuration. The result may
        also be a ``TooManyTasksError``, or whatever the connector raises.

        Raises:
            ConnectError: the connector is not running.
        """
        running = self._connectors.get(name)
        if running is None:
            raise ConnectError(f"Connector {name} not found in this worker.")
        added = _added_to_tasks(running.connector, running.config)
        return running.task_configs(added)

    # Tasks

    def start_task(
        self,
        id: TaskId,
        connector_config: Properties,
        config: Properties,
        target: TargetState,
        listeners: TaskListeners,
        exactly_once: ExactlyOnceStart | None = None,
        *,
        tasks: int = 1,
    ) -> None:
        """Instantiate a task and start it on its thread; an error from here on is a FAILED status.

        Args:
            id: of the task.
            connector_config: configuration of its connector, as it was written.
            config: its own configuration, as it is stored.
            target: STARTED, PAUSED or STOPPED.
            listeners: callbacks of the task.
            exactly_once: steps before the start of a source task that writes in transactions.
            tasks: number of the connector's tasks, which share its rate.

        Raises:
            ConnectError: it runs already, or cannot be made.
        """
        if id in self._tasks:
            raise ConnectError(f"Task already exists in this worker: {id}")
        log.info("Creating task %s", id)
        try:
            described, resolved, task_config = self._transformed(id, connector_config, config)
            configs = partial(self._resolved, config, described)
            task = self._builder.build(
                id, described, resolved, task_config, configs, target, listeners, exactly_once, tasks=tasks
            )
        except Exception:
            self.metrics.task_start_failed(id)
            raise
        with self._lock:
            self._require_running()
            if self._tasks.setdefault(id, task) is not task:
                raise ConnectError(f"Task already exists in this worker: {id}")
        task.start()

    def _transformed(
        self, id: TaskId, connector_config: Properties, config: Properties
    ) -> tuple[PluginDescription[Connector], dict[str, str], dict[str, str]]:
        """Return the connector's plugin, and both configurations with values, which are watched from now on."""
        found: list[Transformed[str]] = []
        try:
            found.append(first := self._transformer.transform(connector_config))
            described = self._described(first.config)
            found.append(second := self._transformer.transform(config, _passwords(described)))
        finally:
            self._watch.started(id, [connector_config, config], found)
        return described, first.config, second.config

    def _resolved(self, config: Properties, connector: PluginDescription[Connector]) -> dict[str, str]:
        """Return a task's configuration with the values that config providers have now."""
        return self._transformer.transform(config, _passwords(connector)).config

    def fence(self, name: str, config: Properties, tasks: Iterable[int]) -> None:
        """Fence producers of a source connector's tasks out (Java: ``Worker.fenceZombies``).

        Args:
            name: of the connector.
            config: its configuration, as it was written.
            tasks: numbers of the tasks.

        Raises:
            ConnectError: the brokers refuse it, or do not respond in time.
        """
        found = SourceConnectorConfig.parse(self._transformer.transform(config).config)
        ids = (TaskId(name, number) for number in tasks)
        fence_producers((self._clients.transactional_producer(id, found) for id in ids), _FENCING_SECONDS)

    @contextmanager
    def transactional_producer(self, id: TaskId, config: Properties) -> Iterator[TransactionalProducer]:
        """Open the producer of a source task that does not run, for as long as the worker runs.

        Args:
            id: of the task.
            config: its connector's configuration, placeholders resolved.
        """
        settings = self._clients.transactional_producer(id, SourceConnectorConfig.parse(config))
        ends = time.monotonic() + _FENCING_SECONDS
        producer = TransactionalProducer(settings, lambda: self._ending.is_set() or time.monotonic() > ends)
        try:
            yield producer
        finally:
            producer.close()

    def stop_tasks(self, ids: Sequence[TaskId]) -> None:
        """Stop tasks within ``task.shutdown.graceful.timeout.ms`` in all; those that take longer are abandoned."""
        self.stop_work([], ids)

    def _ask_tasks_to_stop(self, ids: Sequence[TaskId]) -> list[RunningTask]:
        with self._lock:
            stopping = [self._tasks.pop(id) for id in ids if id in self._tasks]
            self.metrics.remove_tasks(ids)
        for task in stopping:
            log.info("Stopping task %s", task.id)
            task.stop()
        return stopping

    def progress(self) -> dict[str, Any]:
        """Return the progress record of each running task, by task."""
        return {str(id): task.progress.as_json() for id, task in list(self._tasks.items())}

    # Values of config providers

    def outdated(self) -> Work:
        """Return the connectors and tasks whose values of config providers have expired or changed since they started.

        Empty for those with ``config.action.reload=none``.
        """
        return self._watch.outdated()

    def _look_regularly(self, on_outdated: Callable[[], None]) -> None:
        while not self._ending.wait(self._watch.seconds_to_look):
            try:
                if self._watch.look():
                    on_outdated()
            except Exception:
                log.exception("Failed to look for changed values of config providers, will be tried again")

    # Offsets

    def _commit_regularly(self) -> None:
        while not self._ending.wait(self.config.offset_flush_interval_ms / 1000):
            for id, task in list(self._tasks.items()):
                if isinstance(task, WorkerSourceTask):
                    _commit_offsets(id, task)


def _passwords(connector: PluginDescription[Connector]) -> Collection[str]:
    return connector.plugin.config_def.table().passwords


def _cancel_side_by_side(tasks: Sequence[RunningTask]) -> None:
    """Cancel tasks, each on a thread; return after five seconds even when some are not done."""
    cancelling = [threading.Thread(target=task.cancel, name=f"cancelling-{task.id}", daemon=True) for task in tasks]
    for thread in cancelling:
        thread.start()
    deadline = time.monotonic() + _CANCEL_SECONDS
    for thread in cancelling:
        thread.join(max(0.0, deadline - time.monotonic()))


def _commit_offsets(id: TaskId, task: WorkerSourceTask) -> None:
    try:
        if task.commit_offsets():
            log.debug("WorkerSourceTask{id=%s} Committed offsets", id)
    except Exception:
        log.exception("WorkerSourceTask{id=%s} Failed to commit offsets, will be tried again", id)


def _added_to_tasks(connector: Connector, config: Properties) -> dict[str, str]:
    """Return the keys that the framework adds to each task configuration (Java: ``Worker.connectorTaskConfigs``)."""
    task = connector.task_class
    added = {"task.class": connector.java_task_class or class_path(task)}
    return added | {name: config[name] for name in ("topics", "topics.regex") if name in config}
