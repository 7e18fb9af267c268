"""Records of the status topic (Java: ``KafkaStatusBackingStore``): states of connectors and tasks, topics in use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from connect_dagster.java.jackson import from_json, to_json
from connect_dagster.protocol.config_records import task_of_key
from connect_dagster.protocol.states import State, Status, TaskId

CONNECTOR = "status-connector-"
TASK = "status-task-"
TOPIC = "status-topic-"
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
    """Key of a connector's status."""
    return CONNECTOR + connector


def task_key(id: TaskId) -> str:
    """Key of a task's status."""
    return f"{TASK}{id.connector}-{id.task}"


def topic_key(connector: str, topic: str) -> str:
    """Key of a topic that a connector uses."""
    return f"{TOPIC}{topic}{_TOPIC_SEPARATOR}{connector}"


def task_of(key: str) -> TaskId | None:
    """The task of a key, split at the last ``-``; ``None`` when it names none."""
    return task_of_key(key, TASK)


def topic_of(key: str) -> tuple[str, str] | None:
    """Connector and topic of a key, ``None`` when it lacks one."""
    topic, _, connector = key.removeprefix(TOPIC).partition(_TOPIC_SEPARATOR)
    return (connector, topic) if topic and connector else None


def status_value(status: Status) -> bytes | None:
    """Value of a status; DESTROYED is a tombstone."""
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


def parse_status(value: bytes) -> Status:
    """The status in a value; older workers write no version.

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
    """Value of a topic that a connector uses."""
    inner = {"name": use.topic, "connector": use.connector, "task": use.task, "discoverTimestamp": use.discovered}
    return to_json({"topic": inner})


def parse_topic(value: bytes) -> TopicUse:
    """The topic in a value.

    Raises:
        ValueError: what is wrong with it.
    """
    inner = _object(value).get("topic")
    if not isinstance(inner, dict):
        raise ValueError(f"'topic' should be a JSON object, found {inner!r}")
    topic, connector = (_text_or_null(inner, name) or "" for name in ("name", "connector"))
    task, discovered = (_whole_number(name, inner.get(name)) for name in ("task", "discoverTimestamp"))
    return TopicUse(topic, connector, task, discovered)


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
