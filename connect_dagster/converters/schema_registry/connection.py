"""How to reach the registry, in the client library's terms (Java: ``SchemaRegistryClientConfig``, ``SslFactory``)."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.security.tls_stores import TlsStores
from connect_dagster.plugin.config import Password

_PREFIX = "schema.registry."
_BEARER = "bearer.auth."


def client_settings(config: SchemaRegistryConfig, folder: Path) -> dict[str, Any]:
    """Return settings of ``SchemaRegistryClient``.

    Args:
        config: the converter's options.
        folder: for keys and certificates, which the client reads from files while it is made; for this user alone.

    Raises:
        ConfigError: credentials are incomplete, or a key store cannot be read.
    """
    return {
        "url": ",".join(config.urls),
        "timeout": (config.connect_timeout_ms / 1000, *[config.read_timeout_ms / 1000] * 3),
        "max.retries": config.max_retries,
        "retries.wait.ms": config.retry_wait_ms,
        "retries.max.wait.ms": config.retry_max_wait_ms,
        **_credentials(config),
        **_tls(config, folder),
        **_proxy(config),
    }


def _credentials(config: SchemaRegistryConfig) -> dict[str, Any]:
    if config.bearer_source is not None:
        return _bearer(config)
    if config.basic_source == "URL":
        return {}
    info = config.user_info or config.older_user_info
    if info is None or ":" not in info.value:
        raise ConfigError("basic.auth.user.info must be name:password where basic.auth.credentials.source=USER_INFO")
    return {"basic.auth.user.info": info.value}


def _bearer(config: SchemaRegistryConfig) -> dict[str, Any]:
    static = config.bearer_source == "STATIC_TOKEN"
    required: dict[str, str | Password | None] = (
        {"token": config.bearer_token}
        if static
        else {
            "issuer.endpoint.url": config.bearer_issuer,
            "client.id": config.bearer_client_id,
            "client.secret": config.bearer_client_secret,
            "scope": config.bearer_scope,
        }
    )
    missing = [_BEARER + name for name, value in required.items() if value is None]
    if missing:
        raise ConfigError(f"bearer.auth.credentials.source={config.bearer_source} needs {', '.join(missing)}")
    return {
        "bearer.auth.credentials.source": config.bearer_source,
        **{_BEARER + name: _plain(value) for name, value in required.items()},
        "bearer.auth.logical.cluster": config.bearer_cluster or "",
        **({} if config.bearer_pool is None else {"bearer.auth.identity.pool.id": config.bearer_pool}),
    }


def _plain(value: str | Password | None) -> str | None:
    return value.value if isinstance(value, Password) else value


def _tls(config: SchemaRegistryConfig, folder: Path) -> dict[str, Any]:
    given = config.with_prefix(_PREFIX)
    stores = TlsStores.parse(given)
    if not stores.checks_host:
        raise ConfigError(f"{_PREFIX}ssl.endpoint.identification.algorithm cannot be empty: hosts are always verified")
    if "ssl.enabled.protocols" in given:
        raise ConfigError(f"{_PREFIX}ssl.enabled.protocols is not supported: TLSv1.2 and TLSv1.3 are spoken")
    settings = {}
    if (trusted := stores.trust_store()) is not None:
        settings["ssl.ca.location"] = _written(folder / "trusted.pem", trusted.certificates_pem())
    if (own := stores.key_store()) is not None:
        if own.key is None or not own.certificates:
            raise ConfigError(f"The key store of {_PREFIX}ssl.keystore.* needs a private key and its certificate")
        secret = secrets.token_hex(32)
        pem = own.key_pem(secret.encode()) + own.certificates_pem()
        settings["ssl.certificate.location"] = _written(folder / "key-and-chain.pem", pem)
        settings["ssl.key.password"] = secret
    return settings


def _written(file: Path, text: str) -> str:
    file.write_text(text)
    return str(file)


def _proxy(config: SchemaRegistryConfig) -> dict[str, Any]:
    return {} if config.proxy_host is None else {"proxy": f"http://{config.proxy_host}:{config.proxy_port}"}
