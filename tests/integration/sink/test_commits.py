"""When offsets are committed, and when a task goes back."""

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics

NEVER = {"offset.flush.interval.ms": "600000"}


def test_s1_39_a_requested_commit_follows_the_put(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "on.put": "request-commit *"}, NEVER)
    for number in range(3):
        topics.write(topic, [str(number)])
        topics.await_committed(sink.group, topic, {0: number + 1})
    names = [call["call"] for call in sink.calls("put", "pre_commit")]
    assert names == ["put", "pre_commit"] * 3


def test_s1_41_a_task_goes_back_by_its_context(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abcde")
    sink = start_sink({"topics": topic, "on.put": "rewind 2"})
    assert sink.await_values(8) == list("abcdecde")
    assert sink.puts()[1] == [(0, 2, "c"), (0, 3, "d"), (0, 4, "e")]
    topics.await_committed(sink.group, topic, {0: 5})


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
