"""TLS for listeners and for requests to other workers, from Kafka's ``ssl.*`` settings (Java: ``SSLUtils``).

A prefix such as ``listeners.https.`` replaces all of them: with one setting under it, none without it counts.
"""

from __future__ import annotations

import secrets
import ssl
import tempfile
from collections.abc import Mapping
from pathlib import Path

from connect_dagster.plugin.config import ConfigDef, Importance, Password, Type, UniqueValues, one_of, setting
from connect_dagster.plugin.errors import ConfigError
from connect_dagster.rest.key_stores import KeyStore, read_pem, read_store

LISTENERS_PREFIX = "listeners.https."
ADMIN_PREFIX = "admin.listeners.https."

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {
    "required": ssl.VerifyMode.CERT_REQUIRED,
    "requested": ssl.VerifyMode.CERT_OPTIONAL,
    "none": ssl.VerifyMode.CERT_NONE,
}


class TlsSettings(ConfigDef):
    """Kafka's ``ssl.*`` settings, as far as they say something to this worker."""

    keystore_location: str | None = setting(
        "ssl.keystore.location",
        type=Type.STRING,
        default=None,
        importance=Importance.HIGH,
        doc="File with the private key and its certificates, PKCS12 or PEM.",
    )
    keystore_password: Password | None = setting(
        "ssl.keystore.password",
        type=Type.PASSWORD,
        default=None,
        importance=Importance.HIGH,
        doc="Password of the key store.",
    )
    key_password: Password | None = setting(
        "ssl.key.password",
        type=Type.PASSWORD,
        default=None,
        importance=Importance.HIGH,
        doc="Password of the private key, when it is PEM.",
    )
    keystore_key: Password | None = setting(
        "ssl.keystore.key",
        type=Type.PASSWORD,
        default=None,
        importance=Importance.HIGH,
        doc="The private key itself, as PEM, instead of a key store.",
    )
    keystore_certificate_chain: Password | None = setting(
        "ssl.keystore.certificate.chain",
        type=Type.PASSWORD,
        default=None,
        importance=Importance.HIGH,
        doc="The certificates of the private key, as PEM.",
    )
    truststore_location: str | None = setting(
        "ssl.truststore.location",
        type=Type.STRING,
        default=None,
        importance=Importance.HIGH,
        doc="File with certificates of those who are trusted, PKCS12 or PEM; by default the worker's own certificate.",
    )
    truststore_password: Password | None = setting(
        "ssl.truststore.password",
        type=Type.PASSWORD,
        default=None,
        importance=Importance.HIGH,
        doc="Password of the trust store.",
    )
    truststore_certificates: Password | None = setting(
        "ssl.truststore.certificates",
        type=Type.PASSWORD,
        default=None,
        importance=Importance.HIGH,
        doc="Certificates of those who are trusted, as PEM, instead of a trust store.",
    )
    enabled_protocols: tuple[str, ...] = setting(
        "ssl.enabled.protocols",
        type=Type.LIST,
        default=("TLSv1.2", "TLSv1.3"),
        doc="Versions of TLS that may be spoken.",
        validator=UniqueValues(),
    )
    client_auth: str = setting(
        "ssl.client.auth",
        type=Type.STRING,
        default="none",
        importance=Importance.LOW,
        doc="Whether clients must show a certificate that is trusted: required, requested or none.",
        validator=one_of(*_CLIENT_AUTH),
    )
    endpoint_identification_algorithm: str = setting(
        "ssl.endpoint.identification.algorithm",
        type=Type.STRING,
        default="https",
        importance=Importance.LOW,
        doc="https to check that another worker's certificate names its host, empty not to.",
    )
    cipher_suites: tuple[str, ...] = setting(
        "ssl.cipher.suites",
        type=Type.LIST,
        default=(),
        importance=Importance.LOW,
        doc="Must be left out: this worker speaks the suites that Python considers safe.",
    )

    @classmethod
    def of(cls, properties: Mapping[str, str], prefix: str) -> TlsSettings:
        """The settings under a prefix if there are any, else those without (Java: ``valuesWithPrefixAllOrNothing``).

        Raises:
            ConfigError: a setting is wrong, or cannot be followed.
        """
        prefixed = {name.removeprefix(prefix): value for name, value in properties.items() if name.startswith(prefix)}
        settings = cls.parse(prefixed or properties)
        if settings.cipher_suites:
            raise ConfigError.invalid("ssl.cipher.suites", settings.cipher_suites, "Leave it out; see its description")
        return settings

    def server_context(self) -> ssl.SSLContext:
        """For a listener. Raises ConfigError when there is no key, or a store cannot be read."""
        store = self._key_store()
        if store is None:
            raise ConfigError(
                "A listener with https needs ssl.keystore.location, or ssl.keystore.key and "
                f"ssl.keystore.certificate.chain, each also with the prefix {LISTENERS_PREFIX}"
            )
        context = self._context(ssl.PROTOCOL_TLS_SERVER)
        _load_key(context, store)
        context.verify_mode = _CLIENT_AUTH[self.client_auth]
        if context.verify_mode is not ssl.VerifyMode.CERT_NONE:
            self._trust(context)
        return context

    def client_context(self) -> ssl.SSLContext:
        """For requests to other workers. Raises ConfigError when a store cannot be read."""
        context = self._context(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.endpoint_identification_algorithm.lower() == "https"
        self._trust(context)
        if (store := self._key_store()) is not None:
            _load_key(context, store)
        return context

    def _context(self, protocol: ssl._SSLMethod) -> ssl.SSLContext:
        unknown = [version for version in self.enabled_protocols if version not in _VERSIONS]
        if unknown or not self.enabled_protocols:
            reason = f"One or more of {', '.join(_VERSIONS)}"
            raise ConfigError.invalid("ssl.enabled.protocols", self.enabled_protocols, reason)
        versions = [_VERSIONS[version] for version in self.enabled_protocols]
        context = ssl.SSLContext(protocol)
        context.minimum_version, context.maximum_version = min(versions), max(versions)
        return context

    def _key_store(self) -> KeyStore | None:
        key_password = _text(self.key_password)
        if self.keystore_key is not None or self.keystore_certificate_chain is not None:
            both = f"{_text(self.keystore_key) or ''}\n{_text(self.keystore_certificate_chain) or ''}"
            return read_pem(both, key_password, "ssl.keystore.key with ssl.keystore.certificate.chain")
        if self.keystore_location is None:
            return None
        return read_store(self.keystore_location, _text(self.keystore_password), key_password)

    def _trust(self, context: ssl.SSLContext) -> None:
        # Java takes any certificate for an anchor, OpenSSL by itself only those of authorities.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        if (store := self._trust_store()) is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=store.certificates_pem())

    def _trust_store(self) -> KeyStore | None:
        if self.truststore_certificates is not None:
            return read_pem(self.truststore_certificates.value, None, "ssl.truststore.certificates")
        if self.truststore_location is not None:
            return read_store(self.truststore_location, _text(self.truststore_password))
        # As Jetty does: a worker without a trust store trusts those who have its own key.
        own = self._key_store()
        return None if own is None else KeyStore(own.certificates[:1])


def _text(password: Password | None) -> str | None:
    return None if password is None else password.value


def _load_key(context: ssl.SSLContext, store: KeyStore) -> None:
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
