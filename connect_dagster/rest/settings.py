"""The REST API's part of a worker's configuration, read and checked (Java: ``RestServerConfig``)."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConnectError
from connect_dagster.rest import basic_auth, tls
from connect_dagster.rest.app import PLAIN_CLIENT, Admits, everyone
from connect_dagster.rest.basic_auth import BasicAuth
from connect_dagster.rest.cors import CorsRules
from connect_dagster.rest.limits import LIMITS, Limits
from connect_dagster.rest.listeners import DEFAULT_LISTENERS, FROM_LISTENERS, Advertised, Listener
from connect_dagster.rest.response_headers import HeaderRule, parse_rules
from connect_dagster.rest.tls import TlsSettings
from connect_dagster.worker.config.worker import WorkerConfig

EXTENSIONS: Mapping[str, Callable[[Mapping[str, str]], Admits]] = {basic_auth.EXTENSION: BasicAuth.of}
"""Extensions that ``rest.extension.classes`` may name, by Java class; made from the process's environment."""


@dataclass(frozen=True, slots=True)
class Served:
    """Listeners that serve the same routes.

    Attributes:
        listeners: where; http and https.
        tls: settings of those with https.
    """

    listeners: tuple[Listener, ...]
    tls: ssl.SSLContext | None = None


@dataclass(frozen=True, slots=True)
class RestSettings:
    """Settings of a worker's REST API, and of its requests to other workers.

    Attributes:
        public: the listeners.
        admin: those of ``/admin`` alone, ``None`` when the others serve it; without a listener nothing does.
        advertised: address for other workers and clients.
        client: asks other workers.
        admits: decides on users; the admin listeners admit all, as in Java.
        cors: rules for pages from elsewhere, ``None`` for none.
        headers: rules for headers of all responses.
        limits: on clients.
    """

    public: Served = Served(tuple(map(Listener.parse, DEFAULT_LISTENERS)))
    admin: Served | None = None
    advertised: Advertised = FROM_LISTENERS
    client: RestClient = PLAIN_CLIENT
    admits: Admits = everyone
    cors: CorsRules | None = None
    headers: tuple[HeaderRule, ...] = ()
    limits: Limits = LIMITS

    @classmethod
    def of(cls, config: WorkerConfig, environment: Mapping[str, str] = os.environ) -> RestSettings:
        """Return the settings of a worker.

        Args:
            config: the worker's.
            environment: the process's; ``KAFKA_OPTS`` in it names the login file of basic authentication.

        Raises:
            ConfigError: a value cannot be served, or a file it names cannot be read.
            ConnectError: the extension is unknown.
        """
        return replace(
            cls.internal(config),
            admin=_admin(config),
            admits=_admission(config.rest_extension_classes, environment),
            cors=CorsRules.parse(config.access_control_allow_origin, config.access_control_allow_methods),
            headers=parse_rules(config.response_http_headers_config),
        )

    @classmethod
    def internal(cls, config: WorkerConfig) -> RestSettings:
        """Return the settings for requests among workers alone (Java: ``RestServerConfig.forInternal``).

        Raises:
            ConfigError: a value cannot be served, or a file it names cannot be read.
        """
        own_tls = partial(TlsSettings.of, config.originals, tls.LISTENERS_PREFIX)
        scheme = config.rest_advertised_listener
        return cls(
            public=_served("listeners", config.listeners, own_tls),
            advertised=Advertised(
                config.rest_advertised_host_name, config.rest_advertised_port, scheme.lower() if scheme else None
            ),
            client=RestClient(lambda: own_tls().client_context()),
        )


def _admin(config: WorkerConfig) -> Served | None:
    if config.admin_listeners is None:
        return None
    return _served(
        "admin.listeners", config.admin_listeners, partial(TlsSettings.of, config.originals, tls.ADMIN_PREFIX)
    )


def _served(setting: str, urls: Iterable[str], settings: Callable[[], TlsSettings]) -> Served:
    listeners = tuple(Listener.parse(url, setting) for url in urls)
    # Only who listens with TLS must have valid settings for it (KAFKA-14816).
    secure = any(listener.scheme == "https" for listener in listeners)
    return Served(listeners, settings().server_context() if secure else None)


def _admission(classes: Iterable[str], environment: Mapping[str, str]) -> Admits:
    extensions = [_extension(name)(environment) for name in classes]
    return lambda authorization: all(admits(authorization) for admits in extensions)


def _extension(name: str) -> Callable[[Mapping[str, str]], Admits]:
    if (found := EXTENSIONS.get(name)) is None:
        raise ConnectError(
            "Failed to find any class that implements interface org.apache.kafka.connect.rest.ConnectRestExtension "
            f"and which name matches {name}, available extensions are: {', '.join(EXTENSIONS)}"
        )
    return found
