"""The REST server of a worker: first its ports, so that a taken one is known before anything runs; then HTTP.

Life: ``bind()``, which settles ``advertised_url`` and ``worker_id``, then ``start(herder)``, then ``stop()``.
Runs uvicorn in a thread of its own. Knows no route.
"""

from __future__ import annotations

import logging
import math
import socket
import threading
from collections.abc import Sequence

import uvicorn

from connect_dagster.herder.interface import Herder
from connect_dagster.plugin.errors import ConnectError
from connect_dagster.rest.access_log import AccessLog
from connect_dagster.rest.app import create_app
from connect_dagster.rest.listeners import DEFAULT_LISTENERS, FROM_LISTENERS, Advertised, Listener

logger = logging.getLogger(__name__)

# Jetty's idle timeout in Java's worker equals its request timeout.
IDLE_SECONDS = 90
START_SECONDS = 10.0
# Java: RestServer.GRACEFUL_SHUTDOWN_TIMEOUT_MS
STOP_SECONDS = 60.0


class RestServer:
    """Serves the REST API of one worker.

    Args:
        listeners: URLs to listen on, as in the worker's ``listeners``; the first one is advertised.
        advertised: host and port to tell others instead.

    Raises:
        ConfigError: a listener is no URL this server can serve.
    """

    def __init__(self, listeners: Sequence[str] = DEFAULT_LISTENERS, advertised: Advertised = FROM_LISTENERS) -> None:
        self._listeners = tuple(Listener.parse(url) for url in listeners)
        self._advertised = advertised
        self._sockets: list[socket.socket] = []
        self._address = ""
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def bind(self) -> None:
        """Take all ports. Clients can connect from now on, and are answered after :meth:`start`.

        Raises:
            ListenerUnavailable: a port is in use, or an address is not of this machine; nothing stays bound.
        """
        try:
            for listener in self._listeners:
                self._sockets.append(listener.bind())
        except ConnectError:
            self._close_sockets()
            raise
        self._address = self._advertised.address(self._listeners, self._sockets)
        urls = ",".join(listener.url for listener in self._listeners)
        logger.info("REST server listening at %s, advertising URL %s", urls, self.advertised_url)

    @property
    def advertised_url(self) -> str:
        """URL for other workers and clients, with a ``/`` at its end; known after :meth:`bind`."""
        return f"http://{self._address}/"

    @property
    def worker_id(self) -> str:
        """``host:port`` of the advertised URL; known after :meth:`bind`."""
        return self._address

    @property
    def ports(self) -> list[int]:
        """The bound ports, in the order of the listeners."""
        return [bound.getsockname()[1] for bound in self._sockets]

    def start(self, herder: Herder) -> None:
        """Answer requests, until :meth:`stop`. Binds first when that has not been done.

        Raises:
            ListenerUnavailable: see :meth:`bind`.
            ConnectError: the server did not come up.
        """
        if not self._sockets:
            self.bind()
        self._server = _Server(AccessLog(create_app(herder)))
        self._thread = threading.Thread(target=self._server.run, args=(self._sockets,), name="rest-server", daemon=True)
        self._thread.start()
        if not self._server.ready.wait(START_SECONDS):
            raise ConnectError("Unable to initialize REST server: it did not come up")
        logger.info("REST resources initialized; server is started and ready to handle requests")

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Refuse new connections, let running requests end, then close. May be called in any state.

        Args:
            timeout: seconds that running requests get; after that they are cut off.
        """
        if self._server is None or self._thread is None:
            self._close_sockets()
            return
        logger.info("Stopping REST server")
        self._server.end(timeout)
        self._thread.join(timeout + 1.0)
        self._sockets = []
        self._server = self._thread = None
        logger.info("REST server stopped")

    def _close_sockets(self) -> None:
        for bound in self._sockets:
            bound.close()
        self._sockets = []


class _Server(uvicorn.Server):
    """uvicorn, quiet, and telling when it is ready."""

    def __init__(self, app: AccessLog) -> None:
        super().__init__(
            uvicorn.Config(
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
                timeout_keep_alive=IDLE_SECONDS,
            )
        )
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        self.ready.set()

    def end(self, timeout: float) -> None:
        """Ask the server to stop within ``timeout`` seconds."""
        self.config.timeout_graceful_shutdown = math.ceil(timeout)
        self.should_exit = True
