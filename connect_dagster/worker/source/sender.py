"""Sends the records of a batch, and finds those that Kafka rejects for a fault of the record.

A batch goes to librdkafka at once, a large one by columns. Where a delivery fails, the records from there on are sent
once more in groups, each acknowledged before the next, and a group that fails in halves: a fault is proven by a record
that was sent alone. The records of a topic keep their order; some are written twice, as after a restart.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.column_producer import LazyColumnProducer
from connect_dagster.kafka.delivery_errors import GIVEN_UP, Fault, fault_of
from connect_dagster.kafka.librdkafka_structs import has_epoch, suits_columns
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.worker.source.receipts import Places

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_RETRY_SECONDS = 1.0
_METADATA_SECONDS = 2.0
# A task with smaller batches needs no second client of Kafka.
_LEAST_FOR_COLUMNS = 500
_WARNING_SECONDS = 60.0
_GROUP = 500
_PRODUCER_EXTRAS: dict[str, object] = {
    "queue.buffering.max.messages": 1_000_000,
}

Record = Mapping[str, Any]
"""Arguments of ``Producer.produce``."""
_Numbered = tuple[int, Record]


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """A record that Kafka rejects whenever it is sent.

    Attributes:
        error: with the record's topic and size.
        record: as arguments of ``Producer.produce``.
    """

    error: ConnectError
    record: Record


Tolerate = Callable[[RejectedRecord], bool]
"""Called for each rejected record; returns whether to continue without it."""


@dataclass(slots=True)
class _Attempt:
    """The records that were given to the producers since the last flush.

    Attributes:
        table: all records.
        topic: of all of them, unless the table has a column for it.
        by_columns: whether the last record was given to the producer by columns.
        unqueued: by topic, number and error of the first record not taken, or not delivered where that is known.
        failed: topic, key and value of records that were not delivered, and the error; the first of each partition.
        unplaced: topics and partitions whose records have offsets that no broker has named.
        rejected: numbers of the records whose own fault is proven.
        final: the first error that is true for all records.
    """

    table: pa.Table = field(default_factory=lambda: pa.table({}))
    topic: str | None = None
    by_columns: bool = False
    unqueued: dict[str, tuple[int, KafkaError]] = field(default_factory=dict)
    failed: dict[tuple[str, int | None], tuple[bytes, bytes, KafkaError]] = field(default_factory=dict)
    unplaced: set[tuple[str | None, int | None]] = field(default_factory=set)
    rejected: set[int] = field(default_factory=set)
    final: ConnectError | None = None

    def not_queued(self, number: int, topic: str, error: KafkaError) -> None:
        """Note a record with a known number that a producer did not take or not deliver."""
        known = self.unqueued.get(topic)
        if known is None or number < known[0]:
            self.unqueued[topic] = (number, error)
        self._weigh(error, topic)

    def not_delivered(self, message: Message, error: KafkaError) -> None:
        """Note a record that librdkafka did not deliver."""
        place = (str(message.topic()), message.partition())
        self.failed.setdefault(place, (_bytes(message.key()), _bytes(message.value()), error))
        self._weigh(error, place[0])

    def _weigh(self, error: KafkaError, topic: str) -> None:
        if self.final is None and fault_of(error) is Fault.OTHER:
            self.final = _failure(error, f"records for topic {topic}")

    def error(self) -> tuple[str, KafkaError] | None:
        """Return a topic and an error of its records; ``None`` when all are delivered."""
        for topic, (_, error) in self.unqueued.items():
            return topic, error
        for (topic, _), (_, _, error) in self.failed.items():
            return topic, error
        return None

    def first_numbers(self, records: Iterator[Record]) -> dict[str, int]:
        """Return by topic the number of the first record that was not delivered, or of an equal one before it."""
        first = {topic: number for topic, (number, _) in self.unqueued.items()}
        wanted = {(topic, key, value) for (topic, _), (key, value, _) in self.failed.items()}
        topics = {topic for topic, _ in self.failed}
        for number, record in enumerate(records):
            topic = record["topic"]
            if topic in topics and (topic, _bytes(record.get("key")), _bytes(record.get("value"))) in wanted:
                first[topic] = min(number, first.get(topic, number))
                topics.remove(topic)
            if not topics:
                break
        return {**first, **dict.fromkeys(topics, 0)}


class RecordSender:
    """A producer of one task; :meth:`send` is for one thread.

    Args:
        settings: producer settings in Java's names.
        over: returns whether to give up; what it returns later does not count for the table that is sent.
        wait: waits for seconds; returns whether to continue.
        on_error: librdkafka's errors that are not of a record.
        places: whether the partitions and offsets of records are asked for.
        statistics: of its producers; ``None`` where nobody asks for them.
    """

    def __init__(
        self,
        settings: Settings,
        over: Callable[[], bool],
        wait: Callable[[float], bool],
        on_error: Callable[[KafkaError], None],
        *,
        places: bool = False,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._settings = settings
        self._asked_to_give_up = over
        self._has_given_up = False
        self._wait = wait
        self._on_error = on_error
        self._fatal: KafkaError | None = None
        # A callback for each record would cost more than sending it.
        self._extras = {**_PRODUCER_EXTRAS, "delivery.report.only.error": not places}
        self._on_delivered = self._rows_delivered if places else None
        self._statistics = statistics
        self._producer, self._columns = self._opened()
        self._places: Places | None = None
        self._attempt = _Attempt()
        self._warned_at = -_WARNING_SECONDS

    def _opened(self) -> tuple[Producer, LazyColumnProducer]:
        statistics = {} if self._statistics is None else self._statistics.callback()
        callbacks = {"on_delivery": self._delivery_failed, "error_cb": self._note_error, **statistics}
        return (
            clients.producer(self._settings, {**self._extras, **callbacks}),
            LazyColumnProducer(
                self._settings,
                self._extras,
                self._row_failed,
                self._note_error,
                self._on_delivered,
                self._statistics,
            ),
        )

    def _served(self, serve: Callable[[], int]) -> int:
        """Return what ``poll`` or ``flush`` returns, which raise a fatal error instead of calling back."""
        while True:
            try:
                return serve()
            except KafkaException as error:
                found: KafkaError = error.args[0]
                if not found.fatal():
                    raise
                self._note_error(found)

    def _note_error(self, error: KafkaError) -> None:
        if error.fatal():
            self._fatal = error
        self._on_error(error)

    def _go_without_idempotence(self) -> None:
        """Open producers that no broker can refuse for their sequence numbers, after a fatal error of the others."""
        log.warning(
            "Client %s goes on without idempotence, and so without the order of records where a broker refuses a "
            "request: %s",
            self._settings.get("client.id", ""),
            self._fatal,
        )
        self._settings, self._fatal = {**self._settings, "enable.idempotence": "false"}, None
        self._columns.close()
        self._producer, self._columns = self._opened()

    def send(self, table: pa.Table, topic: str | None, tolerate: Tolerate, places: Places | None = None) -> bool:
        """Send records; wait until the brokers have all but those that they reject.

        Args:
            table: columns ``value`` and perhaps ``key, topic, partition, headers, timestamp``.
            topic: of all of them, unless the table has a column for it.
            tolerate: called for each rejected record.
            places: receives partition and offset of each record that is delivered.

        Returns:
            ``False`` when it was given up.

        Raises:
            ConnectError: a record is rejected and not tolerated, or a delivery fails for another reason.
        """
        self._has_given_up = False
        self._flushed()  # another producer may not overtake the records of an attempt that was given up
        attempt = self._attempt = _Attempt(table, topic)
        self._places = places
        self._produce(table, topic, tolerate)
        if self._flushed() and attempt.error() is not None:
            self._columns.close()  # the next one looks again for topics that this one did not find
            log.info("Not all records were delivered, some are sent again: %s", attempt.error())
            if self._fatal is not None:
                self._go_without_idempotence()
            first = attempt.first_numbers(_records(table, topic))
            for group in _groups(_records(table, topic), first, attempt.rejected):
                self._send_again(group, tolerate)
        self._attempt = _Attempt()
        self._places = None
        return not self._over()

    def serve(self) -> None:
        """Call callbacks that are due."""
        self._served(lambda: self._producer.poll(0))
        if (columns := self._columns.opened) is not None:
            columns.serve()

    def purge(self, in_flight: bool = True) -> None:
        """Drop records that are not acknowledged, or only those that are not on their way to a broker."""
        self._producer.purge(in_flight=in_flight)
        if (columns := self._columns.opened) is not None:
            columns.purge(in_flight)

    def close(self) -> None:
        """Close what :meth:`purge` cannot; by the thread that sends."""
        self._columns.close()

    def _over(self) -> bool:
        """Return whether to give up, or whether it was so since the table came: records may have been left out."""
        self._has_given_up = self._has_given_up or self._asked_to_give_up()
        return self._has_given_up

    def _send_again(self, group: Sequence[_Numbered], tolerate: Tolerate) -> None:
        while (failure := self._try(group)) is not None and not self._over():
            topic, error = failure
            fault = fault_of(error)
            if fault is Fault.OTHER or (fault is Fault.PRODUCER and self._fatal is None):
                raise _failure(error, f"records for topic {topic}")
            if fault is Fault.MISSING_TOPIC and self._waited_for(topic):
                continue
            if fault is Fault.PRODUCER:
                self._go_without_idempotence()
                continue
            if len(group) > 1:
                middle = len(group) // 2
                self._send_again(group[:middle], tolerate)
                self._send_again(group[middle:], tolerate)
                return
            if fault is Fault.RECORD:
                _reject(error, group[0][1], tolerate)
                return
            self._warn(f"Partition {group[0][1].get('partition')} of topic '{topic}' does not exist")
            self._wait(_RETRY_SECONDS)

    def _try(self, group: Sequence[_Numbered]) -> tuple[str, KafkaError] | None:
        """Send records; return a topic and an error when not all of them are delivered."""
        attempt = self._attempt = _Attempt(self._attempt.table, self._attempt.topic)
        for number, record in group:
            if (error := self._produce_one(number, record)) is not None:
                attempt.not_queued(number, record["topic"], error)
                break
        self._flushed()
        if (failure := attempt.error()) is None or fault_of(failure[1]) is not Fault.MISSING_TOPIC:
            return failure
        topic, missing = failure
        told = self._metadata_error(topic)
        # librdkafka calls each topic unknown whose metadata has an error.
        return topic, missing if told is None or fault_of(told) is Fault.MISSING_TOPIC else told

    def _waited_for(self, topic: str) -> bool:
        """Wait while a topic does not exist; return ``False`` when it exists already."""
        waited = False
        while not self._over():
            told = self._metadata_error(topic)
            if told is None or fault_of(told) is not Fault.MISSING_TOPIC:
                break
            self._warn(f"Topic '{topic}' does not exist")
            waited = self._wait(_RETRY_SECONDS)
        return waited

    def _metadata_error(self, topic: str) -> KafkaError | None:
        """Return the brokers' error for a topic, ``None`` when it exists; the request has librdkafka look again."""
        try:
            error: KafkaError | None = self._producer.list_topics(topic, timeout=_METADATA_SECONDS).topics[topic].error
        except KafkaException:  # no broker responds
            return KafkaError(KafkaError._UNKNOWN_TOPIC)
        return error

    def _warn(self, reason: str) -> None:
        if time.monotonic() - self._warned_at >= _WARNING_SECONDS:
            self._warned_at = time.monotonic()
            log.warning("%s: its records wait, and are sent when it does", reason)

    def _flushed(self) -> bool:
        """Wait until each record is acknowledged or not delivered; return ``False`` when it was given up.

        Raises:
            ConnectError: the deliveries of all records would fail.
        """
        attempt = self._attempt
        while not self._over() and attempt.final is None and self._served(lambda: self._producer.flush(_POLL_SECONDS)):
            pass
        columns = self._columns.opened
        while columns and not self._over() and attempt.final is None and not columns.flush(_POLL_SECONDS):
            pass
        if attempt.final is not None:
            raise attempt.final
        return not self._over()

    def _produce(self, table: pa.Table, topic: str | None, tolerate: Tolerate) -> None:
        at_epoch = has_epoch(table)
        suits = (at_epoch or table.num_rows >= _LEAST_FOR_COLUMNS) and suits_columns(table)
        columns = self._columns.get(keeps_epoch=at_epoch) if suits else None
        if columns is not None and columns.knows(table, topic):
            for number, name, error in columns.produce(table, topic, self._over):
                self._not_taken(number, next(_records(table.slice(number, 1), name)), error, tolerate)
            return
        if table.schema.names == ["value"] and topic is not None and self._places is None:
            self._produce_values(table, topic, tolerate)
            return
        for number, record in enumerate(_records(table, topic)):
            self._produce_first(number, record, tolerate)

    def _produce_values(self, table: pa.Table, topic: str, tolerate: Tolerate) -> None:
        produce, number = self._producer.produce, 0
        for chunk in table.to_batches():
            for value in chunk.column(0).to_numpy(zero_copy_only=False):
                try:
                    produce(topic, value)
                except (BufferError, KafkaException):
                    self._produce_first(number, {"topic": topic, "value": value}, tolerate)
                number += 1

    def _produce_first(self, number: int, record: Record, tolerate: Tolerate) -> None:
        if (error := self._produce_one(number, record)) is not None:
            self._not_taken(number, record, error, tolerate)

    def _not_taken(self, number: int, record: Record, error: KafkaError, tolerate: Tolerate) -> None:
        """Note a record of the whole batch that was not queued; an error of the record alone is proven."""
        if fault_of(error) is Fault.RECORD:
            self._attempt.rejected.add(number)
            _reject(error, record, tolerate)
        else:
            self._attempt.not_queued(number, record["topic"], error)

    def _produce_one(self, number: int, record: Record) -> KafkaError | None:
        """Give a record to a producer; return the error of one that it does not take."""
        by_columns = record.get("timestamp") == 0
        if by_columns != self._attempt.by_columns:
            self._flushed()  # the records of both producers keep their order
            self._attempt.by_columns = by_columns
        if by_columns:
            return self._produce_row(number, record)
        while not self._over():
            try:
                if self._places is None:
                    self._producer.produce(**record)
                else:
                    self._producer.produce(**record, on_delivery=partial(self._reported, number))
                return None
            except BufferError:  # the queue is full: the brokers are slower than we are
                self._served(lambda: self._producer.poll(0.01))
            except KafkaException as error:
                found: KafkaError = error.args[0]
                return found
        return None

    def _produce_row(self, number: int, record: Record) -> KafkaError | None:
        """Queue one record with timestamp 0; as :meth:`_produce_one`."""
        row, topic = self._attempt.table.slice(number, 1), record["topic"]
        columns = self._columns.get(keeps_epoch=True) if suits_columns(row) else None
        if columns is None:
            obstacle = self._columns.obstacle or "its columns have other types than librdkafka takes"
            raise ConnectError(f"A record for topic {topic} with timestamp 0 cannot be written: {obstacle}")
        if not columns.knows(row, topic):
            return KafkaError(KafkaError.TOPIC_EXCEPTION, f"Topic '{topic}' has no valid name")
        for _, _, error in columns.produce(row, topic, self._over, number):
            return error
        return None

    def _row_failed(self, number: int, topic: str, error: KafkaError) -> None:
        if (found := self._error_of(error)) is not None:
            self._attempt.not_queued(number, topic, found)

    def _rows_delivered(self, number: int, count: int, partition: int, offset: int) -> None:
        if self._places is not None:
            self._places.note(number, count, partition, offset)

    def _reported(self, number: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._row_failed(number, str(message.topic()), error)
            return
        place, offset = (message.topic(), message.partition()), message.offset()
        # With acks=0, and for records that the broker had before, librdkafka counts up from a negative offset.
        if offset is None or place in self._attempt.unplaced:
            self._attempt.unplaced.add(place)
        else:
            self._rows_delivered(number, 1, place[1] or 0, offset)

    def _delivery_failed(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and (found := self._error_of(error)) is not None:
            self._attempt.not_delivered(message, found)

    def _error_of(self, error: KafkaError) -> KafkaError | None:
        """Return the error of a record that was not delivered; ``None`` of one that this process has dropped."""
        if error.code() not in GIVEN_UP:
            return error
        return None if self._fatal is None else KafkaError(KafkaError._FATAL, self._fatal.str())


def _groups(records: Iterator[Record], first: Mapping[str, int], rejected: set[int]) -> Iterator[Sequence[_Numbered]]:
    """Yield the records to send once more, in their order, with their numbers."""
    group: list[_Numbered] = []
    for number, record in enumerate(records):
        if number >= first.get(record["topic"], number + 1) and number not in rejected:
            group.append((number, record))
        if len(group) == _GROUP:
            yield group
            group = []
    if group:
        yield group


def _records(table: pa.Table, topic: str | None) -> Iterator[dict[str, Any]]:
    for chunk in table.to_batches():
        yield from _arguments(chunk, topic)


def _arguments(chunk: pa.RecordBatch, topic: str | None) -> Iterator[dict[str, Any]]:
    """Yield the arguments of ``Producer.produce`` for each record, without those that are null."""
    columns = {name: chunk.column(name).to_pylist() for name in chunk.schema.names}
    if "headers" in columns:
        columns["headers"] = [[(h["key"], h["value"]) for h in row] if row else None for row in columns["headers"]]
    constant = {"topic": topic} if topic is not None else {}
    for row in zip(*columns.values(), strict=True):
        yield constant | {name: value for name, value in zip(columns, row, strict=True) if value is not None}


def _reject(error: KafkaError, record: Record, tolerate: Tolerate) -> None:
    size = len(record.get("value") or b"")
    failure = _failure(error, f"a record for topic {record['topic']} with a value of {size} bytes")
    if not tolerate(RejectedRecord(failure, record)):
        raise failure


def _failure(error: KafkaError, what: str) -> ConnectError:
    return ConnectError(f"Unrecoverable exception from producer send callback: {error.str()}: {what}")


def _bytes(content: str | bytes | None) -> bytes:
    return content.encode() if isinstance(content, str) else content or b""
