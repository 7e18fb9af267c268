"""Operating a connector: status, restart, pause, resume, stop, tasks, topics (``ConnectorsResource``).

And the signed requests of workers to their leader, which are not for users (Java: ``InternalClusterResource``).
"""

from __future__ import annotations

import re
from http import HTTPStatus

from connect_dagster.errors import BadRequestError, NotFoundError, RestError
from connect_dagster.herder.interface import Herder, RestartRequest
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import TaskId
from connect_dagster.rest import entities
from connect_dagster.rest.documents import read_task_configs
from connect_dagster.rest.exchange import Call, Endpoint, Reply, json_bytes
from connect_dagster.rest.openapi_schemas import FLAG, Operation, by_name, entity, listed, returns

# Java reads the number of a task as a 32 bit integer.
TASK_NUMBER = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)
TASK_NUMBERS = range(-(2**31), 2**31)


def connector_status(herder: Herder, call: Call) -> Reply:
    """States of a connector and its tasks."""
    return Reply.json(entities.connector_state(herder.connector_status(call.params["connector"])))


def running_config(herder: Herder, call: Call) -> Reply:
    """States of a connector and its tasks, and whether each runs the stored configuration."""
    name = call.params["connector"]
    stored = herder.stored_config(name)  # before the states: one that is read later is only newer
    return Reply.json(entities.running_config(herder.connector_status(name), stored))


def restart_connector(herder: Herder, call: Call) -> Reply:
    """Restart the connector alone; with a parameter, by plan, answering the plan (KIP-745)."""
    request = RestartRequest(
        call.params["connector"],
        only_failed=call.flag("onlyFailed", default=False),
        include_tasks=call.flag("includeTasks", default=False),
    )
    if request.only_failed or request.include_tasks:
        return Reply.json(entities.connector_state(herder.restart_connector_and_tasks(request)), 202)
    herder.restart_connector(request.connector)
    return Reply(204)


def pause_connector(herder: Herder, call: Call) -> Reply:
    """Pause the connector and its tasks."""
    herder.pause_connector(call.params["connector"])
    return Reply(202)


def resume_connector(herder: Herder, call: Call) -> Reply:
    """Resume the connector and its tasks."""
    herder.resume_connector(call.params["connector"])
    return Reply(202)


def stop_connector(herder: Herder, call: Call) -> Reply:
    """Stop the connector, drop its tasks, keep its configuration."""
    herder.stop_connector(call.params["connector"])
    return Reply(204)


def tasks(herder: Herder, call: Call) -> Reply:
    """Configurations of all tasks."""
    return Reply.json([entities.task_info(info) for info in herder.tasks(call.params["connector"])])


def task_status(herder: Herder, call: Call) -> Reply:
    """State of one task."""
    task = _task(call)
    return Reply.json(entities.task_state(task.task, herder.task_status(task)))


def restart_task(herder: Herder, call: Call) -> Reply:
    """Restart one task."""
    herder.restart_task(_task(call))
    return Reply(204)


def topics(herder: Herder, call: Call) -> Reply:
    """Topics the connector has used (KIP-558)."""
    _require_tracking(herder)
    connector = call.params["connector"]
    return Reply.json({connector: {"topics": herder.active_topics(connector)}})


def reset_topics(herder: Herder, call: Call) -> Reply:
    """Forget the topics the connector has used."""
    _require_tracking(herder)
    if not herder.topic_tracking[1]:
        raise RestError(403, "Topic tracking reset is disabled.")
    herder.reset_active_topics(call.params["connector"])
    return Reply(202)


def _require_tracking(herder: Herder) -> None:
    if not herder.topic_tracking[0]:
        raise RestError(403, "Topic tracking is disabled.")


def _task(call: Call) -> TaskId:
    text = call.params["task"]
    if TASK_NUMBER.fullmatch(text) and int(text) in TASK_NUMBERS:
        return TaskId(call.params["connector"], int(text))
    raise NotFoundError(f"HTTP 404 {HTTPStatus.NOT_FOUND.phrase}")


_ACCEPTED = Operation({202: None})
_DONE = Operation({204: None}, forwarded=True)
_FLAG_OFF = {**FLAG, "default": False}
_RESTARTED = Operation(
    {202: entity("ConnectorStateInfo"), 204: None},
    {"includeTasks": _FLAG_OFF, "onlyFailed": _FLAG_OFF},
    forwarded=True,
)

ROUTES = (
    Endpoint("GET", "/connectors/{connector}/status", connector_status, returns(entity("ConnectorStateInfo"))),
    Endpoint("GET", "/dagster/connectors/{connector}/status", running_config, returns(entity("RunningConfig"))),
    Endpoint(
        "POST", "/connectors/{connector}/restart", restart_connector, _RESTARTED, kept=("includeTasks", "onlyFailed")
    ),
    Endpoint("PUT", "/connectors/{connector}/pause", pause_connector, _ACCEPTED),
    Endpoint("PUT", "/connectors/{connector}/resume", resume_connector, _ACCEPTED),
    Endpoint("PUT", "/connectors/{connector}/stop", stop_connector, _DONE),
    Endpoint("GET", "/connectors/{connector}/tasks", tasks, returns(listed("TaskInfo"))),
    Endpoint("GET", "/connectors/{connector}/tasks/{task}/status", task_status, returns(entity("TaskState"))),
    Endpoint("POST", "/connectors/{connector}/tasks/{task}/restart", restart_task, _DONE),
    Endpoint("GET", "/connectors/{connector}/topics", topics, returns(by_name(entity("ActiveTopicsInfo")))),
    Endpoint("PUT", "/connectors/{connector}/topics/reset", reset_topics, _ACCEPTED),
)


def put_task_configs(herder: Herder, call: Call) -> Reply:
    """Publish the task configurations that a connector's owner made."""
    configs = read_task_configs(call.body)
    herder.put_task_configs(call.params["connector"], configs, _signature(call))
    return Reply(204)


def fence_zombies(herder: Herder, call: Call) -> Reply:
    """Fence producers of a source's earlier tasks (KIP-618)."""
    herder.fence_zombies(call.params["connector"], _signature(call))
    return Reply(204)


def _signature(call: Call) -> RequestSignature | None:
    try:
        return RequestSignature.of(call.body, call.headers)
    except ValueError as error:
        raise BadRequestError(str(error)) from error


def _resent_configs(call: Call) -> bytes:
    return json_bytes(read_task_configs(call.body))


INTERNAL_ROUTES = (
    Endpoint(
        "POST",
        "/connectors/{connector}/tasks",
        put_task_configs,
        operation=None,
        json_only=False,
        resent=_resent_configs,
    ),
    Endpoint("PUT", "/connectors/{connector}/fence", fence_zombies, operation=None, json_only=False),
)
