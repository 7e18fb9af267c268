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
    TaskInfo,
)
from connect_dagster.protocol.states import Status, TaskId

# Java's version of a plugin that does not declare one (PluginDesc); such a version is left out.
UNDEFINED_VERSION = "undefined"

Document = dict[str, Any]


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
