"""The connectors of a standalone herder, the operations that may change them, and their statuses, all in memory.

One operation at a time for each connector, and none waits for another connector's. Whoever has to wait for a
connector's own code, which may block forever, does so outside of its operation, and then asks whether the connector is
still the one it was: every change of configuration and every restart makes a new one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from connect_dagster.errors import NotFoundError
from connect_dagster.herder.interface import ConnectorType
from connect_dagster.protocol.states import State, Status, TargetState, TaskId


@dataclass(slots=True, eq=False)
class ConnectorEntry:
    """A connector from one start to the next.

    Attributes:
        config: the configuration as the user gave it.
        number: of this configuration, counted over all connectors since the worker's start.
        type: the direction.
        version: of the connector's class.
        target: what the user wants of it.
        task_configs: configurations of its tasks.
        applied: the connector's configuration that the tasks were started with.
        applied_number: its number.
        plans: how often its tasks were planned.
        applied_plan: the latest of these plans that was carried out.
    """

    config: dict[str, str]
    number: int
    type: ConnectorType
    version: str
    target: TargetState
    task_configs: list[dict[str, str]] = field(default_factory=list)
    applied: dict[str, str] | None = None
    applied_number: int | None = None
    plans: int = 0
    applied_plan: int = 0


class Registry:
    """Connectors by name; safe to use from any thread."""

    def __init__(self) -> None:
        self._connectors: dict[str, ConnectorEntry] = {}
        self._operations: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._lock = threading.Lock()

    @contextmanager
    def operation(self, name: str) -> Iterator[None]:
        """Wait until no other operation on this connector is under way, and keep others from it."""
        with self._lock:
            mine = self._operations.setdefault(name, threading.RLock())
        with mine:
            yield

    def names(self) -> list[str]:
        """Return the names of all connectors, sorted."""
        with self._lock:
            return sorted(self._connectors)

    def find(self, name: str) -> ConnectorEntry | None:
        """Return the connector as it is now."""
        return self._connectors.get(name)

    def get(self, name: str, otherwise: str) -> ConnectorEntry:
        """Return the connector as it is now. Raises NotFoundError with the text given."""
        found = self._connectors.get(name)
        if found is None:
            raise NotFoundError(otherwise)
        return found

    def holds(self, name: str, entry: ConnectorEntry) -> bool:
        """Return whether the connector is still this one."""
        return self._connectors.get(name) is entry

    def put(self, name: str, entry: ConnectorEntry) -> None:
        """Add or replace a connector."""
        with self._lock:
            self._connectors[name] = entry

    def renew(self, name: str) -> ConnectorEntry:
        """Make and return a new entry of a connector that is about to start again."""
        with self._lock:
            fresh = self._connectors[name] = replace(self._connectors[name])
            return fresh

    def remove(self, name: str) -> None:
        """Forget a connector."""
        with self._lock:
            del self._connectors[name]

    def tasks(self, name: str) -> list[TaskId]:
        """Ids of a connector's tasks."""
        found = self._connectors.get(name)
        return [TaskId(name, number) for number in range(len(found.task_configs))] if found is not None else []


class StatusStore:
    """Latest status and active topics of each connector and task; safe to use from any thread.

    Java: ``MemoryStatusBackingStore``.
    """

    def __init__(self, worker_id: str) -> None:
        self._worker_id = worker_id
        self._connectors: dict[str, Status] = {}
        self._tasks: dict[TaskId, Status] = {}
        self._topics: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def connector(self, name: str) -> Status | None:
        """Status of a connector."""
        return self._connectors.get(name)

    def task(self, id: TaskId) -> Status | None:
        """Status of a task."""
        return self._tasks.get(id)

    def tasks(self, connector: str) -> tuple[tuple[int, Status], ...]:
        """Statuses of a connector's tasks, by number."""
        with self._lock:
            return tuple((id.task, self._tasks[id]) for id in sorted(self._tasks) if id.connector == connector)

    def connector_changed(
        self, name: str, state: State, trace: str | None, version: str | None = None, config_offset: int | None = None
    ) -> None:
        """Take a report of a connector."""
        with self._lock:
            self._connectors[name] = Status(state, self._worker_id, trace, version, config_offset=config_offset)

    def task_changed(
        self, id: TaskId, state: State, trace: str | None, version: str | None = None, config_offset: int | None = None
    ) -> None:
        """Take a report of a task."""
        with self._lock:
            self._tasks[id] = Status(state, self._worker_id, trace, version, config_offset=config_offset)

    def forget(self, connector: str) -> None:
        """Forget a deleted connector with its tasks and topics."""
        with self._lock:
            self._connectors.pop(connector, None)
            self._topics.pop(connector, None)
        self.forget_tasks(connector)

    def forget_tasks(self, connector: str) -> None:
        """Forget tasks that no longer exist."""
        with self._lock:
            for id in [id for id in self._tasks if id.connector == connector]:
                del self._tasks[id]

    def topics(self, connector: str) -> list[str]:
        """Active topics of a connector, sorted."""
        with self._lock:
            return sorted(self._topics.get(connector, ()))

    def topics_seen(self, connector: str, topics: set[str]) -> None:
        """Add active topics."""
        with self._lock:
            self._topics.setdefault(connector, set()).update(topics)

    def reset_topics(self, connector: str) -> None:
        """Forget the active topics."""
        with self._lock:
            self._topics.pop(connector, None)
