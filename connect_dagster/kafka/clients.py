"""Makes librdkafka's clients from Java's settings."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from connect_dagster.errors import ConfigError, ConnectError, java_text
from connect_dagster.kafka.client_log import client_logger
from connect_dagster.kafka.client_settings import ClientKind, to_librdkafka
from connect_dagster.kafka.client_settings.java_settings import Settings

log = logging.getLogger(__name__)
Client = TypeVar("Client")

_UNKNOWN = re.compile(r'No such configuration property: "([^"]+)"')
_NO_EXTRA: Mapping[str, Any] = {}


def producer(settings: Settings, extra: Mapping[str, Any] = _NO_EXTRA) -> Producer:
    """A producer.

    Args:
        settings: Java's; what nobody knows is named in a warning, as Java does.
        extra: librdkafka's own, which go before.

    Raises:
        ConfigError: a value is refused, or a store or login module cannot be read; names the client.
    """
    return _built(lambda config: Producer(config), ClientKind.PRODUCER, settings, extra)


def consumer(settings: Settings, extra: Mapping[str, Any] = _NO_EXTRA) -> Consumer:
    """A consumer; as :func:`producer`."""
    return _built(lambda config: Consumer(config), ClientKind.CONSUMER, settings, extra)


def admin(settings: Settings, extra: Mapping[str, Any] = _NO_EXTRA) -> AdminClient:
    """An admin client; as :func:`producer`."""
    return _built(lambda config: AdminClient(config), ClientKind.ADMIN, settings, extra)


def _built(
    make: Callable[[dict[str, Any]], Client], kind: ClientKind, settings: Settings, extra: Mapping[str, Any]
) -> Client:
    named = f"Failed to construct kafka {kind.value} {settings.get('client.id', '')}".rstrip()
    try:
        config: dict[str, Any] = {"logger": client_logger(), **to_librdkafka(kind, settings), **extra}
    except ConfigError as error:
        raise ConfigError(f"{named}: {error.message}") from error
    unknown: list[str] = []
    while True:
        try:
            client = make(config)
            break
        except (KafkaException, ValueError) as error:
            found = _UNKNOWN.search(str(error))
            if found is None or config.pop(found.group(1), None) is None:
                raise ConfigError(f"{named}: {_text(error)}") from error
            unknown.append(found.group(1))
    if unknown:
        log.warning("These configurations '%s' were supplied but are not used yet.", java_text(unknown))
    return client


def _text(error: Exception) -> str:
    cause = error.args[0] if error.args else error
    return cause.str() if isinstance(cause, KafkaError) else str(cause)


def refusal(client_id: str, error: KafkaError) -> ConnectError | None:
    """What a client is told once and for all: its login or its certificate is refused (Java:
    ``AuthenticationException``). Other errors pass, and librdkafka goes on trying.

    Args:
        client_id: the client's name.
        error: as librdkafka's ``error_cb`` gets it.
    """
    text = error.str()
    if error.code() == KafkaError._AUTHENTICATION or (error.code() == KafkaError._SSL and "certificate" in text):
        return ConnectError(f"The brokers refuse client {client_id}: {text}")
    return None
