"""Topics, and schemas of all records, as Debezium 3.6 names and builds them."""

import json
import re
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.records import service_records
from connect_dagster.connectors.mysql.records.context_headers import context_headers
from connect_dagster.connectors.mysql.records.envelope import (
    INT64_SCHEMA,
    SnapshotRecord,
    envelope_schema,
    key_schema,
    row_schema,
    source_schema,
)
from connect_dagster.connectors.mysql.records.topics import TopicNames, sanitized
from connect_dagster.connectors.mysql.schema.model import Column, Table
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, Schema, SchemaType

NAMES = TopicNames("shop")
TABLE = Table("ops", "goods", (Column("id", "INT"), Column("name", "VARCHAR")), key=("ID",))


def field(column: Column) -> Schema:
    return INT64_SCHEMA if column.name == "id" else OPTIONAL_STRING_SCHEMA


def fields(schema: Schema) -> list[str]:
    """Return each field as its name and type, with a question mark where it is optional."""
    return [f"{part.name} {part.schema.type.value}{'?' * part.schema.optional}" for part in schema.fields]


def test_topics() -> None:
    assert NAMES.of_table("ops", "goods") == "shop.ops.goods"
    assert NAMES.of_table("ops", "a b/별-_.") == "shop.ops.a_b__-_."
    assert (NAMES.schema_changes, NAMES.transactions, NAMES.heartbeats) == (
        "shop",
        "shop.transaction",
        "__debezium-heartbeat.shop",
    )
    assert TopicNames("shop", heartbeat_name="beats").heartbeats == "beats"
    other = TopicNames("shop", delimiter="_", heartbeat="beat", transaction="tx")
    assert (other.of_table("ops", "goods"), other.transactions, other.heartbeats) == (
        "shop_ops_goods",
        "shop_tx",
        "beat_shop",
    )


@pytest.mark.parametrize(
    ("name", "topic"),
    [
        ("shop.a b", "shop.a_b"),
        ("별", "_"),
        ("a🎉", "a__"),
        (".", "_"),
        ("..", "__"),
        ("...", "..."),
        ("é" * 300, "_" * 249),
        ("x" * 249, "x" * 249),
    ],
)
def test_sanitized(name: str, topic: str) -> None:
    assert sanitized(name) == topic


@given(st.text(min_size=1))
def test_sanitized_is_a_topic(name: str) -> None:
    topic = sanitized(name)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,249}", topic)
    assert topic not in (".", "..")
    assert sanitized(topic) == topic


def test_envelope() -> None:
    row = row_schema(NAMES, TABLE, field)
    value = envelope_schema(NAMES, TABLE, row, source_schema("mysql"))
    assert (value.name, value.version, value.optional) == ("shop.ops.goods.Envelope", 2, False)
    assert fields(value) == [
        "before struct?",
        "after struct?",
        "source struct",
        "transaction struct?",
        "op string",
        "ts_ms int64?",
        "ts_us int64?",
        "ts_ns int64?",
    ]
    assert value.fields[0].schema == value.fields[1].schema == row
    assert (row.name, fields(row)) == ("shop.ops.goods.Value", ["id int64", "name string?"])
    transaction = value.fields[3].schema
    assert (transaction.name, transaction.version) == ("event.block", 1)
    assert fields(transaction) == ["id string", "total_order int64", "data_collection_order int64"]


def test_key() -> None:
    key = key_schema(NAMES, TABLE, field)
    assert key is not None
    assert (key.name, key.optional, fields(key)) == ("shop.ops.goods.Key", False, ["id int64"])
    assert key_schema(NAMES, Table("ops", "log", TABLE.columns), field) is None
    with pytest.raises(KeyError, match=r"ops\.goods has no column code"):
        key_schema(NAMES, Table("ops", "goods", TABLE.columns, key=("code",)), field)


@pytest.mark.parametrize("connector", ["mysql", "mariadb"])
def test_source(connector: str) -> None:
    source = source_schema(connector)
    assert (source.name, source.version) == (f"io.debezium.connector.{connector}.Source", 1)
    assert fields(source) == [
        "version string",
        "connector string",
        "name string",
        "ts_ms int64",
        "snapshot string?",
        "db string",
        "sequence string?",
        "ts_us int64?",
        "ts_ns int64?",
        "table string?",
        "server_id int64",
        "gtid string?",
        "file string",
        "pos int64",
        "row int32",
        "thread int64?",
        "query string?",
    ]
    assert source.fields[4].schema == Schema(
        SchemaType.STRING,
        optional=True,
        name="io.debezium.data.Enum",
        version=1,
        parameters=(("allowed", "true,first,first_in_data_collection,last_in_data_collection,last,false,incremental"),),
        default=SnapshotRecord.FALSE.value,
    )


def test_source_has_the_fields_of_the_example() -> None:
    """The example of a record in Debezium's form."""
    example: dict[str, Any] = json.loads(
        '{"version":"3.6.1.Final","connector":"mysql","name":"shop","ts_ms":1700000000123,"snapshot":"false",'
        '"db":"ops","sequence":null,"ts_us":1700000000123456,"ts_ns":1700000000123456000,"table":"goods","server_id":1,'
        '"gtid":null,"file":"binlog.000003","pos":431,"row":0,"thread":12,"query":null}'
    )
    assert [part.name for part in source_schema("mysql").fields] == list(example)


def test_context_headers() -> None:
    run = UUID("0197f0c8-6a4b-7000-8000-000000000001")
    assert list(context_headers("shop", 0, "mysql", run).items()) == [
        ("__debezium.context.connectorLogicalName", "shop"),
        ("__debezium.context.taskId", "0"),
        ("__debezium.context.connectorName", "mysql"),
        ("__debezium.context.runId", str(run)),
    ]


def test_service_records() -> None:
    value = service_records.schema_change_value("mysql", source_schema("mysql"))
    assert (value.name, value.version) == ("io.debezium.connector.mysql.SchemaChangeValue", 1)
    assert fields(value) == [
        "source struct",
        "ts_ms int64",
        "databaseName string?",
        "schemaName string?",
        "ddl string?",
        "tableChanges array",
    ]
    key = service_records.schema_change_key("mariadb")
    assert (key.name, fields(key)) == ("io.debezium.connector.mariadb.SchemaChangeKey", ["databaseName string"])
    assert fields(service_records.CHANGE_SCHEMA) == ["type string", "id string", "table struct?"]
    assert fields(service_records.HEARTBEAT_KEY_SCHEMA) == ["serverName string"]
    assert fields(service_records.HEARTBEAT_VALUE_SCHEMA) == ["ts_ms int64"]
    assert fields(service_records.TRANSACTION_KEY_SCHEMA) == ["id string"]
    assert fields(service_records.TRANSACTION_VALUE_SCHEMA) == [
        "status string",
        "id string",
        "event_count int64?",
        "data_collections array?",
        "ts_ms int64",
    ]
    assert fields(service_records.NOTIFICATION_VALUE_SCHEMA) == [
        "id string",
        "type string",
        "aggregate_type string",
        "additional_data map?",
        "timestamp int64",
    ]
