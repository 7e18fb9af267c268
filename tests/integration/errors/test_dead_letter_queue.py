"""Dead letters whose topic is missing, or that are rejected together with others."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.errors import DataError
from connect_dagster.kafka import clients
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.errors.dead_letter_queue import DeadLetterQueue
from connect_dagster.worker.errors.failures import VALUE_CONVERTER, FailedRecord, Failure, RawRecord
from connect_dagster.worker.errors.policy import DeadLetterSettings
from connect_dagster.worker.metrics.errors import ErrorMetrics
from tests.integration import topics

ID = TaskId("c", 0)
SECONDS = 60.0


@pytest.fixture(scope="module")
def strict_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker that makes no topics."""
    folder: Path = tmp_path_factory.mktemp("strict")
    with EmbeddedBroker(folder, 0, heap="384m", settings={"auto.create.topics.enable": "false"}) as broker:
        yield broker.bootstrap_servers


def letter(value: bytes, key: bytes | None = None, timestamp: int | None = None) -> FailedRecord:
    error = DataError("bad")
    raw = RawRecord("t", key, value, timestamp=timestamp)
    return FailedRecord(Failure.of(VALUE_CONVERTER, "x", error), raw, error)


def opened(servers: str, topic: str, metrics: ErrorMetrics) -> DeadLetterQueue:
    producer = clients.producer_settings(servers, "dead", {})
    return DeadLetterQueue(ID, DeadLetterSettings(topic, 1), producer, {"bootstrap.servers": servers}, metrics)


def test_r2_dead_letters_wait_for_a_deleted_topic(strict_broker: str, topic_prefix: str) -> None:
    """At ce718d3 they are lost, and the offsets behind them committed."""
    topic, metrics, ending = f"{topic_prefix}dead", ErrorMetrics(ID), threading.Event()
    queue = opened(strict_broker, topic, metrics)
    queue.write(letter(b"0"))
    assert queue.flush(lambda: True)
    admin = AdminClient({"bootstrap.servers": strict_broker})
    admin.delete_topics([topic])[topic].result(SECONDS)
    for value in (b"1", b"2", b"3"):
        queue.write(letter(value))
    with ThreadPoolExecutor(1) as pool:
        flushed = pool.submit(queue.flush, lambda: not ending.is_set())
        try:
            sleep(5)
            assert not flushed.done()
            admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(SECONDS)
            assert flushed.result(SECONDS)
        finally:
            ending.set()
    assert sorted(topics.values(strict_broker, topic, 3)) == ["1", "2", "3"]
    assert metrics.read().values["deadletterqueue-produce-failures"] == 0
    queue.close()


def test_one_rejected_dead_letter_costs_no_other(strict_broker: str, topic_prefix: str) -> None:
    topic, metrics = f"{topic_prefix}dead", ErrorMetrics(ID)
    admin = AdminClient({"bootstrap.servers": strict_broker})
    admin.create_topics([NewTopic(topic, 1, 1, config={"cleanup.policy": "compact"})])[topic].result(SECONDS)
    queue = opened(strict_broker, topic, metrics)
    for key in (b"1", None, b"2"):
        queue.write(letter(key or b"none", key))
    assert queue.flush(lambda: True)
    queue.close()
    assert sorted(topics.values(strict_broker, topic, 2)) == ["1", "2"]
    assert metrics.read().values["deadletterqueue-produce-failures"] == 1


def test_a_dead_letter_with_timestamp_0_keeps_it(strict_broker: str, topic_prefix: str) -> None:
    """At 1f0d1e0 it got the current time."""
    topic, metrics = f"{topic_prefix}dead", ErrorMetrics(ID)
    queue = opened(strict_broker, topic, metrics)
    for number, timestamp in enumerate((0, 7, 0)):
        queue.write(letter(b"%d" % number, b"k", timestamp))
    assert queue.flush(lambda: True)
    found = {one.value(): one.timestamp()[1] for one in topics.read_topic(strict_broker, topic, 3)}
    assert found == {b"0": 0, b"1": 7, b"2": 0}
    admin = AdminClient({"bootstrap.servers": strict_broker})
    admin.delete_topics([topic])[topic].result(SECONDS)
    queue.write(letter(b"late", timestamp=0))
    assert not queue.flush(lambda: False), "the topic is missing"
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(SECONDS)
    assert queue.flush(lambda: True)
    (late,) = topics.read_topic(strict_broker, topic, 1)
    assert (late.value(), late.timestamp()[1]) == (b"late", 0)
    queue.close()
    assert metrics.read().values["deadletterqueue-produce-failures"] == 0
