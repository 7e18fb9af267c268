"""Workers that are killed or frozen at a chosen request of an exactly-once task: each line is there once.

A proxy holds the request back before the broker has it, or its answer once the broker has dealt with it.
"""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path

import pytest

from tests.distributed_process import DistributedProcess, group_properties
from tests.integration import topics
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    Pair,
    TopicReader,
    as_text,
    running,
    statuses,
    worker_id,
)
from tests.integration.cluster.watched_broker import ApiKey, Moment, Request, Trap, WatchedBroker, watched_broker

GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "1000",
    "exactly_once_source_support": "enabled",
}
SECONDS = 120.0
LINES = 300


class Step(StrEnum):
    """A request of a transaction."""

    PRODUCE = "produce"
    OFFSET = "offset"
    COMMIT = "commit"


class Strike(StrEnum):
    """Signal that the worker gets when the request is held back."""

    KILL = "SIGKILL"
    FREEZE = "SIGSTOP"


@dataclass(frozen=True, slots=True)
class Placement:
    """A strike at a moment of a step."""

    step: Step
    moment: Moment
    strike: Strike

    def __str__(self) -> str:
        return f"{self.strike} {self.moment} {self.step}"


PLACEMENTS = [Placement(*one) for one in product(Step, Moment, Strike)]


@dataclass(frozen=True, slots=True)
class Watched:
    """Two workers whose clients go through the proxy.

    Attributes:
        pair: the workers.
        proxy: of their broker.
        direct: the broker's address, for readers.
    """

    pair: Pair
    proxy: WatchedBroker
    direct: str

    def wanted(self, step: Step, task: str) -> Callable[[Request], bool]:
        """Return whether a request is of a step of a task's transactions."""
        client, offsets = f"connector-producer-{task}", self.pair.workers[0].props["offset.storage.topic"].encode()

        def wanted(request: Request) -> bool:
            if request.client != client:
                return False
            if request.key == ApiKey.PRODUCE:
                return step is (Step.OFFSET if offsets in request.body else Step.PRODUCE)
            return step is Step.COMMIT and request.key == ApiKey.END_TXN

        return wanted


class SmallBatches(LineFiles):
    """Lines of a transaction go to the broker in more than one request."""

    def config(self, name: str, **more: str) -> dict[str, str]:
        return super().config(name, **{"producer.override.batch.size": "2000"}, **more)


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    with (
        watched_broker(folder / "broker") as (broker, proxy),
        Pair(group_properties(proxy.bootstrap_servers, "watched-", **GROUP), folder) as pair,
    ):
        yield Watched(pair, proxy, broker.bootstrap_servers)


@pytest.fixture
def watched(workers: Watched) -> Iterator[Watched]:
    """Two workers without connectors."""
    yield workers
    workers.pair.delete_all()


@pytest.fixture
def files(tmp_path: Path, topic_prefix: str) -> LineFiles:
    return SmallBatches(tmp_path, topic_prefix, 2)


def worker_of(pair: Pair, task: str) -> tuple[DistributedProcess, DistributedProcess]:
    """Return the worker of a task, and the other one."""
    found = running(pair.urls[0])
    assert found, statuses(pair.urls[0])
    first, second = pair.workers
    return (first, second) if worker_id(first.rest_url) == found.tasks[task] else (second, first)


def reach(trap: Trap, files: LineFiles) -> None:
    """Write lines until the request is held back."""
    deadline = time.monotonic() + SECONDS
    files.grow(LINES)
    while not trap.reached.wait(1):
        assert time.monotonic() < deadline, f"no request was held back within {SECONDS} s"
        files.grow(LINES)


def play(watched: Watched, files: LineFiles, placement: Placement, skipped: int) -> None:
    """Strike once, and wait until both workers run again."""
    pair, task = watched.pair, files.tasks[0]
    victim, other = worker_of(pair, task)
    trap = watched.proxy.set_trap(watched.wanted(placement.step, task), placement.moment, skipped)
    reach(trap, files)
    if placement.strike is Strike.KILL:
        victim.kill()
        trap.drop()
        victim.start()
        victim.wait_ready()
    else:
        os.kill(victim.pid, signal.SIGSTOP)
        try:
            pair.await_running(files, other, seconds=SECONDS)
            files.grow(LINES)
        finally:
            os.kill(victim.pid, signal.SIGCONT)
            trap.release()
    pair.await_running(files, seconds=SECONDS)


def assert_each_once(watched: Watched, files: LineFiles) -> None:
    with TopicReader(watched.direct, files.topic) as reader:
        reader.await_values(files.lines, SECONDS)
    read = Counter(as_text(one.value()) for one in topics.read_committed(watched.direct, files.topic))
    assert read == Counter(files.lines), {line: count for line, count in read.items() if count > 1}


def rounds_of(rounds: int, *marks: pytest.MarkDecorator) -> list[object]:
    return [pytest.param(one, rounds, marks=marks, id=f"{one}-{rounds}") for one in PLACEMENTS]


@pytest.mark.parametrize(
    ("placement", "rounds"),
    [
        *rounds_of(1, pytest.mark.nightly),
        *rounds_of(17, pytest.mark.soak, pytest.mark.timeout(3600)),
    ],
)
def test_each_line_is_there_once(watched: Watched, files: LineFiles, placement: Placement, rounds: int) -> None:
    chance = random.Random(f"{placement}")
    watched.pair.create(files)
    for number in range(rounds):
        play(watched, files, placement, chance.randrange(4) if number else 0)
    assert_each_once(watched, files)
