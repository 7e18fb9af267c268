"""The job ``mirror_failover_report``: where consumer groups of the source would go on in the target."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import dagster as dg
from dagster import MetadataValue, TableColumn, TableRecord, TableSchema
from pydantic import Field

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.client.types import Connector
from connect_dagster.kafka.errors import BrokersError, MissingTopicError, brokers_errors
from connect_dagster.orchestration.cluster import brokers_by_alias, check_brokers, check_sources
from connect_dagster.orchestration.failures import listed, one_sentence
from connect_dagster.orchestration.observations.checkpoints import (
    TranslatedOffset,
    by_group,
    fetch_translated_offsets,
    with_committed,
)
from connect_dagster.orchestration.observations.flow_filters import topic_choice
from connect_dagster.orchestration.observations.mirror import MIRROR_CHECKPOINT, is_mirror
from connect_dagster.orchestration.ops.jobs import single_op_job
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

FAILOVER_JOB = "mirror_failover_report"
READS_CHECKPOINTS = "The job reads checkpoints"
MOST_ROWS = 1000


class GroupsConfig(dg.Config):
    """Options of the report, and of the job that sets offsets."""

    groups: list[str] = Field(default=[], description="Ids of consumer groups; all that have a checkpoint by default.")
    timeout: float = Field(
        default=30.0, gt=0, description="Longest time without a response of the brokers, in seconds."
    )


def build_mirror_failover_job(
    *,
    workspace: KafkaConnectWorkspace,
    source: KafkaConnectWorkspace | None = None,
    connectors: Sequence[str] = (),
    name: str = FAILOVER_JOB,
) -> dg.JobDefinition:
    """Create the job ``mirror_failover_report``, which changes nothing.

    It reads the checkpoints of the flows of a Connect cluster, and reports the translated offsets of consumer groups as
    a table for each flow: the offset in the source, its translation, the records to read from there, and the age of the
    checkpoint. With ``source`` the offset that the group has in the source now stands beside it, and partitions that a
    group consumes there without a checkpoint have a row; while the source is away, the report is made without these.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs MirrorMaker's checkpoint connectors, with
            ``bootstrap_servers``.
        source (Optional[KafkaConnectWorkspace]): The cluster that is mirrored, with ``kafka_cluster`` and
            ``bootstrap_servers``.
        connectors (Sequence[str]): Names of the checkpoint connectors whose flows are reported. Defaults to all of the
            cluster.
        name (str): The job's name. Defaults to ``mirror_failover_report``.

    Returns:
        JobDefinition: The job.

    Raises:
        DagsterInvalidDefinitionError: One of the workspaces has no brokers, or the source has no alias.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_failover_job

            america = KafkaConnectWorkspace(kafka_cluster="us", bootstrap_servers="127.0.0.1:9192")
            defs = dg.Definitions(jobs=[build_mirror_failover_job(workspace=america)])
    """
    check_brokers(workspace, READS_CHECKPOINTS)
    mirrored = [source] if source else []
    check_sources(mirrored)

    @dg.op(name=f"{name}_op")
    def mirror_failover_report_op(
        context: dg.OpExecutionContext, config: GroupsConfig, kafka_connect: KafkaConnectWorkspace
    ) -> None:
        """Reports the translated offsets of consumer groups, by flow."""
        found = fetch_flow_offsets(
            kafka_connect, config.groups, config.timeout, context.log.warning, connectors=connectors, sources=mirrored
        )
        context.add_output_metadata(report_metadata(found, config.groups, time.time()))

    description = "Reports where consumer groups of the source would go on in the target; changes nothing."
    return single_op_job(name, mirror_failover_report_op, GroupsConfig(), workspace, description=description)


def fetch_flow_offsets(
    workspace: KafkaConnectWorkspace,
    groups: Sequence[str],
    timeout: float,
    warn: Callable[[str], None],
    *,
    connectors: Collection[str] = (),
    sources: Iterable[KafkaConnectWorkspace] = (),
) -> dict[str, list[TranslatedOffset]]:
    """Return the translated offsets of flows with a checkpoint connector on a cluster.

    A flow that has no topic of checkpoints yet, and a source that does not respond, are warnings: the report is for the
    time when the source is lost.

    Args:
        workspace: The cluster, its fields resolved.
        groups: Ids of groups that must have a checkpoint.
        timeout: Longest time without a response of the brokers, in seconds.
        warn: Gets the warnings.
        connectors: Names of the checkpoint connectors; all of the cluster when empty.
        sources: Workspaces of mirrored clusters, for the offsets that the groups have there.

    Raises:
        Failure: The cluster has no such connector, brokers of the target do not respond, no flow has a topic of
            checkpoints, or a group has no checkpoint.
    """
    with one_sentence():
        flows = checkpoint_flows(workspace.get_client().connectors().values(), connectors)
        brokers = brokers_by_alias(sources)
    if not flows:
        among = f" among {listed(connectors)}" if connectors else ""
        raise dg.Failure(f"The cluster '{workspace.cluster}' has no checkpoint connector of MirrorMaker{among}.")
    target = workspace.brokers
    assert target is not None  # no job is made without
    found: dict[str, list[TranslatedOffset]] = {}
    missing: list[str] = []
    for names, config in flows.items():
        try:
            with brokers_errors():
                offsets = fetch_translated_offsets(target, names, timeout)
        except MissingTopicError as error:
            offsets = []
            missing.append(f"The checkpoints of {names.flow} cannot be read: {error}")
        except BrokersError as error:
            raise dg.Failure(f"The checkpoints of {names.flow} cannot be read: {error}") from error
        source = brokers.get(names.source)
        if source is not None and offsets:
            try:
                with brokers_errors():
                    offsets = with_committed(
                        offsets, names, source, target, timeout, groups=groups, mirrored=topic_choice(config)
                    )
            except BrokersError as error:
                warn(f"The offsets that groups have in '{names.source}' now are not known: {error}")
        found[names.flow] = offsets
    if len(missing) == len(flows):
        raise dg.Failure(" ".join(missing))
    for one in missing:
        warn(one)
    _require_groups(groups, found)
    return found


def checkpoint_flows(
    connectors: Iterable[Connector], chosen: Collection[str] = ()
) -> dict[MirrorNames, Mapping[str, str | None]]:
    """Return the flows with a checkpoint connector, each once, in order, with the connector's configuration.

    Args:
        connectors: All connectors of a cluster.
        chosen: Names of those that count; all when empty.
    """
    of_groups = (one for one in connectors if is_mirror(one, MIRROR_CHECKPOINT))
    configs = (one.info.config for one in of_groups if not chosen or one.name in chosen)
    flows = ((MirrorNames.of(config), config) for config in configs)
    by_topic = {names.checkpoints: (names, config) for names, config in flows}
    return dict(sorted(by_topic.values(), key=lambda flow: flow[0].flow))


def report_metadata(
    offsets: Mapping[str, Sequence[TranslatedOffset]], groups: Sequence[str], now: float
) -> dict[str, Any]:
    """Return the report.

    Args:
        offsets: Translated offsets by flow.
        groups: Ids of the groups to report; all when empty.
        now: Epoch seconds.
    """
    chosen = {
        flow: [one for group, own in by_group(found).items() if not groups or group in groups for one in own]
        for flow, found in offsets.items()
    }
    every = [one for found in chosen.values() for one in found]
    metadata: dict[str, Any] = {
        "group_count": len({(flow, one.group) for flow, found in chosen.items() for one in found}),
        "partition_count": len(every),
        "records_lag_total": sum(one.lag or 0 for one in every),
    }
    for flow, found in chosen.items():
        metadata[flow] = MetadataValue.table([_row(one, now) for one in found[:MOST_ROWS]], schema=_COLUMNS)
        if len(found) > MOST_ROWS:
            metadata[f"{flow} more"] = len(found) - MOST_ROWS
    return metadata


_COLUMNS = TableSchema(
    [
        TableColumn("group"),
        TableColumn("topic", description="In the target."),
        TableColumn("partition", "int"),
        TableColumn("upstream", "int", "Offset in the source that was translated; none without a checkpoint."),
        TableColumn("committed", "int", "Offset in the source now, where it is known."),
        TableColumn("downstream", "int", "Where the group goes on in the target; none without a checkpoint."),
        TableColumn("end", "int", "End of the partition in the target; none when it does not exist."),
        TableColumn("records", "int", "Records to read from there."),
        TableColumn("age_seconds", "float", "Since the checkpoint was emitted."),
    ]
)


def _row(one: TranslatedOffset, now: float) -> TableRecord:
    return TableRecord(
        {
            "group": one.group,
            "topic": one.topic,
            "partition": one.partition,
            "upstream": one.upstream,
            "committed": one.committed,
            "downstream": one.downstream,
            "end": None if one.bounds is None else one.bounds.end,
            "records": one.lag,
            "age_seconds": None if (age := one.age(now)) is None else round(age, 1),
        }
    )


def _require_groups(groups: Sequence[str], offsets: Mapping[str, Iterable[TranslatedOffset]]) -> None:
    known = {one.group for found in offsets.values() for one in found if one.has_checkpoint}
    if missing := [group for group in groups if group not in known]:
        named = ", ".join(f"'{group}'" for group in missing)
        raise dg.Failure(f"No flow has a checkpoint of {named}. There are those of: {listed(known)}.")
