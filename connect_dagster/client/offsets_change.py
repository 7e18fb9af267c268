"""Change the offsets of a connector: stop it, change them, take it back to its former state (KIP-875)."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from connect_dagster.client.interrupts import uninterrupted
from connect_dagster.client.operations import StateNotReachedError, Wait, await_states, target_state_of
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import PartitionOffset
from connect_dagster.plugin.connector_file import DesiredState

# Errors of workers while tasks that were stopped still run (Java: AbstractHerder, Worker); 409 is another.
STILL_STOPPING = ("must be in the STOPPED state", "haven't stopped completely yet")

Modify = Callable[[KafkaConnectClient, str], str]


@dataclass(frozen=True, slots=True)
class OffsetsChange:
    """Offsets of a connector before and after a change, and the worker's message about it."""

    before: list[PartitionOffset]
    after: list[PartitionOffset]
    message: str


def change_offsets(
    client: KafkaConnectClient,
    connector: str,
    modify: Modify,
    afterwards: Callable[[DesiredState], DesiredState],
    wait: Wait,
) -> OffsetsChange:
    """Stop a connector, change its offsets, and put it into its final state.

    Whatever happens in between, an interrupt included, the connector is asked to return to its former state.

    Args:
        client: For the worker.
        connector: Its name.
        modify: Sends the change, and returns the worker's message.
        afterwards: Returns the final state, given the former one.
        wait: Bounds each of the three waits.

    Raises:
        StateNotReachedError: It did not stop, or did not reach the final state in time.
        KafkaConnectError: The request fails, or the worker refuses the change.
    """
    former = target_state_of(client.status(connector))
    goal = former
    try:
        client.set_target_state(connector, DesiredState.STOPPED)
        _await(client, connector, DesiredState.STOPPED, wait)
        before = client.offsets(connector)
        message = _modify_once_stopped(client, connector, modify, wait)
        after = client.offsets(connector)
        goal = afterwards(former)
    finally:
        if goal is not DesiredState.STOPPED:
            with uninterrupted():
                client.set_target_state(connector, goal)
    _await(client, connector, goal, wait)
    return OffsetsChange(before, after, message)


def _await(client: KafkaConnectClient, connector: str, goal: DesiredState, wait: Wait) -> None:
    unreached = await_states(client, {connector: goal}, wait)
    if unreached:
        raise StateNotReachedError(
            f"Connector '{connector}' is not {goal} after {wait.timeout:g} s: {unreached[connector]}"
        )


def _modify_once_stopped(client: KafkaConnectClient, connector: str, modify: Modify, wait: Wait) -> str:
    deadline = time.monotonic() + wait.timeout
    while True:
        try:
            return modify(client, connector)
        except KafkaConnectError as error:
            is_stopping = error.retriable or any(sentence in str(error) for sentence in STILL_STOPPING)
            if not is_stopping or time.monotonic() > deadline:
                raise
        time.sleep(wait.interval)
