"""The REST server of a worker: first its ports, so that a taken one is known before anything runs; then HTTP.

Life: ``bind()``, which settles ``advertised_url`` and ``worker_id``, then ``start(herder)``, then ``stop()``.
Runs uvicorn, in a thread for each kind of listener: http and https, with and without ``/admin``. Independent of routes.
"""

from __future__ import annotations

import asyncio
import logging
import math
import resource
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from ipaddress import ip_address
from typing import Self

import uvicorn
from starlette.types import ASGIApp

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import Herder
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.rest_extension import RestExtension
from connect_dagster.rest.access_log import AccessLog
from connect_dagster.rest.app import ADMIN_ENDPOINTS, ENDPOINTS, USER_ENDPOINTS, create_app
from connect_dagster.rest.connections import Connections, HttpConnection, TlsGate
from connect_dagster.rest.cors import CrossOrigin
from connect_dagster.rest.limits import Limits
from connect_dagster.rest.listeners import Listener
from connect_dagster.rest.response_headers import ResponseHeaders
from connect_dagster.rest.settings import RestSettings, Served
from connect_dagster.worker.config.worker import WorkerConfig

logger = logging.getLogger(__name__)

START_SECONDS = 10.0
# Java: RestServer.GRACEFUL_SHUTDOWN_TIMEOUT_MS
STOP_SECONDS = 60.0
# Connections that the system keeps ready at least; beyond them a client tries again after a second.
_BACKLOG = 128
# Connections that are accepted in a row, while nothing else is done.
_ACCEPTED = 100


class RestServer:
    """Serves the REST API of one worker."""

    def __init__(self, settings: RestSettings) -> None:
        self._settings = settings
        self._public: list[socket.socket] = []
        self._admin: list[socket.socket] = []
        self._advertised_url = ""
        self._servers: list[_Server] = []

    @classmethod
    def of(cls, config: WorkerConfig, plugins: Plugins | None = None) -> Self:
        """Return the server of a worker.

        Args:
            config: the worker's.
            plugins: the worker's, among which extensions on ``plugin.path`` are looked for.

        Raises:
            ConfigError: a value cannot be served, or a file it names cannot be read.
        """
        return cls(RestSettings.of(config, plugins))

    @property
    def client(self) -> RestClient:
        """Client for requests to other workers, with this worker's settings."""
        return self._settings.client

    def bind(self) -> None:
        """Take all ports. Clients can connect from now on, and get responses after :meth:`start`.

        Raises:
            ListenerUnavailable: a port is in use, or an address is not of this machine; nothing stays bound.
        """
        with ExitStack() as undo:
            undo.callback(self._close_sockets)
            self._public.extend(listener.bind() for listener in self._settings.public.listeners)
            if self._settings.admin:
                self._admin.extend(listener.bind() for listener in self._settings.admin.listeners)
            undo.pop_all()
        self._advertised_url = self._settings.advertised.url(self._settings.public.listeners, self._public)
        logger.info(
            "REST server listening at %s, advertising URL %s",
            _urls(self._settings.public.listeners),
            self.advertised_url,
        )
        if self._admin and self._settings.admin:
            logger.info("REST admin endpoints at %s", _urls(self._settings.admin.listeners))
            _warn_of_open_listeners(self._settings.admin, self._admin)

    @property
    def advertised_url(self) -> str:
        """URL for other workers and clients, with a ``/`` at its end; known after :meth:`bind`."""
        return self._advertised_url

    @property
    def worker_id(self) -> str:
        """``host:port`` of the advertised URL; known after :meth:`bind`."""
        return self._advertised_url.partition("://")[2].removesuffix("/")

    @property
    def ports(self) -> list[int]:
        """The bound ports, in the order of the listeners."""
        return [bound.getsockname()[1] for bound in self._public]

    @property
    def admin_ports(self) -> list[int]:
        """The bound ports of the admin listeners, in their order."""
        return [bound.getsockname()[1] for bound in self._admin]

    def start(self, herder: Herder) -> None:
        """Serve requests, until :meth:`stop`. Binds first when that has not been done.

        Raises:
            ListenerUnavailable: see :meth:`bind`.
            ConnectError: the server did not come up.
        """
        settings = self._settings
        endpoints = ENDPOINTS if settings.admin is None else USER_ENDPOINTS
        app = create_app(
            herder, endpoints, settings.client, settings.admits, settings.limits, extensions=settings.extensions
        )
        if settings.headers:
            app = ResponseHeaders(app, settings.headers)
        if settings.cors:
            app = CrossOrigin(app, settings.cors)
        admin = create_app(herder, ADMIN_ENDPOINTS, limits=settings.limits) if settings.admin else None
        self.serve(app, admin)

    def serve(self, app: ASGIApp, admin: ASGIApp | None = None) -> None:
        """Serve an application, until :meth:`stop`; raises as :meth:`start`.

        Args:
            app: of the listeners.
            admin: of those of ``admin.listeners``.
        """
        if not self._public:
            self.bind()
        self._servers = list(self._kinds(app, admin))
        for server in self._servers:
            server.start()
        if not all(server.ready.wait(START_SECONDS) for server in self._servers):
            raise ConnectError("Unable to initialize REST server: it did not come up")
        logger.info("REST resources initialized; server is started and ready to handle requests")

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Refuse new connections, let running requests end, then close. May be called in any state.

        Args:
            timeout: seconds that running requests get; after that they are cut off.
        """
        if not self._servers:
            self._close_sockets()
            return
        logger.info("Stopping REST server")
        for server in self._servers:
            server.end(timeout)
        for server in self._servers:
            server.join(timeout + 1.0)
        self._servers, self._public, self._admin = [], [], []
        for extension in self._settings.extensions:
            _close(extension)
        logger.info("REST server stopped")

    def _kinds(self, app: ASGIApp, admin: ASGIApp | None) -> Iterator[_Server]:
        settings = self._settings
        limits = _affordable(settings.limits)
        yield from _by_scheme(app, settings.public, self._public, limits)
        if admin is not None and settings.admin:
            yield from _by_scheme(admin, settings.admin, self._admin, limits)

    def _close_sockets(self) -> None:
        for bound in (*self._public, *self._admin):
            bound.close()
        self._public, self._admin = [], []


def _close(extension: RestExtension) -> None:
    try:
        extension.close()
    except Exception:
        # Whatever an extension raises, the worker goes on to stop.
        logger.exception("The REST extension %s failed to close", type(extension).__name__)


def _by_scheme(app: ASGIApp, served: Served, sockets: list[socket.socket], limits: Limits) -> Iterator[_Server]:
    bound = list(zip(served.listeners, sockets, strict=True))
    for scheme, tls in (("http", None), ("https", served.tls)):
        if own := [taken for listener, taken in bound if listener.scheme == scheme]:
            yield _Server(AccessLog(app), own, tls, limits)


def _warn_of_open_listeners(admin: Served, sockets: list[socket.socket]) -> None:
    """Name admin listeners in the log that other machines reach: these may change levels of loggers."""
    by_certificate = admin.tls is not None and admin.tls.verify_mode is ssl.VerifyMode.CERT_REQUIRED
    for listener, bound in zip(admin.listeners, sockets, strict=True):
        if not (ip_address(bound.getsockname()[0]).is_loopback or (listener.scheme == "https" and by_certificate)):
            logger.warning(
                "Other machines reach /admin at %s of admin.listeners without a login: listen on 127.0.0.1, or require "
                "client certificates by https and admin.listeners.https.ssl.client.auth=required",
                listener.url,
            )


def _urls(listeners: tuple[Listener, ...]) -> str:
    return ",".join(listener.url for listener in listeners)


def _affordable(limits: Limits) -> Limits:
    """Leave descriptors to brokers, databases and files: a server takes a quarter of the process's at most."""
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most == resource.RLIM_INFINITY:
        return limits
    return replace(limits, connections=min(limits.connections, most // 4))


class _Server(uvicorn.Server):
    """uvicorn in its own thread, without logging, with limits for connections and an event for readiness."""

    def __init__(
        self, app: AccessLog, sockets: list[socket.socket], tls: ssl.SSLContext | None, limits: Limits
    ) -> None:
        config = uvicorn.Config(
            app,
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            interface="asgi3",
            log_config=None,  # its records go through the worker's own handlers
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=math.ceil(limits.idle_seconds),
        )
        config.load()
        super().__init__(config)
        self._tls = tls
        self._connections = Connections(limits)
        self._backlog = max(_BACKLOG, limits.connections)
        self.ready = threading.Event()
        self._thread = threading.Thread(target=self.run, args=(sockets,), name="rest-server", daemon=True)

    def start(self) -> None:
        """Serve, until :meth:`end`."""
        self._thread.start()

    def join(self, timeout: float) -> None:
        """Wait for the end, ``timeout`` seconds at most."""
        self._thread.join(timeout)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, then set the event. In place of uvicorn's, whose connections know no limits."""
        loop = asyncio.get_running_loop()
        self.servers = []
        for bound in sockets or ():
            self.servers.append(await loop.create_server(self._accepted, sock=bound, backlog=_ACCEPTED))
            bound.listen(self._backlog)  # asyncio has one number for both
        self.started = True
        self.ready.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, without waiting for handshakes."""
        self._connections.end_handshakes()
        await super().shutdown(sockets)

    def _accepted(self) -> asyncio.Protocol:
        return self._http() if self._tls is None else TlsGate(self._tls, self._http, self._connections)

    def _http(self) -> HttpConnection:
        return HttpConnection(self.config, self.server_state, self._connections)

    def end(self, timeout: float) -> None:
        """Ask the server to stop within ``timeout`` seconds."""
        self.config.timeout_graceful_shutdown = math.ceil(timeout)
        self.should_exit = True
