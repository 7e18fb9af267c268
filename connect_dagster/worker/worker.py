"""Runs connectors and tasks; knows neither who asked for them nor what should run (Java: ``Worker``)."""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from connect_dagster.plugin.connector import Connector, SinkTask, SourceTask
from connect_dagster.plugin.errors import ConnectError
from connect_dagster.worker import clients
from connect_dagster.worker.config import StandaloneConfig
from connect_dagster.worker.converters import ConverterFactory
from connect_dagster.worker.delivery import Delivery
from connect_dagster.worker.offset_file import FileOffsetStore
from connect_dagster.worker.pipeline import SourcePipeline
from connect_dagster.worker.plugins import Plugins
from connect_dagster.worker.session import Session
from connect_dagster.worker.sink_pipeline import SinkPipeline
from connect_dagster.worker.sink_task import SinkSettings, WorkerSinkTask
from connect_dagster.worker.source_task import WorkerSourceTask
from connect_dagster.worker.states import State, TargetState, TaskId
from connect_dagster.worker.transforms import TransformFactory
from connect_dagster.worker.turns import Turns
from connect_dagster.worker.worker_connector import Listener, WorkerConnector

log = logging.getLogger(__name__)

_CONNECTOR_STOP_SECONDS = 5.0
Properties = Mapping[str, str]
RunningTask = WorkerSourceTask | WorkerSinkTask


@dataclass(frozen=True, slots=True)
class TaskListeners:
    """Who is told what tasks do.

    Attributes:
        status: each state, with the trace of a failure.
        topics: connector and topics of a batch.
    """

    status: Callable[[TaskId, State, str | None], None]
    topics: Callable[[TaskId, set[str]], None]


@dataclass(frozen=True, slots=True)
class _ConnectorContext:
    """What a connector may ask of this worker (see ``ConnectorContext``)."""

    reconfigure: Callable[[], None]
    fail: Callable[[Exception], None]

    def request_task_reconfiguration(self) -> None:
        """Have the task configurations asked for again."""
        self.reconfigure()

    def raise_error(self, error: Exception) -> None:
        """Fail the connector."""
        self.fail(error)


class Worker:
    """Connectors and tasks of one process.

    Args:
        worker_id: ``host:port``, shown in statuses.
        config: the worker's configuration.
        plugins: all plugins.
        session: the Spark session, shared by all tasks.
        offsets: committed offsets of source connectors.
    """

    def __init__(
        self,
        worker_id: str,
        config: StandaloneConfig,
        plugins: Plugins,
        session: Session,
        offsets: FileOffsetStore,
    ) -> None:
        self.id = worker_id
        self.config = config
        self.plugins = plugins
        self.offsets = offsets
        self._session = session
        self._turns = Turns()
        self._converters = ConverterFactory(plugins, config)
        self._transforms = TransformFactory(plugins)
        self._connectors: dict[str, WorkerConnector] = {}
        self._tasks: dict[TaskId, RunningTask] = {}
        self._lock = threading.RLock()
        self._ending = threading.Event()
        self._committer = threading.Thread(target=self._commit_regularly, name="offset-committer", daemon=True)

    def start(self) -> None:
        """Begin to commit the offsets of source tasks at their interval."""
        self._committer.start()

    def stop(self) -> None:
        """Stop all connectors and tasks, each within its time."""
        self._ending.set()
        self._stop_connectors(list(self._connectors))
        self.stop_tasks(list(self._tasks))

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

        Raises:
            ConnectError: it runs already, or its class cannot be loaded.
        """
        with self._lock:
            if name in self._connectors:
                raise ConnectError(f"Connector with name {name} already exists")
            described = self.plugins.connector(config["connector.class"])
            log.info("Creating connector %s of type %s", name, config["connector.class"])
            connector = described.plugin()
            log.info(
                "Instantiated connector %s with version %s of type %s",
                name,
                described.version,
                described.class_name,
            )
            running = WorkerConnector(name, connector, dict(config), listener)
            connector.context = _ConnectorContext(reconfigure, running.fail)
            self._connectors[name] = running
        return running.transition(target)

    def stop_connector(self, name: str) -> None:
        """Stop a connector; one that is not running is left alone."""
        self._stop_connectors([name])

    def _stop_connectors(self, names: Sequence[str]) -> None:
        """Stop connectors within five seconds in all; those that take longer are abandoned."""
        with self._lock:
            stopping = [self._connectors.pop(name) for name in names if name in self._connectors]
        for running in stopping:
            log.info("Stopping connector %s", running.name)
            running.shutdown()
        deadline = time.monotonic() + _CONNECTOR_STOP_SECONDS
        for running in stopping:
            running.await_shutdown(max(0.0, deadline - time.monotonic()))

    def set_target_state(self, name: str, target: TargetState) -> Future[State] | None:
        """Pause, resume or stop the connector and its tasks; answers the connector's coming state."""
        for id, task in list(self._tasks.items()):
            if id.connector == name:
                task.transition(target)
        running = self._connectors.get(name)
        return running.transition(target) if running is not None else None

    def fail_connector(self, name: str, error: Exception) -> None:
        """Make a connector FAILED for a reason that it does not know itself."""
        running = self._connectors.get(name)
        if running is not None:
            running.fail(error)

    def task_configs(self, name: str, max_tasks: int) -> list[dict[str, str]]:
        """Configurations that the connector wants for its tasks, with the task's class and a sink's topics added.

        Raises:
            ConnectError: the connector is not running.
            Exception: whatever the connector raises.
        """
        running = self._connectors.get(name)
        if running is None:
            raise ConnectError(f"Connector {name} not found in this worker.")
        wanted = running.task_configs(max_tasks).result(timeout=60)
        added = _added_to_tasks(running.connector, running.config)
        return [{**config, **added} for config in wanted]

    # Tasks

    def start_task(
        self,
        id: TaskId,
        connector_config: Properties,
        config: Properties,
        target: TargetState,
        listeners: TaskListeners,
    ) -> None:
        """Instantiate a task and start it on its thread; what goes wrong from here on is a FAILED status.

        Raises:
            ConnectError: it runs already.
        """
        with self._lock:
            if id in self._tasks:
                raise ConnectError(f"Task already exists in this worker: {id}")
            log.info("Creating task %s", id)
            self._tasks[id] = task = self._build_task(id, connector_config, config, target, listeners)
        task.start()

    def stop_tasks(self, ids: Sequence[TaskId]) -> None:
        """Stop tasks within ``task.shutdown.graceful.timeout.ms`` in all; those that take longer are abandoned."""
        with self._lock:
            tasks = [(id, self._tasks.pop(id)) for id in ids if id in self._tasks]
        for id, task in tasks:
            log.info("Stopping task %s", id)
            task.stop()
        deadline = time.monotonic() + self.config.task_shutdown_graceful_timeout_ms / 1000
        for id, task in tasks:
            if not task.await_stop(max(0.0, deadline - time.monotonic())):
                log.error("Graceful stop of task %s failed.", id)
                task.cancel()

    def progress(self) -> dict[str, Any]:
        """Progress record of each running task, by task."""
        return {str(id): task.progress.as_json() for id, task in list(self._tasks.items())}

    def _build_task(
        self,
        id: TaskId,
        connector_config: Properties,
        config: Properties,
        target: TargetState,
        listeners: TaskListeners,
    ) -> RunningTask:
        described = self.plugins.connector(connector_config["connector.class"])
        task = described.plugin().task_class()
        kind = described.plugin.java_task_class or f"{type(task).__module__}.{type(task).__qualname__}"
        log.info("Instantiated task %s with version %s of type %s", id, described.version, kind)
        if isinstance(task, SourceTask):
            return self._source_task(id, task, connector_config, config, target, listeners)
        return self._sink_task(id, task, connector_config, config, target, listeners)

    def _source_task(
        self,
        id: TaskId,
        task: SourceTask,
        connector_config: Properties,
        config: Properties,
        target: TargetState,
        listeners: TaskListeners,
    ) -> WorkerSourceTask:
        key, value = self._converters.pair(str(id), connector_config)
        settings = clients.producer_settings(
            self.config.bootstrap_servers,
            f"connector-producer-{id}",
            {
                **self.config.client_overrides("producer."),
                **clients.under_prefix(connector_config, "producer.override."),
            },
        )
        tolerate = connector_config.get("errors.tolerance") == "all"
        reader = self.offsets.reader(id.connector)
        return WorkerSourceTask(
            id,
            task,
            self._session.spark,
            listeners.status,
            target,
            config=config,
            pipeline=SourcePipeline(self._transforms.chain(str(id), connector_config), key, value),
            make_delivery=lambda: Delivery(
                settings,
                str(id),
                (id.connector, f"task-{id.task}"),
                lambda error: _tolerated(error, tolerate),
                self._turns,
            ),
            offsets=reader,
            save=lambda pairs: self._save_offsets(id.connector, pairs),
            flush_seconds=self.config.offset_flush_timeout_ms / 1000,
            on_topics=lambda topics: listeners.topics(id, topics),
        )

    def _sink_task(
        self,
        id: TaskId,
        task: SinkTask,
        connector_config: Properties,
        config: Properties,
        target: TargetState,
        listeners: TaskListeners,
    ) -> WorkerSinkTask:
        key, value = self._converters.pair(str(id), connector_config)
        overrides = {
            **self.config.client_overrides("consumer."),
            **clients.under_prefix(connector_config, "consumer.override."),
        }
        consumer = clients.consumer_settings(
            self.config.bootstrap_servers, f"connector-consumer-{id}", f"connect-{id.connector}", overrides
        )
        pattern = connector_config.get("topics.regex")
        limit = overrides.get("max.poll.records")
        return WorkerSinkTask(
            id,
            task,
            self._session.spark,
            listeners.status,
            target,
            config=config,
            settings=SinkSettings(
                topics=[topic.strip() for topic in connector_config.get("topics", "").split(",") if topic.strip()],
                pattern=re.compile(pattern) if pattern else None,
                consumer=consumer,
                max_poll_records=int(limit) if limit else None,
                flush_interval=self.config.offset_flush_interval_ms / 1000,
                flush_timeout=self.config.offset_flush_timeout_ms / 1000,
            ),
            pipeline=SinkPipeline(
                key,
                value,
                tolerate=connector_config.get("errors.tolerance") == "all",
                headers=task.needs_headers,
                transforms=self._transforms.chain(str(id), connector_config),
            ),
            on_topics=lambda topics: listeners.topics(id, topics),
        )

    # Offsets

    def _save_offsets(self, connector: str, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> None:
        for partition, offset in pairs:
            self.offsets.write(connector, partition, offset)
        self.offsets.save()

    def _commit_regularly(self) -> None:
        while not self._ending.wait(self.config.offset_flush_interval_ms / 1000):
            for id, task in list(self._tasks.items()):
                if isinstance(task, WorkerSourceTask):
                    _commit_offsets(id, task)


def _commit_offsets(id: TaskId, task: WorkerSourceTask) -> None:
    try:
        if task.commit_offsets():
            log.debug("WorkerSourceTask{id=%s} Committed offsets", id)
    except Exception:
        log.exception("WorkerSourceTask{id=%s} Failed to commit offsets, will be tried again", id)


def _tolerated(error: Exception, tolerate: bool) -> bool:
    if tolerate:
        log.error("Ignoring record that Kafka refused (errors.tolerance=all): %s", error)
    return tolerate


def _added_to_tasks(connector: Connector, config: Properties) -> dict[str, str]:
    """What every task configuration carries besides what the connector says (Java: ``Worker.connectorTaskConfigs``)."""
    task = connector.task_class
    added = {"task.class": connector.java_task_class or f"{task.__module__}.{task.__qualname__}"}
    return added | {name: config[name] for name in ("topics", "topics.regex") if name in config}
