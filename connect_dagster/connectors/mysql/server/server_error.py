"""Errors that a server reports, in a packet or by way of PyMySQL, and what is raised for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import pymysql

from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.errors import ConnectError, RetriableError

_ERROR, _STATE_MARK, _STATE_SIZE = 0xFF, ord("#"), 5


class ErrorNumber(IntEnum):
    """Numbers of errors that decide on what to do next."""

    TOO_MANY_CONNECTIONS = 1040
    DATABASE_ACCESS_DENIED = 1044
    ACCESS_DENIED = 1045
    SHUTDOWN = 1053
    TABLE_ACCESS_DENIED = 1142
    COLUMN_ACCESS_DENIED = 1143
    SPECIFIC_ACCESS_DENIED = 1227
    FATAL_REPLICATION_ERROR = 1236
    ROUTINE_ACCESS_DENIED = 1370
    CONNECTION_KILLED = 1927
    NO_SOCKET = 2002
    NO_SERVER = 2003
    UNKNOWN_HOST = 2005
    SERVER_GONE = 2006
    SERVER_LOST = 2013
    SERVER_LOST_EXTENDED = 2055
    CLIENT_INTERACTION_TIMEOUT = 4031


SESSION_ENDED = frozenset(
    {
        ErrorNumber.SHUTDOWN,
        ErrorNumber.CONNECTION_KILLED,
        ErrorNumber.SERVER_GONE,
        ErrorNumber.SERVER_LOST,
        ErrorNumber.SERVER_LOST_EXTENDED,
        ErrorNumber.CLIENT_INTERACTION_TIMEOUT,
    }
)
"""Errors of a session that was open."""

_NOT_OPENED = frozenset(
    {ErrorNumber.TOO_MANY_CONNECTIONS, ErrorNumber.NO_SOCKET, ErrorNumber.NO_SERVER, ErrorNumber.UNKNOWN_HOST}
)
DENIED = frozenset(
    {
        ErrorNumber.DATABASE_ACCESS_DENIED,
        ErrorNumber.ACCESS_DENIED,
        ErrorNumber.TABLE_ACCESS_DENIED,
        ErrorNumber.COLUMN_ACCESS_DENIED,
        ErrorNumber.SPECIFIC_ACCESS_DENIED,
        ErrorNumber.ROUTINE_ACCESS_DENIED,
    }
)
"""Errors of a user without a right."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error packet.

    Attributes:
        number: of the error.
        state: SQLSTATE; empty where there is none.
        text: the server's words.
    """

    number: int
    state: str
    text: str

    def __str__(self) -> str:
        state = f" ({self.state})" if self.state else ""
        return f"{self.text} [error {self.number}{state}]" if self.number else self.text


def reported(error: Exception) -> ServerError:
    """Return the error that PyMySQL, or a socket, has raised; number 0 where it has none."""
    if isinstance(error, pymysql.MySQLError) and len(error.args) == 2 and isinstance(error.args[0], int):
        return ServerError(error.args[0], "", str(error.args[1]))
    return ServerError(0, "", str(error) or type(error).__name__)


def has_ended_session(error: Exception) -> bool:
    """Return whether an error of PyMySQL, or of a socket, reports the end of the session."""
    return isinstance(error, OSError | pymysql.InterfaceError) or reported(error).number in SESSION_ENDED


def as_connect_error(doing: str, error: Exception) -> ConnectError:
    """Return what to raise for an error of PyMySQL, or of a socket: one to retry where the connection is missing.

    Args:
        doing: what was asked for, as an infinitive such as "to run SHOW BINARY LOGS".
        error: for it.
    """
    found = reported(error)
    if has_ended_session(error) or found.number in _NOT_OPENED:
        return RetriableError(f"A connection {doing} is missing: {found}")
    if found.number in DENIED:
        return ConnectError(f"The right {doing} is missing: {found}")
    return ConnectError(f"The server refuses {doing}: {found}")


def server_error(packet: bytes) -> ServerError | None:
    """Return the error of a packet's content; ``None`` for an EOF packet.

    Raises:
        MalformedBytes: an error packet ends too early.
    """
    read = Reader(packet)
    if not packet or read.unsigned(1) != _ERROR:
        return None
    number, rest = read.unsigned(2), read.rest()
    if rest[:1] == bytes([_STATE_MARK]):
        state, rest = rest[1 : 1 + _STATE_SIZE].decode(errors="replace"), rest[1 + _STATE_SIZE :]
        return ServerError(number, state, rest.decode(errors="replace"))
    return ServerError(number, "", rest.decode(errors="replace"))
