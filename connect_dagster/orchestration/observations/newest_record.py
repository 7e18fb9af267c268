"""Columns in the schema of a topic's newest record. Only runs read records; sensors never do."""

import json
import time
from collections.abc import Mapping

from confluent_kafka import Message, TopicPartition
from dagster import TableSchema

from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.orchestration.assets.column_schema import connect_columns
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition

_POLL_SECONDS = 0.2
# Some of a partition's last offsets may be transaction markers, which are not records.
_LAST_OFFSETS = 10


def columns_of_newest_record(
    bootstrap_servers: Bootstrap, topic: str, bounds: Mapping[Partition, Bounds], timeout: float
) -> TableSchema | None:
    """Return the columns in the schema of a topic's newest JSON record (``schemas.enable``); None without one.

    Args:
        bootstrap_servers: Kafka brokers, host:port, separated by commas.
        topic: The topic.
        bounds: Bounds of its partitions, which may be among others.
        timeout: Bound for the reading, in seconds.

    Raises:
        KafkaException: The brokers refuse.
    """
    last = [
        TopicPartition(name, number, max(edge.start, edge.end - _LAST_OFFSETS))
        for (name, number), edge in bounds.items()
        if name == topic and edge.end > edge.start
    ]
    records = _read(bootstrap_servers, last, timeout) if last else []
    for record in sorted(records, key=lambda record: record.timestamp()[1], reverse=True):
        if columns := _columns(record.value()):
            return columns
    return None


def _read(bootstrap_servers: Bootstrap, places: list[TopicPartition], timeout: float) -> list[Message]:
    """Return the last record of each partition that arrives in time; joins no group, so nothing is committed."""
    consumer = clients.consumer(
        client_settings(bootstrap_servers),
        {
            "group.id": "connect-dagster-columns",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "log_level": 0,
        },
    )
    deadline = time.monotonic() + timeout
    last: dict[int | None, Message] = {}
    unread = {place.partition for place in places}
    try:
        consumer.assign(places)
        while unread and time.monotonic() < deadline:
            message = consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            if message.error() is None:
                last[message.partition()] = message
            else:
                unread.discard(message.partition() or 0)
    finally:
        consumer.close()
    return list(last.values())


def _columns(value: bytes | None) -> TableSchema | None:
    try:
        document = json.loads(value or b"")
    except ValueError:
        return None
    schema = document.get("schema") if isinstance(document, dict) else None
    return connect_columns(schema) if isinstance(schema, dict) else None
