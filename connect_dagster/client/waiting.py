"""Waiting for connectors: whatever is asked of a worker happens later, so its effect has to be seen."""

import time
from collections.abc import Callable, Iterable

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import State
from connect_dagster.plugin.connector_file import DesiredState

GONE = "there is no such connector"


def await_states(
    client: KafkaConnectClient,
    goals: dict[str, DesiredState],
    *,
    timeout: float,
    interval: float,
    reached: Callable[[str, str], None] = lambda name, summary: None,
) -> dict[str, str]:
    """Wait until connectors and their tasks are in the states they are to reach.

    Args:
        client: For the worker.
        goals: The state of each connector, by name.
        timeout: Bound for the wait, in seconds.
        interval: Seconds between two looks.
        reached: Told the name and the states of each connector that got there.

    Returns:
        The connectors that did not get there in time, each with where it is instead.
    """
    deadline = time.monotonic() + timeout
    waiting = dict.fromkeys(goals, "it was not looked at")
    while True:
        for name in list(waiting):
            arrived, waiting[name] = _look(client, name, goals[name])
            if arrived:
                reached(name, waiting.pop(name))
        if not waiting or time.monotonic() >= deadline:
            return waiting
        time.sleep(interval)


def await_deleted(client: KafkaConnectClient, names: Iterable[str], *, timeout: float, interval: float) -> list[str]:
    """Wait until the worker knows connectors no more; answers those it still knows.

    Args:
        client: For the worker.
        names: The connectors.
        timeout: Bound for the wait, in seconds.
        interval: Seconds between two looks.

    Raises:
        KafkaConnectError: The worker refuses to tell.
    """
    deadline = time.monotonic() + timeout
    while True:
        present = [name for name in names if _is_known(client, name)]
        if not present or time.monotonic() >= deadline:
            return present
        time.sleep(interval)


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
