"""A topic as a shared log: every worker reads all of it, and writes to its end (Java: ``KafkaBasedLog``).

Two threads: one reads records and passes each to a callback, one serves the producer's callbacks. Both block in
librdkafka until an event. The log waits for brokers that are away.

Nobody waits for a topic that a user deleted: reads and writes fail once the brokers have not known the topic for two
seconds. A topic that is created again has another id (KIP-516); the log then reads it from its beginning.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, TypeVar, cast

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, Producer, TopicPartition

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import COMPACT, TopicAdmin
from connect_dagster.storage.topic_sightings import TopicSightings

log = logging.getLogger(__name__)
Answer = TypeVar("Answer")

Headers = Sequence[tuple[str, bytes]]
OnRecord = Callable[[bytes | None, bytes | None, int, int, int, Headers], None]
"""Takes key, value (``None`` is a tombstone), partition, offset, timestamp in epoch milliseconds, and headers."""
Callback = Callable[[KafkaError | None, Message], None]
"""Takes the error, or ``None`` when the brokers have the record, and the record."""
Entry = tuple[bytes, bytes | None]
"""Key and value; the value ``None`` is a tombstone."""
Send = Callable[[Sequence[Entry], float, Callable[[], bool]], Mapping[int, int]]
"""Writes records by another producer: takes them, the seconds for it, and a function that returns whether to give up.
Returns the offsets after them by partition, and raises ConnectError."""

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
# The end behind a marker is reported after a fetch without records (docs/decisions/0063-the-end-behind-a-marker.md).
_COMMITTED_FETCH_MILLISECONDS = "50"


class NotPermittedError(ConnectError):
    """This worker may not write now: it has lost its place in the group, and another may have taken its work over."""


class TopicMissingError(ConnectError):
    """The brokers have no such topic any more: somebody has deleted it."""

    def __init__(self, topic: str) -> None:
        super().__init__(
            f"Topic '{topic}' does not exist any more on the brokers, so that it can neither be read nor written. "
            "Somebody has deleted it while this worker was running."
        )


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
    def write(self, entries: Sequence[Entry], timeout: float, send: Send | None = None) -> None: ...
    def append(self, entries: Sequence[Entry], timeout: float) -> None: ...
    def flush(self, timeout: float) -> bool: ...
    def read_to_end(self, timeout: float, *, past_transactions: bool = False) -> Mapping[int, int]: ...


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
        self._moved = threading.Condition()
        self._sightings = TopicSightings(topic)
        self._looking = threading.Lock()
        # Set when the topic may have been deleted or replaced; cleared once the reader has looked.
        self._suspect = threading.Event()
        self._looks = 0
        self._rewound: set[int] = set()
        self._started = False
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
            self._retried(self._look, deadline)
            self._producer = clients.producer(self._writing(), _PRODUCER)
            self._consumer = self._open_consumer()
            for work in (self._read_on, self._serve_producer):
                thread = threading.Thread(target=work, name=f"{work.__name__.strip('_')}-{self.topic}", daemon=True)
                self._threads.append(thread)
                thread.start()
            self.read_to_end(deadline - time.monotonic())
            self._started = True
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
        self._require_permission()
        assert self._producer is not None, "the log was not started"
        try:
            self._producer.produce(self.topic, value, key, on_delivery=callback, headers=list(headers))
        except (KafkaException, BufferError) as error:
            raise ConnectError(f"Could not write to topic '{self.topic}': {error}") from error

    def write(self, entries: Sequence[Entry], timeout: float, send: Send | None = None) -> None:
        """Write records and wait until the brokers have them and this log has read them.

        A reader of committed records has read them only behind the marker of their transaction.

        Args:
            entries: keys and values, in their order.
            timeout: seconds for all of it.
            send: writes them instead of the log's own producer.

        Raises:
            NotPermittedError: this worker may not write now.
            TopicMissingError: the topic was deleted; nothing is written.
            ConnectError: the brokers refused one, or ``send`` raised it.
            TimeoutError: they did not respond in time; the records may still be written.
        """
        deadline = time.monotonic() + timeout
        looks, before = self._looks, dict(self._positions)
        ends = self._send_all(entries, deadline) if send is None else self._sent_by(send, entries, deadline)
        # A new record before one that was read is in another topic of that name.
        self._await(ends, deadline, looks if any(end <= before.get(n, 0) for n, end in ends.items()) else None)

    def append(self, entries: Sequence[Entry], timeout: float) -> None:
        """Write records as :meth:`write`, without waiting until this log has read them."""
        self._send_all(entries, time.monotonic() + timeout)

    def _require_permission(self) -> None:
        if not self._permitted():
            raise NotPermittedError(f"This worker may not write to topic '{self.topic}' now: it is not in the group")

    def _sent_by(self, send: Send, entries: Sequence[Entry], deadline: float) -> Mapping[int, int]:
        """Write records by another producer. Raises as :meth:`write`."""
        self._require_permission()
        if not self._sightings.seen:
            self._refuse_missing()
        try:
            return send(entries, deadline - time.monotonic(), lambda: self._sightings.missing)
        except ConnectError:
            self._refuse_missing()
            raise

    def _send_all(self, entries: Sequence[Entry], deadline: float) -> dict[int, int]:
        """Write records, and return the offsets after them by partition. Raises as :meth:`write`."""
        receipts = Receipts(len(entries))
        try:
            for key, value in entries:
                self.send(key, value, receipts.take)
            while not receipts.wait(min(_GLANCE_SECONDS, deadline - time.monotonic())):
                self._refuse_missing()
                if time.monotonic() >= deadline:
                    break
            return receipts.ends(self.topic)
        except (NotPermittedError, TopicMissingError):
            raise
        except ConnectError:
            self._refuse_missing()
            raise

    def flush(self, timeout: float) -> bool:
        """Wait until the brokers have acknowledged all records; return whether they did in time.

        Does not wait for a topic that was deleted.
        """
        deadline = time.monotonic() + timeout
        while self._producer is not None and self._producer.flush(min(timeout, _GLANCE_SECONDS)):
            if time.monotonic() >= deadline or self._is_missing():
                return False
        return True

    def read_to_end(self, timeout: float, *, past_transactions: bool = False) -> Mapping[int, int]:
        """Wait until all records that are in the topic now have been passed to the callback.

        Returns the ends by partition, which count the markers of transactions.

        Args:
            timeout: seconds.
            past_transactions: whether a reader of committed records waits for transactions that are open now: one may
                hide records behind it that are committed.

        Raises:
            TimeoutError: the brokers are away, or there is too much to read.
            TopicMissingError: the topic was deleted.
            ConnectError: the brokers refuse to return the end offsets.
        """
        deadline = time.monotonic() + timeout
        looks, before = self._looks, dict(self._positions)
        ends = self._retried(lambda seconds: self._ends_of_existing(seconds, past_transactions), deadline)
        self._await(ends, deadline, looks if any(end < before.get(n, 0) for n, end in ends.items()) else None)
        return ends

    def _ends_of_existing(self, seconds: float, past_transactions: bool) -> dict[int, int]:
        """Return the ends of a topic that exists."""
        if not self._sightings.seen:
            self._refuse_missing()
        try:
            return self._ends(seconds, past_transactions)
        except RetriableError:
            self._refuse_missing()
            raise

    def _ends(self, seconds: float, past_transactions: bool) -> dict[int, int]:
        """Return the offsets up to which the reader can read now, or once open transactions have ended."""
        # A committed reader stays before an open transaction, whose end is not the end of the partition.
        committed = self._reading()["isolation.level"] == READ_COMMITTED and not past_transactions
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
        logged = ""
        while True:
            remaining = deadline - time.monotonic()
            try:
                return ask(max(0.1, min(_REQUEST_SECONDS, remaining)))
            except RetriableError as error:
                if remaining <= _RETRY_SECONDS or self._stopping.wait(_RETRY_SECONDS):
                    raise TimeoutError(str(error)) from error
                if (text := str(error)) != logged:
                    log.info("Will retry: %s", text)
                    logged = text

    def _await(self, ends: Mapping[int, int], deadline: float, looks: int | None = None) -> None:
        """Wait until each partition was read up to its end.

        Args:
            ends: offsets by partition.
            deadline: of the monotonic clock.
            looks: the number of the reader's looks at the topic, when its positions may be those of a topic that was
                deleted; it looks once more first.
        """

        def behind() -> dict[int, int]:
            # A topic that was created again may have fewer partitions.
            return {number: end for number, end in ends.items() if self._positions.get(number, end) < end}

        def reached() -> bool:
            return self._stopping.is_set() or (self._looks != looks and not behind())

        if looks is not None:
            self._suspect.set()
        with self._moved:
            if not self._moved.wait_for(reached, deadline - time.monotonic()) or self._stopping.is_set():
                raise TimeoutError(f"Topic '{self.topic}' was not read up to offsets {behind() or ends} in time")

    # Whether the topic exists

    def _look(self, seconds: float) -> None:
        """Have the brokers describe the topic. Raises RetriableError without a response in time."""
        id = self._admin.id_of(self.topic, seconds)
        with self._looking:
            self._sightings.take(id, time.monotonic())
            if self._sightings.replaced:
                self._suspect.set()

    def _is_missing(self) -> bool:
        """Return whether the brokers have not known the topic for a while."""
        try:
            self._look(_GLANCE_SECONDS)
        except RetriableError as error:
            log.debug("Whether topic '%s' exists is not known now: %s", self.topic, error)
            return False
        if not self._sightings.seen:
            self._suspect.set()
        return self._sightings.missing

    def _refuse_missing(self) -> None:
        """Raise TopicMissingError when the topic was deleted, and drop what waits to be written there."""
        if self._started and self._is_missing():
            if self._producer is not None:
                self._producer.purge()
            raise TopicMissingError(self.topic)

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
                if self._suspect.is_set():
                    self._look_again()
                # consume() waits for a whole batch or the time to pass, poll() for the first record alone.
                first = self._consumer.poll(_POLL_SECONDS)
                quiet = _GLANCE_SECONDS if self._sightings.missing else _QUIET_SECONDS
                if first is not None:
                    self._take([first, *self._consumer.consume(_BATCH, 0)])
                elif time.monotonic() - quiet_since < quiet:
                    continue
                else:
                    self._look_again()
                quiet_since = time.monotonic()
            except Exception:
                log.exception("Unexpected exception while reading topic %s", self.topic)
                self._stopping.wait(_RETRY_SECONDS)

    def _look_again(self) -> None:
        """Find out whether the topic was deleted or replaced."""
        try:
            self._look(_GLANCE_SECONDS)
            if self._sightings.missing:
                self._suspect.clear()
            if not self._sightings.seen:
                return
            if self._sightings.replaced:
                self._begin_anew()
            self._rewound.clear()
        except RetriableError as error:
            log.debug("Topic '%s' cannot be described now: %s", self.topic, error)
            return
        self._suspect.clear()
        with self._moved:
            self._looks += 1
            self._moved.notify_all()

    def _begin_anew(self) -> None:
        """Read another topic of the same name from its beginning. Raises RetriableError as long as it has no leader."""
        numbers = self._admin.partitions(self.topic, _GLANCE_SECONDS)
        begins = self._admin.beginning_offsets(self.topic, numbers, _GLANCE_SECONDS)
        log.error(
            "Topic '%s' was deleted and created again: the records that it had are lost. This worker continues with "
            "those that it has read; workers that start now do not know them",
            self.topic,
        )
        with self._moved:
            # librdkafka may have found the beginning by itself, and records are not to be read twice.
            own = {number: self._positions[number] for number in self._rewound & self._positions.keys()}
            self._positions = begins | {number: offset for number, offset in own.items() if number in begins}
        former, self._consumer = self._consumer, self._open_consumer()
        if former is not None:
            former.close()
        self._sightings.replaced = False
        try:
            policies = self._admin.cleanup_policies(self.topic)
        except ConnectError as error:
            log.debug("The cleanup policy of topic '%s' is not known: %s", self.topic, error)
            return
        if policies is not None and policies != {COMPACT}:
            log.error(
                "Topic '%s' has cleanup.policy=%s now, not compact, as when brokers create it by themselves: records "
                "will be lost again. Set it to compact",
                self.topic,
                ",".join(sorted(policies)),
            )

    def _take(self, messages: Sequence[Message]) -> None:
        moved: dict[int, int] = {}
        for message in messages:
            error, number, offset = message.error(), message.partition(), message.offset()
            if error is not None and error.code() != KafkaError._PARTITION_EOF:
                self._suspect.set()
                client_logger().warning("Error while reading topic %s: %s", self.topic, error.str())
            elif number is not None and offset is not None:
                if error is None:
                    self._hand_on(message, number, offset)
                if offset < moved.get(number, self._positions.get(number, 0)):
                    self._rewound.add(number)
                    self._suspect.set()
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
            try:
                self._producer.poll(_POLL_SECONDS)
            except KafkaException as fatal:
                log.warning("The log of topic %s goes on without idempotence: %s", self.topic, fatal)
                former = self._producer
                self._producer = clients.producer(self._writing(), {**_PRODUCER, "enable.idempotence": False})
                _refuse_queued(former)
            if len(self._producer) and not self._permitted():
                # Brokers that come back must not get records that this worker wrote before it lost its membership.
                self._producer.purge()

    # Settings

    def _writing(self) -> dict[str, str]:
        return {"max.request.size": "1048576", **clients.without_consumer_keys(self._settings)}

    def _reading(self) -> dict[str, str]:
        # As in Java the group is never joined, but librdkafka requires one; its default isolation hides transactions.
        defaults = {"group.id": self.topic, "isolation.level": "read_uncommitted"}
        settings = clients.JAVA_RECONNECT | defaults | dict(self._settings)
        if settings["isolation.level"] == READ_COMMITTED:
            settings.setdefault("fetch.max.wait.ms", _COMMITTED_FETCH_MILLISECONDS)
        return settings


_PRODUCER = {
    "acks": "all",
    "enable.idempotence": True,  # keeps the order (docs/decisions/0056-order-needs-idempotence.md)
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
class Receipts:
    """Collects the brokers' acknowledgements of some records."""

    missing: int
    _ends: dict[int, int] = field(default_factory=dict)
    _error: KafkaError | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def take(self, error: KafkaError | None, message: Message) -> None:
        """Take the acknowledgement of a record, or its error."""
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

    def wait(self, timeout: float) -> bool:
        """Wait for all acknowledgements or an error; return whether they came in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.missing or self._error is not None, timeout)

    def ends(self, topic: str) -> dict[int, int]:
        """Return the offsets after the records by partition. Raises ConnectError, or TimeoutError without one."""
        with self._changed:
            if self._error is not None:
                raise ConnectError(f"Could not write to topic '{topic}': {self._error.str()}")
            if self.missing:
                raise TimeoutError(f"The brokers did not acknowledge {self.missing} records of topic '{topic}' in time")
            return dict(self._ends)


def _refuse_queued(producer: Producer) -> None:
    """Have the writers of queued records learn that a producer which had a fatal error does not write them."""
    producer.purge()
    deadline = time.monotonic() + _STOP_SECONDS
    while len(producer) and time.monotonic() < deadline:
        with suppress(KafkaException):  # the fatal error once more
            producer.poll(_RETRY_SECONDS)


def _headers(message: Message) -> Headers:
    found = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return [(name, value) for name, value in found if value is not None]


def _bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
