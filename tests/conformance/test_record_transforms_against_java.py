"""Transforms of topics, headers and timestamps beside Java's: the same records, or the same errors.

What differs, and why:

=====================================  =============================================================================
Timestamp missing on record            Java adds the record's ``toString``, values included.
Date, Time, Timestamp without schema   Java hands on a ``java.util.Date``, which none of its converters can write; ours
                                       is the number it would be with a schema.
A Timestamp after the year 294246      Spark has none; the record fails.
=====================================  =============================================================================
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.converter import Transform
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.transforms.drop_headers import DropHeaders
from connect_dagster.transforms.filter import Filter
from connect_dagster.transforms.header_from import HeaderFromKey, HeaderFromValue
from connect_dagster.transforms.insert_header import InsertHeader
from connect_dagster.transforms.regex_router import RegexRouter
from connect_dagster.transforms.timestamp_converter import TimestampConverterKey, TimestampConverterValue
from connect_dagster.transforms.timestamp_router import TimestampRouter
from tests.conformance.converter_cases import DATE, STRING, TIME, TIMESTAMP, envelope, struct
from tests.conformance.java_records import Failed, JavaRecords, Record
from tests.conformance.our_records import frames, transformed_frames

TEXT = envelope(STRING, "x")
HEADERS = (
    ("a", TEXT),
    ("b", None),
    ("a", envelope({"type": "int32", "optional": False}, 5)),
    ("c", envelope(None, [1, "x"])),
)
OPTIONAL_STRING = {**STRING, "optional": True}
ROW = struct(
    ("id", {"type": "int32"}),
    ("name", {**OPTIONAL_STRING, "default": "nobody"}),
    ("seen", {**TIMESTAMP, "optional": True}),
    ("inner", struct(("x", OPTIONAL_STRING), optional=True)),
    name="shop.Row",
    version=2,
    optional=True,
)
ROWS = [
    {"id": 1, "name": "é", "seen": 1642725853123, "inner": {"x": None}},
    {"id": 2, "name": None, "seen": None, "inner": None},
]
STRUCTS = [*(envelope(ROW, row) for row in ROWS), envelope(ROW, None), TEXT, None]
OBJECTS = [
    envelope(None, value)
    for value in ({"id": 1, "name": "é", "seen": [1, {"a": None}]}, {"id": None}, {}, 5, "text", [1], True)
]
NO_RECORD_TEXT = "Timestamp missing on record"


def alike(
    java: JavaRecords,
    spark: SparkSession,
    transform: type[Transform],
    configs: Sequence[Mapping[str, str]],
    records: Sequence[Record],
) -> None:
    """Both make the same of the records, with each of the configurations."""
    made, wrong = list(frames(spark, records)), []
    for config in configs:
        configured = transform()
        configured.configure(config)
        theirs = java.transformed(transform.java_class or "", config, records)
        ours = transformed_frames(made, configured, records)
        wrong += [
            (config, record, a, b)
            for record, a, b in zip(records, ours, theirs, strict=True)
            if comparable(a) != comparable(b)
        ]
    assert wrong == []


def comparable(answer: Record | Failed | None) -> Any:
    """JSON in place of its bytes, as Java's maps have no order."""
    if isinstance(answer, Failed):
        message = answer.message or ""
        return replace(answer, message=NO_RECORD_TEXT if message.startswith(NO_RECORD_TEXT) else message)
    if answer is None:
        return None
    headers = [(key, parsed(value)) for key, value in answer.headers]
    return answer.topic, answer.partition, answer.timestamp, parsed(answer.key), parsed(answer.value), headers


def parsed(data: bytes | None) -> Any:
    if data is None:
        return None
    found = json.loads(data)
    if found["schema"] is not None and found["schema"]["type"] == "float":
        # Older Javas write some numbers of 32 bits with a digit more than needed.
        found["payload"] = float(np.float32(found["payload"]))
    return found


ROUTES = [
    ("(.*)\\.(.*)\\.(.*)", "$1-$2-$3"),
    ("(.*)", "x-$1"),
    ("a|ab", "z"),
    ("(?<first>[a-z]+)-.*", "${first}$0\\$"),
    ("(?x) a.* # a comment", "$0!"),
    ("\\Qa.b", "lit"),
    ("(a)?(.*)", "[$1$2]"),
    ("(.*)", "$9"),
    ("a(.*)", "${no}"),
    ("a.*", "end\\"),
    ("a.*", "$"),
    ("", "empty"),
    ("(?i)A.*", ""),
]
TOPICS = [
    "mysqlavro.ops.customers",
    "a.b.c.d",
    "mysqlavro",
    "x.y",
    "a",
    "ab",
    "abc-d",
    "",
    "a.b",
    "세-번째",
    "a\nb",
    "A",
]


def test_s4_01_regex_router(java: JavaRecords, spark: SparkSession) -> None:
    """S4-01: whole names, greedy; topics of a column and the one topic of a frame alike."""
    records = [Record(TEXT, topic=topic, offset=offset) for topic in TOPICS for offset in (None, 3)]
    configs = [{"regex": regex, "replacement": replacement} for regex, replacement in ROUTES]
    alike(java, spark, RegexRouter, configs, records)


def test_s4_01_one_topic_stays_without_a_column(spark: SparkSession) -> None:
    router = RegexRouter()
    router.configure({"regex": "(.*)\\.(.*)\\.(.*)", "replacement": "$1-$2-$3"})
    (frame,) = frames(spark, [Record(TEXT)])
    routed = {}
    for topic in ("mysqlavro.ops.customers", "a.b.c.d", "mysqlavro", "x.y"):
        bare = SourceFrame(frame.df.drop("topic"), {}, {}, topic=topic)
        changed = router.apply(bare)
        assert not changed.has("topic")
        routed[topic] = changed.topic
    assert list(routed.values()) == ["mysqlavro-ops-customers", "a.b-c-d", "mysqlavro", "x.y"]


def test_timestamp_router(java: JavaRecords, spark: SparkSession) -> None:
    times = [None, 0, -1, 1642725853123, 253402300800000, -62135596800001, 2**62]
    records = [Record(TEXT, topic=topic, timestamp=time) for topic in ("t", "${timestamp}$1\\", "") for time in times]
    configs: list[dict[str, str]] = [
        {},
        {"topic.format": "x ${topic} ${timestamp} ${topic}$0", "timestamp.format": "yyyy-MM-dd'T'HH:mm:ss.SSS"},
        {"timestamp.format": "GGGG YYYY w W D F EEEE u a k K h Z z X XXX MMM MMMM LLL yy '' Y"},
        {"timestamp.format": "b"},
        {"topic.format": "constant", "timestamp.format": ""},
    ]
    alike(java, spark, TimestampRouter, configs, records)


def test_headers_dropped_and_inserted(java: JavaRecords, spark: SparkSession) -> None:
    records = [Record(TEXT, headers=headers, offset=offset) for headers in ((), HEADERS) for offset in (None, 1)]
    alike(java, spark, DropHeaders, [{"headers": names} for names in ("a", "a,b", "A", "c, x")], records)
    literals = ("5", "1.5", "text", "null", "[1,300]", '{"a":true}', "2022-01-21", "09:44:13.250Z", "", "1e20")
    alike(java, spark, InsertHeader, [{"header": "h", "value.literal": literal} for literal in literals], records)
    alike(java, spark, Filter, [{}], records)


@pytest.mark.parametrize("transform", [HeaderFromKey, HeaderFromValue])
def test_headers_from_fields(java: JavaRecords, spark: SparkSession, transform: type[Transform]) -> None:
    data = [*STRUCTS, *OBJECTS]
    records = [
        Record(TEXT, key=one, headers=HEADERS[:1]) if transform is HeaderFromKey else Record(one, headers=HEADERS[:1])
        for one in data
    ]
    configs = [
        {"operation": operation, "fields": fields, "headers": headers, **more}
        for operation, fields, headers, more in (
            ("copy", "id,name,seen", "h,a,a", {}),
            ("move", "name,id", "h,h", {"replace.null.with.default": "false"}),
            ("move", "seen", "when", {}),
            ("copy", "absent", "h", {}),
        )
    ]
    alike(java, spark, transform, configs, records)


WHEN = "yyyy-MM-dd'T'HH:mm:ss.SSS"
MOMENTS = [0, -1, 86399999, 1642725853123, -86400001, 253402300800000, 1500]
FORMS: list[tuple[dict[str, Any], list[Any]]] = [
    (TIMESTAMP, MOMENTS),
    (DATE, [0, -1, 20000]),
    (TIME, [0, 43200001]),
    ({"type": "int64"}, [*MOMENTS, 2**63 - 1, -(2**63), 10**18 + 1]),
    (
        STRING,
        [
            "2022-01-21T09:44:13.250",
            "2022-13-45T25:61:61.1",
            "x",
            "",
            " 2022-1-1T0:0:0.0 more",
            "1500-01-01T00:00:00.000",
        ],
    ),
    ({"type": "int32"}, [5]),
]
TARGETS = ["string", "unix", "Date", "Time", "Timestamp"]
LIMITED = ("Date", "Timestamp")
BEYOND_SPARK = 9223372036854775


def whole_records() -> list[Record]:
    return [
        Record(envelope({**schema, "optional": True}, value)) for schema, values in FORMS for value in [*values, None]
    ]


def field_records() -> list[Record]:
    return [
        Record(envelope(struct(("t", {**schema, "optional": True}), ("o", STRING), name="n"), {"t": value, "o": "x"}))
        for schema, values in FORMS
        for value in [*values, None]
    ]


def is_within_spark(record: Record) -> bool:
    payload = json.loads(record.value or b"{}").get("payload")
    value = payload["t"] if isinstance(payload, dict) else payload
    return not isinstance(value, int) or abs(value) <= BEYOND_SPARK


@pytest.mark.parametrize("field", ["", pytest.param("t", marks=pytest.mark.nightly)])
def test_timestamps_with_schema(java: JavaRecords, spark: SparkSession, field: str) -> None:
    records = [*field_records(), Record(TEXT), Record(None)] if field else whole_records()
    configs = [{"target.type": target, "format": WHEN, "field": field} for target in TARGETS]
    alike(java, spark, TimestampConverterValue, configs, [one for one in records if is_within_spark(one)])
    beyond = [one for one in records if not is_within_spark(one)]
    alike(java, spark, TimestampConverterValue, [one for one in configs if one["target.type"] not in LIMITED], beyond)


def test_units_of_numbers(java: JavaRecords, spark: SparkSession) -> None:
    numbers = [envelope({"type": "int64"}, value) for value in [*MOMENTS, 2**63 - 1, -(2**63), 10**18 + 1, -999_999]]
    moments = [envelope(TIMESTAMP, value) for value in MOMENTS]
    units = ("seconds", "milliseconds", "microseconds", "nanoseconds")
    configs = [{"target.type": "unix", "unix.precision": precision} for precision in units]
    alike(java, spark, TimestampConverterValue, configs, [Record(one) for one in [*numbers, *moments]])
    alike(java, spark, TimestampConverterKey, configs[:1], [Record(TEXT, key=one) for one in numbers])


def test_timestamps_without_schema(java: JavaRecords, spark: SparkSession) -> None:
    values = [1642725853123, -5, "2022-01-21T09:44:13.250", "x", 1.5, True, None, [1], {"a": 1}]
    whole = [Record(envelope(None, value)) for value in values]
    objects = [Record(envelope(None, {"t": value, "o": "x"})) for value in values] + [Record(envelope(None, {"o": 1}))]
    configs = [
        {"target.type": target, "format": WHEN, "field": field} for target in ("string", "unix") for field in ("", "t")
    ]
    alike(java, spark, TimestampConverterValue, configs, [*objects, *whole])


def test_defaults_of_fields(java: JavaRecords, spark: SparkSession) -> None:
    number = {"type": "int64", "optional": True, "default": 5}
    schema = struct(("t", number), ("o", {**OPTIONAL_STRING, "default": "x"}))
    records = [Record(envelope(schema, {"t": None, "o": None})), Record(envelope(schema, {"t": 7, "o": "y"}))]
    config = {"field": "t", "target.type": "Timestamp"}
    configs = [{**config, "replace.null.with.default": replaced} for replaced in ("true", "false")]
    alike(java, spark, TimestampConverterValue, configs, records)


def test_text_without_a_format(java: JavaRecords, spark: SparkSession) -> None:
    records = [Record(TEXT), Record(envelope(None, "x"))]
    alike(java, spark, TimestampConverterValue, [{"target.type": "unix"}], records)


PATTERNS = [
    "yyyy-MM-dd",
    "yyyyMMdd",
    "dd/MM/yy",
    "EEE, d MMM yyyy HH:mm:ss Z",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
    "h:mm a",
    "YYYY-'W'ww-u",
    "yyyy.DDD",
    "MMMM d, yyyy G",
    "HHmmssSSS",
    "k:K",
    "yy",
    "M",
]
PARTS = [
    "2022",
    "22",
    "1",
    "12",
    "13",
    "31",
    "-",
    "/",
    ":",
    " ",
    "T",
    "Z",
    "+0100",
    "Jan",
    "January",
    "Fri",
    "AM",
    "pm",
    "W",
    ",",
    "a",
]


@pytest.mark.nightly
@settings(
    max_examples=2, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(
    texts=st.lists(st.lists(st.sampled_from(PARTS), max_size=8).map("".join), min_size=120, max_size=150),
    moments=st.lists(st.integers(-(10**14), 10**14), min_size=60, max_size=80),
)
def test_patterns_are_javas(live_java: JavaRecords, spark: SparkSession, texts: list[str], moments: list[int]) -> None:
    """What one pattern writes all others try to read, besides generated text."""
    records = [Record(envelope({"type": "int64"}, one)) for one in moments]
    configs = [{"target.type": "string", "format": pattern} for pattern in PATTERNS]
    alike(live_java, spark, TimestampConverterValue, configs, records)
    written = [
        one
        for config in configs[::3]
        for one in live_java.transformed(TimestampConverterValue.java_class or "", config, records[:20])
        if isinstance(one, Record)
    ]
    configs = [{"target.type": "unix", "format": pattern} for pattern in PATTERNS]
    alike(
        live_java,
        spark,
        TimestampConverterValue,
        configs,
        [*written, *(Record(envelope(STRING, one)) for one in texts)],
    )


@pytest.mark.parametrize(
    ("transform", "config", "text"),
    [
        (
            HeaderFromValue,
            {"fields": "a,b", "headers": "a", "operation": "copy"},
            "'fields' config must have the same number of elements as 'headers' config.",
        ),
        (
            HeaderFromValue,
            {"fields": "", "headers": "a", "operation": "copy"},
            "Invalid value [] for configuration fields: Empty list",
        ),
        (
            HeaderFromValue,
            {"fields": "a", "headers": "a", "operation": "cut"},
            "Invalid value cut for configuration operation: String must be one of: move, copy",
        ),
        (
            TimestampConverterValue,
            {"target.type": "string"},
            "TimestampConverter requires format option to be specified when using string timestamps",
        ),
        (
            TimestampConverterValue,
            {"target.type": "string", "format": "b"},
            "TimestampConverter requires a SimpleDateFormat-compatible pattern for string timestamps: b",
        ),
        (
            RegexRouter,
            {"regex": "[", "replacement": ""},
            "Invalid value [ for configuration regex: Invalid regex: Unclosed character class near index 0\n[\n^",
        ),
        (DropHeaders, {}, 'Missing required configuration "headers" which has no default value.'),
    ],
)
def test_wrong_options_are_told_in_javas_words(
    java: JavaRecords, spark: SparkSession, transform: type[Transform], config: dict[str, str], text: str
) -> None:
    with pytest.raises(ConfigError) as error:
        transform().configure(config)
    assert str(error.value) == text
    (theirs,) = java.transformed(transform.java_class or "", config, [Record(None)])
    assert isinstance(theirs, Failed)
    # Of a wrong date pattern Java takes its own sentence for the name of the option.
    assert (theirs.message or "").endswith(text)
