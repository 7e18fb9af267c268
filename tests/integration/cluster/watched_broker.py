"""A proxy in front of a broker that holds a chosen request of a client back, so that a test can strike just then.

The broker advertises the proxy's address, so that nothing but the headers of requests has to be understood.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Self

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port

_HEADER = struct.Struct(">hhih")  # api key, version, correlation id, length of the client id (Kafka: RequestHeader)
_SIZE = struct.Struct(">i")
_BROKER_SECONDS = 5.0


class ApiKey(IntEnum):
    """Kinds of requests (Kafka: ``ApiKeys``)."""

    PRODUCE = 0
    INIT_PRODUCER_ID = 22
    ADD_PARTITIONS_TO_TXN = 24
    END_TXN = 26


class Moment(StrEnum):
    """When a request is held back."""

    BEFORE = "before"  # the broker has not got it
    AFTER = "after"  # the broker has answered, and the client does not know


@dataclass(frozen=True, slots=True)
class Request:
    """A request of a client."""

    key: int
    number: int
    client: str
    body: bytes


@dataclass(eq=False)
class Trap:
    """The first request of a kind to come, which waits until it is released.

    Attributes:
        wanted: returns whether it is of the kind.
        moment: when it is held back.
        skipped: how many of the kind pass before.
        reached: set once it is held back.
    """

    wanted: Callable[[Request], bool]
    moment: Moment
    skipped: int = 0
    reached: threading.Event = field(default_factory=threading.Event)
    _over: threading.Event = field(default_factory=threading.Event)
    _dropped: bool = False

    def release(self) -> None:
        """Pass it on."""
        self._over.set()

    def drop(self) -> None:
        """End its connection instead, as when the client's machine is gone."""
        self._dropped = True
        self._over.set()

    def hold(self) -> None:
        """Wait for one of both. Raises EOFError when it is dropped."""
        self.reached.set()
        self._over.wait()
        if self._dropped:
            raise EOFError


class WatchedBroker:
    """The proxy of one broker; a context manager.

    Args:
        port: of the proxy.
        broker: port of the broker.
    """

    def __init__(self, port: int, broker: int) -> None:
        self._server = socket.create_server((HOST, port))
        self._broker = broker
        self._lock = threading.Lock()
        self._trap: Trap | None = None
        self._open: list[socket.socket] = []
        self.bootstrap_servers = f"{HOST}:{port}"

    def set_trap(self, wanted: Callable[[Request], bool], moment: Moment, skipped: int = 0) -> Trap:
        """Hold a request back, once."""
        with self._lock:
            self._trap = Trap(wanted, moment, skipped)
            return self._trap

    def remove_trap(self) -> None:
        """Hold no request back that comes from now on."""
        with self._lock:
            self._trap = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            if self._trap is not None:
                self._trap.drop()
        for one in (self._server, *self._open):
            _close(one)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                try:
                    broker = socket.create_connection((HOST, self._broker), _BROKER_SECONDS)
                except OSError:  # it was killed
                    client.close()
                    continue
                broker.settimeout(None)
                for one in (client, broker):
                    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
                self._open += [client, broker]
                answers: dict[int, Trap] = {}
                for pass_on in (self._pass_requests, self._pass_responses):
                    threading.Thread(target=_until_closed, args=(pass_on, client, broker, answers), daemon=True).start()

    def _pass_requests(self, client: socket.socket, broker: socket.socket, answers: dict[int, Trap]) -> None:
        for frame in _frames(client):
            trap = self._trapped(frame)
            if trap is not None and trap.moment is Moment.BEFORE:
                trap.hold()
            elif trap is not None:
                answers[_HEADER.unpack_from(frame)[2]] = trap
            broker.sendall(_SIZE.pack(len(frame)) + frame)

    def _pass_responses(self, client: socket.socket, broker: socket.socket, answers: dict[int, Trap]) -> None:
        for frame in _frames(broker):
            trap = answers.pop(_SIZE.unpack_from(frame)[0], None)
            if trap is not None:
                trap.hold()
            client.sendall(_SIZE.pack(len(frame)) + frame)

    def _trapped(self, frame: bytes) -> Trap | None:
        with self._lock:
            trap = self._trap
            if trap is None or not trap.wanted(_request(frame)):
                return None
            if trap.skipped:
                trap.skipped -= 1
                return None
            self._trap = None
            return trap


@contextmanager
def watched_broker(folder: Path) -> Iterator[tuple[EmbeddedBroker, WatchedBroker]]:
    """Start a broker with a second listener, whose clients are sent to a proxy."""
    own, proxied = free_port(), free_port()
    broker = EmbeddedBroker(
        folder,
        own,
        heap="512m",
        listeners={"WATCHED": "PLAINTEXT"},
        settings={"advertised.listeners": f"PLAINTEXT://{HOST}:{own},WATCHED://{HOST}:{proxied}"},
    )
    _, _, port = broker.bootstrap_servers_of("WATCHED").rpartition(":")
    with broker, WatchedBroker(proxied, int(port)) as watched:
        yield broker, watched


def _request(frame: bytes) -> Request:
    key, _, number, length = _HEADER.unpack_from(frame)
    body = _HEADER.size + max(length, 0)
    return Request(key, number, frame[_HEADER.size : body].decode(), frame[body:])


def _until_closed(
    pass_on: Callable[[socket.socket, socket.socket, dict[int, Trap]], None],
    client: socket.socket,
    broker: socket.socket,
    answers: dict[int, Trap],
) -> None:
    with suppress(OSError, EOFError):
        pass_on(client, broker, answers)
    for one in (client, broker):
        _close(one)


def _frames(connection: socket.socket) -> Iterator[bytes]:
    while True:
        (size,) = _SIZE.unpack(_read(connection, _SIZE.size))
        yield _read(connection, size)


def _read(connection: socket.socket, size: int) -> bytes:
    found = bytearray(size)
    view, filled = memoryview(found), 0
    while filled < size:
        part = connection.recv_into(view[filled:])
        if not part:
            raise EOFError
        filled += part
    return bytes(found)


def _close(connection: socket.socket) -> None:
    with suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
