"""The fixture itself: Java Connect 4.3.1 runs beside us and moves lines."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer

from tests.conformance.java_connect import JavaStandalone
from tests.conftest import Broker

pytestmark = pytest.mark.nightly

LINES = ["first message", "seconde line", "세번째 메시지"]


def test_java_copies_a_file_into_a_topic(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    source = tmp_path / "in=put.txt"
    source.write_text("".join(f"{line}\n" for line in LINES))
    worker = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    }
    connector = {
        "name": f"{topic_prefix}source",
        "connector.class": "FileStreamSource",
        "file": str(source),
        "topic": f"{topic_prefix}lines",
    }
    with JavaStandalone(worker, [connector], tmp_path / "java") as java:
        status = java.statuses()[connector["name"]]["status"]
        assert [task["state"] for task in status["tasks"]] == ["RUNNING"]
        assert _values(broker, connector["topic"], len(LINES)) == LINES
    assert java.offsets_file.read_bytes()[:4] == b"\xac\xed\x00\x05"


def _values(broker: Broker, topic: str, count: int) -> list[str]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    try:
        messages = consumer.consume(count, timeout=20)
        return [(message.value() or b"").decode() for message in messages]
    finally:
        consumer.close()
