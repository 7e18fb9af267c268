"""Pausing and resuming a sink."""

import random
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.running_sink import RunningSink

SESSION_SECONDS = 6
SHORT_SESSION = {
    "consumer.override.session.timeout.ms": str(SESSION_SECONDS * 1000),
    "consumer.override.heartbeat.interval.ms": "1000",
}


@pytest.mark.nightly
def test_s1_40_a_paused_sink_stays_in_its_group(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abc")
    sink = start_sink({"topics": topic, **SHORT_SESSION}, {"offset.flush.interval.ms": "600000"})
    sink.await_values(3)
    before = topics.members(sink.group)
    sink.herder.pause_connector(sink.name)
    sink.await_states("PAUSED", "PAUSED")
    assert topics.committed(sink.group, topic) == {0: 3}
    topics.write(topic, "de")
    deadline = time.monotonic() + 2 * SESSION_SECONDS
    while time.monotonic() < deadline:
        assert topics.members(sink.group) == before
        time.sleep(0.5)
    assert sink.values() == list("abc")
    assert len(sink.calls("pre_commit")) == 1
    sink.herder.resume_connector(sink.name)
    assert sink.await_values(5) == list("abcde")
    assert topics.members(sink.group) == before
    assert len(sink.calls("open")) == 1
    assert sink.calls("close") == []


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("call", "rounds"), [("start", 80), pytest.param("put", 20, marks=pytest.mark.nightly)])
def test_s1_47_a_pause_never_hides_a_failure(
    start_sink: StartSink, topics: Topics, topic_prefix: str, tmp_path: Path, call: str, rounds: int
) -> None:
    topic, gate, chance = topics.create(f"{topic_prefix}t"), tmp_path / "gate", random.Random(47)
    topics.write(topic, "x")
    sink = start_sink({"topics": topic, f"on.{call}": f"wait-for {gate}, fail in the moment of a pause *"})
    for number in range(rounds):
        sink.wait(partial(_has_calls, sink, call, number + 1), f"{call} of round {number}")
        failing = threading.Timer(chance.uniform(0, 0.02), gate.touch)
        failing.start()
        time.sleep(chance.uniform(0, 0.03))
        sink.herder.pause_connector(sink.name)
        failing.join()
        sink.wait(partial(_has_calls, sink, "stop", number + 1), f"stop of round {number}")
        sink.await_states("PAUSED", "FAILED")
        assert "ValueError: in the moment of a pause" in sink.trace()
        assert sink.states() == ["PAUSED", "FAILED"]
        gate.unlink()
        sink.herder.resume_connector(sink.name)
        sink.restart(0)


def _has_calls(sink: RunningSink, name: str, count: int) -> bool:
    return len(sink.calls(name)) == count
