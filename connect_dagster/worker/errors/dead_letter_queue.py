"""The dead letter queue: a topic for failed records (Java: ``DeadLetterQueueReporter``), of sources also."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_admin import NewTopic, TopicAdmin
from connect_dagster.protocol.dead_letter_headers import (
    CONNECTOR,
    EXCEPTION,
    EXECUTOR,
    MESSAGE,
    OFFSET,
    PARTITION,
    SOURCE_OFFSET,
    SOURCE_PARTITION,
    STAGE,
    TASK,
    TOPIC,
    TRACE,
)
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.errors.failures import FailedRecord
from connect_dagster.worker.errors.policy import DeadLetterSettings
from connect_dagster.worker.metrics.errors import ErrorMetrics

log = logging.getLogger(__name__)

_PARTITIONS = 1
_POLL_SECONDS = 0.1
_CLOSE_SECONDS = 5.0
_GIVEN_UP = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


class DeadLetterQueue:
    """A task's producer for dead letters; created on the task's thread, together with the topic if it is missing.

    Args:
        id: the task.
        settings: of the topic and its records.
        producer: producer settings in Java's names.
        admin: settings of the client that creates the topic, in Java's names.
        metrics: counts the records.

    Raises:
        ConnectError: the topic does not exist and cannot be created.
    """

    def __init__(
        self,
        id: TaskId,
        settings: DeadLetterSettings,
        producer: Settings,
        admin: Settings,
        metrics: ErrorMetrics,
    ) -> None:
        self._id = id
        self._settings = settings
        self._metrics = metrics
        _ensure_topic(settings, admin)
        self._producer: Producer = clients.producer(
            producer, {"delivery.report.only.error": True, "on_delivery": self._delivered}
        )

    def write(self, record: FailedRecord) -> None:
        """Send a record's original bytes; log and count a record that cannot be written."""
        self._metrics.dead_letter_requested()
        raw = record.record
        options: dict[str, Any] = {"headers": [*raw.headers]}
        if self._settings.context_headers:
            options["headers"] += context_headers(self._id, record)
        if raw.timestamp is not None:
            options["timestamp"] = raw.timestamp
        while True:
            try:
                self._producer.produce(self._settings.topic, raw.value, raw.key, **options)
            except BufferError:
                self._producer.poll(_POLL_SECONDS)
                continue
            except KafkaException as error:
                self._failed(error.args[0])
            return

    def flush(self, while_running: Callable[[], bool]) -> bool:
        """Wait until the brokers acknowledged or refused every record; returns ``False`` when the wait was given up."""
        while self._producer.flush(_POLL_SECONDS):
            if not while_running():
                return False
        return True

    def close(self) -> None:
        """Flush for some seconds, then drop the rest."""
        self._producer.flush(_CLOSE_SECONDS)
        self._producer.purge()
        self._producer.flush(_POLL_SECONDS)

    def _delivered(self, error: KafkaError | None, _: Message) -> None:
        if error is not None and error.code() not in _GIVEN_UP:
            self._failed(error)

    def _failed(self, error: object) -> None:
        log.error("Could not produce message to dead letter queue. topic=%s: %s", self._settings.topic, error)
        self._metrics.dead_letter_failed()


def context_headers(id: TaskId, record: FailedRecord) -> list[tuple[str, bytes | None]]:
    """Return the headers with a record's origin and its error, all of them text.

    Args:
        id: the task.
        record: the failed record.
    """
    raw, failure = record.record, record.failure
    origin = {
        TOPIC: raw.topic,
        PARTITION: raw.partition,
        OFFSET: raw.offset,
        SOURCE_PARTITION: raw.source_partition,
        SOURCE_OFFSET: raw.source_offset,
    }
    texts: dict[str, object] = {
        **{name: value for name, value in origin.items() if value is not None},
        CONNECTOR: id.connector,
        TASK: id.task,
        STAGE: failure.stage,
        EXECUTOR: failure.executor,
        EXCEPTION: failure.exception,
        MESSAGE: failure.message,
        TRACE: failure.stacktrace,
    }
    return [(name, None if value is None else str(value).encode()) for name, value in texts.items()]


def _ensure_topic(settings: DeadLetterSettings, admin: Settings) -> None:
    topic, topics = settings.topic, TopicAdmin(admin)
    try:
        if topics.exists(topic):
            return
        log.error("Topic %s doesn't exist. Will attempt to create topic.", topic)
        created = topics.create(NewTopic(topic, _PARTITIONS, settings.replication_factor))
    except ConnectError as error:
        raise ConnectError(f"Could not initialize dead letter queue with topic={topic}") from error
    if created is None:
        raise ConnectError(f"Could not initialize dead letter queue with topic={topic}")
