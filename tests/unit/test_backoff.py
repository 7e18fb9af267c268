import doctest

import pytest

from connect_dagster import backoff
from connect_dagster.backoff import Backoff


def test_examples() -> None:
    assert doctest.testmod(backoff).failed == 0


@pytest.mark.parametrize(("retry", "delay"), [(1, 0.25), (2, 0.5), (3, 1.0), (10_000, 0.25 * 2.0**40)])
def test_delays_double_without_a_maximum(retry: int, delay: float) -> None:
    assert Backoff(0.25).delay(retry) == delay


def test_a_maximum_below_the_first_delay() -> None:
    assert Backoff(0.2, 0.0).delay(1) == 0.0
