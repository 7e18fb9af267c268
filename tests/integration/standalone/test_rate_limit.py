"""Connectors with a rate limit: none is faster, nothing is lost or doubled, and a change ends the waits at once."""

import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess

LINES = 20_000
RATE = 1000
WATCHED_SECONDS = 4.0
STRINGS = {f"{side}.converter": "org.apache.kafka.connect.storage.StringConverter" for side in ("key", "value")}


def test_a_source_and_a_sink_keep_their_rates(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    lines = [str(number) for number in range(LINES)]
    read, written = tmp_path / "read.txt", tmp_path / "written.txt"
    read.write_text("".join(f"{line}\n" for line in lines))
    filled, copied = f"{topic_prefix}filled", f"{topic_prefix}copied"
    _fill(broker, filled, lines)
    limit = {"rate.limit.records.per.second": str(RATE)}
    source = {"connector.class": "FileStreamSource", "file": str(read), "topic": copied, **STRINGS}
    sink = {"connector.class": "FileStreamSink", "file": str(written), "topics": filled, **STRINGS}
    topic = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": copied})

    def put() -> int:
        return written.read_bytes().count(b"\n") if written.exists() else 0

    def sent() -> int:
        return int(topic.get_watermark_offsets(TopicPartition(copied, 0), timeout=20)[1])

    with WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [], tmp_path / "worker") as worker:
        for name, config, moved in (("source", source, sent), ("sink", sink, put)):
            began = time.monotonic()
            worker.call("PUT", f"/connectors/{name}/config", config | limit)
            worker.wait_until(_at_least(1, moved), "move records", 60)
            ends = time.monotonic() + WATCHED_SECONDS
            while time.monotonic() < ends:
                assert moved() <= RATE * (time.monotonic() - began + 2), "a burst of a second, and a batch of one"
                time.sleep(0.2)
            assert moved() < LINES
            worker.call("PUT", f"/connectors/{name}/pause")
            worker.wait_states(name, "PAUSED", "PAUSED", timeout=10)
            worker.call("PUT", f"/connectors/{name}/resume")
            worker.call("PUT", f"/connectors/{name}/config", config)
            worker.wait_until(_at_least(LINES, moved), "move the rest without a limit", 60)
    assert written.read_text().splitlines() == lines
    assert _values(topic, copied) == lines


def _at_least(count: int, moved: Callable[[], int]) -> Callable[[], bool]:
    def check() -> bool:
        try:
            return moved() >= count
        except KafkaException:  # the topic is not there yet
            return False

    return check


def _fill(broker: Broker, topic: str, lines: list[str]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for line in lines:
        producer.produce(topic, line)
    assert producer.flush(60) == 0


def _values(topic: Consumer, name: str) -> list[str]:
    topic.assign([TopicPartition(name, 0, 0)])
    found: list[str] = []
    while len(found) < LINES and (batch := topic.consume(LINES, timeout=5)):
        found += [(message.value() or b"").decode() for message in batch if message.error() is None]
    topic.close()
    return found
