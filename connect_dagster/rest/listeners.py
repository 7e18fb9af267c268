"""Where the REST API listens, and the URL by which others find it.

Rules of ``RestServer.createConnector`` and ``advertisedUrl`` (Kafka Connect 4.3.1): ``scheme://host:port``,
the scheme in any case, an empty host is every address. HTTP only.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from connect_dagster.plugin.errors import ConfigError, ConnectError

DEFAULT_LISTENERS = ("http://:8083",)

LISTENER = re.compile(r"(?P<scheme>.*)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>-?[0-9]+)")
FORMAT_TEXT = "Listener doesn't have the right format (protocol://hostname:port)."
HTTPS_TEXT = "this worker serves HTTP only."
PROTOCOL_TEXT = 'Listener protocol must be "http".'


class ListenerUnavailable(ConnectError):
    """A listener's address or port cannot be bound, most often because another process has it."""


@dataclass(frozen=True, slots=True)
class Listener:
    """One address to listen on.

    Attributes:
        url: as the user wrote it.
        host: name or address; empty for all addresses.
        port: 0 for any free one.
    """

    url: str
    host: str
    port: int

    @classmethod
    def parse(cls, url: str) -> Listener:
        """Read a listener URL. Raises ConfigError with the value when it is none, or not HTTP."""
        match = LISTENER.fullmatch(url.strip())
        if match is None:
            raise ConfigError.invalid("listeners", url, FORMAT_TEXT)
        if (scheme := match["scheme"].lower()) != "http":
            raise ConfigError.invalid("listeners", url, HTTPS_TEXT if scheme == "https" else PROTOCOL_TEXT)
        if (port := int(match["port"])) not in range(2**16):
            raise ConfigError.invalid("listeners", url, "The port must be between 0 and 65535.")
        return cls(url, match["host"], port)

    def bind(self) -> socket.socket:
        """Listen. Raises ListenerUnavailable, with the system's reason and the port."""
        try:
            return _listening_socket(self.host, self.port)
        except OSError as error:
            # Python adds the address to the system's text, which the listener already tells.
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise ListenerUnavailable(
                f"Unable to initialize REST server: {reason}: port {self.port} of listener {self.url}"
            ) from error


def _listening_socket(host: str, port: int) -> socket.socket:
    if host:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    if socket.has_dualstack_ipv6():
        return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("0.0.0.0", port))


@dataclass(frozen=True, slots=True)
class Advertised:
    """What to tell others instead of the first listener (``rest.advertised.host.name``, ``.port``)."""

    host: str | None = None
    port: int | None = None

    def address(self, listeners: Sequence[Listener], sockets: Sequence[socket.socket]) -> str:
        """``host:port`` to tell others, which is also the worker's id.

        Args:
            listeners: all listeners, the first one is advertised.
            sockets: what they are bound to.
        """
        host = self.host or listeners[0].host or _own_address()
        port = self.port or sockets[0].getsockname()[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


FROM_LISTENERS = Advertised()


def _own_address() -> str:
    # Java: InetAddress.getLocalHost().getHostAddress()
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
