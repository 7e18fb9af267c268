"""Operate connectors: send a request to each, then wait until the effect is seen.

The commands of ``connect-dagster``, the ops and the resources of Dagster all go through :func:`ask_and_await`; what
they print or record of the :class:`Outcome` is theirs.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import ConnectorStatus, State
from connect_dagster.client.waiting import Wait, await_deleted, await_states
from connect_dagster.plugin.connector_file import DesiredState

DELETED = "deleted"
STILL_THERE = "it is still there"

Ask = Callable[[str], None]


class StateNotReachedError(Exception):
    """A connector did not reach its target state in time."""


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
