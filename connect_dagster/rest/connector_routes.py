"""``/connectors``: connectors (Java: ``ConnectorsResource``, its first half) and their offsets (KIP-875)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from urllib.parse import quote

from connect_dagster.errors import BadRequestError, NotFoundError
from connect_dagster.herder.interface import INITIAL_TARGETS, Created, Herder
from connect_dagster.rest import entities
from connect_dagster.rest.documents import (
    ConfigMap,
    CreateConnectorRequest,
    UnreadableRequest,
    read_config,
    read_create_request,
    read_offsets,
)
from connect_dagster.rest.entities import Document
from connect_dagster.rest.exchange import SEGMENT_SAFE, Call, Endpoint, Reply, json_bytes
from connect_dagster.rest.openapi_schemas import TEXTS, Operation, by_name, entity, returns

logger = logging.getLogger(__name__)

EXPANSIONS: dict[str, Callable[[Herder, str], Document]] = {
    "status": lambda herder, name: entities.connector_state(herder.connector_status(name)),
    "info": lambda herder, name: entities.connector_info(herder.known_connector_info(name)),
}


def list_connectors(herder: Herder, call: Call) -> Reply:
    """Names of all connectors, or with ``expand`` documents by name."""
    if "expand" not in call.query:
        return Reply.json(herder.connectors())
    wanted = dict.fromkeys(call.query["expand"])  # in the request's order, as in Java
    for unknown in sorted(wanted.keys() - EXPANSIONS.keys()):
        logger.info("Ignoring unknown expansion type %s", unknown)
    expanded = ((name, _expand(herder, name, wanted)) for name in herder.connectors())
    return Reply.json({name: document for name, document in expanded if document is not None})


def _expand(herder: Herder, name: str, wanted: Iterable[str]) -> Document | None:
    try:
        return {word: EXPANSIONS[word](herder, name) for word in wanted if word in EXPANSIONS}
    except NotFoundError:
        # Deleted between the list and the look-up.
        return None


def create_connector(herder: Herder, call: Call) -> Reply:
    """Create a connector from name, configuration and initial state."""
    request = read_create_request(call.body)
    name, config = _name_and_config(request)
    initial = INITIAL_TARGETS[request.initial_state] if request.initial_state else None
    return _put_reply(call, herder.put_connector(name, config, initial, allow_replace=False))


def connector_info(herder: Herder, call: Call) -> Reply:
    """One connector as created."""
    return Reply.json(entities.connector_info(herder.connector_info(call.params["connector"])))


def connector_config(herder: Herder, call: Call) -> Reply:
    """The raw configuration."""
    return Reply.json(herder.connector_info(call.params["connector"]).config)


def put_config(herder: Herder, call: Call) -> Reply:
    """Replace the configuration, or create the connector."""
    name = call.params["connector"]
    config = _named(name, read_config(call.body))
    return _put_reply(call, herder.put_connector(name, config, allow_replace=True))


def patch_config(herder: Herder, call: Call) -> Reply:
    """Change some keys of the configuration (KIP-477)."""
    info = herder.patch_connector(call.params["connector"], read_config(call.body))
    return Reply.json(entities.connector_info(info))


def delete_connector(herder: Herder, call: Call) -> Reply:
    """Stop and forget the connector."""
    herder.delete_connector(call.params["connector"])
    return Reply(204)


def _resent_creation(call: Call) -> bytes:
    request = read_create_request(call.body)
    name, config = _name_and_config(request)
    initial = request.initial_state.name if request.initial_state else None
    return json_bytes({"name": name, "config": config, "initial_state": initial})


def _resent_config(call: Call) -> bytes:
    return json_bytes(_named(call.params["connector"], read_config(call.body)))


def _resent_patch(call: Call) -> bytes:
    return json_bytes(read_config(call.body))


def _name_and_config(request: CreateConnectorRequest) -> tuple[str, ConfigMap]:
    if request.config is None:
        raise UnreadableRequest("The request has no connector configuration: `config` is missing")
    name = (request.name or "").strip()
    return name, _named(name, request.config)


def _named(name: str, config: ConfigMap) -> ConfigMap:
    included = config.get("name")
    if included is None:
        return {**config, "name": name}
    if included != name:
        raise BadRequestError(
            f"Connector name configuration ({included}) doesn't match connector name in the URL ({name})"
        )
    return config


def _put_reply(call: Call, outcome: Created) -> Reply:
    document = entities.connector_info(outcome.info)
    if not outcome.created:
        return Reply.json(document)
    location = f"{call.origin}/connectors/{quote(outcome.info.name, safe=SEGMENT_SAFE)}"
    return Reply.json(document, 201, {"Location": location})


_LISTED = returns(
    {"anyOf": [TEXTS, by_name(entity("ExpandedConnector"))]},
    query={"expand": {"type": "array", "items": {"enum": ["status", "info"]}}},
)
_CREATED = Operation({201: entity("ConnectorInfo")}, body=entity("CreateConnectorRequest"), forwarded=True)
_PUT = Operation({201: entity("ConnectorInfo"), 200: entity("ConnectorInfo")}, body=entity("Config"), forwarded=True)
_PATCHED = returns(entity("ConnectorInfo"), body=entity("Config"), forwarded=True)

ROUTES = (
    Endpoint("GET", "/connectors", list_connectors, _LISTED),
    Endpoint("POST", "/connectors", create_connector, _CREATED, reads_body=True, resent=_resent_creation),
    Endpoint("GET", "/connectors/{connector}", connector_info, returns(entity("ConnectorInfo"))),
    Endpoint("DELETE", "/connectors/{connector}", delete_connector, Operation({204: None}, forwarded=True)),
    Endpoint("GET", "/connectors/{connector}/config", connector_config, returns(entity("Config"))),
    Endpoint("PUT", "/connectors/{connector}/config", put_config, _PUT, reads_body=True, resent=_resent_config),
    Endpoint("PATCH", "/connectors/{connector}/config", patch_config, _PATCHED, reads_body=True, resent=_resent_patch),
)


def connector_offsets(herder: Herder, call: Call) -> Reply:
    """Committed offsets."""
    return Reply.json(entities.offsets(herder.connector_offsets(call.params["connector"])))


def alter_offsets(herder: Herder, call: Call) -> Reply:
    """Write some offsets of a stopped connector."""
    offsets = read_offsets(call.body)
    if not offsets:
        raise BadRequestError("Partitions / offsets need to be provided for an alter offsets request")
    return Reply.json({"message": herder.alter_connector_offsets(call.params["connector"], offsets)})


def reset_offsets(herder: Herder, call: Call) -> Reply:
    """Forget all offsets of a stopped connector."""
    return Reply.json({"message": herder.reset_connector_offsets(call.params["connector"])})


def _resent_offsets(call: Call) -> bytes:
    return json_bytes(entities.offsets(read_offsets(call.body)))


_ALTERED = returns(entity("Message"), body=entity("ConnectorOffsets"), forwarded=True)

OFFSET_ROUTES = (
    Endpoint("GET", "/connectors/{connector}/offsets", connector_offsets, returns(entity("ConnectorOffsets"))),
    Endpoint(
        "PATCH", "/connectors/{connector}/offsets", alter_offsets, _ALTERED, reads_body=True, resent=_resent_offsets
    ),
    Endpoint("DELETE", "/connectors/{connector}/offsets", reset_offsets, returns(entity("Message"), forwarded=True)),
)
