"""Requests to a process of MirrorMaker, which serves the groups of several flows.

A path begins with the aliases of the flow's source and target; the rest is as among workers of one group
(Java: ``InternalMirrorResource``, KIP-710). The metrics of a flow are ours alone: Java's process has them in JMX.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import unquote

from starlette.types import ASGIApp, Receive, Scope, Send

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.herder.interface import Herder
from connect_dagster.rest.app import create_app
from connect_dagster.rest.exchange import Reply
from connect_dagster.rest.limits import Limits
from connect_dagster.rest.operation_routes import INTERNAL_ROUTES
from connect_dagster.rest.replies import response_of
from connect_dagster.rest.worker_routes import METRICS_ROUTES


def mirror_app(herders: Mapping[Flow, Herder], client: RestClient, limits: Limits) -> ASGIApp:
    """Return the application that serves the herders of all flows.

    Args:
        herders: of the flows.
        client: forwards requests to other processes.
        limits: on bodies and threads, for each flow.
    """
    apps = {flow: _flow_app(flow, herder, client, limits) for flow, herder in herders.items()}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        parts = scope["raw_path"].decode("latin-1").split("/")
        flow = Flow(*(unquote(part) for part in [*parts, "", ""][1:3]))
        # The same aliases may be encoded in several ways.
        raw_path = "/".join(["", flow.rest_namespace, *parts[3:]]).encode("latin-1")
        await apps.get(flow, _unknown(flow))({**scope, "raw_path": raw_path}, receive, send)

    return serve


def _flow_app(flow: Flow, herder: Herder, client: RestClient, limits: Limits) -> ASGIApp:
    endpoints = [replace(one, path=f"/{flow.rest_namespace}{one.path}") for one in (*INTERNAL_ROUTES, *METRICS_ROUTES)]
    return create_app(herder, endpoints, client, limits=limits, described=False)


def _unknown(flow: Flow) -> ASGIApp:
    text = f"No replication flow found for source '{flow.source}' and target '{flow.target}'"
    return response_of(Reply.error(404, text))
