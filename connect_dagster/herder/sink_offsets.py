"""Offsets of sink connectors as users write them (KIP-875; Java: ``SinkUtils.parseSinkConnectorOffsets``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from connect_dagster.errors import BadRequestError, java_text
from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.plugin.records import TopicPartition

TOPIC, PARTITION, OFFSET = "kafka_topic", "kafka_partition", "kafka_offset"
_INTEGER = re.compile(r"[+-]?\d+")


def shown(place: TopicPartition, offset: int) -> ConnectorOffset:
    """An offset as users read it."""
    return ConnectorOffset({PARTITION: place.partition, TOPIC: place.topic}, {OFFSET: offset})


def parse_sink_offsets(offsets: Iterable[ConnectorOffset]) -> dict[TopicPartition, int | None]:
    """Offsets by topic partition, ``None`` for those to be reset.

    Raises:
        BadRequestError: one is none, in Java's words.
    """
    return {_place(one.partition): _offset(one.offset) for one in offsets}


def _place(partition: Mapping[str, Any] | None) -> TopicPartition:
    if partition is None:
        raise BadRequestError("The partition for a sink connector offset cannot be null or missing")
    if TOPIC not in partition or PARTITION not in partition:
        raise BadRequestError(
            f"The partition for a sink connector offset must contain the keys '{TOPIC}' and '{PARTITION}'"
        )
    if partition[TOPIC] is None:
        raise BadRequestError("Kafka topic names must be valid strings and may not be null")
    if partition[PARTITION] is None:
        raise BadRequestError("Kafka partitions must be valid numbers and may not be null")
    return TopicPartition(java_text(partition[TOPIC]), _integer("partition", "Partition", partition[PARTITION], 32))


def _offset(offset: Mapping[str, Any] | None) -> int | None:
    if offset is None:
        return None
    if OFFSET not in offset:
        raise BadRequestError(f"The offset for a sink connector should either be null or contain the key '{OFFSET}'")
    return _integer("offset", "Offset", offset[OFFSET], 64)


def _integer(word: str, capital: str, value: Any, bits: int) -> int:
    """A number, or the text of one."""
    text, limit = java_text(value), 1 << (bits - 1)
    if _INTEGER.fullmatch(text) and -limit <= int(text) < limit:
        return int(text)
    raise BadRequestError(
        f"Failed to parse the following Kafka {word} value in the provided offsets: '{text}'. {capital} values for "
        "sink connectors need to be integers."
    )
