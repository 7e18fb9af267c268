"""Clients that have left before they were accepted."""

import socket
import struct
import time
from collections.abc import Iterator

import pytest

from connect_dagster.rest.listeners import Listener
from connect_dagster.rest.listening import has_left
from tests.rest_calls import call
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, serving

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
DELETE = b"DELETE /connectors/x HTTP/1.1\r\nHost: a\r\n\r\n"
RESET = struct.pack("ii", 1, 0)


@pytest.fixture(name="listening")
def listening_fixture() -> Iterator[socket.socket]:
    with Listener.parse(LOCAL).bind() as bound:
        bound.listen()
        bound.setblocking(False)
        yield bound


def leave(listening: socket.socket, sent: bytes, *, reset: bool = False) -> int:
    """Connect, send, and close; answers the client's port."""
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(sent)
        if reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        return int(client.getsockname()[1])


def accepted(listening: socket.socket) -> int | None:
    """The port of the next client that is accepted."""
    deadline = time.monotonic() + 0.3
    while time.monotonic() < deadline:
        try:
            connected, address = listening.accept()
        except BlockingIOError:
            time.sleep(0.01)
        else:
            connected.close()
            return int(address[1])
    return None


@pytest.mark.parametrize(
    "sent",
    [b"", GET, b"HEAD / HTTP/1.1\r\n\r\n", b"OPTIONS * HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\xa5"],
    ids=["nothing", "GET", "HEAD", "OPTIONS", "TLS"],
)
def test_who_left_and_asked_for_nothing_is_passed_over(listening: socket.socket, sent: bytes) -> None:
    for _ in range(20):
        leave(listening, sent)
    with socket.create_connection(listening.getsockname()) as client:
        assert accepted(listening) == client.getsockname()[1]
    assert accepted(listening) is None


@pytest.mark.parametrize("sent", [b"", GET], ids=["nothing", "GET"])
def test_who_reset_the_connection_is_passed_over(listening: socket.socket, sent: bytes) -> None:
    leave(listening, sent, reset=True)
    assert accepted(listening) is None


LONG = b"GET / HTTP/1.1\r\nX: %s\r\n\r\n" % (b"x" * (4_096 - len(b"GET / HTTP/1.1\r\nX: \r\n\r\n")))


@pytest.mark.parametrize(
    "sent",
    [DELETE, GET + DELETE, GET + GET, LONG + DELETE, GET[:-2], b"nonsense"],
    ids=["DELETE", "both", "two", "both, behind what is looked at", "part", "nonsense"],
)
def test_what_else_was_sent_is_read(listening: socket.socket, sent: bytes) -> None:
    assert accepted(listening) is None
    assert leave(listening, sent) == accepted(listening)


def test_who_waits_is_accepted(listening: socket.socket) -> None:
    with socket.create_connection(listening.getsockname()) as client:
        client.sendall(GET)
        assert not has_left(client.fileno())
        assert accepted(listening) == client.getsockname()[1]


def test_a_server_answers_behind_very_many_that_have_left() -> None:
    with serving(MemoryHerder()) as server:
        for _ in range(3_000):
            with socket.create_connection(("127.0.0.1", server.ports[0])) as client:
                client.sendall(GET)
        assert call(server.advertised_url, "GET", "/").status == 200
