"""The token of an OAUTHBEARER login, which all clients with the same settings share.

Java: ``LoginManager``, ``ExpiringCredentialRefreshingLogin``. Both client libraries ask here: librdkafka when four
fifths of a token's time are over, kafka-python for each connection and when a broker wants it to log in again.
"""

from __future__ import annotations

import base64
import functools
import json
import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from connect_dagster.errors import ConnectError
from connect_dagster.kafka.security.jaas import LoginModule
from connect_dagster.plugin.config import Type, parse_value
from connect_dagster.plugin.jwt_retriever import BearerToken, JwtRetriever

log = logging.getLogger(__name__)

OAUTHBEARER = "OAUTHBEARER"
_SUBJECT_CLAIM = "sasl.oauthbearer.sub.claim.name"
_EXTENSION = "extension_"
# A client's thread also sends heartbeats: with a valid token it does not wait for a slow endpoint.
_PATIENCE_SECONDS = 1.0
_RETRY_SECONDS = 10.0
"""Java: ``DELAY_SECONDS_BEFORE_NEXT_RETRY_WHEN_RELOGIN_FAILS``."""
_JWT_PARTS = 3


@dataclass(frozen=True, slots=True)
class RefreshConfig:
    """When a token is replaced (Java: ``ExpiringCredentialRefreshConfig``).

    Attributes:
        window_factor: part of the token's time before.
        window_jitter: random part of it that is added.
        min_period_seconds: least time between two renewals.
        buffer_seconds: time before the token's end.
    """

    window_factor: float
    window_jitter: float
    min_period_seconds: int
    buffer_seconds: int

    @classmethod
    def parse(cls, settings: Mapping[str, str]) -> RefreshConfig:
        """Parse Java's settings. Raises ConfigError for a value that is not of its type."""

        def value(name: str, type: Type, default: float) -> Any:
            name = f"sasl.login.refresh.{name}"
            return parse_value(name, settings[name], type) if name in settings else default

        return cls(
            value("window.factor", Type.DOUBLE, 0.8),
            value("window.jitter", Type.DOUBLE, 0.05),
            value("min.period.seconds", Type.SHORT, 60),
            value("buffer.seconds", Type.SHORT, 300),
        )

    def renewal(self, start: float, end: float, jitter: float) -> float:
        """Return when a token is replaced.

        Args:
            start: when it was received, in seconds.
            end: of its time.
            jitter: between 0 and 1.
        """
        proposed = start + (end - start) * (self.window_factor + self.window_jitter * jitter)
        if self.min_period_seconds + self.buffer_seconds >= end - start:
            return proposed
        return min(max(proposed, start + self.min_period_seconds), end - self.buffer_seconds)


class OAuthLogin:
    """A login with tokens; for any thread.

    Args:
        retriever: gets a new token.
        refresh: when it is replaced.
        subject_claim: the claim of a JWT with the principal.
        extensions: sent to the brokers with a token (KIP-342).
        clock: seconds since 1970.
    """

    def __init__(
        self,
        retriever: JwtRetriever,
        refresh: RefreshConfig,
        subject_claim: str = "sub",
        extensions: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.retriever = retriever
        self.extensions = dict(extensions or {})
        self._refresh = refresh
        self._subject_claim = subject_claim
        self._clock = clock
        self._lock = threading.Lock()
        self._token: BearerToken | None = None
        self._renew_at = 0.0
        self._renewal: Future[BearerToken] | None = None

    def token(self, former: BearerToken | None = None) -> BearerToken:
        """Return a valid token, a new one where the last one is about to end.

        Args:
            former: one that is to be replaced, though it may have some time left.

        Raises:
            RetriableError: the last token has ended, and the endpoint does not respond.
            ConnectError: the last token has ended, and the login is refused.
        """
        with self._lock:
            last, now = self._token, self._clock()
            if last is not None and last is not former and now < self._renew_at:
                return last
            renewal = self._begun()
        if last is not None and last.expires_at > now:
            with suppress(ConnectError, FutureTimeout):  # which the renewal logs
                return renewal.result(_PATIENCE_SECONDS)
            if last.expires_at > self._clock():
                return last
        return renewal.result()

    def _begun(self) -> Future[BearerToken]:
        if self._renewal is None:
            self._renewal = Future()
            threading.Thread(target=self._renew, args=(self._renewal,), name="kafka-oauth-login", daemon=True).start()
        return self._renewal

    def _renew(self, renewal: Future[BearerToken]) -> None:
        try:
            now = self._clock()
            token = self._described(self.retriever.retrieve())
            if token.expires_at <= now:
                raise ConnectError("The token that was received is not valid any more: check the clocks, or the file")
        except Exception as error:
            self._fail(renewal, error if isinstance(error, ConnectError) else _named(error))
            return
        with self._lock:
            self._token, self._renewal = token, None
            self._renew_at = self._refresh.renewal(now, token.expires_at, random.random())
        renewal.set_result(token)

    def _fail(self, renewal: Future[BearerToken], error: ConnectError) -> None:
        with self._lock:
            self._renewal = None
            self._renew_at = self._clock() + _RETRY_SECONDS
            is_valid = self._token is not None and self._token.expires_at > self._renew_at
            if not is_valid:
                self._renew_at = 0.0
        if self._token is not None:
            log.warning("The token of a login was not renewed: %s", error)
        renewal.set_exception(error)

    def _described(self, received: str | BearerToken) -> BearerToken:
        if isinstance(received, BearerToken):
            return received
        return _of_jwt(received.strip(), self._subject_claim)


class ClientTokens:
    """The tokens of one client of librdkafka, which asks for the next when four fifths of one's time are over.

    Args:
        login: of the client.
    """

    def __init__(self, login: OAuthLogin) -> None:
        self._login = login
        self._last: BearerToken | None = None

    @property
    def extensions(self) -> dict[str, str]:
        """Return what goes to the brokers with each token (KIP-342)."""
        return self._login.extensions

    def next(self) -> BearerToken:
        """Return the next token of the client, or its last one again until the server gives another.

        Raises ConnectError as :meth:`OAuthLogin.token`.
        """
        # With the same one it would ask too late for the next.
        self._last = token = self._login.token(self._last)
        return token


def shared_login(settings: Mapping[str, str], module: LoginModule) -> OAuthLogin:
    """Return the login of these settings, the same one for all clients that have them.

    Args:
        settings: of a client in Java's names.
        module: of ``sasl.jaas.config``.

    Raises:
        ConfigError: a setting is missing or wrong.
    """
    own = frozenset((name, value) for name, value in settings.items() if name.startswith("sasl."))
    return _login(own, module.class_name, frozenset(module.options.items()))


@functools.lru_cache(maxsize=256)
def _login(settings: frozenset[tuple[str, str]], class_name: str, options: frozenset[tuple[str, str]]) -> OAuthLogin:
    # Only now: a client with another login needs no HTTP library.
    from connect_dagster.kafka.security.jwt_retrievers import retriever_of

    given, of_module = dict(settings), dict(options)
    extensions = {k.removeprefix(_EXTENSION): v for k, v in of_module.items() if k.startswith(_EXTENSION)}
    retriever = retriever_of(given, of_module)
    return OAuthLogin(retriever, RefreshConfig.parse(given), given.get(_SUBJECT_CLAIM, "sub"), extensions)


def _named(error: Exception) -> ConnectError:
    made = ConnectError(f"No token: {type(error).__name__}: {error}")
    made.__cause__ = error
    return made


def _of_jwt(text: str, subject_claim: str) -> BearerToken:
    """Return a JWT with its end and principal; its signature is for the brokers (Java: ``ClientJwtValidator``)."""
    parts = text.split(".")
    try:
        if len(parts) != _JWT_PARTS:
            raise ValueError
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        end, subject = float(claims["exp"]), claims[subject_claim]
    except (ValueError, TypeError):
        raise ConnectError(
            "The token that was received is not a JWT: expected three parts in Base64, parted by ."
        ) from None
    except KeyError as error:
        raise ConnectError(f"The JWT that was received lacks the claim {error.args[0]}") from None
    if not isinstance(subject, str) or not subject:
        raise ConnectError(f"The claim {subject_claim} of the JWT that was received must be a text that is not empty")
    return BearerToken(text, end, subject)
