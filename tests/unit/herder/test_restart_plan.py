import pytest

from connect_dagster.herder.interface import ConnectorStatus, ConnectorType, RestartRequest
from connect_dagster.herder.restart_plan import plan_restart
from connect_dagster.protocol.states import State, Status, TaskId

RUNNING, FAILED = Status(State.RUNNING, "w:1", version="1"), Status(State.FAILED, "w:1", "trace", "1")
UNASSIGNED = Status(State.UNASSIGNED, "w:1")


@pytest.mark.parametrize(
    ("connector", "only_failed", "include_tasks", "restarts_connector", "tasks"),
    [
        (RUNNING, False, False, True, ()),
        (RUNNING, False, True, True, (0, 1, 2)),
        (RUNNING, True, False, False, ()),
        (RUNNING, True, True, False, (1,)),
        (FAILED, True, False, True, ()),
        (FAILED, True, True, True, (1,)),
    ],
)
def test_what_a_request_restarts(
    connector: Status, only_failed: bool, include_tasks: bool, restarts_connector: bool, tasks: tuple[int, ...]
) -> None:
    before = ConnectorStatus("c", connector, ((0, RUNNING), (1, FAILED), (2, UNASSIGNED)), ConnectorType.SINK)
    plan = plan_restart(RestartRequest("c", only_failed=only_failed, include_tasks=include_tasks), before)
    assert plan.connector is restarts_connector
    assert plan.tasks == tuple(TaskId("c", number) for number in tasks)
    restarting = {number for number, status in plan.status.tasks if status.state is State.RESTARTING}
    assert restarting == set(tasks)
    assert (plan.status.connector.state is State.RESTARTING) is restarts_connector


def test_trace_and_version_stay_in_the_answer() -> None:
    before = ConnectorStatus("c", FAILED, (), ConnectorType.SOURCE)
    plan = plan_restart(RestartRequest("c"), before)
    assert plan.status.connector == Status(State.RESTARTING, "w:1", "trace", "1")
