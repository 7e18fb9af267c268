"""The check ``connector_lag``: a sink is close to the ends of its topics."""

from collections.abc import Iterable, Sequence

import dagster as dg
from dagster import AssetCheckSeverity

from connect_dagster.client.types import Direction
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    by_snapshot,
    connector_assets,
    connector_checks,
    require_brokers,
)
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

LAG_CHECK = "connector_lag"


def build_connector_lag_checks(
    *, workspace: KafkaConnectWorkspace, connectors: Iterable[ConnectorAsset], max_lag: int
) -> Sequence[dg.AssetChecksDefinition]:
    """Creates the check ``connector_lag`` of each sink's asset.

    It fails when the records the sink has not committed yet are more than the bound, and warns when they cannot be
    counted. A source has no lag, and passes.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster, with ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        max_lag (int): The most records that may be left, over all partitions.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: The workspace has no ``bootstrap_servers``.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_connector_lag_checks

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
            checks = build_connector_lag_checks(workspace=workspace, connectors=["lines-sink"], max_lag=1000)
            defs = dg.Definitions(asset_checks=checks)
    """
    require_brokers(workspace, "lag")
    return connector_checks(
        name=LAG_CHECK,
        description=f"At most {max_lag} records of its topics are not committed.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=by_snapshot(lambda one, _: lag_outcome(one, max_lag)),
    )


def lag_outcome(snapshot: ConnectorSnapshot, max_lag: int) -> CheckOutcome:
    """Return the outcome for the lag of a connector."""
    if snapshot.lineage.direction is not Direction.SINK:
        return CheckOutcome(True, "A source has no lag", {"max_lag": max_lag})
    if snapshot.lags is None:
        message = "The lag is not known: brokers or worker did not return the offsets in time"
        return CheckOutcome(False, message, {"max_lag": max_lag}, AssetCheckSeverity.WARN)
    total = sum(snapshot.lags)
    metadata = {"records_lag_total": total, "records_lag_max": max(snapshot.lags, default=0), "max_lag": max_lag}
    return CheckOutcome(total <= max_lag, f"{total} records are not committed yet; {max_lag} are allowed", metadata)
