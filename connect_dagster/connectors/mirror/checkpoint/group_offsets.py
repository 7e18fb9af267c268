"""Offsets of consumer groups on the target, for groups without members there.

Java: ``MirrorCheckpointTask.refreshIdleConsumerGroupOffset`` and ``syncGroupOffset`` (KIP-545). An offset is never set
back: a group that has read on the target keeps what it has read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Mapping

from confluent_kafka import KafkaError, KafkaException

from connect_dagster.connectors.mirror.clusters import ForwardingAdmin, GroupOffset
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

_FRESH_SECONDS = 10.0

Checkpoints = Mapping[TopicPartition, Checkpoint]
Offsets = Mapping[TopicPartition, GroupOffset]


class GroupOffsetSync:
    """Sets offsets of groups of the target to those of checkpoints.

    Only groups are touched of which the brokers have just said that they have no members: Java also tries it with
    those that have some, or that could not be described, and then sets back what they have read.

    Args:
        target: the cluster.
        groups: of the task.
        stopped: set at the end of the task, whose successor sets the offsets from then on.
    """

    def __init__(self, target: ForwardingAdmin, groups: Collection[str], stopped: threading.Event) -> None:
        self._target = target
        self._groups = groups
        self._idle: Mapping[str, Offsets] = {}
        self._in_use: set[str] = set()
        self._stopped = stopped
        self._looked_at = 0.0

    def look_for_idle(self) -> None:
        """Look for groups that have no members on the target, or do not exist there, and remember their offsets."""
        self._idle = {}
        idle, errors = self._target.idle_groups(self._groups)
        in_use = {*self._groups} - idle - errors.keys()
        for group in sorted(in_use - self._in_use):
            _warn_of_members(group)
        self._in_use = in_use
        self._idle, unknown = self._target.group_offsets(idle)
        texts: dict[str, list[str]] = {}
        for group, error in {**errors, **unknown}.items():
            texts.setdefault(error.args[0].str(), []).append(group)
        for text, groups in texts.items():
            log.error("Error querying for consumer groups %s on the target: %s", ", ".join(groups), text)
        # It may take longer than what it has found counts for.
        self._looked_at = time.monotonic()

    def sync(self, emitted: Mapping[str, Checkpoints]) -> None:
        """Set the offsets of groups that are idle, or do not exist on the target.

        Args:
            emitted: the last checkpoints of each group; another thread may add some meanwhile.
        """
        for group in list(self._idle):
            if time.monotonic() - self._looked_at > _FRESH_SECONDS:  # a group may have had members meanwhile
                self.look_for_idle()
            if self._stopped.is_set():
                return
            offsets = offsets_to_set(dict(emitted[group]), self._idle[group]) if group in self._idle else {}
            if offsets:
                self._set(group, offsets)
        self._idle = {}

    def _set(self, group: str, offsets: Offsets) -> None:
        try:
            self._target.alter_group_offsets(group, offsets)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_MEMBER_ID:
                _warn_of_members(group)
            else:
                log.error("Unable to sync offsets for consumer group %s: %s", group, error.args[0].str())


def offsets_to_set(checkpoints: Checkpoints, known: Offsets) -> dict[TopicPartition, GroupOffset]:
    """Return the offsets that a group without members gets on the target.

    Args:
        checkpoints: of the group, by partition of the target.
        known: its offsets on the target; none where it does not exist.
    """
    return {
        partition: GroupOffset(checkpoint.downstream_offset, checkpoint.metadata)
        for partition, checkpoint in checkpoints.items()
        if partition not in known or known[partition].offset < max(0, checkpoint.downstream_offset)
    }


def _warn_of_members(group: str) -> None:
    log.warning(
        "Unable to sync offsets for consumer group %s. This is likely caused by consumers currently using this group "
        "in the target cluster.",
        group,
    )
