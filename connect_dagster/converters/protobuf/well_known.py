"""Messages for which Connect has logical types (Java: the constants of ``ProtobufData``)."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from connect_dagster.converters.protobuf.messages import Field, Kind, Meaning, Message
from connect_dagster.plugin.schema import DATE, DECIMAL, TIME, TIMESTAMP, Schema, SchemaType

UNION = "io.confluent.connect.protobuf.Union."
ENUM = "io.confluent.connect.protobuf.Enum"
TAG = "io.confluent.connect.protobuf.Tag"
CONNECT_TYPE = "connect.type"
PRECISION = "connect.decimal.precision"


@dataclass(frozen=True, slots=True)
class Logical:
    """A message that is a logical type.

    Attributes:
        meaning: which; its value is the message's full name.
        file: where the message is defined.
        schema: Connect's schema, required.
        fields: names, kinds and numbers of the message's fields.
    """

    meaning: Meaning
    file: str
    schema: Schema
    fields: tuple[tuple[str, Kind, int], ...]

    def message(self, scale: int = 0) -> Message:
        """Return the message; with the scale of the column for a decimal."""
        fields = tuple(
            Field(number, name, kind, pa.binary(), default=b"")
            if kind is Kind.BYTES
            else Field(number, name, kind, pa.int64(), default=0)
            for name, kind, number in self.fields
        )
        return Message(fields, meaning=self.meaning, scale=scale)


def _schema(type_: SchemaType, name: str) -> Schema:
    return Schema(type_, name=name, version=1)


LOGICAL = {
    logical.schema.name: logical
    for logical in (
        Logical(
            Meaning.DECIMAL,
            "confluent/type/decimal.proto",
            _schema(SchemaType.BYTES, DECIMAL),
            (("value", Kind.BYTES, 1), ("precision", Kind.UINT32, 2), ("scale", Kind.INT32, 3)),
        ),
        Logical(
            Meaning.DATE,
            "google/type/date.proto",
            _schema(SchemaType.INT32, DATE),
            (("year", Kind.INT32, 1), ("month", Kind.INT32, 2), ("day", Kind.INT32, 3)),
        ),
        Logical(
            Meaning.TIME,
            "google/type/timeofday.proto",
            _schema(SchemaType.INT32, TIME),
            (
                ("hours", Kind.INT32, 1),
                ("minutes", Kind.INT32, 2),
                ("seconds", Kind.INT32, 3),
                ("nanos", Kind.INT32, 4),
            ),
        ),
        Logical(
            Meaning.TIMESTAMP,
            "google/protobuf/timestamp.proto",
            _schema(SchemaType.INT64, TIMESTAMP),
            (("seconds", Kind.INT64, 1), ("nanos", Kind.INT32, 2)),
        ),
    )
}
"""By the name of Connect's schema."""

BY_MESSAGE = {logical.meaning.value: logical for logical in LOGICAL.values()}

WRAPPERS_FILE = "google/protobuf/wrappers.proto"
WRAPPERS: dict[str, tuple[Kind, SchemaType]] = {
    "google.protobuf.DoubleValue": (Kind.DOUBLE, SchemaType.FLOAT64),
    "google.protobuf.FloatValue": (Kind.FLOAT, SchemaType.FLOAT32),
    "google.protobuf.Int64Value": (Kind.INT64, SchemaType.INT64),
    "google.protobuf.UInt64Value": (Kind.UINT64, SchemaType.INT64),
    "google.protobuf.Int32Value": (Kind.INT32, SchemaType.INT32),
    "google.protobuf.UInt32Value": (Kind.UINT32, SchemaType.INT64),
    "google.protobuf.BoolValue": (Kind.BOOL, SchemaType.BOOLEAN),
    "google.protobuf.StringValue": (Kind.STRING, SchemaType.STRING),
    "google.protobuf.BytesValue": (Kind.BYTES, SchemaType.BYTES),
}
"""Messages of one field, by their names in the order of their file."""

WRAPPER_OF = {
    SchemaType.INT8: "google.protobuf.Int32Value",
    SchemaType.INT16: "google.protobuf.Int32Value",
    SchemaType.INT32: "google.protobuf.Int32Value",
    SchemaType.INT64: "google.protobuf.Int64Value",
    SchemaType.FLOAT32: "google.protobuf.FloatValue",
    SchemaType.FLOAT64: "google.protobuf.DoubleValue",
    SchemaType.BOOLEAN: "google.protobuf.BoolValue",
    SchemaType.STRING: "google.protobuf.StringValue",
    SchemaType.BYTES: "google.protobuf.BytesValue",
}
"""The wrapper that an optional value is written with."""

KIND_OF = {
    SchemaType.INT8: Kind.INT32,
    SchemaType.INT16: Kind.INT32,
    SchemaType.INT32: Kind.INT32,
    SchemaType.INT64: Kind.INT64,
    SchemaType.FLOAT32: Kind.FLOAT,
    SchemaType.FLOAT64: Kind.DOUBLE,
    SchemaType.BOOLEAN: Kind.BOOL,
    SchemaType.STRING: Kind.STRING,
    SchemaType.BYTES: Kind.BYTES,
}
"""The type that a value is written as."""
