"""Records for the transforms of fields: structs with every type, objects without schema, nulls."""

import base64
import math
from typing import Any

from hypothesis import strategies as st

from tests.conformance.converter_cases import DATE, STRING, TIME, TIMESTAMP, decimal, envelope, struct

OPTIONAL: dict[str, Any] = {"optional": True}
INT32 = {"type": "int32"}


def optional(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {**schema, **OPTIONAL, **more}


INNER = struct(
    ("x", optional({"type": "double"})),
    ("deep", struct(("y", INT32), ("z", optional(STRING, default="zed")), optional=True)),
    name="in",
    optional=True,
)
FIELDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("i8", optional({"type": "int8"})),
    ("i16", optional({"type": "int16"})),
    ("i32", {"type": "int32", "optional": False}),
    ("i64", optional({"type": "int64"})),
    ("f32", optional({"type": "float"})),
    ("f64", optional({"type": "double"})),
    ("flag", optional({"type": "boolean"})),
    ("text", optional(STRING)),
    ("raw", optional({"type": "bytes"})),
    ("price", decimal(2, optional=True)),
    ("born", optional(DATE)),
    ("noon", optional(TIME)),
    ("seen", optional(TIMESTAMP)),
    ("list", optional({"type": "array", "items": STRING})),
    ("inner", INNER),
    ("city", optional(STRING, default="Seoul", doc="where", version=2, name="place", parameters={"a": "b"})),
    ("count", optional(INT32, default=5)),
)
MAP = ("map", optional({"type": "map", "keys": STRING, "values": optional(INT32)}))
ABOUT: dict[str, Any] = {"name": "shop.All", "version": 3, "doc": "all types", "parameters": {"b": "1", "a": "2"}}
ALL = struct(*FIELDS, MAP, **ABOUT)
ALL_OPTIONAL = struct(*FIELDS, MAP, **ABOUT, optional=True)

NUMBER_TEXTS = (
    "0", "7", "-5", "+9", "127", "128", "-129", "32768", "2147483648", "9223372036854775807", "9223372036854775808",
    " 8", "8 ", "1.5", "1e3", "1.5f", "NaN", "nan", "Infinity", "-Infinity", "inf", "1e400", "0x1p3", "", "abc", "true",
    "TRUE", "tRuE", "false", "yes", "007", "-", "+", "--1", "1\n", "\t1.5 ",
)  # fmt: skip


def _keeps_its_sign(number: float) -> bool:
    """Not -0.0, whose sign Java's envelopes lose before any transform sees it."""
    return math.copysign(1, number) > 0 or number != 0


TEXTS = st.sampled_from(NUMBER_TEXTS) | st.text(st.characters(max_codepoint=0xD7FF), max_size=8)
FLOATS = st.sampled_from([0.5, -0.5, 1.5, 127.5, 128.5, -129.5, 3e9, -3e9, 1e19, -1e19, 1e-7, 123456.75]) | st.floats(
    allow_nan=False, allow_infinity=False, width=32
).filter(_keeps_its_sign)


def integers(bits: int) -> st.SearchStrategy[int]:
    edge = 1 << (bits - 1)
    return st.sampled_from([0, 1, -1, 127, -128, -edge, edge - 1]) | st.integers(-edge, edge - 1)


def unscaled(number: int) -> str:
    return base64.b64encode(number.to_bytes(number.bit_length() // 8 + 1, "big", signed=True)).decode()


def rarely_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 5).flatmap(lambda n: st.none() if n == 0 else values)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "i8": integers(8),
    "i16": integers(16),
    "i32": integers(32),
    "i64": integers(64),
    "f32": FLOATS,
    "f64": FLOATS | st.floats(allow_nan=False, allow_infinity=False).filter(_keeps_its_sign),
    "flag": st.booleans(),
    "text": TEXTS,
    "raw": st.binary(max_size=100).map(lambda data: base64.b64encode(data).decode()),
    "price": st.integers(-(10**12), 10**12).map(unscaled)
    | st.sampled_from([0, 99, -99, 100, 2**63 * 100, -(2**64) * 100 - 5, 10**36]).map(unscaled),
    "born": st.sampled_from([0, 1, -1, 20000]) | st.integers(-100, 60000),
    "noon": st.integers(0, 86399999),
    "seen": st.sampled_from([0, 86399999, 86400000, -1, 1642725853123]) | st.integers(-(10**12), 4 * 10**12),
    "list": st.lists(TEXTS, max_size=3),
    "inner": st.fixed_dictionaries(
        {
            "x": rarely_null(FLOATS),
            "deep": rarely_null(st.fixed_dictionaries({"y": integers(32), "z": rarely_null(TEXTS)})),
        }
    ),
    "city": TEXTS,
    "count": integers(32),
    "map": st.dictionaries(TEXTS, rarely_null(integers(32)), max_size=3),
}
PAYLOADS = st.fixed_dictionaries(
    {name: values if name == "i32" else rarely_null(values) for name, values in VALUES.items()}
)


def structs(schema: dict[str, Any] = ALL) -> st.SearchStrategy[bytes]:
    """Envelopes of structs with every type."""
    return PAYLOADS.map(lambda payload: envelope(schema, _of(schema, payload)))


def _of(schema: dict[str, Any], payload: dict[str, Any]) -> dict[str, Any]:
    return {field["field"]: payload[field["field"]] for field in schema["fields"]}


NULL_STRUCT = envelope(ALL_OPTIONAL, None)
OTHERS = [
    envelope(STRING, "text"),
    envelope({"type": "int32"}, 5),
    envelope({"type": "array", "items": STRING}, ["a"]),
    envelope(optional(STRING), None),
]
"""Data that is no struct."""

SCHEMALESS_OTHERS = [None, *(envelope(None, value) for value in ("text", 1, 1.5, True, ["a"]))]
"""Data without schema that is no object."""

# Doubles have a fraction: the envelopes' reader writes 1.0 as 1.
SCALARS = st.none() | st.booleans() | integers(64) | st.integers(-1000, 1000).map(lambda n: n + 0.5) | TEXTS
NAMES = st.sampled_from(["a", "b", "c", "text", "i64", "topic", "세", 'q"', "a.b", "x y"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, JSON, max_size=6).map(lambda payload: envelope(None, payload))
"""Envelopes of objects without schema."""
