"""Requests of workers to their leader (Java: ``InternalClusterResource``): signed, and not for users."""

from __future__ import annotations

from connect_dagster.errors import BadRequestError
from connect_dagster.herder.interface import Herder
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.rest.documents import read_task_configs
from connect_dagster.rest.exchange import Call, Endpoint, Reply, json_bytes


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


ROUTES = (
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
