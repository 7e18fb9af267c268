"""R8: users' regular expressions in Spark's JVM, with Java's meaning; each match ends."""

import time

import pytest
from pyspark.sql import SparkSession

from connect_dagster.errors import ConfigError
from connect_dagster.expressions.java_patterns import CostlyPatternError, Regex, matching
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.predicates.topic_name_matches import TopicNameMatches
from connect_dagster.transforms.regex_router import RegexRouter

# 10 ** 13 steps against 60 letters: days.
RUNAWAY = "(.*)" * 12 + "x"
LONG = "a" * 60
TEXT = f"Invalid value {RUNAWAY} for configuration KEY: matching '{LONG}' takes more than 10,000,000 steps"


def frame(spark: SparkSession, *topics: str | None) -> SourceFrame:
    """Records of these topics."""
    return SourceFrame(spark.createDataFrame([("v", topic) for topic in topics], "value string, topic string"), {}, {})


def router(regex: str, replacement: str) -> RegexRouter:
    made = RegexRouter()
    made.configure({"regex": regex, "replacement": replacement})
    return made


def test_names_are_matched_in_javas_dialect(spark: SparkSession) -> None:
    """At 1f0d1e0 Python's `re` matched them: `\\Q`, `\\p` and `\\h` were errors, and `&&` two characters."""
    names = ["orders", "Orders", "a.b", "주문", "a b", "a\nb", ""]
    assert matching("k", r"\p{L}+", names) == ["orders", "Orders", "주문"]
    assert matching("k", "[a-z&&[^b]]+", [*names, "ab"]) == ["orders"]
    assert matching("k", r"\Qa.b\E|a\hb", names) == ["a.b", "a b"]
    assert matching("k", "(?s)a.b|", names) == ["a.b", "a b", "a\nb", ""]
    assert matching("k", ".*", []) == []


def test_a_runaway_match_of_names_ends(spark: SparkSession) -> None:
    """At 1f0d1e0 it ran for hours, and held the interpreter's lock."""
    with pytest.raises(CostlyPatternError) as error:
        matching("topics.regex", RUNAWAY, ["short", LONG])
    assert str(error.value) == TEXT.replace("KEY", "topics.regex")
    assert (error.value.name, error.value.value) == ("topics.regex", RUNAWAY)
    assert matching("topics.regex", "(a+)+$", [LONG, f"{LONG}!"]) == [LONG]


def test_a_match_that_reads_nothing_ends_with_the_time(spark: SparkSession) -> None:
    """At the end of a text Java's engine tries all ways without reading a character: 2 ** 27 of them here."""
    pattern = "a" + "(|)" * 27 + "x"
    regex = Regex("topics.regex", pattern, seconds=0.05)
    place = f"Invalid value {pattern} for configuration topics.regex: "
    began = time.monotonic()
    for text in ("matching 'a' takes longer than 0.05 s", "a match of it has not ended yet"):
        with pytest.raises(CostlyPatternError) as error:
            regex.matching(["a"])
        assert str(error.value) == place + text
    assert time.monotonic() - began < 10


def test_a_deep_match_ends(spark: SparkSession) -> None:
    with pytest.raises(CostlyPatternError, match=r"matching 'abab.*…' overflows the stack$"):
        matching("topics.regex", "(a|b)*", ["ab" * 100_000])


def test_what_java_does_not_read_as_an_expression(spark: SparkSession) -> None:
    with pytest.raises(ConfigError) as error:
        matching("topics.regex", "a(", ["a"])
    place = "Invalid value a( for configuration topics.regex: "
    assert str(error.value) == f"{place}Invalid regex: Unclosed group near index 2\na("


def test_a_router_fails_its_plan_at_a_costly_topic(spark: SparkSession) -> None:
    """At 1f0d1e0 a task of Spark ran for hours, and kept one of the worker's cores."""
    costly = router(RUNAWAY, "$1")
    assert [row.topic for row in costly.apply(frame(spark, "b", "bx", None)).df.collect()] == ["b", "b", None]
    with pytest.raises(Exception, match=r"matching 'a+' takes more than 10,000,000 steps") as error:
        costly.apply(frame(spark, "bx", LONG)).df.collect()
    assert TEXT.replace("KEY", "regex") in str(error.value)
    with pytest.raises(CostlyPatternError):
        costly.apply(SourceFrame(spark.range(1), {}, {}, topic=LONG))


def test_a_predicate_fails_its_plan_at_a_costly_topic(spark: SparkSession) -> None:
    costly = TopicNameMatches()
    costly.configure({"pattern": RUNAWAY})
    well = frame(spark, "b", "bx", None)
    assert [row[0] for row in well.df.select(costly.test(well)).collect()] == [False, True, False]
    bad = frame(spark, LONG)
    with pytest.raises(Exception, match=r"configuration pattern: matching 'a+' takes more than"):
        bad.df.select(costly.test(bad)).collect()


def test_a_replacement_is_made_once_for_a_topic(spark: SparkSession) -> None:
    """200,000 records of two topics: matched record by record, this plan would take many minutes."""
    costly = router(f"(?:{'(.*)' * 4}z)?.*(x|y)", "$5")
    topics = "concat(repeat('a', 40), if(id % 2 = 0, 'x', 'y'))"
    rows = SourceFrame(spark.range(200_000).selectExpr("'v' AS value", f"{topics} AS topic"), {}, {})
    counts = costly.apply(rows).df.groupBy("topic").count().collect()
    assert {row.topic: row["count"] for row in counts} == {"x": 100_000, "y": 100_000}
