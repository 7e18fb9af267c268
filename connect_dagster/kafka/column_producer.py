"""Gives Arrow's columns to librdkafka without Python objects and a copy for each record.

The handle is its own: delivery callbacks of confluent-kafka's know only records that it has produced.
"""

from __future__ import annotations

import ctypes
import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.kafka.client_statistics import StatisticsCollector, StatisticsListener
from connect_dagster.kafka.epoch_timestamps import EpochTimestamps
from connect_dagster.kafka.librdkafka import Rebootstrap, find_brokers, library
from connect_dagster.kafka.librdkafka_structs import (
    ANY_PARTITION,
    FIELD,
    MESSAGE,
    FieldLists,
    are_plain,
    field_lists,
    has_epoch,
    messages,
)
from connect_dagster.kafka.produce_loop import produce_rows
from connect_dagster.kafka.security.oauth_login import ClientTokens
from connect_dagster.kafka.settings import ClientKind, to_librdkafka
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.settings.security import client_tokens, relay_of

if TYPE_CHECKING:
    from connect_dagster.kafka.security.sasl_relay import SaslRelay

log = logging.getLogger(__name__)

Failed = Callable[[int, str, KafkaError], None]
"""Called with number, topic and error of a record."""
Delivered = Callable[[int, int, int, int], None]
"""Called for records that are one after the other in the table and in a partition: with the number of the first, their
count, the partition, and the offset of the first."""

_ROWS = 10_000
_FULL_MILLISECONDS = 10
_PRODUCER = 0
_PARTITION_IN_MESSAGE = 0x8
_EVENT_DELIVERY, _EVENT_LOG, _EVENT_ERROR, _EVENT_STATISTICS, _EVENT_TOKEN = 0x1, 0x4, 0x8, 0x40, 0x100
_PURGE_QUEUE, _PURGE_IN_FLIGHT = 0x1, 0x2
_INVALID_VALUE = -1
_ERROR_BYTES = 512
# Levels of syslog, as confluent-kafka logs them.
_LEVELS = (logging.CRITICAL,) * 3 + (logging.ERROR, logging.WARNING, logging.INFO, logging.INFO, logging.DEBUG)


@dataclass(frozen=True, slots=True)
class _Topics:
    """The topics of a batch.

    Attributes:
        names: each once.
        indices: of each record, the index of its topic's name.
    """

    names: list[str]
    indices: npt.NDArray[np.int64]

    @classmethod
    def of(cls, batch: pa.RecordBatch, topic: str | None) -> _Topics:
        """Return the topics of a batch, or that of all records where it has no column for them."""
        if "topic" not in batch.schema.names:
            assert topic is not None, "a table without topics is for one"
            return cls([topic], np.zeros(batch.num_rows, np.int64))
        named = batch.column("topic").dictionary_encode()
        return cls(named.dictionary.to_pylist(), named.indices.to_numpy(zero_copy_only=False))

    def parts(self, made: npt.NDArray[np.void]) -> Iterator[tuple[str, npt.NDArray[np.void]]]:
        """Yield the messages of each topic, in their order."""
        for index, name in enumerate(self.names):
            yield name, made if len(self.names) == 1 else made[self.indices == index]


class ColumnProducer:
    """A producer for tables; for one thread, but for :meth:`purge`.

    Args:
        settings: librdkafka's.
        on_failed: called for each record that was not delivered.
        on_error: called with errors that are not of a record.
        on_delivered: called for the records that were delivered, run by run, where the broker has named their offsets;
            ``None`` where nobody asks for these.
        tokens: of a login with OAUTHBEARER.
        keeps_epoch: whether tables may have timestamp 0.
        listener: takes statistics, where the settings ask for them.

    Raises:
        OSError: the library was not found.
        AttributeError: the library has not all functions.
        ValueError: a setting is refused.
    """

    def __init__(
        self,
        settings: Mapping[str, object],
        on_failed: Failed,
        on_error: Callable[[KafkaError], None],
        on_delivered: Delivered | None = None,
        tokens: ClientTokens | None = None,
        relay: SaslRelay | None = None,
        *,
        keeps_epoch: bool = False,
        listener: StatisticsListener | None = None,
    ) -> None:
        self._library = library()
        self._relay = relay
        self._rebootstrap = Rebootstrap(settings)
        self._is_transactional = "transactional.id" in settings
        self._on_failed = on_failed
        self._on_error = on_error
        self._on_delivered = on_delivered
        self._listener = listener
        self._tokens = tokens
        self._logger = client_logger()
        self._lock = threading.Lock()
        self._epochs: EpochTimestamps | None = None
        self._handle: int | None = self._opened(settings, keeps_epoch)
        self._library.set_log_queue(self._handle, None)
        self._queue = self._library.queue_get_main(self._handle)
        self._topics: dict[str, int] = {}
        self._held: list[pa.Table] = []
        self.serve()  # librdkafka asks for the first token at once

    def _opened(self, settings: Mapping[str, object], keeps_epoch: bool) -> int:
        library, error = self._library, ctypes.create_string_buffer(_ERROR_BYTES)
        config = library.conf_new()
        if self._relay is not None:
            library.conf_set_resolve_cb(config, self._relay.resolve)
        for name, value in {**settings, **self._reports()}.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if library.conf_set(config, name.encode(), text.encode(), error, _ERROR_BYTES) == _INVALID_VALUE:
                library.conf_destroy(config)
                raise ValueError(error.value.decode())
        library.conf_set_events(config, _EVENT_DELIVERY | _EVENT_LOG | _EVENT_ERROR | _EVENT_STATISTICS | _EVENT_TOKEN)
        if keeps_epoch:
            self._epochs = EpochTimestamps(config)
        handle = library.new(_PRODUCER, config, error, _ERROR_BYTES)
        if not handle:
            library.conf_destroy(config)
            raise ValueError(error.value.decode())
        return int(handle)

    def _reports(self) -> dict[str, object]:
        return {"delivery.report.only.error": self._on_delivered is None, "log.queue": True}

    def knows(self, table: pa.Table, topic: str | None) -> bool:
        """Return whether the topics of a table have valid names."""
        names = pc.unique(table.column("topic")).to_pylist() if "topic" in table.column_names else [topic]
        return all(name is not None and self._topic(name) for name in names)

    def produce(
        self, table: pa.Table, topic: str | None, over: Callable[[], bool], first: int = 0
    ) -> Iterator[tuple[int, str, KafkaError]]:
        """Queue records; the table is held until they are delivered.

        Args:
            table: columns ``value`` and perhaps ``key, topic, partition, headers, timestamp``.
            topic: of all of them, unless the table has a column for it.
            over: returns whether to give up.
            first: number of the table's first record.

        Yields:
            Number, topic and error of each record that librdkafka does not take.

        Raises:
            ConnectError: librdkafka does not write timestamp 0.
        """
        at_epoch = has_epoch(table)
        if self._epochs is not None:
            self._epochs.expect(substitutes=at_epoch)
        elif at_epoch:
            raise ValueError("This producer was not opened for timestamp 0")
        self._held.append(table)
        for batch in table.to_batches(max_chunksize=_ROWS):
            names = _Topics.of(batch, topic)
            # produce_batch adds partition -1 to a transaction where a partition is chosen before the topic is known.
            if are_plain(batch) and not (self._is_transactional and "partition" in batch.schema.names):
                for name, part in names.parts(messages(batch, first)):
                    yield from self._queue_all(name, part, over)
            else:
                handles = np.array([self._topic(name) for name in names.names], np.uint64)
                lists = field_lists(batch, first, handles[names.indices])
                for row, error in self._queue_each(lists, over):
                    yield first + row, names.names[names.indices[row]], error
            first += batch.num_rows

    def _queue_each(self, lists: FieldLists, over: Callable[[], bool]) -> Iterator[tuple[int, KafkaError]]:
        addresses = lists.fields.ctypes.data + lists.first * FIELD.itemsize
        row = 0
        while True:
            row, failed = produce_rows(self._handle, addresses, lists.counts, row)
            if self._epochs is not None and self._epochs.failed():
                raise ConnectError("Records with timestamp 0 cannot be written: this librdkafka keeps it elsewhere")
            if not failed:
                return
            code = self._library.error_code(failed)
            self._library.error_destroy(failed)
            if code != KafkaError._QUEUE_FULL:
                yield row, self._not_produced(code)
                row += 1
            elif over():
                return
            else:
                self.serve(_FULL_MILLISECONDS)

    def _queue_all(
        self, topic: str, part: npt.NDArray[np.void], over: Callable[[], bool]
    ) -> Iterator[tuple[int, str, KafkaError]]:
        while len(part) and not over():
            part["err"] = 0
            self._library.produce_batch(
                self._topic(topic), ANY_PARTITION, _PARTITION_IN_MESSAGE, part.ctypes.data, len(part)
            )
            full = np.flatnonzero(part["err"] == KafkaError._QUEUE_FULL)
            taken = int(full[0]) if len(full) else len(part)
            for row in np.flatnonzero(part["err"][:taken]):
                yield int(part["private"][row]) - 1, topic, self._not_produced(int(part["err"][row]))
            part = part[taken:]
            if len(part):  # the queue is full: the brokers are slower than we are
                self.serve(_FULL_MILLISECONDS)

    def _not_produced(self, code: int) -> KafkaError:
        return KafkaError(code, f"Unable to produce message: {self._library.err2str(code).decode()}")

    def serve(self, milliseconds: int = 0) -> None:
        """Report failed records, errors and log lines; wait for the first of them."""
        while event := self._library.queue_poll(self._queue, milliseconds):
            milliseconds = 0
            try:
                self._report(event)
            finally:
                self._library.event_destroy(event)
        self._rebootstrap.serve(self._handle)

    def flush(self, seconds: float) -> bool:
        """Wait for the deliveries of all records; return whether none is left."""
        ends = time.monotonic() + seconds
        self.serve()
        while left := self._library.flush(self._handle, 0):
            if (wait := math.ceil((ends - time.monotonic()) * 1000)) <= 0:
                break
            if self._on_delivered is None:
                self._library.flush(self._handle, wait)
                wait = 0
            # Records count until they are reported: those that fail, or all.
            self.serve(wait)
        if not left:
            self._held.clear()
        return not left

    def init_transactions(self, seconds: float) -> None:
        """End what an earlier producer of the transactional id left open, and refuse its further writes.

        The methods of transactions raise KafkaException as those of confluent-kafka's producer.
        """
        ends = time.monotonic() + seconds
        find_brokers(self._handle, seconds)
        self._ask(self._library.init_transactions, max(0.0, ends - time.monotonic()))

    def begin_transaction(self) -> None:
        """Begin a transaction."""
        self._ask(self._library.begin_transaction)

    def commit_transaction(self, seconds: float) -> None:
        """Commit the transaction, whose records are delivered already (:meth:`flush`)."""
        self._ask(self._library.commit_transaction, seconds)

    def abort_transaction(self, seconds: float) -> None:
        """Abort the transaction, and drop its records that are not delivered (:meth:`purge`, :meth:`flush`)."""
        self._ask(self._library.abort_transaction, seconds)

    def _ask(self, call: Callable[..., int | None], *seconds: float) -> None:
        error = call(self._handle, *(math.ceil(one * 1000) for one in seconds))
        if error is None:
            return
        library = self._library
        found = KafkaError(
            library.error_code(error),
            library.error_string(error).decode(errors="replace"),
            fatal=bool(library.error_is_fatal(error)),
            retriable=bool(library.error_is_retriable(error)),
            txn_requires_abort=bool(library.error_txn_requires_abort(error)),
        )
        library.error_destroy(error)
        raise KafkaException(found)

    def purge(self, in_flight: bool = True) -> None:
        """Drop records that are not acknowledged, or only those that are not on their way to a broker."""
        with self._lock:
            if self._handle is not None:
                self._library.purge(self._handle, _PURGE_QUEUE | (_PURGE_IN_FLIGHT if in_flight else 0))

    def close(self) -> None:
        """Drop records that are not acknowledged, and end."""
        self.purge()
        with self._lock:
            handle, self._handle = self._handle, None
        for topic in self._topics.values():
            self._library.topic_destroy(topic)
        self._library.queue_destroy(self._queue)
        self._library.destroy(handle)
        self._held.clear()  # requests refer to the values until the handle is destroyed

    def _topic(self, name: str) -> int | None:
        if name not in self._topics:
            handle = self._library.topic_new(self._handle, name.encode(), None)
            if not handle:
                return None
            self._topics[name] = handle
        return self._topics[name]

    def _report(self, event: int) -> None:
        library, kind = self._library, self._library.event_type(event)
        if kind == _EVENT_DELIVERY:
            self._report_deliveries(event)
        elif kind == _EVENT_ERROR:
            self._on_error(self._error(library.event_error(event), library.event_error_string(event)))
        elif kind == _EVENT_TOKEN and self._tokens is not None:
            self._renew_token(self._tokens)
        elif kind == _EVENT_STATISTICS and self._listener is not None:
            self._listener.take(library.event_stats(event).decode())
        elif kind == _EVENT_LOG:
            facility, line, level = ctypes.c_char_p(), ctypes.c_char_p(), ctypes.c_int()
            if library.event_log(event, *(ctypes.byref(one) for one in (facility, line, level))) == 0:
                said = (facility.value, library.name(self._handle), line.value)
                texts = [(text or b"").decode(errors="replace") for text in said]
                self._logger.log(_LEVELS[level.value], "%s [%s] %s", *texts)

    def _renew_token(self, tokens: ClientTokens) -> None:
        """Pass the next token on; an error comes back as an event, and librdkafka asks again ten seconds later."""
        failure = ctypes.create_string_buffer(_ERROR_BYTES)
        try:
            token = tokens.next()
        except ConnectError as error:
            failure.value = str(error).encode()[: _ERROR_BYTES - 1]
        else:
            texts = [text.encode() for pair in tokens.extensions.items() for text in pair]
            extensions, ends = (ctypes.c_char_p * len(texts))(*texts), int(token.expires_at * 1000)
            value, name = token.value.encode(), token.principal.encode()
            self._library.oauthbearer_set_token(
                self._handle, value, ends, name, extensions, len(texts), failure, _ERROR_BYTES
            )
        if failure.value:
            self._library.oauthbearer_set_token_failure(self._handle, failure.value)

    def _report_deliveries(self, event: int) -> None:
        count = self._library.event_message_count(event)
        addresses = (ctypes.c_void_p * count)()
        self._library.event_message_array(event, addresses, count)
        first, last = _message(addresses[0]), _message(addresses[count - 1])
        # With acks=0, and for records that the broker had before, librdkafka counts up from a negative offset.
        on_delivered = self._on_delivered if first["offset"] >= 0 else None
        # A broker's answer holds records of one partition in their order, so that its ends tell of all between them.
        if on_delivered is not None and _is_run(first, last, count):
            on_delivered(int(first["private"]) - 1, count, int(first["partition"]), int(first["offset"]))
            return
        for message in map(_message, addresses):
            number = int(message["private"]) - 1
            if message["err"]:
                topic = self._library.topic_name(int(message["rkt"])).decode()
                self._on_failed(number, topic, KafkaError(int(message["err"])))
            elif on_delivered is not None:
                on_delivered(number, 1, int(message["partition"]), int(message["offset"]))

    def _error(self, code: int, text: bytes) -> KafkaError:
        cause = ctypes.create_string_buffer(_ERROR_BYTES)
        if fatal := self._library.fatal_error(self._handle, cause, _ERROR_BYTES):
            return KafkaError(fatal, cause.value.decode(errors="replace"), True)
        return KafkaError(code, text.decode(errors="replace"))


def _message(address: int | None) -> np.void:
    assert address is not None
    found: np.void = np.frombuffer(ctypes.string_at(address, MESSAGE.itemsize), MESSAGE)[0]
    return found


def _is_run(first: np.void, last: np.void, count: int) -> bool:
    """Return whether two delivered records, and those between them, have numbers and offsets without a gap."""
    is_delivered = not first["err"] and not last["err"]
    is_of_one = first["rkt"] == last["rkt"] and first["partition"] == last["partition"]
    steps = (int(last[name]) - int(first[name]) for name in ("private", "offset"))
    return bool(is_delivered and is_of_one and all(step == count - 1 for step in steps))


class LazyColumnProducer:
    """A producer for tables that is opened with the first of them; for one thread, but for ``opened``.

    Args:
        settings: producer settings in Java's names, which a producer of confluent-kafka has taken.
        extra: librdkafka's own, which go before.
        on_failed: called for each record that was not delivered.
        on_error: called with errors that are not of a record.
        on_delivered: called for the records that were delivered, run by run, where the broker has named their offsets;
            ``None`` where nobody asks for these.
        statistics: of the producer; ``None`` where nobody asks for them.

    Attributes:
        obstacle: why records have to be produced one by one.
    """

    def __init__(
        self,
        settings: Settings,
        extra: Mapping[str, object],
        on_failed: Failed,
        on_error: Callable[[KafkaError], None],
        on_delivered: Delivered | None = None,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._settings = settings
        self._extra = extra
        self._statistics = statistics
        self._callbacks = (on_failed, on_error, on_delivered)
        self._keeps_epoch = False
        self._possible = True
        self.opened: ColumnProducer | None = None
        self.obstacle = ""

    def get(self, *, keeps_epoch: bool = False) -> ColumnProducer | None:
        """Return the producer; ``None`` where records have to be produced one by one.

        Args:
            keeps_epoch: whether tables may have timestamp 0 from now on; a producer for others is closed.

        Raises:
            ConnectError: its login gets no token.
        """
        if keeps_epoch and not self._keeps_epoch:
            self._keeps_epoch = True
            self.close()
        if self.opened is None and self._possible:
            login = (client_tokens(self._settings), relay_of(self._settings))
            try:
                config = {**to_librdkafka(ClientKind.PRODUCER, self._settings), **self._extra}
                config |= {} if self._statistics is None else self._statistics.settings
                listener = None if self._statistics is None else self._statistics.listener()
                self.opened = ColumnProducer(
                    config, *self._callbacks, *login, keeps_epoch=self._keeps_epoch, listener=listener
                )
            except (OSError, AttributeError, ValueError) as error:
                self._possible = False
                self.obstacle = str(error)
                log.info("Records are produced one by one: %s", error)
        return self.opened

    def close(self) -> None:
        """Drop records that are not acknowledged, and end; the next table opens a new producer."""
        producer, self.opened = self.opened, None
        if producer is not None:
            producer.close()
