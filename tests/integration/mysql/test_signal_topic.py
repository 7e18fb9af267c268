"""Signals of a real topic: the group keeps the place of the next one."""

import json
import time
from typing import Any

from confluent_kafka import Producer

from connect_dagster.connectors.mysql.options.config import MySqlConfig
from connect_dagster.connectors.mysql.signals.signal_topic import SignalTopicReader
from tests.conftest import Broker
from tests.integration.topics import create
from tests.mysql_options import MINIMAL

SECONDS = 60


def test_signals_are_read_once(broker: Broker, topic_prefix: str) -> None:
    topic = f"{topic_prefix}signals"
    create(broker.bootstrap_servers, topic, 1)
    config = MySqlConfig.parse(
        {
            **MINIMAL,
            "signal.enabled.channels": "source,kafka",
            "signal.kafka.topic": topic,
            "signal.kafka.bootstrap.servers": broker.bootstrap_servers,
            "signal.kafka.groupId": topic,
            "signal.consumer.client.id": "signals-of-a-test",
        }
    )
    wanted = config.signal_topic(config.topic_prefix)
    assert wanted is not None
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})

    def send(number: str, key: str = "shop") -> None:
        producer.produce(topic, json.dumps({"id": number, "type": "log", "data": {"message": "x"}}), key)
        producer.flush()

    def read(count: int) -> list[Any]:
        reader = SignalTopicReader(wanted, config.topic_prefix, 0.1, time.monotonic)
        found: list[Any] = []
        deadline = time.monotonic() + SECONDS
        try:
            while len(found) < count and time.monotonic() < deadline:
                found += reader.read()
                time.sleep(0.05)
        finally:
            reader.close()
        return [one.id for one in found]

    for number, key in (("1", "shop"), ("2", "another"), ("3", "shop")):
        send(number, key)
    assert read(2) == ["1", "3"]
    send("4")
    assert read(1) == ["4"]
