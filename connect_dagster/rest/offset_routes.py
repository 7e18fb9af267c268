"""``/connectors/{connector}/offsets``: look up, alter, reset (KIP-875)."""

from __future__ import annotations

from connect_dagster.errors import BadRequestError
from connect_dagster.herder.interface import Herder
from connect_dagster.rest import entities
from connect_dagster.rest.documents import read_offsets
from connect_dagster.rest.exchange import Call, Endpoint, Reply, json_bytes
from connect_dagster.rest.openapi_schemas import entity, returns


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

ROUTES = (
    Endpoint("GET", "/connectors/{connector}/offsets", connector_offsets, returns(entity("ConnectorOffsets"))),
    Endpoint(
        "PATCH", "/connectors/{connector}/offsets", alter_offsets, _ALTERED, reads_body=True, resent=_resent_offsets
    ),
    Endpoint("DELETE", "/connectors/{connector}/offsets", reset_offsets, returns(entity("Message"), forwarded=True)),
)
