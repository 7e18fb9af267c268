"""The dead letter queue: a topic for failed records (Java: ``DeadLetterQueueReporter``), of sources also."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.delivery_errors import GIVEN_UP, Fault, fault_of
from connect_dagster.kafka.epoch_producer import EpochProducer, Record
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
_RETRY_SECONDS = 1.0
_WARNING_SECONDS = 60.0


class DeadLetterQueue:
    """A task's producer for dead letters; created on the task's thread, together with the topic if it is missing.

    Args:
        id: the task.
        settings: of the topic and its records.
        producer: producer settings in Java's names.
        admin: settings of the client that creates the topic, in Java's names.
        metrics: counts the records.
        masked: returns the text of an error without secrets.
        statistics: of the producer; ``None`` where nobody asks for them.

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
        masked: Callable[[str], str] = str,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._id = id
        self._settings = settings
        self._metrics = metrics
        self._masked = masked
        self._undelivered: deque[tuple[Record, KafkaError]] = deque()
        self._epochs = EpochProducer(producer, self._epoch_failed, statistics=statistics)
        self._warned_at = -_WARNING_SECONDS
        _ensure_topic(settings, admin)
        callbacks = {} if statistics is None else statistics.callback()
        self._producer: Producer = clients.producer(
            producer, {"delivery.report.only.error": True, "on_delivery": self._delivered, **callbacks}
        )

    def write(self, record: FailedRecord) -> None:
        """Send a record's original bytes; log and count a record that cannot be written."""
        self._metrics.dead_letter_requested()
        raw = record.record
        options: dict[str, Any] = {"headers": [*raw.headers]}
        if self._settings.context_headers:
            options["headers"] += context_headers(self._id, record, self._masked)
        if raw.timestamp is not None:
            options["timestamp"] = raw.timestamp
        self._produce({"topic": self._settings.topic, "value": raw.value, "key": raw.key, **options})

    def serve(self) -> None:
        """Take statistics and the brokers' responses, which wait for it; to be called from time to time."""
        self._producer.poll(0)
        self._epochs.serve()

    def flush(self, while_running: Callable[[], bool]) -> bool:
        """Wait until the brokers acknowledged or refused every record; returns ``False`` when the wait was given up.

        Records wait for a topic that was deleted, as in Java. One that was rejected together with others is sent alone.
        """
        while self._flushed(while_running):
            if not self._undelivered:
                return True
            if not while_running():
                return False
            record, _ = self._undelivered.popleft()
            later, self._undelivered = self._undelivered, deque()
            self._produce(record)
            if not self._flushed(while_running):
                return False
            for again, error in self._undelivered:
                if fault_of(error) is Fault.MISSING_TOPIC:
                    later.appendleft((again, error))
                    self._look_for_topic(while_running)
                else:
                    self._failed(error)
            self._undelivered = later
        return False

    def close(self) -> None:
        """Flush for some seconds, then drop the rest."""
        deadline = time.monotonic() + _CLOSE_SECONDS
        self._flushed(lambda: time.monotonic() < deadline)
        self._producer.purge()
        self._producer.flush(_POLL_SECONDS)
        self._epochs.close()

    def _produce(self, record: Record) -> None:
        while True:
            try:
                if record.get("timestamp") == 0 and self._epochs.possible():
                    self._epochs.produce(record)
                else:
                    self._producer.produce(**record)
            except BufferError:
                self._producer.poll(_POLL_SECONDS)
                continue
            except KafkaException as error:
                self._take(record, error.args[0])
            except ConnectError as error:  # of the producer for timestamp 0
                self._failed(error)
            return

    def _flushed(self, while_running: Callable[[], bool]) -> bool:
        while self._producer.flush(_POLL_SECONDS):
            if not while_running():
                return False
        while not self._epochs.flush(_POLL_SECONDS):
            if not while_running():
                return False
        return True

    def _look_for_topic(self, while_running: Callable[[], bool]) -> None:
        """Have librdkafka look for the topic again, after a pause."""
        topic, now = self._settings.topic, time.monotonic()
        if now - self._warned_at >= _WARNING_SECONDS:
            self._warned_at = now
            log.warning("Dead letter queue topic '%s' does not exist: records wait for it", topic)
        while time.monotonic() < now + _RETRY_SECONDS and while_running():
            time.sleep(_POLL_SECONDS)
        with suppress(KafkaException):
            self._producer.list_topics(topic, timeout=_RETRY_SECONDS)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and error.code() not in GIVEN_UP:
            record: dict[str, Any] = {"topic": message.topic(), "value": message.value(), "key": message.key()}
            record |= {"headers": message.headers() or [], "timestamp": message.timestamp()[1]}
            self._take(record, error)

    def _epoch_failed(self, record: Record, error: KafkaError) -> None:
        if error.code() not in GIVEN_UP:
            self._take(record, error)

    def _take(self, record: Record, error: KafkaError) -> None:
        """Keep a record that is sent again; report one that the brokers would refuse again."""
        if fault_of(error) is Fault.OTHER:
            self._failed(error)
        else:
            self._undelivered.append((record, error))

    def _failed(self, error: object) -> None:
        log.error("Could not produce message to dead letter queue. topic=%s: %s", self._settings.topic, error)
        self._metrics.dead_letter_failed()


def context_headers(
    id: TaskId, record: FailedRecord, masked: Callable[[str], str] = str
) -> list[tuple[str, bytes | None]]:
    """Return the headers with a record's origin and its error, all of them text.

    Args:
        id: the task.
        record: the failed record.
        masked: returns the text of an error without secrets.
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
        MESSAGE: failure.message and masked(failure.message),
        TRACE: masked(failure.stacktrace),
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
