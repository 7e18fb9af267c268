"""Avro with a real schema registry: our bytes beside those of a converter in Java, and read by Confluent's library."""

import base64
import json
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest
import requests
from confluent_kafka.schema_registry import Schema as Registered
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.avro.converter import AvroConverter
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.errors import ConfigError, DataError, RetriableError
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from tests.conformance.converter_cases import DATE, ROW, ROW_EMPTY, ROW_FULL, STRING, decimal, envelope, struct
from tests.conformance.java_records import JavaRecords
from tests.integration.converters.enveloped_records import read, written
from tests.registry_converters import JAVAS_AVRO, registry_options
from tests.registry_server import registry_client

INT = {"type": "int32", "optional": False}
MAPS = struct(
    ("small", {"type": "int8", "optional": False}),
    ("short", {"type": "int16", "optional": True}),
    ("texts", {"type": "map", "keys": STRING, "values": {"type": "int64", "optional": True}, "optional": False}),
    ("numbers", {"type": "map", "keys": INT, "values": decimal(1, optional=True), "optional": True}),
    ("days", {"type": "array", "items": {**DATE, "optional": True}, "optional": False}),
    ("inner", {"type": "array", "items": struct(("price", decimal(3)), name="shop.Price"), "optional": False}),
    ("again", struct(("price", decimal(3)), name="shop.Price", optional=True)),
    name="shop.Maps",
    optional=False,
)
CASES = [
    envelope(STRING, "세번째 메시지"),
    envelope({"type": "int64", "optional": True}, -(2**63)),
    envelope({"type": "int64", "optional": True}, None),
    envelope(ROW, ROW_FULL),
    envelope(ROW, ROW_EMPTY | {"city": "x"}),
    envelope(struct(("d", {"type": "float", "default": 0.1, "optional": False})), {"d": 2.5}),
    envelope(
        MAPS,
        {
            "small": -128,
            "short": 300,
            "texts": {"a": 1, "b": None},
            "numbers": [[1, "AQ=="], [2, None]],
            "days": [0, None, -1],
            "inner": [{"price": "AQ=="}, {"price": "f////////w=="}],
            "again": {"price": "/w=="},
        },
    ),
    envelope(
        MAPS,
        {"small": 127, "short": None, "texts": {}, "numbers": None, "days": [], "inner": [], "again": None},
    ),
]


def converter(url: str, *, key: bool = False, **options: str) -> AvroConverter:
    made = AvroConverter()
    named = {name.replace("_", "."): value for name, value in options.items()}
    made.configure({"schema.registry.url": url, **named}, is_key=key)
    return made


def bytes_of(found: list[bytes | str | None]) -> list[bytes | None]:
    assert not any(isinstance(one, str) for one in found), found
    return [one for one in found if not isinstance(one, str)]


def payload(data: object) -> Any:
    assert isinstance(data, bytes), data
    return json.loads(data)["payload"]


def versions(url: str, *names: str) -> dict[str, list[int]]:
    """The versions of the subjects with one of these names in theirs: other tests register at the same time."""
    client = registry_client(url)
    mine = [subject for subject in client.get_subjects() if any(name in subject for name in names)]
    return {subject: client.get_versions(subject) for subject in mine}


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_s4_03_bytes_are_javas_and_each_reads_the_others(
    spark: SparkSession, schema_registry: str, java: JavaRecords, topic_prefix: str
) -> None:
    ours = bytes_of(written(spark, converter(schema_registry), topic_prefix, CASES))
    registered = versions(schema_registry, topic_prefix)
    assert registered
    assert bytes_of(written(spark, converter(schema_registry), topic_prefix, CASES[:1])) == ours[:1]
    assert versions(schema_registry, topic_prefix) == registered, "a second run registers nothing"

    options = registry_options(JAVAS_AVRO, schema_registry)
    theirs = [
        java.written(JAVAS_AVRO, options, [data], topic=f"{topic_prefix}java{number}")[0]
        for number, data in enumerate(CASES)
    ]
    assert ours == theirs, "ids included: the registry takes both texts for the same schema"

    expected = [json.loads(data)["payload"] for data in CASES]
    back = read(spark, converter(schema_registry), ours)
    assert [None if one is None else payload(one) for one in back] == expected
    # This converter reads records only: of a text alone it says that it has no type.
    records = [number for number, data in enumerate(CASES) if b'{"schema":{"type":"struct"' in data]
    again = java.read(JAVAS_AVRO, options, [ours[number] for number in records])
    assert [payload(one) for one in again] == [expected[number] for number in records]
    schema = json.loads(back[3] or b"")["schema"]
    assert (schema["name"], schema["version"], schema["doc"], schema["parameters"]) == (
        "shop.Row",
        3,
        'a "row"',
        {"b": "1", "a": "2"},
    )


def test_confluents_library_reads_our_records(spark: SparkSession, schema_registry: str, topic_prefix: str) -> None:
    (data,) = bytes_of(written(spark, converter(schema_registry), topic_prefix, CASES[3:4]))
    reader = AvroDeserializer(registry_client(schema_registry))
    found = reader(data, SerializationContext("any", MessageField.VALUE))
    assert found["id"] == 7
    assert found["name"] == "세번째"
    assert found["price"] == Decimal("5.00")
    assert found["born"].isoformat() == "2024-10-04"
    assert found["inner"] == {"x": 1.5}


def register(url: str, subject: str, schema: object) -> bytes:
    """What records of the schema begin with."""
    found = registry_client(url).register_schema(subject, Registered(json.dumps(schema), "AVRO"))
    return b"\0" + found.to_bytes(4)


def test_what_a_batch_may_hold(spark: SparkSession, schema_registry: str, topic_prefix: str) -> None:
    one = {"type": "record", "name": "R", "fields": [{"name": "a", "type": "int"}]}
    two = {**one, "fields": [*one["fields"], {"name": "b", "type": ["null", "string"], "default": None}]}
    first, second = (register(schema_registry, f"{topic_prefix}r-value", schema) for schema in (one, two))
    union = register(
        schema_registry,
        f"{topic_prefix}u-value",
        {
            "type": "record",
            "name": "U",
            "fields": [
                {"name": "u", "type": ["null", "int", "string", {"type": "fixed", "name": "F", "size": 2}]},
                {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
                {"name": "m", "type": {"type": "long", "logicalType": "timestamp-micros"}},
            ],
        },
    )
    decimals = register(schema_registry, f"{topic_prefix}d-value", json.loads(DECIMALS))
    scaled = register(schema_registry, f"{topic_prefix}s-value", json.loads(DECIMALS.replace("2}", "50}")))
    made = converter(schema_registry)
    records = [
        first + b"\x02",
        second + b"\x04\x02\x02x",
        second + b"\x06\x00",
        None,
        union + b"\x04\x02x\x02\x02",
        union + b"\x06\xff\x00\x00\x04",
        union + b"\x00\x00\x04",
        b"no magic",
        b"\0\0",
        b"\0\x7f\xff\xff\xff\x02",
        second + b"\x04\x02\x08x",
        second + b"\x04",
        decimals + b"\x02\x05",
        decimals + b"\x40" + b"\x7f" * 32,
        scaled + b"\x02\x05",
    ]
    found = read(spark, made, records)
    failed = "Failed to deserialize data to Avro: "
    assert [payload(found[i]) for i in (0, 1, 2)] == [{"a": 1}, {"a": 2, "b": "x"}, {"a": 3, "b": None}]
    assert found[3] is None
    none = {"int": None, "string": None, "F": None, "fixed": None}
    unions = [payload(found[i]) for i in (4, 5, 6)]
    assert [one["u"] and {**none, **one["u"]} for one in unions] == [
        {**none, "string": "x"},
        {**none, "fixed": base64.b64encode(b"\xff\0").decode()},
        None,
    ]
    assert [(one["e"], one["m"]) for one in unions] == [("B", 1), ("A", 2), ("A", 2)]
    assert found[7] == found[8] == f"{failed}Unknown magic byte!"
    assert isinstance(found[9], str)
    assert "Schema 2147483647 cannot be had" in found[9]
    assert schema_registry in found[9]
    assert all("the bytes do not fit the schema" in str(found[i]) for i in (10, 11, 13))
    assert payload(found[12]) == {"d": "BQ=="}
    assert found[14] == f"{failed}Decimals of scale 50 cannot be read: it may be 0 to 38"


DECIMALS = """{"type": "record", "name": "D", "fields": [
    {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 80, "scale": 2}}]}"""


def test_the_batch_before_tells_the_next(spark: SparkSession, schema_registry: str, topic_prefix: str) -> None:
    prefix = register(schema_registry, f"{topic_prefix}-value", "string")
    made = converter(schema_registry)
    df = spark.createDataFrame([(prefix + b"\x02a",)], "v binary")
    assert made.expected_decoder("v") is None
    (decoder,) = made.decoders(df, "v")
    likely = made.expected_decoder("v")
    assert likely is not None
    assert likely is made.expected_decoder("v")
    assert likely.schema == decoder.schema
    assert [row.v for row in df.select(likely.value.alias("v")).collect()] == ["a"]
    mixed = spark.createDataFrame([(prefix + b"\x02a",), (None,)], "v binary")
    assert len(made.decoders(mixed, "v")) == 2
    assert made.expected_decoder("v") is None


def test_schemas_that_contain_themselves_are_refused(
    spark: SparkSession, schema_registry: str, topic_prefix: str
) -> None:
    tree = {"type": "record", "name": "Tree", "fields": [{"name": "next", "type": ["null", "Tree"]}]}
    prefix = register(schema_registry, f"{topic_prefix}-value", tree)
    (found,) = read(spark, converter(schema_registry), [prefix + b"\0"])
    assert isinstance(found, str)
    assert "The Avro schema Tree contains itself" in found


def test_strategies_name_the_subjects(spark: SparkSession, schema_registry: str, topic_prefix: str) -> None:
    name = f"Row{topic_prefix}".replace("-", "_")
    row = Schema(SchemaType.STRUCT, name=f"shop.{name}", fields=(SchemaField("a", STRING_SCHEMA),))
    package = "io.confluent.kafka.serializers.subject."
    for strategy in ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy"):
        made = converter(schema_registry, value_subject_name_strategy=package + strategy)
        made.encode_for(f"{topic_prefix}t", row, F.col("v"))
    made = converter(schema_registry, key=True)
    made.encode_for(f"{topic_prefix}t", row, F.col("v"))
    found = set(versions(schema_registry, topic_prefix, name))
    assert found == {
        f"{topic_prefix}t-value",
        f"shop.{name}",
        f"{topic_prefix}t-shop.{name}",
        f"{topic_prefix}t-key",
    }
    made = converter(schema_registry, value_subject_name_strategy=f"{package}RecordNameStrategy")
    with pytest.raises(DataError, match="the message value must only be a record schema"):
        made.encode_for(f"{topic_prefix}t", STRING_SCHEMA, F.col("v"))


def row_of(*names: str) -> Schema:
    return Schema(SchemaType.STRUCT, name="Row", fields=tuple(SchemaField(name, STRING_SCHEMA) for name in names))


def test_what_the_registry_refuses_is_told_in_its_words(
    spark: SparkSession, schema_registry: str, topic_prefix: str
) -> None:
    topic = f"{topic_prefix}t"
    converter(schema_registry).encode_for(topic, row_of("a"), F.col("v"))
    with pytest.raises(DataError) as refused:
        converter(schema_registry).encode_for(topic, row_of("a", "b"), F.col("v"))
    assert f"for subject {topic}-value failed: the schema registry at {schema_registry} answers: " in str(refused.value)
    assert "incompatible" in str(refused.value).lower()
    with pytest.raises(DataError, match="Looking for the schema"):
        converter(schema_registry, auto_register_schemas="false").encode_for(topic, row_of("c"), F.col("v"))
    latest = converter(schema_registry, auto_register_schemas="false", use_latest_version="true")
    latest.encode_for(topic, row_of("a"), F.col("v"))
    with pytest.raises(DataError, match="Incompatible schema"):
        latest.encode_for(topic, row_of("a", "b"), F.col("v"))


def test_no_registry_is_an_error_to_try_again() -> None:
    url = f"http://name:secret@{HOST}:{free_port()}"
    made = converter(url, max_retries="0")
    with pytest.raises(RetriableError) as error:
        made.registry.schema(1)
    assert url.replace("name:secret@", "") in str(error.value)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "header"),
    [
        (
            {"basic.auth.credentials.source": "USER_INFO", "basic.auth.user.info": "me:pass:word"},
            "Basic " + base64.b64encode(b"me:pass:word").decode(),
        ),
        (
            {"basic.auth.credentials.source": "USER_INFO", "schema.registry.basic.auth.user.info": "me:x"},
            "Basic " + base64.b64encode(b"me:x").decode(),
        ),
        ({"bearer.auth.credentials.source": "STATIC_TOKEN", "bearer.auth.token": "abc"}, "Bearer abc"),
    ],
)
def test_credentials_are_sent(options: dict[str, str], header: str) -> None:
    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.headers["Authorization"])
            body = b'{"schema": "\\"string\\""}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None: ...

    server = HTTPServer((HOST, 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        made = AvroConverter()
        made.configure({"schema.registry.url": f"http://{HOST}:{server.server_port}", **options}, is_key=False)
        assert made.registry.schema(5).text == '"string"'
        assert seen == [header]
        made.registry.close()
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, 'Missing required configuration "schema.registry.url"'),
        ({"schema.registry.url": ""}, "must not be empty"),
        ({"basic.auth.credentials.source": "USER_INFO"}, "basic.auth.user.info must be name:password"),
        ({"bearer.auth.credentials.source": "OAUTHBEARER"}, "needs bearer.auth.issuer.endpoint.url"),
        ({"schema.registry.ssl.truststore.location": "/x.jks"}, "Cannot read the key store /x.jks: No such file"),
        (
            {"schema.registry.ssl.enabled.protocols": "SSLv3"},
            r"Options schema.registry.ssl.\*: Invalid value \[SSLv3\] for configuration ssl.enabled.protocols: ",
        ),
        (
            {"schema.registry.ssl.cipher.suites": "x"},
            r"Options schema.registry.ssl.\*: Invalid value x for configuration ssl.cipher.suites: OpenSSL has no such",
        ),
        ({"value.subject.name.strategy": "Mine"}, "String must be one of: io.confluent"),
        ({"generalized.sum.type.support": "true"}, "this option is not supported"),
    ],
)
def test_options_that_are_wrong(options: dict[str, str], text: str) -> None:
    given = options if "Missing" in text else {"schema.registry.url": "http://localhost:1", **options}
    with pytest.raises(ConfigError, match=text):
        AvroConverter().configure(given, is_key=False)


def test_data_that_cannot_be_written(spark: SparkSession, schema_registry: str, topic_prefix: str) -> None:
    made = converter(schema_registry, enhanced_avro_schema_support="true")
    enum = "io.confluent.connect.avro.Enum"
    symbols = {enum: "shop.Colour", f"{enum}.RED": "RED", f"{enum}.BLUE": "BLUE"}
    schema = struct(("c", {**STRING, "parameters": symbols}), ("l", {"type": "array", "items": STRING}), name="shop.C")
    data = [
        envelope(schema, {"c": "RED", "l": ["x"]}),
        envelope(schema, {"c": "GREEN", "l": []}),
        b'{"schema":null,"payload":1}',
    ]
    found = written(spark, made, topic_prefix, data)
    assert isinstance(found[0], bytes)
    assert found[0][5:] == b"\0\x02\x02x\0"
    assert found[1] == "Not a symbol of the enum shop.Colour: GREEN"
    assert found[2] == "AvroConverter writes data with a schema only, and this record has none"
    assert requests.get(f"{schema_registry}/subjects", timeout=10).ok
