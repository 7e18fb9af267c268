"""Restarts, target states, tasks, topics."""

import pytest

from connect_dagster.herder.interface import RestartRequest, StoredConfig
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from tests.unit.rest.asking import Asking
from tests.unit.rest.memory_herder import WORKER_ID, MemoryHerder


def test_a_plain_restart_is_204(herder: MemoryHerder, ask: Asking) -> None:
    answer = ask("POST", "/connectors/c/restart?includeTasks=abc&onlyFailed=")
    assert (answer.status, answer.body, herder.restarts) == (204, b"", ["c"])


@pytest.mark.parametrize(
    ("query", "only_failed", "include_tasks"),
    [
        ("includeTasks=TRUE", False, True),
        ("onlyFailed=true", True, False),
        ("onlyFailed=true&includeTasks=true", True, True),
    ],
)
def test_a_planned_restart_answers_the_plan(
    herder: MemoryHerder, ask: Asking, query: str, only_failed: bool, include_tasks: bool
) -> None:
    answer = ask("POST", f"/connectors/c/restart?{query}")
    assert (answer.status, answer.json["name"]) == (202, "c")
    assert herder.restarts == [RestartRequest("c", only_failed, include_tasks)]


@pytest.mark.parametrize(
    ("action", "status", "target"),
    [
        ("pause", 202, TargetState.PAUSED),
        ("resume", 202, TargetState.STARTED),
        ("stop", 204, TargetState.STOPPED),
    ],
)
def test_target_states(herder: MemoryHerder, ask: Asking, action: str, status: int, target: TargetState) -> None:
    answer = ask("PUT", f"/connectors/c/{action}")
    assert (answer.status, answer.body, herder.targets["c"]) == (status, b"", target)
    assert ask("PUT", f"/connectors/no/{action}").message == "Unknown connector no"


def test_tasks_and_their_status(ask: Asking) -> None:
    config = ask("GET", "/connectors/c/config").json
    assert ask("GET", "/connectors/c/tasks").json == [{"id": {"connector": "c", "task": 0}, "config": config}]
    assert ask("GET", "/connectors/c/tasks/1/status").message == "No status found for task c-1"


def test_a_failed_task_tells_its_trace_last(herder: MemoryHerder, ask: Asking) -> None:
    herder.task_states[TaskId("c", 0)] = Status(State.FAILED, WORKER_ID, "boom\n\tat x", None)
    expected = b'{"id":0,"state":"FAILED","worker_id":"127.0.0.1:8083","version":null,"trace":"boom\\n\\tat x"}'
    assert ask("GET", "/connectors/c/tasks/0/status").body == expected


def test_states_are_told_with_the_configuration_that_runs(herder: MemoryHerder, ask: Asking) -> None:
    herder.stored["c"] = StoredConfig(7, 9, (TaskId("c", 0), TaskId("c", 1)), planned=True)
    herder.task_states[TaskId("c", 0)] = Status(State.RUNNING, WORKER_ID, config_offset=9)
    assert ask("GET", "/dagster/connectors/c/status").body == (
        b'{"name":"c","config_offset":7,"tasks_config_offset":9,"connector":{"state":"RUNNING",'
        b'"worker_id":"127.0.0.1:8083","version":"4.3.1","config_offset":null,"current":null},'
        b'"tasks":[{"id":0,"state":"RUNNING","worker_id":"127.0.0.1:8083","version":null,"config_offset":9,'
        b'"current":true},{"id":1,"state":"UNASSIGNED","worker_id":"","version":null,"config_offset":null,'
        b'"current":false}],"type":"source"}'
    )
    assert ask("GET", "/dagster/connectors/no/status").message == "Connector no not found"


@pytest.mark.parametrize(
    ("started_with", "stored", "current"),
    [
        (9, StoredConfig(7, 9, (TaskId("c", 0),), planned=True), True),
        (8, StoredConfig(7, 9, (TaskId("c", 0),), planned=True), False),
        (None, StoredConfig(7, 9, (TaskId("c", 0),), planned=True), None),
        (9, StoredConfig(10, 9, (TaskId("c", 0),), planned=False), False),
        (None, StoredConfig(10, 9, (TaskId("c", 0),), planned=False), False),
        (9, StoredConfig(7, 9, (), planned=True), False),
    ],
)
def test_a_task_is_current_when_it_runs_what_was_planned_from_the_stored_configuration(
    herder: MemoryHerder, ask: Asking, started_with: int | None, stored: StoredConfig, current: bool | None
) -> None:
    herder.stored["c"] = stored
    herder.task_states[TaskId("c", 0)] = Status(State.RUNNING, WORKER_ID, config_offset=started_with)
    (task,) = ask("GET", "/dagster/connectors/c/status").json["tasks"]
    assert task["current"] is current


def test_an_undefined_version_is_left_out(herder: MemoryHerder, ask: Asking) -> None:
    herder.task_states[TaskId("c", 0)] = Status(State.RUNNING, WORKER_ID, version="undefined")
    assert "version" not in ask("GET", "/connectors/c/tasks/0/status").json


@pytest.mark.parametrize("number", ["a", "99999999999", "4294967296", "0x1", "%D9%A1"])
def test_a_task_that_is_no_number_is_404(ask: Asking, number: str) -> None:
    answer = ask("POST", f"/connectors/c/tasks/{number}/restart")
    assert (answer.status, answer.message) == (404, "HTTP 404 Not Found")


def test_restart_of_a_task(herder: MemoryHerder, ask: Asking) -> None:
    assert ask("POST", "/connectors/c/tasks/0/restart").status == 204
    assert herder.restarts == [TaskId("c", 0)]


def test_topics_are_told_and_reset(herder: MemoryHerder, ask: Asking) -> None:
    herder.topics["c"] = ["t"]
    assert ask("GET", "/connectors/c/topics").body == b'{"c":{"topics":["t"]}}'
    assert ask("PUT", "/connectors/c/topics/reset").status == 202
    assert ask("GET", "/connectors/c/topics").body == b'{"c":{"topics":[]}}'
    assert ask("GET", "/connectors/no/topics").body == b'{"no":{"topics":[]}}'


def test_topic_tracking_can_be_disabled(herder: MemoryHerder, ask: Asking) -> None:
    herder.tracking = (True, False)
    reset = ask("PUT", "/connectors/c/topics/reset")
    assert (reset.status, reset.message) == (403, "Topic tracking reset is disabled.")
    herder.tracking = (False, True)
    for method, path in (("GET", "topics"), ("PUT", "topics/reset")):
        answer = ask(method, f"/connectors/c/{path}")
        assert (answer.status, answer.message) == (403, "Topic tracking is disabled.")
