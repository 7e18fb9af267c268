"""Requests to a token endpoint of OAuth 2 (Java: ``HttpJwtRetriever`` and its request formatters)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote_plus, urlencode, urlsplit

import requests
from requests.utils import get_environ_proxies

from connect_dagster.backoff import Backoff
from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka.security.tls_adapter import TlsAdapter
from connect_dagster.kafka.security.tls_stores import TlsStores
from connect_dagster.plugin.config import Type, parse_value

_CREDENTIALS = {
    "client id": ("sasl.oauthbearer.client.credentials.client.id", "clientId"),
    "client secret": ("sasl.oauthbearer.client.credentials.client.secret", "clientSecret"),
}
_SCOPE = ("sasl.oauthbearer.scope", "scope")
_URLENCODE = "sasl.oauthbearer.header.urlencode"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_CLIENT_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# Java waits without a limit unless it is set.
_TIMEOUT_MS = 10_000
_RESPONSE_CHARACTERS = 300
# Others may succeed when they are sent again.
_FINAL_STATUSES = frozenset(range(400, 500)) - {408, 425, 429} | {501, 505}


class TokenEndpoint:
    """A token endpoint with the credentials for it; for one thread at a time.

    Args:
        url: its address.
        settings: of a client in Java's names.
        options: of its login module; ``ssl.*`` among them are for the endpoint.

    Raises:
        ConfigError: a setting is wrong, or a store cannot be read.
    """

    def __init__(self, url: str, settings: Mapping[str, str], options: Mapping[str, str]) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            reason = "It must be an address with http:// or https://, or a file:// with a token"
            raise ConfigError.invalid("sasl.oauthbearer.token.endpoint.url", url, reason)
        self._url = url
        self._settings = settings
        self._options = options
        connect, read = (f"sasl.login.{name}.timeout.ms" for name in ("connect", "read"))
        self._timeouts = self._seconds(connect, _TIMEOUT_MS), self._seconds(read, _TIMEOUT_MS)
        self._backoff = Backoff(self._seconds("sasl.login.retry.backoff.ms", 100))
        self._tries_seconds = self._seconds("sasl.login.retry.backoff.max.ms", 10_000)
        tls = TlsStores.parse({name: value for name, value in options.items() if name.startswith("ssl.")})
        self._session = requests.Session()
        self._session.trust_env = False  # names in .netrc would replace the credentials
        self._session.mount("https://", TlsAdapter(tls.client_context()))

    def by_secret(self) -> str:
        """Return a token for a client with its secret. Raises as :meth:`_asked`, or ConfigError without them."""
        given = {what: self._settings.get(name, self._options.get(of)) for what, (name, of) in _CREDENTIALS.items()}
        for what, value in given.items():
            if value is None:
                name, of = _CREDENTIALS[what]
                raise ConfigError(
                    f"The token endpoint {self._url} needs a {what}: set {name}, or {of} in sasl.jaas.config"
                )
        encoded = str(self._settings.get(_URLENCODE, "false")).lower() == "true"
        pair = ":".join(quote_plus(str(value)) if encoded else str(value) for value in given.values())
        basic = base64.b64encode(pair.encode()).decode()
        return self._asked({"grant_type": "client_credentials"}, {"Authorization": f"Basic {basic}"})

    def by_assertion(self, assertion: str, *, is_grant: bool) -> str:
        """Return a token for a signed assertion. Raises as :meth:`_asked`.

        Args:
            assertion: a JWT.
            is_grant: whether it is the grant itself (RFC 7523 2.1), and not that of the client (2.2).
        """
        if is_grant:
            return self._asked({"grant_type": _GRANT, "assertion": assertion}, {})
        client = self._settings.get("sasl.oauthbearer.client.credentials.client.id", self._options.get("clientId"))
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": _CLIENT_ASSERTION,
            "client_assertion": assertion,
        }
        return self._asked(form | ({"client_id": client} if client else {}), {})

    def _asked(self, form: Mapping[str, str], headers: Mapping[str, str]) -> str:
        """Return the token of the response; repeat the request for ``sasl.login.retry.backoff.max.ms``.

        Raises:
            RetriableError: the endpoint does not respond, or responds with an error that may pass.
            ConnectError: it refuses the credentials, or its response has no token.
        """
        name, option = _SCOPE
        scope = self._settings.get(name, self._options.get(option))
        body = urlencode({**form, **({"scope": scope} if scope else {})})
        deadline, tries = time.monotonic() + self._tries_seconds, 0
        while True:
            try:
                return self._token(body, headers)
            except RetriableError:
                tries += 1
                delay = self._backoff.delay(tries)
                if time.monotonic() + delay > deadline:
                    raise
                time.sleep(delay)

    def _token(self, body: str, headers: Mapping[str, str]) -> str:
        kind = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
        try:
            response = self._session.post(
                self._url,
                body,
                headers={**kind, **headers},
                timeout=self._timeouts,
                allow_redirects=False,
                proxies=get_environ_proxies(self._url),
            )
        except requests.RequestException as error:
            raise RetriableError(f"The token endpoint {self._url} does not respond: {error}") from error
        if response.status_code != requests.codes.ok:
            text = f"The token endpoint {self._url} responds with {response.status_code}: {_reason(response)}"
            raise ConnectError(text) if response.status_code in _FINAL_STATUSES else RetriableError(text)
        try:
            found = response.json()
            token = found.get("access_token") or found.get("id_token")
        except (ValueError, AttributeError):
            token = None
        if not isinstance(token, str):
            raise ConnectError(f"The response of the token endpoint {self._url} has no access_token")
        return token

    def _seconds(self, name: str, default: int) -> float:
        """Return a setting in seconds."""
        value: Any = parse_value(name, self._settings[name], Type.LONG) if name in self._settings else default
        return float(value) / 1000


def _reason(response: requests.Response) -> str:
    """Return what an endpoint says of an error (RFC 6749 5.2)."""
    try:
        found = json.loads(response.text)
        return " ".join(str(found[name]) for name in ("error", "error_description") if name in found) or response.reason
    except (ValueError, TypeError):
        return " ".join(response.text.split())[:_RESPONSE_CHARACTERS] or response.reason
