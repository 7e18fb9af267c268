"""Signals that are records of a topic (Debezium: ``KafkaSignalChannel``).

The topic has one partition. The consumer's group keeps the offset of the next signal, as librdkafka commits it while
time passes and at the end; without one it begins with the first signal.
"""

from __future__ import annotations

import contextlib
import logging
import uuid
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from connect_dagster.connectors.mysql.options.signals import SignalTopic
from connect_dagster.connectors.mysql.signals.signal import Signal
from connect_dagster.java.jackson import from_json, json_text
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_reading import content_bytes

log = logging.getLogger(__name__)

_PARTITION, _MOST = 0, 500


class SignalTopicReader:
    """Reads the topic from time to time.

    Args:
        topic: and settings of its consumer.
        connector: ``topic.prefix``, the key of its signals.
        interval: seconds between two looks.
        seconds: gives the time of a clock that only moves forwards.
        consumer: makes one of Java's settings.
    """

    def __init__(
        self,
        topic: SignalTopic,
        connector: str,
        interval: float,
        seconds: Callable[[], float],
        consumer: Callable[[Settings], Consumer] = clients.consumer,
    ) -> None:
        self._topic = topic
        self._connector = connector
        self._interval = interval
        self._seconds = seconds
        self._make = consumer
        self._consumer: Consumer | None = None
        self._next = seconds()

    def read(self) -> list[Signal]:
        """Return the signals that have come; none before it is time for the next look.

        Raises:
            ConfigError: a setting of the consumer is refused.
        """
        if self._seconds() < self._next:
            return []
        self._next = self._seconds() + self._interval
        if self._consumer is None:
            settings = {"client.id": str(uuid.uuid4()), **self._topic.consumer}
            self._consumer = self._make(settings)
            self._consumer.assign([TopicPartition(self._topic.topic, _PARTITION)])
        try:
            messages = self._consumer.consume(_MOST, self._topic.poll_ms / 1000)
        except KafkaException as error:
            self._failed(str(error))
            return []
        for failure in filter(None, (message.error() for message in messages)):
            self._failed(failure.str())
        return [signal for message in messages if (signal := self._signal(message)) is not None]

    def close(self) -> None:
        """Commit the offset, and close the consumer."""
        if self._consumer is not None:
            with contextlib.suppress(KafkaException, RuntimeError):
                self._consumer.close()
        self._consumer = None

    def _failed(self, reason: str) -> None:
        """Begin with another consumer the next time: one that could not learn its place does not ask again."""
        log.warning("Signals cannot be read from topic %s: %s", self._topic.topic, reason)
        self.close()

    def _signal(self, message: Message) -> Signal | None:
        if message.error() is not None:
            return None
        key, value = content_bytes(message.key()), content_bytes(message.value())
        if key is None or key.decode(errors="replace") != self._connector:
            log.info("A signal with the key %r is for another connector than %s", key, self._connector)
            return None
        return parsed(value) if value else None


def parsed(value: bytes) -> Signal | None:
    """Return the signal of a record's value; ``None``, after a warning, where it is not one."""
    try:
        fields = from_json(value)
        number, kind, data = (fields.get(name) for name in ("id", "type", "data"))
    except (AttributeError, ValueError) as error:
        log.warning(
            "A record of the topic of signals is passed over, as it is not a JSON object (%s): %r", error, value
        )
        return None
    if not isinstance(kind, str) or not isinstance(data, dict | None):
        log.warning(
            "A record of the topic of signals is passed over: type must be a text and data a JSON object: %r", value
        )
        return None
    return Signal(number if isinstance(number, str) else None, kind, json_text(data or {}, halves=False))
