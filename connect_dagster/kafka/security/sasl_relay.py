"""Connections of librdkafka to brokers with a login that its library lacks: Kerberos.

The library of confluent-kafka's wheel is built without SASL's GSSAPI. It connects to a relay on this machine instead,
to which it logs in by PLAIN with a secret of this process. The relay connects to the broker, logs in there by GSSAPI,
and passes requests and responses on. Between them it reads only the sizes and kinds of requests, so that it sees when
librdkafka logs in again (KIP-368).

Why not a librdkafka with GSSAPI: docs/decisions/0058-kerberos-by-a-relay.md.
"""

from __future__ import annotations

import asyncio
import ctypes
import functools
import logging
import os
import secrets
import socket
import ssl
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.kafka.client_logs import client_logger
from connect_dagster.kafka.security.kerberos import GSSAPI, KerberosLogin

log = logging.getLogger(__name__)

_HOST = "127.0.0.1"
_CONNECT_SECONDS = 30.0
_LOGIN_SECONDS = 60.0
_BYTES_AT_ONCE = 1 << 18
_MOST_BYTES_BEFORE_LOGIN = 1 << 20
_SASL_HANDSHAKE, _SASL_AUTHENTICATE, _API_VERSIONS = 17, 36, 18
_AUTHENTICATION_FAILED = 58
_CLIENT_ID = b"connect_dagster"
_CANNOT_RESOLVE = -4
"""``EAI_FAIL`` of ``netdb.h``."""
_RESET = struct.pack("ii", 1, 0)
"""Of ``SO_LINGER``: a closed connection is reset, which librdkafka takes for a broker that is away."""


class _SocketAddress(ctypes.Structure):
    _fields_ = (
        ("family", ctypes.c_uint16),
        ("port", ctypes.c_uint8 * 2),
        ("address", ctypes.c_uint8 * 4),
        ("zero", ctypes.c_uint8 * 8),
    )


class _AddressInfo(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int) for name in ("flags", "family", "socktype", "protocol")),
        ("length", ctypes.c_uint32),
        ("address", ctypes.POINTER(_SocketAddress)),
        ("canonical_name", ctypes.c_char_p),
        ("next", ctypes.c_void_p),
    )


_Resolve = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_char_p,
    ctypes.c_char_p,
    ctypes.c_void_p,
    ctypes.POINTER(ctypes.POINTER(_AddressInfo)),
    ctypes.c_void_p,
)


class SaslRelay:
    """Relayed connections of all clients with one login; for any thread.

    Args:
        login: at the brokers.
        tls: makes the context for TLS to the brokers, ``None`` for none; each connection calls it.

    Attributes:
        settings: librdkafka's settings for the login at the relay.
        resolve: librdkafka's callback that has it connect to the relay.
    """

    def __init__(self, login: KerberosLogin, tls: Callable[[], ssl.SSLContext | None]) -> None:
        self.login = login
        self.tls = tls
        name, secret = "connect", secrets.token_urlsafe(32)
        self.settings = {
            "security.protocol": "sasl_plaintext",
            "sasl.mechanism": "PLAIN",
            "sasl.username": name,
            "sasl.password": secret,
            # The canonical name of the relay's address is not the broker's: krb5.conf decides about names.
            "client.dns.lookup": "use_all_dns_ips",
        }
        self._secret = f"\0{name}\0{secret}".encode()
        self._lock = threading.Lock()
        self._addresses: dict[tuple[str, int], _AddressInfo] = {}
        self.resolve = _Resolve(self._resolve)

    def check(self) -> None:
        """Get a ticket, and read the stores.

        Raises:
            RetriableError: the centre of Kerberos does not respond.
            ConfigError: the login is refused, or a store cannot be read.
        """
        self.login.check()
        self.tls()

    def accepts(self, message: bytes) -> bool:
        """Return whether a message of PLAIN has this process's secret."""
        return secrets.compare_digest(message, self._secret)

    def _resolve(self, node: bytes | None, service: bytes | None, hints: object, found: object, opaque: object) -> int:
        """Find the relay's address for a broker's; without a broker: librdkafka has read what was found before."""
        if node is None or service is None:
            return 0
        try:
            found[0] = ctypes.pointer(self._address(node.decode(), int(service)))  # type: ignore[index]
        except (OSError, ValueError) as error:
            log.warning("No relay to %s:%s: %s", node.decode(), service.decode(), error)
            return _CANNOT_RESOLVE
        return 0

    def _address(self, host: str, port: int) -> _AddressInfo:
        with self._lock:
            if (known := self._addresses.get((host, port))) is not None:
                return known
            listening = socket.create_server((_HOST, 0))
            listening.setblocking(False)
            address = _SocketAddress(socket.AF_INET)
            address.port[:] = listening.getsockname()[1].to_bytes(2, "big")
            address.address[:] = socket.inet_aton(_HOST)
            kind = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
            made = _AddressInfo(0, *kind, ctypes.sizeof(address), ctypes.pointer(address), None, None)
            self._addresses[host, port] = made
        connected = functools.partial(self._connected, host, port)
        server = asyncio.start_server(connected, sock=listening, limit=_BYTES_AT_ONCE)
        asyncio.run_coroutine_threadsafe(server, _loop())
        return made

    async def _connected(
        self, host: str, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = _Connection(self, host, port, _Peer(reader, writer))
        try:
            broker = await connection.open()
            with suppress(EOFError, OSError):  # librdkafka, or the broker, has closed it
                await connection.serve(broker)
        except (OSError, ConnectError) as error:
            text = str(error) or f"no answer within {_CONNECT_SECONDS:g} s"
            client_logger().warning("No connection to the broker %s:%d: %s", host, port, text)
            with suppress(OSError):
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        finally:
            connection.close()


@dataclass(frozen=True, slots=True)
class _Peer:
    """One end of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def read_frame(self, most: int = _MOST_BYTES_BEFORE_LOGIN) -> bytes:
        size = int.from_bytes(await self.reader.readexactly(4), "big")
        if size > most:
            raise OSError(f"a message of {size} bytes before the login is over")
        return await self.reader.readexactly(size)

    async def write_frame(self, content: bytes) -> None:
        self.writer.write(len(content).to_bytes(4, "big") + content)
        await self.writer.drain()


class _Connection:
    """One connection of librdkafka, with that to the broker.

    Args:
        relay: with the login.
        host: of the broker.
        port: of the broker.
        client: librdkafka's end.
    """

    def __init__(self, relay: SaslRelay, host: str, port: int, client: _Peer) -> None:
        self._relay = relay
        self._host, self._port = host, port
        self._client = client
        self._broker: _Peer | None = None
        self._responses: asyncio.Task[None] | None = None
        self._number = 0

    async def open(self) -> _Peer:
        """Connect to the broker; return its end.

        Raises:
            OSError: it cannot be reached in time.
            ConfigError: a store cannot be read any more.
        """
        context = await asyncio.to_thread(self._relay.tls)
        async with asyncio.timeout(_CONNECT_SECONDS):
            opened = await asyncio.open_connection(self._host, self._port, ssl=context, limit=_BYTES_AT_ONCE)
        self._broker = _Peer(*opened)
        return self._broker

    async def serve(self, broker: _Peer) -> None:
        """Pass requests and responses on until an end closes the connection.

        Raises:
            OSError: an end broke off.
            EOFError: librdkafka has closed it.
            RetriableError: the login is not possible now.
        """
        while True:
            head = await self._client.reader.readexactly(6)
            size, kind = int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")
            if kind in (_SASL_HANDSHAKE, _SASL_AUTHENTICATE):
                await self._pause_responses()
                request = _Request.parse(head[4:] + await self._client.reader.readexactly(size - 2))
                if not await self._answer(request, broker):
                    return
            elif self._responses is not None:
                broker.writer.write(head)
                await _copy(self._client.reader, broker.writer, size - 2)
            elif kind == _API_VERSIONS:
                await broker.write_frame(head[4:] + await self._client.reader.readexactly(size - 2))
                await self._client.write_frame(await broker.read_frame())
            else:
                return

    def close(self) -> None:
        """Close both ends."""
        if self._responses is not None:
            self._responses.cancel()
        for peer in (self._client, self._broker):
            if peer is not None:
                peer.writer.close()

    async def _pause_responses(self) -> None:
        """Leave the broker's end to the login; librdkafka waits for all responses before it logs in again."""
        responses, self._responses = self._responses, None
        if responses is not None:
            responses.cancel()
            await asyncio.wait([responses])

    async def _pass_responses(self, broker: _Peer) -> None:
        try:
            while data := await broker.reader.read(_BYTES_AT_ONCE):
                self._client.writer.write(data)
                await self._client.writer.drain()
        except OSError as error:
            log.debug("The broker %s:%d has broken off: %s", self._host, self._port, error)
        self._client.writer.close()

    async def _answer(self, request: _Request, broker: _Peer) -> bool:
        """Return whether the connection goes on."""
        if request.kind == _SASL_HANDSHAKE:
            await self._client.write_frame(request.handshake_response(["PLAIN"]))
            return True
        text, milliseconds = "", 0
        try:
            if not self._relay.accepts(request.message()):
                raise ConnectError("The relay is that of another process")
            async with asyncio.timeout(_LOGIN_SECONDS):
                milliseconds = await self._log_in(broker)
        except TimeoutError:
            raise RetriableError(f"no answer to the login within {_LOGIN_SECONDS:g} s") from None
        except RetriableError:
            raise
        except ConnectError as error:
            text = str(error)
        await self._client.write_frame(request.authenticate_response(text, milliseconds))
        if not text:
            self._responses = asyncio.create_task(self._pass_responses(broker))
        return not text

    async def _log_in(self, broker: _Peer) -> int:
        """Log in at the broker; return after how many milliseconds it wants another login, 0 for never."""
        response = await self._ask(broker, _SASL_HANDSHAKE, _string(GSSAPI.encode()))
        if response.number(2) != 0:
            names = ", ".join(response.text() for _ in range(response.number(4)))
            others = f"others: {names}" if names else "none: security.protocol must be that of the listener"
            raise ConnectError(f"The broker {self._host}:{self._port} does not take {GSSAPI}, but {others}")
        conversation = await asyncio.to_thread(self._relay.login.conversation, self._host)
        challenge = b""
        while True:
            message = await asyncio.to_thread(conversation.next, challenge)
            response = await self._ask(broker, _SASL_AUTHENTICATE, len(message).to_bytes(4, "big") + message)
            code, text, challenge = response.number(2), response.text(), response.data()
            if code != 0:
                raise ConnectError(f"The broker {self._host}:{self._port} refuses {self._relay.login}: {text}")
            if conversation.done:
                return response.number(8)

    async def _ask(self, broker: _Peer, kind: int, body: bytes) -> _Fields:
        """Return the response to a request of version 1."""
        self._number += 1
        await broker.write_frame(struct.pack(">hhi", kind, 1, self._number) + _string(_CLIENT_ID) + body)
        return _Fields((await broker.read_frame())[4:])


@dataclass(frozen=True, slots=True)
class _Request:
    """A request of librdkafka's for its login.

    Attributes:
        kind: of the request (``api_key``).
        version: of its form.
        number: the response must have it, too.
        body: behind the header.
    """

    kind: int
    version: int
    number: int
    body: bytes

    @classmethod
    def parse(cls, frame: bytes) -> _Request:
        kind, version, number = struct.unpack_from(">hhi", frame)
        fields = _Fields(frame[8:])
        fields.text()
        return cls(kind, version, number, fields.rest())

    def message(self) -> bytes:
        return _Fields(self.body).data()

    def handshake_response(self, mechanisms: list[str]) -> bytes:
        names = b"".join(_string(name.encode()) for name in mechanisms)
        return struct.pack(">ihi", self.number, 0, len(mechanisms)) + names

    def authenticate_response(self, error: str, milliseconds: int) -> bytes:
        code, text = (_AUTHENTICATION_FAILED, _string(error.encode())) if error else (0, struct.pack(">h", -1))
        life = struct.pack(">q", milliseconds) if self.version >= 1 else b""
        return struct.pack(">ih", self.number, code) + text + struct.pack(">i", 0) + life


class _Fields:
    """Reads fields of Kafka's protocol one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        taken = self._data[self._at : self._at + max(size, 0)]
        self._at += len(taken)
        if len(taken) < size:
            raise EOFError("a message is cut off")
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "big", signed=True)

    def text(self) -> str:
        return self._take(self.number(2)).decode(errors="replace")

    def data(self) -> bytes:
        return self._take(self.number(4))

    def rest(self) -> bytes:
        return self._take(len(self._data) - self._at)


def _string(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    while size:
        data = await reader.read(min(size, _BYTES_AT_ONCE))
        if not data:
            raise EOFError
        writer.write(data)
        await writer.drain()
        size -= len(data)


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all relays, in its thread."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="kafka-sasl-relay", daemon=True).start()
    return loop


# A process that was forked has the loop without its thread.
os.register_at_fork(after_in_child=_loop.cache_clear)
