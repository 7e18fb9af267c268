"""Requests that run on the herder's thread."""

import pytest

from connect_dagster.herder.distributed.tick_thread import Requests


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_requests_that_wait_for_brokers_leave_time_for_heartbeats() -> None:
    """At fa6cb2e all of them ran in one round, and the worker left the group when that took a minute."""
    clock = Clock()
    requests = Requests(lambda: None, clock)

    def slow(number: int) -> int:
        clock.now += 2.0
        if number == 1:
            raise TimeoutError("no brokers")
        return number

    asked = [requests.add(lambda number=number: slow(number)) for number in range(5)]  # type: ignore[misc]
    later = requests.add(lambda: -1, 1000.0)
    done = []
    for _ in range(4):
        requests.run_due(3.0)
        done.append(sum(one.done() for one in asked))
    assert done == [2, 4, 5, 5]
    assert not later.done()
    assert requests.next_at == 1100.0
    assert [one.result(0) for one in asked if one.exception(0) is None] == [0, 2, 3, 4]
    with pytest.raises(TimeoutError, match="no brokers"):
        asked[1].result(0)
