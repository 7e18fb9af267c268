"""Topics of the measured broker: created, filled, observed from outside, read back, deleted."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.measure import Deadline, InvalidCellError
from connect_dagster.kafka.log_offsets import LogOffsets
from connect_dagster.plugin.records import TopicPartition as Partition

Settings = dict[str, str | int | float | bool]

_SECONDS = 30.0
_KNOWN_SECONDS = 0.05
_FETCHED = 20_000
_CONTROL_RECORDS = 10  # more than those behind the last record
_CONNECT_SECONDS = 0.5
_BULK: Settings = {"linger.ms": 20, "max.in.flight": 1, "batch.size": 262_144}


class Topics:
    """Topics of one broker, most with one partition each, so that their records have one order.

    Args:
        bootstrap_servers: the broker.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        # Errors reach us as exceptions; without them the log of a broker that goes away fills the screen.
        self._client: Settings = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._admin = AdminClient(self._client)
        self._watcher = self._consumer()
        self._logs = LogOffsets(self._watcher)

    def create(self, names: Sequence[str], partitions: int = 1) -> None:
        """Make topics with the broker's defaults."""
        for future in self._admin.create_topics([NewTopic(name, partitions, 1) for name in names]).values():
            future.result(_SECONDS)
        # A client that asks for the end of a topic before it has heard of it does not find it for minutes.
        deadline = Deadline(_SECONDS, f"the topics {', '.join(names)} are known")
        deadline.wait(lambda: self._knows(names), _KNOWN_SECONDS)

    def _knows(self, names: Sequence[str]) -> bool:
        found = self._watcher.list_topics(timeout=_SECONDS).topics
        return all(name in found and found[name].partitions for name in names)

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics, whose space the broker frees a minute later."""
        for future in self._admin.delete_topics(list(names)).values():
            future.result(_SECONDS)

    def partitions(self) -> dict[str, int]:
        """Return all topics with the numbers of their partitions."""
        found = self._admin.list_topics(timeout=_SECONDS).topics
        return {name: len(topic.partitions) for name, topic in found.items()}

    def end_offset(self, name: str) -> int:
        """Return the number of its records."""
        _, high = self._watcher.get_watermark_offsets(TopicPartition(name, 0), timeout=_SECONDS)
        return int(high)

    def end_offsets(self, name: str, partitions: int) -> list[int]:
        """Return the number of records of each partition."""
        asked = _partitions(name, partitions)
        found = self._logs.ranges(asked, _SECONDS)
        return [found[each].end for each in asked]

    def count(self, name: str, partitions: int) -> int:
        """Return the number of its records, at the cost of one request; partitions that do not respond have none."""
        return sum(self._logs.ends(_partitions(name, partitions)).values())

    def fill(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write each line of the blocks as a value, and wait until the broker has them."""
        self.write(name, ({"value": value} for block in blocks for value in block.removesuffix(b"\n").split(b"\n")))

    def write(self, name: str, records: Iterable[Mapping[str, Any]], producer: Producer | None = None) -> None:
        """Write records, and wait until the broker has them.

        Args:
            name: the topic.
            records: arguments of `Producer.produce`.
            producer: one for many records by default.
        """
        if producer is None:  # one with an empty queue is false
            producer = Producer({**self._client, **_BULK})
        for record in records:
            _produce(producer, name, record)
        producer.flush()

    def send(self, producer: Producer, name: str, value: bytes) -> None:
        """Write one record and wait until the broker has it."""
        self.write(name, [{"value": value}], producer)

    def producer(self, linger_ms: int = 0) -> Producer:
        """Return a producer that sends each record at once, or waits for others for some milliseconds."""
        return Producer({**self._client, "linger.ms": linger_ms})

    def tail(self, name: str, offset: int = OFFSET_BEGINNING) -> "Tail":
        """Return a reader that gets each record as soon as the broker has it.

        Args:
            name: the topic, empty by default.
            offset: its end.

        Raises:
            InvalidCellError: it has records there.
        """
        consumer = self._consumer()
        consumer.assign([TopicPartition(name, 0, offset)])
        # Connected and waiting for data before anybody writes: what comes meanwhile would be lost.
        if consumer.poll(_CONNECT_SECONDS) is not None:
            raise InvalidCellError(f"{name} is not {'empty' if offset == OFFSET_BEGINNING else 'at rest'}")
        return Tail(consumer)

    def last_value(self, name: str) -> bytes | None:
        """Return the value of its last committed record; none while there is none near its end."""
        consumer = self._consumer({"enable.partition.eof": True})
        consumer.assign([TopicPartition(name, 0, max(0, self.end_offset(name) - _CONTROL_RECORDS))])
        found = None
        try:
            while (message := consumer.poll(_CONNECT_SECONDS)) is not None and message.error() is None:
                found = message.value()
        finally:
            consumer.close()
        return found

    def digest(self, name: str, *, skip: int = 0, count: int | None = None) -> str:
        """Return a hash of all its values in their order, as `LogFile.digest` has it.

        Args:
            name: the topic.
            skip: bytes at the beginning of each value that do not count.
            count: number of its records, where transactions have ended in it; by default its end.

        Raises:
            InvalidCellError: the topic cannot be read to its end.
        """
        sha = hashlib.sha256()
        for block in self.read(name, [count or self.end_offset(name)]):
            sha.update(b"".join(_value(message)[skip:] + b"\n" for message in block))
        return sha.hexdigest()

    def read(self, name: str, ends: Sequence[int]) -> Iterator[list[Message]]:
        """Yield its records in blocks.

        Args:
            name: the topic.
            ends: number of records of each partition.

        Raises:
            InvalidCellError: the topic cannot be read to its end.
        """
        wanted, seen = sum(ends), 0
        consumer = self._consumer()
        consumer.assign([TopicPartition(name, number, OFFSET_BEGINNING) for number in range(len(ends))])
        deadline = Deadline(_SECONDS + wanted / 20_000, f"{name} is read back")
        try:
            while seen < wanted:
                deadline.check()
                found = consumer.consume(min(_FETCHED, wanted - seen), timeout=1)
                seen += len(found)
                yield found
        finally:
            consumer.close()

    def close(self) -> None:
        """Close the connection that watches."""
        self._watcher.close()

    def _consumer(self, more: Settings | None = None) -> Consumer:
        return Consumer(
            {
                **self._client,
                "group.id": "benchmarks",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "max.partition.fetch.bytes": 8 << 20,
                **(more or {}),
            }
        )


class Tail:
    """A follower of one topic.

    Args:
        consumer: assigned to it.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def await_value(self, part: bytes, seconds: float) -> float:
        """Wait for a value that holds these bytes; answers when it was seen, by the monotonic clock.

        Raises:
            InvalidCellError: none came in time.
        """
        deadline = Deadline(seconds, f"a record with {part.decode()!r} is in the topic")
        while part not in self._next(deadline):
            deadline.check()
        return time.monotonic()

    def next_value(self, seconds: float) -> bytes:
        """Wait for the next record.

        Raises:
            InvalidCellError: none came in time.
        """
        return self._next(Deadline(seconds, "a record is in the topic"))

    def close(self) -> None:
        """Stop following."""
        self._consumer.close()

    def _next(self, deadline: Deadline) -> bytes:
        while (message := self._consumer.poll(0.1)) is None:
            deadline.check()
        return _value(message)


def _value(message: Message) -> bytes:
    if (error := message.error()) is not None:
        raise KafkaException(error)
    value = message.value()
    if value is None:
        raise InvalidCellError(f"a record of {message.topic()} has no value")
    return value


def _produce(producer: Producer, name: str, record: Mapping[str, Any]) -> None:
    while True:
        try:
            return producer.produce(name, **record)
        except BufferError:
            producer.poll(0.05)


def _partitions(name: str, count: int) -> list[Partition]:
    return [Partition(name, number) for number in range(count)]
