"""Reads a topic to its end, as it lies on the broker."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from tests.integration.topics import end_of

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
    """All committed records of topics up to their present ends, sorted by place.

    Args:
        bootstrap_servers: where the topics are.
        topics: their names.

    Raises:
        TimeoutError: the broker did not hand them out within `SECONDS`.
    """
    found = map(_record, messages(bootstrap_servers, topics))
    return sorted(found, key=lambda record: (record.topic, record.partition, record.offset))


def messages(bootstrap_servers: str, topics: Sequence[str]) -> list[Message]:
    """All committed messages of topics up to their present ends, in order for each partition.

    Args:
        bootstrap_servers: where the topics are.
        topics: their names.

    Raises:
        TimeoutError: the broker did not hand them out within `SECONDS`.
    """
    with _consumer(bootstrap_servers) as consumer:
        ends = [end for end in _ends(consumer, topics) if end.offset]
        reading = {(end.topic, end.partition) for end in ends}
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in reading])
        found: list[Message] = []
        # Not up to a number of records: the markers of transactions have offsets as well.
        while reading:
            message = consumer.poll(SECONDS)
            error = None if message is None else message.error()
            if message is None or (error is not None and error.code() != KafkaError._PARTITION_EOF):
                raise TimeoutError(f"{', '.join(topics)}: {len(found)} records of {ends} in {SECONDS:g} s: {error}")
            if error is not None:
                reading.discard((message.topic() or "", message.partition() or 0))
            else:
                found.append(message)
    return found


def end_offsets(bootstrap_servers: str, topics: Sequence[str]) -> dict[tuple[str, int], int]:
    """Where the partitions of topics end at present."""
    with _consumer(bootstrap_servers) as consumer:
        return {(end.topic, end.partition): end.offset for end in _ends(consumer, topics)}


@contextmanager
def _consumer(bootstrap_servers: str) -> Iterator[Consumer]:
    settings: dict[str, str | bool] = {"group.id": "reader", "enable.auto.commit": False, "enable.partition.eof": True}
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, **settings})
    try:
        yield consumer
    finally:
        consumer.close()


def _ends(consumer: Consumer, topics: Sequence[str]) -> list[TopicPartition]:
    known = consumer.list_topics(timeout=SECONDS).topics
    places = [(topic, partition) for topic in topics for partition in sorted(known[topic].partitions)]
    return [
        TopicPartition(topic, partition, end_of(consumer, TopicPartition(topic, partition)))
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
