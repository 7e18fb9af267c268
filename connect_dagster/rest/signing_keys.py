"""The public keys that bearer tokens are checked with: a JSON Web Key Set (RFC 7517) in a file, or at a URL.

Java: ``RefreshingHttpsJwks``, ``JwksFileVerificationKeyResolver``.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from urllib.parse import urlsplit

import requests
from joserfc.errors import JoseError
from joserfc.jwk import KeySet
from requests.utils import get_environ_proxies

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.tls_adapter import TlsAdapter
from connect_dagster.kafka.security.tls_stores import TlsStores

log = logging.getLogger(__name__)

# Everybody can send tokens with unknown keys: the server is not asked for each.
_LEAST_SECONDS = 10.0
_TIMEOUT_SECONDS = 10.0


class SigningKeys(ABC):
    """The keys of those who issue tokens; for any thread."""

    @abstractmethod
    def current(self) -> KeySet:
        """Return the keys, without waiting for a server."""

    def renewal(self) -> Future[None] | None:
        """Return the end of a renewal of the keys, for a token whose key is unknown; ``None`` when there is none."""
        return None


class FileKeys(SigningKeys):
    """The keys of a file, read again when it changes; those that were read last while it cannot be read.

    Args:
        file: JSON Web Key Set.

    Raises:
        ConfigError: it cannot be read.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._digest = ""
        self._read()

    def current(self) -> KeySet:
        try:
            self._read()
        except ConfigError as error:
            log.warning("%s; its last keys stay in use", error)
        return self._keys

    def _read(self) -> None:
        try:
            content = Path(self._file).read_bytes()
        except OSError as error:
            raise ConfigError(f"Cannot read the keys in {self._file}: {error.strerror}") from error
        digest = hashlib.sha256(content).hexdigest()
        if digest != self._digest:
            self._keys, self._digest = _key_set(content, f"The file {self._file}"), digest


class EndpointKeys(SigningKeys):
    """The keys of a server, asked for again after a time, and when a token has an unknown one.

    Args:
        url: of the JSON Web Key Set.
        ssl: Kafka's ``ssl.*`` settings for it.
        refresh_seconds: after which it is asked again.
        clock: seconds of a monotonic clock.

    Raises:
        ConfigError: the URL or a store is wrong, the server does not respond, or its response has no keys.
    """

    def __init__(
        self,
        url: str,
        ssl: Mapping[str, str] | None = None,
        refresh_seconds: float = 3600.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ConfigError(f"The address of the signing keys must begin with http:// or https://: {url}")
        self._url = url
        self._refresh_seconds = refresh_seconds
        self._clock = clock
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.mount("https://", TlsAdapter(TlsStores.parse(ssl or {}).client_context()))
        self._lock = threading.Lock()
        self._renewal: Future[None] | None = None
        self._next = self._earliest = -math.inf
        self._keys = self._asked()
        self._next = clock() + refresh_seconds

    def current(self) -> KeySet:
        with self._lock:
            if self._clock() >= self._next:
                self._begin()
            return self._keys

    def renewal(self) -> Future[None] | None:
        """Return the end of a renewal; ``None`` within ten seconds of the last one's begin."""
        with self._lock:
            self._begin()
            return self._renewal

    def _begin(self) -> None:
        """Begin a renewal, unless one runs or has just been; the lock is held."""
        now = self._clock()
        if self._renewal is None and now >= self._earliest:
            self._earliest = now + _LEAST_SECONDS
            self._renewal = Future()
            threading.Thread(target=self._renew, args=(self._renewal,), name="rest-signing-keys", daemon=True).start()

    def _renew(self, renewal: Future[None]) -> None:
        keys, error = None, None
        try:
            keys = self._asked()
        except Exception as found:
            error = found
        with self._lock:
            self._renewal = None
            self._keys = keys or self._keys
            self._next = self._clock() + (self._refresh_seconds if error is None else _LEAST_SECONDS)
        if error is not None:
            log.warning("%s; the last keys stay in use", error)
        renewal.set_result(None)

    def _asked(self) -> KeySet:
        try:
            response = self._session.get(
                self._url,
                headers={"Accept": "application/json"},
                timeout=_TIMEOUT_SECONDS,
                allow_redirects=False,
                proxies=get_environ_proxies(self._url),
            )
        except requests.RequestException as error:
            raise ConfigError(f"The server of signing keys {self._url} does not respond: {error}") from error
        if response.status_code != requests.codes.ok:
            raise ConfigError(
                f"The server of signing keys {self._url} responds with {response.status_code} {response.reason}"
            )
        return _key_set(response.content, f"The response of {self._url}")


def _key_set(content: bytes, named: str) -> KeySet:
    try:
        return KeySet.import_key_set(json.loads(content))
    except (JoseError, ValueError, LookupError, TypeError) as error:
        raise ConfigError(f"{named} holds no JSON Web Key Set: {error}") from error
