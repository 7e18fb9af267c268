"""When offsets are committed, and when a task goes back."""

import itertools

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics

NEVER = {"offset.flush.interval.ms": "600000"}


def test_s1_39_offsets_are_committed_at_the_interval(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic}, {"offset.flush.interval.ms": "2000"})
    for number in range(4):
        topics.write(topic, [str(number)])
        sink.await_values(number + 1)
        topics.await_committed(sink.group, topic, {0: number + 1}, seconds=8)
    times = [call["time"] for call in sink.calls("pre_commit")]
    between = [after - before for before, after in itertools.pairwise(times)]
    assert all(seconds > 1.9 for seconds in between), between
    assert sorted(between)[len(between) // 2] < 3, between


def test_s1_39_a_requested_commit_follows_the_put(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "on.put": "request-commit *"}, NEVER)
    for number in range(3):
        topics.write(topic, [str(number)])
        topics.await_committed(sink.group, topic, {0: number + 1})
    names = [call["call"] for call in sink.calls("put", "pre_commit")]
    assert names == ["put", "pre_commit"] * 3


def test_s1_39_a_commit_without_an_answer_is_given_up_and_made_later(
    start_sink: StartSink, own_broker: EmbeddedBroker, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topics = Topics(own_broker.bootstrap_servers)
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, ["a"])
    config = {"topics": topic, "on.put": "request-commit *"}
    times = {"offset.flush.interval.ms": "1000", "offset.flush.timeout.ms": "1000"}
    sink = start_sink(config, times, own_broker.bootstrap_servers)
    topics.await_committed(sink.group, topic, {0: 1})
    gate = sink.journal.with_suffix(".gate")
    sink.herder.patch_connector(sink.name, {"on.put": f"ok; wait-for {gate}, request-commit"})
    topics.write(topic, ["b"])
    sink.await_values(2)
    own_broker.pause()
    try:
        gate.touch()
        sink.wait(lambda: "Commit of offsets timed out" in caplog.text, "commit that times out", 30)
        assert sink.states() == ["RUNNING", "RUNNING"]
    finally:
        own_broker.resume()
    topics.await_committed(sink.group, topic, {0: 2}, 60)
    topics.write(topic, ["c"])
    sink.await_values(3)
    assert sink.states() == ["RUNNING", "RUNNING"]


def test_s1_41_a_task_goes_back_by_its_context(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abcde")
    sink = start_sink({"topics": topic, "on.put": "rewind 2"})
    assert sink.await_values(8) == list("abcdecde")
    assert sink.puts()[1] == [(0, 2, "c"), (0, 3, "d"), (0, 4, "e")]
    topics.await_committed(sink.group, topic, {0: 5})


def test_a_task_goes_back_when_it_is_opened(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abcde")
    sink = start_sink({"topics": topic, "on.open": "rewind 3 *"})
    assert sink.await_values(2) == ["d", "e"]


def test_a_failed_flush_goes_back_to_the_last_commit(
    start_sink: StartSink, topics: Topics, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "ab")
    sink = start_sink({"topics": topic, "on.put": "request-commit *", "on.flush": "ok; fail the disk is full"}, NEVER)
    sink.await_values(2)
    topics.await_committed(sink.group, topic, {0: 2})
    topics.write(topic, "cd")
    assert sink.await_values(6) == list("abcdcd")
    topics.await_committed(sink.group, topic, {0: 4})
    assert "Offset commit failed, rewinding to last committed offsets" in caplog.text
    assert sink.states() == ["RUNNING", "RUNNING"]


def test_s1_45_a_graceful_stop_commits_closes_and_stops(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    for partition in (0, 1):
        topics.write(topic, "abc", partition)
    sink = start_sink({"topics": topic}, NEVER)
    sink.await_values(6)
    assert topics.committed(sink.group, topic) == {}
    sink.stop()
    assert topics.committed(sink.group, topic) == {0: 3, 1: 3}
    assert topics.lag(sink.group, topic) == 0
    assert topics.members(sink.group) == []
    *_, close, stop = sink.calls()
    assert (close["call"], close["partitions"], stop["call"]) == ("close", [f"{topic}-0", f"{topic}-1"], "stop")
