"""Connections to a server."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from typing import Any, cast

import pymysql

from connect_dagster.connectors.mysql.server.login import Login
from connect_dagster.connectors.mysql.server.server_error import ErrorNumber
from connect_dagster.connectors.mysql.server.sessions import Connection, query

_KEEP_ALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 6}
"""Options of sockets, where there are any: a server that is gone without a word is noticed within two minutes."""


def connected(login: Login, statements: Iterable[str]) -> Connection:
    """Return a connection to a server, with TLS where the login wants it or both sides have it.

    Args:
        login: address and access.
        statements: the first ones of the session, which commits each statement.

    Raises:
        pymysql.MySQLError: the server cannot be reached, or refuses.
    """
    connection = _connected(login)
    try:
        opened = socket_of(connection)
        for name, value in _KEEP_ALIVE.items():
            if hasattr(socket, name):
                opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
        for statement in statements:
            query(connection, statement)
    except BaseException:
        with contextlib.suppress(pymysql.Error):  # a session that is lost is closed already
            connection.close()
        raise
    return connection


def socket_of(connection: Connection) -> socket.socket:
    """Return the socket of a connection, which PyMySQL does not give.

    Raises:
        pymysql.InterfaceError: it is closed.
    """
    opened: socket.socket | None = cast("Any", connection)._sock
    if opened is None:
        raise pymysql.InterfaceError("The connection is closed")
    return opened


def _connected(login: Login) -> Connection:
    *others, last = login.attempts()
    for attempt in others:
        try:
            return pymysql.connect(**attempt, autocommit=True)
        except pymysql.OperationalError as error:
            if error.args[0] != ErrorNumber.CR_SSL_CONNECTION_ERROR:
                raise
    return pymysql.connect(**last, autocommit=True)
