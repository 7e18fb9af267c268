"""A log whose producer may be idempotent no more; the broker is inside of librdkafka."""

import time
from collections.abc import Iterator
from typing import cast

import pytest
from confluent_kafka import KafkaError

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.storage.topic_log import TopicLog
from tests.mock_cluster import PRODUCE, MockCluster, mock_cluster

TOPIC = "configs"


class Admin:
    """A topic with one partition, empty at the start."""

    def id_of(self, topic: str, seconds: float) -> str:
        return "id"

    def partitions(self, topic: str, seconds: float) -> list[int]:
        return [0]

    def beginning_offsets(self, topic: str, partitions: list[int], seconds: float) -> dict[int, int]:
        return {0: 0}

    def end_offsets(self, topic: str, partitions: list[int], seconds: float, isolation: object) -> dict[int, int]:
        return {0: 0}


@pytest.fixture
def cluster() -> Iterator[MockCluster]:
    with mock_cluster() as found:
        found.create(TOPIC)
        yield found


def test_a_log_writes_on_after_a_fatal_error(cluster: MockCluster, caplog: pytest.LogCaptureFixture) -> None:
    """The writer of the record that was refused learns it; the next one is written by another producer."""
    found: list[bytes | None] = []
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "client.id": "log"}
    log = TopicLog(TOPIC, settings, cast("TopicAdmin", Admin()), lambda key, *_: found.append(key))
    log.start(20)
    try:
        log.append([(b"first", b"")], 20)
        cluster.fail_next(PRODUCE, KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER)
        with pytest.raises(ConnectError, match="Could not write to topic 'configs'"):
            log.append([(b"refused", b"")], 20)
        deadline = time.monotonic() + 20
        while "The log of topic configs goes on without idempotence" not in caplog.text:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        log.write([(b"next", b"")], 20)
    finally:
        log.stop()
    assert found == [b"first", b"next"]
