"""Changing a connector's offsets: it is stopped, they are changed, and it goes back to where it was (KIP-875)."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import dagster as dg

from connect_dagster.client.interrupts import uninterrupted
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import ConnectorStatus, PartitionOffset, State
from connect_dagster.client.waiting import await_states
from connect_dagster.orchestration.declaring.apply import ASK_FOR
from connect_dagster.plugin.connector_file import DesiredState

# What workers answer while tasks they were told to stop still run (Java: AbstractHerder, Worker), besides 409.
STILL_STOPPING = ("must be in the STOPPED state", "haven't stopped completely yet")

Modify = Callable[[KafkaConnectClient, str], str]


@dataclass(frozen=True, slots=True)
class OffsetsChange:
    """Offsets of a connector before and after they were changed, and what the worker said about it."""

    before: list[PartitionOffset]
    after: list[PartitionOffset]
    message: str


def change_offsets(
    client: KafkaConnectClient,
    connector: str,
    modify: Modify,
    afterwards: Callable[[DesiredState], DesiredState],
    *,
    timeout: float,
    interval: float,
) -> OffsetsChange:
    """Stop a connector, change its offsets, and put it into the state it is to end in.

    Whatever happens in between, an interrupt included, the connector is asked to go back to where it was.

    Args:
        client: For the worker.
        connector: Its name.
        modify: Sends the change, and answers what the worker says.
        afterwards: The state it is to end in, given the one it was in.
        timeout: Bound for each of the three waits, in seconds.
        interval: Seconds between two looks.

    Raises:
        Failure: It did not stop, or did not get to the last state in time.
        KafkaConnectError: The worker refuses the change, or cannot be asked.
    """
    former = aim_of(client.status(connector))
    goal = former
    try:
        client.stop(connector)
        _await(client, connector, DesiredState.STOPPED, timeout, interval)
        before = client.offsets(connector)
        message = _modify_once_stopped(client, connector, modify, timeout, interval)
        after = client.offsets(connector)
        goal = afterwards(former)
    finally:
        if goal is not DesiredState.STOPPED:
            with uninterrupted():
                ASK_FOR[goal](client, connector)
    _await(client, connector, goal, timeout, interval)
    return OffsetsChange(before, after, message)


def aim_of(status: ConnectorStatus) -> DesiredState:
    """The state a connector was asked for, as far as its status tells: what FAILED or restarts is to run."""
    return {State.PAUSED: DesiredState.PAUSED, State.STOPPED: DesiredState.STOPPED}.get(
        status.connector.state, DesiredState.RUNNING
    )


def _await(client: KafkaConnectClient, connector: str, goal: DesiredState, timeout: float, interval: float) -> None:
    unreached = await_states(client, {connector: goal}, timeout=timeout, interval=interval)
    if unreached:
        raise dg.Failure(f"Connector '{connector}' is not {goal} after {timeout:g} s: {unreached[connector]}")


def _modify_once_stopped(
    client: KafkaConnectClient, connector: str, modify: Modify, timeout: float, interval: float
) -> str:
    deadline = time.monotonic() + timeout
    while True:
        try:
            return modify(client, connector)
        except KafkaConnectError as error:
            is_stopping = error.retriable or any(sentence in str(error) for sentence in STILL_STOPPING)
            if not is_stopping or time.monotonic() > deadline:
                raise
        time.sleep(interval)
