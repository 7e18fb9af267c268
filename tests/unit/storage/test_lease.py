"""How long a worker believes in its membership."""

import pytest

from connect_dagster.storage.lease import Lease, wakeful_clock


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def lease(clock: Clock) -> Lease:
    return Lease(10.0, clock)


def test_a_worker_that_never_joined_is_no_member(lease: Lease) -> None:
    assert not lease.held


def test_a_heartbeat_counts_from_when_it_was_sent(lease: Lease, clock: Clock) -> None:
    asked = clock.now
    clock.now += 4
    lease.renew(asked)
    assert lease.remaining == 6
    clock.now += 6
    assert not lease.held


def test_an_answer_that_was_overtaken_shortens_nothing(lease: Lease, clock: Clock) -> None:
    lease.renew(clock.now)
    lease.renew(clock.now - 5)
    assert lease.remaining == 10


def test_brokers_that_answer_keep_a_membership_but_give_none(lease: Lease, clock: Clock) -> None:
    lease.extend(clock.now)
    assert not lease.held
    lease.renew(clock.now)
    clock.now += 8
    lease.extend(clock.now)
    assert lease.remaining == 10
    # Frozen from the question to the answer: too late.
    asked = clock.now
    clock.now += 11
    lease.extend(asked)
    assert not lease.held


def test_a_lost_membership_is_not_held_for_the_rest_of_its_time(lease: Lease, clock: Clock) -> None:
    lease.renew(clock.now)
    lease.lose()
    assert not lease.held


def test_the_clock_goes_on() -> None:
    first = wakeful_clock()
    assert wakeful_clock() >= first


def test_a_lost_lease_returns_when_the_new_assignment_is_carried_out(lease: Lease, clock: Clock) -> None:
    lease.join(3, clock.now)
    assert lease.held
    lease.lose()
    lease.join(5, clock.now)
    held = lease.held  # what runs may be another worker's by now
    lease.regain(5)
    assert (held, lease.held, lease.remaining) == (False, True, 10)


def test_an_assignment_from_before_the_loss_gives_no_lease_back(lease: Lease, clock: Clock) -> None:
    lease.join(3, clock.now)
    lease.lose()
    lease.regain(3)
    lease.join(5, clock.now)
    assert not lease.held


def test_a_rebalance_takes_no_lease(lease: Lease, clock: Clock) -> None:
    lease.join(3, clock.now)
    lease.join(4, clock.now)
    assert lease.held
