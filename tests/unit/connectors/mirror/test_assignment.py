"""Partitions and groups of the tasks of a flow, and their keys."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect_dagster.connectors.mirror.assignment import (
    assigned_groups,
    assigned_partitions,
    group_task_configs,
    is_assignable,
    partition_task_configs,
    spread_groups,
    spread_partitions,
)
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.records import TopicPartition

CONFIG = {"name": "eu-us", "task.index": "of a task before"}


def partitions(*counts: int) -> list[TopicPartition]:
    return [TopicPartition(f"t{topic}", number) for topic, count in enumerate(counts) for number in range(count)]


def test_partitions_go_round_the_tasks() -> None:
    found = partition_task_configs(CONFIG, partitions(8, 2, 2), 3)
    assert [one["task.assigned.partitions"] for one in found] == [
        "t0-0,t0-3,t0-6,t1-1",
        "t0-1,t0-4,t0-7,t2-0",
        "t0-2,t0-5,t1-0,t2-1",
    ]
    assert [(one["name"], one["task.index"]) for one in found] == [("eu-us", "0"), ("eu-us", "1"), ("eu-us", "2")]


@pytest.mark.parametrize(
    ("groups", "tasks", "spread"),
    [
        ("abcdefg", 3, ["abc", "de", "fg"]),
        ("abcd", 2, ["ab", "cd"]),
        ("ab", 5, ["a", "b"]),
        ("abc", 1, ["abc"]),
        ("", 3, []),
    ],
)
def test_groups_go_in_runs(groups: str, tasks: int, spread: list[str]) -> None:
    assert ["".join(one) for one in spread_groups(groups, tasks)] == spread
    found = group_task_configs(CONFIG, list(groups), tasks)
    assert [one["task.assigned.groups"] for one in found] == [",".join(one) for one in spread]
    assert [assigned_groups(one) for one in found] == [tuple(one) for one in spread]
    assert [one["task.index"] for one in found] == [str(number) for number in range(len(spread))]


@given(st.lists(st.integers(1, 5), max_size=8), st.integers(1, 12))
def test_each_partition_has_one_task_and_tasks_have_equal_load(counts: list[int], max_tasks: int) -> None:
    all_of_them = partitions(*counts)
    found = spread_partitions(all_of_them, max_tasks)
    assert len(found) == min(max_tasks, len(all_of_them))
    assert sorted(str(one) for task in found for one in task) == sorted(map(str, all_of_them))
    assert max(map(len, found), default=0) - min(map(len, found), default=0) <= 1
    tasks = partition_task_configs(CONFIG, all_of_them, max_tasks)
    assert [list(assigned_partitions(one)) for one in tasks] == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("orders-3", [("orders", 3)]),
        ("orders-3, eu.orders-0", [("orders", 3), ("eu.orders", 0)]),
        ("a-b-12", [("a-b", 12)]),
        ("t--1", [("t-", 1)]),
        ("a-1,a-1", [("a", 1)]),
    ],
)
def test_a_topic_ends_at_the_last_hyphen(text: str, found: list[tuple[str, int]]) -> None:
    parsed = assigned_partitions({"task.assigned.partitions": text})
    assert parsed == tuple(TopicPartition(*one) for one in found)


@pytest.mark.parametrize("text", ["", "orders", "3", "orders-", "orders-x", "orders-3,", "orders-99999999999"])
def test_partitions_that_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"task\.assigned\.partitions"):
        assigned_partitions({"task.assigned.partitions": text})


def test_a_task_without_work_is_refused() -> None:
    with pytest.raises(ConfigError, match=r'Missing required configuration "task\.assigned\.groups"'):
        assigned_groups({})


@pytest.mark.parametrize(
    ("group", "assignable"),
    [("billing", True), ("a b", True), ("a,b", False), (" a", False), ("a\t", False), ("", False), (",", False)],
)
def test_which_groups_a_list_can_hold(group: str, assignable: bool) -> None:
    assert is_assignable(group) is assignable
