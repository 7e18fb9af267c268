"""Schemas of data records: key, row, ``source`` and the envelope around them (``io.debezium.data.Envelope``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from connect_dagster.connectors.mysql.records.topics import TopicNames
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaField, SchemaType

INT32_SCHEMA = Schema(SchemaType.INT32)
INT64_SCHEMA = Schema(SchemaType.INT64)
OPTIONAL_INT64_SCHEMA = Schema(SchemaType.INT64, optional=True)

ENUM = "io.debezium.data.Enum"
ENVELOPE_VERSION = 2
NEW_KEY_HEADER, OLD_KEY_HEADER = "__debezium.newkey", "__debezium.oldkey"
"""Headers of the two records of an update that changes the key."""


class Operation(Enum):
    """The field ``op``."""

    CREATE = "c"
    UPDATE = "u"
    DELETE = "d"
    READ = "r"
    TRUNCATE = "t"


class SnapshotRecord(Enum):
    """The field ``snapshot`` of ``source``; the order is that of the schema's parameter ``allowed``."""

    TRUE = "true"
    FIRST = "first"
    FIRST_IN_DATA_COLLECTION = "first_in_data_collection"
    LAST_IN_DATA_COLLECTION = "last_in_data_collection"
    LAST = "last"
    FALSE = "false"
    INCREMENTAL = "incremental"


def struct(name: str, version: int, fields: Mapping[str, Schema], *, optional: bool = False) -> Schema:
    """Return the schema of a struct, its fields in their order."""
    parts = tuple(SchemaField(field, schema) for field, schema in fields.items())
    return Schema(SchemaType.STRUCT, optional, name, version, fields=parts)


SNAPSHOT_SCHEMA = Schema(
    SchemaType.STRING,
    optional=True,
    name=ENUM,
    version=1,
    parameters=(("allowed", ",".join(record.value for record in SnapshotRecord)),),
    default=SnapshotRecord.FALSE.value,
)

TRANSACTION_BLOCK_SCHEMA = struct(
    "event.block",
    1,
    {"id": STRING_SCHEMA, "total_order": INT64_SCHEMA, "data_collection_order": INT64_SCHEMA},
    optional=True,
)


def source_schema(connector: str) -> Schema:
    """Return the schema of ``source``.

    Args:
        connector: ``mysql`` or ``mariadb``.
    """
    return struct(
        f"io.debezium.connector.{connector}.Source",
        1,
        {
            "version": STRING_SCHEMA,
            "connector": STRING_SCHEMA,
            "name": STRING_SCHEMA,
            "ts_ms": INT64_SCHEMA,
            "snapshot": SNAPSHOT_SCHEMA,
            "db": STRING_SCHEMA,
            "sequence": OPTIONAL_STRING_SCHEMA,
            "ts_us": OPTIONAL_INT64_SCHEMA,
            "ts_ns": OPTIONAL_INT64_SCHEMA,
            "table": OPTIONAL_STRING_SCHEMA,
            "server_id": INT64_SCHEMA,
            "gtid": OPTIONAL_STRING_SCHEMA,
            "file": STRING_SCHEMA,
            "pos": INT64_SCHEMA,
            "row": INT32_SCHEMA,
            "thread": OPTIONAL_INT64_SCHEMA,
            "query": OPTIONAL_STRING_SCHEMA,
        },
    )


def row_schema(names: TopicNames, table: Table, field: Callable[[Column], Schema]) -> Schema:
    """Return the schema of ``before`` and ``after``.

    Args:
        names: of the connector.
        table: with the captured columns only.
        field: gives the schema of a column.
    """
    return _columns(names.row_schema(table.database, table.name), table.columns, field, optional=True)


def key_schema(names: TopicNames, table: Table, field: Callable[[Column], Schema]) -> Schema | None:
    """Return the schema of keys; ``None`` for a table without one, whose records have no key."""
    columns = [table.column(name) for name in table.key]
    return _columns(names.key_schema(table.database, table.name), columns, field) if columns else None


def envelope_schema(names: TopicNames, table: Table, row: Schema, source: Schema) -> Schema:
    """Return the schema of values."""
    return struct(
        names.envelope_schema(table.database, table.name),
        ENVELOPE_VERSION,
        {
            "before": replace(row, optional=True),
            "after": replace(row, optional=True),
            "source": source,
            "transaction": TRANSACTION_BLOCK_SCHEMA,
            "op": STRING_SCHEMA,
            "ts_ms": OPTIONAL_INT64_SCHEMA,
            "ts_us": OPTIONAL_INT64_SCHEMA,
            "ts_ns": OPTIONAL_INT64_SCHEMA,
        },
    )


def _columns(
    name: str, columns: Sequence[Column], field: Callable[[Column], Schema], *, optional: bool = False
) -> Schema:
    fields = tuple(SchemaField(column.name, field(column)) for column in columns)
    return Schema(SchemaType.STRUCT, optional, name, fields=fields)
