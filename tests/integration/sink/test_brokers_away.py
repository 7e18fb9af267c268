"""Brokers that go away while a sink reads."""

import time

import pytest

from connect_dagster.embedded.broker import EmbeddedBroker
from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import Topics

pytestmark = pytest.mark.nightly


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seconds", [1, 25], ids=["short", "longer than a fetch may take"])
def test_a_broker_that_is_killed_and_restarted_loses_nothing(
    start_sink: StartSink, own_broker: EmbeddedBroker, topic_prefix: str, seconds: float
) -> None:
    topics = Topics(own_broker.bootstrap_servers)
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    for partition in (0, 1):
        topics.write(topic, (f"{partition}-{index}" for index in range(20_000)), partition)
    config = {"topics": topic, "consumer.override.max.poll.records": "2000"}
    sink = start_sink(config, {"offset.flush.interval.ms": "200"}, own_broker.bootstrap_servers)
    sink.await_values(1)
    own_broker.kill()
    states = set()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        states.update(sink.states())
        time.sleep(0.1)
    own_broker.start()
    sink.wait(lambda: len(set(sink.values())) == 40_000, "all records", 180)
    states.update(sink.states())
    assert states == {"RUNNING"}, sink.trace()
    topics.await_committed(sink.group, topic, {0: 20_000, 1: 20_000}, 90)


def test_a_sink_stops_in_time_while_the_brokers_are_away(
    start_sink: StartSink, own_broker: EmbeddedBroker, topic_prefix: str
) -> None:
    topics = Topics(own_broker.bootstrap_servers)
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "ab")
    sink = start_sink({"topics": topic}, {"offset.flush.interval.ms": "600000"}, own_broker.bootstrap_servers)
    sink.await_values(2)
    own_broker.kill()
    began = time.monotonic()
    sink.stop()
    assert time.monotonic() - began < 25
