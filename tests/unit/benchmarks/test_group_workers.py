"""When all connectors of a group run, as the benchmarks see it."""

from benchmarks.contestants import Part
from benchmarks.group_workers import all_running

NAMES = ("a", "b")
FIRST, SECOND = "127.0.0.1:1", "127.0.0.1:2"


def part(worker: str = FIRST, state: str = "RUNNING") -> Part:
    return {"state": state, "worker_id": worker}


def test_all_run_when_each_connector_and_its_task_do() -> None:
    assert all_running({"a": [part(), part(SECOND)], "b": [part(SECOND), part()]}, NAMES, {FIRST, SECOND})


def test_not_all_run_while_something_is_missing_or_in_another_state() -> None:
    whole = [part(), part()]
    assert not all_running({"a": whole}, NAMES, {FIRST})
    assert not all_running({"a": whole, "b": whole[:1]}, NAMES, {FIRST})
    assert not all_running({"a": whole, "b": [part(), part(state="UNASSIGNED")]}, NAMES, {FIRST})


def test_what_a_lost_worker_last_said_of_itself_does_not_count() -> None:
    parts = {"a": [part(), part()], "b": [part(), part(SECOND)]}
    assert all_running(parts, NAMES, {FIRST, SECOND})
    assert not all_running(parts, NAMES, {FIRST})


def test_a_connector_that_nobody_created_is_not_taken_for_one_of_ours() -> None:
    assert not all_running({name: [part(), part()] for name in ("a", "b", "c")}, NAMES, {FIRST})
