"""Columns of topics: from a schema registry with Confluent's API, or from the schema in a topic's newest record.

Only runs read records; sensors never do.
"""

import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import requests
from confluent_kafka import Message, TopicPartition
from dagster import TableSchema

from connect_dagster.client.access import Access
from connect_dagster.client.masking import mask_text
from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.orchestration.assets.columns import avro_columns, connect_columns, json_schema_columns
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition

_POLL_SECONDS = 0.2
# Some of a partition's last offsets may be transaction markers, which are not records.
_LAST_OFFSETS = 10
_COLUMNS_OF = {"AVRO": avro_columns, "JSON": json_schema_columns}


class SchemaRegistryError(Exception):
    """The registry is unreachable, or returned an error."""


def registered_columns(url: str, topic: str, timeout: float, access: Access | None = None) -> TableSchema | None:
    """Return the columns of the newest schema of a topic's values; None without a schema that has columns.

    Args:
        url: Address of the registry; may hold ``user:password@``.
        topic: The topic, whose subject is ``<topic>-value``.
        timeout: Bound for the request, in seconds.
        access: Token and certificates; none by default.

    Raises:
        SchemaRegistryError: The request fails, or the registry refuses it.
    """
    target = f"{url.rstrip('/')}/subjects/{quote(topic, safe='')}-value/versions/latest"
    try:
        response = (access or Access()).session(url).get(target, timeout=timeout)
        if response.status_code == 404:
            return None
        response.raise_for_status()
        answer: dict[str, Any] = response.json()
        schema = json.loads(answer["schema"])
    except (requests.RequestException, ConfigError, KeyError, ValueError) as error:
        message = mask_text(f"The schema registry {url} did not give the schema of topic '{topic}': {error}")
        raise SchemaRegistryError(message) from error
    columns_of = _COLUMNS_OF.get(answer.get("schemaType", "AVRO"))
    return columns_of(schema) if columns_of and isinstance(schema, dict) else None


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
