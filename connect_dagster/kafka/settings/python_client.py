"""Java's settings for kafka-python, whose clients join groups of workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.settings.java_settings import ClientKind, Settings, parsed
from connect_dagster.kafka.settings.security import Login, login_of, tls_context

_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def _or_systems(size: int) -> int | None:
    return size if size >= 0 else None


# Java name -> kafka-python's name and how to turn the value. Others mean nothing to it, or are read above.
_TAKEN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "request.timeout.ms": ("request_timeout_ms", int),
    "reconnect.backoff.ms": ("reconnect_backoff_ms", int),
    "reconnect.backoff.max.ms": ("reconnect_backoff_max_ms", int),
    "retry.backoff.ms": ("retry_backoff_ms", int),
    "socket.connection.setup.timeout.ms": ("socket_connection_setup_timeout_ms", int),
    "socket.connection.setup.timeout.max.ms": ("socket_connection_setup_timeout_max_ms", int),
    "connections.max.idle.ms": ("connections_max_idle_ms", int),
    "metadata.max.age.ms": ("metadata_max_age_ms", int),
    "client.dns.lookup": ("client_dns_lookup", str),
    "send.buffer.bytes": ("send_buffer_bytes", _or_systems),
    "receive.buffer.bytes": ("receive_buffer_bytes", _or_systems),
    "security.protocol": ("security_protocol", str.upper),
}


def python_login(settings: Settings) -> Login | None:
    """Return the login of settings; ``None`` when their protocol has none.

    Raises:
        ConfigError: it is malformed, or none that kafka-python has.
    """
    login = login_of(settings)
    if login is not None and login.mechanism not in _MECHANISMS:
        reason = f"Groups are joined, and their offsets asked for, with one of: {', '.join(_MECHANISMS)}"
        raise ConfigError.invalid("sasl.mechanism", login.mechanism, reason)
    return login


def to_kafka_python(bootstrap: str, client_id: str, settings: Settings) -> dict[str, Any]:
    """Translate settings for one of kafka-python's clients.

    Args:
        bootstrap: brokers as ``host:port``, separated by commas.
        client_id: the client's name in the brokers' logs.
        settings: in Java's names, among others that are not for clients.

    Raises:
        ConfigError: a value is not of its type, a store cannot be read, or the login is none that kafka-python has.
    """
    values = parsed(ClientKind.ADMIN, settings)
    turned = {name: turn(values[java]) for java, (name, turn) in _TAKEN.items() if java in values}
    if (login := python_login(settings)) is not None:
        user, password = login.name_and_password
        turned |= {"sasl_mechanism": login.mechanism, "sasl_plain_username": user, "sasl_plain_password": password}
    if (context := tls_context(settings)) is not None:
        turned |= {"ssl_context": context}
    return {"bootstrap_servers": bootstrap.split(","), "client_id": client_id, **turned}
