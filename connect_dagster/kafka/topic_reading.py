"""Reading a topic from its beginning to its current end, and single records of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import takewhile

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.admin._metadata import TopicMetadata

from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.errors import MissingTopicError, brokers_errors, is_of_group

_WAIT_SECONDS = 0.2
_BATCH = 500
# The error has in one sentence what the client library would log.
_QUIET = {"log_level": 0}


def partition_count(bootstrap: Bootstrap, topic: str, timeout: float) -> int | None:
    """Return the number of a topic's partitions, ``None`` when it does not exist.

    Raises:
        BrokersError: The brokers refuse, or none responds within ``timeout`` seconds.
    """
    found = _topics(bootstrap, timeout).get(topic)
    return None if found is None else len(found.partitions)


def topic_names(bootstrap: Bootstrap, timeout: float) -> set[str]:
    """Return the names of all topics that the login may see. Raises as :func:`partition_count`."""
    return set(_topics(bootstrap, timeout))


def _topics(bootstrap: Bootstrap, timeout: float) -> Mapping[str, TopicMetadata]:
    # Not a consumer: with its first step it looks for its group, for which brokers make the topic of groups.
    with brokers_errors():
        admin = clients.quiet_admin(client_settings(bootstrap))
        return admin.list_topics(timeout=timeout).topics


def read_topic(
    bootstrap: Bootstrap,
    topic: str,
    timeout: float,
    partition: int | None = None,
    isolation: str = "read_committed",
    start: int = OFFSET_BEGINNING,
) -> Iterator[Message]:
    """Yield the records of a topic up to its current end, each partition's in order.

    Args:
        bootstrap: Brokers, ``host:port``, separated by commas.
        topic: Its name.
        timeout: How long nothing may come before its end, in seconds.
        partition: The only one to read; all of them when None.
        isolation: ``read_committed`` leaves out aborted transactions, and ends before an open one.
        start: Offset of each partition to begin with; by default its oldest record.

    Raises:
        MissingTopicError: The topic does not exist.
        BrokersError: The brokers refuse, or nothing arrives in time.
    """
    count = partition_count(bootstrap, topic, timeout)
    if count is None:
        raise MissingTopicError(f"Topic {topic!r} does not exist.")
    numbers = range(count) if partition is None else [partition]
    with brokers_errors(), closing(_consumer(bootstrap, isolation)) as consumer:
        consumer.assign([TopicPartition(topic, number, start) for number in numbers])
        yield from _until_ends(consumer, len(numbers), timeout)


def count_records(bootstrap: Bootstrap, partition: tuple[str, int], start: int, end: int, timeout: float) -> int:
    """Return the number of records from one offset of a partition to before another, without aborted ones.

    Args:
        bootstrap: Brokers, ``host:port``, separated by commas.
        partition: Topic and number.
        start: The first offset.
        end: The offset after the last one.
        timeout: How long nothing may come, in seconds.

    Raises:
        BrokersError: The brokers refuse, or nothing arrives in time.
    """
    with brokers_errors(), closing(_consumer(bootstrap, "read_committed")) as consumer:
        consumer.assign([TopicPartition(*partition, start)])
        offsets = (message.offset() or 0 for message in _until_ends(consumer, 1, timeout))
        return sum(1 for _ in takewhile(lambda offset: offset < end, offsets))


def fetch_records(
    bootstrap: Bootstrap, places: Iterable[tuple[str, int, int]], timeout: float
) -> dict[tuple[str, int, int], Message]:
    """Return single records by topic, partition and offset.

    Those that are not there are left out, also where the topic or the partition is not. Records are read whether their
    transactions are committed or not.

    Args:
        bootstrap: Brokers, ``host:port``, separated by commas.
        places: Topic, partition and offset of each record.
        timeout: How long nothing may come, in seconds.

    Raises:
        BrokersError: The brokers refuse, or nothing arrives in time.
    """
    # A consumer waits for a topic that does not exist, as it may be new.
    topics = _topics(bootstrap, timeout)
    waiting: dict[tuple[str, int], list[int]] = {}
    for topic, number, offset in places:
        if topic in topics and number in topics[topic].partitions:
            waiting.setdefault((topic, number), []).append(offset)
    found = {}
    with brokers_errors(), closing(_consumer(bootstrap, "read_uncommitted")) as consumer:
        while waiting:
            wanted = {partition: offsets.pop() for partition, offsets in waiting.items()}
            waiting = {partition: offsets for partition, offsets in waiting.items() if offsets}
            for (topic, number), message in _first_records(consumer, wanted, timeout).items():
                if message.offset() == wanted[topic, number]:
                    found[topic, number, wanted[topic, number]] = message
    return found


def content_bytes(content: str | bytes | None) -> bytes | None:
    """Return a key or a value, which the client library declares as text too."""
    return content.encode() if isinstance(content, str) else content


def _first_records(
    consumer: Consumer, offsets: Mapping[tuple[str, int], int], timeout: float
) -> dict[tuple[str, int], Message]:
    """Return the first record from each offset on; none of a partition that ends before."""
    consumer.assign([TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()])
    left, found = set(offsets), {}
    heard = time.monotonic()
    while left:
        messages = consumer.consume(_BATCH, timeout=_WAIT_SECONDS)
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > timeout:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        for message in messages:
            partition = message.topic() or "", message.partition() or 0
            if partition not in left:
                continue
            error = message.error()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                raise KafkaException(error)
            if error is None:
                found[partition] = message
            left.discard(partition)
    return found


def _until_ends(consumer: Consumer, partitions: int, timeout: float) -> Iterator[Message]:
    ended: set[int | None] = set()
    heard = time.monotonic()
    while len(ended) < partitions:
        messages = consumer.consume(_BATCH, timeout=_WAIT_SECONDS)
        if messages:
            heard = time.monotonic()
        elif time.monotonic() - heard > timeout:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        for message in messages:
            error = message.error()
            if error is None:
                yield message
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
            elif not is_of_group(error):
                raise KafkaException(error)


def _consumer(bootstrap: Bootstrap, isolation: str) -> Consumer:
    return clients.consumer(
        client_settings(bootstrap),
        {
            **_QUIET,
            # No member joins this group: the partitions are assigned by hand and nothing is committed.
            "group.id": "connect-dagster-reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": isolation,
        },
    )
