"""The herder of standalone mode: connectors and their tasks in this one process, configurations in memory.

Java: ``StandaloneHerder``. Operations on one connector follow each other, those on different connectors do not wait for
each other (see ``registry``). What connectors and tasks report comes in on their threads and only touches the status
store.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial

from connect_dagster.errors import AlreadyExistsError, ConnectError, NotFoundError
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
    RestartRequest,
    ServerInfo,
    StoredConfig,
    TaskInfo,
    without_nulls,
)
from connect_dagster.herder.restart_plan import plan_restart
from connect_dagster.herder.standalone.registry import ConnectorEntry, Registry, StatusStore
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.herder.worker_herder import WorkerHerder, refuse_until_stopped
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.protocol.work import Work
from connect_dagster.worker.task import failure_trace
from connect_dagster.worker.task_builder import TaskListeners
from connect_dagster.worker.worker import Worker

log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_PLAN_SECONDS = 60.0


class StandaloneHerder(WorkerHerder):
    """Runs connectors on one worker.

    Args:
        worker: runs the connectors and tasks.
        validator: checks configurations.
        offsets: reads and edits committed offsets.
        server: response of ``GET /``.
    """

    def __init__(self, worker: Worker, validator: Validator, offsets: OffsetEditor, server: ServerInfo) -> None:
        super().__init__(worker, validator, server)
        self._offsets = offsets
        self._registry = Registry()
        self._numbers = itertools.count(1)
        self._statuses = StatusStore(worker.id)
        self._ready = threading.Event()
        self._ended = threading.Event()

    def start(self) -> None:
        """Start the worker; from here on the herder is healthy."""
        self._worker.start(self._restart_outdated)
        self._ready.set()

    def stop(self) -> None:
        """Stop all connectors and tasks."""
        log.info("Herder stopping")
        self._ended.set()
        self._worker.stop()
        log.info("Herder stopped")

    # Server

    def health(self) -> HealthReport:
        if not self._ready.is_set():
            return HealthReport(Health.STARTING, "Worker is still starting up.")
        return HealthReport(Health.HEALTHY, "Worker has completed startup and is ready to handle requests.")

    # Reading

    def connectors(self) -> list[str]:
        return self._registry.names()

    def connector_info(self, name: str) -> ConnectorInfo:
        found = self._registry.get(name, f"Connector {name} not found")
        return ConnectorInfo(name, dict(found.config), tuple(self._registry.tasks(name)), found.type)

    def connector_status(self, name: str) -> ConnectorStatus:
        status = self._statuses.connector(name)
        if status is None:
            raise NotFoundError(f"No status found for connector {name}")
        found = self._registry.find(name)
        kind = found.type if found is not None else ConnectorType.UNKNOWN
        return ConnectorStatus(name, status, self._statuses.tasks(name), kind)

    def stored_config(self, name: str) -> StoredConfig:
        found = self._registry.get(name, f"Connector {name} not found")
        tasks = tuple(self._registry.tasks(name))
        return StoredConfig(found.number, found.applied_number, tasks, found.applied == found.config)

    def task_status(self, task: TaskId) -> Status:
        status = self._statuses.task(task)
        if status is None:
            raise NotFoundError(f"No status found for task {task}")
        return status

    def tasks(self, name: str) -> list[TaskInfo]:
        configs = self._registry.get(name, f"Connector {name} not found").task_configs
        return [TaskInfo(TaskId(name, number), dict(config)) for number, config in enumerate(configs)]

    # Changing

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        self._validator.check(config)
        with self._registry.operation(name):
            existing = self._registry.find(name)
            if existing is not None and not allow_replace:
                raise AlreadyExistsError(f"Connector {name} already exists")
            start = self._replace(name, existing, without_nulls(config), initial)
        start()
        return Created(self.connector_info(name), created=existing is None)

    def patch_connector(self, name: str, patch: ConnectorConfig) -> ConnectorInfo:
        while True:
            existing = self._registry.get(name, f"Connector {name} not found")
            merged = without_nulls({**existing.config, **patch})
            self._validator.check(merged)
            with self._registry.operation(name):
                # Another change may have come in between; then its keys are what this one is merged with.
                if not self._registry.holds(name, existing):
                    continue
                start = self._replace(name, existing, merged, None)
            start()
            return self.connector_info(name)

    def delete_connector(self, name: str) -> None:
        with self._registry.operation(name):
            self.connector_info(name)
            self._worker.stop_tasks(self._registry.tasks(name))
            self._worker.stop_connector(name)
            self._registry.remove(name)
            self._statuses.forget(name)

    def pause_connector(self, name: str) -> None:
        self._set_target(name, TargetState.PAUSED)

    def resume_connector(self, name: str) -> None:
        self._set_target(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> None:
        with self._registry.operation(name):
            found = self._registry.get(name, f"Unknown connector {name}")
            self._drop_tasks(name, found)
            self._set_target(name, TargetState.STOPPED)

    def restart_connector(self, name: str) -> None:
        with self._registry.operation(name):
            self._registry.get(name, f"Unknown connector: {name}")
            start = self._restart(name)
        start()

    def _restart(self, name: str) -> Callable[[], None]:
        """Begin to restart a connector; return a function that waits for it."""
        self._worker.stop_connector(name)
        return self._begin(name, self._registry.renew(name))

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        name = request.connector
        with self._registry.operation(name):
            self._registry.get(name, f"Unknown connector: {name}")
            if self._statuses.connector(name) is None:
                raise NotFoundError(f"Status for connector {name} not found")
            plan = plan_restart(request, self.connector_status(name))
            if plan.connector:
                self._worker.stop_connector(name)
                self._statuses.connector_changed(name, State.RESTARTING, None)
            self._worker.stop_tasks(plan.tasks)
            for id in plan.tasks:
                self._statuses.task_changed(id, State.RESTARTING, None)
            if plan.connector:
                with suppress(Exception):  # it is FAILED then and logged; the tasks are restarted in any case
                    self._transition(name, self._registry.renew(name))
            for id in plan.tasks:
                self._start_task(id)
            return plan.status

    def restart_task(self, task: TaskId) -> None:
        with self._registry.operation(task.connector):
            self._registry.get(task.connector, f"Unknown connector: {task.connector}")
            if task not in self._registry.tasks(task.connector):
                raise NotFoundError(f"Unknown task: {task}")
            self._worker.stop_tasks([task])
            if not self._start_task(task):
                raise ConnectError(f"Failed to start task: {task}")

    def _restart_outdated(self) -> None:
        """Restart what runs with outdated values of config providers; called on the thread that looks for them."""
        outdated = self._worker.outdated()
        for name in sorted({*outdated.connectors, *(id.connector for id in outdated.tasks)}):
            self._restart_outdated_of(name)

    def _restart_outdated_of(self, name: str) -> None:
        with self._registry.operation(name):
            # An operation before this one may have restarted or deleted it.
            outdated, tasks = self._worker.outdated(), self._registry.tasks(name)
            exists = self._registry.find(name) is not None
            connectors = (name,) if exists and name in outdated.connectors else ()
            work = Work(connectors, tuple(id for id in tasks if id in outdated.tasks))
            if work:
                self._restart_work(name, work)

    def _restart_work(self, name: str, work: Work) -> None:
        log.info("Restarting %s, whose values of config providers have changed", work)
        self._worker.stop_tasks(work.tasks)
        for id in work.tasks:
            self._statuses.task_changed(id, State.RESTARTING, None)
        if work.connectors:
            with suppress(Exception):  # it is FAILED then and logged; the tasks are restarted in any case
                start = self._restart(name)
                threading.Thread(target=_quietly, args=(start,), name=f"reconfigure-{name}", daemon=True).start()
        for id in work.tasks:
            self._start_task(id)

    # Topics

    def active_topics(self, name: str) -> list[str]:
        return self._statuses.topics(name)

    def reset_active_topics(self, name: str) -> None:
        self._statuses.reset_topics(name)

    # Offsets

    def connector_offsets(self, name: str) -> list[ConnectorOffset]:
        return self._offsets.read(self.connector_info(name))

    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        with self._registry.operation(name):
            return self._offsets.alter(self._stopped(name), offsets)

    def reset_connector_offsets(self, name: str) -> str:
        with self._registry.operation(name):
            return self._offsets.reset(self._stopped(name))

    def _stopped(self, name: str) -> ConnectorInfo:
        info = self.connector_info(name)
        found = self._registry.find(name)
        if found is None or found.target is not TargetState.STOPPED or found.task_configs:
            refuse_until_stopped(name)
        return info

    # Loggers

    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        loggers.set_level(namespace, level)

    # Requests between workers of a group

    def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], signature: RequestSignature | None
    ) -> None:
        raise ConnectError("Kafka Connect in standalone mode does not support externally setting task configurations.")

    def fence_zombies(self, name: str, signature: RequestSignature | None) -> None:
        raise ConnectError("Kafka Connect in standalone mode does not support exactly-once source connectors.")

    # Starts of connectors. They begin within an operation and are awaited after it.

    def _replace(
        self, name: str, existing: ConnectorEntry | None, config: dict[str, str], initial: TargetState | None
    ) -> Callable[[], None]:
        """Put a configuration in place of another; return a function that waits for the connector's start."""
        described = self._worker.plugins.connector(config["connector.class"], config.get("connector.plugin.version"))
        kind = ConnectorType(described.kind.value)
        fresh = ConnectorEntry(config, next(self._numbers), kind, described.version, TargetState.STARTED)
        if existing is not None:
            self._worker.stop_connector(name)
            fresh.target, fresh.task_configs = existing.target, existing.task_configs
            fresh.applied, fresh.applied_number = existing.applied, existing.applied_number
        fresh.target = initial or fresh.target
        self._registry.put(name, fresh)
        return self._begin(name, fresh)

    def _begin(self, name: str, found: ConnectorEntry) -> Callable[[], None]:
        coming = self._transition(name, found)

        def finish() -> None:
            if self._outcome(name, found, coming) is State.FAILED:
                raise ConnectError(f"Failed to transition connector {name} to state {found.target.value}")
            self._update_tasks(name)

        return finish

    def _transition(self, name: str, found: ConnectorEntry) -> Future[State]:
        """Start the connector object; the future brings the state it came to."""
        try:
            return self._worker.start_connector(
                name, found.config, found.target, self._connector_changed, self._reconfiguration(name)
            )
        except Exception as error:
            log.exception("Failed to start connector %s", name)
            self._connector_changed(name, State.FAILED, failure_trace(error, "WorkerConnector"))
            raise

    def _outcome(self, name: str, found: ConnectorEntry, coming: Future[State]) -> State:
        """Wait for the state that a connector comes to, as long as it is the one that was started."""
        while not wait([coming], _LOOK_SECONDS).done:
            if self._ended.is_set() or not self._registry.holds(name, found):
                raise ConnectError(f"Connector {name} was changed, restarted or deleted while it was starting")
        return coming.result()

    def _set_target(self, name: str, target: TargetState) -> None:
        with self._registry.operation(name):
            found = self._registry.get(name, f"Unknown connector {name}")
            found.target = target
            coming = self._worker.set_target_state(name, target)
        if coming is not None and target is TargetState.STARTED:
            plan = self._reconfiguration(name)
            coming.add_done_callback(lambda done: plan() if done.result() is State.RUNNING else None)

    # Tasks

    def _reconfiguration(self, name: str) -> Callable[[], None]:
        # On a separate thread: the connector that requests it must not wait for itself, nor the process for it.
        plan = partial(self._update_tasks, name)
        return lambda: threading.Thread(target=plan, name=f"reconfigure-{name}", daemon=True).start()

    def _update_tasks(self, name: str) -> None:
        """Ask for task configurations; tasks restart when they changed, or when the connector's own did."""
        found = self._registry.find(name)
        if found is None or found.target is not TargetState.STARTED:
            return
        with self._registry.operation(name):
            found.plans += 1
            plan = found.plans
        try:
            wanted = self._worker.task_configs(name).result(_PLAN_SECONDS)
        except Exception as error:
            log.exception("Failed to reconfigure connector's tasks (%s)", name)
            if self._registry.holds(name, found):
                self._worker.fail_connector(name, error)
            return
        with self._registry.operation(name):
            if self._is_current(name, found, plan):
                found.applied_plan = plan
                self._apply_tasks(name, found, wanted)

    def _is_current(self, name: str, found: ConnectorEntry, plan: int) -> bool:
        """Return whether a plan may be carried out: nothing has overtaken it."""
        wanted = found.target is TargetState.STARTED and plan > found.applied_plan
        return wanted and self._registry.holds(name, found) and not self._ended.is_set()

    def _apply_tasks(self, name: str, found: ConnectorEntry, wanted: list[dict[str, str]]) -> None:
        if wanted == found.task_configs and found.applied == found.config:
            return
        self._drop_tasks(name, found)
        found.task_configs, found.applied, found.applied_number = wanted, found.config, found.number
        for id in self._registry.tasks(name):
            self._start_task(id)

    def _drop_tasks(self, name: str, found: ConnectorEntry) -> None:
        self._worker.stop_tasks(self._registry.tasks(name))
        found.task_configs, found.applied, found.applied_number = [], None, None
        self._statuses.forget_tasks(name)

    def _start_task(self, id: TaskId) -> bool:
        """Start a task; one that cannot be made is FAILED. Return whether it was started."""
        found = self._registry.get(id.connector, f"Unknown connector: {id.connector}")
        listeners = TaskListeners(self._task_changed, self._topics_seen)
        try:
            self._worker.start_task(
                id,
                found.config,
                found.task_configs[id.task],
                found.target,
                listeners,
                tasks=len(found.task_configs),
            )
        except Exception as error:
            log.exception("Failed to start task %s", id)
            self._task_changed(id, State.FAILED, failure_trace(error, "WorkerTask"))
            return False
        return True

    # Reports of connectors and tasks

    def _connector_changed(self, name: str, state: State, trace: str | None) -> None:
        found = self._registry.find(name)
        version, number = (found.version, found.number) if found is not None else (None, None)
        self._statuses.connector_changed(name, state, trace and self._worker.masked(trace), version, number)

    def _task_changed(self, id: TaskId, state: State, trace: str | None) -> None:
        found = self._registry.find(id.connector)
        version, number = (found.version, found.applied_number) if found is not None else (None, None)
        if state in (State.UNASSIGNED, State.RESTARTING):
            version = None
        self._statuses.task_changed(id, state, trace and self._worker.masked(trace), version, number)

    def _topics_seen(self, id: TaskId, topics: set[str]) -> None:
        if self._worker.config.topic_tracking_enable:
            self._statuses.topics_seen(id.connector, topics)


def _quietly(start: Callable[[], None]) -> None:
    """Wait for a connector's start; one that fails is FAILED and logged."""
    with suppress(ConnectError):
        start()
