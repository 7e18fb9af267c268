"""``/openapi.json``: the REST API described in OpenAPI 3.1, made of the route table.

A route's summary is the first sentence of its function; what that does not tell is in :data:`OPERATIONS`. Errors
that are the same everywhere are described once. Requests among workers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from connect_dagster.herder.interface import Herder
from connect_dagster.rest.exchange import JSON, Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import ENTITIES, FLAG, TEXT, TEXTS, Schema, by_name, entity, listed

PATH = "/openapi.json"
PARAMETER = re.compile(r"\{(\w+)}")

# As Java's worker does, this one answers what it cannot read with 500, and with 409 while the group rebalances.
ERRORS = {400, 403, 404, 409, 500}
# Refusals before a route is asked carry an error document too, but no content type.
REFUSALS = {401, 405, 406, 415}


@dataclass(frozen=True, slots=True)
class Operation:
    """What a route's function does not tell about it.

    Attributes:
        success: schema of the answer by its status, ``None`` for an answer without body.
        query: schema of each query parameter; what occurs several times is an array.
        body: schema of the request's body.
        forwarded: whether it may be another worker that answers.
    """

    success: Mapping[int, Schema | None]
    query: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    forwarded: bool = False


_FLAG_OFF = {**FLAG, "default": False}
_CREATED = {201: entity("ConnectorInfo")}
_UPDATED = {200: entity("ConnectorInfo")}
_DONE: Mapping[int, Schema | None] = {204: None}
_ACCEPTED: Mapping[int, Schema | None] = {202: None}
_PLANNED = {202: entity("ConnectorStateInfo"), 204: None}
_TOLD = {200: entity("Message")}
_EXPANSIONS = {"type": "array", "items": {"enum": ["status", "info"]}}
_NAMES_OR_CONNECTORS = {"anyOf": [TEXTS, by_name(entity("ExpandedConnector"))]}
_HEALTHS = {200: entity("Health"), 503: entity("Health"), 500: {"anyOf": [entity("Health"), entity("ErrorMessage")]}}
_LEVEL_SET = {200: TEXTS, 204: None}
_SCOPE = {"enum": ["worker", "cluster"], "default": "worker"}

OPERATIONS: Mapping[tuple[str, str], Operation] = {
    ("GET", "/"): Operation({200: entity("ServerInfo")}),
    ("GET", "/health"): Operation(_HEALTHS),
    ("GET", "/metrics"): Operation({200: TEXT}),
    ("GET", "/dagster/progress"): Operation({200: by_name({"type": "object"})}),
    ("GET", "/connectors"): Operation({200: _NAMES_OR_CONNECTORS}, {"expand": _EXPANSIONS}),
    ("POST", "/connectors"): Operation(_CREATED, body=entity("CreateConnectorRequest"), forwarded=True),
    ("GET", "/connectors/{connector}"): Operation({200: entity("ConnectorInfo")}),
    ("DELETE", "/connectors/{connector}"): Operation(_DONE, forwarded=True),
    ("GET", "/connectors/{connector}/config"): Operation({200: entity("Config")}),
    ("PUT", "/connectors/{connector}/config"): Operation(_CREATED | _UPDATED, body=entity("Config"), forwarded=True),
    ("PATCH", "/connectors/{connector}/config"): Operation(_UPDATED, body=entity("Config"), forwarded=True),
    ("GET", "/connectors/{connector}/status"): Operation({200: entity("ConnectorStateInfo")}),
    ("POST", "/connectors/{connector}/restart"): Operation(
        _PLANNED, {"includeTasks": _FLAG_OFF, "onlyFailed": _FLAG_OFF}, forwarded=True
    ),
    ("PUT", "/connectors/{connector}/pause"): Operation(_ACCEPTED),
    ("PUT", "/connectors/{connector}/resume"): Operation(_ACCEPTED),
    ("PUT", "/connectors/{connector}/stop"): Operation(_DONE, forwarded=True),
    ("GET", "/connectors/{connector}/tasks"): Operation({200: listed("TaskInfo")}),
    ("GET", "/connectors/{connector}/tasks/{task}/status"): Operation({200: entity("TaskState")}),
    ("POST", "/connectors/{connector}/tasks/{task}/restart"): Operation(_DONE, forwarded=True),
    ("GET", "/connectors/{connector}/topics"): Operation({200: by_name(entity("ActiveTopicsInfo"))}),
    ("PUT", "/connectors/{connector}/topics/reset"): Operation(_ACCEPTED),
    ("GET", "/connectors/{connector}/offsets"): Operation({200: entity("ConnectorOffsets")}),
    ("PATCH", "/connectors/{connector}/offsets"): Operation(_TOLD, body=entity("ConnectorOffsets"), forwarded=True),
    ("DELETE", "/connectors/{connector}/offsets"): Operation(_TOLD, forwarded=True),
    ("GET", "/connector-plugins"): Operation(
        {200: listed("PluginInfo")}, {"connectorsOnly": {**FLAG, "default": True}}
    ),
    ("GET", "/connector-plugins/{plugin}/config"): Operation({200: listed("ConfigKeyInfo")}, {"version": TEXT}),
    ("PUT", "/connector-plugins/{plugin}/config/validate"): Operation(
        {200: entity("ConfigInfos")}, body=entity("Config")
    ),
    ("GET", "/admin/loggers"): Operation({200: by_name(entity("LoggerLevel"))}),
    ("GET", "/admin/loggers/{logger}"): Operation({200: entity("LoggerLevel")}),
    ("PUT", "/admin/loggers/{logger}"): Operation(_LEVEL_SET, {"scope": _SCOPE}, body=entity("NewLevel")),
    ("GET", PATH): Operation({200: {"type": "object"}}),
}

_PATH_SCHEMAS: Mapping[str, Schema] = {"task": {"type": "integer", "format": "int32", "minimum": 0}}
_NAME: Schema = {**TEXT, "minLength": 1}


def openapi_endpoint(endpoints: Iterable[Endpoint]) -> Endpoint:
    """The route that answers with the description of these routes and of itself."""

    def describe(_: Herder, __: Call) -> Reply:
        """This description of the REST API."""
        return Reply.json(document)

    own = Endpoint("GET", PATH, describe, json_only=False)
    document = openapi_document((*endpoints, own))
    return own


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The description of these routes, as JSON."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        if not endpoint.internal:
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Kafka Connect REST API",
            "version": "4.3.1",
            "description": "Create, operate and watch connectors.",
        },
        "paths": paths,
        "components": {
            "schemas": ENTITIES,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    told = OPERATIONS.get((endpoint.method, endpoint.path), Operation({200: {}}))
    described = {
        "summary": (endpoint.answer.__doc__ or "").partition("\n")[0],
        "operationId": endpoint.answer.__name__,
        "tags": [endpoint.path.split("/")[1] or "worker"],
        "parameters": [*_path_parameters(endpoint), *_query_parameters(told)],
        "responses": _responses(endpoint, told),
    }
    if told.body is not None:
        described["requestBody"] = {"required": True, "content": _content(JSON, told.body)}
    return described


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS.get(name, _NAME)}
        for name in PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(told: Operation) -> list[dict[str, Any]]:
    hops = {"forward": FLAG} if told.forwarded else {}
    return [{"name": name, "in": "query", "schema": schema} for name, schema in {**told.query, **hops}.items()]


def _responses(endpoint: Endpoint, told: Operation) -> dict[str, Any]:
    errors: dict[int, Schema | None] = dict.fromkeys(ERRORS, entity("ErrorMessage"))
    known = {**errors, **dict.fromkeys(REFUSALS), **told.success}
    return {str(status): _response(endpoint, status, schema) for status, schema in sorted(known.items())}


def _response(endpoint: Endpoint, status: int, schema: Schema | None) -> dict[str, Any]:
    described: dict[str, Any] = {"description": HTTPStatus(status).phrase}
    if schema is not None:
        medias = endpoint.produces if status < HTTPStatus.BAD_REQUEST else (JSON,)
        described["content"] = {kind: body for media in medias for kind, body in _content(media, schema).items()}
    if status == HTTPStatus.CREATED:
        described["headers"] = {"Location": {"description": "URL of the connector", "schema": TEXT}}
    return described


def _content(media: str, schema: Schema) -> dict[str, Any]:
    return {media: {"schema": schema}}
