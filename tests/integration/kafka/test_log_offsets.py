"""Offsets of logs while a broker is away."""

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer

from connect_dagster.kafka.log_offsets import LogOffsets
from connect_dagster.plugin.records import TopicPartition
from tests.integration.two_brokers import two_brokers

SECONDS = 60.0


@pytest.mark.nightly
def test_partitions_of_a_broker_that_is_away_do_not_hide_the_others(tmp_path: Path) -> None:
    with two_brokers(tmp_path) as brokers:
        topic = brokers.create("topic")
        both = [TopicPartition(topic, 0), TopicPartition(topic, 1)]
        consumer = Consumer({"bootstrap.servers": brokers.bootstrap_servers, "group.id": "none"})
        logs = LogOffsets(consumer)
        try:
            _await_ends(logs, both, dict.fromkeys(both, 0))
            brokers.second.kill()
            _await_ends(logs, both, {both[0]: 0})
            brokers.second.start()
            _await_ends(logs, both, dict.fromkeys(both, 0))
        finally:
            consumer.close()


def _await_ends(logs: LogOffsets, asked: list[TopicPartition], expected: dict[TopicPartition, int]) -> None:
    deadline = time.monotonic() + SECONDS
    while (found := logs.ends(asked, 1.0)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
