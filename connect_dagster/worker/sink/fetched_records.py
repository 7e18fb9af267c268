"""Records that the group member's consumer has fetched, in the columns of Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from connect_dagster.plugin.records import TopicPartition

FEW_RECORDS = 500
"""Up to this many records are put as the consumer has fetched them; Spark reads more of them sooner."""
FEW_BYTES = 1 << 20
"""Bytes of their values at most, as the worker's process holds them."""

_COLUMNS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", "UTC")),
        ("timestampType", pa.int32()),
    ]
)
_HEADERS = pa.field("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())])))
_MICROSECONDS = 1000
# librdkafka counts the types from "not available", Java from "create time".
_JAVA_TIMESTAMP_TYPE = -1
_NO_TIMESTAMP = -1


@dataclass(frozen=True, slots=True)
class FetchedRecords:
    """Records of one or more partitions, those of a partition in order.

    Attributes:
        rows: in the columns of Spark's Kafka source.
        start: offset of the first record of each partition.
        end: offset after the last record of each partition.
    """

    rows: pa.Table
    start: dict[TopicPartition, int]
    end: dict[TopicPartition, int]

    @classmethod
    def of(cls, messages: Sequence[Any], *, headers: bool) -> FetchedRecords:
        """Return messages of the client (``confluent_kafka.Message``).

        Args:
            messages: without errors.
            headers: whether to read headers.

        Raises:
            UnicodeDecodeError: the key of a header is not text.
        """
        start: dict[TopicPartition, int] = {}
        end: dict[TopicPartition, int] = {}
        for message in messages:
            partition = TopicPartition(message.topic(), message.partition())
            start.setdefault(partition, message.offset())
            end[partition] = message.offset() + 1
        schema = _COLUMNS.append(_HEADERS) if headers else _COLUMNS
        columns = zip(*(_row(message, headers=headers) for message in messages), strict=True)
        rows = pa.Table.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
        )
        return cls(rows, start, end)


def _row(message: Any, *, headers: bool) -> tuple[Any, ...]:
    kind, millis = message.timestamp()
    java_kind = kind + _JAVA_TIMESTAMP_TYPE
    micros = (_NO_TIMESTAMP if java_kind < 0 else millis) * _MICROSECONDS
    place = (message.topic(), message.partition(), message.offset())
    row = (message.key(), message.value(), *place, micros, java_kind)
    return (*row, _headers(message)) if headers else row


def _headers(message: Any) -> list[dict[str, Any]] | None:
    found = message.headers()
    return [{"key": key, "value": value} for key, value in found] if found else None
