"""Records of a source that cannot be handled."""

import json

import pytest

from tests.integration.errors.conftest import ALL, Start, dead_letters, headers, read, transform, values
from tests.integration.errors.faulty_plugins import Fails, Raises, Refuses, path
from tests.integration.sink.kafka_topics import Topics

JSON = "org.apache.kafka.connect.json.JsonConverter"


def test_a_record_that_fails_in_a_transform_goes_to_the_dead_letters(
    start_source: Start, topics: Topics, topic_prefix: str
) -> None:
    topic, dead = f"{topic_prefix}t", f"{topic_prefix}dead"
    running = start_source(5, {**ALL, **dead_letters(dead), **transform(Fails, value="value-3")})
    assert values(topics, topic, 4) == ["value-0", "value-1", "value-2", "value-4"]
    (letter,) = read(topics, dead, 1)
    assert (letter.key(), letter.value()) == (None, b"value-3")
    told = dict(headers(letter))
    assert told.pop("exception.stacktrace").startswith("org.apache.kafka.connect.errors.DataException: bad: value-3")
    assert told == {
        "topic": topic,
        "source.partition": '{"p":1}',
        "source.offset": '{"o":5}',
        "connector.name": running.name,
        "task.id": "0",
        "stage": "TRANSFORMATION",
        "class.name": path(Fails),
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "exception.message": "bad: value-3",
    }
    assert running.counts() == {
        "total-record-failures": 1,
        "total-record-errors": 1,
        "total-records-skipped": 1,
        "deadletterqueue-produce-requests": 1,
    }


@pytest.mark.nightly
def test_one_poisoned_record_in_100000_costs_that_record_alone(
    start_source: Start, topics: Topics, topic_prefix: str
) -> None:
    topic, dead = f"{topic_prefix}t", f"{topic_prefix}dead"
    running = start_source(100_000, {**ALL, **dead_letters(dead), **transform(Raises, value="value-77777")})
    found = values(topics, topic, 99_999)
    assert len(set(found)) == 99_999
    assert "value-77777" not in found
    (letter,) = read(topics, dead, 1)
    assert letter.value() == b"value-77777"
    assert headers(letter)["stage"] == "TRANSFORMATION"
    assert headers(letter)["class.name"] == path(Raises)
    assert "poison: value-77777" in headers(letter)["exception.message"]
    assert running.count("total-records-skipped") == 1
    assert topics.ends(topic) == {0: 99_999}


def test_with_tolerance_none_the_task_fails_and_the_record_is_reported(
    start_source: Start, topics: Topics, topic_prefix: str
) -> None:
    dead = f"{topic_prefix}dead"
    running = start_source(5, {**dead_letters(dead), **transform(Fails, value="value-3")})
    running.await_states("RUNNING", "FAILED")
    first = running.trace().splitlines()[0]
    assert first == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert "DataException: bad: value-3" in running.trace()
    assert values(topics, dead, 1) == ["value-3"]
    assert running.counts()["total-record-errors"] == 1
    assert "total-records-skipped" not in running.counts()


def test_what_a_transform_raises_for_a_frame_fails_its_records(
    start_source: Start, topics: Topics, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    log = {"errors.log.enable": "true", "errors.log.include.messages": "true"}
    running = start_source(3, {**ALL, **log, **transform(Refuses)})
    running.await_count("total-errors-logged", 3)
    assert running.counts() == {
        "total-record-failures": 3,
        "total-record-errors": 3,
        "total-records-skipped": 3,
        "total-errors-logged": 3,
    }
    text = caplog.text
    executing = f"Executing stage 'TRANSFORMATION' with class '{path(Refuses)}', where source record is = SourceRecord"
    assert f"Error encountered in task {running.name}-0. {executing}" in text
    assert "value=value-1, " in text
    assert "org.apache.kafka.connect.errors.DataException: Only Struct objects supported for [nothing]" in text


def test_after_the_time_for_retries_tolerance_decides(start_source: Start, topics: Topics, topic_prefix: str) -> None:
    dead = f"{topic_prefix}dead"
    flaky = transform(Fails, name=topic_prefix, tries="1000")
    retries = {"errors.retry.timeout": "500", "errors.retry.delay.max.ms": "300"}
    running = start_source(2, {**ALL, **dead_letters(dead), **flaky, **retries})
    assert values(topics, dead, 2) == ["value-0", "value-1"]
    assert headers(read(topics, dead, 1)[0])["exception.class.name"].endswith(".RetriableException")
    assert running.count("total-retries") >= 1
    assert running.count("total-records-skipped") == 2


def test_a_record_that_kafka_refuses_is_reported_too(
    start_source: Start, topics: Topics, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    queue = {**dead_letters(f"{topic_prefix}dead"), "errors.log.enable": "true"}
    running = start_source(3, {**ALL, **queue, "giant": "1"})
    assert values(topics, f"{topic_prefix}t", 2) == ["value-0", "value-2"]
    running.await_count("deadletterqueue-produce-failures", 1)  # as large there
    assert running.counts() == {
        "total-record-failures": 1,
        "total-errors-logged": 1,
        "deadletterqueue-produce-requests": 1,
        "deadletterqueue-produce-failures": 1,
    }
    assert (
        "Executing stage 'KAFKA_PRODUCE' with class 'org.apache.kafka.connect.runtime.WorkerSourceTask'" in caplog.text
    )


def test_what_the_converter_cannot_write_is_a_dead_letter_in_json(
    start_source: Start, topics: Topics, topic_prefix: str
) -> None:
    topic, dead = f"{topic_prefix}t", f"{topic_prefix}dead"
    converter = {"value.converter": "org.apache.kafka.connect.converters.IntegerConverter"}
    running = start_source(2, {**ALL, **dead_letters(dead), **converter})
    assert [json.loads(text) for text in values(topics, dead, 2)] == ["value-0", "value-1"]
    assert headers(read(topics, dead, 1)[0])["stage"] == "VALUE_CONVERTER"
    running.wait(lambda: running.counts().get("total-records-skipped") == 2, "two skipped")
    assert topic not in topics.admin.list_topics(timeout=20).topics


def test_a_topic_with_more_replicas_than_brokers_is_refused(start_source: Start, topic_prefix: str) -> None:
    dead = f"{topic_prefix}dead"
    queue = {**dead_letters(dead), "errors.deadletterqueue.topic.replication.factor": "3"}
    running = start_source(2, {**ALL, **queue})
    running.await_states("RUNNING", "FAILED")
    assert running.trace().splitlines()[0] == (
        f"org.apache.kafka.connect.errors.ConnectException: Could not initialize dead letter queue with topic={dead}"
    )
