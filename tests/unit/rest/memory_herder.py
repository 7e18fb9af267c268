"""A herder whose connectors are entries of a dictionary: enough to see what the routes ask and answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from connect_dagster.errors import AlreadyExistsError, BadRequestError, NotFoundError
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
    StoredConfig,
    TaskInfo,
)
from connect_dagster.plugin.config import ConfigKey, ConfigTable, Type, config_infos, key_info
from connect_dagster.plugin.samples import Windows
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.worker.metrics.families import Family
from connect_dagster.worker.metrics.worker_metrics import WorkerMetrics

WORKER_ID = "127.0.0.1:8083"
RUNNING = Status(State.RUNNING, WORKER_ID, version="4.3.1")
STATE_OF = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}


class MemoryHerder(Herder):
    """Every connector is a source with one task; errors are worded as Java's standalone herder words them."""

    def __init__(self) -> None:
        self.configs: dict[str, dict[str, str]] = {}
        self.targets: dict[str, TargetState] = {}
        self.task_states: dict[TaskId, Status] = {}
        self.stored: dict[str, StoredConfig] = {}
        self.topics: dict[str, list[str]] = {}
        self.offsets: dict[str, list[ConnectorOffset]] = {}
        self.levels = {"root": LoggerLevel("INFO", None), "a.b": LoggerLevel("DEBUG", 7)}
        self.restarts: list[RestartRequest | TaskId | str] = []
        self.report = HealthReport(Health.HEALTHY, "Worker is ready.")
        self.tracking = (True, True)
        self.measured = WorkerMetrics(WORKER_ID, Windows())

    def server_info(self) -> ServerInfo:
        return ServerInfo("4.3.1", "26b251a451ce941d", "cluster")

    def health(self) -> HealthReport:
        return self.report

    def progress(self) -> dict[str, Any]:
        return {str(task): {"batchId": 3} for task in self.task_states}

    def metrics(self) -> Sequence[Family]:
        return self.measured.families("4.3.1", "26b251a451ce941d")

    def connectors(self) -> list[str]:
        return sorted(self.configs)

    def connector_info(self, name: str) -> ConnectorInfo:
        self._require(name, f"Connector {name} not found")
        return ConnectorInfo(name, self.configs[name], (TaskId(name, 0),), ConnectorType.SOURCE)

    def connector_status(self, name: str) -> ConnectorStatus:
        self._require(name, f"No status found for connector {name}")
        state = Status(STATE_OF[self.targets[name]], WORKER_ID, version="4.3.1")
        return ConnectorStatus(name, state, ((0, self.task_states[TaskId(name, 0)]),), ConnectorType.SOURCE)

    def stored_config(self, name: str) -> StoredConfig:
        self._require(name, f"Connector {name} not found")
        tasks = tuple(task for task in self.task_states if task.connector == name)
        return self.stored.get(name) or StoredConfig(1, 2, tasks, planned=True)

    def task_status(self, task: TaskId) -> Status:
        if task not in self.task_states:
            raise NotFoundError(f"No status found for task {task}")
        return self.task_states[task]

    def tasks(self, name: str) -> list[TaskInfo]:
        return [TaskInfo(TaskId(name, 0), self.connector_info(name).config)]

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        if "connector.class" not in config:
            raise BadRequestError("Connector config {} contains no connector type")
        if (exists := name in self.configs) and not allow_replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        self.configs[name] = {key: value for key, value in config.items() if value is not None}
        self.targets[name] = initial or self.targets.get(name, TargetState.STARTED)
        self.task_states[TaskId(name, 0)] = RUNNING
        return Created(self.connector_info(name), not exists)

    def patch_connector(self, name: str, patch: ConnectorConfig) -> ConnectorInfo:
        merged = {**self.connector_info(name).config, **patch}
        return self.put_connector(name, merged, allow_replace=True).info

    def delete_connector(self, name: str) -> None:
        self._require(name, f"Connector {name} not found")
        del self.configs[name], self.targets[name], self.task_states[TaskId(name, 0)]

    def restart_connector(self, name: str) -> None:
        self._require(name, f"Connector {name} not found")
        self.restarts.append(name)

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        self._require(request.connector, f"Unknown connector: {request.connector}")
        self.restarts.append(request)
        return self.connector_status(request.connector)

    def restart_task(self, task: TaskId) -> None:
        self.task_status(task)
        self.restarts.append(task)

    def pause_connector(self, name: str) -> None:
        self._aim(name, TargetState.PAUSED)

    def resume_connector(self, name: str) -> None:
        self._aim(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> None:
        self._aim(name, TargetState.STOPPED)

    def active_topics(self, name: str) -> list[str]:
        return self.topics.get(name, [])

    def reset_active_topics(self, name: str) -> None:
        self.topics.pop(name, None)

    @property
    def topic_tracking(self) -> tuple[bool, bool]:
        return self.tracking

    def connector_offsets(self, name: str) -> list[ConnectorOffset]:
        self._require(name, f"Connector {name} not found")
        return self.offsets.get(name, [])

    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        self._require(name, f"Connector {name} not found")
        self.offsets[name] = list(offsets)
        return "altered"

    def reset_connector_offsets(self, name: str) -> str:
        self._require(name, f"Connector {name} not found")
        self.offsets.pop(name, None)
        return "reset"

    def plugins(self, *, connectors_only: bool) -> list[PluginInfo]:
        sink, converter = PluginInfo("x.Sink", "sink", "4.3.1"), PluginInfo("x.Conv", "converter", None)
        return [sink] if connectors_only else [sink, converter]

    def plugin_config(self, name: str, version: str | None = None) -> list[dict[str, Any]]:
        self.asked_version = version
        return [key_info(ConfigKey(name, Type.STRING))]

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        if "connector.class" not in config:
            raise BadRequestError("Connector config {} contains no connector type")
        table = ConfigTable((ConfigKey("topic", Type.STRING, None),))
        return config_infos(config["connector.class"] or "", table, table.validate_all(config))

    def loggers(self) -> dict[str, LoggerLevel]:
        return self.levels

    def logger(self, name: str) -> LoggerLevel:
        if name not in self.levels:
            raise NotFoundError(f"Logger {name} not found.")
        return self.levels[name]

    def set_logger_level(self, namespace: str, level: str) -> list[str]:
        self.levels[namespace] = LoggerLevel(level, 1)
        return [namespace]

    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        self.levels[namespace] = LoggerLevel(level, 1)

    def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], signature: RequestSignature | None
    ) -> None:
        self._require(name, f"Connector {name} not found")
        self.published = (name, [dict(config) for config in configs], signature)

    def fence_zombies(self, name: str, signature: RequestSignature | None) -> None:
        self._require(name, f"Connector {name} not found")
        self.fenced = (name, signature)

    def _aim(self, name: str, target: TargetState) -> None:
        self._require(name, f"Unknown connector {name}")
        self.targets[name] = target

    def _require(self, name: str, otherwise: str) -> None:
        if name not in self.configs:
            raise NotFoundError(otherwise)
