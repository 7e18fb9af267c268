"""Protobuf messages as columns, beside Google's own library: the same bytes, and what is broken is told."""

import datetime
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from google.protobuf import message_factory  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from connect_dagster.converters.protobuf import connect_schema, decoding, encoding
from connect_dagster.converters.protobuf.descriptors import ProtoFile
from connect_dagster.converters.protobuf.messages import Message
from connect_dagster.converters.protobuf.proto_text import Writing, proto_text
from connect_dagster.errors import DataError
from connect_dagster.plugin.schema import Schema, SchemaField, SchemaType

PROTO = """
syntax = "proto3";
package other;
import "confluent/meta.proto";
import "confluent/type/decimal.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
import "google/type/date.proto";
import "google/type/timeofday.proto";
message First { string nothing = 1; }
message Outer {
  enum Color { RED = 0; BLUE = 5; }
  message Inside {
    int32 narrow = 1 [(confluent.field_meta) = { params: [{ key: "connect.type", value: "int16" }] }];
    int64 i64 = 2;
    uint32 u32 = 3;
    uint64 u64 = 4;
    sint32 s32 = 5;
    sint64 s64 = 6;
    fixed32 f32 = 7;
    fixed64 f64 = 8;
    sfixed32 sf32 = 9;
    sfixed64 sf64 = 10;
    float small = 11;
    double large = 12;
    bool good = 13;
    Color color = 14;
    string name = 15;
    bytes raw = 16;
    repeated int32 packed = 17;
    repeated sint32 loose = 18 [packed = false];
    repeated double doubles = 19;
    repeated string names = 20;
    repeated First firsts = 21;
    repeated Color colors = 22;
    repeated fixed32 fixed = 23;
    oneof choice {
      string text = 24;
      First first = 25;
    }
    map<int64, First> by_number = 26;
    map<string, int32> by_name = 27;
    optional int32 maybe = 28;
    confluent.type.Decimal price = 29 [(confluent.field_meta) = { params: [{ key: "scale", value: "2" }] }];
    google.type.Date born = 30;
    google.type.TimeOfDay noon = 31;
    google.protobuf.Timestamp seen = 32;
    google.protobuf.StringValue wrapped = 33;
  }
}
"""
FULL: dict[str, Any] = {
    "choice_0": {"text": "x", "first": None},
    "narrow": -32768, "i64": -(2**63), "u32": 2**32 - 1, "u64": -1, "s32": -(2**31), "s64": -(2**63),
    "f32": 2**32 - 1, "f64": 2**63 - 1, "sf32": -1, "sf64": -(2**63), "small": 1.5, "large": -0.0, "good": True,
    "color": "BLUE", "name": "세 번 😀", "raw": b"\x00\xff", "packed": [0, -1, 300], "loose": [-1, 1],
    "doubles": [0.1, -0.0], "names": ["", "a"], "firsts": [{"nothing": ""}, {"nothing": "y"}],
    "colors": ["RED", "BLUE"], "fixed": [0, 2**32 - 1], "by_number": [(-5, {"nothing": "z"})],
    "by_name": [("k", 1), ("", 0)], "maybe": 0, "price": Decimal("-12345.67"), "born": datetime.date(1, 1, 1),
    "noon": 86399999, "seen": datetime.datetime(1969, 12, 31, 23, 59, 59, 123000, datetime.UTC),
    "wrapped": {"value": "w"},
}  # fmt: skip
LISTS = ("packed", "loose", "doubles", "names", "firsts", "colors", "fixed", "by_number", "by_name")
ZERO = {
    "narrow": 0, "i64": 0, "u32": 0, "u64": 0, "s32": 0, "s64": 0, "f32": 0, "f64": 0, "sf32": 0, "sf64": 0,
    "small": 0.0, "large": 0.0, "good": False, "color": "RED", "name": "", "raw": b"",
}  # fmt: skip


@pytest.fixture(scope="module")
def inside() -> tuple[Any, Schema, Message]:
    """Google's class, our schema and our message."""
    file = ProtoFile(PROTO)
    descriptor = file.message([1, 0])
    assert file.indexes("other.Outer.Inside") == [1, 0]
    schema, message = connect_schema.read(file, descriptor, connect_schema.Reading(keyword=True))
    return message_factory.GetMessageClass(descriptor), schema, message


def column(schema: Schema, values: list[Any]) -> pa.Array:
    return pa.array(values, connect_schema.arrow_type(schema))


def test_bytes_are_googles(inside: tuple[Any, Schema, Message]) -> None:
    google, schema, message = inside
    other = FULL | {"choice_0": {"text": None, "first": {"nothing": "f"}}, "maybe": None, "name": "x" * 70_000}
    values = [dict.fromkeys(FULL), FULL, None, other, FULL]
    encoded = encoding.encoded(message, column(schema, values).slice(1))
    assert encoded.null_count == 1
    for data in encoded.drop_null().to_pylist():
        assert google.FromString(data).SerializeToString(deterministic=True) == data
    assert decoding.decoded(message, encoded).to_pylist() == values[1:]


def test_what_was_not_written_has_its_default(inside: tuple[Any, Schema, Message]) -> None:
    google, schema, message = inside
    empty = dict.fromkeys(FULL) | ZERO | {name: [] for name in LISTS}
    found = decoding.decoded(message, pa.array([b"", google().SerializeToString(), None], pa.binary()))
    assert found.to_pylist() == [empty, empty, None]
    assert encoding.encoded(message, column(schema, [dict.fromkeys(FULL)])).to_pylist() == [b""]


def test_fields_in_pieces_and_unknown_ones(inside: tuple[Any, Schema, Message]) -> None:
    google, _, message = inside
    one, two = google(packed=[1], maybe=1, text="a"), google(packed=[2, 3], maybe=2, colors=[0, 7])
    one.wrapped.SetInParent()
    two.wrapped.value = "later"
    two.first.nothing = "last"
    unpacked = b"\x88\x01\x05"  # field 17 as a single number
    unknown = b"\xc2\x3e\x02hi" + b"\xc8\x3e\x01" + b"\xcd\x3e0000" + b"\xc9\x3e00000000"
    data = one.SerializeToString() + unpacked + unknown + two.SerializeToString()
    (found,) = decoding.decoded(message, pa.array([data], pa.binary())).to_pylist()
    assert (found["packed"], found["maybe"], found["wrapped"]) == ([1, 5, 2, 3], 2, {"value": "later"})
    assert found["choice_0"] == {"text": None, "first": {"nothing": "last"}}
    assert found["colors"] == ["RED", "UNKNOWN_ENUM_VALUE_Color_7"]


def test_numbers_without_a_symbol_are_written_as_they_were_read(inside: tuple[Any, Schema, Message]) -> None:
    google, _, message = inside
    data = google(color=-3, colors=[7, 0, 2**31 - 1]).SerializeToString()
    read = decoding.decoded(message, pa.array([data], pa.binary()))
    assert read[0].as_py()["color"] == "UNKNOWN_ENUM_VALUE_Color_-3"
    (again,) = encoding.encoded(message, read).to_pylist()
    assert google.FromString(again) == google.FromString(data)


def test_broken_messages_are_null_and_leave_the_others_alone(inside: tuple[Any, Schema, Message]) -> None:
    google, schema, message = inside
    (good,) = encoding.encoded(message, column(schema, [FULL])).to_pylist()
    chance = random.Random(7)
    broken = []
    for number in range(4000):
        data = bytearray(good)
        for _ in range(chance.randint(1, 3)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        broken.append(bytes(data[: chance.randrange(len(data))] if number % 2 else data))
    found = decoding.decoded(message, pa.array([part for one in broken for part in (one, good)], pa.binary()))
    assert found[1::2].to_pylist()[::400] == [FULL] * 10
    unread = sum(_google_reads(google, data) != value.is_valid for data, value in zip(broken, found[::2], strict=True))
    # Google's library takes dates, times and decimals that are none, as they are messages to it.
    assert unread < len(broken) * 0.05


def _google_reads(google: Any, data: bytes) -> bool:
    try:
        google.FromString(data)
    except DecodeError:
        return False
    return True


@pytest.mark.parametrize(
    "text",
    ["0", "-1", "127", "128", "-128", "-129", "255", "256", "9" * 38, "-" + "9" * 38, "-32768", "32768"],
)
def test_decimals_are_in_as_few_bytes_as_possible(text: str) -> None:
    scaled = Schema(SchemaType.BYTES, True, "org.apache.kafka.connect.data.Decimal", parameters=(("scale", "0"),))
    row = Schema(SchemaType.STRUCT, name="R", fields=(SchemaField("d", scaled),))
    file = ProtoFile(proto_text(row, Writing()))
    schema, message = connect_schema.read(file, file.message([0]), connect_schema.Reading())
    encoded = encoding.encoded(message, column(schema, [{"d": Decimal(text)}]))
    found = message_factory.GetMessageClass(file.message([0])).FromString(encoded[0].as_py()).d
    number = int(text)
    expected = number.to_bytes((number + (number < 0)).bit_length() // 8 + 1, signed=True)
    assert (found.value, found.precision, found.scale) == (expected, len(text.lstrip("-")), 0)
    assert decoding.decoded(message, encoded).to_pylist() == [{"d": Decimal(text)}]


def test_what_cannot_be_a_column() -> None:
    recursive = ProtoFile('syntax = "proto3"; message Tree { repeated Tree branches = 1; }')
    with pytest.raises(DataError, match="Tree holds itself"):
        connect_schema.read(recursive, recursive.message([0]), connect_schema.Reading())
    with pytest.raises(DataError, match="The schema has no message at"):
        recursive.message([3])
    with pytest.raises(DataError, match=r"cannot be compiled: record.proto:1:10: .*"):
        ProtoFile("syntax = ;")
