"""Writes offset syncs: pairs of offsets that a record has in both clusters (Java: ``OffsetSyncWriter``)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect_dagster.connectors.mirror.records import OffsetSync
from connect_dagster.connectors.mirror.sync_state import OffsetSyncQueue
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

_CLOSE_SECONDS = 5.0
# Those of Java's producer that differ from librdkafka's: a sync that is written twice looks like a topic made again,
# for which readers forget the syncs before it.
_DEFAULTS: Mapping[str, str] = {
    "acks": "all",
    "max.in.flight.requests.per.connection": "5",
    "delivery.timeout.ms": "120000",
}


class OffsetSyncWriter:
    """A producer of offset syncs. A sync that cannot be written is logged and left out: the next one says more.

    Args:
        settings: of the producer, in Java's names.
        topic: for the syncs.
        lag_max: ``offset.lag.max``.
    """

    def __init__(self, settings: Settings, topic: str, lag_max: int) -> None:
        self._topic = topic
        self._queue = OffsetSyncQueue(lag_max)
        self._lock = threading.Lock()
        self._in_flight = 0
        self._producer: Producer = clients.producer(clients.with_idempotence({**_DEFAULTS, **settings}), {})

    def delivered(
        self, partition: TopicPartition, upstream: npt.NDArray[np.int64], downstream: npt.NDArray[np.int64]
    ) -> None:
        """Take the offsets of delivered records of one partition, in their order, and write the syncs that are due.

        Args:
            partition: of the source.
            upstream: offsets of the records in it.
            downstream: their offsets in the partition of the target.
        """
        with self._lock:
            self._queue.delivered(partition, upstream, downstream)
            self._send()

    def commit(self) -> None:
        """Write the last offsets of each partition, so that the end of a quiet topic is known."""
        with self._lock:
            self._queue.commit()
            self._send()

    def close(self) -> None:
        """Write the syncs that are pending, for five seconds at most."""
        ends = time.monotonic() + _CLOSE_SECONDS
        with self._lock:
            # Those that had no room among the others on their way are the last ones.
            while not (left := self._producer.flush(max(0.0, ends - time.monotonic()))) and self._send():
                pass
            if left:
                log.warning("Offset syncs were not written before the end of the task")
            self._producer.purge()

    def _send(self) -> int:
        """Send the pending syncs that there is room for; return their number."""
        self._producer.poll(0)
        syncs = self._queue.take(self._queue.most_in_flight - self._in_flight)
        for sync in syncs:
            try:
                self._producer.produce(self._topic, sync.value, sync.key, 0, on_delivery=self._written)
                self._in_flight += 1
            except (KafkaException, BufferError) as error:
                log.error("Failure sending offset sync %s: %s", sync, error)
        self._producer.poll(0)
        return len(syncs)

    def _written(self, error: KafkaError | None, message: Message) -> None:
        """Count down; called while the producer is polled."""
        self._in_flight -= 1
        if error is not None:
            sync = OffsetSync.decode(message.key(), message.value())
            log.error("Failure sending offset sync %s: %s", sync, error.str())
