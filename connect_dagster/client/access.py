"""Access to a worker's REST API: who asks, which certificate is shown, and which are trusted.

One description for the command line and Dagster's resources, made into the session of the HTTP client. Independent of
what is asked.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import certifi
import requests
from requests.auth import AuthBase, HTTPBasicAuth

import connect_dagster
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.key_stores import KeyStore, read_pem, read_store
from connect_dagster.kafka.security.tls_adapter import TlsAdapter
from connect_dagster.kafka.security.tls_stores import TlsStores, load_key


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials and TLS settings for a worker's REST API.

    Attributes:
        username: For basic authentication; None for none.
        password: The user's.
        token: Bearer token; None for none.
        token_file: File with it, read for each request, as tokens are renewed.
        headers: Sent with each request, such as a proxy's token.
        verify: Whether to check the certificate of ``https``.
        ca_file: PEM, PKCS12 or JKS with the certificates to check it with; those of certifi by default.
        ca_password: Password of that store.
        cert_file: The client's certificate with its chain as PEM, or PEM, PKCS12 or JKS with its key as well.
        key_file: The private key as PEM, when it is in a separate file.
        key_password: Password of the key, or of the store.
    """

    username: str | None = None
    password: str | None = None
    token: str | None = None
    token_file: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    verify: bool = True
    ca_file: str | None = None
    ca_password: str | None = None
    cert_file: str | None = None
    key_file: str | None = None
    key_password: str | None = None

    def session(self, url: str) -> requests.Session:
        """Return a session that asks with these credentials.

        Args:
            url: Of the worker; files of certificates are read for ``https`` alone.

        Raises:
            ConfigError: Two kinds of credentials are given, a certificate is to be shown without TLS, or a file of
                certificates or keys cannot be read.
        """
        session = requests.Session()
        # Requests to workers never go through a proxy of the environment.
        session.trust_env = False
        session.headers["User-Agent"] = f"connect-dagster/{connect_dagster.__version__}"
        session.headers.update(self.headers)
        session.auth = self._authentication()
        session.verify = self.verify
        if url.lower().startswith("https:"):
            session.mount("https://", TlsAdapter(self._tls()))
        elif self.cert_file is not None:
            raise ConfigError(f"The client certificate {self.cert_file} is shown to addresses with https only")
        return session

    def _authentication(self) -> AuthBase | None:
        given = [name for name in ("username", "token", "token_file") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ConfigError(f"Give one of username, token and token_file to ask as; there are {' and '.join(given)}")
        if self.username is not None:
            return HTTPBasicAuth(self.username, self.password or "")
        return _Bearer(self) if given else None

    def _tls(self) -> ssl.SSLContext:
        context = TlsStores.parse({}).context(ssl.PROTOCOL_TLS_CLIENT)
        if not self.verify:
            context.check_hostname = False
            context.verify_mode = ssl.VerifyMode.CERT_NONE
        elif self.ca_file is None:
            context.load_verify_locations(certifi.where())
        else:
            # As for Kafka's trust stores: the certificate of a server is trusted as well as those of authorities.
            context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
            trusted = read_store(self.ca_file, self.ca_password)
            context.load_verify_locations(cadata=trusted.certificates_pem())
        if (store := self._key_store()) is not None:
            load_key(context, store, f"The file {self.cert_file}")
        return context

    def _key_store(self) -> KeyStore | None:
        if self.cert_file is None:
            if self.key_file is not None:
                raise ConfigError(f"The key {self.key_file} needs its certificate: give cert_file")
            return None
        if self.key_file is None:
            return read_store(self.cert_file, self.key_password, self.key_password)
        both = f"{_text_of(self.cert_file)}\n{_text_of(self.key_file)}"
        return read_pem(both, self.key_password, f"{self.cert_file} with {self.key_file}")


class _Bearer(AuthBase):
    """Bearer token of an access (RFC 6750)."""

    def __init__(self, access: Access) -> None:
        self._access = access

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the token. Raises ConfigError when its file cannot be read or is empty."""
        file = self._access.token_file
        token = self._access.token if file is None else _text_of(file).strip()
        if not token:
            raise ConfigError("The bearer token is empty" if file is None else f"The token file {file} is empty")
        request.headers["Authorization"] = f"Bearer {token}"
        return request


def _text_of(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigError(f"Cannot read {file}: {reason}") from error
