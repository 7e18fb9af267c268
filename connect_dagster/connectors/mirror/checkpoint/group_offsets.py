"""Offsets of consumer groups on the target, for groups without members there.

Java: ``MirrorCheckpointTask.refreshIdleConsumerGroupOffset`` and ``syncGroupOffset`` (KIP-545). An offset is never set
back: a group that has read on the target keeps what it has read.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from confluent_kafka import KafkaError, KafkaException

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin, GroupOffset
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

Checkpoints = Mapping[TopicPartition, Checkpoint]
Offsets = Mapping[TopicPartition, GroupOffset]


class GroupOffsetSync:
    """Sets offsets of groups of the target to those of checkpoints.

    Args:
        target: the cluster.
        groups: of the task.
    """

    def __init__(self, target: ForwardingAdmin, groups: Collection[str]) -> None:
        self._target = target
        self._groups = groups
        self._idle: dict[str, Offsets] = {}

    def look_for_idle(self) -> None:
        """Look for groups that exist on the target and have no members, and remember their offsets."""
        empty = self._target.empty_groups(self._groups)
        self._idle.update(self._target.group_offsets(empty))

    def sync(self, emitted: Mapping[str, Checkpoints]) -> None:
        """Set the offsets of groups that are idle, or do not exist on the target.

        Args:
            emitted: the last checkpoints of each group.
        """
        for group, checkpoints in emitted.items():
            offsets = offsets_to_set(checkpoints, self._idle.get(group))
            if offsets:
                self._set(group, offsets)
        self._idle.clear()

    def _set(self, group: str, offsets: Offsets) -> None:
        try:
            self._target.alter_group_offsets(group, offsets)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID:
                log.warning(
                    "Unable to sync offsets for consumer group %s. This is likely caused by consumers currently using "
                    "this group in the target cluster.",
                    group,
                )
            else:
                log.error("Unable to sync offsets for consumer group %s: %s", group, error.args[0].str())


def offsets_to_set(checkpoints: Checkpoints, idle: Offsets | None) -> dict[TopicPartition, GroupOffset]:
    """Return the offsets that a group gets on the target.

    Args:
        checkpoints: of the group, by partition of the target.
        idle: its offsets on the target, where it is known to be idle; ``None`` for a group that may not exist there, of
            which the brokers refuse a change if it has members.
    """
    found = {}
    for partition, checkpoint in checkpoints.items():
        known = None if idle is None else idle.get(partition)
        if known is None or known.offset < 0 or known.offset < checkpoint.downstream_offset:
            found[partition] = GroupOffset(checkpoint.downstream_offset, checkpoint.metadata)
    return found
