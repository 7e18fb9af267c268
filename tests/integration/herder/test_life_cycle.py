"""Operations on connectors and what becomes of their states, tasks and counters of starts."""

import pytest

from tests.integration.herder.conftest import ObedientConnector

STARTED = ["connector start", "connector tasks", "task 0 task"]


@pytest.fixture
def running(obedient: ObedientConnector) -> ObedientConnector:
    assert obedient.put().status == 201
    obedient.wait_states("RUNNING", "RUNNING")
    return obedient


def test_a_connector_that_fails_to_start(obedient: ObedientConnector) -> None:
    obedient.order("fail-start")
    answer = obedient.put()
    assert (answer.status, answer.message) == (
        500,
        f"Failed to transition connector {obedient.name} to state STARTED",
    )
    status = obedient.wait_states("FAILED")
    assert status["tasks"] == []
    assert status["connector"]["trace"].splitlines()[0].endswith("ordered to fail in start")
    assert obedient.call("GET", "/config").json["orders"]

    # It may be stopped, and runs once the reason is gone.
    assert obedient.call("PUT", "/stop").status == 204
    assert obedient.wait_states("STOPPED")["tasks"] == []
    obedient.revoke("fail-start")
    assert obedient.call("PUT", "/resume").status == 202
    obedient.wait_states("RUNNING", "RUNNING")


def test_task_configurations_that_fail(obedient: ObedientConnector) -> None:
    obedient.order("fail-tasks")
    assert obedient.put().status == 201
    status = obedient.wait_states("FAILED")
    assert "ordered to fail in tasks" in status["connector"]["trace"]


def test_s1_31_a_restart_leaves_tasks_alone(running: ObedientConnector) -> None:
    assert running.journal() == STARTED
    answer = running.call("POST", "/restart")
    assert (answer.status, answer.body) == (204, b"")
    running.wait_states("RUNNING", "RUNNING")
    assert running.journal() == [*STARTED, "connector stop", "connector start", "connector tasks"]


def test_a_restart_with_tasks_restarts_all(running: ObedientConnector) -> None:
    answer = running.call("POST", "/restart?includeTasks=true")
    states = [part["state"] for part in (answer.json["connector"], *answer.json["tasks"])]
    assert (answer.status, states) == (202, ["RESTARTING", "RESTARTING"])
    assert [answer.json["connector"]["version"], answer.json["type"]] == ["0.1", "source"]
    running.wait_states("RUNNING", "RUNNING")
    assert running.journal().count("task 0 task") == 2
    assert running.journal().count("connector start") == 2


def test_s1_24_tasks_restart_only_for_another_configuration(running: ObedientConnector) -> None:
    assert running.put().status == 200
    running.wait_states("RUNNING", "RUNNING")
    assert running.journal().count("task 0 task") == 1
    assert running.put(note="new").status == 200
    running.wait_journal("task 0 task", 2)
    running.wait_states("RUNNING", "RUNNING")
    assert running.put(note="new", task_count="3", tasks_max="3").status == 200
    running.wait_states("RUNNING", "RUNNING", "RUNNING", "RUNNING")
    assert running.put(note="new", tasks_max="3").status == 200
    running.wait_states("RUNNING", "RUNNING")


def test_a_change_that_fails_leaves_the_tasks_as_they_are(running: ObedientConnector) -> None:
    running.order("fail-start")
    assert running.put(note="new").status == 500
    running.wait_states("FAILED", "RUNNING")
    assert running.call("GET", "/config").json["note"] == "new"
    running.revoke("fail-start")
    assert running.call("POST", "/restart").status == 204
    running.wait_states("RUNNING", "RUNNING")
    assert running.journal().count("task 0 task") == 2


def test_more_tasks_than_allowed(obedient: ObedientConnector) -> None:
    assert obedient.put(task_count="3", tasks_max="2").status == 201
    status = obedient.wait_states("FAILED")
    assert status["connector"]["trace"].startswith(
        "org.apache.kafka.connect.runtime.TooManyTasksException: The connector "
        f"{obedient.name} has generated 3 tasks, which is greater than 2, the maximum number of tasks it is "
        "configured to create. This behaviour should be considered a bug and is disallowed. If necessary, it can be "
        "permitted by reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be "
        "removed in a future release of Kafka Connect.\n"
    )
    assert obedient.put(task_count="3", tasks_max="2", tasks_max_enforce="false").status == 200
    obedient.wait_states("RUNNING", "RUNNING", "RUNNING", "RUNNING")


def test_s1_33_nothing_is_left_of_a_deleted_connector(running: ObedientConnector) -> None:
    assert running.call("DELETE").status == 204
    texts = {below: running.call("GET", below).json["message"] for below in ("", "/config", "/tasks", "/status")}
    not_found = f"Connector {running.name} not found"
    no_status = f"No status found for connector {running.name}"
    assert texts == {"": not_found, "/config": not_found, "/tasks": not_found, "/status": no_status}
    assert running.call("GET", "/tasks/0/status").message == f"No status found for task {running.name}-0"
    assert running.call("DELETE").status == 404
    assert running.put().status == 201
    running.wait_states("RUNNING", "RUNNING")


def test_patches_at_once_lose_nothing(running: ObedientConnector) -> None:
    patches = [running.later("PATCH", "/config", {f"key.{number}": "x"}) for number in range(6)]
    for patch in patches:
        patch.result(90)
    config = running.call("GET", "/config").json
    assert {name for name in config if name.startswith("key.")} == {f"key.{number}" for number in range(6)}
    running.wait_states("RUNNING", "RUNNING")
    assert running.call("PATCH", "/config", {"key.0": None}).json["config"].get("key.0") is None
