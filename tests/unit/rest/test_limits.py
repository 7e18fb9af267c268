"""Limits on bodies and threads, and senders that are refused before their body is read; without sockets."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

import pytest
from starlette.types import ASGIApp, Message, Scope

from connect_dagster.protocol.signature import signed_headers
from connect_dagster.rest.app import ENDPOINTS, create_app
from connect_dagster.rest.basic_auth import BasicAuth
from connect_dagster.rest.limits import Limits, Quota
from tests.unit.rest.asking import Answer, Asking, scope_of
from tests.unit.rest.memory_herder import MemoryHerder

SMALL = Limits(body_bytes=1000, bodies_bytes=1500, body_seconds=5)
TASKS = "/connectors/c/tasks"


class SigningHerder(MemoryHerder):
    @property
    def requires_signature(self) -> bool:
        return True


class StuckHerder(MemoryHerder):
    """Lists connectors, and reports its health, when it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.released = threading.Semaphore(0), threading.Event()

    def connectors(self) -> list[str]:
        self.asked.release()
        assert self.released.wait(20)
        return super().connectors()


async def _unread() -> Message:
    raise AssertionError("the body was read")


async def _asked(app: ASGIApp, scope: Scope, receive: Callable[[], Awaitable[Message]] = _unread) -> Answer:
    answer = Answer()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
        else:
            answer.body += message["body"]

    await app(scope, receive, send)
    return answer


def _ask_unread(app: ASGIApp, method: str, target: str, headers: Mapping[str, str]) -> Answer:
    return asyncio.run(_asked(app, scope_of(method, target, dict(headers))))


@pytest.mark.parametrize(("method", "target"), [("POST", TASKS), ("PUT", "/connectors/c/fence")])
def test_an_unsigned_request_among_workers_is_refused_before_its_body(method: str, target: str) -> None:
    """Failed: the body was read first."""
    answer = _ask_unread(create_app(SigningHerder()), method, target, {})
    assert (answer.status, answer.message) == (400, "Internal request missing required signature")


def test_an_unreadable_signature_is_refused_before_the_body(herder: MemoryHerder) -> None:
    """Failed: the body was read first."""
    headers = {**signed_headers(b"key", "HmacSHA256", b""), "X-Connect-Authorization": "!!"}
    answer = _ask_unread(create_app(herder), "POST", TASKS, headers)
    assert (answer.status, answer.message) == (400, "Illegal base64 character 21")


def test_an_unknown_user_is_refused_before_the_body(herder: MemoryHerder) -> None:
    app = create_app(herder, admits=BasicAuth([{"me": "secret"}]))
    assert _ask_unread(app, "POST", "/connectors", {"Content-Type": "application/json"}).status == 401


def test_a_declared_size_is_refused_before_the_body(herder: MemoryHerder) -> None:
    """Failed: the body was read as a whole."""
    app = create_app(herder, limits=SMALL)
    answer = _ask_unread(app, "GET", "/", {"Content-Length": "1001"})
    assert (answer.status, answer.message) == (413, "The body is larger than 1000 bytes")


@pytest.mark.parametrize(("size", "status"), [(1000, 200), (1001, 413)])
def test_an_undeclared_size_is_counted(herder: MemoryHerder, size: int, status: int) -> None:
    """Failed: the body was read as a whole."""
    assert Asking(create_app(herder, limits=SMALL))("GET", "/", b" " * size).status == status


def test_a_body_that_is_too_large_is_freed_at_once(herder: MemoryHerder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed: it was part of a cycle, so that bodies of 400 MB filled the memory until the collector came."""
    read: list[weakref.ref[bytearray]] = []

    class Body(bytearray):
        def __init__(self) -> None:
            read.append(weakref.ref(self))

    monkeypatch.setattr("connect_dagster.rest.app.bytearray", Body, raising=False)
    gc.disable()
    try:
        assert Asking(create_app(herder, limits=SMALL))("GET", "/", b" " * 1001).status == 413
        assert [body() for body in read] == [None]
    finally:
        gc.enable()


def test_bodies_share_their_memory(herder: MemoryHerder) -> None:
    """Failed: each connection could hold a body of any size."""

    async def scenario() -> list[int]:
        app, first = create_app(herder, limits=SMALL), _Parts()
        running = asyncio.create_task(_asked(app, scope_of("GET", "/", {}), first.receive))
        await first.sent(b" " * 800)
        refused = await _asked(app, scope_of("GET", "/", {}), _Parts(b" " * 800).receive)
        assert refused.message == "The worker is reading as many bodies as it can hold: try again later"
        await first.sent(b"", more=False)
        after = await _asked(app, scope_of("GET", "/", {}), _Parts(b" " * 800).receive)
        return [(await running).status, refused.status, after.status]

    assert asyncio.run(scenario()) == [200, 503, 200]


def test_bodies_that_anybody_may_send_take_no_room_from_others(herder: MemoryHerder) -> None:
    """Failed: four connections without a user kept all configurations of users out."""

    async def scenario() -> list[int]:
        app, held = create_app(herder, limits=SMALL), _Parts()
        running = asyncio.create_task(_asked(app, scope_of("POST", TASKS, {}), held.receive))
        await held.sent(b" " * 1000)
        other = await _asked(app, scope_of("POST", TASKS, {}), _Parts(b" " * 1000).receive)
        users = await _asked(app, scope_of("GET", "/", {}), _Parts(b" " * 1000).receive)
        await held.leave()
        await running
        return [other.status, users.status]

    assert asyncio.run(scenario()) == [503, 200]


def test_values_count_with_what_they_become(herder: MemoryHerder) -> None:
    """Failed: 16 configurations of half a million keys at once took a gigabyte."""
    ask = Asking(create_app(herder, limits=Limits(body_values=10, bodies_bytes=1100)))
    assert [ask("GET", "/", b"," * values).status for values in (4, 6, 10, 11)] == [200, 503, 503, 413]


def test_a_client_that_leaves_gives_its_share_back(herder: MemoryHerder, caplog: pytest.LogCaptureFixture) -> None:
    """Failed: each logged a trace."""

    async def scenario() -> int:
        app, left = create_app(herder, limits=SMALL), _Parts()
        running = asyncio.create_task(_asked(app, scope_of("GET", "/", {}), left.receive))
        await left.sent(b" " * 1000)
        await left.leave()
        await running
        return (await _asked(app, scope_of("GET", "/", {}), _Parts(b" " * 1000).receive)).status

    assert asyncio.run(scenario()) == 200
    assert caplog.messages == []


def test_threads_are_bounded_and_the_root_and_health_have_their_own() -> None:
    """Failed: each request had a thread, however many there were."""
    herder = StuckHerder()
    app = create_app(herder, limits=Limits(threads=2))

    async def scenario() -> list[Answer]:
        listing = scope_of("GET", "/connectors", {})
        running = [asyncio.create_task(_asked(app, listing, _Parts(b"").receive)) for _ in range(2)]
        for _ in running:
            assert await asyncio.to_thread(herder.asked.acquire, timeout=10)
        targets = ("/connectors", "/connector-plugins", "/", "/health")
        answers = [await _asked(app, scope_of("GET", target, {}), _Parts(b"").receive) for target in targets]
        herder.released.set()
        return [*answers, *(await asyncio.gather(*running)), await _asked(app, listing, _Parts(b"").receive)]

    answers = asyncio.run(scenario())
    assert [answer.status for answer in answers] == [503, 503, 200, 200, 200, 200, 200]
    assert answers[0].message == "The worker is handling as many requests as it can: try again later"


def test_a_late_request_keeps_its_thread_until_it_ends() -> None:
    """Failed: there was no limit."""
    herder = StuckHerder()
    (listing,) = [one for one in ENDPOINTS if (one.method, one.path) == ("GET", "/connectors")]
    ask = Asking(create_app(herder, [replace(listing, seconds=0.05)], limits=Limits(threads=1)))
    assert [ask("GET", "/connectors").status for _ in range(2)] == [500, 503]
    herder.released.set()


def test_a_quota_is_never_exceeded() -> None:
    quota = Quota(100)
    taken: list[int] = []

    def take() -> None:
        taken.extend(3 for _ in range(100) if quota.take(3))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 99
    assert [quota.take(2), quota.take(1), quota.take(1)] == [False, True, False]


class _Parts:
    """A client that sends its body in parts."""

    def __init__(self, *parts: bytes) -> None:
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        for number, part in enumerate(parts, 1):
            self._messages.put_nowait(_message(part, more=number < len(parts)))

    async def receive(self) -> Message:
        try:
            return await self._messages.get()
        finally:
            self._messages.task_done()

    async def sent(self, part: bytes, *, more: bool = True) -> None:
        await self._put(_message(part, more=more))

    async def leave(self) -> None:
        await self._put({"type": "http.disconnect"})

    async def _put(self, message: Message) -> None:
        self._messages.put_nowait(message)
        await self._messages.join()
        await asyncio.sleep(0)  # the application now has it


def _message(part: bytes, *, more: bool) -> Message:
    return {"type": "http.request", "body": part, "more_body": more}
