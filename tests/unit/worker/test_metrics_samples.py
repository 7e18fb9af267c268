"""Windows of samples, with values worked out by hand from Kafka's definitions: 2 windows of 30 s."""

import math

import pytest

from connect_dagster.plugin.samples import Samples, Windows
from connect_dagster.protocol.states import State
from connect_dagster.worker.metrics.tasks import StateTimes


@pytest.fixture
def samples() -> Samples:
    return Samples(Windows(30, 2))


def test_nothing_recorded(samples: Samples) -> None:
    assert math.isnan(samples.average(0))
    assert math.isnan(samples.maximum(0))
    assert math.isnan(samples.minimum(0))
    assert samples.share(True, 0) == samples.share(False, 0) == samples.rate(0) == 0


def test_several_values_at_once(samples: Samples) -> None:
    samples.record(5, 0)
    samples.record_many(3, 9, 1, 6, 0)
    assert (samples.minimum(0), samples.average(0), samples.maximum(0)) == (1, 14 / 4, 6)
    assert samples.rate(0) == 14 / 30
    assert math.isnan(samples.minimum(100))


def test_a_rate_counts_at_least_all_windows_but_the_current_one(samples: Samples) -> None:
    samples.record(60, 100)
    assert samples.rate(100) == 60 / 30
    assert samples.rate(110) == 60 / 40
    assert samples.rate(130) == 60 / 30  # one full window has passed: none is missing any more
    assert samples.rate(140) == 60 / 40


def test_a_rate_spans_its_samples(samples: Samples) -> None:
    samples.record(10, 0)
    samples.record(20, 30)  # the first window is full: a second one
    samples.record(30, 59)
    assert samples.rate(59) == pytest.approx(60 / 59)


def test_a_sample_that_reaches_into_the_windows_still_counts(samples: Samples) -> None:
    samples.record(10, 0)
    samples.record(10, 29)
    samples.record(20, 31)
    samples.record(30, 62)  # three samples: the first was last written to at 29
    assert samples.rate(80) == pytest.approx(70 / 80)
    assert samples.rate(89) == pytest.approx(50 / 58)  # 60 s after its last event it is gone: the oldest begins at 31


def test_the_fourth_sample_takes_the_place_of_the_first(samples: Samples) -> None:
    for at, value in ((0, 1), (30, 2), (60, 4), (90, 8)):
        samples.record(value, at)
    assert samples.maximum(90) == 8
    assert samples.average(90) == pytest.approx((4 + 8) / 2)  # what was recorded at 30 is 60 s old
    assert samples.rate(90) == pytest.approx(12 / 30)


def test_average_and_maximum_forget(samples: Samples) -> None:
    samples.record(100, 0)
    samples.record(2, 31)
    samples.record(4, 32)
    assert samples.maximum(32) == 100
    assert samples.average(32) == pytest.approx(106 / 3)
    assert samples.maximum(60) == 4
    assert samples.average(60) == 3
    assert math.isnan(samples.maximum(92))
    assert samples.rate(92) == 0


def test_a_maximum_may_be_negative(samples: Samples) -> None:
    samples.record(-5, 0)
    samples.record(-7, 1)
    assert samples.maximum(1) == -5


def test_shares_of_truth_values(samples: Samples) -> None:
    for at, value in enumerate((1, 1, 1, 0)):
        samples.record(value, at)
    assert (samples.share(True, 4), samples.share(False, 4)) == (0.75, 0.25)
    assert samples.share(True, 63) == samples.share(False, 63) == 0


def test_more_and_shorter_windows() -> None:
    samples = Samples(Windows(1, 5))
    for at in range(10):
        samples.record(1, at)
    # Five windows of a second and the one before them, from second 5 on: 4 is 5 s old.
    assert samples.rate(9) == pytest.approx(5 / 4)
    assert samples.rate(9.5) == pytest.approx(5 / 4.5)


def test_windows_without_length_do_not_divide_by_nothing() -> None:
    samples = Samples(Windows(0, 1))
    samples.record(1, 5)
    assert math.isfinite(samples.rate(5))


def test_time_in_states() -> None:
    times = StateTimes(State.UNASSIGNED, 0)
    assert times.ratio(State.UNASSIGNED, 0) == 0
    times.change(State.RUNNING, 10)
    times.change(State.PAUSED, 40)
    times.change(State.RUNNING, 60)
    assert times.state is State.RUNNING
    assert times.ratio(State.RUNNING, 80) == pytest.approx(50 / 80)
    assert times.ratio(State.PAUSED, 80) == pytest.approx(20 / 80)
    assert times.ratio(State.FAILED, 80) == 0
    times.change(State.RUNNING, 80)
    assert times.ratio(State.RUNNING, 100) == pytest.approx(70 / 100)
