"""Topics of the measured broker: created, filled, observed from outside, read back, deleted."""

import hashlib
import time
from collections.abc import Iterable, Sequence

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.measure import Deadline, InvalidCellError

Settings = dict[str, str | int | float | bool]

_SECONDS = 30.0
_FETCHED = 20_000
_CONNECT_SECONDS = 0.5


class Topics:
    """Topics with one partition each, so that their records have one order.

    Args:
        bootstrap_servers: the broker.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        # Errors reach us as exceptions; without them the log of a broker that goes away fills the screen.
        self._client: Settings = {"bootstrap.servers": bootstrap_servers, "log_level": 0}
        self._admin = AdminClient(self._client)
        self._watcher = self._consumer()

    def create(self, names: Sequence[str]) -> None:
        """Make topics with the broker's defaults."""
        for future in self._admin.create_topics([NewTopic(name, 1, 1) for name in names]).values():
            future.result(_SECONDS)

    def delete(self, names: Sequence[str]) -> None:
        """Delete topics, whose space the broker frees a minute later."""
        for future in self._admin.delete_topics(list(names)).values():
            future.result(_SECONDS)

    def end_offset(self, name: str) -> int:
        """Return the number of its records."""
        _, high = self._watcher.get_watermark_offsets(TopicPartition(name, 0), timeout=_SECONDS)
        return int(high)

    def fill(self, name: str, blocks: Iterable[bytes]) -> None:
        """Write each line of the blocks as a value, and wait until the broker has them."""
        producer = Producer({**self._client, "linger.ms": 20, "max.in.flight": 1, "batch.size": 262_144})
        for block in blocks:
            for value in block.removesuffix(b"\n").split(b"\n"):
                _produce(producer, name, value)
        producer.flush()

    def send(self, producer: Producer, name: str, value: bytes) -> None:
        """Write one record and wait until the broker has it."""
        _produce(producer, name, value)
        producer.flush()

    def producer(self) -> Producer:
        """Return a producer that sends each record at once."""
        return Producer({**self._client, "linger.ms": 0})

    def tail(self, name: str) -> "Tail":
        """Return a reader of an empty topic that gets each record as soon as the broker has it."""
        consumer = self._consumer()
        consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        # Connected and waiting for data before anybody writes: what comes meanwhile would be lost.
        if consumer.poll(_CONNECT_SECONDS) is not None:
            raise InvalidCellError(f"{name} is not empty")
        return Tail(consumer)

    def digest(self, name: str, *, skip: int = 0) -> str:
        """Return a hash of all its values in their order, as `LogFile.digest` has it.

        Args:
            name: the topic.
            skip: bytes at the beginning of each value that do not count.

        Raises:
            InvalidCellError: the topic cannot be read to its end.
        """
        end, sha, seen = self.end_offset(name), hashlib.sha256(), 0
        consumer = self._consumer()
        consumer.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
        deadline = Deadline(_SECONDS + end / 20_000, f"{name} is read back")
        try:
            while seen < end:
                deadline.check()
                found = consumer.consume(min(_FETCHED, end - seen), timeout=1)
                seen += len(found)
                sha.update(b"".join(_value(message)[skip:] + b"\n" for message in found))
        finally:
            consumer.close()
        return sha.hexdigest()

    def close(self) -> None:
        """Close the connection that watches."""
        self._watcher.close()

    def _consumer(self) -> Consumer:
        return Consumer(
            {
                **self._client,
                "group.id": "benchmarks",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "max.partition.fetch.bytes": 8 << 20,
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
        while True:
            message = self._consumer.poll(0.1)
            if message is not None and part in _value(message):
                return time.monotonic()
            deadline.check()

    def close(self) -> None:
        """Stop following."""
        self._consumer.close()


def _value(message: Message) -> bytes:
    if (error := message.error()) is not None:
        raise KafkaException(error)
    value = message.value()
    if value is None:
        raise InvalidCellError(f"a record of {message.topic()} has no value")
    return value


def _produce(producer: Producer, name: str, value: bytes) -> None:
    while True:
        try:
            return producer.produce(name, value)
        except BufferError:
            producer.poll(0.05)
