"""Messages as the code sees them that writes and reads columns: small, immutable, sent to Spark's Python workers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import pyarrow as pa


class Kind(Enum):
    """Protobuf's types of fields."""

    INT32 = "int32"
    INT64 = "int64"
    UINT32 = "uint32"
    UINT64 = "uint64"
    SINT32 = "sint32"
    SINT64 = "sint64"
    FIXED32 = "fixed32"
    FIXED64 = "fixed64"
    SFIXED32 = "sfixed32"
    SFIXED64 = "sfixed64"
    FLOAT = "float"
    DOUBLE = "double"
    BOOL = "bool"
    ENUM = "enum"
    STRING = "string"
    BYTES = "bytes"
    MESSAGE = "message"


class Meaning(Enum):
    """The Connect type of a message."""

    STRUCT = "struct"
    WRAPPER = "wrapper"
    DECIMAL = "confluent.type.Decimal"
    DATE = "google.type.Date"
    TIME = "google.type.TimeOfDay"
    TIMESTAMP = "google.protobuf.Timestamp"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message.

    Attributes:
        number: the field's number.
        name: of the column that holds it.
        kind: its type.
        arrow: Arrow type of the column.
        repeated: whether it holds a list, or a map.
        packed: whether a list of numbers is written as one field.
        presence: whether a missing value differs from the default value.
        union: column that holds all fields of a oneof, this one among them.
        message: of a MESSAGE.
        enum: name of an ENUM.
        symbols: its names and numbers.
        default: the value of a field that is absent, of a kind other than messages.
    """

    number: int
    name: str
    kind: Kind
    arrow: pa.DataType
    repeated: bool = False
    packed: bool = False
    presence: bool = False
    union: str | None = None
    message: Message | None = None
    enum: str = ""
    symbols: tuple[tuple[str, int], ...] = ()
    default: object = None

    @property
    def is_map(self) -> bool:
        """Return whether it holds a map, as entries of two fields."""
        return bool(pa.types.is_map(self.arrow))

    @property
    def inner(self) -> Message:
        """Return the message of a MESSAGE."""
        assert self.message is not None
        return self.message


@dataclass(frozen=True, slots=True)
class Message:
    """A message.

    Attributes:
        fields: in the order of their numbers.
        columns: names and Arrow types of the struct's columns, in their order.
        meaning: its Connect type, where that is not a struct.
        scale: of a decimal.
    """

    fields: tuple[Field, ...]
    columns: tuple[tuple[str, pa.DataType], ...] = ()
    meaning: Meaning = Meaning.STRUCT
    scale: int = 0


UNNAMED_SYMBOL = "UNKNOWN_ENUM_VALUE_"
"""Start of the names of numbers without a symbol; the enum's name and the number follow."""
UNNAMED = rf"^{UNNAMED_SYMBOL}.*_(-?[0-9]{{1,10}})$"
"""Such names, for Python and for Java; the group is the number."""
WIRE_TYPES = {
    Kind.FIXED64: 1,
    Kind.SFIXED64: 1,
    Kind.DOUBLE: 1,
    Kind.STRING: 2,
    Kind.BYTES: 2,
    Kind.MESSAGE: 2,
    Kind.FIXED32: 5,
    Kind.SFIXED32: 5,
    Kind.FLOAT: 5,
}
"""Wire types other than 0, a number of variable length."""
