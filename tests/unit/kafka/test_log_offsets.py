"""Offsets of logs, some of whose partitions have no leader, by a client that has an answer for all or for none."""

import gc
import weakref
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.embedded.ports import free_port
from connect_dagster.kafka import log_offsets
from connect_dagster.kafka.log_offsets import LogOffsets, LogRange
from connect_dagster.plugin.records import TopicPartition

LED, AWAY = TopicPartition("led", 0), TopicPartition("away", 1)


class Client:
    """librdkafka's consumer; each log begins at 3, and ends at 9."""

    def __init__(self, *leaderless: TopicPartition) -> None:
        self.leaderless = set(leaderless)
        self.answers = True
        self.asked: list[list[str]] = []

    def offsets_for_times(self, asked: Sequence[KafkaPartition], timeout: float) -> list[KafkaPartition]:
        assert asked, timeout
        self.asked.append([one.topic for one in asked])
        if not self.answers or any(TopicPartition(one.topic, one.partition) in self.leaderless for one in asked):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return [KafkaPartition(one.topic, one.partition, 3 if one.offset == -2 else 9) for one in asked]

    def list_topics(self, timeout: float) -> Any:
        assert timeout
        topics = {
            one.topic: SimpleNamespace(
                partitions={one.partition: SimpleNamespace(leader=-1 if one in self.leaderless else 1)}
            )
            for one in (LED, AWAY)
        }
        return SimpleNamespace(topics=topics)


def logs_of(client: Any) -> LogOffsets:
    return LogOffsets(client)


def test_partitions_without_a_leader_do_not_hide_the_others() -> None:
    client = Client(AWAY)
    logs = logs_of(client)
    assert logs.ends([AWAY, LED]) == {LED: 9}
    known, errors = logs.known_ranges([AWAY, LED], 1)
    assert known == {LED: LogRange(3, 9)}
    assert {one: error.code() for one, error in errors.items()} == {AWAY: KafkaError.LEADER_NOT_AVAILABLE}
    assert client.asked == [["away", "led"], ["led"], ["led"], ["led"]]
    assert logs.ranges([AWAY, LED], 1) == known


def test_a_leader_that_is_back_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaders are looked for twice a second at most, as the brokers describe all topics for that."""
    now = 100.0
    monkeypatch.setattr(log_offsets, "monotonic", lambda: now)
    client = Client(AWAY)
    logs = logs_of(client)
    assert logs.ends([LED, AWAY]) == {LED: 9}
    client.leaderless.clear()
    assert logs.ends([LED, AWAY]) == {LED: 9}
    now += 0.5
    assert logs.ends([LED, AWAY]) == {LED: 9, AWAY: 9}


def test_no_leader_at_all() -> None:
    logs = logs_of(Client(AWAY, LED))
    assert logs.ends([LED, AWAY]) == {}
    with pytest.raises(KafkaException):
        logs.first_since(AWAY, 1.0, 1)


def test_brokers_that_do_not_respond_are_an_error() -> None:
    client = Client()
    client.answers = False
    with pytest.raises(KafkaException):
        logs_of(client).ranges([LED], 1)
    assert logs_of(client).ends([LED]) == {}
    assert client.asked == [["led"], ["led"]]


def test_brokers_that_are_away_leave_nothing_in_memory() -> None:
    """Fails at aa2c4578: each request kept its stack for good, and a sink whose brokers were away asked often."""
    consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{free_port()}", "group.id": "g", "log_level": 0})
    logs = logs_of(consumer)
    kept = weakref.ref(logs)
    assert logs.ends([LED], 0.1) == {}
    del logs
    gc.collect()
    assert kept() is None
    consumer.close()


def test_none_are_asked_for_none() -> None:
    client = Client()
    assert logs_of(client).ends([]) == {}
    assert client.asked == []
