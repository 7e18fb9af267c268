"""Columns from the three kinds of schemas."""

import json
from typing import Any

from dagster import TableSchema

from connect_dagster.orchestration.assets.columns import avro_columns, connect_columns, json_schema_columns

TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
# Seed 001's record of the topic mysql-customers.
CUSTOMERS: dict[str, Any] = {
    "type": "struct",
    "fields": [
        {"type": "int32", "optional": False, "field": "id"},
        {"type": "string", "optional": False, "field": "name"},
        {"type": "string", "optional": False, "field": "email"},
        {"type": "int64", "optional": False, "name": TIMESTAMP, "version": 1, "field": "created"},
        {"type": "int64", "optional": False, "name": TIMESTAMP, "version": 1, "field": "modified"},
    ],
    "optional": False,
    "name": "customers",
}
CUSTOMERS_COLUMNS = ["id int32", "name string", "email string", "created Timestamp", "modified Timestamp"]


def told(columns: TableSchema | None) -> list[str]:
    """Columns in short; a question mark after those that may be null."""
    assert columns is not None
    return [f"{one.name} {one.type}{'?' if one.constraints.nullable else ''}" for one in columns.columns]


def test_s3_09_the_columns_of_a_connect_schema() -> None:
    assert told(connect_columns(CUSTOMERS)) == CUSTOMERS_COLUMNS


def test_nested_and_optional_columns_of_a_connect_schema() -> None:
    schema = {
        "type": "struct",
        "fields": [
            {"field": "tags", "type": "array", "items": {"type": "string"}, "optional": True},
            {"field": "sizes", "type": "map", "keys": {"type": "string"}, "values": {"type": "int16"}},
            {"field": "price", "type": "bytes", "name": "org.apache.kafka.connect.data.Decimal"},
            {"field": "place", "type": "struct", "name": "acme.Place", "fields": []},
        ],
    }
    assert told(connect_columns(schema)) == [
        "tags array<string>?",
        "sizes map<string, int16>",
        "price Decimal",
        "place struct",
    ]
    assert connect_columns({"type": "string"}) is None


def test_a_change_event_has_the_columns_of_its_row() -> None:
    envelope = {
        "type": "struct",
        "name": "dbserver1.inventory.customers.Envelope",
        "fields": [
            {**CUSTOMERS, "field": "before"},
            {**CUSTOMERS, "field": "after"},
            {"type": "string", "field": "op"},
        ],
    }
    assert told(connect_columns(envelope)) == CUSTOMERS_COLUMNS


def avro(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind}


def test_s3_09_the_columns_of_an_avro_schema() -> None:
    timestamp = {"type": "long", "connect.version": 1, "connect.name": TIMESTAMP, "logicalType": "timestamp-millis"}
    fields = [avro("id", "int"), avro("name", "string"), avro("email", "string")]
    fields += [avro("created", timestamp), avro("modified", timestamp)]
    assert told(avro_columns({"type": "record", "name": "customers", "fields": fields})) == CUSTOMERS_COLUMNS


def test_unions_and_nested_types_of_avro() -> None:
    fields = [
        avro("a", ["null", "long"]),
        avro("b", {"type": "array", "items": "double"}),
        avro("c", {"type": "map", "values": "float"}),
        avro("d", {"type": "enum", "name": "E", "symbols": []}),
        avro("e", {"type": "int", "connect.type": "int16"}),
        avro("f", {"type": "record", "name": "R", "fields": []}),
        avro("g", {"type": "int", "logicalType": "date"}),
        avro("h", ["null", "int", "string"]),
    ]
    assert told(avro_columns({"type": "record", "name": "r", "fields": fields})) == [
        "a int64?",
        "b array<float64>",
        "c map<string, float32>",
        "d string",
        "e int16",
        "f struct",
        "g Date",
        "h int32 | string?",
    ]
    row = {"type": "record", "name": "Value", "fields": [avro("id", "int")]}
    envelope = {"type": "record", "name": "Envelope", "fields": [avro("after", ["null", row]), avro("op", "string")]}
    assert told(avro_columns(envelope)) == ["id int32"]
    assert avro_columns({"type": "string"}) is None


def test_the_columns_of_a_json_schema() -> None:
    schema = json.loads(
        """{"type": "object", "title": "customers", "required": ["id"], "properties": {
            "created": {"type": "integer", "title": "org.apache.kafka.connect.data.Timestamp",
                        "connect.index": 2, "connect.type": "int64"},
            "name": {"oneOf": [{"type": "null"}, {"type": "string"}], "connect.index": 1},
            "id": {"type": "integer", "connect.index": 0, "connect.type": "int32"},
            "tags": {"type": "array", "items": {"type": "number"}, "connect.index": 3}}}"""
    )
    assert told(json_schema_columns(schema)) == [
        "id int32",
        "name string?",
        "created Timestamp?",
        "tags array<float64>?",
    ]
    assert json_schema_columns({"type": "string"}) is None
