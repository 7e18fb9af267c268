"""Decisions of the eager assignor."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from connect_dagster.protocol.eager_assignor import assign_eagerly
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work
from tests.rebalancing_group import work_of

ONE, TWO, THREE = "connector1", "connector2", "connector3"


@pytest.mark.parametrize(
    ("connectors", "leader", "member"),
    [
        pytest.param({ONE: 1}, Work((ONE,)), Work((), (TaskId(ONE, 0),)), id="testLeaderPerformAssignment1"),
        pytest.param(
            {ONE: 2, TWO: 1},
            Work((ONE,), (TaskId(ONE, 0), TaskId(TWO, 0))),
            Work((TWO,), (TaskId(ONE, 1),)),
            id="testLeaderPerformAssignment2",
        ),
        pytest.param(
            {ONE: 1, TWO: 1, THREE: 1},
            Work((ONE, THREE), (TaskId(TWO, 0),)),
            Work((TWO,), (TaskId(ONE, 0), TaskId(THREE, 0))),
            id="testLeaderPerformAssignmentSingleTaskConnectors",
        ),
    ],
)
def test_all_is_dealt_in_turn(connectors: Mapping[str, int], leader: Work, member: Work) -> None:
    decided = assign_eagerly(work_of(connectors), ["member", "leader"])
    assert decided.allocations == {"leader": leader, "member": member}
    assert {id: told.assigned for id, told in decided.members.items()} == decided.allocations
    assert not any(told.revoked for told in decided.members.values())
    assert decided.delay_ms == 0


def test_connectors_and_members_are_ordered_by_name_and_tasks_by_number() -> None:
    many = {"b": 11, "a": 1}
    decided = assign_eagerly(Work(("b", "a"), work_of(many).tasks[::-1]), ["only"])
    assert decided.allocations["only"] == Work(("a", "b"), (TaskId("a", 0), *(TaskId("b", n) for n in range(11))))


def test_names_are_compared_by_their_utf16_units() -> None:
    emoji, wide = "\U0001f600", "Ａ"  # the former's first unit is smaller, its code point larger
    decided = assign_eagerly(Work((wide, emoji)), [wide, emoji])
    assert decided.allocations == {emoji: Work((emoji,)), wide: Work((wide,))}


def test_a_member_may_get_nothing() -> None:
    assert assign_eagerly(Work(("c",)), ["a", "b"]).allocations == {"a": Work(("c",)), "b": Work()}
