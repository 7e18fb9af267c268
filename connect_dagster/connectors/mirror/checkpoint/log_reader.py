"""Reads all records of an internal topic, and those that follow (Java: ``KafkaBasedLog``)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import Enum

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from connect_dagster.connectors.mirror.client_settings import NO_GROUP
from connect_dagster.kafka import clients
from connect_dagster.kafka.log_offsets import is_passing
from connect_dagster.kafka.settings.java_settings import Settings

log = logging.getLogger(__name__)

OnRecord = Callable[[bytes | None, bytes | None], None]
"""Takes key and value."""

_PARTITION = 0
_BATCH = 1000
_POLL_SECONDS = 0.25
_END_SECONDS = 5.0
# A topic that another worker is about to create, and one that a user may create again.
_MISSING = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION, KafkaError._UNKNOWN_TOPIC})


class _Seen(Enum):
    RECORDS = "records"
    NOTHING = "nothing"
    END = "the end"


class LogReader:
    """Reads partition 0 of a topic from its beginning.

    Args:
        settings: of the consumer, in Java's names.
        topic: the topic.
        on_record: called for each record in order.
    """

    def __init__(self, settings: Settings, topic: str, on_record: OnRecord) -> None:
        self._settings = settings
        self._topic = topic
        self._on_record = on_record
        self._stopping = threading.Event()
        self._consumer: Consumer | None = None
        self._thread: threading.Thread | None = None
        self._warned = ""

    def read_to_end(self) -> bool:
        """Read all records that are in the topic now; waits for brokers that are away, and for a missing topic.

        Returns:
            ``False`` when :meth:`stop` ended it before.

        Raises:
            KafkaException: the brokers refuse it.
        """
        extras = {**NO_GROUP, "isolation.level": "read_uncommitted", "enable.partition.eof": True}
        self._consumer = consumer = clients.consumer(self._settings, extras)
        consumer.assign([TopicPartition(self._topic, _PARTITION, OFFSET_BEGINNING)])
        while not self._stopping.is_set():
            if self._take(consumer) is _Seen.END:
                return True
        return False

    def follow(self) -> None:
        """Read the records that follow, on a thread."""
        self._thread = threading.Thread(target=self._read_on, name=f"read-{self._topic}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End reading."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_END_SECONDS)

    def close(self) -> None:
        """Close the consumer, once nothing reads any more."""
        if self._thread is not None and self._thread.is_alive():
            log.error("Reading topic %s did not end within %.0f s", self._topic, _END_SECONDS)
        elif self._consumer is not None:
            self._consumer.close()

    def _read_on(self) -> None:
        assert self._consumer is not None
        while not self._stopping.is_set():
            try:
                self._take(self._consumer)
            except Exception as error:
                self._warn(str(error))
                self._stopping.wait(_END_SECONDS)

    def _take(self, consumer: Consumer) -> _Seen:
        seen = _Seen.NOTHING
        # poll() returns with the first record, consume() waits for many.
        first = consumer.poll(_POLL_SECONDS)
        for message in [] if first is None else [first, *consumer.consume(_BATCH, 0)]:
            error = message.error()
            if error is None:
                self._on_record(message.key(), message.value())
                seen = _Seen.RECORDS
            elif error.code() == KafkaError._PARTITION_EOF:
                seen = _Seen.END
            elif is_passing(error) or error.code() in _MISSING:
                self._warn(error.str())
            else:
                raise KafkaException(error)
        return seen

    def _warn(self, text: str) -> None:
        if text != self._warned:
            self._warned = text
            log.warning("Topic %s cannot be read now, will retry: %s", self._topic, text)
