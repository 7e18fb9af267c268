"""The socket on which a log comes."""

import socket
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from connect_dagster.connectors.mysql.stream.log_connection import LogConnection
from connect_dagster.errors import RetriableError


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def connection(sock: socket.socket, silence_seconds: float | None) -> LogConnection:
    return LogConnection(cast("Any", SimpleNamespace(_sock=sock, _force_close=sock.close)), silence_seconds)


def test_bytes_that_come(sockets: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = sockets
    opened, room = connection(ours, None), bytearray(10)
    assert opened.receive(memoryview(room), 0) == 0
    theirs.send(b"abc")
    assert opened.receive(memoryview(room), 1) == 3
    assert room[:3] == b"abc"


def test_a_server_that_closes_the_connection(sockets: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = sockets
    theirs.close()
    with pytest.raises(RetriableError, match="The server has closed the connection"):
        connection(ours, None).receive(memoryview(bytearray(10)), 1)


def test_a_server_that_is_silent_for_too_long(sockets: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = sockets
    opened, room = connection(ours, 0.2), memoryview(bytearray(10))
    time.sleep(0.25)
    theirs.send(b"a")
    assert opened.receive(room, 0) == 1  # what has come counts, however late it is looked at
    assert opened.receive(room, 0) == 0
    time.sleep(0.25)
    with pytest.raises(RetriableError, match=r"for 0.2 s \(connect.keep.alive.interval.ms\)"):
        opened.receive(room, 0)
