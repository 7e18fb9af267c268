"""Kafka's ``ssl.*`` settings that a TLS client needs, read into key stores and into Python's own context.

One reading for all: listeners of the REST API, requests to other workers, Kafka clients.
"""

from __future__ import annotations

import logging
import secrets
import ssl
import tempfile
from collections.abc import Sequence
from pathlib import Path

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.cipher_suites import SETTING, TLS_1_2, TLS_1_3, CipherSuites
from connect_dagster.kafka.security.key_stores import KeyStore, read_pem, read_store
from connect_dagster.plugin.config import ConfigDef, Importance, Password, UniqueValues, config_key

log = logging.getLogger(__name__)

_VERSIONS = {TLS_1_2: ssl.TLSVersion.TLSv1_2, TLS_1_3: ssl.TLSVersion.TLSv1_3}


class TlsStores(ConfigDef):
    """Key store, trust store, versions of TLS and cipher suites."""

    keystore_location: str | None = config_key(
        "ssl.keystore.location",
        default=None,
        importance=Importance.HIGH,
        doc="File with the private key and its certificates, PKCS12, JKS or PEM.",
    )
    keystore_password: Password | None = config_key(
        "ssl.keystore.password", default=None, importance=Importance.HIGH, doc="Password of the key store."
    )
    key_password: Password | None = config_key(
        "ssl.key.password",
        default=None,
        importance=Importance.HIGH,
        doc="Password of the private key, when it is PEM or has its own.",
    )
    keystore_key: Password | None = config_key(
        "ssl.keystore.key",
        default=None,
        importance=Importance.HIGH,
        doc="The private key itself, as PEM, instead of a key store.",
    )
    keystore_certificate_chain: Password | None = config_key(
        "ssl.keystore.certificate.chain",
        default=None,
        importance=Importance.HIGH,
        doc="The certificates of the private key, as PEM.",
    )
    truststore_location: str | None = config_key(
        "ssl.truststore.location",
        default=None,
        importance=Importance.HIGH,
        doc="File with trusted certificates, PKCS12, JKS or PEM; by default the system's, and "
        "for the worker's REST API the certificate of its key store.",
    )
    truststore_password: Password | None = config_key(
        "ssl.truststore.password", default=None, importance=Importance.HIGH, doc="Password of the trust store."
    )
    truststore_certificates: Password | None = config_key(
        "ssl.truststore.certificates",
        default=None,
        importance=Importance.HIGH,
        doc="Trusted certificates as PEM, instead of a trust store.",
    )
    enabled_protocols: tuple[str, ...] = config_key(
        "ssl.enabled.protocols",
        default=(TLS_1_2, TLS_1_3),
        validator=UniqueValues(),
        doc="Enabled versions of TLS.",
    )
    cipher_suites: tuple[str, ...] = config_key(
        SETTING,
        default=(),
        importance=Importance.LOW,
        doc="Cipher suites that may be used, by Java's names; a version without one of them is not spoken. With one of "
        "TLSv1.3 its others may be used too, which is logged. By default those that OpenSSL selects.",
    )
    endpoint_identification_algorithm: str = config_key(
        "ssl.endpoint.identification.algorithm",
        default="https",
        importance=Importance.LOW,
        doc="https to check that the other's certificate names its host, empty not to.",
    )

    def key_store(self) -> KeyStore | None:
        """Return the private key with its certificates, if any. Raises ConfigError when they cannot be read."""
        key_password = _text(self.key_password)
        if self.keystore_key is not None or self.keystore_certificate_chain is not None:
            both = f"{_text(self.keystore_key) or ''}\n{_text(self.keystore_certificate_chain) or ''}"
            return read_pem(both, key_password, "ssl.keystore.key with ssl.keystore.certificate.chain")
        if self.keystore_location is None:
            return None
        return read_store(self.keystore_location, _text(self.keystore_password), key_password)

    def trust_store(self) -> KeyStore | None:
        """Return the certificates to trust; ``None`` for the system's. Raises ConfigError when they cannot be read."""
        if self.truststore_certificates is not None:
            return read_pem(self.truststore_certificates.value, None, "ssl.truststore.certificates")
        if self.truststore_location is not None:
            return read_store(self.truststore_location, _text(self.truststore_password))
        return None

    @property
    def checks_host(self) -> bool:
        """Return whether the peer's certificate must name its host."""
        return self.endpoint_identification_algorithm.lower() == "https"

    def client_context(self) -> ssl.SSLContext:
        """Return a context for client connections. Raises ConfigError when a store cannot be read."""
        context = self.context(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.checks_host
        self.trust(context)
        if (store := self.key_store()) is not None:
            load_key(context, store)
        return context

    def context(self, protocol: ssl._SSLMethod) -> ssl.SSLContext:
        """Return a context that speaks the enabled versions with the suites. Raises ConfigError for an unknown one."""
        unknown = [version for version in self.enabled_protocols if version not in _VERSIONS]
        if unknown or not self.enabled_protocols:
            reason = f"One or more of {', '.join(_VERSIONS)}"
            raise ConfigError.invalid("ssl.enabled.protocols", self.enabled_protocols, reason)
        suites = CipherSuites.parse(self.cipher_suites)
        versions = [_VERSIONS[version] for version in versions_with(suites, self.enabled_protocols)]
        context = ssl.SSLContext(protocol)
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        if suites and suites.before_1_3:
            context.set_ciphers(suites.openssl)
        return context

    def warn_of_suites(self, library: str) -> None:
        """Name the suites in the log that are used though they are left out. Raises ConfigError for an unknown one."""
        suites = CipherSuites.parse(self.cipher_suites)
        if suites and suites.unavoidable and TLS_1_3 in self.enabled_protocols:
            names = ", ".join(suites.unavoidable)
            log.warning("%s leaves out %s, which %s still uses with %s", SETTING, names, library, TLS_1_3)

    def trust(self, context: ssl.SSLContext) -> None:
        """Load the certificates to trust into a context. Raises ConfigError when the store cannot be read."""
        # Java takes any certificate for an anchor, OpenSSL by itself only those of authorities.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        if (store := self.trust_store()) is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=store.certificates_pem())


def versions_with(suites: CipherSuites | None, versions: Sequence[str]) -> tuple[str, ...]:
    """Return the versions of TLS that have one of the suites. Raises ConfigError when none has."""
    kept = tuple(version for version in versions if suites is None or version in suites.versions)
    if suites is not None and not kept:
        reason = f"It has no suite of {', '.join(versions)}, which alone may be spoken"
        raise ConfigError.invalid(SETTING, suites.names, reason)
    return kept


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value


def load_key(context: ssl.SSLContext, store: KeyStore, named: str = "The key store of ssl.keystore.*") -> None:
    """Load a key and its certificates into a context.

    Args:
        context: what is to show the certificate.
        store: where they are.
        named: the store, for errors.

    Raises:
        ConfigError: the store has no usable ones.
    """
    if store.key is None or not store.certificates:
        raise ConfigError(f"{named} needs a private key and its certificate")
    # Python reads keys from files only: for a moment there is one, for this user alone, encrypted.
    secret = secrets.token_hex(32)
    with tempfile.TemporaryDirectory(prefix="connect-tls-") as folder:
        file = Path(folder) / "key-and-chain.pem"
        file.write_text(store.key_pem(secret.encode()) + store.certificates_pem())
        try:
            context.load_cert_chain(file, password=secret)
        except ssl.SSLError as error:
            raise ConfigError(f"{named} cannot be used: {error.reason}") from error
