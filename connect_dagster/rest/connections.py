"""Connections of a REST server: a limit on their number, and one of time for each phase of a connection.

uvicorn's settings are not enough. ``timeout_keep_alive`` counts from a response on, so that a client that sends
nothing, or half a head, is never let go; ``limit_concurrency`` refuses an operator's request while silent clients keep
their connections. Independent of routes.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import ssl
from collections.abc import Callable
from enum import Enum, auto
from functools import cached_property
from typing import Any, Protocol

import h11
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_der_x509_certificate
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from connect_dagster.rest.limits import Limits
from connect_dagster.rest.listening import CHANGES_NOTHING, has_left

log = logging.getLogger(__name__)

GOOD_BYE_SECONDS = 0.1
# h11's own limit, and uvicorn's.
HEAD_BYTES = 16 * 1024
WARNING_SECONDS = 60.0
_SMALL_CHUNKS = 1_000
_CHUNK_BYTES = 256
_LOOKED_AT = 100


class Phase(Enum):
    """Phases of a connection. In all but RESPONSE the server waits for the client."""

    HANDSHAKE = auto()
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    RESPONSE = auto()
    REMAINDER = auto()
    """A body that is read no more, as its response has been sent."""
    TAKING = auto()
    """A response that the client has yet to read, or a connection that it has yet to close, as with TLS."""


class Closable(Protocol):
    """A connection that can be closed at once."""

    @property
    def has_left(self) -> bool:
        """Return whether the client has closed it."""

    def abort(self) -> None:
        """Close, without waiting for the client."""


class Connections:
    """The connections of one server, used by the thread of its event loop only.

    One more than the limit closes the one that has waited longest for its client, so that silent clients keep nobody
    out.
    """

    def __init__(self, limits: Limits) -> None:
        self._most = limits.connections
        self._seconds = {
            Phase.HANDSHAKE: limits.head_seconds,
            Phase.IDLE: limits.idle_seconds,
            Phase.HEAD: limits.head_seconds,
            # The application limits it to less, and can send a response.
            Phase.BODY: limits.response_seconds,
            Phase.RESPONSE: limits.response_seconds,
            Phase.REMAINDER: limits.remainder_seconds,
            Phase.TAKING: limits.idle_seconds,
        }
        self._timers: dict[Closable, asyncio.TimerHandle] = {}
        # In the order in which they began to wait.
        self._waiting: dict[Closable, Phase] = {}
        self._warned_at = -WARNING_SECONDS

    def enter(self, connection: Closable, phase: Phase) -> None:
        """Begin a phase of a connection, new or known."""
        self.leave(connection)
        loop = asyncio.get_running_loop()
        self._timers[connection] = loop.call_later(self._seconds[phase], connection.abort)
        if phase is not Phase.RESPONSE:
            self._waiting[connection] = phase
        if len(self._timers) > self._most:
            self._close_one(connection, loop.time())

    def leave(self, connection: Closable) -> None:
        """Forget a connection, if it is known."""
        if (timer := self._timers.pop(connection, None)) is not None:
            timer.cancel()
        self._waiting.pop(connection, None)

    def end_handshakes(self) -> None:
        """Close all connections that are not secured yet."""
        for connection in [one for one, phase in self._waiting.items() if phase is Phase.HANDSHAKE]:
            connection.abort()

    def _close_one(self, newest: Closable, now: float) -> None:
        if now - self._warned_at >= WARNING_SECONDS:
            self._warned_at = now
            log.warning("More than %d connections: closing those that have waited longest for their client", self._most)
        # Among clients that ask and leave, one that has just come may have waited longest.
        oldest = itertools.islice(self._waiting, _LOOKED_AT)
        longest = next((one for one in oldest if one.has_left), next(iter(self._waiting), newest))
        self.leave(longest)
        longest.abort()


class _Parser(h11.Connection):
    """h11's, which refuses a body in many tiny chunks: 200 kilobytes of them keep it busy for a second."""

    _credit = 0
    paused = False
    """Set while a next request waits for the end of this one."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """Return what comes next. Raises RemoteProtocolError when it is malformed, or the chunks are too small."""
        event = super().next_event()
        self.paused = event is h11.PAUSED
        if isinstance(event, h11.Request):
            self._credit = _SMALL_CHUNKS * _CHUNK_BYTES
        elif isinstance(event, h11.Data):
            self._credit += len(event.data) - _CHUNK_BYTES
            if self._credit < 0:
                raise h11.RemoteProtocolError("too many small chunks", error_status_hint=413)
        return event


class _Flow(FlowControl):
    """uvicorn's, which reads on whenever an application asks for more of its request.

    A client that sends requests without waiting would then have 256 kB more in memory with each one that is handled.
    """

    def __init__(self, transport: asyncio.Transport, parser: _Parser) -> None:
        super().__init__(transport)
        self._parser = parser

    def resume_reading(self) -> None:
        """Read on, unless a next request is here already."""
        if not self._parser.paused:
            super().resume_reading()


class HttpConnection(H11Protocol):
    """uvicorn's, with the limits of its server's connections."""

    def __init__(self, config: Config, state: ServerState, connections: Connections) -> None:
        super().__init__(config, state, {})
        self.conn = self._parser = _Parser(h11.SERVER, HEAD_BYTES)
        self._connections = connections
        self._phase: Phase | None = None
        self._is_lost = False

    @property
    def app(self) -> Any:
        """Return the application that uvicorn calls; not kept, as a connection that refers to itself is freed late."""
        return self._answer

    @app.setter
    def app(self, application: Any) -> None:
        self._application = application

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        """Handle a request, unless nobody waits for its response: clients that ask and leave keep others waiting."""
        if scope["method"] in CHANGES_NOTHING and self.has_left:
            self.cycle.disconnected = True
            self.abort()
            return
        await self._application({**scope, **self._shown}, receive, send)

    @cached_property
    def _shown(self) -> dict[str, Any]:
        secured: ssl.SSLObject | None = self.transport.get_extra_info("ssl_object")
        return {} if secured is None else {"extensions": {"tls": tls_extension(secured)}}

    @property
    def has_left(self) -> bool:
        """Return whether the client has closed the connection."""
        return _has_left(self.transport)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's
        """Begin to wait for a request."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self._parser)
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        """Release what the connection held."""
        super().connection_lost(exc)
        self._is_lost = True
        self._unset_keepalive_if_required()
        self._connections.leave(self)

    def data_received(self, data: bytes) -> None:
        """Read a part of a request."""
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        if self.conn.their_state is h11.IDLE:
            self.flow.resume_reading()
        # Of requests that were sent together, each has its own time.
        self._phase = None
        self._follow()

    def pause_writing(self) -> None:
        """Begin to wait for the client to read."""
        super().pause_writing()
        self._follow()

    def resume_writing(self) -> None:
        """Go on."""
        super().resume_writing()
        self._follow()

    def shutdown(self) -> None:
        """Close: at once without a whole request, else after the response."""
        if self._phase is Phase.BODY:
            self.abort()
            return
        super().shutdown()
        if self.transport.is_closing():
            # Clients of TLS owe a good-bye, which an idle one may never send.
            self.loop.call_later(GOOD_BYE_SECONDS, self.abort)

    def abort(self) -> None:
        """Close, without waiting for the client."""
        self.transport.abort()

    def _follow(self) -> None:
        if self._is_lost:  # a response may end later
            return
        waits = self.flow.write_paused or self.transport.is_closing()
        phase = Phase.TAKING if waits else _phase(self.conn)
        if phase is not self._phase:
            self._phase = phase
            self._connections.enter(self, phase)


def tls_extension(secured: ssl.SSLObject) -> dict[str, Any]:
    """Return what TLS knows of the client, in the form of ASGI's extension ``tls``."""
    shown = secured.getpeercert(binary_form=True)
    certificate = load_der_x509_certificate(shown) if shown else None
    return {
        "server_cert": None,
        "client_cert_chain": [certificate.public_bytes(Encoding.PEM).decode()] if certificate else [],
        "client_cert_name": certificate.subject.rfc4514_string() if certificate else None,
        "client_cert_error": None,
        "tls_version": None,
        "cipher_suite": None,
    }


def _has_left(transport: asyncio.Transport) -> bool:
    """Return whether the client has closed the connection, or its half of it."""
    connected = transport.get_extra_info("socket")
    if transport.is_closing() or connected is None:
        return transport.is_closing()
    return has_left(connected.fileno())


def _phase(conn: h11.Connection) -> Phase:
    if conn.their_state is h11.IDLE:
        begun, _ = conn.trailing_data
        return Phase.HEAD if begun else Phase.IDLE
    if conn.their_state is h11.SEND_BODY:
        return Phase.BODY if conn.our_state in (h11.SEND_RESPONSE, h11.SEND_BODY) else Phase.REMAINDER
    return Phase.RESPONSE


class TlsGate(asyncio.Protocol):
    """Waits for the TLS handshake of a connection, then hands it over to HTTP.

    asyncio's own TLS servers show a connection to its protocol after the handshake only: until then it would count for
    nothing, and could not be closed to make room.

    Args:
        context: settings of TLS.
        http: makes the protocol that follows.
        connections: of the same server.
    """

    def __init__(self, context: ssl.SSLContext, http: Callable[[], HttpConnection], connections: Connections) -> None:
        self._context = context
        self._http = http
        self._connections = connections
        # Of HTTP, when it comes with the last packet of the handshake.
        self._early = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a socket's is one
        """Begin the handshake."""
        self._transport = transport
        self._connections.enter(self, Phase.HANDSHAKE)
        self._handshake = asyncio.get_running_loop().create_task(self._secure())

    @property
    def has_left(self) -> bool:
        """Return whether the client has closed the connection."""
        return _has_left(self._transport)

    def data_received(self, data: bytes) -> None:
        """Keep what belongs to HTTP."""
        self._early += data

    def abort(self) -> None:
        """Close, without waiting for the client."""
        self._transport.abort()

    async def _secure(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            secured = await loop.start_tls(self._transport, self, self._context, server_side=True)
        except OSError as error:
            log.debug("A TLS handshake failed: %s", error)
            return
        finally:
            self._connections.leave(self)
        # It is `None`, against its type, or closed, when the client left in between.
        if secured is not None and not secured.is_closing():
            self._hand_over(secured)

    def _hand_over(self, secured: asyncio.Transport) -> None:
        http = self._http()
        secured.set_protocol(http)
        http.connection_made(secured)
        if self._early:
            http.data_received(bytes(self._early))
