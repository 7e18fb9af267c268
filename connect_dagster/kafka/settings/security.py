"""``security.protocol``, ``sasl.*`` and ``ssl.*``: logins and certificates of Kafka clients.

Stores are read here and passed as PEM or as Python's own TLS context, so that JKS, PKCS12 and PEM are the same to
all clients. Mechanisms: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER and GSSAPI. Tokens come from
``kafka.security.oauth_login`` for all clients, tickets of Kerberos from ``kafka.security.kerberos``; librdkafka, which
lacks GSSAPI, connects by ``kafka.security.sasl_relay``.
"""

from __future__ import annotations

import functools
import logging
import os
import ssl
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.cipher_suites import SETTING, TLS_1_2, TLS_1_3, CipherSuites
from connect_dagster.kafka.security.jaas import (
    FILE_PROPERTY,
    OPTIONS_VARIABLE,
    LoginModule,
    login_modules,
    parse_modules,
)
from connect_dagster.kafka.security.oauth_login import OAUTHBEARER, ClientTokens, shared_login
from connect_dagster.kafka.security.tls_stores import TlsStores, versions_with
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.config import Type, one_of_ignoring_case, parse_value

if TYPE_CHECKING:
    from connect_dagster.kafka.security.kerberos import KerberosLogin
    from connect_dagster.kafka.security.sasl_relay import SaslRelay

log = logging.getLogger(__name__)

_LOGIN_ENTRY = "KafkaClient"
_PROTOCOL, _MECHANISM, _JAAS = "security.protocol", "sasl.mechanism", "sasl.jaas.config"
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
GSSAPI = "GSSAPI"
MECHANISMS = (*_PASSWORDS, OAUTHBEARER, GSSAPI)
"""The logins of all clients."""
_VERSIONS, _VERSION, _ENGINE = "ssl.enabled.protocols", "ssl.protocol", "ssl.engine.factory.class"
# librdkafka has no setting for versions. It can never use these suites, and those of TLS 1.3 are not affected.
_NO_SUITES_BEFORE_1_3 = "PSK"
# Clients that start at once would miss the cache together, and get relays with different secrets.
_MAKING_RELAYS = threading.Lock()


@dataclass(frozen=True, slots=True)
class Login:
    """A mechanism with its login module."""

    mechanism: str
    module: LoginModule

    @property
    def name_and_password(self) -> tuple[str, str]:
        """Return name and password for PLAIN and SCRAM. Raises ConfigError when one is missing."""
        options = self.module.options
        if "username" not in options or "password" not in options:
            missing = "password" if "username" in options else "username"
            raise ConfigError(f"The login module of {_JAAS} lacks the option {missing}, which {self.mechanism} needs")
        return options["username"], options["password"]


def login_of(settings: Settings) -> Login | None:
    """Return the login of settings; ``None`` when their protocol has none.

    Raises:
        ConfigError: the mechanism is unknown, or the login module is missing, malformed, or not the only one.
    """
    if not _protocol(settings).startswith("SASL_"):
        return None
    mechanism = settings.get(_MECHANISM, GSSAPI).strip()
    if mechanism not in MECHANISMS:
        raise ConfigError.invalid(_MECHANISM, mechanism, f"It must be one of: {', '.join(MECHANISMS)}")
    line = settings.get(_JAAS)
    modules = parse_modules(line) if line is not None else _modules_of_file()
    if not modules:
        raise ConfigError("JAAS config property does not contain any login modules")
    if len(modules) > 1:
        raise ConfigError(f"JAAS config property contains {len(modules)} login modules, should be 1 module")
    return Login(mechanism, modules[0])


def _modules_of_file() -> list[LoginModule]:
    if FILE_PROPERTY not in os.environ.get(OPTIONS_VARIABLE, ""):
        raise ConfigError(
            f"Could not find a '{_LOGIN_ENTRY}' entry in the JAAS configuration. System property "
            f"'java.security.auth.login.config' is not set, and there is no {_JAAS}"
        )
    return login_modules(_LOGIN_ENTRY, os.environ)


def client_tokens(settings: Settings) -> ClientTokens | None:
    """Return the tokens of a client of librdkafka; ``None`` for another mechanism.

    Gets the first one at once, so that a refusal is an error of the client, and not of its connections.

    Raises:
        RetriableError: the token endpoint does not respond.
        ConnectError: a setting is wrong, or the login is refused.
    """
    login = login_of(settings)
    if login is None or login.mechanism != OAUTHBEARER:
        return None
    shared = shared_login(settings, login.module)
    shared.token()
    return ClientTokens(shared)


def kerberos_login_of(settings: Settings) -> KerberosLogin | None:
    """Return the login with tickets of Kerberos; ``None`` for another mechanism. Raises ConfigError as it."""
    login = login_of(settings)
    if login is None or login.mechanism != GSSAPI:
        return None
    # Only now: a client with another login needs no library of Kerberos.
    from connect_dagster.kafka.security.kerberos import KerberosLogin

    return KerberosLogin.parse(settings, login.module)


def relay_of(settings: Settings) -> SaslRelay | None:
    """Return what librdkafka's client connects by; ``None`` where it connects to the brokers. Raises ConfigError.

    Args:
        settings: of the client; all clients with the same login and stores have the same relay.
    """
    if (login := kerberos_login_of(settings)) is None:
        return None
    names = (_PROTOCOL, *(name for name in settings if name.startswith("ssl.")))
    with _MAKING_RELAYS:
        return _relay(login, frozenset((name, settings[name]) for name in names))


@functools.cache
def _relay(login: KerberosLogin, stores: frozenset[tuple[str, str]]) -> SaslRelay:
    from connect_dagster.kafka.security.sasl_relay import SaslRelay

    return SaslRelay(login, functools.partial(tls_context, dict(stores)))


def jvm_security(settings: Settings) -> dict[str, str]:
    """Return the settings of a Java client in Spark's JVM, which has neither a login file nor Python's tokens.

    Raises:
        ConfigError: the login module is missing or malformed, or a setting of the login is wrong.
    """
    if (login := login_of(settings)) is None:
        return dict(settings)
    if login.mechanism == OAUTHBEARER:
        # Only now: a client with another login needs no HTTP server.
        from connect_dagster.kafka.security.jvm_login import with_jvm_tokens

        return with_jvm_tokens(settings, login.module, shared_login(settings, login.module))
    return {**settings, _JAAS: login.module.text()}


def librdkafka_security(settings: Settings) -> dict[str, str]:
    """Return librdkafka's settings for a login and for TLS.

    Raises:
        ConfigError: a store or the login module cannot be read, or the mechanism is unknown.
    """
    if (relay := relay_of(settings)) is not None:
        return relay.settings
    protocol, login = _protocol(settings), login_of(settings)
    result = {_PROTOCOL: protocol.lower()} if _PROTOCOL in settings else {}
    if login is not None:
        result |= {_MECHANISM: login.mechanism, **_librdkafka_login(login)}
    if protocol.endswith("SSL"):
        result |= _librdkafka_tls(stores := TlsStores.parse(settings)) | _librdkafka_suites(stores, settings)
    return result


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return Python's TLS context for a client; ``None`` without TLS. Raises ConfigError as the stores."""
    if not _protocol(settings).endswith("SSL"):
        return None
    stores = TlsStores.parse(settings)
    versions = _tls_versions(settings, CipherSuites.parse(stores.cipher_suites))
    stores.warn_of_suites("Python's ssl module")
    context = stores.client_context()
    if TLS_1_3 not in versions:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


def _protocol(settings: Settings) -> str:
    value = settings.get(_PROTOCOL, "PLAINTEXT").strip()
    one_of_ignoring_case("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")(_PROTOCOL, value)
    return value.upper()


def _librdkafka_login(login: Login) -> dict[str, str]:
    if login.mechanism == OAUTHBEARER:
        return {}  # a callback gets the tokens
    name, password = login.name_and_password
    return {"sasl.username": name, "sasl.password": password}


def _tls_versions(settings: Settings, suites: CipherSuites | None) -> tuple[str, ...]:
    """Return the versions of TLS that a client may speak.

    Raises:
        ConfigError: there are none, or classes of the JVM are to choose them.
    """
    if engine := settings.get(_ENGINE):
        raise ConfigError.invalid(_ENGINE, engine, "It decides whom to trust, and classes of the JVM cannot be called")
    enabled = parse_value(_VERSIONS, settings.get(_VERSIONS, f"{TLS_1_2},{TLS_1_3}"), Type.LIST)
    # Java: with ssl.protocol=TLSv1.2 "clients will not use TLSv1.3 even if it is one of the values" enabled.
    limit = settings.get(_VERSION, TLS_1_3)
    allowed = (TLS_1_2, TLS_1_3) if limit in (TLS_1_3, "TLS") else (TLS_1_2,)
    if not (versions := tuple(version for version in allowed if version in enabled)):
        reason = f"It must contain one or more of {', '.join(allowed)}, as {_VERSION} is {limit}"
        raise ConfigError.invalid(_VERSIONS, enabled, reason)
    return versions_with(suites, versions)


def _librdkafka_suites(stores: TlsStores, settings: Settings) -> dict[str, str]:
    """Return the list of suites before TLS 1.3, by which librdkafka can also be kept to TLS 1.3."""
    suites = CipherSuites.parse(stores.cipher_suites)
    versions = _tls_versions(settings, suites)
    stores.warn_of_suites("librdkafka")
    if TLS_1_3 not in versions:
        log.warning("%s excludes TLSv1.3, which librdkafka still uses where brokers offer it", _excluding(settings))
    if versions == (TLS_1_3,):
        return {SETTING: _NO_SUITES_BEFORE_1_3}
    return {SETTING: suites.openssl} if suites else {}


def _excluding(settings: Settings) -> str:
    """Return the setting that excludes TLS 1.3."""
    if TLS_1_3 in _tls_versions(settings, None):
        return SETTING
    return _VERSION if settings.get(_VERSION, TLS_1_3) not in (TLS_1_3, "TLS") else _VERSIONS


def _librdkafka_tls(stores: TlsStores) -> dict[str, str]:
    result = {"ssl.endpoint.identification.algorithm": "https" if stores.checks_host else "none"}
    if (trusted := stores.trust_store()) is not None:
        result["ssl.ca.pem"] = trusted.certificates_pem()
    if (own := stores.key_store()) is not None:
        if own.key is None or not own.certificates:
            raise ConfigError("The key store of ssl.keystore.* needs a private key and its certificate")
        result |= {"ssl.certificate.pem": own.certificates_pem(), "ssl.key.pem": own.key_pem(None)}
    return result
