"""Wait for connectors: a worker carries out requests later, so their effect has to be seen."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import State
from connect_dagster.plugin.connector_file import DesiredState

GONE = "it does not exist"


@dataclass(frozen=True, slots=True)
class Wait:
    """Bound for a wait, and the interval between two requests for a state; in seconds."""

    timeout: float
    interval: float = 0.2


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
        KafkaConnectError: The worker refuses to say.
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
        # A group that rebalances, as it does after a deletion, does not say.
        if error.retriable:
            return True
        raise


def _look(client: KafkaConnectClient, name: str, goal: DesiredState) -> tuple[bool, str]:
    try:
        status = client.status(name)
    except KafkaConnectError as error:
        # Until the first status of a connector is written there is none to read.
        return False, GONE if error.status == 404 else str(error)
    return status.has_reached(State(goal.value)), status.summary()
