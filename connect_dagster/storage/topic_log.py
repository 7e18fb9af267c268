"""A topic as a shared log: every worker reads all of it, and writes to its end (Java: ``KafkaBasedLog``).

Two threads: one reads records and passes each to a callback, one serves the producer's callbacks. Both block in
librdkafka until an event. The log waits for brokers that are away, and for a topic that a user deleted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import TopicAdmin

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

Headers = Sequence[tuple[str, bytes]]
OnRecord = Callable[[bytes | None, bytes | None, int, int, int, Headers], None]
"""Takes key, value (``None`` is a tombstone), partition, offset, timestamp in epoch milliseconds, and headers."""
Callback = Callable[[KafkaError | None, Message], None]
"""Takes the error, or ``None`` when the brokers have the record, and the record."""
Entry = tuple[bytes, bytes | None]
"""Key and value; the value ``None`` is a tombstone."""

READ_COMMITTED = "read_committed"
_START_SECONDS = 15 * 60.0
_METADATA_SECONDS = 30.0
_REQUEST_SECONDS = 10.0
_RETRY_SECONDS = 0.1
_POLL_SECONDS = 0.25
_BATCH = 1000
_STOP_SECONDS = 5.0
# Without a record for so long, a log looks whether it is behind.
_QUIET_SECONDS = 10.0
_GLANCE_SECONDS = 1.0


class NotPermittedError(ConnectError):
    """This worker may not write now: it has lost its place in the group, and another may have taken its work over."""


def always() -> bool:
    """Permit every write."""
    return True


class SharedLog(Protocol):
    """A log as the stores use it; :class:`TopicLog` documents the methods."""

    @property
    def partitions(self) -> list[int]: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def send(
        self, key: bytes, value: bytes | None, callback: Callback | None = None, headers: Headers = ()
    ) -> None: ...
    def write(self, entries: Sequence[Entry], timeout: float) -> None: ...
    def append(self, entries: Sequence[Entry], timeout: float) -> None: ...
    def flush(self, timeout: float) -> bool: ...
    def read_to_end(self, timeout: float) -> None: ...


OpenLog = Callable[[str, Settings, TopicAdmin, OnRecord, Callable[[], bool]], SharedLog]
"""Makes a log of a topic, as the constructor of :class:`TopicLog` does."""


class TopicLog:
    """All partitions of one topic, from the beginning to the end and on.

    Args:
        topic: the topic; it must exist.
        settings: settings of a worker's own clients in Java's names, ``bootstrap.servers`` and ``client.id`` included.
        admin: finds the ends of partitions.
        on_record: called for each record, in the order of its partition, always by the same thread of the log.
        permitted: whether this worker may write now; called for each record.
    """

    def __init__(
        self,
        topic: str,
        settings: Settings,
        admin: TopicAdmin,
        on_record: OnRecord,
        permitted: Callable[[], bool] = always,
    ) -> None:
        self.topic = topic
        self._settings = settings
        self._admin = admin
        self._on_record = on_record
        self._permitted = permitted
        self._positions: dict[int, int] = {}
        self._behind: dict[int, int] | None = None
        self._moved = threading.Condition()
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._consumer: Consumer | None = None
        self._producer: Producer | None = None

    @property
    def partitions(self) -> list[int]:
        """Return the numbers of the partitions that are read; fixed by :meth:`start`."""
        return sorted(self._positions)

    def start(self, timeout: float = _START_SECONDS) -> None:
        """Read up to the current end of the topic, and continue to read in the background.

        Args:
            timeout: seconds.

        Raises:
            ConnectError: the topic cannot be found or read in time.
        """
        log.info("Starting log of topic %s", self.topic)
        deadline = time.monotonic() + timeout
        try:
            numbers = self._find_partitions(min(deadline, time.monotonic() + _METADATA_SECONDS))
            begins = self._retried(
                lambda seconds: self._admin.beginning_offsets(self.topic, numbers, seconds), deadline
            )
            self._positions = dict(begins)
            self._producer = clients.producer(self._writing(), _PRODUCER)
            self._consumer = self._open_consumer()
            for work in (self._read_on, self._serve_producer):
                thread = threading.Thread(target=work, name=f"{work.__name__.strip('_')}-{self.topic}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self.read_to_end(deadline - time.monotonic())
        except TimeoutError as error:
            self.stop()
            raise ConnectError(f"Could not read topic '{self.topic}' within {timeout:.0f} s: {error}") from error
        except BaseException:
            self.stop()
            raise
        log.info("Finished reading the log of topic %s", self.topic)

    def stop(self) -> None:
        """Send queued records, as far as the brokers accept them at once, and end, within ten seconds in all."""
        self._stopping.set()
        with self._moved:
            self._moved.notify_all()
        if self._producer is not None:
            self._producer.flush(_STOP_SECONDS)
            self._producer.purge()
        if self._ended(_STOP_SECONDS):
            self._threads.clear()
            if self._consumer is not None:
                self._consumer.close()
                self._consumer = None
            log.info("Stopped log of topic %s", self.topic)
        else:  # a client may not be closed while a thread uses it
            log.error("The log of topic %s did not end within %.0f s, its threads are left", self.topic, _STOP_SECONDS)

    def _ended(self, seconds: float) -> bool:
        """Wait for the threads; return whether they have ended."""
        deadline = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def send(self, key: bytes, value: bytes | None, callback: Callback | None = None, headers: Headers = ()) -> None:
        """Write a record, without waiting.

        Args:
            key: its key, which chooses the partition as Java's default partitioner does.
            value: its value, ``None`` for a tombstone.
            callback: called once, on a thread of the log, when the brokers have the record or never will.
            headers: its headers, which Java's workers do not read.

        Raises:
            NotPermittedError: this worker may not write now.
            ConnectError: the queue is full, or the record is too large.
        """
        if not self._permitted():
            raise NotPermittedError(f"This worker may not write to topic '{self.topic}' now: it is not in the group")
        assert self._producer is not None, "the log was not started"
        try:
            self._producer.produce(self.topic, value, key, on_delivery=callback, headers=list(headers))
        except (KafkaException, BufferError) as error:
            raise ConnectError(f"Could not write to topic '{self.topic}': {error}") from error

    def write(self, entries: Sequence[Entry], timeout: float) -> None:
        """Write records and wait until the brokers have them and this log has read them.

        Args:
            entries: keys and values, in their order.
            timeout: seconds for all of it.

        Raises:
            NotPermittedError: this worker may not write now.
            ConnectError: the brokers refused one.
            TimeoutError: they did not respond in time; the records may still be written.
        """
        deadline = time.monotonic() + timeout
        receipts = _Receipts(len(entries))
        for key, value in entries:
            self.send(key, value, receipts.take)
        self._await(receipts.ends(deadline - time.monotonic(), self.topic), deadline)

    def append(self, entries: Sequence[Entry], timeout: float) -> None:
        """Write records as :meth:`write`, without waiting until this log has read them."""
        receipts = _Receipts(len(entries))
        for key, value in entries:
            self.send(key, value, receipts.take)
        receipts.ends(timeout, self.topic)

    def flush(self, timeout: float) -> bool:
        """Wait until the brokers have acknowledged all records; return whether they did in time."""
        return self._producer is None or not self._producer.flush(timeout)

    def read_to_end(self, timeout: float) -> None:
        """Wait until all records that are in the topic now have been passed to the callback.

        Args:
            timeout: seconds.

        Raises:
            TimeoutError: the brokers are away, or there is too much to read.
            ConnectError: the brokers refuse to return the end offsets.
        """
        deadline = time.monotonic() + timeout
        ends = self._retried(self._ends, deadline)
        self._await(ends, deadline)

    def _ends(self, seconds: float) -> dict[int, int]:
        """Return the offsets up to which the reader can read now."""
        # A committed reader stays before an open transaction, whose end is not the end of the partition.
        committed = self._reading()["isolation.level"] == READ_COMMITTED
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        return self._admin.end_offsets(self.topic, self.partitions, seconds, isolation)

    def _find_partitions(self, deadline: float) -> list[int]:
        def find(seconds: float) -> list[int]:
            found = self._admin.partitions(self.topic, seconds)
            if not found:
                raise RetriableError(
                    f"Could not look up partition metadata for topic '{self.topic}' in the allotted period. This could "
                    "indicate a connectivity issue, unavailable topic partitions, or if this is your first use of the "
                    "topic it may have taken too long to create."
                )
            return found

        try:
            return self._retried(find, deadline)
        except TimeoutError as error:
            raise ConnectError(str(error)) from error

    def _retried(self, ask: Callable[[float], Answer], deadline: float) -> Answer:
        """Send a request until the brokers respond; ``ask`` takes the seconds for one attempt."""
        while True:
            remaining = deadline - time.monotonic()
            try:
                return ask(max(0.1, min(_REQUEST_SECONDS, remaining)))
            except RetriableError as error:
                if remaining <= _RETRY_SECONDS or self._stopping.wait(_RETRY_SECONDS):
                    raise TimeoutError(str(error)) from error
                log.info("Will retry: %s", error)

    def _await(self, ends: dict[int, int], deadline: float) -> None:
        """Wait until each partition was read up to its end."""

        def reached() -> bool:
            return self._stopping.is_set() or all(self._positions[number] >= end for number, end in ends.items())

        with self._moved:
            if not self._moved.wait_for(reached, deadline - time.monotonic()) or self._stopping.is_set():
                behind = {number: end for number, end in ends.items() if self._positions[number] < end}
                raise TimeoutError(f"Topic '{self.topic}' was not read up to offsets {behind} in time")

    # The reading thread

    def _open_consumer(self) -> Consumer:
        consumer = clients.consumer(self._reading(), _CONSUMER)
        consumer.assign([TopicPartition(self.topic, number, offset) for number, offset in self._positions.items()])
        return consumer

    def _read_on(self) -> None:
        assert self._consumer is not None
        quiet_since = time.monotonic()
        while not self._stopping.is_set():
            try:
                # consume() waits for a whole batch or the time to pass, poll() for the first record alone.
                first = self._consumer.poll(_POLL_SECONDS)
                if first is not None:
                    self._take([first, *self._consumer.consume(_BATCH, 0)])
                elif time.monotonic() - quiet_since < _QUIET_SECONDS:
                    continue
                elif self._is_stuck():
                    log.warning("The log of topic %s is behind and reads nothing: opening a new consumer", self.topic)
                    stuck, self._consumer = self._consumer, self._open_consumer()
                    stuck.close()
                    self._behind = None  # the new one has as long as the one before
                quiet_since = time.monotonic()
            except Exception:
                log.exception("Unexpected exception while reading topic %s", self.topic)
                self._stopping.wait(_RETRY_SECONDS)

    def _is_stuck(self) -> bool:
        """Return whether the position has stayed behind the end since the last call.

        librdkafka 2.16 asks no broker any more after one that has just been fenced told it of none
        (confluentinc/librdkafka#5301); it happens when brokers restart.
        """
        try:
            ends = self._ends(_GLANCE_SECONDS)
        except ConnectError:
            return False
        before, self._behind = self._behind, None
        if any(self._positions[number] < end for number, end in ends.items()):
            self._behind = dict(self._positions)
        return self._behind is not None and self._behind == before

    def _take(self, messages: Sequence[Message]) -> None:
        moved: dict[int, int] = {}
        for message in messages:
            error, number, offset = message.error(), message.partition(), message.offset()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                client_logger().warning("Error while reading topic %s: %s", self.topic, error.str())
            elif number is not None and offset is not None:
                if error is None:
                    self._hand_on(message, number, offset)
                # A partition's end also counts the markers of transactions, which are not records.
                moved[number] = offset if error is not None else offset + 1
        with self._moved:
            self._positions.update(moved)
            self._moved.notify_all()

    def _hand_on(self, message: Message, number: int, offset: int) -> None:
        try:
            key, value, timestamp = _bytes(message.key()), _bytes(message.value()), message.timestamp()[1]
            self._on_record(key, value, number, offset, timestamp, _headers(message))
        except Exception:
            log.exception("Leaving out the record of topic %s in partition %d at offset %d", self.topic, number, offset)

    # The producer's thread

    def _serve_producer(self) -> None:
        assert self._producer is not None
        while not self._stopping.is_set():
            self._producer.poll(_POLL_SECONDS)
            if len(self._producer) and not self._permitted():
                # Brokers that come back must not get records that this worker wrote before it lost its membership.
                self._producer.purge()

    # Settings

    def _writing(self) -> dict[str, str]:
        return {"max.request.size": "1048576", **clients.without_consumer_keys(self._settings)}

    def _reading(self) -> dict[str, str]:
        # As in Java the group is never joined, but librdkafka requires one; its default isolation hides transactions.
        defaults = {"group.id": self.topic, "isolation.level": "read_uncommitted"}
        return clients.JAVA_RECONNECT | defaults | dict(self._settings)


_PRODUCER = {
    "acks": "all",
    "enable.idempotence": False,
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 0,
    # Bounded: a record that its writer gave up must not be written much later, after another worker's.
    "message.timeout.ms": 30_000,
}
_CONSUMER = {
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
}


@dataclass(slots=True)
class _Receipts:
    """Collects the brokers' acknowledgements of some records."""

    missing: int
    _ends: dict[int, int] = field(default_factory=dict)
    _error: KafkaError | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, error: KafkaError | None, message: Message) -> None:
        with self._changed:
            self.missing -= 1
            if error is not None:
                self._error = self._error or error
            else:
                number, offset = message.partition(), message.offset()
                assert number is not None
                assert offset is not None
                self._ends[number] = max(offset + 1, self._ends.get(number, 0))
            self._changed.notify_all()

    def ends(self, timeout: float, topic: str) -> dict[int, int]:
        """Return the offsets after the records by partition. Raises ConnectError or TimeoutError."""
        with self._changed:
            self._changed.wait_for(lambda: not self.missing or self._error is not None, timeout)
            if self._error is not None:
                raise ConnectError(f"Could not write to topic '{topic}': {self._error.str()}")
            if self.missing:
                raise TimeoutError(f"The brokers did not acknowledge {self.missing} records of topic '{topic}' in time")
            return dict(self._ends)


def _headers(message: Message) -> Headers:
    found = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return [(name, value) for name, value in found if value is not None]


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
