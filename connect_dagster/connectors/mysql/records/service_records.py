"""Schemas of the records beside the data: schema changes, transaction boundaries, heartbeats, notifications."""

from __future__ import annotations

from dataclasses import replace

from connect_dagster.connectors.mysql.records.envelope import INT32_SCHEMA, INT64_SCHEMA, struct
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaType

_OPTIONAL_BOOLEAN_SCHEMA = Schema(SchemaType.BOOLEAN, optional=True)
_OPTIONAL_INT32_SCHEMA = replace(INT32_SCHEMA, optional=True)
_OPTIONAL_INT64_SCHEMA = replace(INT64_SCHEMA, optional=True)


def _array(item: Schema, *, optional: bool = False) -> Schema:
    return Schema(SchemaType.ARRAY, optional, value_schema=item)


COLUMN_SCHEMA = struct(
    "io.debezium.connector.schema.Column",
    1,
    {
        "name": STRING_SCHEMA,
        "jdbcType": INT32_SCHEMA,
        "nativeType": _OPTIONAL_INT32_SCHEMA,
        "typeName": STRING_SCHEMA,
        "typeExpression": OPTIONAL_STRING_SCHEMA,
        "charsetName": OPTIONAL_STRING_SCHEMA,
        "length": _OPTIONAL_INT32_SCHEMA,
        "scale": _OPTIONAL_INT32_SCHEMA,
        "position": INT32_SCHEMA,
        "optional": _OPTIONAL_BOOLEAN_SCHEMA,
        "autoIncremented": _OPTIONAL_BOOLEAN_SCHEMA,
        "generated": _OPTIONAL_BOOLEAN_SCHEMA,
        "comment": OPTIONAL_STRING_SCHEMA,
        "defaultValueExpression": OPTIONAL_STRING_SCHEMA,
        "enumValues": _array(STRING_SCHEMA, optional=True),
    },
)
TABLE_SCHEMA = struct(
    "io.debezium.connector.schema.Table",
    1,
    {
        "defaultCharsetName": OPTIONAL_STRING_SCHEMA,
        "primaryKeyColumnNames": _array(STRING_SCHEMA, optional=True),
        "columns": _array(COLUMN_SCHEMA),
        "comment": OPTIONAL_STRING_SCHEMA,
    },
    optional=True,
)
CHANGE_SCHEMA = struct(
    "io.debezium.connector.schema.Change", 1, {"type": STRING_SCHEMA, "id": STRING_SCHEMA, "table": TABLE_SCHEMA}
)

_COLLECTION_COUNT_SCHEMA = struct(
    "event.collection", 1, {"data_collection": STRING_SCHEMA, "event_count": INT64_SCHEMA}, optional=True
)
TRANSACTION_KEY_SCHEMA = struct("io.debezium.connector.common.TransactionMetadataKey", 1, {"id": STRING_SCHEMA})
TRANSACTION_VALUE_SCHEMA = struct(
    "io.debezium.connector.common.TransactionMetadataValue",
    1,
    {
        "status": STRING_SCHEMA,
        "id": STRING_SCHEMA,
        "event_count": _OPTIONAL_INT64_SCHEMA,
        "data_collections": _array(_COLLECTION_COUNT_SCHEMA, optional=True),
        "ts_ms": INT64_SCHEMA,
    },
)

HEARTBEAT_KEY_SCHEMA = struct("io.debezium.connector.common.ServerNameKey", 1, {"serverName": STRING_SCHEMA})
HEARTBEAT_VALUE_SCHEMA = struct("io.debezium.connector.common.Heartbeat", 1, {"ts_ms": INT64_SCHEMA})

NOTIFICATION_KEY_SCHEMA = struct("io.debezium.connector.common.NotificationKey", 1, {"id": STRING_SCHEMA})
NOTIFICATION_VALUE_SCHEMA = struct(
    "io.debezium.connector.common.Notification",
    1,
    {
        "id": STRING_SCHEMA,
        "type": STRING_SCHEMA,
        "aggregate_type": STRING_SCHEMA,
        "additional_data": Schema(SchemaType.MAP, optional=True, key_schema=STRING_SCHEMA, value_schema=STRING_SCHEMA),
        "timestamp": INT64_SCHEMA,
    },
)


def schema_change_key(connector: str) -> Schema:
    """Return the schema of a schema change's key.

    Args:
        connector: ``mysql`` or ``mariadb``.
    """
    return struct(f"io.debezium.connector.{connector}.SchemaChangeKey", 1, {"databaseName": STRING_SCHEMA})


def schema_change_value(connector: str, source: Schema) -> Schema:
    """Return the schema of a schema change's value.

    Args:
        connector: ``mysql`` or ``mariadb``.
        source: of the connector's records.
    """
    return struct(
        f"io.debezium.connector.{connector}.SchemaChangeValue",
        1,
        {
            "source": source,
            "ts_ms": INT64_SCHEMA,
            "databaseName": OPTIONAL_STRING_SCHEMA,
            "schemaName": OPTIONAL_STRING_SCHEMA,
            "ddl": OPTIONAL_STRING_SCHEMA,
            "tableChanges": _array(CHANGE_SCHEMA),
        },
    )
