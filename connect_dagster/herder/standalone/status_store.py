"""Statuses and active topics in memory (Java: ``MemoryStatusBackingStore``)."""

from __future__ import annotations

import threading

from connect_dagster.protocol.states import State, Status, TaskId


class StatusStore:
    """Latest status of each connector and task; safe to use from any thread."""

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

    def connector_changed(self, name: str, state: State, trace: str | None, version: str | None = None) -> None:
        """Take a report of a connector."""
        with self._lock:
            self._connectors[name] = Status(state, self._worker_id, trace, version)

    def task_changed(self, id: TaskId, state: State, trace: str | None, version: str | None = None) -> None:
        """Take a report of a task."""
        with self._lock:
            self._tasks[id] = Status(state, self._worker_id, trace, version)

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
