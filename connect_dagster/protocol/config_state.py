"""The content of the config topic: a table that applies records in order, and snapshots of it.

Java: ``KafkaConfigBackingStore`` and ``ClusterConfigState``. Task configurations apply with the commit record that
follows them, so that no worker runs half of the old set and half of the new one. Compaction may have removed some of a
set: then the connector is inconsistent, has no tasks, and its worker must publish them again. No record is fatal: an
invalid one is skipped, with the reason.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect_dagster.java.jackson import from_json
from connect_dagster.protocol import config_records as records
from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.states import TargetState, TaskId

__all__ = [
    "Applied",
    "ClusterConfigState",
    "ConfigTable",
    "ConnectorRemoved",
    "ConnectorUpdated",
    "Event",
    "LoggerLevelChanged",
    "RestartRequested",
    "SessionKey",
    "SessionKeyUpdated",
    "TargetStateChanged",
    "TasksUpdated",
]

Config = dict[str, str | None]
NO_OFFSET = -1


@dataclass(frozen=True, slots=True)
class ConnectorUpdated:
    """A connector was created or got another configuration."""

    connector: str


@dataclass(frozen=True, slots=True)
class ConnectorRemoved:
    """A connector was deleted."""

    connector: str


@dataclass(frozen=True, slots=True)
class TasksUpdated:
    """A commit was read; ``tasks`` are its task configurations, none when the set was incomplete."""

    connector: str
    tasks: tuple[TaskId, ...]


@dataclass(frozen=True, slots=True)
class TargetStateChanged:
    """A connector that exists got another target state."""

    connector: str


@dataclass(frozen=True, slots=True)
class SessionKeyUpdated:
    """The leader distributed a key."""

    key: SessionKey


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """A user requested a restart."""

    connector: str
    only_failed: bool
    include_tasks: bool


@dataclass(frozen=True, slots=True)
class LoggerLevelChanged:
    """A user set a logger's level in the whole group."""

    namespace: str
    level: str


Event = (
    ConnectorUpdated
    | ConnectorRemoved
    | TasksUpdated
    | TargetStateChanged
    | SessionKeyUpdated
    | RestartRequested
    | LoggerLevelChanged
)


@dataclass(frozen=True, slots=True)
class Applied:
    """The effect of a record.

    Attributes:
        events: the changes.
        problem: why the record, or a part of it, was skipped; ``None`` for a valid one.
    """

    events: tuple[Event, ...] = ()
    problem: str | None = None


@dataclass(frozen=True)
class ClusterConfigState:
    """The config topic up to an offset; never changes.

    Attributes:
        offset: of the last record read, plus 1; -1 before the first.
        session_key: the latest one.
    """

    offset: int = NO_OFFSET
    session_key: SessionKey | None = None
    _configs: Mapping[str, Config] = field(default_factory=dict, repr=False)
    _targets: Mapping[str, TargetState] = field(default_factory=dict, repr=False)
    _task_counts: Mapping[str, int] = field(default_factory=dict, repr=False)
    _task_configs: Mapping[TaskId, Config] = field(default_factory=dict, repr=False)
    _applied: Mapping[str, Config] = field(default_factory=dict, repr=False)
    _count_records: Mapping[str, int] = field(default_factory=dict, repr=False)
    _pending_fencing: frozenset[str] = field(default=frozenset(), repr=False)
    _inconsistent: frozenset[str] = field(default=frozenset(), repr=False)
    _config_offsets: Mapping[str, int] = field(default_factory=dict, repr=False)
    _commit_offsets: Mapping[str, int] = field(default_factory=dict, repr=False)

    def connectors(self) -> frozenset[str]:
        """Return the names of all connectors."""
        return frozenset(self._configs)

    def contains(self, name: str) -> bool:
        """Return whether the connector exists."""
        return name in self._configs

    def connector_config(self, name: str) -> Config | None:
        """Return the configuration of a connector as the user wrote it; ``None`` when the connector does not exist."""
        return _copied(self._configs.get(name))

    def target_state(self, name: str) -> TargetState | None:
        """Return the target state of a connector; it may be known before the connector is."""
        return self._targets.get(name)

    def task_count(self, name: str) -> int:
        """Return the number of tasks in the latest commit, consistent or not."""
        return self._task_counts.get(name, 0)

    def tasks(self, name: str) -> list[TaskId]:
        """Return the tasks of a connector, by number; none while it is inconsistent."""
        if name in self._inconsistent:
            return []
        return [TaskId(name, number) for number in range(self.task_count(name))]

    def task_config(self, id: TaskId) -> Config | None:
        """Return the committed configuration of a task."""
        return _copied(self._task_configs.get(id))

    def all_task_configs(self, name: str) -> dict[TaskId, Config]:
        """Return the configurations of :meth:`tasks`."""
        found = {id: self.task_config(id) for id in self.tasks(name)}
        return {id: config for id, config in found.items() if config is not None}

    def applied_connector_config(self, name: str) -> Config | None:
        """Return the connector configuration from which the committed task configurations were made (KAFKA-9228)."""
        return _copied(self._applied.get(name))

    def config_offset(self, name: str) -> int | None:
        """Return the offset of the record with a connector's configuration; ``None`` without one."""
        return self._config_offsets.get(name)

    def commit_offset(self, name: str) -> int | None:
        """Return the offset of the commit of a connector's task configurations; ``None`` without one."""
        return self._commit_offsets.get(name)

    def has_planned_tasks(self, name: str) -> bool:
        """Return whether the committed task configurations were made from the connector's present configuration."""
        return name not in self._inconsistent and self._applied.get(name) == self._configs.get(name)

    def inconsistent_connectors(self) -> frozenset[str]:
        """Return the connectors whose task configurations must be published again."""
        return self._inconsistent

    def task_count_record(self, name: str) -> int | None:
        """Return the number of tasks whose producers were fenced out last (KIP-618)."""
        return self._count_records.get(name)

    def pending_fencing(self, name: str) -> bool:
        """Return whether producers of former tasks must be fenced out before exactly-once tasks may start."""
        return name in self._pending_fencing


class ConfigTable:
    """The state after the records applied so far; for one thread at a time."""

    def __init__(self) -> None:
        self._snapshot: ClusterConfigState | None = None
        self._offset = NO_OFFSET
        self._session_key: SessionKey | None = None
        self._configs: dict[str, Config] = {}
        self._targets: dict[str, TargetState] = {}
        self._task_counts: dict[str, int] = {}
        self._task_configs: dict[TaskId, Config] = {}
        self._deferred: dict[str, dict[TaskId, Config]] = {}
        self._applied: dict[str, Config] = {}
        self._count_records: dict[str, int] = {}
        self._pending_fencing: set[str] = set()
        self._inconsistent: set[str] = set()
        self._config_offsets: dict[str, int] = {}
        self._commit_offsets: dict[str, int] = {}

    def snapshot(self) -> ClusterConfigState:
        """Return the current state; the same object until the next record."""
        if self._snapshot is None:
            self._snapshot = ClusterConfigState(
                self._offset,
                self._session_key,
                self._configs.copy(),
                self._targets.copy(),
                self._task_counts.copy(),
                self._task_configs.copy(),
                self._applied.copy(),
                self._count_records.copy(),
                frozenset(self._pending_fencing),
                frozenset(self._inconsistent),
                self._config_offsets.copy(),
                self._commit_offsets.copy(),
            )
        return self._snapshot

    def contains(self, connector: str) -> bool:
        """Return whether the connector exists."""
        return connector in self._configs

    def connector_config(self, connector: str) -> Config | None:
        """Return the configuration of a connector as the user wrote it; ``None`` when it does not exist."""
        return _copied(self._configs.get(connector))

    def apply(self, key: str | None, value: bytes | None, offset: int) -> Applied:
        """Apply a record.

        Args:
            key: its key.
            value: its value; ``None`` is a tombstone.
            offset: its offset.
        """
        try:
            content = None if value is None else from_json(value)
        except ValueError as error:
            # As in Java the offset stays: workers must agree on it, whichever worker wrote such a record.
            return Applied(problem=f"the value of {key} at offset {offset} is not JSON: {error}")
        self._snapshot = None
        self._offset = offset + 1
        try:
            return Applied(self._dispatch(key or "", content))
        except _LeftOutError as left_out:
            return Applied(left_out.events, f"{key} at offset {offset}: {left_out}")

    def _dispatch(self, key: str, content: Any) -> tuple[Event, ...]:
        for prefix, take in _BY_PREFIX:
            if key.startswith(prefix):
                return take(self, key.removeprefix(prefix), content)
        raise _LeftOutError("no record of the config topic has such a key")

    def _take_target_state(self, connector: str, content: Any) -> tuple[Event, ...]:
        if content is None:
            self._targets.pop(connector, None)
            if connector in self._configs:
                self._targets[connector] = TargetState.STARTED
            return ()
        state = _target_state(_object(content))
        before, self._targets[connector] = self._targets.get(connector), state
        # Before the connector's configuration this is the initial state that it was created with.
        return (TargetStateChanged(connector),) if state is not before and connector in self._configs else ()

    def _take_connector(self, connector: str, content: Any) -> tuple[Event, ...]:
        if content is None:
            self._remove(connector)
            return (ConnectorRemoved(connector),)
        self._configs[connector] = _properties(content)
        self._config_offsets[connector] = self._offset - 1
        self._targets.setdefault(connector, TargetState.STARTED)
        return (ConnectorUpdated(connector),)

    def _take_task(self, rest: str, content: Any) -> tuple[Event, ...]:
        id = records.task_of_key(rest, prefix="")
        if id is None:
            raise _LeftOutError("the key names no task")
        self._deferred.setdefault(id.connector, {})[id] = _properties(content)
        return ()

    def _take_commit(self, connector: str, content: Any) -> tuple[Event, ...]:
        config = self._configs.get(connector)
        if config is None:
            # Deleted, and compaction has removed all traces of it but these (KAFKA-16838).
            self._remove(connector)
            return ()
        count = _whole_number(_object(content), "tasks")
        deferred = self._deferred.get(connector)
        updated: tuple[TaskId, ...] = ()
        if _complete(connector, deferred or {}, count):
            if deferred is not None:
                self._task_configs.update(deferred)
                updated = tuple(sorted(deferred))
            self._inconsistent.discard(connector)
            self._applied[connector] = config
        else:
            self._inconsistent.add(connector)
        if deferred is not None:
            deferred.clear()
        self._task_counts[connector] = count
        self._commit_offsets[connector] = self._offset - 1
        self._pending_fencing.add(connector)
        return (TasksUpdated(connector, updated),)

    def _take_restart(self, connector: str, content: Any) -> tuple[Event, ...]:
        request = _object(content)
        flags = {name: request.get(name) for name in ("only-failed", "include-tasks")}
        event = RestartRequested(connector, flags["only-failed"] is True, flags["include-tasks"] is True)
        if wrong := {name: value for name, value in flags.items() if not isinstance(value, bool)}:
            raise _LeftOutError(f"true or false expected, taken as false: {_shown(wrong)}", event)
        return (event,)

    def _take_task_count(self, connector: str, content: Any) -> tuple[Event, ...]:
        self._count_records[connector] = _whole_number(_object(content), "task-count")
        self._pending_fencing.discard(connector)
        return ()

    def _take_session_key(self, rest: str, content: Any) -> tuple[Event, ...]:
        if rest:
            raise _LeftOutError("no record of the config topic has such a key")
        self._session_key = _session_key(_object(content))
        return (SessionKeyUpdated(self._session_key),)

    def _take_logger(self, namespace: str, content: Any) -> tuple[Event, ...]:
        return (LoggerLevelChanged(namespace, _text(_object(content), "level")),)

    def _remove(self, connector: str) -> None:
        for table in (self._configs, self._task_counts, self._deferred, self._applied):
            table.pop(connector, None)
        for offsets in (self._config_offsets, self._commit_offsets):
            offsets.pop(connector, None)
        for id in [id for id in self._task_configs if id.connector == connector]:
            del self._task_configs[id]


_Take = Callable[[ConfigTable, str, Any], tuple[Event, ...]]
_BY_PREFIX: tuple[tuple[str, _Take], ...] = (
    (records.TARGET_STATE, ConfigTable._take_target_state),
    (records.CONNECTOR, ConfigTable._take_connector),
    (records.TASK, ConfigTable._take_task),
    (records.COMMIT, ConfigTable._take_commit),
    (records.RESTART, ConfigTable._take_restart),
    (records.FENCING, ConfigTable._take_task_count),
    (records.SESSION_KEY, ConfigTable._take_session_key),
    (records.LOGGER, ConfigTable._take_logger),
)


class _LeftOutError(Exception):
    """A record, or a part of it, is invalid."""

    def __init__(self, reason: str, *events: Event) -> None:
        super().__init__(reason)
        self.events = events


def _complete(connector: str, deferred: Mapping[TaskId, Config], count: int) -> bool:
    """Return whether all tasks up to ``count`` are there; compaction may have left more, of a larger set before."""
    return all(TaskId(connector, number) in deferred for number in range(count))


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise _LeftOutError(f"a JSON object expected, found {_shown(content)}")
    return content


def _properties(content: Any) -> Config:
    properties = _object(content).get("properties")
    if not isinstance(properties, dict):
        raise _LeftOutError(f"'properties' should be a JSON object, found {_shown(properties)}")
    # Other writers' numbers and booleans become the text that a configuration would have.
    return {name: value if isinstance(value, str | None) else json.dumps(value) for name, value in properties.items()}


def _target_state(content: dict[str, Any]) -> TargetState:
    newer = content.get("state.v2")
    name = newer if isinstance(newer, str) else content.get("state")
    if not isinstance(name, str) or name not in TargetState.__members__:
        raise _LeftOutError(f"one of {', '.join(TargetState.__members__)} expected, found {_shown(content)}")
    return TargetState[name]


def _session_key(content: dict[str, Any]) -> SessionKey:
    encoded = _text(content, "key")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError as error:
        # Base64's own error, or that of a character beyond ASCII.
        raise _LeftOutError(f"'key' is not base64: {error}") from error
    return SessionKey(key, _text(content, "algorithm"), _whole_number(content, "creation-timestamp"))


def _text(content: dict[str, Any], name: str) -> str:
    value = content.get(name)
    if not isinstance(value, str):
        raise _LeftOutError(f"'{name}' should be a text, found {_shown(value)}")
    return value


def _whole_number(content: dict[str, Any], name: str) -> int:
    value = content.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _LeftOutError(f"'{name}' should be a whole number, found {_shown(value)}")
    return value


def _shown(content: Any) -> str:
    text = json.dumps(content)
    return text if len(text) <= 100 else text[:100] + "…"


def _copied(config: Config | None) -> Config | None:
    return None if config is None else dict(config)
