"""Writes records whose timestamp is 0, which librdkafka would replace by the current time.

kafka-python's producer writes any timestamp. It takes no null header and no record without key and value; Kafka does.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaProducer
from kafka import errors as kafka_errors
from kafka.serializer import Serializer

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.settings import to_kafka_python
from connect_dagster.kafka.settings.java_settings import ClientKind, Settings, parsed

log = logging.getLogger(__name__)
Header = tuple[str, bytes | None]

_BLOCK_SECONDS = 2.0
_MAX_INT = 2**31 - 1
_ACKS = {"0": 0, "1": 1}
# Java name -> kafka-python's name, where both mean the same.
_TAKEN = {
    "max.request.size": "max_request_size",
    "batch.size": "batch_size",
    "delivery.timeout.ms": "delivery_timeout_ms",
    "max.in.flight.requests.per.connection": "max_in_flight_requests_per_connection",
}


class _Headers(list[Header]):
    """Headers that may be null; kafka-python adds up the lengths of headers that are true."""

    def __bool__(self) -> bool:
        return False


class _Content:
    """Value and headers of a record, either of them perhaps null."""

    def __init__(self, value: bytes | None, headers: Iterable[Header]) -> None:
        self.value = value
        self.headers = tuple(headers)


class _ContentSerializer(Serializer):  # type: ignore[misc]  # kafka-python has no types
    """Puts the headers of a content into the record, and returns its value."""

    def serialize(self, topic: str, headers: list[Header], data: _Content) -> bytes | None:
        headers[:] = data.headers
        return data.value


class Receipt:
    """The future acknowledgement of a record.

    Args:
        future: as kafka-python returns it.
    """

    def __init__(self, future: Any) -> None:
        self._future = future

    def wait(self, seconds: float) -> bool:
        """Wait for the brokers; return whether they have accepted or rejected the record."""
        with suppress(kafka_errors.KafkaError):
            self._future.get(timeout=seconds)
        return bool(self._future.is_done)

    def error(self) -> KafkaError | None:
        """Return the error of a record that was rejected, ``None`` for one that the brokers have."""
        return None if self._future.exception is None else _translated(self._future.exception)

    @property
    def place(self) -> tuple[int, int]:
        """Return partition and offset of a record that was delivered."""
        return self._future.value.partition, self._future.value.offset


class EpochProducer:
    """A producer for records with timestamp 0; for one thread.

    Args:
        settings: producer settings, in Java's names.

    Raises:
        ConfigError: the login is none that kafka-python has.
        KafkaException: no broker responds.
    """

    def __init__(self, settings: Settings) -> None:
        values = parsed(ClientKind.PRODUCER, settings)
        client = to_kafka_python(settings["bootstrap.servers"], f"{settings.get('client.id', '')}-epoch", settings)
        with _raised_translated():
            self._producer = KafkaProducer(
                **client,
                **{name: values[java] for java, name in _TAKEN.items() if java in values},
                acks=_ACKS.get(values.get("acks", "all"), "all"),
                enable_idempotence=False,
                linger_ms=0,
                max_block_ms=int(_BLOCK_SECONDS * 1000),
                value_serializer=_ContentSerializer(),
            )

    def produce(
        self,
        topic: str,
        value: bytes | None = None,
        key: bytes | None = None,
        headers: Iterable[Header] | None = None,
        partition: int = -1,
        timestamp: int = 0,
    ) -> Receipt:
        """Queue a record; takes what ``Producer.produce`` of confluent-kafka takes.

        Raises:
            KafkaException: the record cannot be queued.
        """
        with _raised_translated():
            future = self._producer.send(
                topic,
                _Content(value, headers or ()),
                key,
                headers=_Headers(),
                partition=partition if partition >= 0 else None,
                timestamp_ms=timestamp,
            )
        return Receipt(future)

    def close(self) -> None:
        """Drop records that are not acknowledged, and end."""
        self._producer.close(timeout=0)


class LazyEpochProducer:
    """A producer for records with timestamp 0 that is opened with the first of them; for one thread.

    Args:
        settings: producer settings, in Java's names.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened: EpochProducer | None = None
        self._possible = True

    def opened(self) -> EpochProducer | None:
        """Return the producer; ``None`` where kafka-python has no such login.

        Raises:
            KafkaException: no broker responds.
        """
        if self._opened is None and self._possible:
            try:
                self._opened = EpochProducer(self._settings)
            except ConfigError as error:
                self._possible = False
                log.warning("Records with timestamp 0 get the current time: %s", error.message)
        return self._opened

    def close(self) -> None:
        """Drop records that are not acknowledged, and end."""
        if self._opened is not None:
            self._opened.close()


@contextmanager
def _raised_translated() -> Iterator[None]:
    try:
        yield
    except (kafka_errors.KafkaError, ValueError) as error:
        raise KafkaException(_translated(error)) from error


def _translated(error: Exception) -> KafkaError:
    """Return an error of kafka-python as one of confluent-kafka."""
    if isinstance(error, kafka_errors.BrokerResponseError):
        return KafkaError(error.errno, str(error))
    if isinstance(error, ValueError):  # the name of a topic
        return KafkaError(KafkaError.TOPIC_EXCEPTION, str(error))
    # Without metadata of the topic in time: it does not exist, or the brokers are away.
    return KafkaError(KafkaError._UNKNOWN_TOPIC if getattr(error, "retriable", False) else KafkaError._FAIL, str(error))
