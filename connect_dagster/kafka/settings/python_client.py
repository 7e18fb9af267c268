"""Java's settings for kafka-python, whose clients join groups of workers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kafka.errors import KafkaConnectionError, SaslAuthenticationFailedError
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.abc import SaslMechanism
from kafka.net.sasl.oauth import AbstractTokenProvider, SaslMechanismOAuth

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.security.oauth_login import OAUTHBEARER, OAuthLogin, shared_login
from connect_dagster.kafka.settings.java_settings import ClientKind, Settings, parsed
from connect_dagster.kafka.settings.security import (
    GSSAPI,
    Login,
    kerberos_login_of,
    login_of,
    tls_context,
)

if TYPE_CHECKING:
    from connect_dagster.kafka.security.kerberos import KerberosLogin

log = logging.getLogger(__name__)
AnyLogin = TypeVar("AnyLogin")


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


def to_kafka_python(bootstrap: str, client_id: str, settings: Settings) -> dict[str, Any]:
    """Translate settings for one of kafka-python's clients.

    Args:
        bootstrap: brokers as ``host:port``, separated by commas.
        client_id: the client's name in the brokers' logs.
        settings: in Java's names, among others that are not for clients.

    Raises:
        ConfigError: a value is not of its type, a store cannot be read, or the login is wrong or refused.
    """
    values = parsed(ClientKind.ADMIN, settings)
    turned = {name: turn(values[java]) for java, (name, turn) in _TAKEN.items() if java in values}
    if (login := login_of(settings)) is not None:
        turned |= {"sasl_mechanism": login.mechanism, **_login_settings(login, settings)}
    if (context := tls_context(settings)) is not None:
        turned |= {"ssl_context": context}
    return {"bootstrap_servers": bootstrap.split(","), "client_id": client_id, **turned}


def _login_settings(login: Login, settings: Settings) -> dict[str, Any]:
    if login.mechanism == OAUTHBEARER:
        tokens = shared_login(settings, login.module)
        return {"sasl_oauth_token_provider": _TokenProvider(_begun(tokens, tokens.token))}
    if (tickets := kerberos_login_of(settings)) is not None:
        return {"sasl_kerberos_name": _begun(tickets, tickets.check)}
    user, password = login.name_and_password
    return {"sasl_plain_username": user, "sasl_plain_password": password}


def _begun(login: AnyLogin, begin: Callable[[], object]) -> AnyLogin:
    """Return a login that has begun, so that a refusal is an error of the client, and not of its connections."""
    try:
        begin()
    except RetriableError as error:
        log.warning("No login yet: %s", error)
    except ConnectError as error:
        raise ConfigError(str(error)) from error
    return login


@contextmanager
def _as_of_kafka() -> Iterator[None]:
    """Raise errors of a login as those of kafka-python: retriable where it may be possible later."""
    try:
        yield
    except RetriableError as error:
        raise KafkaConnectionError(str(error)) from error
    except ConnectError as error:
        raise SaslAuthenticationFailedError(str(error)) from error


class _TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
    """The tokens of a login, for kafka-python.

    Args:
        login: of the client.
    """

    def __init__(self, login: OAuthLogin) -> None:
        self._login = login

    def token(self) -> str:
        """Return a token. Raises KafkaError: retriable where the token endpoint may respond later."""
        with _as_of_kafka():
            return self._login.token().value

    def extensions(self) -> dict[str, str]:
        return self._login.extensions


class _TokenMechanism(SaslMechanismOAuth):  # type: ignore[misc]
    """kafka-python's mechanism, which would wait for a broker's second response and sees the connection end instead."""

    def receive(self, auth_bytes: bytes) -> None:
        if auth_bytes:
            reason = auth_bytes.decode(errors="replace")
            raise SaslAuthenticationFailedError(f"The brokers refuse the token: {reason}")
        super().receive(auth_bytes)


class _KerberosMechanism(SaslMechanism):  # type: ignore[misc]
    """kafka-python's mechanism with the system's library; its own needs a package that systems have to compile."""

    def __init__(self, **config: Any) -> None:
        with _as_of_kafka():
            self._login: KerberosLogin = config["sasl_kerberos_name"]
            self._conversation = self._login.conversation(config["host"])
            self._message: bytes = self._conversation.next(b"")
        self._is_done = False

    def auth_bytes(self) -> bytes:
        return self._message

    def receive(self, auth_bytes: bytes) -> None:
        if self._conversation.done:
            self._is_done = True
            return
        with _as_of_kafka():
            self._message = self._conversation.next(auth_bytes)

    def is_done(self) -> bool:
        return self._is_done

    def is_authenticated(self) -> bool:
        return self._is_done

    def auth_details(self) -> str:
        return f"Logged in as {self._login}"


register_sasl_mechanism(OAUTHBEARER, _TokenMechanism, overwrite=True)
register_sasl_mechanism(GSSAPI, _KerberosMechanism, overwrite=True)
