"""Protobuf with a real schema registry: our records read by us and by Confluent's library, and theirs by us."""

import datetime
import uuid
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka.schema_registry.protobuf import ProtobufDeserializer, ProtobufSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
from google.protobuf import message_factory  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.protobuf.converter import ProtobufConverter
from connect_dagster.converters.protobuf.descriptors import ProtoFile
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaField, SchemaType
from tests.registry_records import decoded, encoded, versions_of
from tests.registry_server import registry_client

UTC = datetime.UTC


def optional(type_: SchemaType, **more: Any) -> Schema:
    return Schema(type_, optional=True, **more)


INNER = optional(
    SchemaType.STRUCT,
    name="shop.Inner",
    fields=(SchemaField("s", optional(SchemaType.STRING)), SchemaField("n", Schema(SchemaType.INT64))),
)
ROW = Schema(
    SchemaType.STRUCT,
    name="shop.Row",
    fields=tuple(
        SchemaField(name, schema)
        for name, schema in {
            "id": Schema(SchemaType.INT32),
            "i8": optional(SchemaType.INT8),
            "i16": optional(SchemaType.INT16),
            "i64": optional(SchemaType.INT64),
            "f32": optional(SchemaType.FLOAT32),
            "f64": optional(SchemaType.FLOAT64),
            "good": optional(SchemaType.BOOLEAN),
            "name": optional(SchemaType.STRING),
            "raw": optional(SchemaType.BYTES),
            "price": optional(SchemaType.BYTES, name=DECIMAL, parameters=(("scale", "2"),)),
            "born": optional(SchemaType.INT32, name=DATE),
            "noon": optional(SchemaType.INT32, name=TIME),
            "seen": optional(SchemaType.INT64, name=TIMESTAMP),
            "inner": INNER,
            "numbers": optional(SchemaType.ARRAY, value_schema=Schema(SchemaType.INT32)),
            "inners": optional(SchemaType.ARRAY, value_schema=INNER),
            "counts": optional(
                SchemaType.MAP, key_schema=Schema(SchemaType.STRING), value_schema=Schema(SchemaType.INT32)
            ),
        }.items()
    ),
)
FULL: dict[str, Any] = {
    "id": 7,
    "i8": -128,
    "i16": 32767,
    "i64": -(2**63),
    "f32": 1.5,
    "f64": -0.1,
    "good": False,
    "name": "세번째 😀",
    "raw": b"\x00\xff",
    "price": Decimal("-99999999.99"),
    "born": datetime.date(2024, 2, 29),
    "noon": 86399999,
    "seen": datetime.datetime(1969, 12, 31, 23, 59, 59, 123000, UTC),
    "inner": {"s": "", "n": -1},
    "numbers": [1, -1, 300],
    "inners": [{"s": None, "n": 0}, {"s": "z", "n": 1}],
    "counts": {"a": 1, "": 0},
}
NO_LISTS: dict[str, Any] = {"numbers": [], "inners": [], "counts": {}}
EMPTY = dict.fromkeys(FULL) | {"id": 0}
# Without further options Java reads what was not written as the type's default.
DEFAULTS = {"i8": 0, "i16": 0, "i64": 0, "f32": 0.0, "f64": 0.0, "good": False, "name": "", "raw": b""}


def converter(url: str, config: dict[str, str] | None = None) -> ProtobufConverter:
    made = ProtobufConverter()
    made.configure({"schema.registry.url": url, **(config or {})}, is_key=False)
    return made


@pytest.mark.parametrize(
    "option",
    [
        "optional.for.nullables",
        pytest.param("wrapper.for.nullables", marks=pytest.mark.nightly),
        pytest.param(None, marks=pytest.mark.nightly),
    ],
)
def test_s4_03_records_pass_with_nulls_and_logical_types(
    spark: SparkSession, schema_registry: str, option: str | None
) -> None:
    topic, config = f"protobuf-{uuid.uuid4().hex[:8]}", {option: "true"} if option else {}
    values = [FULL, EMPTY, None, FULL | {"name": None}]
    data = encoded(spark, converter(schema_registry, config), topic, ROW, values)
    assert data[2] is None
    assert all(one is None or one.startswith(b"\x00") for one in data)
    schemas, found = decoded(spark, converter(schema_registry, config), data)
    if option is None:
        # Java cannot tell these from the defaults of their types either.
        inners = [{"s": "", "n": 0}, {"s": "z", "n": 1}]
        full = FULL | {"inners": inners}
        assert found == [full, EMPTY | DEFAULTS | NO_LISTS, None, full | {"name": ""}]
    else:
        assert found == [FULL, EMPTY | NO_LISTS, None, FULL | {"name": None}]
    (schema,) = [one for one in schemas if one is not None]
    assert [field.name for field in schema.fields] == list(FULL)
    assert {field.name: field.schema.name for field in schema.fields if field.name in ("price", "born")} == {
        "price": DECIMAL,
        "born": DATE,
    }
    before = versions_of(schema_registry, f"{topic}-value")
    assert encoded(spark, converter(schema_registry, config), topic, ROW, values) == data
    assert versions_of(schema_registry, f"{topic}-value") == before == [1], "no new version"


def test_confluents_deserializer_reads_ours(spark: SparkSession, schema_registry: str) -> None:
    topic = f"protobuf-{uuid.uuid4().hex[:8]}"
    made = converter(schema_registry, {"optional.for.nullables": "true"})
    full, empty = encoded(spark, made, topic, ROW, [FULL, EMPTY])
    text = registry_client(schema_registry).get_latest_version(f"{topic}-value").schema.schema_str
    type_ = message_factory.GetMessageClass(ProtoFile(str(text)).message([0]))
    read = ProtobufDeserializer(type_, {"use.deprecated.format": False})
    found = read(full, SerializationContext(topic, MessageField.VALUE))
    assert (found.id, found.i8, found.name, list(found.numbers)) == (7, -128, "세번째 😀", [1, -1, 300])
    assert (found.born.year, found.born.month, found.born.day) == (2024, 2, 29)
    assert (found.seen.seconds, found.seen.nanos) == (-1, 123_000_000)
    assert (int.from_bytes(found.price.value, signed=True), found.price.scale) == (-9999999999, 2)
    assert dict(found.counts) == {"a": 1, "": 0}
    assert not read(empty, SerializationContext(topic, MessageField.VALUE)).HasField("name")


FOREIGN = """
syntax = "proto3";
package other;
message First { string nothing = 1; }
message Outer {
  enum Color { RED = 0; BLUE = 5; }
  message Inside {
    uint32 u32 = 1;
    uint64 u64 = 2;
    sint32 s32 = 3;
    sint64 s64 = 4;
    fixed32 f32 = 5;
    fixed64 f64 = 6;
    sfixed32 sf32 = 7;
    sfixed64 sf64 = 8;
    Color color = 9;
    repeated Color colors = 10;
    repeated double doubles = 11;
    repeated sint32 loose = 12 [packed = false];
    oneof choice {
      string text = 13;
      First first = 14;
    }
    map<int64, First> firsts = 15;
    optional int32 maybe = 16;
  }
}
"""


def test_foreign_messages_of_all_types_are_read(spark: SparkSession, schema_registry: str) -> None:
    topic = f"protobuf-{uuid.uuid4().hex[:8]}"
    type_: Any = message_factory.GetMessageClass(ProtoFile(FOREIGN).message([1, 0]))
    one = type_(
        u32=2**32 - 1, u64=2**63, s32=-(2**31), s64=-(2**63), f32=2**32 - 1, f64=1, sf32=-1, sf64=-2, color=5,
        colors=[0, 5, 7], doubles=[1.5, -0.0], loose=[-1, 1], text="x", maybe=0,
    )  # fmt: skip
    two = type_()
    two.first.nothing = "y"
    two.firsts[-5].nothing = "z"
    client = registry_client(schema_registry)
    write = ProtobufSerializer(type_, client, {"use.deprecated.format": False})
    data = [write(message, SerializationContext(topic, MessageField.VALUE)) for message in (one, two)]
    made = converter(schema_registry, {"optional.for.nullables": "true"})
    (schema,), found = decoded(spark, made, [*data, data[0][:-1], data[0][:4]], schemas_of=slice(0, 1))
    unset = {"u32": 0, "u64": 0, "s32": 0, "s64": 0, "f32": 0, "f64": 0, "sf32": 0, "sf64": 0, "color": "RED"}
    assert found[0] == {
        "choice_0": {"text": "x", "first": None},
        "u32": 2**32 - 1, "u64": -(2**63), "s32": -(2**31), "s64": -(2**63), "f32": 2**32 - 1, "f64": 1,
        "sf32": -1, "sf64": -2, "color": "BLUE", "colors": ["RED", "BLUE", "UNKNOWN_ENUM_VALUE_Color_7"],
        "doubles": [1.5, -0.0], "loose": [-1, 1], "firsts": {}, "maybe": 0,
    }  # fmt: skip
    assert found[1] == unset | {
        "choice_0": {"text": None, "first": {"nothing": "y"}},
        "colors": [], "doubles": [], "loose": [], "firsts": {-5: {"nothing": "z"}}, "maybe": None,
    }  # fmt: skip
    assert str(found[2]).startswith("Failed to deserialize data to Protobuf: the bytes do not fit")
    assert str(found[3]) == "Failed to deserialize data to Protobuf: Unknown magic byte!"
    assert schema is not None
    assert schema.name == "Inside"
    again = encoded(spark, made, f"{topic}-ours", schema, found[:2])
    assert decoded(spark, made, again)[1] == found[:2]


@pytest.mark.parametrize(
    ("type_", "value"), [(SchemaType.STRING, "text"), (SchemaType.INT64, -5), (SchemaType.BYTES, b"")]
)
def test_values_that_are_no_structs_are_wrapped(
    spark: SparkSession, schema_registry: str, type_: SchemaType, value: Any
) -> None:
    topic, made = f"protobuf-{uuid.uuid4().hex[:8]}", converter(schema_registry)
    data = encoded(spark, made, topic, Schema(type_, optional=True), [value, None])
    assert data[1] is None
    (schema, _), found = decoded(spark, made, data)
    assert schema is not None
    assert (schema.type, found) == (type_, [value, None])


def test_what_protobuf_has_not_is_refused(spark: SparkSession, schema_registry: str) -> None:
    made = converter(schema_registry)
    strings = Schema(SchemaType.ARRAY, value_schema=optional(SchemaType.STRING))
    row = Schema(SchemaType.STRUCT, fields=(SchemaField("a", strings),))
    df = spark.createDataFrame([({"a": ["x", None]},), ({"a": ["x"]},)], "v struct<a: array<string>>")
    error = made.encode_errors(row, F.col("v"))
    assert error is not None
    assert [row.e is None for row in df.select(error.alias("e")).collect()] == [False, True]
    lists = Schema(SchemaType.ARRAY, value_schema=strings)
    with pytest.raises(DataError, match="Array cannot be nested"):
        made.encode_for("t", Schema(SchemaType.STRUCT, fields=(SchemaField("a", lists),)), F.col("v"))
    with pytest.raises(DataError, match="Unsupported root schema of type ARRAY"):
        made.encode_for("t", strings, F.col("v"))
    error = made.encode_errors(None, F.col("v"))
    assert error is not None
    df = spark.createDataFrame([(None,), ("1",)], "v string")
    assert [tuple(row) for row in df.select(made.encode_for("t", None, F.col("v")), error).collect()] == [
        (None, None),
        (None, "Protobuf cannot be written without a schema"),
    ]
