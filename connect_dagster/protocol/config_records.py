"""Records of the config topic: keys and values as Kafka Connect writes them (Java: ``KafkaConfigBackingStore``).

Values are JSON objects without a schema. ``config_state`` applies the records.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from connect_dagster.java.jackson import to_json
from connect_dagster.protocol.states import TargetState, TaskId

TARGET_STATE = "target-state-"
CONNECTOR = "connector-"
TASK = "task-"
COMMIT = "commit-"
RESTART = "restart-connector-"
FENCING = "tasks-fencing-"
SESSION_KEY = "session-key"
LOGGER = "logger-cluster-"
# A group's leader alone writes such records.
_OF_LEADERS = (CONNECTOR, TASK, COMMIT, RESTART, FENCING, SESSION_KEY)

_MAX_INT = 2**31 - 1
_MAX_DIGITS = len(str(_MAX_INT))


@dataclass(frozen=True, slots=True)
class SessionKey:
    """The key that workers of a group sign their requests with (KIP-507).

    Attributes:
        key: the secret bytes.
        algorithm: Java's name of the key's algorithm, such as ``HmacSHA256``.
        creation_timestamp: when it was made, in epoch milliseconds.
    """

    key: bytes
    algorithm: str
    creation_timestamp: int

    def __repr__(self) -> str:
        return f"SessionKey(key=[hidden], algorithm={self.algorithm!r}, creation_timestamp={self.creation_timestamp})"


def is_of_leader(key: str) -> bool:
    """Return whether the leader of a group alone writes records with the key (Java: ``sendPrivileged``)."""
    return key.startswith(_OF_LEADERS)


def target_state_key(connector: str) -> str:
    """Return the key of a connector's target state."""
    return TARGET_STATE + connector


def connector_key(connector: str) -> str:
    """Return the key of a connector's configuration."""
    return CONNECTOR + connector


def task_key(id: TaskId) -> str:
    """Return the key of a task's configuration."""
    return f"{TASK}{id.connector}-{id.task}"


def fencing_key(connector: str) -> str:
    """Return the key of the number of tasks of an exactly-once source that may have producers (KIP-618)."""
    return FENCING + connector


def fencing_value(tasks: int) -> bytes:
    """Return the value of that record."""
    return to_json({"task-count": tasks})


def commit_key(connector: str) -> str:
    """Return the key of the record that puts a connector's task configurations into force."""
    return COMMIT + connector


def restart_key(connector: str) -> str:
    """Return the key of a request to restart a connector."""
    return RESTART + connector


def logger_key(namespace: str) -> str:
    """Return the key of a logger's level in the whole group."""
    return LOGGER + namespace


def task_of_key(key: str, prefix: str = TASK) -> TaskId | None:
    """Return the task that a key names after its prefix, split at the last ``-``; ``None`` when it names none."""
    connector, dash, number = key.removeprefix(prefix).rpartition("-")
    if not dash or not number.isascii() or not number.isdecimal():
        return None
    # Python reads no number of more than 4,300 digits.
    digits = number.lstrip("0") or "0"
    return TaskId(connector, int(digits)) if len(digits) <= _MAX_DIGITS and int(digits) <= _MAX_INT else None


def properties_value(properties: Mapping[str, str | None]) -> bytes:
    """Return the value of a connector's or a task's configuration, in the order given."""
    return to_json({"properties": dict(properties)})


def commit_value(tasks: int) -> bytes:
    """Return the value of a commit: the number of tasks of the connector."""
    return to_json({"tasks": tasks})


def target_state_value(state: TargetState) -> bytes:
    """Return the value of a target state; workers that do not know STOPPED (before 3.5) read PAUSED."""
    older = TargetState.PAUSED if state is TargetState.STOPPED else state
    return to_json({"state": older.value, "state.v2": state.value})


def restart_value(only_failed: bool, include_tasks: bool) -> bytes:
    """Return the value of a restart request (KIP-745)."""
    return to_json({"include-tasks": include_tasks, "only-failed": only_failed})


def session_key_value(key: SessionKey) -> bytes:
    """Return the value of a session key."""
    encoded = base64.b64encode(key.key).decode()
    return to_json({"key": encoded, "algorithm": key.algorithm, "creation-timestamp": key.creation_timestamp})


def logger_value(level: str) -> bytes:
    """Return the value of a logger's level."""
    return to_json({"level": level})
