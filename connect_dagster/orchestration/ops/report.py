"""Report of an operation: states before and after as metadata of the output, and observations."""

from collections.abc import Collection, Mapping
from typing import Any

import dagster as dg
from dagster import AssetObservation, DagsterAssetMetadataValue, MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.observations.metadata import observation_metadata
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

STATES = TableSchema([TableColumn(name) for name in ("connector", "before", "after")])


def states_table(before: Mapping[str, str], after: Mapping[str, str]) -> MetadataValue:
    """Return a table of connectors with their states before and after."""
    rows = [
        TableRecord({"connector": name, "before": state, "after": after.get(name, "not looked at")})
        for name, state in before.items()
    ]
    return MetadataValue.table(rows, schema=STATES)


def observe(
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
        key = observed_key(context, workspace.cluster, snapshot.connector.name)
        context.log_event(AssetObservation(key, metadata=metadata))


def observed_key(context: dg.OpExecutionContext, cluster: str, connector: str) -> dg.AssetKey:
    """Return the connector's asset: the one the job was built with, or the default."""
    asset = context.job_def.metadata.get(connector)
    return asset.asset_key if isinstance(asset, DagsterAssetMetadataValue) else connector_key(cluster, connector)
