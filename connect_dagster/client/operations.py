"""Operate connectors: send a request to each, then wait until the effect is seen.

The commands of ``connect-dagster``, the ops and the resources of Dagster all go through :func:`ask_and_await`; what
they print or record of the :class:`Outcome` is theirs.
A worker carries out requests later, so their effect has to be seen.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import ConnectorStatus, State
from connect_dagster.plugin.connector_file import DesiredState

DELETED = "deleted"
STILL_THERE = "it is still there"
GONE = "it does not exist"

Ask = Callable[[str], None]


class StateNotReachedError(Exception):
    """A connector did not reach its target state in time."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Bound for a wait, and the interval between two requests for a state; in seconds."""

    timeout: float
    interval: float = 0.2


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of one request to each of several connectors.

    Attributes:
        reached: Those seen in their target state, with their states.
        unreached: Those that did not get there in time, with their states or the reason.
        refused: Those whose request failed, with the error.
    """

    reached: Mapping[str, str] = field(default_factory=dict)
    unreached: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, KafkaConnectError] = field(default_factory=dict)

    @property
    def failed(self) -> dict[str, str]:
        """Those refused or not in their target state, with the reason."""
        return {name: str(error) for name, error in self.refused.items()} | dict(self.unreached)

    def raise_refusal(self) -> None:
        """Raise the first error of the worker, if there is one."""
        for error in self.refused.values():
            raise error


def ask_and_await(
    client: KafkaConnectClient,
    goals: Mapping[str, DesiredState],
    ask: Ask,
    wait: Wait | None,
    *,
    reached: Callable[[str, str], None] = lambda name, summary: None,
) -> Outcome:
    """Send a request to each connector, then wait until all of them are in their target states.

    Args:
        client: For the worker.
        goals: The target state of each connector, by name.
        ask: Sends the request to the connector of that name.
        wait: Bound for the wait; None to return as soon as all requests are sent.
        reached: Called with the name and the states of each connector that got there.
    """
    refused = _send(goals, ask)
    if wait is None:
        return Outcome(refused=refused)
    arrived: dict[str, str] = {}

    def note(name: str, summary: str) -> None:
        arrived[name] = summary
        reached(name, summary)

    asked = {name: goal for name, goal in goals.items() if name not in refused}
    return Outcome(arrived, await_states(client, asked, wait, reached=note), refused)


def delete_and_await(client: KafkaConnectClient, names: Iterable[str], wait: Wait) -> Outcome:
    """Delete connectors, then wait until the worker no longer has them."""
    names = list(names)
    refused = _send(names, client.delete)
    asked = [name for name in names if name not in refused]
    present = await_deleted(client, asked, wait)
    gone = [name for name in asked if name not in present]
    return Outcome(dict.fromkeys(gone, DELETED), dict.fromkeys(present, STILL_THERE), refused)


def target_state_of(status: ConnectorStatus) -> DesiredState:
    """Return the target state of a connector, as far as its status shows it: one that FAILED or restarts is to run."""
    return {State.PAUSED: DesiredState.PAUSED, State.STOPPED: DesiredState.STOPPED}.get(
        status.connector.state, DesiredState.RUNNING
    )


def _send(names: Iterable[str], ask: Ask) -> dict[str, KafkaConnectError]:
    refused = {}
    for name in names:
        try:
            ask(name)
        except KafkaConnectError as error:
            refused[name] = error
    return refused


def await_states(
    client: KafkaConnectClient,
    goals: Mapping[str, DesiredState],
    wait: Wait,
    *,
    reached: Callable[[str, str], None] = lambda name, summary: None,
) -> dict[str, str]:
    """Wait until connectors and their tasks are in their target states.

    Args:
        client: For the worker.
        goals: The target state of each connector, by name.
        wait: Bound and interval.
        reached: Called with the name and the states of each connector that got there.

    Returns:
        The connectors that did not get there in time, each with its states or the reason.
    """
    deadline = time.monotonic() + wait.timeout
    waiting = dict.fromkeys(goals, "it was not looked at")
    while True:
        for name in list(waiting):
            arrived, waiting[name] = _look(client, name, goals[name])
            if arrived:
                reached(name, waiting.pop(name))
        if not waiting or time.monotonic() >= deadline:
            return waiting
        time.sleep(wait.interval)


def await_deleted(client: KafkaConnectClient, names: Iterable[str], wait: Wait) -> list[str]:
    """Wait until the worker no longer has connectors; return those that it still has.

    Raises:
        KafkaConnectError: The worker refuses the request.
    """
    names = list(names)
    deadline = time.monotonic() + wait.timeout
    while True:
        present = [name for name in names if _is_known(client, name)]
        if not present or time.monotonic() >= deadline:
            return present
        time.sleep(wait.interval)


def _is_known(client: KafkaConnectClient, name: str) -> bool:
    try:
        return client.info(name) is not None
    except KafkaConnectError as error:
        # A group that rebalances, as after a deletion, returns 409.
        if error.retriable:
            return True
        raise


def _look(client: KafkaConnectClient, name: str, goal: DesiredState) -> tuple[bool, str]:
    try:
        status = client.running_config(name)
    except KafkaConnectError as error:
        # Until the first status of a connector is written there is none to read.
        return False, GONE if error.status == 404 else str(error)
    return status.has_reached(State(goal.value)), status.summary()
