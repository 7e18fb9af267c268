"""The herder of a group of workers, as the REST API asks it (Java: ``DistributedHerder``).

A request that depends on who leads or on what runs where is run on the herder's thread (``group_driver``). Reads are
answered from this worker's view of the internal topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import NoReturn, TypeVar

from connect_dagster.errors import AlreadyExistsError, ConnectError, NotFoundError
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.distributed.group_driver import GroupDriver
from connect_dagster.herder.interface import (
    ConnectorConfig,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStatus,
    ConnectorType,
    Created,
    Health,
    HealthReport,
    NotAssignedError,
    NotLeaderError,
    RebalanceNeededError,
    RestartRequest,
    ServerInfo,
    StoredConfig,
    TaskInfo,
    without_nulls,
)
from connect_dagster.herder.restart_plan import plan_restart
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.herder.worker_herder import WorkerHerder, connector_type, refuse_until_stopped
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.group_structs import ConnectProtocol
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.protocol.work import Work
from connect_dagster.storage.topic_log import NotPermittedError
from connect_dagster.worker.worker import Worker

T = TypeVar("T")

_READ_SECONDS = 10.0


class DistributedHerder(WorkerHerder):
    """The operations of a group of workers.

    Args:
        worker: runs connectors and tasks.
        validator: checks configurations.
        editor: reads and edits committed offsets.
        server: response of ``GET /``.
        group: this worker's part of the group.
    """

    def __init__(
        self, worker: Worker, validator: Validator, editor: OffsetEditor, server: ServerInfo, group: GroupDriver
    ) -> None:
        super().__init__(worker, validator, server)
        self._editor = editor
        self._group = group
        self._configs = group.configs
        self._statuses = group.statuses
        self._stages = group.stages

    def start(self) -> None:
        """Join the group on the herder's thread: returns at once."""
        self._group.start()

    def stop(self) -> None:
        """Stop all connectors and tasks, and leave the group."""
        self._group.stop()

    @property
    def failure(self) -> Exception | None:
        """Return the error that has ended the herder's thread."""
        return self._group.failure

    def stage(self) -> str | None:
        return self._stages.summary

    # Server

    def health(self) -> HealthReport:
        if not self._group.ready:
            return HealthReport(Health.STARTING, f"Worker is still starting up. {self._stages.summary}")
        self._ask(lambda: None)
        return HealthReport(Health.HEALTHY, "Worker has completed startup and is ready to handle requests.")

    # Reading

    def connectors(self) -> list[str]:
        return sorted(self._configs.snapshot().connectors())

    def connector_info(self, name: str) -> ConnectorInfo:
        def answer() -> ConnectorInfo:
            self._check_rebalance()
            return self._info(name, self._group.config)

        return self._ask(answer)

    def known_connector_info(self, name: str) -> ConnectorInfo:
        return self._info(name, self._configs.snapshot())

    def connector_status(self, name: str) -> ConnectorStatus:
        return self._group.connector_status(name)

    def stored_config(self, name: str) -> StoredConfig:
        try:
            self._configs.refresh(_READ_SECONDS)
        except TimeoutError as error:
            raise ConnectError(f"The config topic cannot be read to its end: {error}") from error
        stored = self._configs.snapshot()
        _require(stored, name)
        return StoredConfig(
            stored.config_offset(name),
            stored.commit_offset(name),
            tuple(stored.tasks(name)),
            stored.has_planned_tasks(name),
        )

    def task_status(self, task: TaskId) -> Status:
        status = self._statuses.task(task)
        if status is None:
            raise NotFoundError(f"No status found for task {task}")
        return status

    def tasks(self, name: str) -> list[TaskInfo]:
        def answer() -> list[TaskInfo]:
            self._check_rebalance()
            _require(self._group.config, name)
            configs = self._group.config.all_task_configs(name)
            return [TaskInfo(id, without_nulls(config)) for id, config in configs.items()]

        return self._ask(answer)

    # Changing

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        self._validator.check(config)
        return self._ask(lambda: self._put(name, config, initial, allow_replace=allow_replace))

    def patch_connector(self, name: str, patch: ConnectorConfig) -> ConnectorInfo:
        def patched() -> dict[str, str]:
            self._require_leader("Only the leader can set connector configs.")
            return without_nulls({**self._info(name, self._configs.snapshot()).config, **patch})

        merged = self._ask(patched)
        return self.put_connector(name, merged, allow_replace=True).info

    def delete_connector(self, name: str) -> None:
        def delete() -> None:
            self._require_leader("Only the leader can delete connector configs.")
            _require(self._configs.snapshot(), name)
            with self._stages(f"removing the config for connector {name} from the config topic"):
                self._configs.remove_connector(name)

        self._ask(delete)

    def pause_connector(self, name: str) -> None:
        self._set_target(name, TargetState.PAUSED)

    def resume_connector(self, name: str) -> None:
        self._set_target(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> None:
        def stop() -> None:
            if not self._configs.contains(name):
                raise NotFoundError(f"Unknown connector {name}")
            self._require_leader("Only the leader can transition connectors to the STOPPED state.")
            # In this order a failure in between leaves a running connector without tasks, which heals by itself.
            self._group.reconfigurer.write(name, [])
            with self._stages(f"writing the STOPPED target stage for connector {name} to the config topic"):
                self._configs.put_target_state(name, TargetState.STOPPED)
            self._group.refresh()

        self._ask(stop)

    def restart_connector(self, name: str) -> None:
        def restart() -> Future[State]:
            self._check_rebalance()
            if not self._group.config.contains(name):
                raise NotFoundError(f"Unknown connector: {name}")
            if name not in self._group.state.owned.connectors:
                self._not_mine("connector", self._group.owners.connectors.get(name))
            with self._stages(f"stopping restarted connector {name}"):
                self._group.work.stop(Work((name,)))
            return self._group.work.start_connector(name, self._group.config)

        if self._group.result(self._ask(restart)) is State.FAILED:
            raise ConnectError(f"Failed to start connector: {name}")

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        def restart() -> ConnectorStatus:
            self._check_rebalance()
            if not self._group.config.contains(request.connector):
                raise NotFoundError(f"Unknown connector: {request.connector}")
            self._require_leader("Only the leader can process restart requests.")
            with self._stages(f"writing restart request for connector {request.connector} to the config topic"):
                self._configs.put_restart_request(request.connector, request.only_failed, request.include_tasks)
            if self._statuses.connector(request.connector) is None:
                raise NotFoundError(f"Status for connector {request.connector} not found")
            return plan_restart(request, self.connector_status(request.connector)).status

        return self._ask(restart)

    def restart_task(self, task: TaskId) -> None:
        def restart() -> None:
            self._check_rebalance()
            if not self._group.config.contains(task.connector):
                raise NotFoundError(f"Unknown connector: {task.connector}")
            if self._group.config.task_config(task) is None:
                raise NotFoundError(f"Unknown task: {task}")
            if task not in self._group.state.owned.tasks:
                self._not_mine("task", self._group.owners.tasks.get(task))
            with self._stages(f"restarting task {task}"):
                self._group.work.stop(Work(tasks=(task,)))
                if not self._group.work.start_task(task, self._group.config):
                    raise ConnectError(f"Failed to start task: {task}")

        self._ask(restart)

    # Requests of other workers of the group

    @property
    def requires_signature(self) -> bool:
        return self._group.state.protocol is ConnectProtocol.SESSIONED

    def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], signature: RequestSignature | None
    ) -> None:
        self._check_signature(signature)

        def put() -> None:
            self._require_leader("Only the leader may write task configurations.")
            _require(self._group.config, name)
            self._group.reconfigurer.write(name, configs)

        self._ask(put)

    def fence_zombies(self, name: str, signature: RequestSignature | None) -> None:
        self._check_signature(signature)
        with _conflict_without_lease():
            self._group.fencing.fence(name)

    # Topics

    def active_topics(self, name: str) -> list[str]:
        return self._statuses.topics(name)

    def reset_active_topics(self, name: str) -> None:
        self._statuses.reset_topics(name)

    # Offsets

    def connector_offsets(self, name: str) -> list[ConnectorOffset]:
        return self._editor.read(self._info(name, self._configs.snapshot()))

    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        with _conflict_without_lease():
            return self._editor.alter(self._without_writers(name), offsets)

    def reset_connector_offsets(self, name: str) -> str:
        with _conflict_without_lease():
            return self._editor.reset(self._without_writers(name))

    def _without_writers(self, name: str) -> ConnectorInfo:
        """Return a stopped connector whose former tasks can write no more, where they do so in transactions."""
        info = self._ask(lambda: self._stopped(name))
        if info.type is ConnectorType.SOURCE and self._worker.config.has_exactly_once_sources:
            self._group.fencing.fence(name)
            info = self._ask(lambda: self._stopped(name))
        return info

    def _stopped(self, name: str) -> ConnectorInfo:
        self._check_rebalance()
        self._require_leader("Only the leader can process external offsets modification requests")
        if not self._group.refresh():
            raise ConnectError("Failed to read to end of config topic before modifying connector offsets")
        info = self._info(name, self._group.config)
        if self._group.config.target_state(name) is not TargetState.STOPPED or self._group.config.task_count(name) != 0:
            refuse_until_stopped(name)
        return info

    # Loggers

    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        with _conflict_without_lease():
            self._configs.put_logger_level(namespace, level)

    # Parts of requests

    def _ask(self, action: Callable[[], T]) -> T:
        """Run an action on the herder's thread, and return its result."""
        with _conflict_without_lease():
            return self._group.ask(action)

    def _check_rebalance(self) -> None:
        # Owners and leader may be about to change.
        if self._group.rebalance_expected:
            raise RebalanceNeededError

    def _require_leader(self, otherwise: str) -> None:
        if not self._group.leads:
            raise NotLeaderError(otherwise, self._group.leader_url)

    def _not_mine(self, what: str, owner: str | None) -> NoReturn:
        text = f"Cannot restart {what} since it is not assigned to this member"
        if self._group.leads:
            raise NotAssignedError(text, owner)
        raise NotLeaderError(
            "Only the leader can process restart requests." if what == "connector" else text, self._group.leader_url
        )

    def _check_signature(self, signature: RequestSignature | None) -> None:
        if self.requires_signature:
            self._group.keys.check(signature, self._configs.snapshot().session_key)

    def _put(self, name: str, config: ConnectorConfig, initial: TargetState | None, *, allow_replace: bool) -> Created:
        self._require_leader("Only the leader can set connector configs.")
        exists = self._configs.contains(name)
        if exists and not allow_replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        with self._stages(f"writing a config for connector {name} to the config topic"):
            self._configs.put_connector(name, config, initial)
        texts = without_nulls(config)
        tasks = tuple(self._configs.snapshot().tasks(name))
        return Created(ConnectorInfo(name, texts, tasks, self._type(texts)), not exists)

    def _set_target(self, name: str, target: TargetState) -> None:
        if not self._configs.contains(name):
            raise NotFoundError(f"Unknown connector {name}")
        with _conflict_without_lease():
            self._configs.put_target_state(name, target)

    def _info(self, name: str, state: ClusterConfigState) -> ConnectorInfo:
        config = without_nulls(_require(state, name))
        return ConnectorInfo(name, config, tuple(state.tasks(name)), self._type(config))

    def _type(self, config: Mapping[str, str | None] | None) -> ConnectorType:
        return connector_type(self._worker.plugins, config)


@contextmanager
def _conflict_without_lease() -> Iterator[None]:
    """Reply 409, as during a rebalance, when this worker has lost its place in the group."""
    try:
        yield
    except NotPermittedError as error:
        raise RebalanceNeededError from error


def _require(state: ClusterConfigState, name: str) -> Mapping[str, str | None]:
    config = state.connector_config(name)
    if config is None:
        raise NotFoundError(f"Connector {name} not found")
    return config
