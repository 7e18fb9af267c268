"""A connection on which a server sends its binary log. PyMySQL logs in; after the dump command the socket is read."""

from __future__ import annotations

import select
import ssl
import time
from collections.abc import Iterable
from typing import Any, Self, cast

import pymysql

from connect_dagster.connectors.mysql.server.connection import connected, socket_of
from connect_dagster.connectors.mysql.server.login import Login
from connect_dagster.connectors.mysql.stream.commands import REGISTER_REPLICA, Command
from connect_dagster.errors import RetriableError


class LogConnection:
    """Receives packets with events.

    Args:
        connection: after a dump command.
        silence_seconds: time without a byte after which the connection counts as lost; ``None`` for no such time. The
            server sends a heartbeat where it has no event.
    """

    def __init__(self, connection: pymysql.Connection[Any], silence_seconds: float | None = None) -> None:
        self._connection = connection
        self._silence_seconds = silence_seconds
        self._heard_at = time.monotonic()
        self._socket = socket_of(connection)
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    @classmethod
    def open(
        cls,
        login: Login,
        statements: Iterable[str],
        commands: Iterable[Command],
        silence_seconds: float | None = None,
    ) -> Self:
        """Log in, and ask for the log.

        Args:
            login: address and access.
            statements: of the session, before the commands.
            commands: the last one asks for the log.
            silence_seconds: as of the class.

        Raises:
            pymysql.MySQLError: the server cannot be reached, or refuses.
        """
        connection = connected(login, statements)
        try:
            for command in commands:
                _send(connection, command)
        except BaseException:
            cast("Any", connection)._force_close()
            raise
        return cls(connection, silence_seconds)

    def receive(self, room: memoryview, wait: float) -> int:
        """Fill a buffer with the bytes that are there; return their number, 0 where none came in time.

        Args:
            room: the buffer.
            wait: longest time in seconds.

        Raises:
            RetriableError: the connection is lost, or silent for too long.
        """
        try:
            count = self._receive_now(room)
            if count is None and wait > 0 and self._poll.poll(wait * 1000):
                count = self._receive_now(room)
        except OSError as error:
            raise RetriableError(f"The connection on which the binary log comes is lost: {error}") from error
        if count == 0:
            raise RetriableError("The server has closed the connection on which the binary log comes")
        self._check_silence(is_heard=count is not None)
        return count or 0

    def _check_silence(self, *, is_heard: bool) -> None:
        now = time.monotonic()
        if is_heard:
            self._heard_at = now
        elif self._silence_seconds is not None and now - self._heard_at > self._silence_seconds:
            raise RetriableError(
                f"Neither an event nor a heartbeat of the server came for {self._silence_seconds:g} s "
                "(connect.keep.alive.interval.ms): the connection on which the binary log comes is taken for lost"
            )

    def _receive_now(self, room: memoryview) -> int | None:
        """Return the number of bytes; ``None`` where there are none yet."""
        try:
            return self._socket.recv_into(room)
        except (BlockingIOError, InterruptedError, ssl.SSLWantReadError):
            return None

    def close(self) -> None:
        """Close the socket, by which the server ends the dump."""
        cast("Any", self._connection)._force_close()


def _send(connection: pymysql.Connection[Any], command: Command) -> None:
    low_level = cast("Any", connection)
    low_level._execute_command(command.number, command.content)
    if command.number == REGISTER_REPLICA:
        low_level._read_ok_packet()
