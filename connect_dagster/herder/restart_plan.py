"""The effect of a restart request on a connector in its present state (KIP-745; Java: ``RestartPlan``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from connect_dagster.herder.interface import ConnectorStatus, RestartRequest
from connect_dagster.protocol.states import State, Status, TaskId


@dataclass(frozen=True, slots=True)
class RestartPlan:
    """The parts that will be restarted.

    Attributes:
        connector: whether the connector object is.
        tasks: which tasks are.
        status: the states that the endpoint returns, RESTARTING for all of these.
    """

    connector: bool
    tasks: tuple[TaskId, ...]
    status: ConnectorStatus


def plan_restart(request: RestartRequest, status: ConnectorStatus) -> RestartPlan:
    """Return the plan for a request.

    Args:
        request: what was asked for.
        status: the states before.
    """
    connector = _concerned(request, status.connector)
    chosen: Mapping[int, bool] = {
        number: request.include_tasks and _concerned(request, task) for number, task in status.tasks
    }
    shown = ConnectorStatus(
        status.name,
        _restarting(status.connector) if connector else status.connector,
        tuple((number, _restarting(task) if chosen[number] else task) for number, task in status.tasks),
        status.type,
    )
    return RestartPlan(connector, tuple(TaskId(status.name, number) for number in chosen if chosen[number]), shown)


def _concerned(request: RestartRequest, status: Status) -> bool:
    return not request.only_failed or status.state is State.FAILED


def _restarting(status: Status) -> Status:
    return replace(status, state=State.RESTARTING)
