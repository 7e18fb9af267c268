"""The steps before the start of an exactly-once task, and what stays open where one fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from connect_dagster.errors import ConnectError
from connect_dagster.storage.kafka_offset_store import TransactionalOffsets
from connect_dagster.worker.source import opening
from connect_dagster.worker.source.opening import ExactlyOnceClients, ExactlyOnceStart

SECONDS = 30.0


class Steps:
    """Notes the steps; fails at one of them, or waits there and is asked to stop."""

    def __init__(self, fails: str = "", stops: str = "") -> None:
        self.seen: list[str] = []
        self.fails = fails
        self.stops = stops
        self.reader: Any = object()
        self.released = threading.Event()

    def step(self, name: str) -> Callable[[], None]:
        """A step of this name."""
        return lambda: self._take(name)

    def producer(self, *_: object, **__: object) -> Steps:
        """A producer, or the offsets."""
        self._take("producer")
        return self

    def init(self) -> None:
        self._take("init")

    def offsets(self) -> TransactionalOffsets:
        self._take("offsets")
        return cast("TransactionalOffsets", Offsets(self))

    def delivery(self, _: object) -> Any:
        self._take("delivery")
        return self

    def close(self) -> None:
        self.seen.append("producer closed")

    def stopping(self) -> bool:
        return self.stops in self.seen

    def open(self) -> None:
        """Take all steps."""
        start = ExactlyOnceStart(self.step("fence"), self.step("verify"), lambda *_: self.offsets())
        clients = ExactlyOnceClients({}, self.delivery, start, self.offsets, None, False, lambda *_: None)
        delivery, offsets = clients.open(self.stopping)
        assert delivery is cast("Any", self)
        assert offsets is self.reader

    def _take(self, name: str) -> None:
        self.seen.append(name)
        if self.fails == name:
            raise ConnectError(f"{name} failed")
        if self.stops == name:
            assert self.released.wait(SECONDS)


class Offsets:
    """Offsets that note their end."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.reader = steps.reader

    def close(self) -> None:
        self._steps.seen.append("offsets closed")


STEPS = ["fence", "producer", "init", "verify", "offsets", "delivery"]
CLOSED = {
    "fence": [],
    "producer": [],
    "init": ["producer closed"],
    "verify": ["producer closed"],
    "offsets": ["producer closed"],
    "delivery": ["offsets closed", "producer closed"],
}


def test_offsets_are_read_after_former_tasks_can_write_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps()
    monkeypatch.setattr(opening, "TransactionalProducer", steps.producer)
    steps.open()
    assert steps.seen == STEPS


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_leaves_nothing_open(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed at the delivery, as where no thread can be started: its transactional id stayed in use."""
    steps = Steps(fails=name)
    monkeypatch.setattr(opening, "TransactionalProducer", steps.producer)
    with pytest.raises(ConnectError, match=f"{name} failed"):
        steps.open()
    assert steps.seen == STEPS[: STEPS.index(name) + 1] + CLOSED[name]


@pytest.mark.parametrize("name", ["fence", "verify"])
def test_a_stop_ends_the_waits_for_other_workers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = Steps(stops=name)
    monkeypatch.setattr(opening, "TransactionalProducer", steps.producer)
    with pytest.raises(ConnectError, match="asked to stop before it had started"):
        steps.open()
    steps.released.set()
    assert steps.seen == STEPS[: STEPS.index(name) + 1] + CLOSED[name]
