"""Surplus and spread of load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from connect_dagster.protocol.incremental_assignor import spread, surplus
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Item


def _connectors(*numbers: int) -> list[Item]:
    return [f"connector{number}" for number in numbers]


def _tasks(*numbers: int) -> list[Item]:
    return [TaskId("task", number) for number in numbers]


BALANCED = {
    f"worker{index}": [*_connectors(2 * index, 2 * index + 1), *_tasks(2 * index, 2 * index + 1)] for index in range(3)
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(_connectors, id="testAssignConnectorsWhenBalanced"),
        pytest.param(_tasks, id="testAssignTasksWhenBalanced"),
    ],
)
def test_balanced_workers_get_new_work_in_turn(kind: Callable[..., list[Item]]) -> None:
    assert spread(kind(6, 7, 8, 9, 10), BALANCED) == {"worker0": kind(6, 9), "worker1": kind(7, 10), "worker2": kind(8)}


def test_assign_connectors_when_imbalanced() -> None:
    numbers = {"worker0": range(2), "worker1": range(2, 5), "worker2": range(5, 9), "worker3": range(0)}
    loads = {worker: [*_connectors(*own), *_tasks(*own)] for worker, own in numbers.items()}
    given = spread([*_connectors(*range(9, 24)), *_tasks(*range(9, 24))], loads)
    for worker in loads:
        assert len(loads[worker]) + len(given[worker]) == 2 * 6
        assert sum(isinstance(item, str) for item in (*loads[worker], *given[worker])) == 6


def test_a_tie_goes_to_who_had_less_and_then_to_the_smaller_id() -> None:
    assert spread(_tasks(5, 6, 7, 8), {"b": [], "a": _tasks(1), "c": []}) == {
        "b": _tasks(5, 7),
        "c": _tasks(6, 8),
        "a": [],
    }


@pytest.mark.parametrize(
    ("loads", "configured", "given_away"),
    [
        pytest.param({"a": _tasks(0, 1), "b": _tasks(2)}, _tasks(0, 1, 2), {}, id="balanced"),
        pytest.param({"a": _tasks(0, 1, 2, 3), "b": []}, _tasks(0, 1, 2, 3), {"a": _tasks(0, 1)}, id="the first ones"),
        pytest.param({"a": _tasks(0, 1, 2), "b": []}, _tasks(0, 1, 2), {"a": _tasks(0)}, id="one more may stay"),
        pytest.param(
            {"a": _tasks(0, 1), "b": _tasks(2, 3), "c": []},
            _tasks(0, 1, 2, 3),
            {"b": _tasks(2)},
            id="one more may stay with the first above the share",
        ),
        pytest.param(
            {"a": [*_connectors(1, 2), *_tasks(1)], "b": _tasks(2, 3, 4)},
            [*_connectors(1, 2), *_tasks(1, 2, 3, 4)],
            {"a": _connectors(1), "b": _tasks(2)},
            id="connectors and tasks apart",
        ),
        pytest.param({"a": _tasks(0, 1), "b": []}, _connectors(0), {"a": _tasks(0, 1)}, id="tasks of no connector"),
        pytest.param({"a": _tasks(0, 1), "b": []}, [], {}, id="nothing configured"),
        pytest.param({"a": [], "b": []}, _tasks(0, 1), {}, id="nothing assigned"),
    ],
)
def test_surplus(loads: Mapping[str, Sequence[Item]], configured: list[Item], given_away: object) -> None:
    assert surplus(loads, configured) == given_away
