"""The REST API's part of a worker's configuration, read and checked (Java: ``RestServerConfig``)."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.rest_extension import RestExtension
from connect_dagster.rest import basic_auth, tls
from connect_dagster.rest.app import PLAIN_CLIENT, Admits, everyone
from connect_dagster.rest.basic_auth import BasicAuth
from connect_dagster.rest.cors import CorsRules
from connect_dagster.rest.extensions import load_extensions
from connect_dagster.rest.limits import LIMITS, Limits
from connect_dagster.rest.listeners import DEFAULT_LISTENERS, FROM_LISTENERS, Advertised, Listener
from connect_dagster.rest.response_headers import HeaderRule, parse_rules
from connect_dagster.rest.tls import TlsSettings
from connect_dagster.worker.config.worker import SERVLET_INITIALIZERS, WorkerConfig

log = logging.getLogger(__name__)

_UNSIGNED = ("eager", "compatible")


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
        extensions: run before the routes, but not before those of the admin listeners.
        cors: rules for pages from elsewhere, ``None`` for none.
        headers: rules for headers of all responses.
        limits: on clients.
    """

    public: Served = Served(tuple(map(Listener.parse, DEFAULT_LISTENERS)))
    admin: Served | None = None
    advertised: Advertised = FROM_LISTENERS
    client: RestClient = PLAIN_CLIENT
    admits: Admits = everyone
    extensions: tuple[RestExtension, ...] = ()
    cors: CorsRules | None = None
    headers: tuple[HeaderRule, ...] = ()
    limits: Limits = LIMITS

    @classmethod
    def of(
        cls, config: WorkerConfig, plugins: Plugins | None = None, environment: Mapping[str, str] = os.environ
    ) -> RestSettings:
        """Return the settings of a worker.

        Args:
            config: the worker's.
            plugins: the worker's, among which extensions on ``plugin.path`` are looked for.
            environment: the process's; ``KAFKA_OPTS`` in it names the login file of basic authentication.

        Raises:
            ConfigError: a value cannot be served, or a file it names cannot be read.
            ConnectError: an extension is unknown, or cannot be loaded.
        """
        classes = config.rest_extension_classes
        if initializers := config.originals.get(SERVLET_INITIALIZERS):
            log.warning("%s=%s has no effect: its classes are those of a JVM", SERVLET_INITIALIZERS, initializers)
        protocol = config.originals.get("connect.protocol")
        if basic_auth.EXTENSION in classes and protocol in _UNSIGNED:
            log.warning(
                "connect.protocol=%s: workers do not sign their requests, so that everyone may send configurations of "
                "tasks without a user, as in Java; sessioned closes this",
                protocol,
            )
        return replace(
            cls.internal(config),
            admin=_admin(config),
            admits=BasicAuth.of(environment) if basic_auth.EXTENSION in classes else everyone,
            extensions=load_extensions(
                (name for name in classes if name != basic_auth.EXTENSION), config.originals, plugins
            ),
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
