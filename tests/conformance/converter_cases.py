"""Records that Java's converter and ours must treat alike."""

import json
from typing import Any

DECIMAL = {"name": "org.apache.kafka.connect.data.Decimal", "version": 1}
DATE = {"type": "int32", "name": "org.apache.kafka.connect.data.Date", "version": 1}
TIME = {"type": "int32", "name": "org.apache.kafka.connect.data.Time", "version": 1}
TIMESTAMP = {"type": "int64", "name": "org.apache.kafka.connect.data.Timestamp", "version": 1}
STRING = {"type": "string", "optional": False}
NO_ENVELOPE = 'JsonConverter with schemas.enable requires "schema" and "payload" fields'
MALFORMED = "Converting byte[] to Kafka Connect data failed due to serialization error: "


def envelope(schema: Any, payload: Any) -> bytes:
    text = json.dumps({"schema": schema, "payload": payload}, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def struct(*fields: tuple[str, dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{**schema, "field": name} for name, schema in fields], **more}


def decimal(scale: int, **more: Any) -> dict[str, Any]:
    return {"type": "bytes", **DECIMAL, "parameters": {"scale": str(scale)}, **more}


ROW = struct(
    ("id", {"type": "int32", "optional": False}),
    ("name", {"type": "string", "optional": True}),
    ("city", {"type": "string", "optional": True, "default": "Seoul"}),
    ("price", decimal(2, optional=True)),
    ("born", {**DATE, "optional": True}),
    ("seen", {**TIMESTAMP, "optional": True}),
    ("noon", {**TIME, "optional": True}),
    ("raw", {"type": "bytes", "optional": True}),
    ("tags", {"type": "array", "items": STRING, "optional": True}),
    ("inner", struct(("x", {"type": "double", "optional": True}), optional=True, name="in")),
    name="shop.Row",
    version=3,
    doc='a "row"',
    parameters={"b": "1", "a": "2"},
    optional=False,
)
ROW_FULL = {
    "id": 7,
    "name": "세번째",
    "city": "Busan",
    "price": "AfQ=",
    "born": 20000,
    "seen": 1642725853123,
    "noon": 43200000,
    "raw": "AP+A",
    "tags": ["a", 'b"', ""],
    "inner": {"x": 1.5},
}
ROW_EMPTY = dict.fromkeys(ROW_FULL) | {"id": -1}

STRINGS = [
    "first message",
    "seconde line",
    "세번째 메시지",
    "",
    '"GET / HTTP/1.1" 200 "-" "curl"',
    "back\\slash \\x22 \\\\",
    '\\"',
    "end\\",
    "tab\tnewline\ncr\rbs\bff\f",
    "".join(map(chr, range(32))) + "\x7f\x80\x9f",
    "\u2028\u2029\ufeff😀\U0010ffff/</script>",
]
SAME_BOTH_WAYS = [
    *(envelope(STRING, text) for text in STRINGS),
    *(envelope({"type": "string", "optional": True}, text) for text in (None, "x")),
    *(envelope({"type": "string", "optional": True, "default": "d"}, text) for text in (None, "x")),
    *(envelope({"type": "boolean", "optional": False}, value) for value in (True, False)),
    *(envelope({"type": "int8", "optional": False}, value) for value in (-128, 127)),
    *(envelope({"type": "int16", "optional": False}, value) for value in (-32768, 0)),
    *(envelope({"type": "int32", "optional": False}, value) for value in (-(2**31), 2**31 - 1)),
    *(envelope({"type": "int64", "optional": True}, value) for value in (-(2**63), 2**63 - 1, None)),
    *(envelope({"type": "float", "optional": False}, value) for value in (0.1, -1.5e-8, 3.4e38)),
    *(envelope({"type": "double", "optional": False}, value) for value in (0.1, 1e10, 1e-5, 123456789.125)),
    *(envelope({"type": "bytes", "optional": True}, value) for value in ("", "AA==", "AP+A/w==", None)),
    *(envelope({"type": "array", "items": STRING, "optional": True}, value) for value in ([], ["a", "b"], None)),
    envelope({"type": "array", "items": {"type": "int32", "optional": True}, "optional": False}, [1, None]),
    envelope({"type": "map", "keys": STRING, "values": {"type": "int32", "optional": True}}, {"k": 1}),
    envelope({"type": "map", "keys": {"type": "int32"}, "values": STRING}, [[1, 'a"']]),
    envelope({"type": "map", "keys": {"type": "int32"}, "values": struct(("a", {"type": "int32"}))}, [[1, {"a": 2}]]),
    envelope(struct(("m", {"type": "map", "keys": {"type": "int64"}, "values": decimal(1)})), {"m": [[5, "AQ=="]]}),
    envelope(
        {"type": "array", "items": {"type": "map", "keys": {"type": "boolean"}, "values": STRING}}, [[[True, "x"]]]
    ),
    envelope(struct(), {}),
    envelope(struct(("a b", STRING), ("세", STRING), ('q"', STRING)), {"a b": "1", "세": "2", 'q"': "3"}),
    envelope(ROW, ROW_FULL),
    envelope(ROW, ROW_EMPTY),
    envelope(struct(("d", {"type": "double", "default": 1e10})), {"d": None}),
    envelope(struct(("d", {"type": "float", "default": 0.1})), {}),
    envelope(struct(("d", decimal(2, default="MDk="))), {}),
    envelope(struct(("a", {"type": "array", "items": STRING, "default": ["x", "y"]})), {}),
    envelope(struct(("d", {**DATE, "default": 3}), ("t", {**TIMESTAMP, "default": 1500})), {}),
    *(
        envelope(decimal(0), text)
        for text in ("AA==", "AQ==", "/w==", "fw==", "AIA=", "gA==", "AP8=", "/wA=", "AQAAAAAAAAAA")
    ),
    *(envelope(decimal(10), text) for text in ("AQ==", "/w==", "D4RCT+VpbZTn", "8HuQXw==")),
    *(envelope({**DATE, "optional": True}, days) for days in (0, -1, 20000, None)),
    *(envelope(TIMESTAMP, milliseconds) for milliseconds in (0, -1, 1642725853123)),
    *(envelope(TIME, milliseconds) for milliseconds in (0, 86399999)),
    b' { "payload" : "\\u00e9\\/\\n" , "schema" : { "optional" : false, "type" : "string" } } ',
    b'{"schema":{"type":"string"},"payload":"a"}',
    b'{"schema":{"type":"string","parameters":{"payload":"x","y":"z"}},"payload":"a"}',
    b'{"schema":{"type":"string","parameters":{"x":"z","payload":"x"}},"payload":"a"}',
]
SCHEMALESS_IN_ENVELOPE = [envelope(None, value) for value in ("text", 1, True, [1, "a"], None)]
ERRORS = [
    b"",
    b"{",
    b"null",
    b'"first message"',
    b"[1]",
    b'{"schema":{"type":"string"},"payload":"a","more":1}',
    b'{"payload":"a"}',
    b'{"schema":{"type":"string"},"payload":"a\tb"}',
    b'{"schema":{"type":"string"},"payload":"a',
    b'{"schema":{"type":"string"},"payload":"a"b"}',
    b'{"schema":{"type":"string"},"payload":"\xff"}',
    b'{"schema":{"type":"string"},"payload":null}',
    b'{"schema":{"type":"strin"},"payload":"a"}',
    b'{"schema":{"optional":true},"payload":"a"}',
    b'{"schema":{"type":"array"},"payload":[]}',
    b'{"schema":{"type":"struct"},"payload":{}}',
    b'{"schema":{"type":"struct","fields":[{"type":"int32"}]},"payload":{}}',
    b'{"schema":{"type":"string","parameters":{"a":1}},"payload":""}',
]
SCHEMALESS = [b'"first message"', b'"a\\"b\\\\"', b"12", b"-1.5", b"true", b"null", b"", b'["a",1,[true,null]]']
