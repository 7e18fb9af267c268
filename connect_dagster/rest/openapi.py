"""``/openapi.json``: the REST API described in OpenAPI 3.1, generated from the route table.

A route's summary is the first sentence of its function, its documents and parameters are its :class:`Operation`.
Errors that all routes share are described once. Requests among workers are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from connect_dagster.herder.interface import Herder
from connect_dagster.kafka_version import KAFKA_VERSION
from connect_dagster.rest.exchange import JSON, Call, Endpoint, Reply
from connect_dagster.rest.openapi_schemas import ENTITIES, FLAG, TEXT, Operation, Schema, entity, returns

PATH = "/openapi.json"
PARAMETER = re.compile(r"\{(\w+)}")

# As in Java, a request that cannot be read gets 500, and any request gets 409 while the group rebalances.
# 408, 413 and 503 are limits on clients (`limits`).
ERRORS = {400, 403, 404, 408, 409, 413, 500, 503}
# Refusals before a route is asked carry an error document too, but no content type.
REFUSALS = {401, 405, 406, 415}


_PATH_SCHEMAS: Mapping[str, Schema] = {"task": {"type": "integer", "format": "int32", "minimum": 0}}
_NAME: Schema = {**TEXT, "minLength": 1}


def openapi_endpoint(endpoints: Iterable[Endpoint]) -> Endpoint:
    """Return the route that describes these routes and itself."""

    def describe(_: Herder, __: Call) -> Reply:
        """This description of the REST API."""
        return Reply.json(document)

    own = Endpoint("GET", PATH, describe, returns({"type": "object"}), json_only=False)
    document = openapi_document((*endpoints, own))
    return own


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the description of these routes as a JSON document."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        if endpoint.operation is not None:
            paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _described(endpoint, endpoint.operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Kafka Connect REST API",
            "version": KAFKA_VERSION,
            "description": "Create, operate and watch connectors.",
        },
        "paths": paths,
        "components": {
            "schemas": ENTITIES,
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _described(endpoint: Endpoint, operation: Operation) -> dict[str, Any]:
    described = {
        "summary": (endpoint.answer.__doc__ or "").partition("\n")[0],
        "operationId": endpoint.answer.__name__,
        "tags": [endpoint.path.split("/")[1] or "worker"],
        "parameters": [*_path_parameters(endpoint), *_query_parameters(operation)],
        "responses": _responses(endpoint, operation),
    }
    if operation.body is not None:
        described["requestBody"] = {"required": True, "content": _content(JSON, operation.body)}
    return described


def _path_parameters(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS.get(name, _NAME)}
        for name in PARAMETER.findall(endpoint.path)
    ]


def _query_parameters(operation: Operation) -> list[dict[str, Any]]:
    hops = {"forward": FLAG} if operation.forwarded else {}
    return [{"name": name, "in": "query", "schema": schema} for name, schema in {**operation.query, **hops}.items()]


def _responses(endpoint: Endpoint, operation: Operation) -> dict[str, Any]:
    errors: dict[int, Schema | None] = dict.fromkeys(ERRORS, entity("ErrorMessage"))
    known = {**errors, **dict.fromkeys(REFUSALS), **operation.success}
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
