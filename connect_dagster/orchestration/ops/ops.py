"""Ops that operate connectors: each waits for its effect, and fails with the names of connectors that missed it.

All need a resource ``kafka_connect`` (:class:`KafkaConnectWorkspace`). Names the cluster does not have stop an op
before it does anything. See :func:`build_kafka_connect_jobs` for jobs of them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dagster as dg
from dagster import AssetObservation, DagsterAssetMetadataValue, MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.masking import mask_text
from connect_dagster.client.offsets_change import Modify, OffsetsChange, change_offsets
from connect_dagster.client.operations import Wait, ask_and_await, delete_and_await, target_state_of
from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import Connector, ConnectorStatus, PartitionOffset
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.connectors.apply import ApplyPlan, carry_out, plan_all
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.failures import one_sentence, reasons, unknown_names
from connect_dagster.orchestration.observations.metadata import observation_metadata, shown_offsets
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from connect_dagster.orchestration.ops.config import (
    AlterOffsetsConfig,
    ApplySelection,
    ConnectorSelection,
    DeleteSelection,
    ResetOffsetsSelection,
    RestartSelection,
    WaitConfig,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState

_STATES = TableSchema([TableColumn(name) for name in ("connector", "before", "after")])


@dg.op(name="kafka_connect_pause_op")
def kafka_connect_pause_op(
    context: dg.OpExecutionContext, config: ConnectorSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Pauses connectors: their tasks stay, but move no records."""
    _operate(context, config, kafka_connect, Verb("pause", KafkaConnectClient.pause, DesiredState.PAUSED))


@dg.op(name="kafka_connect_resume_op")
def kafka_connect_resume_op(
    context: dg.OpExecutionContext, config: ConnectorSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Resumes paused and stopped connectors."""
    _operate(context, config, kafka_connect, Verb("resume", KafkaConnectClient.resume, DesiredState.RUNNING))


@dg.op(name="kafka_connect_stop_op")
def kafka_connect_stop_op(
    context: dg.OpExecutionContext, config: ConnectorSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Stops connectors: their tasks end, their configuration and offsets stay."""
    _operate(context, config, kafka_connect, Verb("stop", KafkaConnectClient.stop, DesiredState.STOPPED))


@dg.op(name="kafka_connect_restart_op")
def kafka_connect_restart_op(
    context: dg.OpExecutionContext, config: RestartSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Restarts FAILED connectors and tasks, or connectors with all their tasks; paused ones stay paused.

    A restart of a RUNNING task is not visible over REST: the run then succeeds as soon as all tasks are RUNNING.
    """

    def restart(client: KafkaConnectClient, name: str) -> None:
        client.restart(name, only_failed=config.only_failed)

    _operate(context, config, kafka_connect, Verb("restart", restart, None))


@dg.op(name="kafka_connect_delete_op")
def kafka_connect_delete_op(
    context: dg.OpExecutionContext, config: DeleteSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Deletes connectors; their offsets stay, and apply again when a connector of the same name is created."""
    _require_names(config.connectors, "delete")
    client = kafka_connect.get_client()
    with one_sentence():
        before = _chosen(client, kafka_connect, config.connectors, "delete")
        outcome = delete_and_await(client, before, _wait(config, kafka_connect))
    left, gone = outcome.failed, list(outcome.reached)
    for name in gone:
        context.log.info(f"Connector '{name}' is deleted")
        key = _observed_key(context, kafka_connect.cluster, name)
        context.log_event(AssetObservation(key, metadata={"state": "DELETED"}))
    states = {"states": _states_table(_summaries(before), dict.fromkeys(gone, "DELETED") | left)}
    if left:
        message = f"{len(left)} of {len(before)} connectors were not deleted: {reasons(left)}"
        raise dg.Failure(message, metadata=states)
    context.add_output_metadata(states)


@dg.op(name="kafka_connect_reset_offsets_op")
def kafka_connect_reset_offsets_op(
    context: dg.OpExecutionContext, config: ResetOffsetsSelection, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Resets the offsets of connectors: a source sends all its data again, a sink reads all records again."""
    _require_names(config.connectors, "reset the offsets of")
    _change_all(context, kafka_connect, config.connectors, KafkaConnectClient.reset_offsets, config, config.afterwards)


@dg.op(name="kafka_connect_alter_offsets_op")
def kafka_connect_alter_offsets_op(
    context: dg.OpExecutionContext, config: AlterOffsetsConfig, kafka_connect: KafkaConnectWorkspace
) -> None:
    """Sets offsets of a connector, which continues from them."""
    _require_names([config.connector] if config.connector else [], "alter the offsets of")
    if not config.offsets:
        raise dg.Failure("The list `offsets` is empty: add the offsets to set. Nothing was done.")
    entries = [{"partition": entry.partition, "offset": entry.offset} for entry in config.offsets]
    _change_all(
        context,
        kafka_connect,
        [config.connector],
        lambda client, name: client.alter_offsets(name, entries),
        config,
        config.afterwards,
    )


def build_kafka_connect_apply_op(
    *, connectors: Iterable[KafkaConnectConnectorSpec], name: str = "kafka_connect_apply_op"
) -> dg.OpDefinition:
    """Create the op ``kafka_connect_apply_op``, which applies declared connectors.

    Args:
        connectors (Iterable[KafkaConnectConnectorSpec]): The declarations.
        name (str): Its name; two ops of one code location have different ones.

    Returns:
        OpDefinition: The op; its config chooses among the declarations by name.
    """
    declared = {spec.name: spec for spec in connectors}

    @dg.op(name=name)
    def kafka_connect_apply_op(
        context: dg.OpExecutionContext, config: ApplySelection, kafka_connect: KafkaConnectWorkspace
    ) -> None:
        """Creates and changes connectors as declared."""
        client = kafka_connect.get_client()
        if unknown := [name for name in config.connectors if name not in declared]:
            raise unknown_names(unknown, declared, "The project")
        named = [declared[name] for name in config.connectors or declared]
        chosen = [replace(spec, state=config.state or spec.state) for spec in named]
        with one_sentence():
            plans = plan_all(client, chosen)
            diff = "\n".join(line for planned in plans for line in planned.lines())
            context.log.info(diff)
            shown: dict[str, Any] = {"diff": MetadataValue.md(f"```diff\n{diff}\n```"), "dry_run": config.dry_run}
            if not config.dry_run:
                shown |= _apply(context, client, kafka_connect, plans, config)
            context.add_output_metadata(shown)

    return kafka_connect_apply_op


@dataclass(frozen=True, slots=True)
class Verb:
    """Request to each connector, and the final state; None for its former target state."""

    name: str
    ask: Callable[[KafkaConnectClient, str], None]
    goal: DesiredState | None

    def goal_of(self, before: ConnectorStatus) -> DesiredState:
        """Return the final state of a connector."""
        return self.goal or target_state_of(before)


def _operate(
    context: dg.OpExecutionContext, config: ConnectorSelection, workspace: KafkaConnectWorkspace, verb: Verb
) -> None:
    client = workspace.get_client()
    with one_sentence():
        before = _chosen(client, workspace, config.connectors, verb.name)
    goals = {name: verb.goal_of(connector.status) for name, connector in before.items()}
    states = _ask_and_await(context, config, workspace, goals, lambda name: verb.ask(client, name), _summaries(before))
    context.add_output_metadata(states)


def _apply(
    context: dg.OpExecutionContext,
    client: KafkaConnectClient,
    workspace: KafkaConnectWorkspace,
    plans: Sequence[ApplyPlan],
    config: ApplySelection,
) -> dict[str, MetadataValue]:
    by_name = {planned.spec.name: planned for planned in plans}
    goals = {name: planned.goal for name, planned in by_name.items()}
    before = {name: planned.state.value if planned.state else "not there" for name, planned in by_name.items()}
    return _ask_and_await(context, config, workspace, goals, lambda name: carry_out(client, by_name[name]), before)


def _ask_and_await(
    context: dg.OpExecutionContext,
    config: ConnectorSelection,
    workspace: KafkaConnectWorkspace,
    goals: Mapping[str, DesiredState],
    ask: Callable[[str], None],
    before: Mapping[str, str],
) -> dict[str, MetadataValue]:
    """Send the request to each connector, wait for all of them, and return their states; fail with those elsewhere."""
    outcome = ask_and_await(
        workspace.get_client(),
        goals,
        ask,
        _wait(config, workspace) if config.wait else None,
        reached=lambda name, summary: context.log.info(f"Connector '{name}' is {summary}"),
    )
    if config.wait:
        _observe(context, workspace, [name for name in goals if name not in outcome.refused])
    unreached = outcome.failed
    states = {"states": _states_table(before, {**outcome.reached, **unreached})}
    if unreached:
        aims = "/".join(sorted({goals[name].value for name in unreached}))
        message = f"{len(unreached)} of {len(goals)} connectors did not reach {aims}: {reasons(unreached)}"
        raise dg.Failure(message, metadata=states)
    return states


def _change_all(
    context: dg.OpExecutionContext,
    workspace: KafkaConnectWorkspace,
    names: Sequence[str],
    modify: Modify,
    config: WaitConfig,
    afterwards: DesiredState | None,
) -> None:
    client = workspace.get_client()
    shown: dict[str, MetadataValue] = {}
    with one_sentence():
        chosen = _chosen(client, workspace, names, "change")
        for name in chosen:
            changed = change_offsets(
                client, name, modify, lambda before: afterwards or before, _wait(config, workspace)
            )
            context.log.info(f"Connector '{name}': {changed.message}")
            _observe(context, workspace, [name], _shown_change(changed))
            prefix = f"{name}: " if len(chosen) > 1 else ""
            shown |= {prefix + key: value for key, value in _shown_change(changed).items()}
    context.add_output_metadata(shown)


def _shown_change(changed: OffsetsChange) -> dict[str, MetadataValue]:
    return {
        "offsets_before": _shown_offsets(changed.before),
        "offsets_after": _shown_offsets(changed.after),
        "message": MetadataValue.text(changed.message),
    }


def _shown_offsets(offsets: Iterable[PartitionOffset]) -> MetadataValue:
    return MetadataValue.json({"offsets": shown_offsets(offsets)})


def _chosen(
    client: KafkaConnectClient, workspace: KafkaConnectWorkspace, names: Collection[str], verb: str
) -> dict[str, Connector]:
    """Return the connectors of these names, or all.

    Raises:
        Failure: A name is not known, or the cluster has no connector.
    """
    known = client.connectors()
    where = f"The cluster '{workspace.cluster}' at {mask_text(client.url)}"
    if unknown := [name for name in names if name not in known]:
        raise unknown_names(unknown, known, where)
    if not known:
        raise dg.Failure(f"{where} has no connectors, so there is nothing to {verb}.")
    return {name: known[name] for name in names} or known


def _require_names(names: Collection[str], verb: str) -> None:
    if not names:
        raise dg.Failure(f"Name the connectors to {verb}: there are defaults only for operations that can be undone.")


def _summaries(connectors: Mapping[str, Connector]) -> dict[str, str]:
    return {name: connector.status.summary() for name, connector in connectors.items()}


def _wait(config: WaitConfig, workspace: KafkaConnectWorkspace) -> Wait:
    return Wait(config.timeout or workspace.poll_timeout, workspace.poll_interval)


def _states_table(before: Mapping[str, str], after: Mapping[str, str]) -> MetadataValue:
    """Return a table of connectors with their states before and after."""
    rows = [
        TableRecord({"connector": name, "before": state, "after": after.get(name, "not looked at")})
        for name, state in before.items()
    ]
    return MetadataValue.table(rows, schema=_STATES)


def _observe(
    context: dg.OpExecutionContext,
    workspace: KafkaConnectWorkspace,
    names: Collection[str],
    further: Mapping[str, Any] | None = None,
) -> None:
    """Observe connectors with all numbers of a sensor's poll, so that plots have no gaps.

    Args:
        context: Of the op.
        workspace: The cluster.
        names: The connectors; those that do not exist are left out.
        further: Additional metadata.
    """
    poll = ConnectorPoll(workspace)
    try:
        chosen = [connector for name, connector in poll.connectors().items() if name in names]
    except KafkaConnectError as error:
        context.log.warning(f"The connectors cannot be observed now: {error}")
        return
    for snapshot in poll.snapshots(chosen):
        metadata = observation_metadata(snapshot, poll.client.url) | dict(further or {})
        key = _observed_key(context, workspace.cluster, snapshot.connector.name)
        context.log_event(AssetObservation(key, metadata=metadata))


def _observed_key(context: dg.OpExecutionContext, cluster: str, connector: str) -> dg.AssetKey:
    """Return the connector's asset: the one the job was built with, or the default."""
    asset = context.job_def.metadata.get(connector)
    return asset.asset_key if isinstance(asset, DagsterAssetMetadataValue) else connector_key(cluster, connector)
