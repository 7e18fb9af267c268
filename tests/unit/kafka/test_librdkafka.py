"""A client that has forgotten its brokers gets the bootstrap servers again."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

from connect_dagster.kafka import librdkafka
from connect_dagster.kafka.librdkafka import Rebootstrap

HANDLE = 42


class Clock:
    """A clock that a test moves."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


class Library:
    """librdkafka's functions for a client that knows some brokers."""

    def __init__(self) -> None:
        self.brokers = 1
        self.asked = 0
        self.added: list[tuple[int, bytes]] = []

    def brokers_learned_ids(self, handle: int, count: Any) -> int:
        assert handle == HANDLE
        self.asked += 1
        ctypes.cast(count, ctypes.POINTER(ctypes.c_size_t))[0] = self.brokers
        return 0

    def mem_free(self, handle: int, memory: int) -> None:
        assert (handle, memory) == (HANDLE, 0)

    def brokers_add(self, handle: int, servers: bytes) -> None:
        self.added.append((handle, servers))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(librdkafka, "time", clock)
    return clock


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    library = Library()
    monkeypatch.setattr(librdkafka, "library", lambda: library)
    return library


def serve(client: Rebootstrap, clock: Clock, seconds: float) -> None:
    clock.seconds += seconds
    client.serve(HANDLE)


def test_servers_are_added_until_a_broker_is_known_again(clock: Clock, library: Library) -> None:
    client = Rebootstrap({"bootstrap.servers": "a:1,b:2"})
    serve(client, clock, 0)
    library.brokers = 0
    serve(client, clock, 1.9)
    assert library.added == []
    serve(client, clock, 0.2)
    serve(client, clock, 2)
    library.brokers = 3
    serve(client, clock, 2)
    assert library.added == [(HANDLE, b"a:1,b:2")] * 2


def test_a_client_that_has_not_found_a_broker_yet_is_left_alone(clock: Clock, library: Library) -> None:
    library.brokers = 0
    client = Rebootstrap({"bootstrap.servers": "a:1"})
    for _ in range(10):
        serve(client, clock, 2)
    assert (library.added, library.asked) == ([], 10)


def test_a_closed_client_and_one_without_recovery_are_not_asked(clock: Clock, library: Library) -> None:
    Rebootstrap({"bootstrap.servers": "a:1"}).serve(None)
    Rebootstrap({"bootstrap.servers": "a:1", "metadata.recovery.strategy": "none"}).serve(HANDLE)
    assert library.asked == 0


def test_a_wheel_without_the_library_is_a_warning(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> SimpleNamespace:
        raise OSError("confluent-kafka has 0 librdkafka libraries")

    monkeypatch.setattr(librdkafka, "library", missing)
    client = Rebootstrap({"bootstrap.servers": "a:1"})
    for _ in range(2):
        serve(client, clock, 2)
    assert caplog.messages == [
        "A client that forgets its brokers will not find them again: confluent-kafka has 0 librdkafka libraries"
    ]
