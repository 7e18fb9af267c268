"""Errors that a server reports, in a packet or by way of PyMySQL, and what is raised for them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import pymysql

from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.errors import ConnectError, RetriableError

_ERROR, _STATE_MARK, _STATE_SIZE = 0xFF, ord("#"), 5


class ErrorNumber(IntEnum):
    """Numbers of errors that decide on what to do next, as MySQL and MariaDB name them."""

    ER_CON_COUNT_ERROR = 1040
    ER_DBACCESS_DENIED_ERROR = 1044
    ER_ACCESS_DENIED_ERROR = 1045  # on Amazon RDS also where the right RELOAD is missing
    ER_SERVER_SHUTDOWN = 1053
    ER_PARSE_ERROR = 1064
    ER_TABLEACCESS_DENIED_ERROR = 1142
    ER_COLUMNACCESS_DENIED_ERROR = 1143
    ER_LOCK_WAIT_TIMEOUT = 1205
    ER_SPECIFIC_ACCESS_DENIED_ERROR = 1227
    ER_MASTER_FATAL_ERROR_READING_BINLOG = 1236
    ER_PROCACCESS_DENIED_ERROR = 1370
    ER_TABLE_DEF_CHANGED = 1412
    ER_CONNECTION_KILLED = 1927
    CR_CONNECTION_ERROR = 2002
    CR_CONN_HOST_ERROR = 2003
    CR_UNKNOWN_HOST = 2005
    CR_SERVER_GONE_ERROR = 2006
    CR_SERVER_LOST = 2013
    CR_SSL_CONNECTION_ERROR = 2026
    CR_SERVER_LOST_EXTENDED = 2055
    ER_CLIENT_INTERACTION_TIMEOUT = 4031


SESSION_ENDED = frozenset(
    {
        ErrorNumber.ER_SERVER_SHUTDOWN,
        ErrorNumber.ER_CONNECTION_KILLED,
        ErrorNumber.CR_SERVER_GONE_ERROR,
        ErrorNumber.CR_SERVER_LOST,
        ErrorNumber.CR_SERVER_LOST_EXTENDED,
        ErrorNumber.ER_CLIENT_INTERACTION_TIMEOUT,
    }
)
"""Errors of a session that was open."""

_NOT_OPENED = frozenset(
    {
        ErrorNumber.ER_CON_COUNT_ERROR,
        ErrorNumber.CR_CONNECTION_ERROR,
        ErrorNumber.CR_CONN_HOST_ERROR,
        ErrorNumber.CR_UNKNOWN_HOST,
    }
)
DENIED = frozenset(
    {
        ErrorNumber.ER_DBACCESS_DENIED_ERROR,
        ErrorNumber.ER_ACCESS_DENIED_ERROR,
        ErrorNumber.ER_TABLEACCESS_DENIED_ERROR,
        ErrorNumber.ER_COLUMNACCESS_DENIED_ERROR,
        ErrorNumber.ER_SPECIFIC_ACCESS_DENIED_ERROR,
        ErrorNumber.ER_PROCACCESS_DENIED_ERROR,
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
