"""Encodes batches with Spark, has them sent to Kafka and reports which of them the brokers have acknowledged.

One producer and two threads for each source task: while one sends batch n, the other has Spark encode batch n+1, and
the task itself reads batch n+2. Batches are acknowledged whole and in order, so the offset after a batch can be
committed as soon as its last record is in.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import pyarrow as pa
from confluent_kafka import KafkaError
from pyspark import InheritableThread

from connect_dagster.expressions.java_errors import summary
from connect_dagster.kafka import clients
from connect_dagster.plugin.frames import Offsets
from connect_dagster.worker.logs.context import set_context
from connect_dagster.worker.rate_limiter import RateLimiter
from connect_dagster.worker.source.sender import Tolerate
from connect_dagster.worker.source.transaction_ends import End
from connect_dagster.worker.spark import references as java_references

log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_IDLE_SECONDS = 1.0
_CLOSE_SECONDS = 5.0
_LARGE_ROWS = 5_000
_TURN_SECONDS = 2.0


class EncodedTable(Protocol):
    """Records in bytes.

    Attributes:
        table: columns ``value`` and perhaps ``key, topic, partition, headers, timestamp``.
    """

    @property
    def table(self) -> pa.Table:
        """Return the records."""


class Topics(Protocol):
    """The methods of ``TopicCreation``."""

    def ensure(self, topics: set[str]) -> None:
        """Create the topics that do not exist."""

    def serve(self) -> None:
        """Do what is due without a topic."""


class BatchGivenUpError(Exception):
    """A batch was not encoded, and is to be polled again."""


E = TypeVar("E", bound=EncodedTable)


class Joinable(Protocol):
    """The method of ``SubmittedBatch``."""

    def absorb(self, later: Any) -> bool:
        """Take the records of a later batch; return whether it did. Must not block."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[E]):
    """Records to encode and send.

    Attributes:
        encode: runs the plan; raises ``BatchGivenUpError`` to drop the batch and those after it.
        topic: topic of all of them, unless the table has a column for it.
        delivered: called on the delivery thread once all records are acknowledged.
        tolerate: called for each record that Kafka rejects; returns whether to continue without it.
        remote: has Spark's executors send the records, all to ``topic``, and returns what is known of the batch then;
            ``None`` where this worker sends them. Where it raises, the batch is encoded, and sent by this worker.
        received: called before ``delivered`` with the receipts of records that ask for them.
        reported: waits until failed records are reported; returns ``False`` when that was given up.
        offsets: source partitions with the offsets after the records.
        end: of the transaction behind the records.
        joinable: takes the records of a later batch, as long as this one waits to be encoded; ``None`` where it cannot.
    """

    encode: Callable[[], E]
    topic: str | None
    delivered: Callable[[E], None]
    tolerate: Tolerate = lambda _: False
    remote: Callable[[], E] | None = None
    received: Callable[[pa.Table], None] = lambda _: None
    reported: Callable[[], bool] = lambda: True
    offsets: Offsets = ()
    end: End | None = None
    joinable: Joinable | None = None


@dataclass(frozen=True, slots=True)
class DeliveryThread:
    """The delivery thread, as a sender of batches needs it.

    Attributes:
        over: returns whether the task needs no delivery any more.
        may_send: returns whether the worker may write to topics.
        wait: waits for seconds; returns whether to continue.
        fail: keeps an error for the task's thread.
        done: called with each batch whose records Kafka has for good.
        dropped: called with the number of batches that are polled again.
        limiter: paces the records.
    """

    over: Callable[[], bool]
    may_send: Callable[[], bool]
    wait: Callable[[float], bool]
    fail: Callable[[Exception], None]
    done: Callable[[Batch[Any], Any], None]
    dropped: Callable[[int], None] = lambda _: None
    limiter: RateLimiter = field(default_factory=RateLimiter)

    def paced(self) -> bool:
        """Wait until the rate limit lets the next records pass; return whether to continue."""
        return self.limiter.wait(lambda seconds: not self.over() and self.wait(seconds))

    def note_error(self, client_id: str, error: KafkaError) -> None:
        """Fail for a connection error of a producer that will not pass, such as a refused login."""
        if (refusal := clients.refusal(client_id, error)) is not None:
            self.fail(refusal)


class BatchSender(Protocol):
    """A way of batches to Kafka; for the delivery thread, but for :meth:`purge`."""

    def send(self, batch: Batch[Any], encoded: Any) -> None:
        """Send a batch; return when it was given up, too."""

    def serve(self) -> None:
        """Do what is due without a batch."""

    @property
    def held(self) -> int:
        """Return the number of batches that wait for more, and do not end by :meth:`finish`."""

    @property
    def open(self) -> int:
        """Return the number of batches that wait for more, or for :meth:`finish`."""

    def finish(self) -> None:
        """Bring all batches that were sent to their end."""

    def drop(self) -> None:
        """Drop the batches that are held, which are polled again."""

    def purge(self) -> None:
        """Drop records that are not acknowledged."""

    def close(self) -> None:
        """End, without what is not delivered."""


def topics_of(topic: str | None, table: pa.Table) -> set[str]:
    """Return the topics of a batch: the common one, or those of the table's column."""
    if not table.num_rows:
        return set()
    if "topic" in table.column_names:
        return set(table.column("topic").unique().to_pylist()) - {None}
    return {topic} if topic is not None else set()


class Delivery:
    """A task's producer with its threads; created on the task's thread, whose Spark properties they share.

    Args:
        open_sender: opens the way to Kafka.
        name: for the thread's name and the log.
        gate: of the worker.
        topics: returns the creator of topics, given a function that waits; ``None`` leaves topics to the brokers.
        turn_waited: called with the milliseconds that each batch waited for its turn.
        may_send: returns whether the worker may write to topics: a member that its group has removed may not, as
            another worker may run the task already.
        cancel: ends a job of executors that send.
        limiter: paces the records; none by default.
        serve_reports: has the dead letter queue do what is due.
    """

    def __init__(
        self,
        open_sender: Callable[[DeliveryThread], BatchSender],
        name: str,
        log_context: tuple[str, str],
        gate: LargeBatchGate,
        topics: Callable[[Callable[[float], bool]], Topics] | None = None,
        turn_waited: Callable[[float], None] = lambda _: None,
        may_send: Callable[[], bool] = lambda: True,
        cancel: Callable[[], None] = lambda: None,
        limiter: RateLimiter | None = None,
        serve_reports: Callable[[], None] = lambda: None,
    ) -> None:
        self._gate = gate
        self._serve_reports = serve_reports
        self._cancel = cancel
        self._error: Exception | None = None
        self._abandoned = threading.Event()
        self._may_send = may_send
        self._batches: queue.Queue[Batch[Any] | None] = queue.Queue(maxsize=1)
        self._encoded: queue.Queue[tuple[Batch[Any], EncodedTable | None] | None] = queue.Queue(maxsize=1)
        self._unencoded = self._unfinished = 0
        self._gives_up = self._drops_encoded = False
        self._changed = threading.Condition()
        self._topics = None if topics is None else topics(self._waited)
        self._turn_waited = turn_waited
        self._context = log_context
        self._must_finish = False
        limiter = limiter or RateLimiter()
        self._sender = open_sender(
            DeliveryThread(lambda: self._over, may_send, self._waited, self._fail, self._done, self._finish, limiter)
        )
        self._threads = (
            InheritableThread(target=self._encode_all, name=f"encoding-thread-{name}", daemon=True),
            InheritableThread(target=self._deliver_all, name=f"delivery-thread-{name}", daemon=True),
        )
        for thread in self._threads:
            thread.start()

    def submit(self, batch: Batch[E]) -> None:
        """Queue a batch, or have the one that waits take its records; block while the queue is full.

        Raises:
            Exception: an earlier batch could not be encoded or delivered.
        """
        if not self._absorbed(batch):
            with self._changed:
                self._unencoded += 1
                self._unfinished += 1
            self._hand_on(self._batches, batch)
        self.check()

    def _absorbed(self, batch: Batch[E]) -> bool:
        if batch.joinable is None:
            return False
        with self._batches.mutex:  # so that it is not taken meanwhile
            waiting = self._batches.queue[0] if self._batches.queue else None
            return waiting is not None and waiting.joinable is not None and waiting.joinable.absorb(batch.joinable)

    def check(self) -> None:
        """Raise the error of the delivery thread, if there is one."""
        if self._error is not None:
            raise self._error

    def has_encoded(self, seconds: float) -> bool:
        """Wait until every submitted batch is encoded or dropped, or none can be; return whether all are."""
        with self._changed:
            self._changed.wait_for(lambda: self._unencoded == 0 or self._error is not None, seconds)
            return self._unencoded == 0

    @property
    def has_given_up(self) -> bool:
        """Return whether batches are dropped since one was given up."""
        return self._gives_up

    def resume(self) -> None:
        """Take batches again, after :meth:`drain` has returned ``True``."""
        self._gives_up = self._drops_encoded = False

    def drain(self, seconds: float, *, finishing: bool = True) -> bool:
        """Wait until every submitted batch is acknowledged or dropped, or none can be; return whether all are.

        Batches of a transaction that the connector has not ended do not count, unless batches were given up: then they
        are dropped as well.

        Args:
            seconds: longest wait.
            finishing: whether a transaction that is open is committed, where its connector does not end it; else its
                batches do not count.
        """
        deadline = time.monotonic() + seconds
        if finishing:
            self.finish()
        with self._changed:
            while self._unended(finishing) and self._error is None and self._may_send():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(min(left, _POLL_SECONDS))
            return self._unended(finishing) == 0 and self._error is None

    def finish(self) -> None:
        """Have the records of all submitted batches committed soon, also those of a transaction that is open."""
        self._must_finish = True
        with suppress(queue.Full):  # the thread looks again after each batch
            self._encoded.put_nowait(None)

    def close(self) -> None:
        """Drop records that are not acknowledged, and end the threads."""
        self._abandoned.set()
        self._cancel()
        self._sender.purge()
        for waiting in (self._batches, self._encoded):
            with suppress(queue.Full):
                waiting.put_nowait(None)
        deadline = time.monotonic() + _CLOSE_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _unended(self, finishing: bool) -> int:
        if not finishing:
            return self._unfinished - self._sender.open
        return self._unfinished - (0 if self._gives_up else self._sender.held)

    @property
    def _over(self) -> bool:
        return self._abandoned.is_set() or self._error is not None

    def _hand_on(self, to: queue.Queue[Any], item: object) -> None:
        while not self._over:
            with suppress(queue.Full):
                to.put(item, timeout=_POLL_SECONDS)
                return

    def _encode_all(self) -> None:
        set_context(*self._context)
        rows = 0
        while not self._over:
            batch = self._batches.get()
            if batch is not None:
                with self._failing():
                    rows = self._encode(batch, rows)
                batch = None  # the wait for the next batch must not hold this one

    def _encode(self, batch: Batch[E], rows_before: int) -> int:
        if self._gives_up:
            self._give_up()
            return 0
        if batch.remote is not None:  # in its turn to be sent
            self._hand_on(self._encoded, (batch, None))
            return 0
        with self._gate.admit(rows_before, lambda: self._over) as seconds:
            self._turn_waited(seconds * 1000)
            if self._over:
                return 0
            try:
                encoded = batch.encode()
            except BatchGivenUpError:
                self._give_up()
                return 0
        self._hand_on(self._encoded, (batch, encoded))
        self._end_encoding()
        return int(encoded.table.num_rows)

    def _deliver_all(self) -> None:
        set_context(*self._context)
        while not self._over:
            try:
                encoded = self._encoded.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                encoded = None
            with self._failing():
                self._serve_idle()
                if encoded is None:
                    self._sender.serve()
                else:
                    self._deliver(*encoded)
                    encoded = None  # as above
                    java_references.let_go()
                if self._must_finish and self._unencoded == 0 and self._encoded.empty():
                    self._must_finish = False
                    if self._gives_up:
                        self._sender.drop()
                    self._sender.finish()
        self._sender.close()

    def _serve_idle(self) -> None:
        """Serve the clients that may have nothing to do while others have."""
        self._serve_reports()
        if self._topics is not None:
            self._topics.serve()

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            self._fail(error)

    def _waited(self, seconds: float) -> bool:
        return not self._abandoned.wait(seconds)

    def _deliver(self, batch: Batch[E], encoded: E | None) -> None:
        if self._drops_encoded:
            if encoded is None:
                self._end_encoding()
            self._finish()
            return
        if encoded is None:
            encoded = self._sent_by_executors(batch)
            if encoded is None:
                return
            self._end_encoding()
        if self._topics is not None:
            self._topics.ensure(topics_of(batch.topic, encoded.table))
        self._sender.send(batch, encoded)

    def _done(self, batch: Batch[E], encoded: E) -> None:
        batch.delivered(encoded)
        self._finish()

    def _give_up(self) -> None:
        """Drop a batch that is not encoded, and those after it."""
        self._gives_up = True
        self._end_encoding()
        self._finish()

    def _end_encoding(self) -> None:
        with self._changed:
            self._unencoded -= 1
            self._changed.notify_all()

    def _finish(self, count: int = 1) -> None:
        with self._changed:
            self._unfinished -= count
            self._changed.notify_all()

    def _sent_by_executors(self, batch: Batch[E]) -> E | None:
        """Have the executors send a batch, else encode it for this worker; return ``None`` when that was given up."""
        if self._topics is not None and batch.topic is not None:
            self._topics.ensure({batch.topic})
        while not self._may_send() and not self._over:
            self._waited(_POLL_SECONDS)
        try:
            return None if self._over or batch.remote is None else batch.remote()
        except Exception as error:
            if self._over:
                return None
            log.warning("Spark's executors could not send a batch, this worker tries: %s", summary(error))
        try:
            return batch.encode()
        except BatchGivenUpError:
            self._drops_encoded = True  # all that are queued were polled after it
            self._give_up()
            return None

    def _fail(self, error: Exception) -> None:
        """Keep an error for the task's thread, and wake a thread that waits for a delivery."""
        with self._changed:
            self._error = self._error or error
            self._changed.notify_all()


class LargeBatchGate:
    """Admits one large batch of a worker's source tasks at a time, for two seconds each.

    One large batch keeps all cores busy. Several at once are hardly faster, take more memory, and delay a task with a
    single record (docs/decisions/0006-big-batches-take-turns.md). A turn that lasts longer waits for something else,
    such as a database, and is no longer exclusive.

    Args:
        clock: seconds of a monotonic clock.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._turn: object | None = None
        self._began = 0.0

    @contextmanager
    def admit(self, rows: int, over: Callable[[], bool]) -> Iterator[float]:
        """Wait until no other large batch has its turn, and yield the seconds of that; a small batch passes at once.

        Args:
            rows: the expected size, which is the size of the batch before.
            over: returns whether the task does not need its turn any more.
        """
        if rows < _LARGE_ROWS:
            yield 0.0
            return
        turn = object()
        waited = self._take(turn, over)
        try:
            yield waited
        finally:
            self._give_back(turn)

    def _take(self, turn: object, over: Callable[[], bool]) -> float:
        """Take the turn; return the seconds until it was free."""
        asked = self._clock()
        with self._changed:
            while (left := self._left()) > 0 and not over():
                self._changed.wait(min(left, _POLL_SECONDS))
            self._turn, self._began = turn, self._clock()
            return self._began - asked

    def _left(self) -> float:
        """Return the seconds for which the current turn is exclusive."""
        return 0.0 if self._turn is None else self._began + _TURN_SECONDS - self._clock()

    def _give_back(self, turn: object) -> None:
        with self._changed:
            if self._turn is turn:
                self._turn = None
                self._changed.notify_all()
