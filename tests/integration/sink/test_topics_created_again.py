"""Sinks whose topic is deleted and created again, or loses its first records, while they run."""

import logging
import time
from pathlib import Path

import pytest

from connect_dagster.worker.sink import task as sink_task
from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import RunningSink


def _create_again(topics: Topics, topic: str, *values: str) -> None:
    topics.create_again(topic)
    topics.write(topic, values)


@pytest.fixture
def asleep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether the task sleeps when its topic is created again; else it stays awake."""
    if not request.param:
        monkeypatch.setattr(sink_task, "_AWAKE_SECONDS", 600.0)
        monkeypatch.setattr(sink_task, "FEW_RECORDS", 0)
    return bool(request.param)


def _await_idle(sink: RunningSink, *, asleep: bool) -> None:
    if asleep:
        sink.wait(lambda: bool(sink.task()._watched), "sleep")


@pytest.mark.parametrize("asleep", [False, True], ids=["awake", "asleep"], indirect=True)
@pytest.mark.parametrize("interval", ["500", "3600000"], ids=["committed", "not committed"])
def test_a_topic_created_again_is_read_from_its_beginning(
    start_sink: StartSink,
    topics: Topics,
    topic_prefix: str,
    caplog: pytest.LogCaptureFixture,
    asleep: bool,
    interval: str,
) -> None:
    """Fails at ce718d3: none of the 30 records came, and 30 was committed."""
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, [f"old {index}" for index in range(100)])
    sink = start_sink({"topics": topic}, {"offset.flush.interval.ms": interval})
    sink.await_values(100)
    _await_idle(sink, asleep=asleep)
    new = [f"new {index}" for index in range(30)]
    with caplog.at_level(logging.WARNING):
        _create_again(topics, topic, *new)
        sink.wait(lambda: set(new) <= set(sink.values()), "records of the new topic", 60)
    topics.write(topic, ["last"])
    sink.wait(lambda: sink.values()[-1] == "last", "record after them", 60)
    assert [value for value in sink.values() if value.startswith("new")] == new
    assert sink.states() == ["RUNNING", "RUNNING"]


def test_a_topic_created_again_with_more_records_is_not_read_from_the_old_offset(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    """The sleeping task's consumer may fetch at its offset in the new log: those records are not the next ones."""
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic}, {"offset.flush.interval.ms": "3600000"})
    for number in range(3):
        _await_idle(sink, asleep=True)
        topics.write(topic, [f"old {number}"])
        sink.await_values(number + 1)
    _await_idle(sink, asleep=True)
    new = [f"new {index}" for index in range(30)]
    _create_again(topics, topic, *new)
    sink.wait(lambda: set(new) <= set(sink.values()), "records of the new topic", 60)
    topics.write(topic, ["last"])
    sink.wait(lambda: sink.values()[-1] == "last", "record after them", 60)
    assert [value for value in sink.values() if not value.startswith("old")] == [*new, "last"]


@pytest.mark.parametrize("asleep", [False, True], ids=["awake", "asleep"], indirect=True)
def test_with_none_a_topic_created_again_fails_the_task(
    start_sink: StartSink, topics: Topics, topic_prefix: str, asleep: bool
) -> None:
    """Fails at ce718d3: awake with Spark's text, asleep not at all."""
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, [f"old {index}" for index in range(100)])
    first = start_sink({"topics": topic})
    topics.await_committed(first.group, topic, {0: 100})
    first.stop()
    sink = start_sink({"topics": topic, "consumer.override.auto.offset.reset": "none"})
    topics.write(topic, ["x"])
    sink.wait(lambda: "x" in sink.values(), "record")
    _await_idle(sink, asleep=asleep)
    _create_again(topics, topic, "new")
    sink.await_states("RUNNING", "FAILED")
    assert "auto.offset.reset is none" in sink.trace() or "no reset policy" in sink.trace()


def test_with_latest_a_topic_created_again_is_read_from_its_end(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    """Fails at ce718d3: no policy was asked."""
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "consumer.override.auto.offset.reset": "latest"})
    sink.wait(lambda: bool(sink.calls("open")), "partition")
    topics.write(topic, [f"old {index}" for index in range(100)])
    sink.await_values(100)
    _create_again(topics, topic, "skipped")
    deadline = time.monotonic() + 60
    while "read" not in sink.values():
        assert time.monotonic() < deadline, sink.values()[-3:]
        topics.write(topic, ["read"])
        time.sleep(0.5)
    assert sink.states() == ["RUNNING", "RUNNING"]


@pytest.mark.nightly
@pytest.mark.parametrize(("policy", "expected"), [("earliest", ["e"]), ("latest", ["e"]), ("none", [])])
def test_records_removed_while_the_sink_is_behind(
    start_sink: StartSink,
    topics: Topics,
    topic_prefix: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    expected: list[str],
) -> None:
    """Retention removes what the next range begins with; what is left is read, unless the task is to fail."""
    monkeypatch.setattr(sink_task, "FEW_RECORDS", 0)  # else the consumer has fetched the records before
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "a")
    first = start_sink({"topics": topic})
    topics.await_committed(first.group, topic, {0: 1})
    first.stop()
    gate = tmp_path / "gate"
    config = {
        "topics": topic,
        "consumer.override.auto.offset.reset": policy,
        "consumer.override.fetch.max.wait.ms": "0",  # else it has waited for these records
        "on.put": f"ok; wait-for {gate}",
    }
    sink = start_sink(config)
    topics.write(topic, "b")
    sink.wait(lambda: sink.puts()[-1:] == [[(0, 1, "b")]], "second put")
    topics.write(topic, "cde")
    topics.remove_before(topic, 4)
    gate.touch()
    if policy == "none":
        sink.await_states("RUNNING", "FAILED")
        assert "auto.offset.reset is none" in sink.trace()
    else:
        sink.await_values(3)
    assert sink.values()[2:] == expected
