"""SimpleHeaderConverter and literals in configurations beside Java's: the same types and values, the same text."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import envelope as json_envelope
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaType
from tests.conformance.converter_cases import DATE, STRING, STRINGS, TIME, TIMESTAMP, decimal, envelope, struct
from tests.conformance.java_records import Failed, JavaRecords
from tests.conformance.our_records import EnvelopeHeaders, envelopes

JAVA = SimpleHeaderConverter.java_class
TEXTS = [
    "",
    " ",
    "  \t ",
    "null",
    " null ",
    "true",
    "false",
    " true ",
    "TRUE",
    "true}",
    "nulll",
    "a",
    "a b",
    '"a"',
    '"a" b',
    "0",
    "-0",
    "+7",
    "127",
    "128",
    "-129",
    "32767",
    "32768",
    "2147483648",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775809",
    "99999999999999999999",
    "1.",
    ".5",
    "1.0",
    "1.5",
    "0.1",
    "1e3",
    "1E-5",
    "1e400",
    "-1e39",
    "3.4028235e38",
    "3.4028236e38",
    "1e-46",
    "0e5",
    "0.000",
    "1.50",
    "1_000",
    "0x10",
    "Infinity",
    "NaN",
    "1f",
    "1e",
    "--1",
    "1e99999999999",
    "-12e99999999",
    "1.5e-99999999",
    "1564-468-3",
    "1582-10-9",
    "1581-99-9 ",
    "1583-00-0 ",
    "1528-786-655T2:2:93.315Z",
    "16777217.5",
    "1.00000017881393432617187499",
    "1.00000017881393432617187501",
    "2022-01-21",
    "2022-13-45",
    "2022-1-021",
    "2022-01-2x",
    "1500-01-01",
    "1582-10-10",
    "00:00:00.000Z",
    "23:59:59.999Z",
    "25:61:61.001Z",
    "09:44:13.1234",
    "09\\:44\\:13.250Z",
    "12:34",
    "12:34:56",
    "2022-01-21T09:44:13.250Z",
    "2022-01-21T09\\:44\\:13.250Z",
    "2022-01-21 09:44:13.250Z",
    '"2022-01-21"',
    "2022-01-21T09:44:13.250Zmore",
    "[]",
    "{}",
    "[1]",
    "[1,]",
    "[,]",
    "[1,2,300]",
    "[1, 2.5]",
    "[1.5,1]",
    "[null]",
    "[1,null]",
    '["a", "b"]',
    "[a]",
    '["a]',
    "[[1],[2]]",
    "[[1],[300]]",
    '[{"a":1}]',
    "[1] x",
    "[1",
    "]",
    "[true,false]",
    '[true,"a"]',
    '["2022-01-21"]',
    "[2022-01-21, 5]",
    "[5, 2022-01-21]",
    "[09:44:13.250Z]",
    '["a\\"b", "c\\\\d"]',
    '{"a":1,"b":300}',
    '{"a":1 "b":2}',
    '{"a":1,}',
    "{1:2}",
    '{1:"x",300:"y"}',
    '{"a":null}',
    '{"a":null,"b":1}',
    "{null:1}",
    '{"a"}',
    '{"a":}',
    '{"a":[1,2],"b":[3]}',
    '{"a":{"b":{"c":1.5}}}',
    "{true:1}",
    '{"a":1,"a":2}',
    "{a:1}",
    "{1.5:1,2:3}",
    '{"a":2022-01-21T09:44:13.250Z}',
    "세번째",
    "😀1",
    "1😀",
    '"2022-1-1😀"',
    "٣",
    "[٣]",
    "a:b",
    "a,b",
    "\\",
    "\\\\",
    "a\\",
    '[ "a" , "b" ]',
    " [1]",
    "[1] ",
    "http://x/?a=[1]",
    "-",
    "+",
    "1-2",
    "1:2:3:4:5",
]
PIECES = [
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    '"',
    "\\",
    " ",
    "null",
    "true",
    "false",
    "1",
    "300",
    "-5",
    "1.5",
    "1e40",
    "70000",
    "a",
    '"a"',
    '"b c"',
    "2022-01-21",
    "09:44:13.250Z",
    "2022-01-21T09:44:13.250Z",
    "5000000000",
    "é",
    "😀",
]
NEAR_JSON = st.recursive(
    st.sampled_from(["null", "true", "1", "300", "70000", "5000000000", "1.5", '"a"', '"b\\"c"', '"2022-01-21"', "-7"]),
    lambda inner: (
        st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]")
        | st.lists(st.tuples(inner, inner), max_size=3).map(lambda ps: "{" + ",".join(f"{k}:{v}" for k, v in ps) + "}")
    ),
    max_leaves=12,
)
GENERATED = (
    st.lists(st.sampled_from(PIECES), max_size=9).map("".join)
    | NEAR_JSON
    | st.text(max_size=12)
    | st.from_regex(r"[+-]?[0-9]{1,22}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)
    | st.from_regex(
        r"[12][0-9]{3}-[0-9 ]{1,3}-[0-9 ]{1,3}(T[0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}\.[0-9]{1,3}Z)?", fullmatch=True
    )
)


def test_texts_are_read_as_in_java(java: JavaRecords) -> None:
    read_alike(java, TEXTS)


@pytest.mark.nightly
@settings(
    max_examples=15, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(texts=st.lists(GENERATED, min_size=80, max_size=120))
def test_generated_texts_are_read_as_in_java(live_java: JavaRecords, texts: list[str]) -> None:
    read_alike(live_java, texts)


def read_alike(java: JavaRecords, texts: list[str]) -> None:
    data = [text.encode("utf-8", "surrogatepass") for text in texts]
    wrong: list[Any] = []
    for text, one, theirs in zip(texts, data, java.header_read(JAVA, {}, data), strict=True):
        schema, value = SimpleHeaderConverter().to_value(one)
        if isinstance(theirs, Failed):
            # The harness cannot write as an envelope what Java read: nothing at all, or parts without a common type.
            if (schema, value) != (None, None) and not has_no_common_part(schema) and not is_misfit(theirs):
                wrong.append((text, value, theirs))
            continue
        if theirs is not None and has_no_common_part(schema):
            if '"items":null' not in theirs.decode() and '"values":null' not in theirs.decode():
                wrong.append((text, value, theirs))
            continue
        ours = EnvelopeHeaders().to_bytes(schema, value)
        if theirs is None or ours is None or not alike(json.loads(ours), json.loads(theirs)):
            wrong.append((text, ours, theirs))
    assert wrong == []


def alike(ours: Any, theirs: Any) -> bool:
    """Equal; numbers of 32 bits by their value, as older Javas write some with a digit more than needed."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or np.float32(ours) == np.float32(theirs)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(alike(ours[key], theirs[key]) for key in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    return type(ours) is type(theirs) and bool(ours == theirs)


def test_a_date_that_python_does_not_have_stays_text() -> None:
    assert SimpleHeaderConverter().to_value(b"12345-1-01") == (STRING_SCHEMA, "12345-1-01")


def has_no_common_part(schema: Schema | None) -> bool:
    if schema is None or schema.type not in (SchemaType.ARRAY, SchemaType.MAP):
        return False
    parts = [schema.value_schema] + ([schema.key_schema] if schema.type is SchemaType.MAP else [])
    return any(part is None or has_no_common_part(part) for part in parts)


def is_misfit(failed: Failed) -> bool:
    return failed.error.endswith("DataException")


KINDS: dict[str, dict[str, Any]] = {
    "text": STRING,
    "flag": {"type": "boolean"},
    "byte": {"type": "int8"},
    "float": {"type": "float"},
    "double": {"type": "double"},
    "price": decimal(10),
    "raw": {"type": "bytes"},
    "day": DATE,
    "time": TIME,
    "moment": TIMESTAMP,
    "names": {"type": "array", "items": {**STRING, "optional": True}},
    "ages": {"type": "map", "keys": STRING, "values": {"type": "int32", "optional": True}},
    "row": struct(("a", {"type": "int32"}), ("b", {**STRING, "optional": True, "default": "x"})),
}
WIDE = struct(*((name, {**schema, "optional": True}) for name, schema in KINDS.items()))
TYPED = (
    [("text", text) for text in [*STRINGS, 'a\\b"c']]
    + [("flag", True), ("byte", -128), ("float", 0.1), ("float", -1.5e-8), ("double", 1e10), ("double", 1e-5)]
    + [("price", text) for text in ("AQ==", "/w==", "D4RCT+VpbZTn")]
    + [("raw", text) for text in ("", "AP+A/w==")]
    + [("day", days) for days in (-1, 0, 1, 20000)]
    + [("time", milliseconds) for milliseconds in (0, 86399999)]
    + [("moment", ms) for ms in (-1, 0, 86399999, 86400000, 172800000, 1642725853123)]
    + [("names", items) for items in ([], ["a", None, 'b"'])]
    + [("ages", pairs) for pairs in ({}, {'k"': 1}, {"n": None})]
    + [("row", {"a": 1, "b": None}), ("row", {"a": 2, "b": "\\"})]
)


def test_values_are_written_as_in_java(java: JavaRecords, spark: SparkSession) -> None:
    """In one column each, and as single values."""
    records = [envelope(WIDE, {name: value}) for name, value in TYPED]
    (decoder,) = envelopes().decoders(spark.createDataFrame([(records[0],)], "value binary"), "value")
    df = spark.createDataFrame(list(enumerate(records)), "i int, value binary")
    assert decoder.schema is not None
    columns = [
        SimpleHeaderConverter().encode_header(one.schema, F.col("value")[one.name]).alias(one.name)
        for one in decoder.schema.fields
    ]
    whole = SimpleHeaderConverter().encode_header(decoder.schema, F.col("value")).alias("whole")
    rows = df.select("i", decoder.value.alias("value")).select("i", *columns, whole).orderBy("i").collect()
    schemas = {one.pop("field"): one for one in json.loads(json.dumps(WIDE["fields"]))}
    singles = [envelope(schemas[name], value) for name, value in TYPED]
    ours = [bytes(row[name]) for row, (name, _) in zip(rows, TYPED, strict=True)]
    assert ours == java.header_written(JAVA, {}, singles)
    assert [bytes(row["whole"]) for row in rows] == java.header_written(JAVA, {}, records)
    assert ours == [in_python(schemas[name], value) for name, value in TYPED]


def in_python(described: dict[str, Any], value: Any) -> bytes | None:
    schema = json_envelope.from_json(described)
    assert schema is not None
    return SimpleHeaderConverter().to_bytes(schema, json_envelope.value_from_json(schema, value))


def test_schemaless_values_are_written_as_in_java(java: JavaRecords, spark: SparkSession) -> None:
    values = [1, -2.5, 1e10, True, "a", 'a"\\', [], [1, "a", None, [True, 1.0, {"x": "y"}]], {"a": {"b": [1]}}, {}]
    theirs = java.header_written(JAVA, {}, [envelope(None, value) for value in values])
    df = spark.createDataFrame([(json.dumps(value),) for value in values], "value string").coalesce(1)
    rows = df.select(SimpleHeaderConverter().encode_header(None, F.col("value")).alias("written")).collect()
    assert [bytes(row.written) for row in rows] == theirs
    assert [SimpleHeaderConverter().to_bytes(None, value) for value in values] == theirs


@pytest.mark.parametrize("text", ["1.5", "[1,300]", '{"a":"b"}', "2022-01-21", "09:44:13.250Z", "x y", "true"])
def test_what_is_read_is_written_as_it_was(text: str) -> None:
    converter = SimpleHeaderConverter()
    assert converter.to_bytes(*converter.to_value(text.encode())) == text.encode()
