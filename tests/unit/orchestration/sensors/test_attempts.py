import pytest

from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, Attempts, BackOff, Decision

POLICY = AttemptPolicy(3, BackOff(base=10.0, cap=15.0, settled=100.0))


def test_attempts_wait_longer_each_time_and_end_with_giving_up_once() -> None:
    known, steps = Attempts(), []
    for now in range(1000, 1070, 5):
        step, known = POLICY.when_unhealthy(known, float(now))
        steps.append(step)
    tries = [
        Decision.TRY,
        Decision.WAIT,
        Decision.TRY,
        Decision.WAIT,
        Decision.WAIT,
        Decision.TRY,
        Decision.WAIT,
        Decision.WAIT,
    ]
    assert steps == [*tries, Decision.GIVE_UP, *[Decision.GIVEN_UP] * 5]


def test_what_is_well_for_a_while_is_counted_anew() -> None:
    tried = Attempts(count=3, last_at=1000.0, gave_up=True)
    since = POLICY.when_healthy(tried, 2000.0)
    assert POLICY.when_healthy(since, 2099.0).gave_up
    assert POLICY.when_healthy(since, 2100.0) == Attempts()


def test_what_is_well_but_shortly_still_counts() -> None:
    well = POLICY.when_healthy(Attempts(count=1, last_at=1000.0), 1050.0)
    step, again = POLICY.when_unhealthy(well, 1060.0)
    assert (step, again.count, again.well_since) == (Decision.TRY, 2, None)


@pytest.mark.parametrize("failures", [1, 100, 100_000])
def test_no_number_of_failures_waits_beyond_the_cap(failures: int) -> None:
    assert POLICY.back_off.delay(failures) <= 15.0
