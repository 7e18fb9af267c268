"""What tests ask of topics: their records and their ends."""

import time
import uuid
from collections.abc import Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

SECONDS = 180.0
# Of a partition that has just been created.
_NOT_YET = {KafkaError._UNKNOWN_PARTITION, KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION}


def read_topic(bootstrap_servers: str, topic: str, count: int, timeout: float = SECONDS) -> list[Message]:
    """The first `count` records of a topic, in the order of arrival.

    Raises:
        AssertionError: they are not there in time; names what is.
    """
    consumer = _consumer(bootstrap_servers)
    consumer.subscribe([topic])
    found: list[Message] = []
    deadline = time.monotonic() + timeout
    try:
        while len(found) < count:
            found += [one for one in consumer.consume(count - len(found), timeout=0.2) if one.error() is None]
            assert time.monotonic() < deadline, f"{topic} has {len(found)} records of {count}: {found[-3:]}"
        return found
    finally:
        consumer.close()


def read_committed(bootstrap_servers: str, topic: str) -> list[Message]:
    """All records of a topic that are committed now, up to the first transaction that is open.

    Raises:
        AssertionError: its end is not reached in time.
    """
    consumer = _consumer(bootstrap_servers, {"isolation.level": "read_committed", "enable.partition.eof": True})
    partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
    places = [TopicPartition(topic, number, 0) for number in partitions]
    ends = {place.partition: end_of(consumer, place) for place in places}
    consumer.assign(places)
    found: list[Message] = []
    ended: set[int] = set()
    deadline = time.monotonic() + SECONDS
    try:
        while ended != set(partitions):
            for one in consumer.consume(500, timeout=0.2):
                error, partition, offset = one.error(), one.partition(), one.offset()
                assert partition is not None
                assert offset is not None
                if error is None:
                    found.append(one)
                # What is written meanwhile may keep its end away.
                at_end = error is not None and error.code() == KafkaError._PARTITION_EOF
                if at_end or offset >= ends[partition]:
                    ended.add(partition)
            assert time.monotonic() < deadline, f"{topic} ends in {ended} of {set(partitions)} only"
        return found
    finally:
        consumer.close()


def values(bootstrap_servers: str, topic: str, count: int, timeout: float = SECONDS) -> list[str]:
    """Values of the first `count` records as text."""
    return [(one.value() or b"").decode() for one in read_topic(bootstrap_servers, topic, count, timeout)]


def create(bootstrap_servers: str, topic: str, partitions: int) -> None:
    """Create a topic, and wait until the brokers know its leaders."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(SECONDS)
    deadline = time.monotonic() + SECONDS
    while not _has_leaders(admin, topic, partitions):
        assert time.monotonic() < deadline, f"{topic} has no leaders"


def names(bootstrap_servers: str) -> set[str]:
    """The names of all topics."""
    return set(AdminClient({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=20).topics)


def _has_leaders(admin: AdminClient, topic: str, partitions: int) -> bool:
    found = admin.list_topics(topic, timeout=20).topics[topic].partitions
    return len(found) == partitions and all(one.leader >= 0 for one in found.values())


def end_of(consumer: Consumer, place: TopicPartition) -> int:
    """The end of a partition, which a client may not know yet that has just been told of it."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return int(consumer.get_watermark_offsets(place, timeout=20)[1])
        except KafkaException as error:
            if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def size(bootstrap_servers: str, topic: str) -> int:
    """How many records all partitions of a topic have had."""
    consumer = _consumer(bootstrap_servers)
    try:
        partitions = consumer.list_topics(topic, timeout=20).topics[topic].partitions
        places = [TopicPartition(topic, number) for number in partitions]
        return sum(end_of(consumer, place) for place in places)
    finally:
        consumer.close()


def _consumer(bootstrap_servers: str, more: Mapping[str, str | bool] | None = None) -> Consumer:
    return Consumer(
        {
            "bootstrap.servers": bootstrap_servers,
            "group.id": f"read-{uuid.uuid4().hex}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 500,
            **(more or {}),
        }
    )
