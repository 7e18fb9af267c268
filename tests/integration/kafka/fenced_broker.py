"""A broker behind a proxy that can respond as one that has just been fenced: with metadata that names no broker."""

import socket
import struct
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Self

from kafka.protocol.metadata import FindCoordinatorResponse, MetadataResponse

from connect_dagster.embedded.ports import HOST, free_port

_RESPONSES = {3: MetadataResponse, 10: FindCoordinatorResponse}
_LEADER_NOT_AVAILABLE = 5
_REQUEST = struct.Struct(">hhi")  # api key, version, correlation id
_SIZE = struct.Struct(">i")
# A client reads a response of this many topics for some milliseconds.
_COPIES = 5000

# Kind and version of requests by correlation id.
_Asked = dict[int, tuple[int, int]]
_Convert = Callable[[bytes, _Asked], bytes]


class FencedBroker:
    """A proxy that gives its own address as that of the only broker; a context manager.

    Args:
        bootstrap_servers: of the broker itself.

    Attributes:
        fenced: whether responses about topics name no broker.
        cutting: whether connections end behind a response about topics, which is made long.
        told: number of responses without a broker.
        cut: number of connections that were ended.
    """

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._broker = host, int(port)
        self._port = free_port()
        self._server = socket.create_server((HOST, self._port))
        self._open: list[socket.socket] = []
        self.fenced = self.cutting = False
        self.told = self.cut = 0

    @property
    def bootstrap_servers(self) -> str:
        """The address of the proxy."""
        return f"{HOST}:{self._port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in (self._server, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                broker = socket.create_connection(self._broker)
                self._open += [client, broker]
                asked: _Asked = {}
                for one, other, convert in ((client, broker, self._request), (broker, client, self._response)):
                    threading.Thread(target=self._pass_on, args=(one, other, convert, asked), daemon=True).start()

    def _pass_on(self, one: socket.socket, other: socket.socket, convert: _Convert, asked: _Asked) -> None:
        with suppress(OSError, EOFError):
            while True:
                (size,) = _SIZE.unpack(_read(one, _SIZE.size))
                body = convert(_read(one, size), asked)
                other.sendall(_SIZE.pack(len(body)) + body)
                if self.cutting and len(body) > _COPIES:
                    self.cut += 1
                    break
        for end in (one, other):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _request(self, body: bytes, asked: _Asked) -> bytes:
        key, version, number = _REQUEST.unpack_from(body)
        if key in _RESPONSES:
            asked[number] = key, version
        return body

    def _response(self, body: bytes, asked: _Asked) -> bytes:
        (number,) = _SIZE.unpack_from(body)
        if number not in asked:
            return body
        key, version = asked.pop(number)
        kind = _RESPONSES[key]
        head = _SIZE.size + int(kind.flexible_version_q(version))  # with no tagged field
        response = kind.decode(body[head:], version=version)
        if kind is MetadataResponse:
            self._change(response)
        else:
            _move(response.coordinators or [response], self._port)
        response._header = None
        return body[:head] + bytes(response.encode(version=version))

    def _change(self, response: Any) -> None:
        _move(response.brokers, self._port)
        if self.cutting:
            response.topics = list(response.topics) * _COPIES
        elif self.fenced and response.topics:
            self.told += 1
            response.brokers = []
            for partition in (one for topic in response.topics for one in topic.partitions):
                partition.error_code, partition.leader_id = _LEADER_NOT_AVAILABLE, -1


def _move(brokers: Iterable[Any], port: int) -> None:
    for broker in brokers:
        broker.host, broker.port = HOST, port


def _read(connection: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = connection.recv(size - len(found))
        if not part:
            raise EOFError
        found += part
    return found
