"""Thousands of generated records through Java's JsonConverter and ours, both ways: equal bytes, or an error in both.

Allowed differences:

================================================ ===================================================================
errors of records that cannot be read             ours name the type at the top, Java's the part that is wrong
a number where another type is expected           an error here; Java takes zero, false or null (not generated)
decimals of over 38 digits, or scales beyond them an error here, as Spark holds no more (not generated)
a negative zero                                   kept here; Java loses the sign when it reads (not generated)
================================================ ===================================================================
"""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from connect_dagster.converters.json.converter import JsonConverter
from tests.conformance import our_converters as ours
from tests.conformance.converter_cases import TIME, envelope, struct
from tests.conformance.java_records import Failed, JavaRecords
from tests.conformance.json_records_by_chance import Generator

pytestmark = [pytest.mark.timeout(900), pytest.mark.nightly]

JAVA = JsonConverter.java_class
GENERATED = settings(
    max_examples=1,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SEEDS = st.integers(0, 10**9)
RECORDS = 400
OPTIONS: list[dict[str, str]] = [
    {},
    {"decimal.format": "NUMERIC"},
    {"replace.null.with.default": "false"},
    {"schemas.enable": "false"},
]


def generated(seed: int) -> tuple[dict[str, Any], list[Any]]:
    """A schema with a field of each kind, and payloads."""
    generator = Generator(seed)
    schema = generator.row(10)
    return schema, [generator.payload(schema) or {} for _ in range(RECORDS)]


def assert_alike(found: list[Any], expected: list[Any], records: list[Any]) -> None:
    """Equal, or failed in both."""
    assert any(not isinstance(one, Failed) for one in expected)
    for our, their, record in zip(found, expected, records, strict=True):
        if isinstance(their, Failed):
            assert isinstance(our, Failed), (record, our, their)
            assert our.error == their.error
        else:
            assert our == their, record


@pytest.mark.parametrize("options", OPTIONS[:3], ids=str)
def test_generated_records_are_read_and_written_as_in_java(
    spark: SparkSession, live_java: JavaRecords, options: dict[str, str]
) -> None:
    @GENERATED
    @given(SEEDS)
    def check(seed: int) -> None:
        schema, payloads = generated(seed)
        records = [envelope(schema, payload) for payload in payloads]
        theirs = live_java.read(JAVA, options, records)
        made = ours.configured(JsonConverter(), options)
        assert_alike(ours.read(spark, made, records), theirs, records)
        data = [one for one in theirs if isinstance(one, bytes)]
        assert_alike(ours.written(spark, made, data), live_java.written(JAVA, options, data), data)

    check()


def test_generated_records_without_their_schemas(spark: SparkSession, live_java: JavaRecords) -> None:
    @GENERATED
    @given(SEEDS)
    def check(seed: int) -> None:
        schema, payloads = generated(seed)
        bare = [json.dumps(payload, ensure_ascii=False).encode() for payload in payloads]
        content = {"schema.content": json.dumps(schema)}
        theirs = live_java.read(JAVA, content, bare)
        assert_alike(ours.read(spark, ours.configured(JsonConverter(), content), bare), theirs, bare)
        data = [one for one in theirs if isinstance(one, bytes)]
        written = ours.written(spark, ours.configured(JsonConverter(), OPTIONS[3]), data)
        assert_alike(written, live_java.written(JAVA, OPTIONS[3], data), data)

    check()


def test_times_outside_of_the_day_are_refused(spark: SparkSession, java: JavaRecords) -> None:
    schema = struct(("t", {**TIME, "optional": True}))
    records = [envelope(schema, {"t": moment}) for moment in (None, 0, 86_400_000, -1, 86_400_001)]
    theirs = java.read(JAVA, {}, records)
    assert [isinstance(one, Failed) for one in theirs] == [False, False, False, True, True]
    assert_alike(ours.read(spark, ours.configured(JsonConverter(), {}), records), theirs, records)
