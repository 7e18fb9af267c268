"""The check ``mirror_matches``: records of the source are in the target as they were sent."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg
from dagster import AssetCheckKey, AssetCheckSeverity, MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.kafka.access import Brokers
from connect_dagster.orchestration.checks.connector_checks import (
    CheckOutcome,
    ConnectorAsset,
    connector_assets,
    connector_checks,
    require_brokers,
    snapshots,
)
from connect_dagster.orchestration.checks.mirror import (
    BROKERS_TIMEOUT,
    MOST_ROWS,
    NO_MIRROR,
    mirrored_topics,
    of_brokers,
    other_source,
    topic_settings,
)
from connect_dagster.orchestration.cluster import brokers_by_alias, check_sources
from connect_dagster.orchestration.failures import listed
from connect_dagster.orchestration.observations.mirrored_records import (
    ComparedRecord,
    Distances,
    distances,
    fetch_compared,
    fetch_missing,
    fetch_offset_syncs,
    sample,
    shrunk,
)
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import Partition
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

if TYPE_CHECKING:
    from connect_dagster.connectors.mirror.clusters import TopicSetting

MIRROR_MATCHES_CHECK = "mirror_matches"
MOST_COUNTED = 10_000


def build_mirror_matches_checks(
    *,
    workspace: KafkaConnectWorkspace,
    source: KafkaConnectWorkspace,
    connectors: Iterable[ConnectorAsset],
    sample_size: int = 100,
) -> Sequence[dg.AssetChecksDefinition]:
    """Create the check ``mirror_matches`` of each source connector of MirrorMaker.

    It reads a sample of records in both clusters by the offset syncs of the flow, and fails when a key, a value or the
    headers differ, or the target lacks the record. Where it has fewer offsets between two syncs than the source, the
    records of the source are counted, and more of them are a failure. Records that are missing while others were
    written twice, or by another producer, are not found. Records that one of the clusters has deleted meanwhile are
    left out. It is for connectors without transforms.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs the connectors, with ``bootstrap_servers``.
        source (KafkaConnectWorkspace): The cluster that is mirrored, with ``kafka_cluster`` and ``bootstrap_servers``.
        connectors (Iterable[str | AssetSpec | AssetsDefinition]): The connectors by name, or as assets.
        sample_size (int): Most records to compare. Defaults to 100.

    Returns:
        Sequence[AssetChecksDefinition]: The checks.

    Raises:
        DagsterInvalidDefinitionError: One of the workspaces has no brokers, the source has no alias, or the sample no
            record.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_matches_checks

            europe = KafkaConnectWorkspace(kafka_cluster="eu", bootstrap_servers="127.0.0.1:9092")
            america = KafkaConnectWorkspace(kafka_cluster="us", bootstrap_servers="127.0.0.1:9192")
            checks = build_mirror_matches_checks(
                workspace=america, source=europe, connectors=["MirrorSourceConnector"]
            )
            defs = dg.Definitions(asset_checks=checks)
    """
    if sample_size < 1:
        raise dg.DagsterInvalidDefinitionError(f"sample_size is at least 1, not {sample_size}")
    require_brokers(workspace, "mirrored records")
    check_sources([source])

    def judge(
        context: dg.AssetCheckExecutionContext, ready: KafkaConnectWorkspace, keys: Mapping[str, AssetCheckKey]
    ) -> Mapping[str, CheckOutcome]:
        taken, sources = snapshots(context, ready, keys), brokers_by_alias([source])
        return {name: _outcome(one, sources, ready.brokers, sample_size) for name, one in taken.items()}

    return connector_checks(
        name=MIRROR_MATCHES_CHECK,
        description=f"At most {sample_size} records are in the target as they are in the source.",
        workspace=workspace,
        assets=connector_assets(workspace, connectors),
        judge=judge,
    )


def _outcome(
    snapshot: ConnectorSnapshot, sources: Mapping[str, Brokers], target: Brokers | None, size: int
) -> CheckOutcome:
    if snapshot.mirror is None or target is None:
        return NO_MIRROR
    names = snapshot.mirror.names
    if (source := sources.get(names.source)) is None:
        return other_source(names, sources)
    remote = dict(mirrored_topics(snapshot.lineage))

    def compared() -> CheckOutcome:
        syncs = fetch_offset_syncs(names, source, target, BROKERS_TIMEOUT)
        own = {place: pairs for place, pairs in syncs.items() if place[0] in remote}
        settings = topic_settings(target, [remote[topic] for topic in {topic for topic, _ in own}])
        compacted = {topic for topic, known in settings.items() if any(map(_compacts, known))}
        found = fetch_compared(source, target, sample(own, size), remote, compacted, BROKERS_TIMEOUT)
        missing = fetch_missing(source, shrunk(own, MOST_COUNTED), BROKERS_TIMEOUT)
        return matches_outcome(found, distances(own), missing)

    return of_brokers(compared)


def _compacts(setting: "TopicSetting") -> bool:
    return setting.name == "cleanup.policy" and "compact" in (setting.value or "")


def matches_outcome(
    records: Sequence[ComparedRecord], between: Distances, missing: Mapping[Partition, int]
) -> CheckOutcome:
    """Return the outcome for records that were looked for in both clusters.

    Args:
        records: The records.
        between: Offsets between the oldest and the newest known sync.
        missing: Records of partitions that the target lacks between two syncs, where there are any.
    """
    there = [one for one in records if one.difference is not None]
    different = [one for one in there if one.difference]
    metadata: dict[str, Any] = {
        "records_compared": len(there),
        "records_different": len(different),
        "records_gone": len(records) - len(there),
        "records_missing": sum(missing.values()),
        "offsets_between_syncs_source": between.upstream,
        "offsets_between_syncs_target": between.downstream,
    }
    if different:
        columns = [TableColumn("topic"), TableColumn("partition", "int"), TableColumn("source_offset", "int")]
        columns += [TableColumn("target_offset", "int"), TableColumn("difference")]
        metadata["different_records"] = MetadataValue.table(
            [_row(one) for one in different[:MOST_ROWS]], schema=TableSchema(columns)
        )
        first = different[0]
        return CheckOutcome(
            False,
            f"{len(different)} of {len(there)} records differ, the first one {first.partition[0]}-{first.partition[1]} "
            f"at offset {first.upstream} and {first.downstream} in the target: {', '.join(first.difference or ())}",
            metadata,
        )
    if missing:
        where = listed([f"{topic}-{number}" for topic, number in missing])
        message = f"{sum(missing.values())} records between two offset syncs are not in the target, of {where}"
        return CheckOutcome(False, message, metadata)
    if not there:
        message = "No record can be compared: its topics have no offset syncs, or their records are deleted"
        return CheckOutcome(False, message, metadata, AssetCheckSeverity.WARN)
    return CheckOutcome(True, f"{len(there)} records are equal in both clusters", metadata)


def _row(one: ComparedRecord) -> TableRecord:
    return TableRecord(
        {
            "topic": one.partition[0],
            "partition": one.partition[1],
            "source_offset": one.upstream,
            "target_offset": one.downstream,
            "difference": ", ".join(one.difference or ()),
        }
    )
