"""A client without brokers gets the bootstrap servers again, once it no longer looks for them itself."""

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError

from connect_dagster.kafka import librdkafka
from connect_dagster.kafka.librdkafka import Rebootstrap

HANDLE = 42
DOWN = KafkaError(KafkaError._ALL_BROKERS_DOWN)


class Clock:
    """A clock that a test moves."""

    seconds = 0.0

    def monotonic(self) -> float:
        return self.seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(librdkafka, "time", clock)
    return clock


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bytes]]:
    added: list[tuple[int, bytes]] = []
    functions = SimpleNamespace(brokers_add=lambda *one: added.append(one))
    monkeypatch.setattr(librdkafka, "library", lambda: functions)
    return added


def test_servers_are_added_once_after_five_seconds(clock: Clock, added: list[tuple[int, bytes]]) -> None:
    client = Rebootstrap("a:1,b:2")
    client.note(DOWN)
    for clock.seconds in (0.0, 4.9, 5.0, 5.1, 60.0):
        client.serve(HANDLE)
    assert added == [(HANDLE, b"a:1,b:2")]


def test_a_client_that_looks_for_brokers_is_left_alone(clock: Clock, added: list[tuple[int, bytes]]) -> None:
    client = Rebootstrap("a:1")
    for second in range(60):
        clock.seconds = second
        client.note(DOWN)
        client.serve(HANDLE)
    assert added == []


def test_other_errors_and_closed_clients_add_nothing(clock: Clock, added: list[tuple[int, bytes]]) -> None:
    client = Rebootstrap("a:1")
    client.note(KafkaError(KafkaError._TRANSPORT))
    clock.seconds = 10
    client.serve(HANDLE)
    client.note(DOWN)
    clock.seconds = 20
    client.serve(None)
    assert added == []


def test_a_wheel_without_the_library_is_a_warning(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> SimpleNamespace:
        raise OSError("confluent-kafka has 0 librdkafka libraries")

    monkeypatch.setattr(librdkafka, "library", missing)
    client = Rebootstrap("a:1")
    client.note(DOWN)
    clock.seconds = 5
    client.serve(HANDLE)
    client.serve(HANDLE)
    assert caplog.messages == ["A client without brokers may stay without: confluent-kafka has 0 librdkafka libraries"]
