"""The herder of standalone mode: connectors and their tasks in this one process, configurations in memory.

Java: ``StandaloneHerder``. Everything that changes something runs under one lock, one request after the other; what
connectors and tasks report comes in on their threads and only touches the status store.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from connect_dagster.herder import loggers
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.interface import (
    ConnectorConfig,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStatus,
    ConnectorType,
    Created,
    Health,
    HealthReport,
    Herder,
    LoggerLevel,
    PluginInfo,
    RestartRequest,
    ServerInfo,
    TaskInfo,
)
from connect_dagster.herder.status_store import StatusStore
from connect_dagster.herder.validation import Validator
from connect_dagster.plugin.errors import AlreadyExistsError, BadRequestError, NotFoundError
from connect_dagster.worker.plugins import Kind
from connect_dagster.worker.states import State, Status, TargetState, TaskId
from connect_dagster.worker.task import failure_trace
from connect_dagster.worker.worker import TaskListeners, Worker

log = logging.getLogger(__name__)

_START_SECONDS = 60.0


@dataclass(slots=True)
class _Connector:
    """What this herder remembers of one connector."""

    config: dict[str, str]
    type: ConnectorType
    target: TargetState
    task_configs: list[dict[str, str]] = field(default_factory=list)


class StandaloneHerder(Herder):
    """Runs connectors on one worker.

    Args:
        worker: runs the connectors and tasks.
        validator: checks configurations.
        offsets: reads and edits committed offsets.
        server: what ``GET /`` answers.
    """

    def __init__(self, worker: Worker, validator: Validator, offsets: OffsetEditor, server: ServerInfo) -> None:
        self._worker = worker
        self._validator = validator
        self._offsets = offsets
        self._server = server
        self._connectors: dict[str, _Connector] = {}
        self._statuses = StatusStore(worker.id)
        self._lock = threading.RLock()
        self._ready = threading.Event()

    def start(self) -> None:
        """Start the worker; from here on the herder is healthy."""
        self._worker.start()
        self._ready.set()

    def stop(self) -> None:
        """Stop all connectors and tasks."""
        log.info("Herder stopping")
        self._worker.stop()
        log.info("Herder stopped")

    # Server

    def server_info(self) -> ServerInfo:
        return self._server

    def health(self) -> HealthReport:
        if not self._ready.is_set():
            return HealthReport(Health.STARTING, "Worker is still starting up.")
        with self._lock:
            return HealthReport(Health.HEALTHY, "Worker has completed startup and is ready to handle requests.")

    def progress(self) -> dict[str, Any]:
        return self._worker.progress()

    # Reading

    def connectors(self) -> list[str]:
        return sorted(self._connectors)

    def connector_info(self, name: str) -> ConnectorInfo:
        found = self._connectors.get(name)
        if found is None:
            raise NotFoundError(f"Connector {name} not found")
        tasks = tuple(TaskId(name, number) for number in range(len(found.task_configs)))
        return ConnectorInfo(name, dict(found.config), tasks, found.type)

    def connector_status(self, name: str) -> ConnectorStatus:
        status = self._statuses.connector(name)
        if status is None:
            raise NotFoundError(f"No status found for connector {name}")
        found = self._connectors.get(name)
        kind = found.type if found is not None else ConnectorType.UNKNOWN
        return ConnectorStatus(name, status, self._statuses.tasks(name), kind)

    def task_status(self, task: TaskId) -> Status:
        status = self._statuses.task(task)
        if status is None:
            raise NotFoundError(f"No status found for task {task}")
        return status

    def tasks(self, name: str) -> list[TaskInfo]:
        info = self.connector_info(name)
        configs = self._connectors[name].task_configs
        return [TaskInfo(id, dict(configs[id.task])) for id in info.tasks]

    # Changing

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        self._validator.check(config)
        props = {key: value for key, value in config.items() if value is not None}
        with self._lock:
            existing = self._connectors.get(name)
            if existing is not None and not allow_replace:
                raise AlreadyExistsError(f"Connector {name} already exists")
            if existing is not None:
                self._stop_all(name)
            target = initial or (existing.target if existing is not None else TargetState.STARTED)
            kind = ConnectorType(self._worker.plugins.connector(props["connector.class"]).kind.value)
            self._connectors[name] = _Connector(
                props, kind, target, existing.task_configs if existing is not None else []
            )
            self._start_all(name)
            return Created(self.connector_info(name), created=existing is None)

    def patch_connector(self, name: str, patch: ConnectorConfig) -> ConnectorInfo:
        with self._lock:
            merged: dict[str, str | None] = {**self.connector_info(name).config, **patch}
            kept = {key: value for key, value in merged.items() if value is not None}
            return self.put_connector(name, kept, allow_replace=True).info

    def delete_connector(self, name: str) -> None:
        with self._lock:
            self.connector_info(name)
            self._stop_all(name)
            del self._connectors[name]
            self._statuses.forget(name)

    def pause_connector(self, name: str) -> None:
        self._set_target(name, TargetState.PAUSED)

    def resume_connector(self, name: str) -> None:
        self._set_target(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> None:
        with self._lock:
            found = self._known(name)
            self._worker.stop_tasks([TaskId(name, number) for number in range(len(found.task_configs))])
            found.task_configs = []
            self._statuses.forget_tasks(name)
            self._set_target(name, TargetState.STOPPED)

    def restart_connector(self, name: str) -> None:
        with self._lock:
            if name not in self._connectors:
                raise NotFoundError(f"Unknown connector: {name}")
            self._worker.stop_connector(name)
            self._start_connector(name)

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        name = request.connector
        with self._lock:
            if name not in self._connectors:
                raise NotFoundError(f"Unknown connector: {name}")
            status = self.connector_status(name)
            connector = not request.only_failed or status.connector.state is State.FAILED
            tasks = [
                TaskId(name, number)
                for number, task in status.tasks
                if request.include_tasks and (not request.only_failed or task.state is State.FAILED)
            ]
            plan = self._restarting(status, connector, tasks)
            self._worker.stop_tasks(tasks)
            if connector:
                self._worker.stop_connector(name)
                self._statuses.connector_changed(name, State.RESTARTING, None)
            for id in tasks:
                self._statuses.task_changed(id, State.RESTARTING, None)
            if connector:
                self._start_connector(name)
            for id in tasks:
                self._start_task(id)
            return plan

    def restart_task(self, task: TaskId) -> None:
        with self._lock:
            found = self._connectors.get(task.connector)
            if found is None:
                raise NotFoundError(f"Unknown connector: {task.connector}")
            if not 0 <= task.task < len(found.task_configs):
                raise NotFoundError(f"Unknown task: {task}")
            self._worker.stop_tasks([task])
            self._start_task(task)

    # Topics

    def active_topics(self, name: str) -> list[str]:
        return self._statuses.topics(name)

    def reset_active_topics(self, name: str) -> None:
        self._statuses.reset_topics(name)

    @property
    def topic_tracking(self) -> tuple[bool, bool]:
        config = self._worker.config
        return config.topic_tracking_enable, config.topic_tracking_allow_reset

    # Offsets

    def connector_offsets(self, name: str) -> list[ConnectorOffset]:
        return self._offsets.read(self.connector_info(name))

    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        with self._lock:
            return self._offsets.alter(self._stopped(name), offsets)

    def reset_connector_offsets(self, name: str) -> str:
        with self._lock:
            return self._offsets.reset(self._stopped(name))

    def _stopped(self, name: str) -> ConnectorInfo:
        info = self.connector_info(name)
        found = self._connectors[name]
        if found.target is not TargetState.STOPPED or found.task_configs:
            raise BadRequestError(
                "Connectors must be in the STOPPED state before their offsets can be modified. This can be done "
                f"for the specified connector by issuing a 'PUT' request to the '/connectors/{name}/stop' endpoint"
            )
        return info

    # Plugins

    def plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        kinds = (Kind.SINK, Kind.SOURCE) if connectors_only else tuple(Kind)
        return [PluginInfo(one.class_name, one.kind.value, one.version) for one in self._worker.plugins.all(kinds)]

    def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        return self._validator.plugin_config(name, version)

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        return self._validator.validate(config)

    # Loggers

    def loggers(self) -> dict[str, LoggerLevel]:
        return loggers.levels()

    def logger(self, name: str) -> LoggerLevel:
        return loggers.level(name)

    def set_logger_level(self, namespace: str, level: str) -> list[str]:
        return loggers.set_level(namespace, level)

    # How connectors and tasks start and stop

    def _known(self, name: str) -> _Connector:
        found = self._connectors.get(name)
        if found is None:
            raise NotFoundError(f"Unknown connector {name}")
        return found

    def _set_target(self, name: str, target: TargetState) -> None:
        with self._lock:
            found = self._known(name)
            before, found.target = found.target, target
            self._worker.set_target_state(name, target)
            if target is not TargetState.STOPPED and before is TargetState.STOPPED:
                self._update_tasks(name)

    def _start_all(self, name: str) -> None:
        found = self._connectors[name]
        if self._start_connector(name) and found.target is not TargetState.STOPPED:
            self._update_tasks(name, restart=True)

    def _stop_all(self, name: str) -> None:
        found = self._connectors[name]
        self._worker.stop_tasks([TaskId(name, number) for number in range(len(found.task_configs))])
        self._worker.stop_connector(name)

    def _start_connector(self, name: str) -> bool:
        """Start the connector object; answers whether it came to its target state."""
        found = self._connectors[name]
        try:
            state = self._worker.start_connector(
                name, found.config, found.target, self._connector_changed, self._reconfiguration(name)
            ).result(_START_SECONDS)
        except Exception as error:
            self._connector_changed(name, State.FAILED, failure_trace(error, "WorkerConnector"))
            return False
        return state is not State.FAILED

    def _reconfiguration(self, name: str) -> Callable[[], None]:
        # On a thread of its own: the connector that asks for it must not wait for itself.
        return lambda: threading.Thread(target=self._update_tasks, args=(name,), name=f"reconfigure-{name}").start()

    def _update_tasks(self, name: str, *, restart: bool = False) -> None:
        """Ask for task configurations; tasks restart when they changed, or when the connector's own did."""
        with self._lock:
            found = self._connectors.get(name)
            if found is None or found.target is TargetState.STOPPED:
                return
            try:
                wanted = self._worker.task_configs(name, int(found.config.get("tasks.max", "1")))
            except Exception as error:
                self._connector_changed(name, State.FAILED, failure_trace(error, "WorkerConnector"))
                return
            if wanted == found.task_configs and not restart:
                return
            self._worker.stop_tasks([TaskId(name, number) for number in range(len(found.task_configs))])
            self._statuses.forget_tasks(name, beyond=len(wanted))
            found.task_configs = wanted
            for number in range(len(wanted)):
                self._start_task(TaskId(name, number))

    def _start_task(self, id: TaskId) -> None:
        found = self._connectors[id.connector]
        listeners = TaskListeners(self._task_changed, self._topics_seen)
        try:
            self._worker.start_task(id, found.config, found.task_configs[id.task], found.target, listeners)
        except Exception as error:
            log.exception("Failed to start task %s", id)
            self._task_changed(id, State.FAILED, failure_trace(error, "WorkerTask"))

    def _restarting(self, status: ConnectorStatus, connector: bool, tasks: Sequence[TaskId]) -> ConnectorStatus:
        """The status as the restart endpoint answers it, RESTARTING where something will be restarted."""
        again = Status(State.RESTARTING, self._worker.id)
        numbers = {id.task for id in tasks}
        return ConnectorStatus(
            status.name,
            again if connector else status.connector,
            tuple((number, again if number in numbers else task) for number, task in status.tasks),
            status.type,
        )

    # What connectors and tasks report

    def _connector_changed(self, name: str, state: State, trace: str | None) -> None:
        self._statuses.connector_changed(name, state, trace, self._version(name))

    def _task_changed(self, id: TaskId, state: State, trace: str | None) -> None:
        version = self._version(id.connector) if state not in (State.UNASSIGNED, State.RESTARTING) else None
        self._statuses.task_changed(id, state, trace, version)

    def _topics_seen(self, id: TaskId, topics: set[str]) -> None:
        if self._worker.config.topic_tracking_enable:
            self._statuses.topics_seen(id.connector, topics)

    def _version(self, name: str) -> str | None:
        found = self._connectors.get(name)
        return self._worker.plugins.connector(found.config["connector.class"]).version if found is not None else None
