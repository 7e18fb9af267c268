"""Java's settings for kafka-python, whose clients join groups of workers."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.oauth import AbstractTokenProvider, SaslMechanismOAuth

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.security.oauth_login import OAUTHBEARER, OAuthLogin, shared_login
from connect_dagster.kafka.settings.java_settings import ClientKind, Settings, parsed
from connect_dagster.kafka.settings.security import Login, login_of, tls_context

log = logging.getLogger(__name__)

_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER)


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
        turned |= {"sasl_mechanism": login.mechanism, **_login_settings(login, settings)}
    if (context := tls_context(settings)) is not None:
        turned |= {"ssl_context": context}
    return {"bootstrap_servers": bootstrap.split(","), "client_id": client_id, **turned}


def _login_settings(login: Login, settings: Settings) -> dict[str, Any]:
    if login.mechanism == OAUTHBEARER:
        return {"sasl_oauth_token_provider": _TokenProvider(_begun(shared_login(settings, login.module)))}
    user, password = login.name_and_password
    return {"sasl_plain_username": user, "sasl_plain_password": password}


def _begun(login: OAuthLogin) -> OAuthLogin:
    """Return a login that has a token, so that a refusal is an error of the client, and not of its connections."""
    try:
        login.token()
    except RetriableError as error:
        log.warning("No token yet: %s", error)
    except ConnectError as error:
        raise ConfigError(str(error)) from error
    return login


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """The tokens of a login, for kafka-python.

    Args:
        login: of the client.
    """

    def __init__(self, login: OAuthLogin) -> None:
        self._login = login

    def token(self) -> str:
        """Return a token. Raises KafkaError: retriable where the token endpoint may respond later."""
        try:
            return self._login.token().value
        except RetriableError as error:
            raise KafkaConnectionError(str(error)) from error
        except ConnectError as error:
            raise SaslAuthenticationFailedError(str(error)) from error

    def extensions(self) -> dict[str, str]:
        return self._login.extensions


class _TokenMechanism(SaslMechanismOAuth):  # type: ignore[misc]
    """kafka-python's mechanism, which would wait for a broker's second response and sees the connection end instead."""

    def receive(self, auth_bytes: bytes) -> None:
        if auth_bytes:
            reason = auth_bytes.decode(errors="replace")
            raise SaslAuthenticationFailedError(f"The brokers refuse the token: {reason}")
        super().receive(auth_bytes)


register_sasl_mechanism(OAUTHBEARER, _TokenMechanism, overwrite=True)
