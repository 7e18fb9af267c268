"""A Connect worker without connectors' code: our REST API, really served, on connectors that do what a test tells them.

with connect_server() as server:
    server.create("lines", file="/tmp/in.txt", topic="lines")
    server.herder.fail("lines", trace="java.io.IOException: disk full")
    server.workspace.get_client().status("lines")
    assert server.herder.restarts == []
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.errors import BadRequestError
from connect_dagster.herder.interface import (
    ConnectorConfig,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStatus,
    ConnectorType,
    Created,
    RebalanceNeededError,
    RestartRequest,
    TaskInfo,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.config import ConfigKey, ConfigTable, Type, config_infos, key_info
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from tests.unit.rest.memory_herder import STATE_OF, WORKER_ID, MemoryHerder
from tests.unit.rest.serving import serving

NOT_STOPPED = "Connectors must be in the STOPPED state before their offsets can be modified."
CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
# What a test gives for a key matters to nobody; a connector without `file` is refused, the password is secret.
KNOWN_KEYS = ConfigTable(
    (
        ConfigKey("file", Type.STRING),
        ConfigKey("topic", Type.STRING, None),
        ConfigKey("connection.pin", Type.PASSWORD, None),
    )
)


class DrivenHerder(MemoryHerder):
    """Connectors with ``tasks.max`` tasks, which follow what is asked at once, unless told otherwise.

    Attributes:
        stuck: Names of connectors that stay where they are, whatever is asked of them.
        incurable: Tasks that fail again whenever they are restarted.
        connector_failures: Traces of connectors that FAILED themselves, by name.
        rebalancing: How many more requests for a connector's configuration or offsets are answered by 409.
        asked: The states connectors were asked for after they were created, with their names.
        looks: How often any status was asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stuck: set[str] = set()
        self.incurable: set[TaskId] = set()
        self.connector_failures: dict[str, str] = {}
        self.rebalancing = 0
        self.asked: list[tuple[str, TargetState]] = []
        self.looks = 0

    def fail(self, name: str, task: int = 0, *, trace: str = "ConnectException: boom", forever: bool = False) -> None:
        """Let a task fail; ``forever`` means that restarts do not help."""
        self.task_states[TaskId(name, task)] = Status(State.FAILED, WORKER_ID, trace)
        if forever:
            self.incurable.add(TaskId(name, task))

    def heal(self, name: str) -> None:
        """All tasks run again, as if somebody had restarted them."""
        self.incurable = {task for task in self.incurable if task.connector != name}
        self._start_tasks(name)

    def connector_info(self, name: str) -> ConnectorInfo:
        self._require_balance()
        self._require(name, f"Connector {name} not found")
        return ConnectorInfo(name, self.configs[name], tuple(self._tasks(name)), self._direction(name))

    def connector_status(self, name: str) -> ConnectorStatus:
        self.looks += 1
        self._require(name, f"No status found for connector {name}")
        state = Status(STATE_OF[self.targets[name]], WORKER_ID, version="4.3.1")
        if name in self.connector_failures:
            state = Status(State.FAILED, WORKER_ID, self.connector_failures[name])
        tasks = tuple((task.task, self.task_states[task]) for task in self._tasks(name))
        return ConnectorStatus(name, state, tasks, self._direction(name))

    def tasks(self, name: str) -> list[TaskInfo]:
        return [TaskInfo(task, self.configs[name]) for task in self._tasks(name)]

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        created = super().put_connector(name, config, initial, allow_replace=allow_replace).created
        self._start_tasks(name)
        return Created(self.connector_info(name), created)

    def delete_connector(self, name: str) -> None:
        self._require(name, f"Connector {name} not found")
        if name in self.stuck:
            return
        for task in self._tasks(name):
            del self.task_states[task]
        del self.configs[name], self.targets[name]

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        name = request.connector
        before = super().restart_connector_and_tasks(request)
        self.connector_failures.pop(name, None)
        if request.include_tasks and name not in self.stuck:
            for task in self._tasks(name):
                if task not in self.incurable and not self._is_spared(task, request):
                    self.task_states[task] = Status(STATE_OF[self.targets[name]], WORKER_ID, version="4.3.1")
        return before

    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        self._require_stopped(name)
        given = {str(entry.partition): entry for entry in offsets}
        kept = [entry for entry in self.offsets.get(name, []) if str(entry.partition) not in given]
        self.offsets[name] = [*kept, *(entry for entry in given.values() if entry.offset is not None)]
        return f"The offsets of {name} have been altered successfully"

    def reset_connector_offsets(self, name: str) -> str:
        self._require_stopped(name)
        self.offsets.pop(name, None)
        return f"The offsets of {name} have been reset successfully"

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        return config_infos(config.get("connector.class") or "", KNOWN_KEYS, KNOWN_KEYS.validate_all(config))

    def _aim(self, name: str, target: TargetState) -> None:
        self._require(name, f"Unknown connector {name}")
        self.asked.append((name, target))
        if name in self.stuck:
            return
        former, self.targets[name] = self.targets[name], target
        if TargetState.STOPPED in (former, target):
            self._start_tasks(name)
        for task in self._tasks(name):
            if self.task_states[task].state is not State.FAILED:
                self.task_states[task] = replace(self.task_states[task], state=STATE_OF[target])

    def _start_tasks(self, name: str) -> None:
        for task in self._tasks(name):
            del self.task_states[task]
        target = self.targets[name]
        count = 0 if target is TargetState.STOPPED else int(self.configs[name].get("tasks.max", "1"))
        for number in range(count):
            self.task_states[TaskId(name, number)] = Status(STATE_OF[target], WORKER_ID, version="4.3.1")

    def _tasks(self, name: str) -> list[TaskId]:
        return sorted(task for task in self.task_states if task.connector == name)

    def _is_spared(self, task: TaskId, request: RestartRequest) -> bool:
        return request.only_failed and self.task_states[task].state is not State.FAILED

    def _direction(self, name: str) -> ConnectorType:
        config = self.configs[name]
        is_mirror = "Mirror" in (config.get("connector.class") or "")
        return ConnectorType.SINK if "topics" in config and not is_mirror else ConnectorType.SOURCE

    def _require_balance(self) -> None:
        if self.rebalancing > 0:
            self.rebalancing -= 1
            raise RebalanceNeededError

    def _require_stopped(self, name: str) -> None:
        self._require_balance()
        self._require(name, f"Connector {name} not found")
        if self.targets[name] is not TargetState.STOPPED:
            raise BadRequestError(NOT_STOPPED)


@dataclass(frozen=True, slots=True)
class ConnectServer:
    """A served worker: `herder` for what happens to its connectors, `workspace` to reach it as a user does."""

    herder: DrivenHerder
    workspace: KafkaConnectWorkspace

    def create(self, name: str, state: TargetState = TargetState.STARTED, **config: str) -> dict[str, str]:
        """Create a connector behind Dagster's back; `_` in keys stands for `.`. Answers its configuration."""
        keys = {key.replace("_", "."): value for key, value in config.items()}
        whole = {"name": name, "connector.class": CLASS, "tasks.max": "1", "file": "/tmp/in.txt", **keys}
        self.herder.put_connector(name, whole, state, allow_replace=False)
        return whole


def pin_is_secret(name: str, version: str | None = None) -> list[dict[str, Any]]:
    """How a plugin defines its keys; takes the place of a herder's ``plugin_config``."""
    return [key_info(key) for key in KNOWN_KEYS]


@contextmanager
def connect_server(**workspace: Any) -> Iterator[ConnectServer]:
    """A worker without connectors on a free port, and a workspace that waits for it but briefly.

    Args:
        workspace: Fields of the workspace that differ.
    """
    herder = DrivenHerder()
    with serving(herder) as server:
        url = f"http://127.0.0.1:{server.ports[0]}"
        quick: dict[str, Any] = {"url": url, "request_max_retries": 0, "poll_interval": 0.02, "poll_timeout": 2.0}
        yield ConnectServer(herder, KafkaConnectWorkspace(**quick | workspace))
