"""Operations that are tried again, with a clock handed in."""

from collections.abc import Callable

import pytest

from connect_dagster.errors import DataError, RetriableError
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.errors.policy import ErrorPolicy
from connect_dagster.worker.errors.retry import Retries, RetryGivenUpError
from connect_dagster.worker.metrics.errors import ErrorMetrics


class Clock:
    """Time that passes only while somebody waits."""

    def __init__(self, waits: int = 1000) -> None:
        self.now = 0.0
        self.waited: list[float] = []
        self._waits = waits

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        self.waited.append(round(seconds, 3))
        return len(self.waited) < self._waits


def failing(times: int, error: Exception) -> Callable[[], str]:
    left = [error] * times

    def operation() -> str:
        if left:
            raise left.pop()
        return "done"

    return operation


def made(clock: Clock, timeout: int, longest: int = 60_000) -> tuple[Retries, ErrorMetrics]:
    metrics = ErrorMetrics(TaskId("c", 0))
    policy = ErrorPolicy(retry_timeout_ms=timeout, retry_delay_max_ms=longest)
    return Retries(policy, metrics, clock.wait, lambda: clock.now, lambda: 0.5), metrics


def test_delays_double_and_are_spread_at_the_longest() -> None:
    clock = Clock()
    retries, metrics = made(clock, -1, 1000)
    assert retries.call(failing(5, RetriableError("away"))) == "done"
    assert clock.waited == [0.3, 0.6, 0.5, 0.5, 0.5]
    values = metrics.read().values
    assert (values["total-retries"], values["total-record-failures"], values["total-record-errors"]) == (5, 5, 0)


def test_the_last_try_is_at_the_end_of_the_time() -> None:
    clock = Clock()
    retries, metrics = made(clock, 1000)
    with pytest.raises(RetriableError):
        retries.call(failing(100, RetriableError("away")))
    assert clock.waited == [0.3, 0.6, 0.1]
    assert metrics.read().values["total-retries"] == 3


@pytest.mark.parametrize(("timeout", "error"), [(0, RetriableError("away")), (-1, DataError("bad"))])
def test_what_is_not_tried_again(timeout: int, error: Exception) -> None:
    clock = Clock()
    retries, _ = made(clock, timeout)
    with pytest.raises(type(error)):
        retries.call(failing(1, error))
    assert clock.waited == []


def test_a_task_that_is_asked_to_end_waits_no_longer() -> None:
    clock = Clock(waits=2)
    retries, metrics = made(clock, -1)
    with pytest.raises(RetryGivenUpError):
        retries.call(failing(100, RetriableError("away")))
    assert metrics.read().values["total-retries"] == 1
