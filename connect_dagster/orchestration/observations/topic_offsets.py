"""First and end offsets of topics, read with admin requests, and the lag computed from them.

No consumer: a sensor that polls one could block the daemon for everybody.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ListOffsetsResultInfo, OffsetSpec  # type: ignore[attr-defined]

from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Bounds:
    """First offset of a partition, and the offset of its next record."""

    start: int
    end: int


def fetch_topic_bounds(bootstrap_servers: Bootstrap, topics: Iterable[str], timeout: float) -> dict[Partition, Bounds]:
    """Return the bounds of every partition of those of ``topics`` that exist.

    Args:
        bootstrap_servers: Kafka brokers, host:port, separated by commas; or with settings of clients.
        topics: Names of topics.
        timeout: Bound for each of the three requests, in seconds.

    Raises:
        KafkaException: The brokers did not respond in time.
        ConnectError: They refuse the login, or a setting of the client is wrong.
    """
    admin = clients.quiet_admin(client_settings(bootstrap_servers))
    partitions = _partitions(admin, topics, timeout)
    starts = _places(admin, partitions, OffsetSpec.earliest(), timeout)  # type: ignore[no-untyped-call]
    ends = _places(admin, partitions, OffsetSpec.latest(), timeout)  # type: ignore[no-untyped-call]
    return {partition: Bounds(starts[partition].offset, ends[partition].offset) for partition in partitions}


def fetch_newest_times(bootstrap_servers: Bootstrap, topics: Iterable[str], timeout: float) -> dict[Partition, float]:
    """Return the largest timestamp in each partition of ``topics`` that has records, in epoch seconds.

    Args:
        bootstrap_servers: As of :func:`fetch_topic_bounds`.
        topics: Names of topics.
        timeout: Bound for each of the two requests, in seconds.

    Raises:
        KafkaException: The brokers did not respond in time, or are older than 3.0 (KIP-734).
        ConnectError: As of :func:`fetch_topic_bounds`.
    """
    admin = clients.quiet_admin(client_settings(bootstrap_servers))
    newest = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]
    places = _places(admin, _partitions(admin, topics, timeout), newest, timeout)
    return {partition: place.timestamp / 1000 for partition, place in places.items() if place.timestamp >= 0}


def fetch_topic_names(bootstrap_servers: Bootstrap, timeout: float) -> list[str]:
    """Return the names of all topics. Raises as :func:`fetch_topic_bounds`."""
    admin = clients.quiet_admin(client_settings(bootstrap_servers))
    return sorted(admin.list_topics(timeout=timeout).topics)


def _partitions(admin: AdminClient, topics: Iterable[str], timeout: float) -> list[Partition]:
    known = admin.list_topics(timeout=timeout).topics
    return [(topic, number) for topic in topics if topic in known for number in known[topic].partitions]


def _places(
    admin: AdminClient, partitions: list[Partition], spec: OffsetSpec, timeout: float
) -> dict[Partition, ListOffsetsResultInfo]:
    if not partitions:
        return {}
    requested = {TopicPartition(*partition): spec for partition in partitions}
    answers = admin.list_offsets(requested, request_timeout=timeout)
    try:
        # A second more than the clients themselves take.
        return {(asked.topic, asked.partition): answer.result(timeout + 1) for asked, answer in answers.items()}
    except TimeoutError as error:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from error


def lags(bounds: Mapping[Partition, Bounds], committed: Mapping[Partition, int]) -> list[int]:
    """Return the records between committed offset and end of each partition; without a commit, from its start."""
    return [edge.end - committed.get(partition, edge.start) for partition, edge in bounds.items()]


def lag(bounds: Mapping[Partition, Bounds], committed: Mapping[Partition, int]) -> int:
    """Return the lag of all partitions together."""
    return sum(lags(bounds, committed))


def fetch_committed(
    bootstrap_servers: Bootstrap, group: str, partitions: Iterable[Partition], timeout: float
) -> dict[Partition, int]:
    """Return the committed offsets of a consumer group, of those of ``partitions`` that have one.

    Asked by a consumer that never joins the group: the admin client's request for this kills the process
    (librdkafka 2.16) when the broker does not know the group's coordinator yet, as in its first seconds.

    Raises:
        KafkaException: The brokers did not respond within ``timeout`` seconds.
    """
    consumer = clients.consumer(client_settings(bootstrap_servers), {"group.id": group, "log_level": 0})
    try:
        found = consumer.committed([TopicPartition(*partition) for partition in partitions], timeout=timeout)
    finally:
        consumer.close()
    return {(one.topic, one.partition): one.offset for one in found if one.offset >= 0}
