"""The common form of checks that query the cluster once for all connectors."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import dagster as dg
from dagster import (
    AssetCheckEvaluation,
    AssetCheckKey,
    AssetCheckResult,
    AssetCheckSeverity,
    AssetCheckSpec,
    AssetKey,
    AssetsDefinition,
    AssetSpec,
)

from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.orchestration.assets.keys import connector_key, identifier
from connect_dagster.orchestration.assets.metadata_sets import KafkaConnectMetadataSet
from connect_dagster.orchestration.cluster import check_brokers
from connect_dagster.orchestration.observations.poll import ConnectorPoll
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """Outcome of a check.

    Attributes:
        passed: Whether all is well.
        description: Why, in a sentence; without secrets.
        metadata: What was measured; without secrets.
        severity: How bad it is when it is not well.
    """

    passed: bool
    description: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    severity: AssetCheckSeverity = AssetCheckSeverity.ERROR

    def result(self, key: AssetCheckKey) -> AssetCheckResult:
        """Return the result for a run's step."""
        return AssetCheckResult(
            passed=self.passed,
            asset_key=key.asset_key,
            check_name=key.name,
            metadata=self.metadata,
            severity=self.severity,
            description=self.description,
        )

    def evaluation(self, key: AssetCheckKey) -> AssetCheckEvaluation:
        """Return the evaluation for a sensor's tick."""
        return AssetCheckEvaluation(
            asset_key=key.asset_key,
            check_name=key.name,
            passed=self.passed,
            metadata=dict(self.metadata),
            severity=self.severity,
            description=self.description,
        )


ConnectorAsset: TypeAlias = str | AssetSpec | AssetsDefinition
"""A connector: its name, or its asset where a translator of the user's gives it another key."""

Judge = Callable[
    [dg.AssetCheckExecutionContext, KafkaConnectWorkspace, Mapping[str, AssetCheckKey]], Mapping[str, CheckOutcome]
]


def connector_checks(
    *,
    name: str,
    description: str,
    workspace: KafkaConnectWorkspace,
    assets: Mapping[str, AssetKey],
    judge: Judge,
) -> Sequence[dg.AssetChecksDefinition]:
    """Create one check per connector's asset, all executed by one step.

    Args:
        name: Of the check.
        description: What it checks.
        workspace: The cluster.
        assets: The connectors' assets, by the connectors' names.
        judge: Returns the outcome of each connector. An error of the worker that it raises becomes the outcome of
            all.
    """
    if not assets:
        return []
    keys = {connector: AssetCheckKey(asset, name) for connector, asset in assets.items()}
    specs = [AssetCheckSpec(name, asset=key.asset_key, description=description) for key in keys.values()]

    @dg.multi_asset_check(name=_op_name(name, workspace.cluster, list(assets)), specs=specs, can_subset=True)
    def connector_check(context: dg.AssetCheckExecutionContext) -> Iterator[AssetCheckResult]:
        chosen = {connector: key for connector, key in keys.items() if key in context.selected_asset_check_keys}
        try:
            with workspace.initialized() as ready:
                outcomes = judge(context, ready, chosen)
        except KafkaConnectError as error:
            outcomes = {connector: CheckOutcome(False, str(error)) for connector in chosen}
        for connector, key in chosen.items():
            yield outcomes.get(connector, _missing(workspace.cluster, connector)).result(key)

    return [connector_check]


def connector_assets(workspace: KafkaConnectWorkspace, connectors: Iterable[ConnectorAsset]) -> dict[str, AssetKey]:
    """Return the assets of connectors by name, without assets of anything else."""
    found: dict[str, AssetKey] = {}
    for connector in connectors:
        if isinstance(connector, str):
            found[connector] = connector_key(workspace.cluster, connector)
            continue
        for spec in [connector] if isinstance(connector, AssetSpec) else connector.specs:
            if name := KafkaConnectMetadataSet.extract(spec.metadata).connector:
                found[name] = spec.key
    return found


def by_snapshot(outcome: Callable[[ConnectorSnapshot, KafkaConnectWorkspace], CheckOutcome]) -> Judge:
    """Return a judge that asks for the outcome of each snapshot, with the workspace, its fields resolved."""
    return lambda context, ready, keys: {
        name: outcome(one, ready) for name, one in snapshots(context, ready, keys).items()
    }


def require_brokers(workspace: KafkaConnectWorkspace, what: str) -> None:
    """Refuse a workspace without brokers for the checks of something."""
    check_brokers(workspace, f"Checks of {what} ask the brokers")


def snapshots(
    context: dg.AssetCheckExecutionContext, workspace: KafkaConnectWorkspace, connectors: Iterable[str]
) -> dict[str, ConnectorSnapshot]:
    """Return snapshots of the connectors that exist. Raises KafkaConnectError.

    Args:
        context: Of the checks' run, for warnings.
        workspace: The cluster, its fields resolved.
        connectors: Names of connectors.
    """
    poll = ConnectorPoll(workspace)
    found = poll.connectors()
    taken = list(poll.snapshots([found[connector] for connector in connectors if connector in found]))
    for warning in poll.warnings:
        context.log.warning(warning)
    return {snapshot.connector.name: snapshot for snapshot in taken}


def _missing(cluster: str, connector: str) -> CheckOutcome:
    return CheckOutcome(False, f"The cluster '{cluster}' has no connector '{connector}'")


def _op_name(name: str, cluster: str, connectors: Sequence[str]) -> str:
    """Return a name that differs for other connectors: a code location may call a builder more than once."""
    whom = connectors[0] if len(connectors) == 1 else hashlib.sha256("\n".join(connectors).encode()).hexdigest()[:8]
    return f"kafka_connect_{identifier(cluster)}__{identifier(whom)}__{name}"
