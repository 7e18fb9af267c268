"""Jobs a user starts from the Launchpad: pause, resume and restart connectors.

All three are asynchronous on the worker, so a run succeeds only after the states were seen, and fails with
the names that did not get there in time. They need a resource ``kafka_connect``
(:class:`KafkaConnectWorkspace`).
"""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import dagster as dg
from dagster import AssetObservation
from pydantic import Field

from connect_dagster.orchestration.asset_keys import connector_key
from connect_dagster.orchestration.client import KafkaConnectClient, KafkaConnectError
from connect_dagster.orchestration.connector_metadata import observation_metadata
from connect_dagster.orchestration.connector_poll import ConnectorPoll
from connect_dagster.orchestration.records import State
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

POLL_SECONDS = 0.5


class ConnectorSelection(dg.Config):
    """Which connectors a verb goes to, and how long to wait for its effect."""

    connectors: list[str] = Field(default=[], description="Names of connectors; none means all of the worker's.")
    wait: bool = Field(default=True, description="Succeed only after the connectors reached the state.")
    timeout: float = Field(default=60.0, gt=0, description="Bound for that wait, in seconds.")


class RestartSelection(ConnectorSelection):
    """Which connectors to restart, and how much of them."""

    only_failed: bool = Field(default=True, description="Restart only what FAILED; otherwise connector and all tasks.")


def build_kafka_connect_jobs(*, connectors: Sequence[str] = ()) -> list[dg.JobDefinition]:
    """Creates the jobs ``kafka_connect_pause``, ``kafka_connect_resume`` and ``kafka_connect_restart``.

    Args:
        connectors (Sequence[str]): Names the Launchpad starts with. Defaults to none, which means all
            connectors.
    """
    named = list(connectors)
    return [
        _job(_pause_op, ConnectorSelection(connectors=named), "Pauses connectors: tasks stay, records stop."),
        _job(_resume_op, ConnectorSelection(connectors=named), "Resumes paused or stopped connectors."),
        _job(
            _restart_op,
            RestartSelection(connectors=named),
            "Restarts connectors and tasks that failed, or all.",
        ),
    ]


@dg.op(name="kafka_connect_pause_op")
def _pause_op(context: dg.OpExecutionContext, config: ConnectorSelection, kafka_connect: KafkaConnectWorkspace) -> None:
    verb = Verb(State.PAUSED, lambda client, name: client.pause(name))
    _apply(context, config, kafka_connect, verb)


@dg.op(name="kafka_connect_resume_op")
def _resume_op(
    context: dg.OpExecutionContext, config: ConnectorSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    verb = Verb(State.RUNNING, lambda client, name: client.resume(name))
    _apply(context, config, kafka_connect, verb)


@dg.op(name="kafka_connect_restart_op")
def _restart_op(context: dg.OpExecutionContext, config: RestartSelection, kafka_connect: KafkaConnectWorkspace) -> None:
    verb = Verb(State.RUNNING, lambda client, name: client.restart(name, only_failed=config.only_failed))
    _apply(context, config, kafka_connect, verb)


@dataclass(frozen=True, slots=True)
class Verb:
    """What is asked of each connector, and the state it ends in."""

    goal: State
    ask: Callable[[KafkaConnectClient, str], None]


def _job(op: dg.OpDefinition, config: dg.Config, description: str) -> dg.JobDefinition:
    graph = dg.GraphDefinition(name=op.name.removesuffix("_op"), node_defs=[op])
    return graph.to_job(
        description=description,
        config=dg.RunConfig(ops={op.name: config}),
        executor_def=dg.in_process_executor,
    )


def _apply(
    context: dg.OpExecutionContext, config: ConnectorSelection, workspace: KafkaConnectWorkspace, verb: Verb
) -> None:
    client = workspace.get_client()
    names = config.connectors or sorted(client.connectors())
    missing = _ask_all(client, names, verb)
    if config.wait:
        asked = [name for name in names if name not in missing]
        missing |= _await_all(context, client, asked, verb.goal, config.timeout)
        _observe(context, workspace, set(asked))
    if missing:
        reasons = "; ".join(f"'{name}': {reason}" for name, reason in missing.items())
        raise dg.Failure(f"{len(missing)} of {len(names)} connectors did not reach {verb.goal.value}: {reasons}")


def _ask_all(client: KafkaConnectClient, names: Sequence[str], verb: Verb) -> dict[str, str]:
    """Ask each connector; the refusals of the worker by name."""
    refused = {}
    for name in names:
        try:
            verb.ask(client, name)
        except KafkaConnectError as error:
            refused[name] = str(error)
    return refused


def _await_all(
    context: dg.OpExecutionContext, client: KafkaConnectClient, names: Sequence[str], goal: State, timeout: float
) -> dict[str, str]:
    """Wait until all have reached the goal; the states of those that have not by name."""
    deadline = time.monotonic() + timeout
    waiting = dict.fromkeys(names, "no status")
    while waiting:
        for name in list(waiting):
            status = client.status(name)
            waiting[name] = status.summary()
            if status.has_reached(goal):
                context.log.info(f"Connector '{name}' is {waiting.pop(name)}")
        if time.monotonic() > deadline:
            break
        if waiting:
            time.sleep(POLL_SECONDS)
    return waiting


def _observe(context: dg.OpExecutionContext, workspace: KafkaConnectWorkspace, names: Collection[str]) -> None:
    """Show the new states at once, with all numbers a sensor's tick would give, so that no curve has a hole."""
    poll = ConnectorPoll(workspace)
    progress = poll.progress()
    chosen = [connector for name, connector in poll.connectors().items() if name in names]
    for snapshot in poll.with_bounds([poll.snapshot(connector, progress) for connector in chosen]):
        key = connector_key(workspace.cluster, snapshot.connector.name)
        context.log_event(AssetObservation(key, metadata=observation_metadata(snapshot, poll.client.url)))
