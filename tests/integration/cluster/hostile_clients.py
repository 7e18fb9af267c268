"""Clients that mean harm, as a process: `python -m tests.integration.cluster.hostile_clients ATTACK HOST PORT SECONDS`.

Each attack ends after its seconds, and keeps to a number of connections; it prints what it did as JSON.
"""

import asyncio
import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from connect_dagster.embedded.ports import HOST

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
# Two processes have as many as the worker allows.
SILENT = 500
CROWD = 1_000
SLOW = 300
LARGE = 8
FLOODING = 50
MALFORMED = 20
PIPELINED = 50
BODY_BYTES = 400 * 1024 * 1024
PIECE = bytes(256 * 1024)
POST = b"POST /connectors HTTP/1.1\r\nHost: worker\r\nContent-Type: application/json\r\n"
GET = b"GET / HTTP/1.1\r\nHost: worker\r\n\r\n"
HELLO = bytes.fromhex(
    "16030100a5010000a10303" + "5a" * 32 + "20" + "a5" * 32 + "0004130113020100005400" + "0b00020100" * 16
)
HEADS = (
    b"GET / HTTP/9.9\r\n\r\n",
    b"get / http/1.1\r\n\r\n",
    b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
    b"GET / HTTP/1.1\r\n folded: a\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /%zz%00%ff%c0%af/../..//?%&&=%20 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET " + b"/a" * 7_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: 1\r\n" % number for number in range(1_200)) + b"\r\n",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
    b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c, websocket\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    POST + b"Content-Length: -1\r\n\r\n{}",
    POST + b"Content-Length: 99999999999999999999\r\n\r\n{}",
    POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    POST + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffffff\r\n{}",
    POST + b"Transfer-Encoding: chunked\r\n\r\n-2\r\n{}\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"e" * 20_000 + b"\r\n{}\r\n0\r\n\r\n",
    POST + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n[\r\n" * 20_000 + b"0\r\n\r\n",
    POST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
)
BODIES = (
    b"",
    b"null",
    b"\xff\xfe{\x00",
    b'{"name":',
    b"[" * 200_000,
    b'{"a":' * 100_000,
    b'{"name":"' + b"\\ud800" * 50_000 + b'"}',
    b'{"name":"x","config":' + b'{"a":"' + b"${" * 300_000 + b'"}}',
    b"[" + b"[]," * 160_000 + b"[]]",
    b'{"name":"x","config":{' + b",".join(b'"k%d":"v"' % number for number in range(150_000)) + b"}}",
    b'{"n":' + b"9" * 100_000 + b"}",
    b'{"config":[1,true,null,1e999,-0,"\\u0000"],"name":{}}',
)


class Attack:
    """Many clients at once, until the time is over.

    Args:
        host: of the server, a loopback address.
        port: of the server.
        seconds: how long.

    Attributes:
        counts: of what happened.
    """

    def __init__(self, host: str, port: int, seconds: float) -> None:
        assert host == HOST, "only this machine's own workers are attacked"
        self.counts: Counter[str] = Counter()
        self._place = host, port
        self._ends = time.monotonic() + seconds
        self._chance = random.Random(port)

    @property
    def goes_on(self) -> bool:
        """Whether there is time left."""
        return time.monotonic() < self._ends

    async def rest(self) -> None:
        """Wait for the end."""
        await asyncio.sleep(max(0.0, self._ends - time.monotonic()))

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Streams]:
        """One connection; what the server does to it is counted."""
        writer = None
        try:
            reader, writer = await asyncio.open_connection(*self._place)
            self.counts["connections"] += 1
            yield reader, writer
        except (OSError, EOFError):
            self.counts["ended by the server"] += 1
            await asyncio.sleep(0.01)
        finally:
            if writer is not None:
                writer.transport.abort()

    async def all_at_once(self, clients: int, client: Callable[[], Awaitable[None]]) -> None:
        """Run clients, each again when it ends early."""

        async def repeated() -> None:
            while self.goes_on:
                await client()

        await asyncio.gather(*(repeated() for _ in range(clients)))

    async def hold(self, begun: bytes) -> None:
        """Begin a request, and say no more until the server ends the connection."""
        async with self.connection() as (reader, writer):
            writer.write(begun)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, self._ends - time.monotonic())):
                    await reader.read()
                    self.counts["ended by the server"] += 1

    async def trickle(self, begun: bytes, byte: bytes) -> None:
        """Begin a request, and go on byte by byte."""
        async with self.connection() as (_, writer):
            writer.write(begun)
            while self.goes_on:
                writer.write(byte)
                await writer.drain()
                self.counts["bytes"] += 1
                await asyncio.sleep(0.1)

    async def send_large(self, declared: bytes, piece: bytes) -> None:
        """Send a body of 400 MB, whatever the server says to it."""
        async with self.connection() as (reader, writer):
            writer.write(POST + declared)
            for _ in range(BODY_BYTES // len(PIECE)):
                if not self.goes_on:
                    return
                writer.write(piece)
                await writer.drain()
                self.counts["pieces of 256 kB"] += 1
            await self.count_answer(reader)

    async def count_answer(self, reader: asyncio.StreamReader) -> None:
        """Read the head of an answer, if one comes within two seconds."""
        try:
            async with asyncio.timeout(2):
                line = await reader.readline()
        except TimeoutError:
            self.counts["no answer"] += 1
            return
        self.counts[line[9:12].decode("latin-1") or "closed"] += 1

    async def keep_asking(self) -> None:
        """Send requests on one connection, each after the answer to the one before."""
        async with self.connection() as (reader, writer):
            while self.goes_on:
                writer.write(GET)
                head = await reader.readuntil(b"\r\n\r\n")
                self.counts[head[9:12].decode()] += 1
                length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                await reader.readexactly(int(length.partition(b":")[2]))

    async def ask_without_listening(self) -> None:
        """Send requests on one connection as fast as it takes them, and drop the answers."""

        async def drop(reader: asyncio.StreamReader) -> None:
            while answers := await reader.read(1 << 16):
                self.counts["answers"] += answers.count(b"HTTP/1.1 200")

        async with self.connection() as (reader, writer):
            dropping = asyncio.create_task(drop(reader))
            try:
                while self.goes_on:
                    writer.write(GET * PIPELINED)
                    self.counts["requests"] += PIPELINED
                    await writer.drain()
                    await asyncio.sleep(0)
            finally:
                dropping.cancel()

    async def ask_and_leave(self) -> None:
        """Send a request on a new connection, and close it at once."""
        async with self.connection() as (_, writer):
            writer.write(GET)

    async def ask_once(self) -> None:
        """Send a request on a new connection."""
        async with self.connection() as (reader, writer):
            writer.write(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            answer = await reader.read()
            self.counts[answer[9:12].decode() or "closed"] += 1

    async def send(self, content: bytes) -> None:
        """Send bytes, and count the answer."""
        async with self.connection() as (reader, writer):
            writer.write(content)
            await writer.drain()
            await self.count_answer(reader)

    def malformed(self) -> bytes:
        """One of very many kinds of what nobody should send."""
        kind, noise = self._chance.randrange(6), self._chance.randbytes(self._chance.randrange(1, 3_000))
        if kind == 0:
            return noise
        if kind == 1:
            return HELLO + noise
        if kind == 2:
            return GET * 20 + noise
        if kind == 3:
            head = bytearray(self._chance.choice((GET, POST + b"Content-Length: 2\r\n\r\n{}")))
            for _ in range(self._chance.randrange(1, 4)):
                head[self._chance.randrange(len(head))] = self._chance.randrange(256)
            return bytes(head)
        if kind == 4:
            return self._chance.choice(HEADS)
        body = self._chance.choice(BODIES)
        target = self._chance.choice((b"POST /connectors", b"PUT /connectors/x/config", b"PATCH /connectors/x/offsets"))
        return POST.replace(b"POST /connectors", target) + b"Content-Length: %d\r\n\r\n" % len(body) + body


def _hold(begun: bytes, clients: int = SILENT) -> Callable[[Attack], Awaitable[None]]:
    return lambda attack: attack.all_at_once(clients, lambda: attack.hold(begun))


def _trickle(begun: bytes, byte: bytes) -> Callable[[Attack], Awaitable[None]]:
    return lambda attack: attack.all_at_once(SLOW, lambda: attack.trickle(begun, byte))


def _large(declared: bytes, piece: bytes) -> Callable[[Attack], Awaitable[None]]:
    return lambda attack: attack.all_at_once(LARGE, lambda: attack.send_large(declared, piece))


_CHUNK = b"%x\r\n%s\r\n" % (len(PIECE), PIECE)
ATTACKS: dict[str, Callable[[Attack], Awaitable[None]]] = {
    "silent": _hold(b""),
    "crowd": _hold(b"", CROWD),
    "half-a-head": _hold(GET[:-2]),
    "half-a-body": _hold(POST + b'Content-Length: 1000\r\n\r\n{"name":'),
    "slow-heads": _trickle(GET[:-2] + b"X: ", b"x"),
    "slow-bodies": _trickle(POST + b"Content-Length: 1000000\r\n\r\n", b"["),
    "slow-chunks": _trickle(POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n[\r\n"),
    "declared-400-MB": _large(b"Content-Length: %d\r\n\r\n" % BODY_BYTES, PIECE),
    "chunked-400-MB": _large(b"Transfer-Encoding: chunked\r\n\r\n", _CHUNK),
    "requests": lambda attack: attack.all_at_once(FLOODING, attack.keep_asking),
    "connections": lambda attack: attack.all_at_once(FLOODING, attack.ask_once),
    "pipelined": lambda attack: attack.all_at_once(FLOODING, attack.ask_without_listening),
    "hit-and-run": lambda attack: attack.all_at_once(FLOODING, attack.ask_and_leave),
    "malformed": lambda attack: attack.all_at_once(MALFORMED, lambda: attack.send(attack.malformed())),
}


def _leave_cores() -> None:
    """Take what cores the worker leaves: real clients have cores of their own."""
    os.nice(10)
    # Linux may share the cores out by session first: priorities then count within one alone.
    with suppress(OSError):
        os.setsid()
        Path("/proc/self/autogroup").write_text("10", encoding="ascii")


async def main(name: str, host: str, port: int, seconds: float) -> None:
    _leave_cores()
    attack = Attack(host, port, seconds)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds + 5):
            await ATTACKS[name](attack)
    sys.stdout.write(json.dumps(attack.counts))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])))
