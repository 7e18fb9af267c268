"""TLS for listeners and for requests to other workers, from Kafka's ``ssl.*`` settings (Java: ``SSLUtils``).

A prefix such as ``listeners.https.`` replaces all of them: with one setting under it, none without it counts.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.key_stores import KeyStore
from connect_dagster.kafka.security.tls_stores import TlsStores, load_key
from connect_dagster.plugin.config import Importance, config_key, one_of, under_prefix

LISTENERS_PREFIX = "listeners.https."
ADMIN_PREFIX = "admin.listeners.https."

_CLIENT_AUTH = {
    "required": ssl.VerifyMode.CERT_REQUIRED,
    "requested": ssl.VerifyMode.CERT_OPTIONAL,
    "none": ssl.VerifyMode.CERT_NONE,
}


class TlsSettings(TlsStores):
    """Kafka's ``ssl.*`` settings, as far as they have an effect here."""

    client_auth: str = config_key(
        "ssl.client.auth",
        default="none",
        importance=Importance.LOW,
        validator=one_of(*_CLIENT_AUTH),
        doc="Whether clients must show a certificate that is trusted: required, requested or none.",
    )

    @classmethod
    def of(cls, properties: Mapping[str, str], prefix: str) -> TlsSettings:
        """The settings under a prefix if there are any, else those without (Java: ``valuesWithPrefixAllOrNothing``).

        Raises:
            ConfigError: a setting is wrong.
        """
        return cls.parse(under_prefix(properties, prefix) or properties)

    def server_context(self) -> ssl.SSLContext:
        """For a listener. Raises ConfigError when the key is missing, or a store cannot be read."""
        store = self.key_store()
        if store is None:
            raise ConfigError(
                "A listener with https needs ssl.keystore.location, or ssl.keystore.key and "
                f"ssl.keystore.certificate.chain, each also with the prefix {LISTENERS_PREFIX}"
            )
        context = self.context(ssl.PROTOCOL_TLS_SERVER)
        self.warn_of_suites("Python's ssl module")
        load_key(context, store)
        context.verify_mode = _CLIENT_AUTH[self.client_auth]
        if context.verify_mode is not ssl.VerifyMode.CERT_NONE:
            self.trust(context)
        return context

    def trust_store(self) -> KeyStore | None:
        if (store := super().trust_store()) is not None:
            return store
        # As Jetty does: a worker without a trust store trusts those who have its own key.
        own = self.key_store()
        return None if own is None else KeyStore(own.certificates[:1])
