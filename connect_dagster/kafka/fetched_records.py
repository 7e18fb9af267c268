"""Records that a consumer fetches of partitions that are watched, in the columns of Spark's Kafka source.

A task that has read all sleeps until its consumer has fetched: it takes few records as they are, and has Spark read
many from its positions (docs/decisions/0031-few-records-need-no-job.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import Consumer, KafkaError, KafkaException, Message
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

FEW_RECORDS = 500
"""Up to this many records are taken as the consumer has fetched them; Spark reads more of them sooner."""
FEW_BYTES = 1 << 20
"""Bytes of their values at most, as the worker's process holds them."""

WATCHING: Mapping[str, object] = {
    # An offset that is not in the log has to wake the task, which applies the policy.
    "auto.offset.reset": "error",
    "check.crcs": True,
    "enable.auto.offset.store": False,
    "queued.min.messages": 1000,
    "queued.max.messages.kbytes": 64,
    "fetch.queue.backoff.ms": 10,
    "max.partition.fetch.bytes": 64 << 10,
    "fetch.max.bytes": 1 << 20,
}
"""librdkafka's settings of a consumer for this: it fetches little, and without a pause."""

SKIPPED = frozenset({KafkaError._BAD_MSG, KafkaError._BAD_COMPRESSION, KafkaError._NOT_IMPLEMENTED})
"""Codes of errors after which librdkafka goes on behind records that it cannot read; Java's client does not."""

# A few records that are there come within milliseconds.
_TOGETHER_SECONDS = 0.3

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
# Spark's timestamps end in the year 294,247; a client that counts in another unit writes later ones.
_LAST_MILLIS = (2**63 - 1) // _MICROSECONDS
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
    micros = (_NO_TIMESTAMP if java_kind < 0 else min(millis, _LAST_MILLIS)) * _MICROSECONDS
    place = (message.topic(), message.partition(), message.offset())
    row = (message.key(), message.value(), *place, micros, java_kind)
    return (*row, _headers(message)) if headers else row


def _headers(message: Any) -> list[dict[str, Any]] | None:
    found = message.headers()
    return [{"key": key, "value": value} for key, value in found] if found else None


class RecordWatch:
    """Keeps the records that a consumer fetches, until they are taken or become many.

    Args:
        consumer: has the partitions, paused.
        fetch: serves one event of the consumer, for which it waits some seconds at most, gives a record to
            :meth:`keep`, and returns whether it was one.
        headers: whether records have headers.
    """

    def __init__(self, consumer: Consumer, fetch: Callable[[float], bool], *, headers: bool) -> None:
        self._consumer = consumer
        self._fetch = fetch
        self._headers = headers
        self._fetched: list[Message] = []
        self._fetched_bytes = 0
        self._awaited: dict[TopicPartition, int] = {}
        self._awaited_until = 0.0
        self._must_be_read = False  # from the positions: more has come, or a log no longer has the offset

    def poll(self, seconds: float) -> bool:
        """Wait for an event; return whether there is a record to take, or something to read from the positions."""
        self._fetch(0 if self._fetched else seconds)
        while self._awaited and self._fetch(0):
            pass
        if self._awaited and self._fetched and time.monotonic() > self._awaited_until:
            self.read_instead()
        return self._must_be_read or (bool(self._fetched) and not self._awaited)

    def take(self, most_records: int) -> FetchedRecords | None:
        """Return the records that were fetched since :meth:`watch` or the last call, and that have arrived by now.

        Returns:
            ``None`` where a log no longer has the offset, or more records are waiting than these: then the records
            fetched so far are dropped, and the partitions must be read from their positions.
        """
        while not self._must_be_read and len(self._fetched) <= most_records and self._fetch(0):
            pass
        messages, self._fetched, self._fetched_bytes = self._fetched, [], 0
        if self._must_be_read or not 0 < len(messages) <= most_records:
            return None
        try:
            records = FetchedRecords.of(messages, headers=self._headers)
        except UnicodeDecodeError:  # Java reads such keys of headers
            return None
        waiting = sum(self._waiting(partition, end) for partition, end in records.end.items())
        return records if waiting <= most_records else None

    def _waiting(self, partition: TopicPartition, offset: int) -> int:
        """Return the number of offsets from this one on, as the last fetch has reported the end of the log."""
        _, end = self._consumer.get_watermark_offsets(KafkaPartition(partition.topic, partition.partition), cached=True)
        return max(0, end - offset)

    def keep(self, message: Message) -> None:
        """Keep a record, or none where they become many while the task is busy."""
        self._fetched.append(message)
        self._fetched_bytes += len(message)
        if self._awaited:
            partition = TopicPartition(message.topic() or "", message.partition() or 0)
            if (message.offset() or 0) + 1 >= self._awaited.get(partition, 0):
                self._awaited.pop(partition, None)
        if len(self._fetched) > FEW_RECORDS or self._fetched_bytes > FEW_BYTES:
            self.read_instead()

    def read_instead(self) -> None:
        """Drop what was fetched: the partitions must be read from their positions."""
        self._drop()
        self._must_be_read = True

    def watch(self, offsets: Mapping[TopicPartition, int], until: Mapping[TopicPartition, int] | None = None) -> bool:
        """Fetch the records from these offsets on; return whether that is possible now.

        Args:
            offsets: the first one of each partition.
            until: ends of partitions: what is before them is waited for, so that it becomes one batch. Where it does
                not come, as before the end of a transaction, the partitions must be read.
        """
        self._drop()
        self._awaited, self._awaited_until = dict(until or {}), time.monotonic() + _TOGETHER_SECONDS
        wanted = [KafkaPartition(one.topic, one.partition, offset) for one, offset in offsets.items()]
        try:
            self._consumer.resume(wanted)
            # Last: it drops what was fetched from another offset, and wakes the client's thread, which resume does not.
            for partition in wanted:
                self._consumer.seek(partition)
        except KafkaException as error:
            log.debug("The consumer cannot watch partitions now: %s", error.args[0].str())
            self.unwatch(offsets)
            return False
        return True

    def unwatch(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching, and drop the records that were not taken."""
        self._drop()
        self._consumer.pause([KafkaPartition(partition.topic, partition.partition) for partition in partitions])

    def _drop(self) -> None:
        self._fetched, self._fetched_bytes, self._must_be_read = [], 0, False
        self._awaited = {}
