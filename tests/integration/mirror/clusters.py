"""A cluster as tests of flows write and read it."""

import functools
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from tests.integration.topics import end_of

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Record:
    """A record as it is in a partition."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: tuple[int, int]
    headers: list[tuple[str, bytes | None]] | None

    @classmethod
    def of(cls, message: Message) -> Self:
        """A message of the client, without an error."""
        headers = cast("Any", message.headers())
        return cls(message.offset() or 0, message.key(), message.value(), message.timestamp(), headers)

    @property
    def content(self) -> tuple[Any, ...]:
        """All but the offset."""
        return (self.key, self.value, self.timestamp, self.headers)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster by its brokers."""

    bootstrap_servers: str

    @property
    def admin(self) -> AdminClient:
        """The same client each time: one that nobody holds ends, and its requests with it."""
        return _admin(self.bootstrap_servers)

    def create(self, topic: str, partitions: int = 1, **config: str) -> str:
        """Create a topic; answers its name. Settings have `_` for the dots of their names."""
        settings = {name.replace("_", "."): value for name, value in config.items()}
        self.admin.create_topics([NewTopic(topic, partitions, 1, config=settings)])[topic].result(SECONDS)
        return topic

    def partitions(self, topic: str) -> int:
        """The number of a topic's partitions; 0 without the topic."""
        found = self.admin.list_topics(timeout=SECONDS).topics.get(topic)
        return 0 if found is None else len(found.partitions)

    def grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions."""
        self.admin.create_partitions([NewPartitions(topic, partitions)])[topic].result(SECONDS)

    def remove_before(self, topic: str, offsets: Mapping[int, int]) -> None:
        """Remove the records of partitions before these offsets."""
        wanted = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
        for future in self.admin.delete_records(wanted).values():
            future.result(SECONDS)

    def delete(self, topic: str) -> None:
        """Delete a topic."""
        self.admin.delete_topics([topic])[topic].result(SECONDS)

    def produce(self, topic: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Write records: arguments of `Producer.produce`."""
        producer = Producer({"bootstrap.servers": self.bootstrap_servers, "queue.buffering.max.messages": 1_000_000})
        failed: list[Any] = []
        for record in records:
            producer.produce(topic, **record, on_delivery=lambda error, _: failed.append(error) if error else None)
            producer.poll(0)
        assert producer.flush(SECONDS) == 0
        assert not failed

    def read(self, topic: str, counts: Mapping[int, int], seconds: float = SECONDS) -> dict[int, list[Record]]:
        """The first records of partitions, as many as are named, in their order."""
        with closing(self._consumer()) as consumer:
            consumer.assign([TopicPartition(topic, number, 0) for number in counts])
            found: dict[int, list[Record]] = {number: [] for number in counts}
            deadline = time.monotonic() + seconds
            while any(len(found[number]) < count for number, count in counts.items()):
                for one in consumer.consume(10_000, 0.2):
                    if one.error() is None:
                        found[one.partition() or 0].append(Record.of(one))
                state = {number: len(records) for number, records in found.items()}
                assert time.monotonic() < deadline, f"{topic} has {state}, not {dict(counts)}"
        return found

    def read_all(self, topic: str) -> dict[int, list[Record]]:
        """The records of all partitions in their order, up to the ends of their logs, which may have gaps."""
        found: dict[int, list[Record]] = {number: [] for number in range(self.partitions(topic))}
        left, deadline = set(found), time.monotonic() + SECONDS
        with closing(self._consumer()) as consumer:
            consumer.assign([TopicPartition(topic, number, 0) for number in found])
            while left:
                for one in consumer.consume(10_000, 0.2):
                    if (error := one.error()) is None:
                        found[one.partition() or 0].append(Record.of(one))
                    elif error.code() == KafkaError._PARTITION_EOF:
                        left.discard(one.partition() or 0)
                assert time.monotonic() < deadline, f"{topic} has no end in {left}"
        return found

    def ends(self, topic: str) -> dict[int, int]:
        """The end of each partition."""
        with closing(self._consumer()) as consumer:
            return {number: end_of(consumer, TopicPartition(topic, number)) for number in range(self.partitions(topic))}

    def commit(self, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit offsets of a group without members."""
        with closing(self._consumer(group)) as consumer:
            consumer.commit(
                offsets=[TopicPartition(topic, number, at) for (topic, number), at in offsets.items()],
                asynchronous=False,
            )

    def committed(self, group: str, topic: str, partition: int = 0) -> int:
        """The committed offset of a group; negative for none."""
        with closing(self._consumer(group)) as consumer:
            (found,) = consumer.committed([TopicPartition(topic, partition)], timeout=SECONDS)
            return int(found.offset)

    def _consumer(self, group: str | None = None) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap_servers,
                "group.id": group or f"read-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_uncommitted",
            }
        )


@functools.cache
def _admin(bootstrap_servers: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap_servers})


def eventually(condition: Callable[[], bool], aim: str, seconds: float = SECONDS) -> None:
    """Wait for a condition; brokers that do not know a new topic yet are asked again."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except KafkaException:
            if time.monotonic() > deadline:
                raise
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {aim}"
        time.sleep(0.1)
