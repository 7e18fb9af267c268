"""The herder's values as JSON documents of the API, keys in the order Jackson writes them.

Source of names and order: ``org.apache.kafka.connect.runtime.rest.entities``, and live responses.
"""

from __future__ import annotations

from typing import Any

from connect_dagster.herder.interface import (
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStatus,
    HealthReport,
    LoggerLevel,
    PluginInfo,
    ServerInfo,
    StoredConfig,
    TaskInfo,
)
from connect_dagster.protocol.states import State, Status, TaskId

# Java's version of a plugin that does not declare one (PluginDesc); such a version is left out.
UNDEFINED_VERSION = "undefined"

Document = dict[str, Any]

_UNREPORTED = Status(State.UNASSIGNED, "")


def server_info(info: ServerInfo) -> Document:
    """Return the response of ``GET /``."""
    return {"version": info.version, "commit": info.commit, "kafka_cluster_id": info.kafka_cluster_id}


def health(report: HealthReport) -> Document:
    """Return the response of ``GET /health``."""
    return {"status": report.health.value, "message": report.message}


def task_id(task: TaskId) -> Document:
    """Return a task's identity inside another document."""
    return {"connector": task.connector, "task": task.task}


def connector_info(info: ConnectorInfo) -> Document:
    """Return a connector as created."""
    tasks = [task_id(task) for task in info.tasks]
    return {"name": info.name, "config": info.config, "tasks": tasks, "type": info.type.value}


def task_info(info: TaskInfo) -> Document:
    """Return a task with its configuration."""
    return {"id": task_id(info.id), "config": info.config}


def state(status: Status) -> Document:
    """Return a reported state; ``trace`` only with text in it, ``version`` unless undefined."""
    document: Document = {"state": status.state.value, "worker_id": status.worker_id}
    if status.version != UNDEFINED_VERSION:
        document["version"] = status.version
    if status.trace:
        document["trace"] = status.trace
    return document


def task_state(task: int, status: Status) -> Document:
    """Return a task's reported state."""
    return {"id": task, **state(status)}


def connector_state(status: ConnectorStatus) -> Document:
    """Reported states of a connector and its tasks."""
    tasks = [task_state(task, reported) for task, reported in status.tasks]
    return {
        "name": status.name,
        "connector": state(status.connector),
        "tasks": tasks,
        "type": status.type.value,
    }


def running_config(status: ConnectorStatus, stored: StoredConfig) -> Document:
    """Return reported states as :func:`connector_state`, and for each part whether it runs the stored configuration.

    A task without a report, which a new configuration may have, is UNASSIGNED; a part of a worker that does not report
    versions has ``null``.
    """
    reported, wanted = dict(status.tasks), {task.task for task in stored.tasks}
    planned = wanted & reported.keys() if stored.planned else frozenset()
    tasks = {number: reported.get(number, _UNREPORTED) for number in sorted(wanted | reported.keys())}
    return {
        "name": status.name,
        "config_offset": stored.offset,
        "tasks_config_offset": stored.tasks_offset,
        "connector": _versioned(status.connector, _is_current(status.connector, stored.offset)),
        "tasks": [
            {"id": number, **_versioned(task, number in planned and _is_current(task, stored.tasks_offset))}
            for number, task in tasks.items()
        ],
        "type": status.type.value,
    }


def _is_current(status: Status, stored: int | None) -> bool | None:
    """Return whether a part runs the stored version; ``None`` when it did not report its own."""
    return None if status.config_offset is None else status.config_offset == stored


def _versioned(status: Status, current: bool | None) -> Document:
    return {**state(status), "config_offset": status.config_offset, "current": current}


def offsets(entries: list[ConnectorOffset]) -> Document:
    """Offsets of a connector."""
    return {"offsets": [{"partition": entry.partition, "offset": entry.offset} for entry in entries]}


def plugin(info: PluginInfo) -> Document:
    """Return one plugin of the list."""
    document = {"class": info.class_name, "type": info.type}
    if info.version is not None and info.version != UNDEFINED_VERSION:
        document["version"] = info.version
    return document


def logger_level(level: LoggerLevel) -> Document:
    """Level of one logger."""
    return {"level": level.level, "last_modified": level.last_modified}
