"""Which topics a sink reads."""

import pytest

from connect_dagster.errors import BadRequestError
from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics


@pytest.mark.parametrize(
    ("config", "text"),
    [
        (
            {"topics": "a", "topics.regex": "a.*"},
            "topics and topics.regex are mutually exclusive options, but both are set.",
        ),
        ({}, "Must configure one of topics or topics.regex"),
        ({"topics": " "}, "Must configure one of topics or topics.regex"),
    ],
)
def test_s1_38_topics_and_pattern_exclude_each_other(start_sink: StartSink, config: dict[str, str], text: str) -> None:
    with pytest.raises(BadRequestError, match=text.replace(".", r"\.")) as error:
        start_sink(config)
    assert error.value.status == 400


def test_s1_38_names_of_topics_are_trimmed(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    first, second = (topics.create(f"{topic_prefix}{name}") for name in "ab")
    topics.write(first, ["from a"])
    topics.write(second, ["from b"])
    sink = start_sink({"topics": f"{first}, {second} "})
    assert sorted(sink.await_values(2)) == ["from a", "from b"]


def test_s1_38_a_topic_that_appears_later_is_read(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    sink = start_sink(
        {"topics.regex": f"{topic_prefix}t-.*", "consumer.override.metadata.max.age.ms": "2000"},
    )
    sink.await_states("RUNNING", "RUNNING")
    first = topics.create(f"{topic_prefix}t-1")
    topics.write(first, ["early"])
    sink.await_values(1, 30)
    topics.create(f"{topic_prefix}other")
    ninth = topics.create(f"{topic_prefix}t-9")
    topics.write(ninth, ["late"])
    assert sink.await_values(2, 30) == ["early", "late"]
    assert sink.herder.active_topics(sink.name) == [first, ninth]


def test_a_named_topic_that_is_missing_is_read_soon_after_it_is_there(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    first = topics.create(f"{topic_prefix}first")
    topics.write(first, ["early"])
    sink = start_sink({"topics": f"{first},{topic_prefix}later"})
    assert sink.await_values(1) == ["early"]
    later = topics.create(f"{topic_prefix}later")
    topics.write(later, ["late"])
    assert sink.await_values(2, 60) == ["early", "late"]


def test_internal_topics_match_no_pattern(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ["mine"])
    sink = start_sink({"topics.regex": f"__consumer_offsets|__transaction_state|{topic}"})
    assert sink.await_values(1) == ["mine"]
    assert sink.task()._position.keys() == sink.task()._context.assignment
    assert {place.topic for place in sink.task()._context.assignment} == {topic}


def test_a_runaway_expression_fails_its_task(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    """R8: at 1f0d1e0 the task's thread held the interpreter's lock for hours."""
    topic = topics.create(f"{topic_prefix}{'a' * 40}")
    sink = start_sink({"topics.regex": f"{topic_prefix}{'(.*)' * 12}x"})
    sink.await_states("RUNNING", "FAILED")
    assert f"for configuration topics.regex: matching '{topic}' takes more than" in sink.trace()
