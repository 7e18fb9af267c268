"""The check ``binlog_retention``: a server keeps its binary log for longer than a capture is behind."""

from collections.abc import Iterable, Sequence

import dagster as dg
from dagster import AssetCheckSeverity

from connect_dagster.client.captures import CaptureReading
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    by_snapshot,
    connector_assets,
    connector_checks,
)
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

RETENTION_CHECK = "binlog_retention"


def build_binlog_retention_checks(
    *, workspace: KafkaConnectWorkspace, connectors: Iterable[ConnectorAsset], max_share: float = 0.5
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``binlog_retention`` of each connector that captures the changes of MySQL or MariaDB.

    A server deletes its log after ``binlog_expire_logs_seconds``, also what a connector has not read yet, which needs
    a new snapshot then. The check fails when the connector is behind by more than a share of that time, and warns where
    the time is not known: to Java's workers, and until a task has begun to read the log.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        max_share (float): The part of that time by which a connector may be behind. Defaults to a half.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: The share is not between 0 and 1.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_binlog_retention_checks

            workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
            checks = build_binlog_retention_checks(workspace=workspace, connectors=["shop"])
            defs = dg.Definitions(asset_checks=checks)
    """
    if not 0 < max_share <= 1:
        raise dg.DagsterInvalidDefinitionError(f"max_share is a part of a time, more than 0 and 1 at most: {max_share}")
    return connector_checks(
        name=RETENTION_CHECK,
        description=f"It is behind by at most {max_share:.0%} of the time for which the server keeps its binary log.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=by_snapshot(lambda one, _: _outcome(one, max_share)),
    )


def _outcome(snapshot: ConnectorSnapshot, max_share: float) -> CheckOutcome:
    if snapshot.capture is None:
        return CheckOutcome(False, "It does not capture the changes of MySQL or MariaDB")
    return retention_outcome(snapshot.capture, max_share)


def retention_outcome(reading: CaptureReading, max_share: float) -> CheckOutcome:
    """Return the outcome for a reading."""
    lag, retention = reading.lag, reading.retention
    if lag is None or retention is None:
        what = "It is not known how far it is" if lag is None else "It is not known how long the server keeps its log"
        return CheckOutcome(False, what, severity=AssetCheckSeverity.WARN)
    metadata = {"lag_seconds": float(lag), "binlog_retention_seconds": float(retention), "max_share": max_share}
    if not retention:
        return CheckOutcome(True, "The server deletes nothing of its binary log", metadata)
    text = f"It is {lag:.0f} s behind; the server keeps its binary log for {retention:.0f} s"
    return CheckOutcome(lag <= retention * max_share, text, metadata)
