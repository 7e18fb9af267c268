"""Records of the status topic (Java: ``KafkaStatusBackingStore``), and the states and topics that follow from them.

Keys and values are Java's. A header, which Java's workers neither write nor read, has the version of the configuration
that a part was started with (docs/decisions/0027-the-configuration-that-runs.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from connect_dagster.java.jackson import from_json, to_json
from connect_dagster.protocol.config_records import task_of_key
from connect_dagster.protocol.states import State, Status, TaskId

CONNECTOR = "status-connector-"
TASK = "status-task-"
TOPIC = "status-topic-"
CONFIG_OFFSET_HEADER = "connect_dagster.config.offset"
_TOPIC_SEPARATOR = ":connector-"


@dataclass(frozen=True, slots=True)
class TopicUse:
    """A connector uses a topic.

    Attributes:
        topic: the topic.
        connector: who uses it.
        task: number of the task that used it first.
        discovered: when that was, in epoch milliseconds.
    """

    topic: str
    connector: str
    task: int
    discovered: int


def connector_key(connector: str) -> str:
    """Return the key of a connector's status."""
    return CONNECTOR + connector


def task_key(id: TaskId) -> str:
    """Return the key of a task's status."""
    return f"{TASK}{id.connector}-{id.task}"


def topic_key(connector: str, topic: str) -> str:
    """Return the key of a topic that a connector uses."""
    return f"{TOPIC}{topic}{_TOPIC_SEPARATOR}{connector}"


def task_of(key: str) -> TaskId | None:
    """Return the task of a key, split at the last ``-``; ``None`` when it names none."""
    return task_of_key(key, TASK)


def topic_of(key: str) -> tuple[str, str] | None:
    """Connector and topic of a key, ``None`` when it lacks one."""
    topic, _, connector = key.removeprefix(TOPIC).partition(_TOPIC_SEPARATOR)
    return (connector, topic) if topic and connector else None


def status_value(status: Status) -> bytes | None:
    """Return the value of a status; DESTROYED is a tombstone."""
    if status.state is State.DESTROYED:
        return None
    return to_json(
        {
            "state": status.state.value,
            "trace": status.trace,
            "worker_id": status.worker_id,
            "generation": status.generation,
            "version": status.version,
        }
    )


def status_headers(status: Status) -> list[tuple[str, bytes]]:
    """Return the headers of a status; none where the version of its configuration is not known."""
    known = status.config_offset is not None and status.state is not State.DESTROYED
    return [(CONFIG_OFFSET_HEADER, str(status.config_offset).encode())] if known else []


def parse_status(value: bytes) -> Status:
    """Return the status in a value; older workers write no version.

    Raises:
        ValueError: what is wrong with it.
    """
    content = _object(value)
    state, generation = content.get("state"), content.get("generation")
    if not isinstance(state, str) or state not in State.__members__:
        raise ValueError(f"'state' should be one of {', '.join(State.__members__)}, found {state!r}")
    worker, trace, version = (_text_or_null(content, name) for name in ("worker_id", "trace", "version"))
    return Status(State[state], worker or "", trace, version, _whole_number("generation", generation))


def topic_value(use: TopicUse) -> bytes:
    """Return the value of a topic that a connector uses."""
    inner = {"name": use.topic, "connector": use.connector, "task": use.task, "discoverTimestamp": use.discovered}
    return to_json({"topic": inner})


def parse_topic(value: bytes) -> TopicUse:
    """Return the topic in a value.

    Raises:
        ValueError: what is wrong with it.
    """
    inner = _object(value).get("topic")
    if not isinstance(inner, dict):
        raise ValueError(f"'topic' should be a JSON object, found {inner!r}")
    topic, connector = (_text_or_null(inner, name) or "" for name in ("name", "connector"))
    task, discovered = (_whole_number(name, inner.get(name)) for name in ("task", "discoverTimestamp"))
    return TopicUse(topic, connector, task, discovered)


def _config_offset(headers: Sequence[tuple[str, bytes]]) -> int | None:
    text = dict(headers).get(CONFIG_OFFSET_HEADER, b"")
    return int(text) if text.isdigit() else None


def _object(value: bytes) -> dict[str, Any]:
    content = from_json(value)
    if not isinstance(content, dict):
        raise ValueError(f"a JSON object expected, found {content!r}")
    return content


def _text_or_null(content: dict[str, Any], name: str) -> str | None:
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"'{name}' should be a text or null, found {value!r}")
    return value


def _whole_number(name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"'{name}' should be a whole number, found {value!r}")
    return value


class StatusTable:
    """Latest status of each connector and task, and the topics they use. Not safe to use from several threads."""

    def __init__(self) -> None:
        self.connectors: dict[str, Status] = {}
        self.tasks: dict[str, dict[int, Status]] = {}
        self.topics: dict[str, dict[str, TopicUse]] = {}

    def task(self, id: TaskId) -> Status | None:
        """Status of a task."""
        return self.tasks.get(id.connector, {}).get(id.task)

    def apply(self, key: str | None, value: bytes | None, headers: Sequence[tuple[str, bytes]] = ()) -> str | None:
        """Apply a record; return why it was skipped, ``None`` for a valid one.

        Args:
            key: its key.
            value: its value; ``None`` is a tombstone.
            headers: its headers.
        """
        offset = _config_offset(headers)
        try:
            match key or "":
                case key if key.startswith(CONNECTOR):
                    self._take_connector(key.removeprefix(CONNECTOR), value, offset)
                case key if key.startswith(TASK):
                    self._take_task(key, value, offset)
                case key if key.startswith(TOPIC):
                    self._take_topic(key, value)
                case _:
                    raise ValueError("no record of the status topic has such a key")
        except ValueError as error:
            return f"{key}: {error}"
        return None

    def _take_connector(self, connector: str, value: bytes | None, config_offset: int | None) -> None:
        if not connector:
            raise ValueError("the key names no connector")
        if value is not None:
            self.connectors[connector] = replace(parse_status(value), config_offset=config_offset)
            return
        self.connectors.pop(connector, None)
        self.tasks.pop(connector, None)

    def _take_task(self, key: str, value: bytes | None, config_offset: int | None) -> None:
        id = task_of(key)
        if id is None:
            raise ValueError("the key names no task")
        if value is None:
            self.tasks.get(id.connector, {}).pop(id.task, None)
            return
        status = replace(parse_status(value), config_offset=config_offset)
        if not _is_stale(status, self.task(id)):
            self.tasks.setdefault(id.connector, {})[id.task] = status

    def _take_topic(self, key: str, value: bytes | None) -> None:
        named = topic_of(key)
        if named is None:
            raise ValueError("the key names no topic or no connector")
        connector, topic = named
        if value is not None:
            self.topics.setdefault(connector, {})[topic] = parse_topic(value)
        elif connector in self.topics:
            self.topics[connector].pop(topic, None)


def may_write_safely(status: Status, current: Status | None) -> bool:
    """Return whether a report may replace the current one: no newer worker has reported (Java: ``CacheEntry``)."""
    return current is None or current.worker_id == status.worker_id or current.generation <= status.generation


def _is_stale(status: Status, current: Status | None) -> bool:
    """A former owner's UNASSIGNED that comes after the new owner's RUNNING."""
    return (
        status.state is State.UNASSIGNED
        and current is not None
        and current.state is State.RUNNING
        and current.generation >= status.generation
    )
