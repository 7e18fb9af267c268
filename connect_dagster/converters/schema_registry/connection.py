"""How to reach the registry, in the client library's terms (Java: ``SchemaRegistryClientConfig``, ``SslFactory``)."""

from __future__ import annotations

from typing import Any

from connect_dagster.converters.schema_registry.config import SchemaRegistryConfig
from connect_dagster.plugin.config import Password
from connect_dagster.plugin.errors import ConfigError

_SSL = "schema.registry.ssl."
_BEARER = "bearer.auth."


def client_settings(config: SchemaRegistryConfig) -> dict[str, Any]:
    """Settings of ``SchemaRegistryClient``.

    Raises:
        ConfigError: credentials are incomplete, or keys are not in PEM files.
    """
    return {
        "url": ",".join(config.urls),
        "timeout": (config.connect_timeout_ms / 1000, *[config.read_timeout_ms / 1000] * 3),
        "max.retries": config.max_retries,
        "retries.wait.ms": config.retry_wait_ms,
        "retries.max.wait.ms": config.retry_max_wait_ms,
        **_credentials(config),
        **_tls(config),
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


def _tls(config: SchemaRegistryConfig) -> dict[str, Any]:
    given = config.with_prefix(_SSL)
    settings = {}
    if location := given.get("truststore.location"):
        settings["ssl.ca.location"] = _pem(given, "truststore", location)
    if location := given.get("keystore.location"):
        settings["ssl.certificate.location"] = _pem(given, "keystore", location)
        settings["ssl.key.location"] = location
        if password := given.get("key.password"):
            settings["ssl.key.password"] = password
    for inline in ("truststore.certificates", "keystore.key", "keystore.certificate.chain"):
        if inline in given:
            raise ConfigError(f"{_SSL}{inline} is not supported: put the PEM text into a file and name that")
    if given.get("endpoint.identification.algorithm") == "":
        raise ConfigError(f"{_SSL}endpoint.identification.algorithm cannot be empty: hosts are always verified")
    return settings


def _pem(given: dict[str, str], store: str, location: str) -> str:
    kind = given.get(f"{store}.type", "JKS")
    if kind != "PEM":
        raise ConfigError(
            f"{_SSL}{store}.type is {kind}, but keys and certificates for the registry are read from PEM files only: "
            f"convert {location} and set {_SSL}{store}.type=PEM"
        )
    return location


def _proxy(config: SchemaRegistryConfig) -> dict[str, Any]:
    return {} if config.proxy_host is None else {"proxy": f"http://{config.proxy_host}:{config.proxy_port}"}
