"""Strings are written as by Java, and read by Java's methods in the plan and by Spark's functions alone alike."""

import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.converters.json import quick as json_quick
from connect_dagster.converters.json import text as json_text
from connect_dagster.converters.json.encoding import JsonEncoding
from connect_dagster.expressions import java_calls
from connect_dagster.expressions.text import text_of_utf8
from connect_dagster.java.utf8 import decode_replacing
from connect_dagster.plugin.schema import OPTIONAL_STRING_SCHEMA, STRING_SCHEMA, Schema, SchemaType
from connect_dagster.worker.spark.session import Session

BEGINNING = '{"schema":{"type":"string","optional":true},"payload":'
DEFAULT = 'a "세" 😀'
CODEGEN = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
RECORDS = 400

TEXTS = st.text(
    st.one_of(st.sampled_from('"\\/\0\n\x1f\x7f\x80aé\u2028세\ufffd\uffff😀\U0010ffff'), st.characters(codec="utf-8"))
)
BYTES = st.one_of(st.none(), TEXTS.map(str.encode), st.binary(max_size=8))
# Parts of strings as Java and other programs write them, and of invalid strings.
PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            [b'"', b'\\"', b"\\\\", b"\\", b"\\n", b"\\u0041", b"\\uD83D\\uDE00", b"}", b"null", b"1", b"\n"]
        ),
        st.sampled_from(["세".encode(), "😀".encode(), b"\xff", b"\xed\xa0\x80", b"\0", b'"a"', b" ", b"\\/"]),
        TEXTS.map(lambda text: json.dumps(text).encode()),
        TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False).encode()),
    ),
    max_size=5,
).map(b"".join)
ENDS = st.sampled_from(['"{}"}}', "{}}}", '"{}"', "{}", '"{}"}}}}', '"{}","a":1}}'])
RESTS = st.tuples(PIECES, ENDS).map(lambda pair: pair[1].encode().replace(b"{}", pair[0]).replace(b"}}", b"}"))
STARTS = st.sampled_from([BEGINNING, BEGINNING, BEGINNING, BEGINNING[:-1], ""])
VALUES = st.one_of(st.none(), st.tuples(STARTS, RESTS).map(lambda pair: pair[0].encode() + pair[1]))
# A surrogate, overlong forms, beyond the last character, cut off, and bytes that begin no character.
NO_UTF8 = [
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xe0\x80\xaf",
    b"\xf4\x90\x80\x80",
    b"\xe2\x82",
    b"\xf0\x9f\x98",
    b"\x80",
    b"\xff",
]
MIXED = st.lists(st.one_of(st.sampled_from(NO_UTF8), TEXTS.map(str.encode)), max_size=4).map(b"".join)


@pytest.fixture(scope="module", params=["generated code", "interpreted"])
def spark(request: pytest.FixtureRequest, spark_session: Session) -> Iterator[SparkSession]:
    one = spark_session.spark
    if request.param == "interpreted":
        for name, value in CODEGEN.items():
            one.conf.set(name, value)
    yield one
    for name in CODEGEN:
        one.conf.unset(name)


def by_spark(patch: pytest.MonkeyPatch, name: str = "_JSON_ENCODER") -> None:
    """Ask for a class that no version of Spark has."""
    patch.setattr(java_calls, name, "com.fasterxml.jackson.NoSuchClass")


def lists(items: st.SearchStrategy[bytes | None]) -> st.SearchStrategy[list[bytes | None]]:
    return st.lists(items, min_size=RECORDS // 2, max_size=RECORDS)


def columns(spark: SparkSession, values: list[bytes | None], made: dict[str, Column]) -> list[dict[str, object]]:
    # Through rows of an RDD: a relation of literals would be evaluated by the optimizer.
    df = spark.createDataFrame(spark.sparkContext.parallelize([(value,) for value in values], 1), "v binary")
    rows = df.select(*(column.alias(name) for name, column in made.items())).collect()
    return [{name: None if row[name] is None else _plain(row[name]) for name in made} for row in rows]


def _plain(value: object) -> object:
    return bytes(value) if isinstance(value, bytearray) else value


def written(text: Column) -> dict[str, Column]:
    encoding, defaulted = JsonEncoding(), replace(OPTIONAL_STRING_SCHEMA, default=DEFAULT)
    texts = Schema(SchemaType.MAP, key_schema=STRING_SCHEMA, value_schema=OPTIONAL_STRING_SCHEMA)
    key = F.coalesce(text, F.lit(""))
    return {
        "required": encoding.written(STRING_SCHEMA, key),
        "within": encoding.written(OPTIONAL_STRING_SCHEMA, text, '{"payload":', "}"),
        "defaulted": encoding.written(defaulted, text),
        "null": replace(encoding, replace_null=False).written(defaulted, text),
        "pairs": encoding.written(replace(texts, key_schema=Schema(SchemaType.INT32)), F.create_map(F.lit(1), text)),
        "object": encoding.written(texts, F.create_map(key, text)),
    }


def as_java_writes(value: bytes | None) -> dict[str, object]:
    text = None if value is None else decode_replacing(value)
    alone = json_text.dumps(text)
    made = {
        "required": json_text.dumps(text or ""),
        "within": f'{{"payload":{alone}}}',
        "defaulted": json_text.dumps(DEFAULT) if text is None else alone,
        "null": alone,
        "pairs": f"[[1,{alone}]]",
        "object": f"{{{json_text.dumps(text or '')}:{alone}}}",
    }
    return {name: one.encode() for name, one in made.items()}


def read() -> dict[str, Column]:
    value = F.col("v")
    # A text that no record has shows a wrong guess.
    decoded = F.coalesce(json_quick.quick_string(value, BEGINNING), F.lit("\0by the parser"))
    return {"value": decoded, "plain": json_quick.is_plain_string(value)}


@settings(max_examples=4)
@given(values=lists(BYTES))
def test_strings_are_written_as_by_java(spark: SparkSession, values: list[bytes | None]) -> None:
    assert columns(spark, values, written(F.col("v").cast("string"))) == [as_java_writes(value) for value in values]


@settings(max_examples=4)
@given(values=lists(VALUES))
def test_strings_are_read_as_by_spark(spark: SparkSession, values: list[bytes | None]) -> None:
    found = columns(spark, values, read())
    assert any(one["plain"] for one in columns(spark, [b'"\\\\ \\" a"'], read()))
    with pytest.MonkeyPatch.context() as patch:
        by_spark(patch)
        assert columns(spark, values, read()) == found


def utf8() -> dict[str, Column]:
    return {"is": java_calls.is_utf8(F.col("v")), "text": text_of_utf8(F.col("v"))}


@settings(max_examples=4)
@given(values=lists(st.one_of(BYTES, MIXED)))
def test_utf8_is_known_as_by_spark(spark: SparkSession, values: list[bytes | None]) -> None:
    values = [None, *NO_UTF8, b"a" * 100, "세😀".encode() * 100, *values]
    text = F.col("v").cast("string")
    by_its_functions = columns(spark, values, {"is": F.is_valid_utf8(text), "text": F.make_valid_utf8(text)})
    assert columns(spark, values, utf8()) == by_its_functions
    with pytest.MonkeyPatch.context() as patch:
        by_spark(patch, "_UTF8_CHECK")
        assert columns(spark, values, utf8()) == by_its_functions


def test_utf8_is_checked_by_guava(spark: SparkSession) -> None:
    assert "com.google.common.base.Utf8" in str(java_calls.is_utf8(F.col("v")))
    with pytest.MonkeyPatch.context() as patch:
        by_spark(patch, "_UTF8_CHECK")
        assert "is_valid_utf8" in str(java_calls.is_utf8(F.col("v")))


@pytest.mark.parametrize("name", ["_JSON_ENCODER", "_STRING_UTILS"])
def test_another_version_of_spark_is_said_once(
    spark: SparkSession, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, java_calls.__name__)
    java_calls._has_java_text.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        by_spark(patch, name)
        assert [java_calls.has_java_text() for _ in range(3)] == [False] * 3
    assert len(caplog.records) == 1
    assert "NoSuchClass" in caplog.text


@pytest.mark.parametrize("missing", ["quoteAsUTF8", "replace"])
def test_a_method_that_is_missing_is_noticed(spark: SparkSession, missing: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        by_spark(patch)
        patch.setattr(java_calls, "_JSON_ENCODER" if missing == "quoteAsUTF8" else "_STRING_UTILS", "java.lang.Object")
        assert not java_calls.has_java_text()
