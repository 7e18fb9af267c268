"""Records of a sink that cannot be handled; after Kafka's `ErrorHandlingIntegrationTest`."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.integration.errors.conftest import (
    ALL,
    Running,
    Start,
    dead_letters,
    header_list,
    headers,
    read,
    transform,
    values,
)
from tests.integration.errors.faulty_plugins import (
    TRIES,
    Fails,
    FlakyConverter,
    Raises,
    Refuses,
    Renames,
    ReportingSink,
    path,
)
from tests.integration.sink.kafka_topics import Topics

JSON = "org.apache.kafka.connect.json.JsonConverter"
DATA_EXCEPTION = "org.apache.kafka.connect.errors.DataException"


def test_skip_retry_and_dead_letters_with_headers(start: Start, topics: Topics, topic_prefix: str) -> None:
    topic, dead = topics.create(f"{topic_prefix}t"), f"{topic_prefix}dead"
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    for number in range(10):
        header: list[tuple[str, str | bytes | None]] = [("h", b"\x00\xff"), ("n", None)]
        producer.produce(topic, f"value-{number}", f"k{number}", timestamp=1_700_000_000_123, headers=header)
    producer.flush(20)
    later = {
        "transforms": "faulty,others,list",
        "transforms.others.type": "SqlTransform",
        "transforms.others.sql": "SELECT value AS _value FROM record WHERE value <> 'value-7'",
        "transforms.list.type": "SqlTransform",
        "transforms.list.sql": "SELECT explode(filter(array(value), x -> x <> 'value-7')) AS _value FROM record",
    }
    faulty = {**transform(Fails, value="value-7", name=topic_prefix, tries="1"), **later}
    running = start(
        {"topics": topic, **ALL, **dead_letters(dead), **faulty, "errors.retry.timeout": "60000"},
    )
    assert running.await_values(9) == [f"value-{number}" for number in range(10) if number != 7]
    (letter,) = read(topics, dead, 1)
    assert (letter.key(), letter.value(), letter.timestamp()[1]) == (b"k7", b"value-7", 1_700_000_000_123)
    assert header_list(letter)[:2] == [("h", b"\x00\xff"), ("n", None)]
    told = headers(letter)
    assert told.pop("exception.stacktrace").startswith(f"{DATA_EXCEPTION}: bad: value-7")
    assert told == {
        "topic": topic,
        "partition": "0",
        "offset": "7",
        "connector.name": running.name,
        "task.id": "0",
        "stage": "TRANSFORMATION",
        "class.name": path(Fails),
        "exception.class.name": DATA_EXCEPTION,
        "exception.message": "bad: value-7",
    }
    topics.await_committed(running.group, topic, {0: 10})
    assert TRIES[topic_prefix] >= 2
    assert running.counts() == {
        "total-record-failures": 2,  # the try that failed too, as in Java
        "total-record-errors": 1,
        "total-records-skipped": 1,
        "total-retries": 1,
        "deadletterqueue-produce-requests": 1,
    }


def test_s4_06_a_record_without_envelope_is_a_dead_letter(start: Start, topics: Topics, topic_prefix: str) -> None:
    topic, dead = topics.create(f"{topic_prefix}t"), f"{topic_prefix}dead"
    topics.write(topic, ['"first message"', '{"schema":{"type":"string"},"payload":"well"}'])
    running = start({"topics": topic, "value.converter": JSON, **ALL, **dead_letters(dead)})
    assert running.await_values(1) == ["well"]
    (letter,) = read(topics, dead, 1)
    assert letter.value() == b'"first message"'
    assert headers(letter)["stage"] == "VALUE_CONVERTER"
    assert headers(letter)["class.name"] == JSON
    assert (
        'JsonConverter with schemas.enable requires "schema" and "payload" fields'
        in (headers(letter)["exception.message"])
    )
    topics.await_committed(running.group, topic, {0: 2})
    assert running.counts()["total-records-skipped"] == 1


def test_s4_06_with_tolerance_none_the_first_bad_record_is_reported(
    start: Start, topics: Topics, topic_prefix: str
) -> None:
    topic, dead = topics.create(f"{topic_prefix}t"), f"{topic_prefix}dead"
    topics.write(topic, ['"first message"', '"second message"'])
    running = start({"topics": topic, "value.converter": JSON, **dead_letters(dead)})
    running.await_states("RUNNING", "FAILED")
    first = running.trace().splitlines()[0]
    assert first == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert 'JsonConverter with schemas.enable requires "schema" and "payload" fields' in running.trace()
    assert values(topics, dead, 1) == ['"first message"']
    assert topics.committed(running.group, topic) == {}
    assert running.counts()["total-record-errors"] == 1


def test_a_transform_that_fails_a_record_fails_the_task_without_tolerance(
    start: Start, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ["a", "b"])
    later = {"transforms": "faulty,drop", "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter"}
    running = start({"topics": topic, **transform(Fails, value="b"), **later})
    running.await_states("RUNNING", "FAILED")
    first = running.trace().splitlines()[0]
    assert first == "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler"
    assert "DataException: bad: b" in running.trace()


def test_one_poisoned_record_in_100000_costs_that_record_alone(
    start: Start, topics: Topics, topic_prefix: str, tmp_path: Path
) -> None:
    topic, dead, file = topics.create(f"{topic_prefix}t"), f"{topic_prefix}dead", tmp_path / "out.txt"
    topics.write(topic, (f"value-{number}" for number in range(100_000)))
    out = {"connector.class": "FileStreamSink", "file": str(file)}
    running = start({"topics": topic, **out, **ALL, **dead_letters(dead), **transform(Raises, value="value-77777")})
    topics.await_committed(running.group, topic, {0: 100_000}, 120)
    lines = set(file.read_text().splitlines())
    assert len(lines) == 99_999
    assert "value-77777" not in lines
    (letter,) = read(topics, dead, 1)
    assert letter.value() == b"value-77777"
    told = headers(letter)
    assert (told["stage"], told["class.name"], told["offset"]) == ("TRANSFORMATION", path(Raises), "77777")
    assert "poison: value-77777" in told["exception.message"]
    assert running.count("total-records-skipped") == 1


def test_a_transform_that_refuses_frames_fails_their_records(
    start: Start, topics: Topics, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ["a", "b"])
    log = {"errors.log.enable": "true", "errors.log.include.messages": "true"}
    running = start({"topics": topic, **ALL, **log, **transform(Refuses)})
    topics.await_committed(running.group, topic, {0: 2})
    assert running.counts()["total-records-skipped"] == running.counts()["total-errors-logged"] == 2
    executing = f"Executing stage 'TRANSFORMATION' with class '{path(Refuses)}', where consumed record is"
    place = f"{{topic='{topic}', partition=0, offset=1, timestamp="
    assert f"Error encountered in task {running.name}-0. {executing} {place}" in caplog.text
    assert ", timestampType=CreateTime}." in caplog.text


def test_a_registry_that_is_away_is_asked_again(start: Start, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ["a", "b"])
    converter = {"value.converter": path(FlakyConverter), "value.converter.name": topic_prefix}
    running = start({"topics": topic, **converter, "value.converter.tries": "2", "errors.retry.timeout": "-1"})
    assert running.await_values(2) == ["a", "b"]
    assert running.count("total-retries") == 2


def _reporting(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"connector.class": path(ReportingSink), "out": str(tmp_path / "out.jsonl"), "bad": "bad", **more}


def _await_lines(running: Running, tmp_path: Path, lines: list[str]) -> None:
    out = tmp_path / "out.jsonl"
    running.wait(lambda: out.exists() and len(out.read_text().splitlines()) >= len(lines), f"{len(lines)} lines")
    assert [json.loads(line) for line in out.read_text().splitlines()] == lines


@pytest.mark.parametrize("whole", ["false", "true"])
def test_errant_record_reporter(start: Start, topics: Topics, topic_prefix: str, tmp_path: Path, whole: str) -> None:
    topic, dead = topics.create(f"{topic_prefix}t"), f"{topic_prefix}dead"
    topics.write(topic, ["good-1", "bad-1", "good-2", "bad-2"], key="k")
    running = start({"topics": topic, **_reporting(tmp_path, whole=whole), **ALL, **dead_letters(dead)})
    _await_lines(running, tmp_path, ["good-1", "good-2"])
    topics.await_committed(running.group, topic, {0: 4})
    letters = read(topics, dead, 2)
    assert [(one.key(), one.value()) for one in letters] == [(b"k", b"bad-1"), (b"k", b"bad-2")]
    told = headers(letters[1])
    assert (told["stage"], told["class.name"]) == ("TASK_PUT", "org.apache.kafka.connect.sink.SinkTask")
    assert (told["offset"], told["exception.message"]) == ("3", "not written: bad-2")
    assert running.counts() == {"total-record-failures": 2, "deadletterqueue-produce-requests": 2}


def test_a_reported_record_goes_out_as_it_was_before_transforms(
    start: Start, topics: Topics, topic_prefix: str, tmp_path: Path
) -> None:
    topic, dead = topics.create(f"{topic_prefix}t"), f"{topic_prefix}dead"
    other = topics.create(f"{topic_prefix}other")
    topics.write(topic, ["good", "bad"])
    topics.write(other, ["good", "good"])
    both = {"topics": f"{topic},{other}"}
    running = start({**both, **_reporting(tmp_path, bad="BAD"), **ALL, **dead_letters(dead), **transform(Renames)})
    _await_lines(running, tmp_path, ["GOOD"] * 3)
    (letter,) = read(topics, dead, 1)
    assert letter.value() == b"bad"
    assert headers(letter)["topic"] == topic
