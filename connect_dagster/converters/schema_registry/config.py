"""Options of the Schema Registry, and the settings of its client (Java: ``AbstractKafkaSchemaSerDeConfig``,
``SchemaRegistryClientConfig``, ``SslFactory``).

Options of TLS are Kafka's, with ``schema.registry.`` before them; ``tls_context`` reads those.
"""

from __future__ import annotations

import ssl
from typing import Any

from connect_dagster.converters._support.converter_type import converter_type
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    Importance,
    Password,
    Type,
    UniqueValues,
    at_least,
    config_key,
    one_of,
)

TOPIC_NAME = "io.confluent.kafka.serializers.subject.TopicNameStrategy"
RECORD_NAME = "io.confluent.kafka.serializers.subject.RecordNameStrategy"
TOPIC_RECORD_NAME = "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy"
_PREFIX = "schema.registry."
_BEARER = "bearer.auth."


def _known_token_source(name: str, value: Any) -> None:
    if value is not None:
        one_of("STATIC_TOKEN", "OAUTHBEARER")(name, value)


def _strategy(side: str) -> Any:
    return config_key(
        f"{side}.subject.name.strategy",
        type=Type.STRING,
        default=TOPIC_NAME,
        validator=one_of(TOPIC_NAME, RECORD_NAME, TOPIC_RECORD_NAME),
        doc=f"How the subject of {side}s is named, after the topic, the record's schema or both.",
    )


def _switch(name: str, doc: str, *, default: bool) -> Any:
    return config_key(name, type=Type.BOOLEAN, default=default, importance=Importance.LOW, doc=doc)


def _text(name: str, doc: str) -> Any:
    return config_key(name, type=Type.STRING, default=None, doc=doc)


def _secret(name: str, doc: str) -> Any:
    return config_key(name, type=Type.PASSWORD, default=None, doc=doc)


def _milliseconds(name: str, default: int, doc: str) -> Any:
    return config_key(name, type=Type.INT, default=default, importance=Importance.LOW, validator=at_least(0), doc=doc)


class SchemaRegistryConfig(ConfigDef):
    """Options of all converters that use the registry."""

    type: str = converter_type()
    urls: tuple[str, ...] = config_key(
        "schema.registry.url",
        importance=Importance.HIGH,
        validator=UniqueValues(empty=False),
        doc="Addresses of the registry's servers, tried in this order.",
    )
    max_schemas: int = config_key(
        "max.schemas.per.subject",
        default=1000,
        importance=Importance.LOW,
        doc="How many schemas of one subject a converter may write; more are taken for an error.",
    )
    normalize: bool = _switch(
        "normalize.schemas", "Whether the registry brings schemas into a normal form first.", default=False
    )
    auto_register: bool = config_key(
        "auto.register.schemas",
        default=True,
        doc="Register schemas that the registry does not know; else they are only looked up.",
    )
    use_schema_id: int = config_key(
        "use.schema.id",
        default=-1,
        importance=Importance.LOW,
        doc="Write with the schema of this id, when nothing is registered; -1 for none.",
    )
    use_latest: bool = _switch(
        "use.latest.version", "Write with the subject's latest schema, when nothing is registered.", default=False
    )
    latest_strict: bool = _switch(
        "latest.compatibility.strict", "Whether the latest schema has to be able to read the records.", default=True
    )
    key_strategy: str = _strategy("key")
    value_strategy: str = _strategy("value")
    basic_source: str = config_key(
        "basic.auth.credentials.source",
        default="URL",
        validator=one_of("URL", "USER_INFO"),
        doc="Where name and password come from: the address (URL) or basic.auth.user.info (USER_INFO).",
    )
    user_info: Password | None = _secret("basic.auth.user.info", "name:password for USER_INFO.")
    older_user_info: Password | None = _secret(
        "schema.registry.basic.auth.user.info", "Older name of basic.auth.user.info."
    )
    bearer_source: str | None = config_key(
        "bearer.auth.credentials.source",
        default=None,
        validator=_known_token_source,
        doc="Where a bearer token comes from: STATIC_TOKEN (bearer.auth.token) or OAUTHBEARER; none without it.",
    )
    bearer_token: Password | None = _secret("bearer.auth.token", "The token for STATIC_TOKEN.")
    bearer_issuer: str | None = _text("bearer.auth.issuer.endpoint.url", "Issuer of tokens, for OAUTHBEARER.")
    bearer_client_id: str | None = _text("bearer.auth.client.id", "The client's name, for OAUTHBEARER.")
    bearer_client_secret: Password | None = _secret(
        "bearer.auth.client.secret", "The client's password, for OAUTHBEARER."
    )
    bearer_scope: str | None = _text("bearer.auth.scope", "The scope asked for, for OAUTHBEARER.")
    bearer_cluster: str | None = _text("bearer.auth.logical.cluster", "The registry's cluster, sent with a token.")
    bearer_pool: str | None = _text("bearer.auth.identity.pool.id", "The identity pool, sent with a token.")
    proxy_host: str | None = _text("proxy.host", "Host of a proxy; none without it.")
    proxy_port: int = config_key("proxy.port", default=-1, importance=Importance.LOW, doc="The proxy's port.")
    connect_timeout_ms: int = _milliseconds("http.connect.timeout.ms", 60000, "How long connecting may take.")
    read_timeout_ms: int = _milliseconds("http.read.timeout.ms", 60000, "Longest wait for a response.")
    max_retries: int = _milliseconds("max.retries", 3, "How often a request is made again that may work later.")
    retry_wait_ms: int = _milliseconds("retries.wait.ms", 1000, "The longest wait before the first of these.")
    retry_max_wait_ms: int = _milliseconds("retries.max.wait.ms", 20000, "The longest wait before any of these.")


def client_settings(config: SchemaRegistryConfig) -> dict[str, Any]:
    """Return the settings of ``SchemaRegistryClient``, without TLS. Raises ConfigError for incomplete credentials."""
    return {
        "url": ",".join(config.urls),
        "timeout": (config.connect_timeout_ms / 1000, *[config.read_timeout_ms / 1000] * 3),
        "max.retries": config.max_retries,
        "retries.wait.ms": config.retry_wait_ms,
        "retries.max.wait.ms": config.retry_max_wait_ms,
        **_credentials(config),
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


def tls_context(config: SchemaRegistryConfig) -> ssl.SSLContext | None:
    """Return Python's TLS context for the registry; ``None`` without an address with https, and without options.

    Raises:
        ConfigError: a key store cannot be read, or an option is wrong.
    """
    given = config.with_prefix(_PREFIX)
    is_used = any(name.startswith("ssl.") for name in given)
    if not is_used and not any(url.lower().startswith("https:") for url in config.urls):
        return None
    # Only now: most registries are asked without TLS, or not at all.
    from connect_dagster.kafka.settings import security

    try:
        return security.tls_context({**given, "security.protocol": "SSL"})
    except ConfigError as error:
        raise ConfigError(f"Options {_PREFIX}ssl.*: {error}") from error


def _proxy(config: SchemaRegistryConfig) -> dict[str, Any]:
    return {} if config.proxy_host is None else {"proxy": f"http://{config.proxy_host}:{config.proxy_port}"}
