"""Sends batches in transactions, together with the offsets after them (Java: ``ExactlyOnceWorkerSourceTask``, KIP-618).

A transaction is open for the sending alone: Spark encodes the next batch meanwhile, and an idle task has none.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import pyarrow as pa

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.transactional_producer import (
    TransactionalProducer,
    TransactionTimeoutError,
    UnknownTopicError,
)
from connect_dagster.plugin.frame_columns import RECEIPT
from connect_dagster.storage.offset_store import Offset, Partition
from connect_dagster.worker.source.delivery import Batch, DeliveryThread, topics_of
from connect_dagster.worker.source.receipts import Places, receipts
from connect_dagster.worker.source.transaction_ends import End

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.1
_EXPIRED = (
    "The task was unable to finish writing records to Kafka before its producer transaction expired, or another task "
    "has taken its place: {}."
)
_OPTIONS = (
    "It may be necessary to reconfigure this connector in order for it to run healthily with exactly-once support. "
    "Options for this include: tune the connector's producer configuration for higher throughput, increase the "
    "transaction timeout for the connector's producers (producer.override.transaction.timeout.ms), decrease the offset "
    "commit interval (if using interval-based transaction boundaries), or use the 'poll' transaction boundary (if the "
    "connector is not already configured to use it)."
)

Changes = Sequence[tuple[Partition, Offset | None]]


class OffsetRecords(Protocol):
    """The methods of ``TransactionalOffsets``."""

    @property
    def topic(self) -> str:
        """Return the topic of the offsets."""

    def records(self, changes: Changes) -> pa.Table:
        """Return the records that set offsets."""

    def committed(self, changes: Changes) -> None:
        """Set the offsets in a copy as well."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A batch of the open transaction."""

    batch: Batch[Any]
    encoded: Any
    places: Places | None
    aborted: bool = False


@dataclass(slots=True)
class _Transaction:
    """Batches that are written and not yet committed.

    Attributes:
        ends_at: when an interval is over, by the clock.
        sent: its batches.
        begun: whether the producer has begun it: not without records.
    """

    ends_at: float
    sent: list[_Sent] = field(default_factory=list)
    begun: bool = False

    def changes(self) -> Changes:
        """Return the last offset of each partition."""
        latest: dict[str, tuple[Mapping[str, Any], Mapping[str, Any] | None]] = {}
        for one in self.sent:
            for partition, offset in one.batch.offsets:
                latest[repr(sorted(partition.items()))] = (partition, offset)
        return list(latest.values())


class ExactlyOnceSender:
    """Sends batches in transactions; calls them done when theirs is committed (``BatchSender``).

    Args:
        producer: whose id no other producer has any more.
        offsets: of the connector.
        interval: seconds after which a transaction ends; ``None`` where its connector alone ends it.
        thread: the delivery thread.
        client_id: the producer's, for errors.
        committed: called with the number of records of each transaction, and the milliseconds of its commit.
        clock: seconds of a monotonic clock.
    """

    def __init__(
        self,
        producer: TransactionalProducer,
        offsets: OffsetRecords,
        interval: float | None,
        thread: DeliveryThread,
        client_id: str,
        committed: Callable[[int, float], None] = lambda *_: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._producer = producer
        self._offsets = offsets
        self._interval = interval
        self._thread = thread
        self._committed = committed
        self._clock = clock
        self._open: _Transaction | None = None
        self._places: Places | None = None
        self._open_batches = 0
        self._has_committed = False
        producer.attach(thread.over, partial(thread.note_error, client_id), self._note_places)

    def send(self, batch: Batch[Any], encoded: Any) -> None:
        """Send a batch; return when it was given up, too.

        Raises:
            ConnectError: the transaction cannot be committed; its records are not visible.
        """
        while not self._thread.may_send():
            if self._thread.over() or not self._thread.wait(_RETRY_SECONDS):
                return
        if not self._thread.paced():  # before the transaction begins, where a batch is one
            return
        table: pa.Table = encoded.table
        self._thread.limiter.moved_table(table)
        if self._offsets.topic in topics_of(batch.topic, table):
            raise ConnectError(
                "Source tasks may not produce to their own offsets topics when exactly-once support is enabled: "
                f"records are for topic {self._offsets.topic}, which has the offsets of the connector and is read up "
                "to the end of open transactions. Set offsets.storage.topic to another topic"
            )
        if self._open is None:
            self._open = _Transaction(math.inf if self._interval is None else self._clock() + self._interval)
        transaction = self._open
        if table.num_rows:
            self._begin(transaction)
        sent = _Sent(batch, encoded, Places(table.num_rows) if RECEIPT in table.column_names else None)
        transaction.sent.append(sent)
        self._repeated(lambda: self._write(sent), partial(self._write_all, transaction.sent))
        if batch.end is End.ABORT:
            self._abort(transaction)
        if batch.end is not None or self._clock() >= transaction.ends_at:
            self._commit(transaction)
        else:
            self._open_batches = len(transaction.sent)

    def _begin(self, transaction: _Transaction) -> None:
        if not transaction.begun:
            self._producer.begin()
            transaction.begun = True

    def _write(self, sent: _Sent) -> None:
        """Send a batch; the last one before a commit is waited for together with the offsets.

        The first transaction waits before its offsets, so that the error of a missing right names the topic. All other
        batches are waited for, as those that an abort drops would leave a gap in the sequence of records.
        """
        table: pa.Table = sent.encoded.table
        if not table.num_rows:
            return
        if sent.places is not None:
            self._places = sent.places
            self._producer.send(table.drop_columns([RECEIPT]), sent.batch.topic)
            self._places = None
        elif sent.batch.end is End.COMMIT and self._has_committed:
            self._producer.queue(table, sent.batch.topic)
        else:
            self._producer.send(table, sent.batch.topic)

    def _repeated(self, write: Callable[[], None], again: Callable[[], None]) -> None:
        """Write; where a topic is not known yet, write again in a new transaction. Raises ConnectError."""
        while True:
            try:
                write()
                return
            except TransactionTimeoutError as error:
                raise ConnectError(f"{_EXPIRED.format(error)} {_OPTIONS}") from error
            except UnknownTopicError as error:
                log.info("Records are written in a new transaction: %s", error)
                self._producer.abort()
                if not self._thread.wait(_RETRY_SECONDS):
                    raise
                self._producer.begin()
                write = again

    def _write_all(self, sent: Sequence[_Sent]) -> None:
        for one in sent:
            if not one.aborted:
                self._write(one)

    def serve(self) -> None:
        """Commit a transaction whose interval is over, and call callbacks that are due."""
        self._producer.serve()
        if self._open is not None and self._clock() >= self._open.ends_at:
            self._commit(self._open)

    @property
    def held(self) -> int:
        """Return the number of batches of an open transaction that its connector ends."""
        return self._open_batches if self._interval is None else 0

    @property
    def open(self) -> int:
        """Return the number of batches of an open transaction."""
        return self._open_batches

    def finish(self) -> None:
        """Commit the open transaction, unless its connector ends it."""
        if self._open is not None and self._interval is not None:
            self._commit(self._open)

    def drop(self) -> None:
        """Abort an open transaction that its connector ends, without its offsets."""
        if self._open is None or self._interval is not None:
            return
        transaction, self._open, self._open_batches = self._open, None, 0
        if transaction.begun:
            self._producer.abort()
        self._thread.dropped(len(transaction.sent))

    def purge(self) -> None:
        """Drop records that are not acknowledged."""
        self._producer.purge()

    def close(self) -> None:
        """Abort the open transaction, and end."""
        self._producer.close()

    def _abort(self, transaction: _Transaction) -> None:
        """Drop the records of a transaction, whose offsets are still to be committed."""
        if transaction.begun:
            log.info("Aborting transaction as requested by connector")
            self._producer.abort()
            transaction.begun = False
        else:
            log.warning("Ignoring request by task to abort transaction as the current transaction is empty")
        transaction.sent[:] = [_Sent(one.batch, one.encoded, None, aborted=True) for one in transaction.sent]

    def _commit(self, transaction: _Transaction) -> None:
        if not all(one.batch.reported() for one in transaction.sent):
            return
        changes, began = transaction.changes(), self._clock()
        if transaction.begun or changes:
            self._begin(transaction)
            self._repeated(lambda: self._write_end(changes), lambda: self._write_to_end(transaction.sent, changes))
            self._has_committed = True
            records = sum(one.encoded.table.num_rows for one in transaction.sent if not one.aborted)
            self._committed(records, (self._clock() - began) * 1000)
            if not self._thread.over():  # the next run of an abandoned task may have committed since
                self._offsets.committed(changes)
        self._open, self._open_batches = None, 0
        for one in transaction.sent:
            if one.places is not None:
                one.batch.received(receipts(one.encoded.table, one.batch.topic, one.places))
            self._thread.done(one.batch, one.encoded)

    def _write_end(self, changes: Changes) -> None:
        if changes:
            self._producer.queue(self._offsets.records(changes), self._offsets.topic)
        self._producer.commit()

    def _write_to_end(self, sent: Sequence[_Sent], changes: Changes) -> None:
        self._write_all(sent)
        self._write_end(changes)

    def _note_places(self, number: int, count: int, partition: int, offset: int) -> None:
        if self._places is not None:
            self._places.note(number, count, partition, offset)
