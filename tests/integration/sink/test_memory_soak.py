"""Twenty sink tasks with backlogs of records of each size, in a worker with the usual heap of 1 GB."""

import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.conftest import Broker
from tests.integration.sink.kafka_topics import Topics
from tests.integration.source.test_big_file import resident
from tests.integration.worker_process import WorkerProcess

TASKS = 20
TOTAL_BYTES = 800 << 20
MEGABYTE = 1 << 20
SIZES = {"1 kB": 1_000, "10 kB": 10_000, "100 kB": 100_000, "1 MB": 1_000_000}
STRING = "org.apache.kafka.connect.storage.StringConverter"


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("size", SIZES)
def test_twenty_backlogs_fit_into_a_gigabyte(
    broker: Broker, topic_prefix: str, tmp_path: Path, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Failed at ce718d3: an OutOfMemoryError ended the JVM, with all tasks of the worker."""
    topic = f"{topic_prefix}t"
    topics = Topics(broker.bootstrap_servers)
    topics.create(topic, TASKS, {"max.message.bytes": str(2 * MEGABYTE)})
    count = TOTAL_BYTES // SIZES[size] // TASKS
    _fill(broker, topic, SIZES[size], count)
    config = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": topic}
    config |= {"tasks.max": str(TASKS), "value.converter": STRING}
    peak, began = 0, time.monotonic()
    props = {"bootstrap.servers": broker.bootstrap_servers, "consumer.auto.offset.reset": "earliest"}
    with WorkerProcess(props, [], tmp_path / "worker", jvm={}) as worker:
        worker.call("PUT", f"/connectors/{topic}/config", config)

        def all_committed() -> bool:
            nonlocal peak
            peak = max(peak, resident(worker.pid))
            ends = dict.fromkeys(range(TASKS), count)
            return topics.committed(f"connect-{topic}", topic) == ends

        worker.wait_until(all_committed, "commit all records", 1800)
        took, log = time.monotonic() - began, worker.log()
    with capsys.disabled():
        shown = f"peak {peak / MEGABYTE:.0f} MB resident in worker and JVM, {took:.0f} s for all"
        print(f"\n{TASKS} tasks, {TOTAL_BYTES / MEGABYTE:.0f} MB of {size}: {shown}")  # noqa: T201
    assert "OutOfMemoryError" not in log
    assert (tmp_path / "out.txt").stat().st_size == TASKS * count * (SIZES[size] + 1)


def _fill(broker: Broker, topic: str, size: int, count: int) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "message.max.bytes": 2 * MEGABYTE})
    value = b"x" * size
    for partition in range(TASKS):
        for _ in range(count):
            while True:
                try:
                    producer.produce(topic, value, partition=partition)
                    break
                except BufferError:
                    producer.poll(0.1)
    assert producer.flush(300) == 0
