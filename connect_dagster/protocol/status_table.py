"""The content of the status topic, record after record (Java: ``KafkaStatusBackingStore.read``)."""

from __future__ import annotations

from connect_dagster.protocol import status_records as records
from connect_dagster.protocol.states import State, Status, TaskId
from connect_dagster.protocol.status_records import TopicUse


class StatusTable:
    """Latest status of each connector and task, and the topics they use. Not safe to use from several threads."""

    def __init__(self) -> None:
        self.connectors: dict[str, Status] = {}
        self.tasks: dict[str, dict[int, Status]] = {}
        self.topics: dict[str, dict[str, TopicUse]] = {}

    def task(self, id: TaskId) -> Status | None:
        """Status of a task."""
        return self.tasks.get(id.connector, {}).get(id.task)

    def apply(self, key: str | None, value: bytes | None) -> str | None:
        """Take a record; answers why it was left out, ``None`` when it was understood.

        Args:
            key: its key.
            value: its value; ``None`` is a tombstone.
        """
        try:
            match key or "":
                case key if key.startswith(records.CONNECTOR):
                    self._take_connector(key.removeprefix(records.CONNECTOR), value)
                case key if key.startswith(records.TASK):
                    self._take_task(key, value)
                case key if key.startswith(records.TOPIC):
                    self._take_topic(key, value)
                case _:
                    raise ValueError("no record of the status topic has such a key")
        except ValueError as error:
            return f"{key}: {error}"
        return None

    def _take_connector(self, connector: str, value: bytes | None) -> None:
        if not connector:
            raise ValueError("the key names no connector")
        if value is not None:
            self.connectors[connector] = records.parse_status(value)
            return
        self.connectors.pop(connector, None)
        self.tasks.pop(connector, None)

    def _take_task(self, key: str, value: bytes | None) -> None:
        id = records.task_of(key)
        if id is None:
            raise ValueError("the key names no task")
        if value is None:
            self.tasks.get(id.connector, {}).pop(id.task, None)
            return
        status = records.parse_status(value)
        if not _is_stale(status, self.task(id)):
            self.tasks.setdefault(id.connector, {})[id.task] = status

    def _take_topic(self, key: str, value: bytes | None) -> None:
        named = records.topic_of(key)
        if named is None:
            raise ValueError("the key names no topic or no connector")
        connector, topic = named
        if value is not None:
            self.topics.setdefault(connector, {})[topic] = records.parse_topic(value)
        elif connector in self.topics:
            self.topics[connector].pop(topic, None)


def may_write_safely(status: Status, current: Status | None) -> bool:
    """Return whether a report may replace the current one: nobody newer has reported since (Java: ``CacheEntry``)."""
    return current is None or current.worker_id == status.worker_id or current.generation <= status.generation


def _is_stale(status: Status, current: Status | None) -> bool:
    """A former owner's UNASSIGNED that comes after the new owner's RUNNING."""
    return (
        status.state is State.UNASSIGNED
        and current is not None
        and current.state is State.RUNNING
        and current.generation >= status.generation
    )
