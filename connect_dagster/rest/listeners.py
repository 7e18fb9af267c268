"""Listeners of the REST API, and the URL that the worker advertises.

Rules of ``RestServer.createConnector`` and ``advertisedUrl`` (Kafka Connect 4.3.1): ``scheme://host:port``,
the scheme in any case, an empty host is every address.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.rest.listening import ListeningSocket

DEFAULT_LISTENERS = ("http://:8083",)

LISTENER = re.compile(r"(?P<scheme>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
FORMAT_TEXT = "Listener doesn't have the right format (protocol://hostname:port)."
PROTOCOL_TEXT = 'Listener protocol must be either "http" or "https".'
SCHEMES = ("http", "https")


class ListenerUnavailable(ConnectError):
    """A listener's address or port cannot be bound, most often because another process has it."""


@dataclass(frozen=True, slots=True)
class Listener:
    """One address to listen on.

    Attributes:
        url: as the user wrote it.
        scheme: http or https.
        host: name or address; empty for all addresses.
        port: 0 for any free one.
    """

    url: str
    scheme: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str, setting: str = "listeners") -> Listener:
        """Read a listener URL. Raises ConfigError with the value and the setting when it is none."""
        match = LISTENER.fullmatch(url.strip())
        if match is None:
            raise ConfigError.invalid(setting, url, FORMAT_TEXT)
        if (scheme := match["scheme"].lower()) not in SCHEMES:
            raise ConfigError.invalid(setting, url, PROTOCOL_TEXT)
        if (port := int(match["port"])) not in range(2**16):
            raise ConfigError.invalid(setting, url, "The port must be between 0 and 65535.")
        return cls(url, scheme, match["host"], port)

    def bind(self) -> socket.socket:
        """Listen. Raises ListenerUnavailable, with the system's reason and the port."""
        try:
            bound = ListeningSocket(fileno=_listening_socket(self.host, self.port).detach())
        except OSError as error:
            # Python adds the address to the system's text, which the listener already has.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise ListenerUnavailable(
                f"Unable to initialize REST server: {reason}: port {self.port} of listener {self.url}"
            ) from error
        # Connections inherit it. Without it a response's body waits 40 ms for the client to confirm the head;
        # asyncio sets it only on sockets that name TCP as their protocol, and those of `create_server` do not.
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return bound


def _listening_socket(host: str, port: int) -> socket.socket:
    if host:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("0.0.0.0", port))


@dataclass(frozen=True, slots=True)
class Advertised:
    """Address of the worker for others (``rest.advertised.*``), completed from its listeners.

    Attributes:
        host: instead of the listener's.
        port: instead of the listener's.
        scheme: of the advertised listener; by default http if one has it, else https.
    """

    host: str | None = None
    port: int | None = None
    scheme: str | None = None

    def url(self, listeners: Sequence[Listener], sockets: Sequence[socket.socket]) -> str:
        """Return the URL for others, with a ``/`` at its end.

        Args:
            listeners: all listeners; the first one with the scheme is advertised.
            sockets: what they are bound to.
        """
        by_scheme: dict[str, tuple[Listener, socket.socket]] = {}
        for listener, bound in zip(listeners, sockets, strict=True):
            by_scheme.setdefault(listener.scheme, (listener, bound))
        scheme = self.scheme or next(scheme for scheme in SCHEMES if scheme in by_scheme)
        listener, bound = by_scheme.get(scheme, (listeners[0], sockets[0]))
        host = self.host or listener.host or _own_address()
        port = self.port or bound.getsockname()[1]
        return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"


FROM_LISTENERS = Advertised()


def _own_address() -> str:
    # Java: InetAddress.getLocalHost().getHostAddress()
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
