"""JSON schemas of the REST API's documents, by the name of Java's entity, and what a route's description is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from connect_dagster.protocol.states import State

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
TEXTS: Schema = {"type": "array", "items": TEXT}
NULLABLE_TEXTS: Schema = {"type": "array", "items": NULLABLE_TEXT}
DIRECTION: Schema = {"enum": ["source", "sink", "unknown"]}
CONFIG: Schema = {"type": "object", "additionalProperties": NULLABLE_TEXT}


def entity(name: str) -> Schema:
    """Return a reference to one of :data:`ENTITIES`."""
    return {"$ref": f"#/components/schemas/{name}"}


def listed(name: str) -> Schema:
    """Return a list of an entity."""
    return {"type": "array", "items": entity(name)}


def by_name(schema: Schema) -> Schema:
    """Return an object whose every value has the schema."""
    return {"type": "object", "additionalProperties": schema}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


@dataclass(frozen=True, slots=True)
class Operation:
    """Documents and parameters of a route, which its function does not show.

    Attributes:
        success: schema of the response by status, ``None`` for a response without body.
        query: schema of each query parameter; one that occurs several times is an array.
        body: schema of the request's body.
        forwarded: whether another worker may handle the request.
    """

    success: Mapping[int, Schema | None]
    query: Mapping[str, Schema] = field(default_factory=dict)
    body: Schema | None = None
    forwarded: bool = False


def returns(schema: Schema, **operation: Any) -> Operation:
    """Return the operation of a route that responds with 200 and a document; ``operation`` has its other fields."""
    return Operation({200: schema}, **operation)


_REPORTED = {"state": {"enum": [state.value for state in State]}, "worker_id": TEXT}
_DETAILS = {"version": NULLABLE_TEXT, "trace": TEXT}
_NULLABLE_COUNT: Schema = {"type": ["integer", "null"], "minimum": 0}
_RUNNING = {**_REPORTED, "config_offset": _NULLABLE_COUNT, "current": {"type": ["boolean", "null"]}}

ENTITIES: dict[str, Schema] = {
    "ErrorMessage": _object({"error_code": {"type": "integer"}, "message": NULLABLE_TEXT}),
    "Message": _object({"message": TEXT}),
    "ServerInfo": _object({"version": TEXT, "commit": TEXT, "kafka_cluster_id": TEXT}),
    "Health": _object({"status": {"enum": ["starting", "healthy", "unhealthy"]}, "message": TEXT}),
    # What a user may send as a value: Java's worker turns numbers and booleans into text.
    "Config": by_name({"type": ["string", "number", "boolean", "null"]}),
    "CreateConnectorRequest": {
        **_object(
            {"config": entity("Config")},
            {"name": NULLABLE_TEXT, "initial_state": {"enum": ["RUNNING", "PAUSED", "STOPPED", None]}},
        ),
        "additionalProperties": False,
    },
    "ConnectorTaskId": _object({"connector": TEXT, "task": COUNT}),
    "ConnectorInfo": _object({"name": TEXT, "config": CONFIG, "tasks": listed("ConnectorTaskId"), "type": DIRECTION}),
    "TaskInfo": _object({"id": entity("ConnectorTaskId"), "config": CONFIG}),
    "ConnectorState": _object(_REPORTED, _DETAILS),
    "TaskState": _object({"id": COUNT, **_REPORTED}, _DETAILS),
    "ConnectorStateInfo": _object(
        {"name": TEXT, "connector": entity("ConnectorState"), "tasks": listed("TaskState"), "type": DIRECTION}
    ),
    "RunningConfig": _object(
        {
            "name": TEXT,
            "config_offset": _NULLABLE_COUNT,
            "tasks_config_offset": _NULLABLE_COUNT,
            "connector": _object(_RUNNING, _DETAILS),
            "tasks": {"type": "array", "items": _object({"id": COUNT, **_RUNNING}, _DETAILS)},
            "type": DIRECTION,
        }
    ),
    "ExpandedConnector": _object({}, {"status": entity("ConnectorStateInfo"), "info": entity("ConnectorInfo")}),
    "ActiveTopicsInfo": _object({"topics": TEXTS}),
    "ConnectorOffset": {
        **_object({}, {"partition": {"type": ["object", "null"]}, "offset": {"type": ["object", "null"]}}),
        "additionalProperties": False,
    },
    "ConnectorOffsets": {**_object({"offsets": listed("ConnectorOffset")}), "additionalProperties": False},
    "PluginInfo": _object({"class": TEXT, "type": TEXT}, {"version": TEXT}),
    "ConfigKeyInfo": _object(
        {
            "name": TEXT,
            "type": {"enum": ["BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"]},
            "required": FLAG,
            "default_value": NULLABLE_TEXT,
            "importance": {"enum": ["HIGH", "MEDIUM", "LOW"]},
            "documentation": TEXT,
            "group": NULLABLE_TEXT,
            "order_in_group": {"type": "integer"},
            "width": {"enum": ["NONE", "SHORT", "MEDIUM", "LONG"]},
            "display_name": TEXT,
            "dependents": TEXTS,
        }
    ),
    "ConfigValueInfo": _object(
        {
            "name": TEXT,
            "value": NULLABLE_TEXT,
            "recommended_values": NULLABLE_TEXTS,
            "errors": TEXTS,
            "visible": FLAG,
        }
    ),
    "ConfigInfo": _object(
        {
            "definition": {"anyOf": [entity("ConfigKeyInfo"), {"type": "null"}]},
            "value": {"anyOf": [entity("ConfigValueInfo"), {"type": "null"}]},
        }
    ),
    "ConfigInfos": _object({"name": TEXT, "error_count": COUNT, "groups": TEXTS, "configs": listed("ConfigInfo")}),
    "LoggerLevel": _object({"level": TEXT, "last_modified": {"type": ["integer", "null"]}}),
    "NewLevel": _object({"level": {"enum": ["OFF", "FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "ALL"]}}),
}
