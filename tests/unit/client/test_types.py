import pytest

from connect_dagster.client.types import ConnectorStatus, State, TaskProgress
from tests.unit.orchestration.answers import SOURCE, connector


def status(state: str, *tasks: str, trace: str | None = None) -> ConnectorStatus:
    return connector(SOURCE, state, *tasks, trace=trace).status


@pytest.mark.parametrize(
    ("now", "goal", "reached"),
    [
        (status("RUNNING", "RUNNING"), State.RUNNING, True),
        (status("RUNNING", "RUNNING", "FAILED"), State.RUNNING, False),
        (status("RUNNING"), State.RUNNING, False),
        (status("PAUSED", "PAUSED"), State.PAUSED, True),
        (status("PAUSED", "RUNNING"), State.PAUSED, False),
        (status("STOPPED"), State.STOPPED, True),
    ],
)
def test_a_state_is_reached_by_connector_and_all_tasks(now: ConnectorStatus, goal: State, reached: bool) -> None:
    assert now.has_reached(goal) is reached


def versioned(connector: bool | None, *tasks: bool | None, state: str = "RUNNING") -> ConnectorStatus:
    """States of parts that run the stored configuration, a former one, or it is not known."""
    part = {"state": state, "worker_id": "w"}
    states = [{"id": number, "current": current, **part} for number, current in enumerate(tasks)]
    return ConnectorStatus.model_validate({"name": "c", "connector": {"current": connector, **part}, "tasks": states})


@pytest.mark.parametrize(
    ("now", "reached"),
    [
        (versioned(True, True, True), True),
        (versioned(None, None, None), True),
        (versioned(None, True, None), True),
        (versioned(True, True, False), False),
        (versioned(False, True, True), False),
        (versioned(None, False), False),
    ],
)
def test_running_is_reached_without_parts_of_a_former_configuration(now: ConnectorStatus, reached: bool) -> None:
    assert now.has_reached(State.RUNNING) is reached


def test_the_tasks_of_a_paused_connector_may_wait_for_the_stored_configuration() -> None:
    assert versioned(True, False, state="PAUSED").has_reached(State.PAUSED)


def test_the_summary_tells_parts_of_a_former_configuration() -> None:
    assert versioned(True, False).summary() == "RUNNING, task 0 RUNNING with a former configuration"
    assert versioned(True, False, state="UNASSIGNED").summary() == "UNASSIGNED, task 0 UNASSIGNED"


def test_the_summary_names_every_part() -> None:
    assert status("RUNNING", "FAILED", "RUNNING").summary() == "RUNNING, task 0 FAILED, task 1 RUNNING"


def test_traces_name_their_owner() -> None:
    assert status("RUNNING", "FAILED", trace="boom").traces() == [("task 0", "boom")]


def test_progress_is_read_by_sparks_names_and_ignores_the_rest() -> None:
    answer = {"batchId": 3, "totalInputRows": 42, "durationMs": {"addBatch": 5}, "sources": [], "jobGroup": "a-0"}
    progress = TaskProgress.model_validate(answer)
    assert (progress.batch_id, progress.total_input_rows, progress.duration_ms) == (3, 42, {"addBatch": 5.0})
