"""The check ``mirror_failover_ready``: consumer groups of the source can go on in the target."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import dagster as dg
from dagster import AssetCheckKey, AssetCheckSeverity, MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.client.types import Connector
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    connector_assets,
    connector_checks,
    require_brokers,
)
from connect_dagster.orchestration.checks.mirror import BROKERS_TIMEOUT, of_brokers, other_source
from connect_dagster.orchestration.cluster import brokers_by_alias, check_sources
from connect_dagster.orchestration.observations.checkpoints import (
    Readiness,
    TranslatedOffset,
    fetch_translated_offsets,
    readiness,
    with_committed,
)
from connect_dagster.orchestration.observations.flow_filters import fetch_translated_groups, topic_choice
from connect_dagster.orchestration.observations.mirror import MIRROR_CHECKPOINT, is_mirror
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

MIRROR_FAILOVER_CHECK = "mirror_failover_ready"
MOST_ROWS = 50
MOST_NAMES = 5


def build_mirror_failover_checks(
    *,
    workspace: KafkaConnectWorkspace,
    connectors: Iterable[ConnectorAsset],
    max_age_seconds: float = 300.0,
    max_lag: int = 1000,
    groups: Sequence[str] = (),
    source: KafkaConnectWorkspace | None = None,
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``mirror_failover_ready`` of each checkpoint connector of MirrorMaker.

    It fails when a consumer group could not go on in the target as a user expects: it has no checkpoint, or an old one,
    or one of which the target does not have the record, or it would have to read more records than the bound. A
    checkpoint is emitted only when it has something new. With ``source`` that of a group that stands still is told from
    a late one, and groups of the connector's filter, or partitions, that have none yet are found; without it such a
    group counts as late, or is not known. While the source does not respond, groups are judged by their checkpoints
    alone: at best the outcome is a warning.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs the connectors, with ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        max_age_seconds (float): Bound for the age of a group's checkpoints. Defaults to 300.
        max_lag (int): The most records that a group may have to read, over all partitions. Defaults to 1000.
        groups (Sequence[str]): Ids of the groups that have to be ready. Defaults to those that the connector's filter
            chooses in the source; without ``source``, or with a custom filter, to all that have a checkpoint.
        source (Optional[KafkaConnectWorkspace]): The cluster that is mirrored, with ``kafka_cluster`` and
            ``bootstrap_servers``.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: One of the workspaces has no brokers, or the source has no alias.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_failover_checks

            america = KafkaConnectWorkspace(kafka_cluster="us", bootstrap_servers="127.0.0.1:9192")
            checks = build_mirror_failover_checks(
                workspace=america, connectors=["MirrorCheckpointConnector"], groups=["billing"]
            )
            defs = dg.Definitions(asset_checks=checks)
    """
    require_brokers(workspace, "checkpoints")
    mirrored = [source] if source else []
    check_sources(mirrored)

    def outcome(connector: Connector, target: Brokers, sources: Mapping[str, Brokers]) -> CheckOutcome:
        if not is_mirror(connector, MIRROR_CHECKPOINT):
            return CheckOutcome(False, "It is not MirrorMaker's checkpoint connector")
        names = MirrorNames.of(connector.info.config)
        source = sources.get(names.source)
        if sources and source is None:
            return other_source(names, sources)

        def compared() -> CheckOutcome:
            found, chosen, away = fetch_translated_offsets(target, names, BROKERS_TIMEOUT), groups or None, ""
            if source is not None:
                try:
                    with brokers_errors():
                        found, chosen = _beside_the_source(found, connector, groups, source, target)
                except BrokersError as error:
                    away = str(error)
            judged = readiness(found, chosen, now=time.time(), max_age=max_age_seconds, max_lag=max_lag)
            return by_checkpoints_alone(failover_outcome(judged), away) if away else failover_outcome(judged)

        return of_brokers(compared)

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        known, sources = ready.get_client().connectors(), brokers_by_alias(mirrored)
        if (target := ready.brokers) is None:
            return {}
        return {name: outcome(known[name], target, sources) for name in keys if name in known}

    return connector_checks(
        name=MIRROR_FAILOVER_CHECK,
        description=f"Groups have checkpoints of the last {max_age_seconds:g} s and at most {max_lag} records to read.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=judge,
    )


def _beside_the_source(
    offsets: Iterable[TranslatedOffset],
    connector: Connector,
    groups: Sequence[str],
    source: Brokers,
    target: Brokers,
) -> tuple[list[TranslatedOffset], Sequence[str] | None]:
    """Return translated offsets with those in the source, and the groups that have to be ready; None for all."""
    config = connector.info.config
    mirrored, chosen = topic_choice(config), groups or fetch_translated_groups(source, config, BROKERS_TIMEOUT)
    found = with_committed(
        offsets, MirrorNames.of(config), source, target, BROKERS_TIMEOUT, groups=chosen or (), mirrored=mirrored
    )
    if groups or chosen is None or mirrored is None:
        return found, chosen
    # The filter also chooses groups that only read what came from the target, which is not translated.
    with_offsets = {one.group for one in found}
    return found, [group for group in chosen if group in with_offsets]


def by_checkpoints_alone(outcome: CheckOutcome, why: str) -> CheckOutcome:
    """Return the outcome where the source cannot be asked: a warning when all groups are ready.

    Args:
        outcome: By the checkpoints.
        why: The error of the source's brokers.
    """
    severity = AssetCheckSeverity.WARN if outcome.passed else outcome.severity
    description = f"{outcome.description}, by the checkpoints alone, as the source cannot be asked: {why}"
    return replace(outcome, passed=False, description=description, severity=severity)


def failover_outcome(groups: Sequence[Readiness]) -> CheckOutcome:
    """Return the outcome for the readiness of groups."""
    waiting = [one for one in groups if not one.is_ready]
    ages = [one.age for one in groups if one.age is not None]
    metadata: dict[str, Any] = {
        "group_count": len(groups),
        "groups_not_ready": len(waiting),
        "records_lag_total": sum(one.lag for one in groups),
        "groups": MetadataValue.table(
            [
                TableRecord(
                    {"group": one.group, "ready": one.is_ready, "records": one.lag, "why": "; ".join(one.obstacles)}
                )
                for one in [*waiting, *(one for one in groups if one.is_ready)][:MOST_ROWS]
            ],
            schema=TableSchema(
                [TableColumn("group"), TableColumn("ready", "bool"), TableColumn("records", "int"), TableColumn("why")]
            ),
        ),
    } | ({"checkpoint_age_seconds": float(max(ages))} if ages else {})
    if not groups:
        return CheckOutcome(False, "The flow has no groups, or none has a checkpoint: is the filter right?", metadata)
    if not waiting:
        return CheckOutcome(True, f"All {len(groups)} groups can go on in the target", metadata)
    reasons = "; ".join(f"'{one.group}': {', '.join(one.obstacles)}" for one in waiting[:MOST_NAMES])
    return CheckOutcome(
        False, f"{len(waiting)} of {len(groups)} groups cannot go on in the target: {reasons}", metadata
    )
