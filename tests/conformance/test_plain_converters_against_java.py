"""Converters without a format of their own (numbers, booleans, text, bytes) beside Java's: data and headers."""

import json
import struct
from collections.abc import Callable, Sequence

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.boolean_converter import BooleanConverter
from connect_dagster.converters.plain.byte_array_converter import ByteArrayConverter
from connect_dagster.converters.plain.number_converters import (
    DoubleConverter,
    FloatConverter,
    IntegerConverter,
    LongConverter,
    NumberConverter,
    ShortConverter,
)
from connect_dagster.converters.plain.string_converter import StringConverter
from tests.conformance import our_converters as ours
from tests.conformance.converter_cases import DATE, ROW, ROW_FULL, TIME, TIMESTAMP, decimal, envelope
from tests.conformance.java_records import Failed, JavaRecords

NUMBERS: list[type[NumberConverter]] = [
    ShortConverter,
    IntegerConverter,
    LongConverter,
    FloatConverter,
    DoubleConverter,
]
PLAIN = [*NUMBERS, BooleanConverter, StringConverter, ByteArrayConverter]
QUIET = settings(
    max_examples=2,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)
# Without -0.0, whose sign Java's envelope loses.
SAMPLES: dict[str, tuple[object, ...]] = {
    "int8": (0, -128, 127),
    "int16": (0, -32768, 32767),
    "int32": (0, -(2**31), 2**31 - 1),
    "int64": (0, -(2**63), 2**63 - 1),
    "float": (0.0, 1.5, 3.4e38, 1.4e-45),
    "double": (0.0, 0.1, 1.7e308, 4.9e-324, -1e-5),
    "boolean": (True, False),
    "string": ("", "text", "한글 😀"),
    "bytes": ("", "AP+A"),
}
OF_ANY_TYPE = [
    *(
        envelope({"type": kind, "optional": True}, value)
        for kind, values in SAMPLES.items()
        for value in [*values, None]
    ),
    *(envelope({**kind, "optional": True}, value) for kind in (DATE, TIME, TIMESTAMP) for value in (0, 1, None)),
    *(envelope(decimal(2, optional=True), value) for value in ("AQ==", None)),
    envelope({"type": "array", "items": {"type": "int32"}}, [1, 2]),
    envelope({"type": "map", "keys": {"type": "string"}, "values": {"type": "int32"}}, {"a": 1}),
    *(envelope(None, value) for value in (None, "text", 7, -(2**63), 1.5, True, [1, "a"], {"a": 1})),
    None,
]


def name_of(converter: type) -> str:
    return converter.__name__


@pytest.mark.parametrize("kind", [*NUMBERS, BooleanConverter, ByteArrayConverter], ids=name_of)
def test_values_of_any_type_are_written_or_refused_as_in_java(
    spark: SparkSession, java: JavaRecords, kind: type[NumberConverter]
) -> None:
    theirs = java.written(str(kind.java_class), {}, OF_ANY_TYPE)
    assert ours.written(spark, ours.configured(kind(), {}), OF_ANY_TYPE) == theirs
    single = ours.headers_written(ours.header_configured(kind(), {}), OF_ANY_TYPE)
    assert single == java.header_written(str(kind.java_class), {}, OF_ANY_TYPE)


@pytest.mark.parametrize("kind", PLAIN, ids=name_of)
def test_any_bytes_are_read_or_refused_as_in_java(
    spark: SparkSession, java: JavaRecords, kind: type[NumberConverter]
) -> None:
    records = [None, *(bytes(range(size)) for size in range(10)), b"\x00", b"\x01", b"\x02", b"\xff" * 2, b"\x80" * 4]
    theirs = java.read(str(kind.java_class), {}, records)
    assert ours.read(spark, ours.configured(kind(), {}), records) == theirs
    assert ours.headers_read(ours.header_configured(kind(), {}), records) == java.header_read(
        str(kind.java_class), {}, records
    )


@pytest.mark.nightly
@pytest.mark.parametrize("kind", NUMBERS, ids=name_of)
def test_generated_numbers(spark: SparkSession, live_java: JavaRecords, kind: type[NumberConverter]) -> None:
    size = struct.calcsize(kind.layout)

    @QUIET
    @given(st.lists(st.binary(min_size=size, max_size=size).filter(_json_knows(kind)), min_size=200, max_size=400))
    def check(records: list[bytes]) -> None:
        theirs = live_java.read(str(kind.java_class), {}, records)
        assert ours.read(spark, ours.configured(kind(), {}), records) == theirs
        data = [one for one in theirs if isinstance(one, bytes)]
        assert (
            ours.written(spark, ours.configured(kind(), {}), data)
            == records
            == live_java.written(str(kind.java_class), {}, data)
        )

    check()


def _json_knows(kind: type[NumberConverter]) -> Callable[[bytes], bool]:
    """Envelopes have no NaN and no infinity."""
    return lambda data: bool(abs(struct.unpack(kind.layout, data)[0]) <= 1e308)


def test_text_of_headers(java: JavaRecords) -> None:
    """What has no text in Java but an address (bytes), and maps without order, stay out."""
    data = [one for one in OF_ANY_TYPE if one is None or b'"bytes"' not in one or b"Decimal" in one]
    data.append(envelope({**ROW, "fields": [one for one in ROW["fields"] if one["field"] != "raw"]}, _without_raw()))
    for config in ({}, {"converter.encoding": "UTF-16"}, {"converter.encoding": "ISO-8859-1"}):
        found = ours.headers_written(ours.header_configured(StringConverter(), config), data)
        assert found == java.header_written(StringConverter.java_class, config, data)


def _without_raw() -> dict[str, object]:
    return {name: value for name, value in ROW_FULL.items() if name != "raw"}


JSON_OPTIONS: list[dict[str, str]] = [
    {},
    {"decimal.format": "NUMERIC"},
    {"replace.null.with.default": "false"},
    {"schemas.enable": "false"},
]


@pytest.mark.parametrize("config", JSON_OPTIONS, ids=str)
def test_json_in_headers(java: JavaRecords, config: dict[str, str]) -> None:
    default = {"type": "string", "optional": True, "default": "d"}
    data = [*OF_ANY_TYPE, envelope(ROW, ROW_FULL), envelope(default, None), envelope(default, "x")]
    made = ours.header_configured(JsonConverter(), config)
    found = ours.headers_written(made, data)
    assert found == java.header_written(JsonConverter.java_class, config, data)
    headers = [one for one in found if isinstance(one, bytes)]
    assert _told(ours.headers_read(made, headers)) == _told(java.header_read(JsonConverter.java_class, config, headers))


def test_wrong_json_in_headers(java: JavaRecords) -> None:
    headers = [
        b"{",
        b"[1]",
        b'"x"',
        b'{"schema":{"type":"string"},"payload":null}',
        b'{"schema":{"type":"nothing"},"payload":1}',
        b'{"schema":{"type":"string"},"payload":"x","more":1}',
    ]
    found = ours.headers_read(ours.header_configured(JsonConverter(), {}), headers)
    assert found == java.header_read(JsonConverter.java_class, {}, headers)


def _told(answers: Sequence[bytes | Failed | None]) -> list[object]:
    """Envelopes as JSON: Java's maps have no order."""
    return [json.loads(one) if isinstance(one, bytes) else one for one in answers]
