"""How a sink's consumer leaves its group while the brokers are away."""

import threading
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.kafka import clients
from connect_dagster.worker.sink.consumer import RebalanceListener, SinkConsumer


class AwayConsumer:
    """A client whose coordinator answers after some requests."""

    def __init__(self, away: int) -> None:
        self.away = away
        self.threads: list[threading.Thread] = []
        self.left = threading.Event()

    def subscribe(self, *_: Any, **__: Any) -> None: ...

    def poll(self, seconds: float) -> None: ...

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        if self.away:
            self.away -= 1
            raise KafkaException(KafkaError(KafkaError._WAIT_COORD))
        return partitions

    def close(self) -> None:
        self.threads.append(threading.current_thread())
        self.left.set()


def closed(away: AwayConsumer, monkeypatch: pytest.MonkeyPatch, session: str = "45000") -> None:
    monkeypatch.setattr(clients, "consumer", lambda *_: away)
    listener = RebalanceListener(*[lambda _: None] * 3)
    settings = {"client.id": "c", "session.timeout.ms": session}
    consumer = SinkConsumer(settings, ["t"], None, listener, lambda: pytest.fail("not asked"))
    consumer.close()
    consumer.close()
    assert away.left.wait(30)


def test_the_group_is_left_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    away = AwayConsumer(0)
    closed(away, monkeypatch)
    assert away.threads == [threading.current_thread()]


def test_the_group_is_left_when_the_brokers_are_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails at ce718d3: closed without a coordinator, which sends no LeaveGroup."""
    away = AwayConsumer(3)
    closed(away, monkeypatch)
    assert away.away == 0
    (thread,) = away.threads
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_the_session_bounds_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    away = AwayConsumer(1_000_000_000)
    closed(away, monkeypatch, "20")
    assert len(away.threads) == 1
