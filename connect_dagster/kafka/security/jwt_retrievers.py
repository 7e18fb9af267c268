"""Where tokens come from: a token endpoint, a file, the user's own class, or the settings themselves.

Java: ``DefaultJwtRetriever`` chooses between ``ClientCredentialsJwtRetriever`` and ``FileJwtRetriever`` by the URL;
``JwtBearerJwtRetriever`` is chosen by its name; without a URL ``OAuthBearerUnsecuredLoginCallbackHandler`` makes tokens
without a signature.
"""

from __future__ import annotations

import base64
import importlib.metadata
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.kafka.security.jwt_assertions import ASSERTION, Assertion
from connect_dagster.kafka.security.token_endpoint import TokenEndpoint
from connect_dagster.plugin.jwt_retriever import JwtRetriever

GROUP = "connect_dagster.jwt_retrievers"
"""Entry points of classes that get tokens."""
ENDPOINT_URL = "sasl.oauthbearer.token.endpoint.url"

_RETRIEVER, _HANDLER = "sasl.oauthbearer.jwt.retriever.class", "sasl.login.callback.handler.class"
_JAVA_PACKAGE = "org.apache.kafka.common.security.oauthbearer."
_BY_ASSERTION, _BY_URL = "JwtBearerJwtRetriever", "DefaultJwtRetriever"
_JAVA_RETRIEVERS = (_BY_URL, "ClientCredentialsJwtRetriever", "FileJwtRetriever", _BY_ASSERTION)
_JAVA_HANDLERS = (
    "OAuthBearerLoginCallbackHandler",
    "secured.OAuthBearerLoginCallbackHandler",
    "internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
)
_FILE = "file"
_UNSECURED_SUBJECT = "unsecuredLoginStringClaim_sub"
_UNSECURED_CLAIMS = "unsecuredLogin"


def retriever_of(settings: Mapping[str, str], options: Mapping[str, str]) -> JwtRetriever:
    """Return what gets the tokens of a login.

    Args:
        settings: of a client in Java's names.
        options: of its login module.

    Raises:
        ConfigError: a setting is missing or wrong.
    """
    own = _declared_class(settings)
    if own is not None:
        retriever = own()
        retriever.configure({k: v for k, v in settings.items() if k.startswith("sasl.")}, options)
        return retriever
    java = settings.get(_RETRIEVER, _BY_URL).removeprefix(_JAVA_PACKAGE)
    url = settings.get(ENDPOINT_URL)
    if url is None:
        if _UNSECURED_SUBJECT not in options:
            raise ConfigError(f"The OAuth configuration option {ENDPOINT_URL} value must be non-null")
        return UnsecuredRetriever(options)
    if urlsplit(url).scheme == _FILE:
        return FileRetriever(url)
    return EndpointRetriever(url, settings, options, is_grant=java == _BY_ASSERTION)


def _declared_class(settings: Mapping[str, str]) -> type[JwtRetriever] | None:
    """Return the class of a distribution that the settings name; ``None`` where they name one of Kafka's, or none."""
    for name, of_kafka in ((_RETRIEVER, _JAVA_RETRIEVERS), (_HANDLER, _JAVA_HANDLERS)):
        given = settings.get(name, "").strip()
        if not given or given.removeprefix(_JAVA_PACKAGE) in of_kafka:
            continue
        points = importlib.metadata.entry_points(group=GROUP)
        found = [one for one in points if given in (one.name, one.value.replace(":", "."))]
        if not found:
            declared = ", ".join(sorted(one.name for one in points)) or "there is none"
            reason = f"Classes of the JVM cannot be called, and of the entry points in {GROUP} none has it: {declared}"
            raise ConfigError.invalid(name, given, reason)
        try:
            made = found[0].load()
        except Exception as error:
            raise ConfigError.invalid(name, given, f"It cannot be imported: {type(error).__name__}: {error}") from error
        if not (isinstance(made, type) and issubclass(made, JwtRetriever)):
            raise ConfigError.invalid(name, given, "It must be a class on connect_dagster.plugin.JwtRetriever")
        return made
    return None


class EndpointRetriever(JwtRetriever):
    """Asks a token endpoint, with a client's secret or an assertion (RFC 6749 4.4, RFC 7523).

    Args:
        url: of the endpoint.
        settings: of a client in Java's names.
        options: of its login module.
        is_grant: whether the assertion is the grant itself, and not that of the client.

    Raises:
        ConfigError: a setting is missing or wrong.
    """

    def __init__(self, url: str, settings: Mapping[str, str], options: Mapping[str, str], *, is_grant: bool) -> None:
        self._endpoint = TokenEndpoint(url, settings, options)
        has_assertion = is_grant or any(name.startswith(ASSERTION) for name in settings)
        self._assertion = Assertion.parse(settings) if has_assertion else None
        self._is_grant = is_grant

    @property
    def has_secret(self) -> bool:
        """Return whether a client's secret is shown, and no assertion."""
        return self._assertion is None

    def retrieve(self) -> str:
        if self._assertion is None:
            return self._endpoint.by_secret()
        return self._endpoint.by_assertion(self._assertion.text(), is_grant=self._is_grant)


class FileRetriever(JwtRetriever):
    """Reads a file with a JWT, again for each renewal: others write it.

    Args:
        url: of the file.
    """

    def __init__(self, url: str) -> None:
        self._file = Path(unquote(urlsplit(url).path))

    def retrieve(self) -> str:
        try:
            return self._file.read_text(encoding="utf-8")
        except OSError as error:
            raise ConnectError(
                f"The token file {self._file} of {ENDPOINT_URL} cannot be read: {error.strerror}"
            ) from error


class UnsecuredRetriever(JwtRetriever):
    """Makes JWTs without a signature, which brokers in development take.

    Args:
        options: ``unsecuredLoginStringClaim_<name>``, ``unsecuredLoginNumberClaim_<name>``,
            ``unsecuredLoginListClaim_<name>`` and ``unsecuredLoginLifetimeSeconds`` of the login module.

    Raises:
        ConfigError: a number is none.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._seconds = _number("unsecuredLoginLifetimeSeconds", options.get("unsecuredLoginLifetimeSeconds", "3600"))
        self._claims: dict[str, Any] = {}
        for name, value in options.items():
            kind, _, claim = name.removeprefix(_UNSECURED_CLAIMS).partition("Claim_")
            if kind == "String":
                self._claims[claim] = value
            elif kind == "Number":
                self._claims[claim] = _number(name, value)
            elif kind == "List":
                # The first character parts the others.
                self._claims[claim] = value[1:].split(value[:1]) if len(value) > 1 else []

    def retrieve(self) -> str:
        now = time.time()
        claims = {"iat": now, "exp": now + self._seconds, **self._claims}
        header, body = (
            base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()
            for part in ({"alg": "none"}, claims)
        )
        return f"{header}.{body}."


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ConfigError.invalid(name, value, "It must be a number") from None
