"""Decisions of the incremental assignor, round by round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from connect_dagster.protocol.incremental_assignor import IncrementalAssignor
from connect_dagster.protocol.rebalance_delay import RebalanceDelay, decide_lost_work
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import GroupAssignment, Work, items_of
from tests.rebalancing_group import MAX_DELAY_MS, Group, is_idle, work_of
from tests.unit.protocol.assignor_cases import (
    COORDINATOR_ROUNDS,
    LOSSES,
    ROUNDS,
    TWO_CONNECTORS,
    Case,
    LossStep,
    Told,
    ToldStep,
)


@pytest.mark.parametrize("case", ROUNDS, ids=lambda case: case.name)
def test_rounds(case: Case) -> None:
    group = Group(case.connectors, case.members, case.max_delay_ms)
    for number, step in enumerate(case.steps):
        _happen(group, step.after_ms, step.leave, step.join)
        for name in step.delete:
            del group.connectors[name]
        if step.new_leader:
            group.lead_anew()
        decided = group.rebalance(
            undelivered=() if step.delivered else group.allocations, leader_missed_a_round=step.missed_a_round
        )
        told = decided.members.values()
        work = group.allocations.values()
        assert decided.delay_ms == step.delay_ms, number
        assert sum(len(each.revoked.connectors) + len(each.revoked.tasks) for each in told) == step.revoked, number
        assert tuple(sorted(len(each.connectors) for each in work)) == step.connectors, number
        assert tuple(sorted(len(each.tasks) for each in work)) == step.tasks, number
        if step.delivered:
            assert {id: _sets(work) for id, work in decided.allocations.items()} == {
                id: _sets(work) for id, work in group.allocations.items()
            }, number
        if step.complete:
            _assert_complete(group)
        assigned = [item for each in told for item in items_of(each.assigned)]
        held = {item for work in group.rounds[-1].allocations.values() for item in items_of(work)}
        assert len(set(assigned)) == len(assigned), number
        assert held.isdisjoint(assigned), number


@pytest.mark.parametrize(("name", "steps"), COORDINATOR_ROUNDS.items(), ids=COORDINATOR_ROUNDS)
def test_coordinator_rounds(name: str, steps: Sequence[ToldStep]) -> None:
    group = Group(TWO_CONNECTORS, ["worker1", "worker2"])
    for step in steps:
        _happen(group, step.after_ms, step.leave, step.join)
        decided = group.rebalance()
        assert decided.delay_ms == step.delay_ms
        assert {
            member: Told(
                told.assigned.connectors, len(told.assigned.tasks), told.revoked.connectors, len(told.revoked.tasks)
            )
            for member, told in decided.members.items()
        } == step.told


@pytest.mark.parametrize(("name", "steps"), LOSSES.items(), ids=LOSSES)
def test_lost_work(name: str, steps: Sequence[LossStep]) -> None:
    delay, now_ms = RebalanceDelay(), 1_700_000_000_000
    for step in steps:
        now_ms += step.after_ms
        decision = decide_lost_work(
            delay,
            anything_lost=step.lost,
            members=step.members,
            idle_members=step.idle,
            previous_members=frozenset(step.previous),
            max_delay_ms=MAX_DELAY_MS,
            now_ms=now_ms,
        )
        delay = decision.delay
        assert decision.reassigned is (step.wait_ms is None)
        assert decision.receivers == step.receivers
        assert delay == RebalanceDelay(
            delay_ms=step.wait_ms or 0,
            due_ms=None if step.wait_ms is None else now_ms + step.wait_ms,
            candidates=step.candidates,
        )


def test_lost_assignment_handling_when_scheduled_delay_is_disabled() -> None:
    decision = decide_lost_work(
        RebalanceDelay(),
        anything_lost=True,
        members=["worker0", "worker2"],
        idle_members=[],
        previous_members=frozenset({"worker0", "worker1", "worker2"}),
        max_delay_ms=0,
        now_ms=1_700_000_000_000,
    )
    assert decision.reassigned
    assert not decision.receivers
    assert decision.delay == RebalanceDelay()


def test_without_connectors_a_round_tells_nothing() -> None:
    decided = _decide({}, {"followMe": Work()})
    assert is_idle(decided)
    assert decided.allocations == {"followMe": Work()}


def test_with_nothing_configured_a_new_leader_revokes_nothing_at_first() -> None:
    group = Group({}, [])
    group.allocations["worker1"] = work_of(TWO_CONNECTORS)
    assert is_idle(group.rebalance())
    assert group.rebalance().members["worker1"].revoked == work_of(TWO_CONNECTORS)


def test_what_a_member_lists_first_is_revoked_first() -> None:
    tasks = [TaskId("c", number) for number in (2, 0, 3, 1)]
    decided = _decide({"c": 4, "b": 0}, {"old": Work(("c", "b"), tuple(tasks)), "new": Work()})
    assert decided.members["old"].revoked == Work(("c",), tuple(tasks[:2]))


def test_one_more_than_the_share_is_for_those_who_come_first_in_javas_hash_map() -> None:
    # The hash codes of one letter are its number: "q" (113) lies in bucket 1, "b" (98) in bucket 2, "p" (112) in 0.
    allocations = {"b": work_of({"b1": 2, "b2": 0}), "q": work_of({"q1": 2, "q2": 0}), "p": Work()}
    connectors = {"b1": 2, "b2": 0, "q1": 2, "q2": 0}
    decided = _decide(connectors, allocations)
    assert decided.members["q"].revoked == Work()
    assert decided.members["b"].revoked == Work(("b1",), (TaskId("b1", 0),))


def test_members_that_came_empty_during_the_delay_get_the_lost_work_in_turn() -> None:
    group = Group({"a": 2, "b": 2, "c": 2, "d": 2}, ["left", "stayed"])
    group.settle()
    lost = group.allocations.pop("left")
    assert group.rebalance().delay_ms == MAX_DELAY_MS
    group.allocations.update({"second": Work(), "first": Work()})
    group.rebalance()
    group.now_ms += MAX_DELAY_MS
    decided = group.rebalance()
    turns = sorted(lost.connectors), sorted(lost.tasks)
    receivers = ["first", "second"]  # as they lie in Java's hash set, not as they joined
    assert [decided.members[id].assigned for id in receivers] == [
        Work(tuple(turns[0][turn::2]), tuple(turns[1][turn::2])) for turn in range(2)
    ]


def test_a_leader_that_was_replaced_for_a_while_forgets_what_it_had_assigned() -> None:
    group = Group(TWO_CONNECTORS, ["worker1", "worker2"])
    group.settle()
    del group.allocations["worker2"]
    assert not is_idle(group.rebalance(leader_missed_a_round=True))
    assert group.rounds[-1].decided.delay_ms == 0
    _assert_complete(group)


def test_a_leader_that_was_replaced_for_a_while_remembers_its_delay() -> None:
    group = Group(TWO_CONNECTORS, ["worker1", "worker2"])
    group.settle()
    group.allocations["worker3"] = Work()
    group.rebalance(undelivered=group.allocations)
    assert group.rebalance(leader_missed_a_round=True).delay_ms == 40
    group.now_ms += 15
    assert group.rebalance(leader_missed_a_round=True).delay_ms == 25


def _happen(group: Group, after_ms: int, leave: Sequence[str], join: Mapping[str, Work]) -> None:
    group.now_ms += after_ms
    for member in leave:
        del group.allocations[member]
    group.allocations.update(join)


def _sets(work: Work) -> tuple[set[str], set[TaskId]]:
    return set(work.connectors), set(work.tasks)


def _assert_complete(group: Group) -> None:
    work = group.allocations.values()
    assert sorted(name for each in work for name in each.connectors) == sorted(group.configured.connectors)
    assert sorted(task for each in work for task in each.tasks) == sorted(group.configured.tasks)
    for counts in ([len(each.connectors) for each in work], [len(each.tasks) for each in work]):
        assert max(counts) - min(counts) <= 1


def _decide(connectors: Mapping[str, int], allocations: Mapping[str, Work]) -> GroupAssignment:
    """What a leader without memory decides."""
    return IncrementalAssignor(MAX_DELAY_MS).assign(
        configured=work_of(connectors),
        allocations=allocations,
        generation=1,
        last_completed_generation=-1,
        now_ms=1_700_000_000_000,
    )
