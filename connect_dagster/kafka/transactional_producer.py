"""A producer whose records become visible together, or not at all (KIP-98)."""

from __future__ import annotations

import time
from collections.abc import Callable

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.clients import is_refusal
from connect_dagster.kafka.column_producer import Delivered, LazyColumnProducer
from connect_dagster.kafka.delivery_errors import GIVEN_UP
from connect_dagster.kafka.librdkafka_structs import suits_columns
from connect_dagster.kafka.rights import text_with_right
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.transactions import repeated

_FLUSH_SECONDS = 0.1
_ABORT_SECONDS = 5.0
_FOREVER = float("inf")
_EXTRA = {"queue.buffering.max.messages": 1_000_000}
# By another producer of the id, or by the brokers after the transaction's timeout.
_FENCED = frozenset({KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH})


class TransactionFailedError(ConnectError):
    """A transaction cannot be committed."""


class UnknownTopicError(TransactionFailedError):
    """The coordinator of transactions does not know a topic yet; the transaction can be repeated after an abort.

    Java's producer asks it again, librdkafka gives the transaction up.
    """


class TransactionTimeoutError(TransactionFailedError):
    """The producer was fenced out, perhaps because its transaction took too long (``transaction.timeout.ms``)."""


class TransactionalProducer:
    """A producer for tables in transactions; for one thread, but for :meth:`purge`.

    Args:
        settings: producer settings in Java's names, ``transactional.id`` included.
        over: returns whether to give up what waits for the brokers.
        wants_places: whether the offsets of records are asked for.
        statistics: of the producer; ``None`` where nobody asks for them.

    Raises:
        ConfigError: a setting is refused, or librdkafka's library is not there.
        ConnectError: the login gets no token.
    """

    def __init__(
        self,
        settings: Settings,
        over: Callable[[], bool],
        *,
        wants_places: bool = False,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._id = settings["transactional.id"]
        self._over = over
        self._on_error: Callable[[KafkaError], None] = self._note_error
        self._on_delivered: Delivered = lambda *_: None
        self._shut_out: KafkaError | None = None
        self._refused: list[tuple[str, KafkaError]] = []
        opener = LazyColumnProducer(
            settings,
            _EXTRA,
            self._note_refused,
            lambda error: self._on_error(error),
            (lambda *place: self._on_delivered(*place)) if wants_places else None,
            statistics,
        )
        try:
            producer = opener.get(keeps_epoch=True)  # the offsets need the compiler anyway
        except ConnectError as error:
            raise ConnectError(f"The producer of {self._id} cannot log in: {error}") from error
        if producer is None:
            raise ConfigError(
                f"The producer of {self._id} cannot write in transactions: {opener.obstacle}. Correct its settings, or "
                "set exactly.once.source.support=disabled in all workers"
            )
        self._producer = producer
        self._is_open = False

    def attach(self, over: Callable[[], bool], on_error: Callable[[KafkaError], None], on_delivered: Delivered) -> None:
        """Pass the producer to the thread that sends.

        Args:
            over: as of the constructor.
            on_error: called with errors that are not of a record.
            on_delivered: called for the records that were delivered (see :class:`ColumnProducer`), where asked for.
        """
        self._over, self._on_error, self._on_delivered = over, on_error, on_delivered

    def init(self) -> None:
        """Fence an earlier producer of this id out, and end what it left open.

        Raises:
            TransactionFailedError: the brokers refuse it, or it was given up.
        """
        self._call(self._producer.init_transactions)

    def begin(self) -> None:
        """Begin a transaction. Raises as :meth:`commit`."""
        self._refused.clear()
        self._call(lambda _: self._producer.begin_transaction())
        self._is_open = True

    def send(self, table: pa.Table, topic: str | None) -> None:
        """Send records, and wait until the brokers have them. Raises as :meth:`queue` and :meth:`flush`."""
        self.queue(table, topic)
        self.flush()

    def queue(self, table: pa.Table, topic: str | None) -> None:
        """Begin to send records.

        Args:
            table: columns ``value`` and perhaps ``key, topic, partition, headers, timestamp``.
            topic: of all of them, unless the table has a column for it.

        Raises:
            TransactionFailedError: the records cannot be written in a transaction.
            ConnectError: librdkafka does not write timestamp 0.
        """
        if not suits_columns(table):
            raise TransactionFailedError(
                f"Records of {self._id} cannot be written in a transaction: the name of a header contains NUL or is "
                f"null, or columns have other types than librdkafka takes: {table.schema.to_string()}"
            )
        if not self._producer.knows(table, topic):
            raise TransactionFailedError(f"A topic of the records of {self._id} has no valid name")
        for _, name, error in self._producer.produce(table, topic, self._over):
            self._refused.append((name, error))

    def flush(self) -> None:
        """Wait until the brokers have the queued records.

        Raises:
            TransactionFailedError: the brokers or librdkafka refuse a record, or it was given up.
        """
        while not self._producer.flush(_FLUSH_SECONDS) and not self._refused:
            if self._over():
                raise TransactionFailedError(f"Records of {self._id} were given up")
        if self._refused:
            name, error = self._refused[0]
            if error.code() in GIVEN_UP:  # by librdkafka, which names the cause here
                self._call(self._producer.commit_transaction, ", ".join(sorted({name for name, _ in self._refused})))
            raise _failure(self._id, f"a record for topic {name} was not written", error, name)

    def commit(self) -> None:
        """Commit the transaction, once the brokers have its records.

        Raises:
            TransactionTimeoutError: another producer has the id, or the transaction's time was over.
            TransactionFailedError: the brokers refuse it or a record, or it was given up.
        """
        self.flush()
        self._call(self._producer.commit_transaction)
        self._is_open = False

    def abort(self) -> None:
        """Drop the records of an open transaction, within five seconds; a later :meth:`init` ends what is left."""
        if not self._is_open:
            return
        self._is_open = False
        self._producer.purge()
        ends = time.monotonic() + _ABORT_SECONDS
        while not self._producer.flush(_FLUSH_SECONDS) and time.monotonic() < ends:
            pass
        try:
            repeated(self._producer.abort_transaction, ends)
        except (KafkaException, TimeoutError):
            return

    def serve(self) -> None:
        """Call callbacks that are due."""
        self._producer.serve()

    def purge(self) -> None:
        """Drop records that are not acknowledged."""
        self._producer.purge()

    def close(self) -> None:
        """Abort what is open, and end."""
        self.abort()
        self._producer.close()

    def _call(self, call: Callable[[float], None], topic: str = "") -> None:
        def served(seconds: float) -> None:
            self._producer.serve()
            if self._shut_out is not None:
                raise KafkaException(self._shut_out)
            call(seconds)

        try:
            repeated(served, _FOREVER, self._over)
        except TimeoutError as error:
            raise TransactionFailedError(f"A transaction of {self._id} was given up") from error
        except KafkaException as error:
            cause = "the brokers refuse it" if self._shut_out is None else "its producer has no access to the brokers"
            raise _failure(self._id, cause, error.args[0], topic) from error

    def _note_error(self, error: KafkaError) -> None:
        if is_refusal(error):
            self._shut_out = error

    def _note_refused(self, _: int, topic: str, error: KafkaError) -> None:
        self._refused.append((topic, error))


def _failure(id: str, what: str, error: KafkaError, topic: str = "") -> TransactionFailedError:
    right = text_with_right(error, transactional_id=id, topic=topic, on_topic="Write and Describe")
    text = f"A transaction of {id} cannot be committed, {what}: {right}"
    if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
        return UnknownTopicError(text)
    return TransactionTimeoutError(text) if error.code() in _FENCED else TransactionFailedError(text)
