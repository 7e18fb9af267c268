"""The topic that keeps the schema history (Debezium: ``KafkaSchemaHistory``)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from confluent_kafka import KafkaError, Message, Producer

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import BROKER_DEFAULT, NewTopic, TopicAdmin
from connect_dagster.kafka.topic_reading import content_bytes, read_topic

_FOREVER = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
_PARTITION = 0


@dataclass(frozen=True, slots=True)
class HistoryAccess:
    """Settings of the topic's clients.

    Attributes:
        topic: its name.
        consumer: settings of a consumer, in Java's names.
        producer: settings of a producer.
        read_seconds: longest time without a record while the topic is read.
        query_seconds: longest wait for the brokers' answer about the topic.
        create_seconds: longest wait until it is made, and until a record is written.
    """

    topic: str
    consumer: Settings
    producer: Settings
    read_seconds: float
    query_seconds: float
    create_seconds: float


class HistoryTopic:
    """Reads and writes the topic.

    Args:
        access: settings of its clients.
    """

    def __init__(self, access: HistoryAccess) -> None:
        self._access = access
        self._admin = TopicAdmin({**access.producer, "default.api.timeout.ms": str(int(access.create_seconds * 1000))})
        self._producer: Producer | None = None

    def exists(self) -> bool:
        """Return whether the topic exists.

        Raises:
            ConnectError: the brokers refuse, or do not respond.
        """
        return self._admin.exists(self._access.topic)

    def has_records(self) -> bool:
        """Return whether the topic exists and has records.

        Raises:
            ConnectError: the brokers refuse, or do not respond.
        """
        if not self.exists():
            return False
        return next(self.records(), None) is not None

    def create(self) -> None:
        """Create the topic: one partition, whose records stay.

        Raises:
            ConnectError: the brokers refuse, or do not respond.
        """
        new = NewTopic(self._access.topic, 1, BROKER_DEFAULT, _FOREVER)
        if self._admin.create_with_retry(new) is None:
            raise ConnectError(
                f"The right to create the topic of the schema history, {new.name}, is missing: create it with one "
                "partition, cleanup.policy=delete and retention.ms=-1"
            )

    def records(self) -> Iterator[bytes]:
        """Yield the values of the records up to the topic's present end.

        Raises:
            ConnectError: the brokers refuse, or do not respond.
        """
        settings = dict(self._access.consumer)
        brokers = Brokers(settings.pop("bootstrap.servers"), settings)
        try:
            for message in read_topic(brokers, self._access.topic, self._access.read_seconds, _PARTITION):
                value = content_bytes(message.value())
                if value is not None:
                    yield value
        except BrokersError as error:
            raise RetriableError(f"The schema history cannot be read from {self._access.topic}: {error}") from error

    def write(self, value: bytes) -> None:
        """Write a record, and wait for its acknowledgement.

        Raises:
            ConnectError: the brokers refuse it, or do not respond in time.
        """
        if self._producer is None:
            self._producer = clients.producer(self._access.producer)
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                failures.append(error)

        self._producer.produce(self._access.topic, value, partition=_PARTITION, on_delivery=delivered)
        left = self._producer.flush(self._access.create_seconds)
        if left or failures:
            reason = failures[0].str() if failures else "no acknowledgement in time"
            raise RetriableError(f"The schema history cannot be written to {self._access.topic}: {reason}")

    def close(self) -> None:
        """End all waits."""
        self._admin.stop()
