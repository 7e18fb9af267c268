"""Single records: the worker turns lists of them into tables, and tables into lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect_dagster.plugin.schema import Schema


@dataclass(frozen=True, slots=True)
class Header:
    """One record header (Java: ``ConnectHeader``).

    Attributes:
        key: its name.
        value: in Python's terms for the schema.
        schema: ``None`` for a value without one.
    """

    key: str
    value: Any
    schema: Schema | None = None


@dataclass(frozen=True, slots=True)
class TopicPartition:
    """A partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True)  # frozen, it would take three times as long to make
class SourceRecord:
    """A record on its way to Kafka (Java: ``SourceRecord``); not to be changed once ``poll`` has returned it.

    Attributes:
        source_partition: names the place the record comes from, such as ``{"filename": "/var/log/x"}``.
        source_offset: the place right after the record, from which a restart continues.
        topic: the topic to write to.
        value: the value, in Python's terms for ``value_schema``.
        value_schema: ``None`` for schemaless values (str, numbers, bool, None, list, dict).
        key, key_schema: the same for the key.
        partition: ``None`` leaves the choice to the partitioner (murmur2, as Java's).
        timestamp: epoch milliseconds; ``None`` for the time of sending.
    """

    source_partition: Mapping[str, Any]
    source_offset: Mapping[str, Any]
    topic: str
    value: Any
    value_schema: Schema | None = None
    key: Any = None
    key_schema: Schema | None = None
    partition: int | None = None
    headers: tuple[Header, ...] = ()
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class RecordMetadata:
    """The place of a record in Kafka (Java: ``RecordMetadata``).

    Attributes:
        topic: its topic, after transforms.
        partition: number of its partition.
        offset: its offset there.
        timestamp: epoch milliseconds as sent; ``None`` where the record had none, so that it got the time of sending.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int | None = None


@dataclass(frozen=True, slots=True)
class SinkRecord:
    """A record that arrived from Kafka (Java: ``SinkRecord``); timestamp in epoch milliseconds.

    Attributes:
        original_topic: where it was read, whatever transforms have made of its place (KIP-793); ``None`` where a
            record that a plugin made has only ``topic``.
        original_kafka_partition, original_kafka_offset: the same for partition and offset.
    """

    topic: str
    partition: int
    offset: int
    key: Any
    value: Any
    key_schema: Schema | None
    value_schema: Schema | None
    timestamp: int | None
    headers: tuple[Header, ...] = ()
    original_topic: str | None = None
    original_kafka_partition: int | None = None
    original_kafka_offset: int | None = None
