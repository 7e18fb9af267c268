"""Commands and packets over the connection of PyMySQL, which logs in and is used no further.

Everything that depends on PyMySQL's internals is here. Its buffered file ``_rfile`` stands on the socket or, with TLS,
on what wraps it. What that file has read ahead is taken first; afterwards bytes go past it, from the socket into the
caller's memory. (``readinto1`` of the file would do both at once, and wait where enough has been read ahead.)
"""

from __future__ import annotations

import contextlib
import socket
import struct
from enum import IntEnum
from typing import Any

import pymysql
from pymysql.err import raise_mysql_exception

from connect_dagster.connectors.mysql.server.connection import socket_of
from connect_dagster.connectors.mysql.server.server_error import ErrorNumber
from connect_dagster.connectors.mysql.server.sessions import Connection

_READ_AHEAD = 1 << 16  # more than a buffered file holds
_RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class Command(IntEnum):
    """Commands of prepared statements (MySQL: ``enum_server_command``)."""

    PREPARE = 0x16
    EXECUTE = 0x17
    CLOSE = 0x19


class PacketConnection:
    """A connection, used packet by packet. All methods raise ``pymysql.Error`` for what the server or socket reports.

    Args:
        connection: logged in, with no result that is not read.
    """

    def __init__(self, connection: Connection) -> None:
        self._inner: Any = connection
        self._is_read_ahead = True

    @property
    def sequence(self) -> int:
        """Return the number of the next packet."""
        return int(self._inner._next_seq_id)

    def send(self, command: Command, content: bytes) -> None:
        """Send a command."""
        self._inner._execute_command(command, content)

    def read(self) -> bytes:
        """Return the content of the next packet; raise the error that it may be."""
        self._is_read_ahead = True
        return bytes(self._inner._read_packet().get_all_data())

    def receive(self, into: memoryview) -> int:
        """Fill in bytes as they have arrived, at least one; return how many."""
        try:
            count = self._receive(into)
        except (OSError, ValueError, AttributeError) as error:  # the last two: another thread has closed it
            raise self._lost(str(error)) from error
        if not count:
            raise self._lost("the server closed it")
        return count

    def _receive(self, into: memoryview) -> int:
        file = self._inner._rfile
        if not self._is_read_ahead:
            return int(file.raw.readinto(into))
        most = min(len(into), _READ_AHEAD)
        ahead = file.read1(most)
        into[: len(ahead)] = ahead
        self._is_read_ahead = len(ahead) == most
        return len(ahead)

    def abort(self) -> None:
        """Have a thread that waits for bytes raise, and end the session. May be called by any thread.

        The server learns of it at once: a socket that is closed in order while it has no room leaves the server waiting
        for room, for ``net_write_timeout`` seconds, with the table in use.
        """
        with contextlib.suppress(OSError, pymysql.InterfaceError):  # the latter: it is closed already
            sock = socket_of(self._inner)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
            socket.socket.shutdown(sock, socket.SHUT_RDWR)  # not that of TLS, which takes its state away

    def _lost(self, reason: str) -> pymysql.err.OperationalError:
        """End the session and return the error to raise, whose traceback must not keep the socket open."""
        self.abort()
        file = self._inner._rfile
        if file is not None:
            with contextlib.suppress(OSError, ValueError):
                file.close()
        text = f"Lost connection to MySQL server during query ({reason})"
        return pymysql.err.OperationalError(ErrorNumber.CR_SERVER_LOST.value, text)


def raise_error(content: bytes) -> None:
    """Raise the error of a packet, with the server's number and text."""
    raise_mysql_exception(content)
