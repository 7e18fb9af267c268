"""Limits of connections, with real sockets: clients that are silent, slow, many, or do not read."""

from __future__ import annotations

import gc
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import requests

from connect_dagster.rest.connections import HttpConnection
from connect_dagster.rest.limits import Limits
from connect_dagster.rest.server import RestServer
from tests.unit.rest.certificates import Identity
from tests.unit.rest.memory_herder import MemoryHerder
from tests.unit.rest.serving import LOCAL, limited, serving

QUICK = 0.2
NEVER = 60.0
SECURE = "https://127.0.0.1:0"
HEAD = b"GET /connectors HTTP/1.1\r\nHost: me\r\n\r\n"
UPLOAD = b"POST /connectors HTTP/1.1\r\nHost: me\r\nContent-Type: application/json\r\n"
PATIENT_FIVE = Limits(5, NEVER, NEVER, NEVER, NEVER, NEVER)


class Client:
    """A connection to a server."""

    def __init__(self, server: RestServer, *, buffer: int | None = None) -> None:
        self._socket = socket.socket()
        if buffer:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self._socket.settimeout(10)
        self._socket.connect(("127.0.0.1", server.ports[0]))

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def read(self, until: bytes) -> bytes:
        """Read up to a text."""
        read = b""
        while not read.endswith(until):
            part = self._socket.recv(1)
            assert part, read
            read += part
        return read

    def read_to_end(self) -> bytes:
        """Read until the server closes the connection, gently or not."""
        read = b""
        try:
            while part := self._socket.recv(1 << 20):
                read += part
        except ConnectionResetError:
            pass
        return read

    def drip(self, data: bytes) -> None:
        """Send a byte again and again until the server closes the connection."""
        while self._takes(data):
            time.sleep(0.02)  # the pace of a slow client is the point

    def _takes(self, data: bytes) -> bool:
        try:
            self._socket.sendall(data)
        except ConnectionError:
            return False
        return True

    def is_open(self) -> bool:
        self._socket.setblocking(False)
        try:
            return bool(self._socket.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except ConnectionResetError:
            return False
        finally:
            self._socket.settimeout(10)

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    with ExitStack() as opened:

        def connect(server: RestServer, *, buffer: int | None = None) -> Client:
            client = Client(server, buffer=buffer)
            opened.callback(client.close)
            return client

        yield connect


class StuckHerder(MemoryHerder):
    """Lists connectors when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.released = threading.Event(), threading.Event()

    def connectors(self) -> list[str]:
        self.asked.set()
        assert self.released.wait(20)
        return super().connectors()


@pytest.mark.parametrize("sent", [b"", HEAD])
def test_an_idle_client_is_let_go(herder: MemoryHerder, connect: Callable[..., Client], sent: bytes) -> None:
    """Failed without a request: the connection stayed open."""
    with limited(herder, Limits(idle_seconds=QUICK)) as server:
        client = connect(server)
        client.send(sent)
        assert client.read_to_end().endswith(b'["c"]' if sent else b"")


def test_a_slow_head_is_cut_off(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: each byte ended the only limit there was."""
    with limited(herder, Limits(head_seconds=QUICK)) as server:
        client = connect(server)
        client.send(HEAD)
        client.read(b'["c"]')
        client.send(HEAD[:-2] + b"X: ")
        client.drip(b"x")


def test_a_slow_body_gets_a_408(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: the request waited as long as the client wished."""
    with limited(herder, Limits(body_seconds=QUICK, remainder_seconds=QUICK)) as server:
        client = connect(server)
        client.send(UPLOAD + b"Content-Length: 9\r\n\r\n")
        answer = client.read_to_end()
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert answer.endswith(b'{"error_code":408,"message":"The body did not come within 0.2 seconds"}')


@pytest.mark.parametrize("framing", [b"Content-Length: 300000000", b"Transfer-Encoding: chunked"])
def test_a_large_body_gets_a_413_that_can_be_read(
    herder: MemoryHerder, connect: Callable[..., Client], framing: bytes
) -> None:
    """Failed: it was read as a whole."""
    with limited(herder, Limits(body_bytes=1000)) as server:
        client = connect(server)
        client.send(UPLOAD + framing + b"\r\n\r\n" + b"493e0\r\n" + b" " * 300_000)
        answer = client.read(b"}")
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert answer.endswith(b'{"error_code":413,"message":"The body is larger than 1000 bytes"}')


def test_a_client_need_not_send_a_body_that_is_too_large(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: the server asked for it."""
    with limited(herder, Limits(body_bytes=1000)) as server:
        client = connect(server)
        client.send(UPLOAD + b"Expect: 100-continue\r\nContent-Length: 1001\r\n\r\n")
        assert client.read(b"\r\n").startswith(b"HTTP/1.1 413 ")


def test_the_rest_of_a_refused_body_is_not_read_for_long(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: it was read to its end, however long."""
    with limited(herder, Limits(remainder_seconds=QUICK)) as server:
        client = connect(server)
        client.send(b"POST /nowhere HTTP/1.1\r\nHost: me\r\nTransfer-Encoding: chunked\r\n\r\n")
        assert client.read(b"\r\n").startswith(b"HTTP/1.1 404 ")
        client.drip(b"1\r\nx\r\n")


def test_a_refused_body_that_is_short_keeps_the_connection(
    herder: MemoryHerder, connect: Callable[..., Client]
) -> None:
    with limited(herder, Limits(body_bytes=1000, remainder_seconds=QUICK)) as server:
        client = connect(server)
        client.send(UPLOAD + b"Content-Length: 1001\r\n\r\n")
        client.read(b"}")
        client.send(b" " * 1001 + HEAD)
        assert client.read(b'["c"]').startswith(b"HTTP/1.1 200 ")


def test_tiny_chunks_do_not_keep_others_waiting(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: the 1.2 megabytes were parsed in one go, for five seconds in which nobody had a response."""
    with serving(herder) as server:
        hostile, normal = connect(server), connect(server)
        hostile.send(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 1_100)
        assert hostile.read(b"\r\n").startswith(b"HTTP/1.1 400 ")
        normal.send(UPLOAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 1_000 + b"0\r\n\r\n")
        assert b"not valid JSON" in normal.read(b"}")


@pytest.mark.parametrize("count", [3, 3_000])
def test_requests_that_do_not_wait_are_all_answered(connect: Callable[..., Client], count: int) -> None:
    """Also by a client that sends the last one in two parts."""
    with serving(MemoryHerder()) as server:
        client = connect(server)
        threading.Thread(target=client.send, args=(HEAD * count + HEAD[:10],), daemon=True).start()
        for _ in range(count):
            client.read(b"\r\n\r\n[]")
        client.send(HEAD[10:])
        client.read(b"\r\n\r\n[]")
        client.send(UPLOAD + b"Content-Length: 2\r\n\r\n[]")
        assert b"500 Internal Server Error" in client.read(b"\r\n")


def test_requests_that_do_not_wait_are_not_kept_in_memory(connect: Callable[..., Client]) -> None:
    """At fa6cb2e each one that was handled brought 256 kB more into memory: 250 MB in eight seconds."""
    herder, most = MemoryHerder(), 0
    end = threading.Event()
    with serving(herder) as server:
        client = connect(server)

        def send() -> None:
            with suppress(OSError):
                while not end.is_set():
                    client.send(HEAD * 1_000)

        sending = threading.Thread(target=send, daemon=True)
        sending.start()
        for _ in range(100):
            client.read(b"\r\n\r\n[]")
            open_now = [one for one in gc.get_objects() if isinstance(one, HttpConnection)]
            most = max([most, *(len(one.conn.trailing_data[0]) for one in open_now)])
        end.set()
        client.close()
        sending.join(10)
    assert 0 < most <= 2 * (256 << 10)


def test_a_client_that_does_not_read_is_let_go(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: the connection stayed open with the response in memory."""
    herder.configs = {f"{number}" * 1_000_000: {} for number in range(10)}  # more than the system buffers
    limits = Limits(idle_seconds=QUICK, response_seconds=5)
    with limited(herder, limits) as server:
        client = connect(server, buffer=4096)
        client.send(HEAD)
        head = client.read(b"\r\n\r\n")
        whole = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        other = connect(server)
        assert other.read_to_end() == b""  # it is idle as long as the first one
        assert len(client.read_to_end()) < whole


def test_silent_clients_keep_nobody_out(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: there was no limit."""
    with limited(herder, PATIENT_FIVE) as server:
        silent = connect(server)
        half_head, half_body = connect(server), connect(server)
        half_head.send(HEAD[:-2])
        half_body.send(UPLOAD + b"Content-Length: 9\r\n\r\n")
        for _ in range(8):
            assert requests.get(server.advertised_url, timeout=5).status_code == 200
            connect(server)
        assert [one.read_to_end() for one in (silent, half_head, half_body)] == [b"", b"", b""]


def test_clients_that_do_not_read_keep_nobody_out(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: their next requests counted as running, so that the newest connection was closed."""
    herder.configs = {f"{number}" * 1_000_000: {} for number in range(10)}  # more than the system buffers
    with limited(herder, PATIENT_FIVE) as server:
        deaf = [connect(server, buffer=4096) for _ in range(5)]
        for client in deaf:
            client.send(HEAD * 2)
            client.read(b"\r\n\r\n")
        assert requests.get(server.advertised_url, timeout=5).status_code == 200


def test_a_connection_is_freed_with_its_end(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    """Failed: it referred to itself, so that thousands of clients that left were collected together, in a second."""
    with limited(herder, PATIENT_FIVE) as server:
        gc.collect()
        gc.disable()
        try:
            for leaves_at_once in (True, False) * 20:
                client = connect(server)
                client.send(b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n")
                if not leaves_at_once:
                    client.read(b"}")
                client.close()
            deadline = time.monotonic() + 10
            while (alive := _alive()) and time.monotonic() < deadline:
                time.sleep(0.05)
            assert alive == 0
        finally:
            gc.enable()


def _alive() -> int:
    return sum(isinstance(one, HttpConnection) for one in gc.get_objects())


def test_the_longest_idle_connection_makes_room(herder: MemoryHerder, connect: Callable[..., Client]) -> None:
    with limited(herder, PATIENT_FIVE) as server:
        clients = [connect(server) for _ in range(5)]
        for client in clients:
            client.send(HEAD)
            client.read(b'["c"]')
        clients[0].send(HEAD)
        clients[0].read(b'["c"]')
        newest = connect(server)
        newest.send(HEAD)
        newest.read(b'["c"]')
        assert clients[1].read_to_end() == b""
        assert [client.is_open() for client in clients] == [True, False, True, True, True]


def test_running_requests_are_not_cut_off(connect: Callable[..., Client]) -> None:
    herder = StuckHerder()
    with limited(herder, Limits(2, NEVER, NEVER, NEVER, NEVER, NEVER)) as server:
        running = [connect(server) for _ in range(2)]
        for client in running:
            client.send(HEAD)
            assert herder.asked.wait(5)
            herder.asked.clear()
        assert connect(server).read_to_end() == b""
        herder.released.set()
        assert [client.read(b"[]")[9:12] for client in running] == [b"200", b"200"]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("tls") / "worker.pem"
    identity = (authority := Identity.authority()).vouch_for("worker")
    file.write_text(identity.key_pem() + identity.certificate_pem)
    file.with_name("trusted.pem").write_text(authority.certificate_pem)
    return file


def test_handshakes_count_and_make_room(
    herder: MemoryHerder, certificate: Path, connect: Callable[..., Client]
) -> None:
    """Failed: connections counted once they were secured only."""
    tls = {"ssl.keystore.location": str(certificate)}
    with limited(herder, PATIENT_FIVE, SECURE, **tls) as server:
        silent = [connect(server) for _ in range(6)]
        assert silent[0].read_to_end() == b""
        answer = requests.get(server.advertised_url, timeout=5, verify=str(certificate.with_name("trusted.pem")))
        assert answer.status_code == 200
        assert silent[1].read_to_end() == b""
        assert [client.is_open() for client in silent] == [False, False, True, True, True, True]


@pytest.mark.parametrize("sent", [b"nonsense\r\n\r\n", HEAD[:-2] + b"Connection: close\r\n\r\n"])
def test_clients_that_do_not_say_good_bye_make_room(herder: MemoryHerder, certificate: Path, sent: bytes) -> None:
    """Failed: for half a minute the newest connection was closed in their place."""
    context = ssl.create_default_context(cafile=str(certificate.with_name("trusted.pem")))
    context.check_hostname = False
    with (
        limited(herder, PATIENT_FIVE, SECURE, **{"ssl.keystore.location": str(certificate)}) as server,
        ExitStack() as opened,
    ):
        for _ in range(5):
            plain = opened.enter_context(socket.create_connection(("127.0.0.1", server.ports[0]), timeout=10))
            silent = opened.enter_context(context.wrap_socket(plain, suppress_ragged_eofs=False))
            silent.sendall(sent)
            assert silent.recv(1)
        trusted = str(certificate.with_name("trusted.pem"))
        assert requests.get(server.advertised_url, timeout=5, verify=trusted).status_code == 200


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01", b"GET / HTTP/1.1\r\n\r\n"])
def test_a_handshake_has_its_time(
    herder: MemoryHerder, certificate: Path, connect: Callable[..., Client], sent: bytes
) -> None:
    """Failed: asyncio's limit is a minute."""
    tls = {"ssl.keystore.location": str(certificate)}
    with limited(herder, Limits(head_seconds=QUICK), SECURE, **tls) as server:
        client = connect(server)
        client.send(sent)
        assert client.read_to_end()[:1] in (b"", b"\x15")  # TLS's alert


def test_a_request_may_come_with_the_end_of_the_handshake(herder: MemoryHerder, certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with serving(herder, SECURE, **{"ssl.keystore.location": str(certificate)}) as server:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing)
        with socket.create_connection(("127.0.0.1", server.ports[0]), timeout=10) as plain:
            with pytest.raises(ssl.SSLWantReadError):
                tls.do_handshake()
            plain.sendall(outgoing.read())
            while not _is_done(tls):
                incoming.write(plain.recv(1 << 16))
            tls.write(HEAD)
            plain.sendall(outgoing.read())  # the last packet of the handshake and the request
            answer = b""
            while not answer.endswith(b'["c"]'):
                incoming.write(plain.recv(1 << 16))
                answer += b"".join(iter(lambda: _read(tls), b""))


def _is_done(tls: ssl.SSLObject) -> bool:
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _read(tls: ssl.SSLObject) -> bytes:
    try:
        return tls.read(1 << 16)
    except ssl.SSLWantReadError:
        return b""


def test_the_stop_waits_for_no_half_request(
    herder: MemoryHerder, certificate: Path, connect: Callable[..., Client]
) -> None:
    """Failed: half a body was waited for."""
    tls = {"ssl.keystore.location": str(certificate)}
    with serving(herder, LOCAL, SECURE, **tls) as server:
        half_body = connect(server)
        half_body.send(UPLOAD + b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n")
        half_body.read(b"100 Continue")
        with socket.create_connection(("127.0.0.1", server.ports[1]), timeout=10) as handshake:
            began = time.monotonic()
            server.stop(30)
            assert time.monotonic() - began < 5
            assert handshake.recv(1) == b""
