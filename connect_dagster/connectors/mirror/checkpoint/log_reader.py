"""Reads all records of an internal topic, and those that follow (Java: ``KafkaBasedLog``)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from enum import Enum

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from connect_dagster.connectors.mirror.client_settings import NO_GROUP
from connect_dagster.kafka import clients
from connect_dagster.kafka.errors import is_of_group
from connect_dagster.kafka.log_offsets import LogOffsets, is_passing
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition as LogPartition

log = logging.getLogger(__name__)

OnRecord = Callable[[bytes | None, bytes | None], None]
"""Takes key and value."""

_PARTITION = 0
_BATCH = 1000
_POLL_SECONDS = 0.25
_ASK_SECONDS = 1.0
_RETRY_SECONDS = _END_SECONDS = 5.0
# A topic that another worker is about to create, and one that a user may create again. librdkafka says so after 30 s.
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
        waits_for_topic: whether a missing topic is waited for; otherwise it is an error.

    Raises:
        ConfigError: the consumer refuses its settings.
    """

    def __init__(self, settings: Settings, topic: str, on_record: OnRecord, *, waits_for_topic: bool = True) -> None:
        self._topic = topic
        self._on_record = on_record
        self._waits_for_topic = waits_for_topic
        self._stopping = threading.Event()
        # librdkafka's default differs from Java's.
        isolation = settings.get("isolation.level", "read_uncommitted")
        extras = {**NO_GROUP, "isolation.level": isolation, "enable.partition.eof": True}
        self._consumer: Consumer | None = clients.consumer(settings, extras)
        self._consumer.assign([TopicPartition(topic, _PARTITION, OFFSET_BEGINNING)])
        self._thread: threading.Thread | None = None
        self._next = 0
        self._warned = ""

    def read_to_end(self) -> bool:
        """Read all records that are in the topic now, after those read before; waits for brokers that are away.

        Returns:
            ``False`` when :meth:`stop` ended it before.

        Raises:
            KafkaException: the brokers refuse it, or have no such topic.
        """
        consumer, end = self._consumer, None
        partition = LogPartition(self._topic, _PARTITION)
        while consumer is not None and not self._stopping.is_set():
            # The client reports no end while records follow each other.
            end = LogOffsets(consumer).ends([partition], _ASK_SECONDS).get(partition) if end is None else end
            if self._take(consumer) is _Seen.END or (end is not None and self._next >= end):
                return True
        return False

    def follow(self) -> None:
        """Read the records that follow, on a thread."""
        thread = threading.Thread(target=self._read_on, name=f"read-{self._topic}", daemon=True)
        thread.start()
        self._thread = thread

    def stop(self) -> None:
        """Make reading end soon."""
        self._stopping.set()

    def close(self) -> None:
        """Wait until reading has ended after :meth:`stop`, and close the consumer."""
        if self._thread is not None:
            self._thread.join(_END_SECONDS)
            if self._thread.is_alive():
                log.error("Reading topic %s did not end within %.0f s", self._topic, _END_SECONDS)
                return
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    def _read_on(self) -> None:
        consumer = self._consumer
        assert consumer is not None
        while not self._stopping.is_set():
            try:
                self._take(consumer)
            except Exception as error:
                self._warn(str(error))
                self._stopping.wait(_RETRY_SECONDS)

    def _take(self, consumer: Consumer) -> _Seen:
        seen = _Seen.NOTHING
        refusal: KafkaError | None = None
        # poll() returns with the first record, consume() waits for many.
        first = consumer.poll(_POLL_SECONDS)
        for message in [] if first is None else [first, *consumer.consume(_BATCH, 0)]:
            error = message.error()
            if error is None:
                self._on_record(message.key(), message.value())
                self._next = (message.offset() or 0) + 1
                seen = _Seen.RECORDS if seen is _Seen.NOTHING else seen
            elif error.code() == KafkaError._PARTITION_EOF:
                seen = _Seen.END
            elif is_passing(error) or (self._waits_for_topic and error.code() in _MISSING):
                self._warn(error.str())
            elif not is_of_group(error):
                refusal = error
        if refusal is not None:  # after the records behind it, which are not fetched again
            raise KafkaException(refusal)
        if seen is not _Seen.NOTHING:
            self._warned = ""
        return seen

    def _warn(self, text: str) -> None:
        if text != self._warned:
            self._warned = text
            log.warning("Topic %s cannot be read now, will retry: %s", self._topic, text)
