"""Waits of a task with a rate limit."""

from dataclasses import dataclass, field

import pyarrow as pa
import pytest

from connect_dagster.plugin.rate import UNLIMITED, Rate
from connect_dagster.worker.rate_limiter import RateLimiter


@dataclass
class Clock:
    now: float = 100.0
    waits: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        self.waits.append(seconds)
        return True


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_the_next_records_wait_for_those_before(clock: Clock) -> None:
    limiter = RateLimiter(Rate(records=100), clock=clock)
    assert limiter.delay == 0
    limiter.moved(50, 9999)
    assert limiter.delay == pytest.approx(0.5)
    assert limiter.wait(clock.wait)
    assert clock.now == pytest.approx(100.5)
    assert max(clock.waits) <= 0.1


@pytest.mark.parametrize(
    ("rate", "seconds"), [(Rate(records=100, bytes=1000), 3), (Rate(bytes=1000), 3), (Rate(records=10), 5)]
)
def test_the_stricter_limit_counts(clock: Clock, rate: Rate, seconds: float) -> None:
    limiter = RateLimiter(rate, clock=clock)
    limiter.moved(50, 3000)
    assert limiter.delay == pytest.approx(seconds)


def test_an_idle_task_has_saved_a_second(clock: Clock) -> None:
    limiter = RateLimiter(Rate(records=10), clock=clock)
    clock.now += 60
    limiter.moved(10, 0)
    assert limiter.delay == 0
    limiter.moved(10, 0)
    assert limiter.delay == pytest.approx(1)


def test_a_wait_that_is_given_up(clock: Clock) -> None:
    limiter = RateLimiter(Rate(records=1), clock=clock)
    limiter.moved(10, 0)
    assert not limiter.wait(lambda seconds: clock.wait(seconds) and clock.now < 100.25)
    assert clock.now == pytest.approx(100.3)


def test_waits_are_reported(clock: Clock) -> None:
    waited: list[float] = []
    limiter = RateLimiter(Rate(records=10), waited.append, clock)
    limiter.moved(5, 0)
    limiter.wait(clock.wait)
    assert sum(waited) == pytest.approx(500)


def test_batches_are_bounded_by_the_size_of_the_records_before(clock: Clock) -> None:
    limiter = RateLimiter(Rate(records=1000, bytes=10_000), clock=clock)
    assert limiter.most_records(1) == 1000
    limiter.moved(10, 1000)
    assert limiter.most_records(1) == 100
    limiter.moved(1, 1_000_000)
    assert limiter.most_records(1) == 1


def test_without_a_limit_nothing_waits(clock: Clock) -> None:
    limiter = RateLimiter(UNLIMITED, clock=clock)
    limiter.moved(10**9, 10**12)
    assert limiter.delay == 0
    assert limiter.wait(lambda _: False)
    assert limiter.most_records(1) is None
    assert not UNLIMITED.is_limited


@pytest.mark.parametrize(("rate", "most"), [(Rate(), 7), (Rate(records=3.9, bytes=3.9), 3), (Rate(0.1, 0.1), 1)])
def test_polls_are_bounded_by_a_second(rate: Rate, most: int) -> None:
    assert rate.cap_records(7) == rate.cap_bytes(7) == most


def table(rows: int, key: bytes | None = None, value: bytes = b"1234") -> pa.Table:
    return pa.table({"key": pa.array([key] * rows, pa.binary()), "value": pa.array([value] * rows, pa.binary())})


@pytest.mark.parametrize(
    ("rate", "rows", "sizes"),
    [
        (Rate(), 10, [10]),
        (Rate(records=16), 10, [4, 4, 2]),
        (Rate(records=1000), 10, [10]),
        (Rate(records=0.01), 3, [1, 1, 1]),
        (Rate(bytes=48), 7, [3, 3, 1]),
        (Rate(records=1), 0, [0]),
    ],
)
def test_a_part_takes_a_quarter_of_a_second(rate: Rate, rows: int, sizes: list[int]) -> None:
    found = list(RateLimiter(rate).parts(table(rows)))
    assert [part.num_rows for _, part in found] == sizes
    assert [start for start, _ in found] == [sum(sizes[:number]) for number in range(len(sizes))]


def test_keys_and_values_count() -> None:
    limiter = RateLimiter(Rate(bytes=10), clock=lambda: 0.0)
    limiter.moved_table(table(5, key=b"k", value=b"v"))
    assert limiter.delay == pytest.approx(1)
