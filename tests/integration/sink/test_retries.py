"""RetriableError: the same batch again."""

import itertools

import pytest

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics
from tests.integration.sink.test_pauses import SESSION_SECONDS, SHORT_SESSION


def test_s1_42_the_same_batch_comes_again_after_the_time_the_task_asked_for(
    start_sink: StartSink, topics: Topics, topic_prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    for partition in (0, 1):
        topics.write(topic, "abc", partition)
    last = (SESSION_SECONDS + 2) * 1000
    sink = start_sink({"topics": topic, "on.put": f"retry 500; retry 500; retry {last}", **SHORT_SESSION})
    sink.wait(lambda: len(sink.calls("put")) == 1, "first put")
    topics.write(topic, "d", 0)
    sink.wait(lambda: len(sink.calls("put")) == 3, "third put")
    members = topics.members(sink.group)
    assert sink.states() == ["RUNNING", "RUNNING"]
    sink.await_values(7)

    first, *again, _ = sink.puts()
    assert again == [first] * 3  # also (c): the task empties its list each time
    assert len(first) == 6
    times = [call["time"] for call in sink.calls("put")][:4]
    waited = [after - before for before, after in itertools.pairwise(times)]
    assert all(seconds >= asked for seconds, asked in zip(waited, (0.5, 0.5, last / 1000), strict=True))
    assert "RetriableException from SinkTask:" in caplog.text
    assert topics.members(sink.group) == members
    assert len(sink.calls("open")) == 1
    topics.await_committed(sink.group, topic, {0: 4, 1: 3})
