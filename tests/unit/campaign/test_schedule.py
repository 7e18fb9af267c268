"""Faults depend on the seed and their number alone, and fit their act."""

import pytest

from tests.campaign.schedule import KINDS, Need, Schedule, Turn, turns

ACT_LENGTH = 20
NEEDS = {kind.name: kind.needs for kind in KINDS}


def test_a_fault_depends_on_the_seed_and_its_number_alone() -> None:
    first, again, other = Schedule(7), Schedule(7), Schedule(8)
    backwards = [again.fault(number) for number in reversed(range(100))]
    assert [first.fault(number) for number in range(100)] == backwards[::-1]
    assert [first.fault(number) for number in range(100)] != [other.fault(number) for number in range(100)]


def test_every_kind_comes() -> None:
    schedule = Schedule(1)
    assert {schedule.fault(number).kind for number in range(2000)} == set(NEEDS)


def test_no_kind_comes_twice_before_all_have_come() -> None:
    schedule = Schedule(4, flows=("file",), act_length=100)
    possible = {schedule.fault(number).kind for number in range(100)}
    assert {schedule.fault(number).kind for number in range(len(possible))} == possible


def test_acts_have_all_shapes() -> None:
    schedule = Schedule(3)
    acts = [schedule.act(number * ACT_LENGTH) for number in range(200)]
    assert {act.workers for act in acts} == {1, 2, 3}
    assert {act.mixed for act in acts} == {act.network for act in acts} == {True, False}
    assert {act.flows for act in acts} == {("file",), ("file", "plugin"), ("file", "jdbc", "plugin")}
    assert all(act.workers > 1 and act.flows == ("file",) for act in acts if act.mixed)


def test_a_fault_fits_its_act() -> None:
    schedule = Schedule(5)
    for number in range(1000):
        fault, act = schedule.fault(number), schedule.act(number)
        needs = NEEDS[fault.kind]
        assert fault.worker < act.workers
        assert fault.flow in act.flows
        assert act == schedule.act(number - number % ACT_LENGTH)
        assert act.network or Need.NETWORK not in needs
        assert not (act.mixed and Need.OURS in needs)
        if Need.NETWORK in needs:
            assert fault.worker == 0
        if Need.JDBC in needs:
            assert fault.flow == "jdbc"


def test_what_is_compared_with_java_is_what_java_can_bear() -> None:
    schedule = Schedule(5, compared=True)
    for number in range(500):
        assert schedule.act(number).flows == ("file",)
        assert not schedule.act(number).mixed
        assert Need.OURS not in NEEDS[schedule.fault(number).kind]


def test_without_root_no_network_is_cut_and_no_disk_is_filled() -> None:
    schedule = Schedule(5, root=False)
    assert not {schedule.fault(number).kind for number in range(1000)} & {"network-cut", "disk-full"}


def test_chosen_kinds_come_alone_and_impossible_ones_are_refused() -> None:
    chosen = Schedule(5, kinds=("broker-kill", "paused"))
    assert {chosen.fault(number).kind for number in range(100)} == {"broker-kill", "paused"}
    with pytest.raises(ValueError, match="database-kill"):
        Schedule(5, flows=("file",), kinds=("database-kill",)).fault(0)


@pytest.mark.parametrize("kind", NEEDS)
def test_an_act_is_drawn_that_can_have_a_chosen_kind(kind: str) -> None:
    chosen = Schedule(5, kinds=(kind,))
    assert {chosen.fault(number).kind for number in range(100)} == {kind}


def test_a_database_is_on_this_side_of_the_network() -> None:
    alone = Schedule(5, flows=("jdbc",))
    assert not any(alone.act(number * ACT_LENGTH).network for number in range(50))


def test_groups_are_mixed_or_not_and_of_one_size_when_asked_for() -> None:
    schedule = Schedule(5, mixed=True, workers=1)
    assert {(act.mixed, act.workers) for act in (schedule.act(n * ACT_LENGTH) for n in range(20))} == {(True, 2)}
    schedule = Schedule(5, mixed=False, workers=3, act_length=7)
    acts = [schedule.act(number) for number in range(70)]
    assert {(act.mixed, act.workers) for act in acts} == {(False, 3)}
    assert {act.first for act in acts} == set(range(0, 70, 7))


def test_each_act_is_played_by_one_side_after_the_other() -> None:
    played = list(turns(ACT_LENGTH + 1, ("ours", "java"), ACT_LENGTH))
    assert played[:2] == [Turn("ours", 0), Turn("ours", 1)]
    assert played[ACT_LENGTH] == Turn("java", 0)
    assert played[2 * ACT_LENGTH :] == [Turn("ours", ACT_LENGTH), Turn("java", ACT_LENGTH)]
