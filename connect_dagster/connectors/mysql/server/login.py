"""How a connection to a server is made: arguments of ``pymysql.connect`` and the first statements of its session."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_STATEMENT = re.compile(r"(?:[^;]|;;)+")
_LONGEST_WAIT_SECONDS = 31_536_000  # what PyMySQL takes
_HEARTBEATS_IN_AN_INTERVAL = 0.8
_SLOW_READER_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Login:
    """A server and the access to it.

    Attributes:
        context: for TLS; ``None`` for none.
        plain_instead: whether a server without TLS is taken although there is a context.
        connect_seconds: longest wait for the connection.
    """

    host: str
    port: int
    user: str
    password: str
    context: ssl.SSLContext | None = None
    plain_instead: bool = False
    connect_seconds: float = 30.0

    @property
    def address(self) -> str:
        """Return the user and the server, for texts."""
        return f"{self.user} at {self.host}:{self.port}"

    def attempts(self) -> tuple[dict[str, Any], ...]:
        """Return the arguments to connect with, in the order in which to try them.

        The second ones are for a server that answers the first with the error that it has no TLS (2026).
        """
        encrypted = () if self.context is None else (self._arguments(ssl=self.context),)
        plain = (self._arguments(ssl_disabled=True),) if self.context is None or self.plain_instead else ()
        return (*encrypted, *plain)

    def _arguments(self, **tls: Any) -> dict[str, Any]:
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password.encode(),  # PyMySQL would write a text as latin1, Java writes UTF-8
            "charset": "utf8mb4",
            "connect_timeout": min(self.connect_seconds, _LONGEST_WAIT_SECONDS),
            **tls,
        }


@dataclass(frozen=True, slots=True)
class LogSession:
    """Settings of the session that reads the binary log.

    Attributes:
        write_seconds: ``binlog.net.write.timeout``; 0 for ten minutes, because a sender whose reader waits for Kafka
            must not give up after the minute that is the server's default.
        read_seconds: ``binlog.net.read.timeout``; 0 for the server's default.
        keep_alive_ms: the time without any event after which the connection counts as lost; ``None`` for no such time.
    """

    write_seconds: int = 0
    read_seconds: int = 0
    keep_alive_ms: int | None = 60_000

    @property
    def silence_seconds(self) -> float | None:
        """Return the time without any event after which the connection counts as lost; ``None`` for no such time."""
        return None if self.keep_alive_ms is None else self.keep_alive_ms / 1000

    def statements(self) -> Iterator[str]:
        """Yield the statements of the session, before the log is asked for."""
        yield f"SET SESSION net_write_timeout = {self.write_seconds or _SLOW_READER_SECONDS}"
        if self.read_seconds:
            yield f"SET SESSION net_read_timeout = {self.read_seconds}"
        if self.keep_alive_ms is not None:
            yield f"SET @master_heartbeat_period = {int(self.keep_alive_ms * _HEARTBEATS_IN_AN_INTERVAL) * 1_000_000}"


def split_statements(text: str) -> tuple[str, ...]:
    """Return the statements of ``database.initial.statements``: a semicolon ends one, two are a semicolon in it."""
    statements = (found.replace(";;", ";").strip() for found in _STATEMENT.findall(text))
    return tuple(filter(None, statements))
