"""Kafka's ``ssl.*`` settings that a TLS client needs, read into key stores and into Python's own context.

One reading for all: listeners of the REST API, requests to other workers, Kafka clients.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from pathlib import Path

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.key_stores import KeyStore, read_pem, read_store
from connect_dagster.plugin.config import ConfigDef, Importance, Password, UniqueValues, config_key

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


class TlsStores(ConfigDef):
    """Key store, trust store and versions of TLS."""

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
        default=("TLSv1.2", "TLSv1.3"),
        validator=UniqueValues(),
        doc="Enabled versions of TLS.",
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
        """Return a context that speaks the enabled versions. Raises ConfigError for an unknown one."""
        unknown = [version for version in self.enabled_protocols if version not in _VERSIONS]
        if unknown or not self.enabled_protocols:
            reason = f"One or more of {', '.join(_VERSIONS)}"
            raise ConfigError.invalid("ssl.enabled.protocols", self.enabled_protocols, reason)
        versions = [_VERSIONS[version] for version in self.enabled_protocols]
        context = ssl.SSLContext(protocol)
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        return context

    def trust(self, context: ssl.SSLContext) -> None:
        """Load the certificates to trust into a context. Raises ConfigError when the store cannot be read."""
        # Java takes any certificate for an anchor, OpenSSL by itself only those of authorities.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        if (store := self.trust_store()) is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=store.certificates_pem())


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value


def load_key(context: ssl.SSLContext, store: KeyStore) -> None:
    """Load a key and its certificates into a context. Raises ConfigError when the store has no usable ones."""
    if store.key is None or not store.certificates:
        raise ConfigError("The key store of ssl.keystore.* needs a private key and its certificate")
    # Python reads keys from files only: for a moment there is one, for this user alone, encrypted.
    secret = secrets.token_hex(32)
    with tempfile.TemporaryDirectory(prefix="connect-tls-") as folder:
        file = Path(folder) / "key-and-chain.pem"
        file.write_text(store.key_pem(secret.encode()) + store.certificates_pem())
        try:
            context.load_cert_chain(file, password=secret)
        except ssl.SSLError as error:
            raise ConfigError(f"The key store of ssl.keystore.* cannot be used: {error.reason}") from error
