"""JSON Schema with a real schema registry: our records read by us and by Confluent's library, and theirs by us."""

import datetime
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry import Schema as Registered
from confluent_kafka.schema_registry.json_schema import JSONDeserializer, JSONSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json_schema.converter import JsonSchemaConverter
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaField, SchemaType
from tests.registry_records import decoded, encoded, versions_of
from tests.registry_server import registry_client


def optional(type_: SchemaType, **more: Any) -> Schema:
    return Schema(type_, optional=True, **more)


STRING, NUMBER = Schema(SchemaType.STRING), Schema(SchemaType.INT32)
INNER = optional(
    SchemaType.STRUCT,
    name="shop.Inner",
    fields=(SchemaField("s", optional(SchemaType.STRING)), SchemaField("n", Schema(SchemaType.INT64))),
)
FIELDS = {
    "id": NUMBER,
    "i8": optional(SchemaType.INT8),
    "i64": optional(SchemaType.INT64),
    "f32": optional(SchemaType.FLOAT32),
    "good": optional(SchemaType.BOOLEAN),
    "name": optional(SchemaType.STRING, default=None, doc="who"),
    "city": optional(SchemaType.STRING, default="Seoul"),
    "raw": optional(SchemaType.BYTES),
    "price": optional(SchemaType.BYTES, name=DECIMAL, version=1, parameters=(("scale", "2"),)),
    "born": optional(SchemaType.INT32, name=DATE, version=1),
    "noon": optional(SchemaType.INT32, name=TIME, version=1),
    "seen": optional(SchemaType.INT64, name=TIMESTAMP, version=1),
    "inner": INNER,
    "inners": optional(SchemaType.ARRAY, value_schema=INNER),
    "counts": optional(SchemaType.MAP, key_schema=STRING, value_schema=NUMBER),
    "numbers": optional(SchemaType.MAP, key_schema=NUMBER, value_schema=INNER),
}
ROW = Schema(
    SchemaType.STRUCT,
    name="shop.Row",
    version=3,
    fields=tuple(SchemaField(name, schema) for name, schema in FIELDS.items()),
)
FULL: dict[str, Any] = {
    "id": 7,
    "i8": -128,
    "i64": -(2**63),
    "f32": 1.5,
    "good": False,
    "name": "세번째 😀",
    "city": "Busan",
    "raw": b"\x00\xff",
    "price": Decimal("-99999999.99"),
    "born": datetime.date(2024, 2, 29),
    "noon": 86399999,
    "seen": datetime.datetime(1969, 12, 31, 23, 59, 59, 123000, datetime.UTC),
    "inner": {"s": "", "n": -1},
    "inners": [{"s": None, "n": 0}, None],
    "counts": {"a": 1, "": 0},
    "numbers": {1: {"s": "x", "n": 2}, -5: None},
}
EMPTY = dict.fromkeys(FULL) | {"id": 0}


def converter(url: str, config: dict[str, str] | None = None) -> JsonSchemaConverter:
    made = JsonSchemaConverter()
    made.configure({"schema.registry.url": url, **(config or {})}, is_key=False)
    return made


NUMERIC = {"decimal.format": "NUMERIC", "object.additional.properties": "false"}


@pytest.mark.parametrize("config", [{}, pytest.param(NUMERIC, marks=pytest.mark.nightly)], ids=str)
def test_s4_03_records_pass_with_nulls_and_logical_types(
    spark: SparkSession, schema_registry: str, config: dict[str, str]
) -> None:
    topic, values = f"json-{uuid.uuid4().hex[:8]}", [FULL, EMPTY]
    data = encoded(spark, converter(schema_registry, config), topic, ROW, values)
    schemas, found = decoded(spark, converter(schema_registry, config), [*data, None])
    assert found == [FULL, EMPTY | {"city": "Seoul"}, None]
    assert schemas[0] == ROW, "the schema comes back whole"
    assert encoded(spark, converter(schema_registry, config), topic, ROW, values) == data
    assert versions_of(schema_registry, f"{topic}-value") == [1]


def test_confluents_deserializer_reads_ours(spark: SparkSession, schema_registry: str) -> None:
    topic = f"json-{uuid.uuid4().hex[:8]}"
    config = {"decimal.format": "NUMERIC"}
    full, empty = encoded(spark, converter(schema_registry, config), topic, ROW, [FULL, EMPTY])
    client = registry_client(schema_registry)
    text = client.get_latest_version(f"{topic}-value").schema.schema_str
    read = JSONDeserializer(text, schema_registry_client=client)
    found = read(full, SerializationContext(topic, MessageField.VALUE))
    assert found["name"] == "세번째 😀"
    assert found["price"] == -99999999.99
    pairs = sorted(found["numbers"], key=lambda pair: pair["key"])
    assert pairs == [{"key": -5, "value": None}, {"key": 1, "value": {"s": "x", "n": 2}}]
    assert read(empty, SerializationContext(topic, MessageField.VALUE))["name"] is None


FOREIGN = {
    "$schema": "http://json-schema.org/draft-07/schema#",
    "title": "Order",
    "type": "object",
    "definitions": {"line": {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}},
    "properties": {
        "id": {"type": "integer"},
        "price": {"type": ["null", "number"]},
        "color": {"enum": ["red", "blue"]},
        "lines": {"type": "array", "items": {"$ref": "#/definitions/line"}},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["id"],
}


def test_foreign_records_are_read(spark: SparkSession, schema_registry: str) -> None:
    topic = f"json-{uuid.uuid4().hex[:8]}"
    client = registry_client(schema_registry)
    write = JSONSerializer(Registered(json.dumps(FOREIGN), "JSON"), client)
    one = {"id": 1, "price": 1.5, "color": "red", "lines": [{"count": 2}], "note": "x"}
    data = [write(each, SerializationContext(topic, MessageField.VALUE)) for each in (one, {"id": 2})]
    made = converter(schema_registry, {"use.optional.for.nonrequired": "true"})
    (schema, *_), found = decoded(spark, made, [*data, data[1][:-1]])
    assert found[:2] == [one, {"id": 2, "price": None, "color": None, "lines": None, "note": None}]
    assert str(found[2]).startswith("Failed to deserialize data to JSON: ")
    assert schema is not None
    assert (schema.name, schema.fields[0].schema.optional, schema.fields[2].schema.optional) == ("Order", False, True)
    first, second = decoded(spark, converter(schema_registry), data)[1]
    assert first == one
    assert str(second).startswith("Failed to deserialize data to JSON: ")


def test_an_optional_value_may_be_null(spark: SparkSession, schema_registry: str) -> None:
    topic, made = f"json-{uuid.uuid4().hex[:8]}", converter(schema_registry)
    data = encoded(spark, made, topic, optional(SchemaType.STRING), ["x", None])
    assert [one and one[5:] for one in data] == [b'"x"', b"null"]
    assert decoded(spark, made, data)[1] == ["x", None]


def test_without_a_schema_only_null_is_written(spark: SparkSession, schema_registry: str) -> None:
    made = converter(schema_registry)
    error = made.encode_errors(None, F.col("v"))
    assert error is not None
    df = spark.createDataFrame([(None,), ("1",)], "v string")
    assert [tuple(row) for row in df.select(made.encode_for("t", None, F.col("v")), error).collect()] == [
        (None, None),
        (None, "JsonSchemaConverter writes data with a schema only, and this record has none"),
    ]


def test_validation_of_records_is_refused(schema_registry: str) -> None:
    with pytest.raises(ConfigError, match="is not supported: records are checked for their types only"):
        converter(schema_registry, {"json.fail.invalid.schema": "true"})
