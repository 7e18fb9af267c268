"""Modes of TLS for connections to servers: what is encrypted, and what is checked of the server's certificate."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from connect_dagster.kafka.security.tls_stores import TlsStores


class MySqlTlsMode(Enum):
    """``database.ssl.mode`` of the MySQL connector."""

    DISABLED = "disabled"
    PREFERRED = "preferred"
    REQUIRED = "required"
    VERIFY_CA = "verify_ca"
    VERIFY_IDENTITY = "verify_identity"


class MariaDbTlsMode(Enum):
    """``database.ssl.mode`` of the MariaDB connector."""

    DISABLE = "disable"
    TRUST = "trust"
    VERIFY_CA = "verify-ca"
    VERIFY_FULL = "verify-full"


TlsMode = MySqlTlsMode | MariaDbTlsMode


@dataclass(frozen=True, slots=True)
class TlsDemands:
    """Demands of a mode.

    Attributes:
        encrypted: whether TLS is used.
        plain_instead: whether a server without TLS is taken as well.
        certificate: whether a trusted authority must have signed the server's certificate.
        host: whether the certificate must name the host.
    """

    encrypted: bool = True
    plain_instead: bool = False
    certificate: bool = False
    host: bool = False


DEMANDS: Mapping[TlsMode, TlsDemands] = {
    MySqlTlsMode.DISABLED: TlsDemands(encrypted=False),
    MySqlTlsMode.PREFERRED: TlsDemands(plain_instead=True),
    MySqlTlsMode.REQUIRED: TlsDemands(),
    MySqlTlsMode.VERIFY_CA: TlsDemands(certificate=True),
    MySqlTlsMode.VERIFY_IDENTITY: TlsDemands(certificate=True, host=True),
    MariaDbTlsMode.DISABLE: TlsDemands(encrypted=False),
    MariaDbTlsMode.TRUST: TlsDemands(),
    MariaDbTlsMode.VERIFY_CA: TlsDemands(certificate=True),
    MariaDbTlsMode.VERIFY_FULL: TlsDemands(certificate=True, host=True),
}


@dataclass(frozen=True, slots=True)
class StoreFile:
    """A file with a key or with certificates, PKCS12, JKS or PEM."""

    location: str
    password: str | None = None


def client_context(demands: TlsDemands, keys: StoreFile | None, trusted: StoreFile | None) -> ssl.SSLContext:
    """Return the TLS context of a connection.

    Args:
        demands: of the mode.
        keys: the client's own key and certificate, if it has one.
        trusted: certificates to trust; ``None`` for the system's.

    Raises:
        ConfigError: a file cannot be read, or has no key where one is needed.
    """
    settings = {"ssl.endpoint.identification.algorithm": "https" if demands.host else ""}
    settings |= _settings("ssl.keystore", keys)
    if demands.certificate:  # otherwise no certificate is looked at, and Java does not read the file either
        settings |= _settings("ssl.truststore", trusted)
    context = TlsStores.parse(settings).client_context()
    if not demands.certificate:
        context.verify_mode = ssl.CERT_NONE
    return context


def _settings(prefix: str, store: StoreFile | None) -> dict[str, str]:
    if store is None:
        return {}
    password = {} if store.password is None else {f"{prefix}.password": store.password}
    return {f"{prefix}.location": store.location, **password}
