"""Reads a topic to its end, as it lies on the broker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, Message, TopicPartition

SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A record's place and bytes; None is a null, in a value a tombstone."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


def records(bootstrap_servers: str, topics: Sequence[str]) -> list[TopicRecord]:
    """All records of topics up to their present ends, sorted by place.

    Args:
        bootstrap_servers: where the topics are.
        topics: their names.

    Raises:
        TimeoutError: the broker did not hand them out within `SECONDS`.
    """
    found = map(_record, messages(bootstrap_servers, topics))
    return sorted(found, key=lambda record: (record.topic, record.partition, record.offset))


def messages(bootstrap_servers: str, topics: Sequence[str]) -> list[Message]:
    """All messages of topics up to their present ends, in order for each partition.

    Args:
        bootstrap_servers: where the topics are.
        topics: their names.

    Raises:
        TimeoutError: the broker did not hand them out within `SECONDS`.
    """
    with _consumer(bootstrap_servers) as consumer:
        ends = _ends(consumer, topics)
        missing = sum(end.offset for end in ends)
        consumer.assign([TopicPartition(end.topic, end.partition, 0) for end in ends if end.offset])
        found: list[Message] = []
        while len(found) < missing:
            more = consumer.consume(missing - len(found), SECONDS)
            if not more or any(message.error() for message in more):
                raise TimeoutError(f"{', '.join(topics)}: {len(found)} of {missing} records in {SECONDS:g} s")
            found += more
    return found


def end_offsets(bootstrap_servers: str, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    """Where the partitions of topics end at present."""
    with _consumer(bootstrap_servers) as consumer:
        return {(end.topic, end.partition): end.offset for end in _ends(consumer, topics)}


@contextmanager
def _consumer(bootstrap_servers: str) -> Iterator[Consumer]:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "reader", "enable.auto.commit": False})
    try:
        yield consumer
    finally:
        consumer.close()


def _ends(consumer: Consumer, topics: Sequence[str]) -> list[TopicPartition]:
    known = consumer.list_topics(timeout=SECONDS).topics
    places = [(topic, partition) for topic in topics for partition in sorted(known[topic].partitions)]
    return [
        TopicPartition(topic, partition, consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS)[1])
        for topic, partition in places
    ]


def _record(message: Message) -> TopicRecord:
    topic, partition, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert partition is not None
    assert offset is not None
    return TopicRecord(topic, partition, offset, _bytes(message.key()), _bytes(message.value()))


def _bytes(data: str | bytes | None) -> bytes | None:
    return data.encode() if isinstance(data, str) else data
