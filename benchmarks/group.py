"""Three workers share many connectors: until all run, their response times, until all run again without one worker."""

import time
from collections.abc import Iterator

import requests

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Running
from benchmarks.group_workers import group_of
from benchmarks.measure import InvalidCellError, percentile
from benchmarks.pairs import new_pairs
from benchmarks.quantities import Quantity, Row, Sample
from benchmarks.workload import Format

# How long the group waits for a lost worker to come back. At Kafka Connect's default, 5 minutes, waiting would be all.
MAX_DELAY_MS = 5000
_WORKERS = 3
_STATUS_CALLS = 200


def group_cell(bench: Bench, contestant: Contestant, form: Format, connectors: int) -> Iterator[Sample]:
    """Measure all connectors at once in a group; the leader gets the requests, a follower is killed.

    Raises:
        InvalidCellError: lines are missing in the sinks' files, after the start or after the loss of a worker.
    """

    def sample(quantity: Quantity, figure: float) -> Sample:
        return Sample(Row(quantity, form, connectors), contestant, figure)

    settings = {"scheduled.rebalance.max.delay.ms": str(MAX_DELAY_MS)}
    with new_pairs(bench, connectors) as pairs, group_of(bench, contestant, form, _WORKERS, settings) as group:
        leader = group.leader()
        group.settle()
        began = time.monotonic()
        group.create(pairs.connectors)
        group.await_running(pairs.connectors, leader)
        running = time.monotonic() - began
        pairs.await_lines()
        through = time.monotonic() - began
        yield sample(Quantity.GROUP_RUNNING, running)
        yield sample(Quantity.GROUP_LINES, through)

        group.settle()
        times = _status_times(leader, _STATUS_CALLS)
        yield sample(Quantity.GROUP_STATUS_P50, percentile(times, 0.5) * 1e3)
        yield sample(Quantity.GROUP_STATUS_P99, percentile(times, 0.99) * 1e3)

        group.await_members()
        began = group.kill_last_follower()
        group.await_running(pairs.connectors, leader)
        running_again = time.monotonic() - began
        pairs.append_lines(seed=2)
        pairs.await_lines()
        yield sample(Quantity.GROUP_FAIL_OVER, running_again)
        yield sample(Quantity.GROUP_NEW_LINES, time.monotonic() - began)


def _status_times(asked: Running, calls: int) -> list[float]:
    """Return the seconds of each of ``calls`` calls, one after the other on one connection."""
    with requests.Session() as client:
        return [_status_seconds(client, f"{asked.rest_url}/connectors?expand=status") for _ in range(calls)]


def _status_seconds(client: requests.Session, url: str) -> float:
    began = time.monotonic()
    answer = client.get(url)
    seconds = time.monotonic() - began
    if not answer.ok:
        raise InvalidCellError(f"GET {url}: {answer.status_code} {answer.text}")
    return seconds
