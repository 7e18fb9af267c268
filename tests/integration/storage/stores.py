"""What tests of the group's topics need: stores that are stopped with the test, and the topics' raw records."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from confluent_kafka import Consumer, Producer, TopicPartition

from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.protocol.config_state import Event
from connect_dagster.storage import internal_topics
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.internal_topics import InternalTopic
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.storage.topic_log import READ_COMMITTED, OnRecord, TopicLog, always
from tests.integration.topics import end_of

SECONDS = 20.0
Raw = tuple[str, str | None]
"""Key and value of a record as text."""


def wait_until(condition: Callable[[], bool], what: str, seconds: float = SECONDS) -> float:
    """Wait for something; answers how many seconds it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds, f"did not {what} in {seconds} s"
        time.sleep(0.001)
    return time.monotonic() - began


class Stores:
    """Starts logs and stores on a broker, and stops them all at the end."""

    def __init__(self, bootstrap_servers: str, prefix: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        self.prefix = prefix
        self.settings = {"bootstrap.servers": bootstrap_servers, "client.id": "test-", "group.id": f"{prefix}group"}
        self.admin = TopicAdmin(self.settings)
        self._running = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._running.close()

    @property
    def config_topic(self) -> InternalTopic:
        return internal_topics.config_topic(f"{self.prefix}configs", replication_factor=1)

    @property
    def offset_topic(self) -> InternalTopic:
        return internal_topics.offset_topic(f"{self.prefix}offsets", replication_factor=1)

    @property
    def status_topic(self) -> InternalTopic:
        return internal_topics.status_topic(f"{self.prefix}status", replication_factor=1)

    def log(self, topic: str, on_record: OnRecord, permitted: Callable[[], bool] = always) -> TopicLog:
        log = self.log_for(topic, on_record, permitted)
        log.start(SECONDS)
        return log

    def log_for(self, topic: str, on_record: OnRecord, permitted: Callable[[], bool] = always) -> TopicLog:
        """A log that is not started."""
        log = TopicLog(topic, self.settings, self.admin, on_record, permitted)
        self._running.callback(log.stop)
        return log

    def config(
        self,
        events: list[Event] | None = None,
        permitted: Callable[[], bool] = always,
        topic: InternalTopic | None = None,
        fencing_id: str | None = None,
        isolation: str = "read_uncommitted",
    ) -> ConfigStore:
        heard = [] if events is None else events
        settings = {**self.settings, "isolation.level": isolation}
        store = ConfigStore(
            topic or self.config_topic, settings, self.admin, heard.append, permitted, fencing_id=fencing_id
        )
        self._running.callback(store.stop)
        store.start()
        return store

    def status(self, permitted: Callable[[], bool] = always) -> StatusStore:
        store = StatusStore(self.status_topic, self.settings, self.admin, permitted)
        self._running.callback(store.stop)
        store.start()
        return store

    def offsets(self, permitted: Callable[[], bool] = always, save_seconds: float = SECONDS) -> KafkaOffsetStore:
        store = KafkaOffsetStore(self.offset_topic, self.settings, self.admin, save_seconds, permitted)
        self._running.callback(store.stop)
        store.start()
        return store

    def write_raw(self, topic: str, *records: Raw) -> None:
        """Write records as Java's worker would: its default partitioner, one after the other."""
        producer = Producer(
            {"bootstrap.servers": self.bootstrap_servers, "partitioner": "murmur2_random", "linger.ms": 0}
        )
        for key, value in records:
            producer.produce(topic, None if value is None else value.encode(), key.encode())
            assert producer.flush(SECONDS) == 0

    def read_log(self, topic: str) -> list[tuple[str, str | None, int]]:
        """Key, value and offset of the committed records of a topic."""
        found: list[tuple[str, str | None, int]] = []

        def take(key: bytes | None, value: bytes | None, partition: int, offset: int, *_: object) -> None:
            found.append(((key or b"").decode(), None if value is None else value.decode(), offset))

        log = TopicLog(topic, {**self.settings, "isolation.level": READ_COMMITTED}, self.admin, take)
        log.start(SECONDS)
        log.stop()
        return found

    def read_raw(self, topic: str) -> dict[int, list[Raw]]:
        """All records of a topic, by partition; partitions without any are left out."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap_servers, "group.id": uuid.uuid4().hex})
        try:
            numbers = sorted(consumer.list_topics(topic, timeout=SECONDS).topics[topic].partitions)
            ends = {n: end_of(consumer, TopicPartition(topic, n)) for n in numbers}
            consumer.assign([TopicPartition(topic, number, 0) for number in numbers if ends[number]])
            found: dict[int, list[Raw]] = {}
            while sum(map(len, found.values())) < sum(ends.values()):
                message = consumer.poll(SECONDS)
                assert message is not None, f"{topic} has records up to {ends}, found {found}"
                assert message.error() is None
                value = message.value()
                raw = (message.key() or b"").decode(), None if value is None else value.decode()
                found.setdefault(message.partition() or 0, []).append(raw)
            return found
        finally:
            consumer.close()
