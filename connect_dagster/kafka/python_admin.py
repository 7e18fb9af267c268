"""kafka-python's admin client: for requests that librdkafka's clients in Python lack, or do wrong."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaAdminClient
from kafka import errors as kafka_errors

from connect_dagster.kafka.access import CLIENT_ID
from connect_dagster.kafka.clients import JAVA_RECONNECT
from connect_dagster.kafka.settings import to_kafka_python
from connect_dagster.kafka.settings.java_settings import Settings

RETRY_SECONDS = 0.2


class _Silence:
    """The level of kafka-python's loggers while requests run that want them silent."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)
        self._lock = threading.Lock()
        self._running = 0
        self._level = logging.NOTSET

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Log nothing below CRITICAL meanwhile, in all threads; then the level is what it was."""
        with self._lock:
            if not self._running:
                self._level = self._logger.level
                self._logger.setLevel(logging.CRITICAL)
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._logger.setLevel(self._level)


silence = _Silence("kafka")
"""For requests whose error has in one sentence what kafka-python would log."""


@contextmanager
def open_admin(settings: Settings, *, wait: float, request: float) -> Iterator[KafkaAdminClient]:
    """Open kafka-python's admin client.

    Args:
        settings: in Java's names.
        wait: longest wait for the brokers, in seconds.
        request: bound for each request, in seconds.

    Raises:
        KafkaException: No broker responds, or a request has failed.
        ConfigError: kafka-python has no such login.
    """
    given = {**JAVA_RECONNECT, **settings}
    known = to_kafka_python(settings["bootstrap.servers"], settings.get("client.id", CLIENT_ID), given)
    bounds = {"bootstrap_timeout_ms": int(wait * 1000), "request_timeout_ms": int(request * 1000)}
    try:
        with closing(PythonAdmin(**{**known, **bounds})) as admin:
            yield admin
    except kafka_errors.KafkaError as error:
        raise kafka_exception(error) from error


def kafka_exception(error: kafka_errors.KafkaError) -> KafkaException:
    """Return an error of kafka-python as those of the other clients are."""
    made = KafkaException(KafkaError(getattr(error, "errno", KafkaError._FAIL), str(error)))
    made.__cause__ = error
    return made


def is_temporary(error: KafkaException) -> bool:
    """Return whether a request to kafka-python may succeed when it is repeated."""
    cause = error.__cause__
    return isinstance(cause, kafka_errors.KafkaError) and bool(cause.retriable)


class PythonAdmin(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """kafka-python's admin client, which ends its thread also when it finds no broker.

    It is given settings of kafka-python's other clients, too, some of which it would refuse.
    """

    def __init__(self, **config: Any) -> None:
        try:
            super().__init__(**{name: value for name, value in config.items() if name in self.DEFAULT_CONFIG})
        except kafka_errors.KafkaError:
            self._closed = False
            self.close()
            raise


def ask_anew(settings: Settings, request: Callable[[KafkaAdminClient], Any], timeout: float) -> Any:
    """Return what a request returns; repeat it with a new client, which looks for the coordinators again.

    Raises:
        KafkaException: A coordinator refuses, or none responds in time.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            with open_admin(settings, wait=timeout, request=timeout) as admin:
                return request(admin)
        except KafkaException as error:
            if not is_temporary(error) or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)
