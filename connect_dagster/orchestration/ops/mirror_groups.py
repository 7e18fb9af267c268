"""The job ``mirror_sync_groups``: gives consumer groups their translated offsets in the target, once.

It is for flows without ``sync.group.offsets.enabled``, and for the moment before a failover.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dagster as dg
from confluent_kafka import KafkaError, KafkaException
from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.orchestration.cluster import check_brokers
from connect_dagster.orchestration.failures import reasons
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset, by_group
from connect_dagster.orchestration.ops.jobs import single_op_job
from connect_dagster.orchestration.ops.mirror import (
    MOST_ROWS,
    READS_CHECKPOINTS,
    GroupsConfig,
    fetch_flow_offsets,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace

if TYPE_CHECKING:
    from connect_dagster.connectors.mirror.clusters import ForwardingAdmin

SYNC_GROUPS_JOB = "mirror_sync_groups"
HAS_MEMBERS = "it has members in the target"


@dataclass(frozen=True, slots=True)
class GroupChange:
    """The offsets of one group in the target.

    Attributes:
        group: Its id.
        offsets: Those that were set, by topic and partition in the target.
        refusal: Reason of the brokers against them; empty when they are set.
    """

    group: str
    offsets: Mapping[tuple[str, int], int]
    refusal: str = ""


def build_mirror_sync_groups_job(
    *, workspace: KafkaConnectWorkspace, connectors: Sequence[str] = (), name: str = SYNC_GROUPS_JOB
) -> dg.JobDefinition:
    """Create the job ``mirror_sync_groups``.

    It reads the checkpoints of the flows of a Connect cluster, and sets the offsets of consumer groups in the target to
    the translated ones, as MirrorMaker does with ``sync.group.offsets.enabled``: of groups without members there, and
    never back, so that a group that has read in the target keeps what it has read. Groups with members are reported and
    left as they are, as are partitions of which the target does not have the record of the translation. The run fails,
    after it has set the offsets of all other groups, when the brokers refuse a group for another reason.

    Args:
        workspace (KafkaConnectWorkspace): The Connect cluster that runs MirrorMaker's checkpoint connectors, with
            ``bootstrap_servers``.
        connectors (Sequence[str]): Names of the checkpoint connectors whose groups are set. Defaults to all of the
            cluster.
        name (str): The job's name. Defaults to ``mirror_sync_groups``.

    Returns:
        JobDefinition: The job.

    Raises:
        DagsterInvalidDefinitionError: The workspace has no brokers.

    Examples:
        .. code-block:: python

            import dagster as dg
            from connect_dagster.orchestration import KafkaConnectWorkspace, build_mirror_sync_groups_job

            america = KafkaConnectWorkspace(kafka_cluster="us", bootstrap_servers="127.0.0.1:9192")
            defs = dg.Definitions(jobs=[build_mirror_sync_groups_job(workspace=america)])
    """
    check_brokers(workspace, READS_CHECKPOINTS)

    @dg.op(name=f"{name}_op")
    def mirror_sync_groups_op(
        context: dg.OpExecutionContext, config: GroupsConfig, kafka_connect: KafkaConnectWorkspace
    ) -> None:
        """Sets the offsets of consumer groups in the target to the translated ones."""
        found = fetch_flow_offsets(
            kafka_connect, config.groups, config.timeout, context.log.warning, connectors=connectors
        )
        chosen = [
            one for offsets in found.values() for one in offsets if not config.groups or one.group in config.groups
        ]
        try:
            with brokers_errors():
                changes = set_translated_offsets(_target(kafka_connect, config.timeout), chosen)
        except BrokersError as error:
            raise dg.Failure(f"The offsets of groups cannot be read or set: {error}") from error
        lacking = sum(one.bounds is None for one in chosen)
        outside = sum(one.is_beyond or one.is_deleted for one in chosen)
        metadata = {**changes_metadata(changes), "partitions_missing": lacking, "partitions_out_of_range": outside}
        if lacking:
            context.log.warning(f"The target does not have {lacking} partitions of which there are checkpoints")
        if outside:
            context.log.warning(
                f"{outside} checkpoints are before the first record of their partition, or beyond its end"
            )
        in_use = {one.group: one.refusal for one in changes if one.refusal == HAS_MEMBERS}
        if in_use:
            context.log.warning(f"Groups that keep the offsets that they have: {reasons(in_use)}")
        if refused := {one.group: one.refusal for one in changes if one.refusal and one.group not in in_use}:
            raise dg.Failure(
                f"The brokers refuse the offsets of {len(refused)} of {len(changes)} groups: {reasons(refused)}",
                metadata=metadata,
            )
        context.add_output_metadata(metadata)

    description = "Sets the offsets of consumer groups in the target to the translated ones, once."
    return single_op_job(name, mirror_sync_groups_op, GroupsConfig(), workspace, description=description)


def set_translated_offsets(target: "ForwardingAdmin", offsets: Iterable[TranslatedOffset]) -> list[GroupChange]:
    """Set offsets of groups in the target, where they have no members; return what became of each group.

    Args:
        target: The cluster.
        offsets: Translated offsets. Those of which the target lacks the partition or the record are left out.

    Raises:
        KafkaException: The brokers do not respond in time, or refuse to describe any of the groups.
    """
    # In runs only: definitions load no connector's code.
    from connect_dagster.connectors.mirror.checkpoint.group_offsets import offsets_to_set
    from connect_dagster.connectors.mirror.records import Checkpoint
    from connect_dagster.plugin.records import TopicPartition

    groups = by_group(one for one in offsets if one.bounds is not None and not (one.is_beyond or one.is_deleted))
    idle, undescribed = target.idle_groups(list(groups))
    known, unknown = target.group_offsets(idle)
    errors = {**undescribed, **unknown}
    if errors and errors.keys() == groups.keys():
        raise next(iter(errors.values()))
    changes = []
    for group, found in groups.items():
        if group not in known:
            refusal = _refusal(errors[group].args[0]) if group in errors else HAS_MEMBERS
            changes.append(GroupChange(group, {}, refusal))
            continue
        checkpoints = {
            (place := TopicPartition(one.topic, one.partition)): Checkpoint(
                group, place, one.upstream, one.downstream, one.metadata
            )
            for one in found
            if one.upstream is not None and one.downstream is not None
        }
        wanted = offsets_to_set(checkpoints, known[group])
        refusal = ""
        if wanted:
            try:
                target.alter_group_offsets(group, wanted)
            except KafkaException as error:
                refusal = _refusal(error.args[0])
        by_place = {(place.topic, place.partition): offset.offset for place, offset in wanted.items()}
        changes.append(GroupChange(group, {} if refusal else by_place, refusal))
    return changes


def changes_metadata(changes: Sequence[GroupChange]) -> dict[str, Any]:
    """Return numbers of groups, and the offsets as a table."""
    rows = [
        TableRecord({"group": one.group, "topic": topic, "partition": partition, "offset": offset})
        for one in changes
        for (topic, partition), offset in sorted(one.offsets.items())
    ]
    columns = [
        TableColumn("group"),
        TableColumn("topic"),
        TableColumn("partition", "int"),
        TableColumn("offset", "int"),
    ]
    return {
        "group_count": len(changes),
        "groups_set": sum(1 for one in changes if one.offsets),
        "groups_refused": sum(1 for one in changes if one.refusal),
        "offsets_set": len(rows),
        "offsets": MetadataValue.table(rows[:MOST_ROWS], schema=TableSchema(columns)),
    }


def _refusal(error: KafkaError) -> str:
    return HAS_MEMBERS if error.code() == KafkaError.UNKNOWN_MEMBER_ID else error.str()


def _target(workspace: KafkaConnectWorkspace, seconds: float) -> "ForwardingAdmin":
    from connect_dagster.connectors.mirror.clusters import ForwardingAdmin

    brokers = workspace.brokers
    assert brokers is not None  # no job is made without
    return ForwardingAdmin.of(brokers, seconds)
