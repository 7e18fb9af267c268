"""Predicates beside Java's: the same records chosen, by Java's regular expressions."""

import pytest
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.converter import Predicate
from connect_dagster.plugin.frame_columns import ROW
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.predicates.has_header_key import HasHeaderKey
from connect_dagster.predicates.record_is_tombstone import RecordIsTombstone
from connect_dagster.predicates.topic_name_matches import TopicNameMatches
from tests.conformance.converter_cases import STRING, envelope
from tests.conformance.java_records import JavaRecords, Record
from tests.conformance.our_records import frames

TEXT = envelope(STRING, "x")
NULL_TEXT = envelope({**STRING, "optional": True}, None)
HEADERS = [(), (("a", TEXT),), (("b", None), ("a", None)), (("A", TEXT), ("", TEXT))]
TOPICS = ["a", "ab", "orders-eu", "orders-", "Orders-us", "", "세", "a\nb", "a.b.c"]
RECORDS = [
    Record(value, topic=topic, headers=headers, offset=offset)
    for topic in TOPICS
    for headers in HEADERS
    for value, offset in ((TEXT, None), (NULL_TEXT, 7), (None, 8))
]
CASES: list[tuple[type[Predicate], dict[str, str]]] = [
    (RecordIsTombstone, {}),
    (HasHeaderKey, {"name": "a"}),
    (HasHeaderKey, {"name": "absent"}),
    *(
        (TopicNameMatches, {"pattern": pattern})
        for pattern in (
            "a|ab",
            "orders-.*",
            "(?i)orders-\\p{L}{2}",
            "a",
            ".*",
            "a.b",
            "[a-z&&[^b]]+",
            "\\Qa.b.c\\E",
            "세?",
        )
    ),
]


def test_predicates_choose_as_in_java(java: JavaRecords, spark: SparkSession) -> None:
    made = list(frames(spark, RECORDS))
    wrong = []
    for predicate_class, config in CASES:
        predicate = predicate_class()
        predicate.configure(config)
        ours: dict[int, bool] = {}
        for frame in made:
            rows = frame.df.select(ROW, predicate.test(frame).alias("holds")).collect()
            ours |= {row[ROW]: row.holds for row in rows}
        theirs = java.tested(predicate_class.java_class or "", config, RECORDS)
        wrong += [(config, one) for i, one in enumerate(RECORDS) if ours[i] is not theirs[i]]
    assert wrong == []


def test_frames_without_headers_and_with_one_topic(spark: SparkSession) -> None:
    (frame,) = frames(spark, [Record(TEXT)])
    bare = SourceFrame(frame.df.drop("headers", "topic"), {}, {}, topic="orders-eu")
    for predicate, config, expected in (
        (HasHeaderKey(), {"name": "a"}, False),
        (TopicNameMatches(), {"pattern": "orders-.*"}, True),
        (TopicNameMatches(), {"pattern": "orders"}, False),
    ):
        predicate.configure(config)
        assert [row[0] for row in bare.df.select(predicate.test(bare)).collect()] == [expected]


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("", "Invalid value  for configuration pattern: String must be non-empty"),
        ("(", "Invalid value ( for configuration pattern: Invalid regex: Unclosed group near index 1\n("),
    ],
)
def test_a_wrong_pattern_is_told_in_javas_words(spark: SparkSession, pattern: str, text: str) -> None:
    with pytest.raises(ConfigError) as error:
        TopicNameMatches().configure({"pattern": pattern})
    assert str(error.value) == text
