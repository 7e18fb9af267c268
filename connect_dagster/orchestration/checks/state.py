"""The check ``connector_state``: neither a connector nor a task of it FAILED."""

from collections.abc import Iterable, Mapping, Sequence

import dagster as dg
from dagster import AssetCheckEvaluation, AssetCheckKey, AssetCheckSeverity, AssetKey

from connect_dagster.client.plugin_secrets import with_secret_keys
from connect_dagster.client.types import Connector, State
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    connector_assets,
    connector_checks,
)
from connect_dagster.orchestration.observations.metadata import status_metadata
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

STATE_CHECK = "connector_state"
SETTLED = (State.RUNNING, State.PAUSED, State.STOPPED)


def build_connector_state_checks(
    *, workspace: KafkaConnectWorkspace, connectors: Iterable[ConnectorAsset]
) -> Sequence[dg.AssetChecksDefinition]:
    """Creates the check ``connector_state`` of each connector's asset.

    It fails when the connector or a task FAILED, with the trace's first line and the trace in its metadata, and warns
    while something is UNASSIGNED, RESTARTING or without tasks. PAUSED and STOPPED are chosen by users, and pass.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_connector_state_checks

            checks = build_connector_state_checks(workspace=KafkaConnectWorkspace(), connectors=["lines"])
            defs = dg.Definitions(asset_checks=checks)
    """

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        client = ready.get_client()
        known = client.connectors()
        found = with_secret_keys(client, {name: known[name] for name in keys if name in known})
        return {name: state_outcome(one) for name, one in found.items()}

    return connector_checks(
        name=STATE_CHECK,
        description="Neither the connector nor a task of it FAILED.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=judge,
    )


def state_evaluation(asset: AssetKey, connector: Connector) -> AssetCheckEvaluation:
    """Return the evaluation of a connector that was already read, for a sensor."""
    return state_outcome(connector).evaluation(AssetCheckKey(asset, STATE_CHECK))


def state_outcome(connector: Connector) -> CheckOutcome:
    """Return the outcome for the states of a connector and its tasks."""
    status = connector.status
    failed = status.tasks_in(State.FAILED)
    metadata = status_metadata(connector)
    if status.has_failed:
        who = f"{failed} of {len(status.tasks)} tasks" if failed else "The connector"
        return CheckOutcome(False, f"{who} FAILED: {metadata.get('error', 'no trace')}", metadata)
    state = status.connector.state
    if state not in SETTLED or not status.has_reached(state):
        return CheckOutcome(False, f"Not settled: {status.summary()}", metadata, AssetCheckSeverity.WARN)
    return CheckOutcome(True, status.summary(), metadata)
