"""Writes to the config topic that a later leader of the group makes impossible (KIP-618).

Java: the fencable producer of ``KafkaConfigBackingStore``. All leaders of a group have one transactional id, so that
the first transaction of a new leader's producer refuses those of the former one, also where that does not know yet that
it leads no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from confluent_kafka import KafkaException, Producer

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.transactions import cause_of, init_transactions, repeated
from connect_dagster.storage.topic_log import Entry, Receipts

CLAIM_SECONDS = 10.0
_PURGE_SECONDS = 1.0


class PrivilegedWriteError(ConnectError):
    """A leader's write to the config topic has failed, perhaps because another worker leads by now."""

    def __init__(self) -> None:
        super().__init__(
            "Failed to write to config topic; this may be due to a transient error and the request can be safely "
            "retried"
        )


class FencableWriter:
    """The leader's producer for the config topic, once this worker has claimed the privilege; for one thread.

    Args:
        topic: the config topic.
        settings: settings of the worker's own Kafka clients in Java's names; ``client.id`` is that of the config topic.
        transactional_id: the same for all workers of the group.
    """

    def __init__(self, topic: str, settings: Settings, transactional_id: str) -> None:
        self._topic = topic
        self._settings = {
            **clients.without_consumer_keys(settings),
            "client.id": f"{settings['client.id']}-leader",
            "acks": "all",
            "max.in.flight.requests.per.connection": "5",
            "enable.idempotence": "true",
            "transactional.id": transactional_id,
        }
        self._producer: Producer | None = None

    @property
    def is_claimed(self) -> bool:
        """Return whether this worker may write, as far as it knows."""
        return self._producer is not None

    def claim(self) -> None:
        """Fence the producers of other leaders out, and end what they left open.

        Raises:
            ConnectError: the brokers did not grant it within ten seconds.
        """
        if self._producer is not None:
            return
        producer = clients.producer(self._settings, _EXTRA)
        try:
            deadline = time.monotonic() + CLAIM_SECONDS
            init_transactions(producer, deadline)
        except (KafkaException, TimeoutError) as error:
            producer.purge()
            raise ConnectError(
                "Failed to create and initialize fencable producer for config topic: "
                f"{cause_of(error, self._settings['transactional.id'])}"
            ) from error
        self._producer = producer

    def relinquish(self) -> None:
        """Give the privilege up; a transaction that is open stays so until the next claim, or its timeout."""
        producer, self._producer = self._producer, None
        if producer is not None:
            producer.purge()
            producer.flush(_PURGE_SECONDS)

    def write(self, entries: Sequence[Entry], timeout: float, over: Callable[[], bool]) -> Mapping[int, int]:
        """Write records in one transaction, and return the offsets after them by partition.

        Args:
            entries: keys and values, in their order.
            timeout: seconds.
            over: returns whether to give up, as when the topic was deleted; asked once a second.

        Raises:
            PrivilegedWriteError: the privilege is not claimed, or the transaction failed: claim it again.
        """
        producer = self._producer
        if producer is None:
            raise PrivilegedWriteError
        receipts = Receipts(len(entries))
        try:
            producer.begin_transaction()
            for key, value in entries:
                producer.produce(self._topic, value, key, on_delivery=receipts.take)
            # Flushes, so that all receipts are there.
            repeated(producer.commit_transaction, time.monotonic() + timeout, over)
            return receipts.ends(self._topic)
        except (KafkaException, BufferError, TimeoutError) as error:
            self.relinquish()
            raise PrivilegedWriteError from error


_EXTRA: Mapping[str, object] = {"linger.ms": 0}
