"""Translates committed offsets of consumer groups, and emits them as checkpoints (Java: ``MirrorCheckpointTask``)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial

import pyarrow as pa
from confluent_kafka import KafkaException

from connect_dagster.connectors.mirror.assignment import assigned_groups
from connect_dagster.connectors.mirror.checkpoint.group_offsets import GroupOffsetSync
from connect_dagster.connectors.mirror.checkpoint.log_reader import LogReader
from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointTaskConfig
from connect_dagster.connectors.mirror.client_settings import (
    CHECKPOINT_SOURCE_ADMIN,
    CHECKPOINT_TARGET_ADMIN,
    CHECKPOINTS_CONSUMER,
)
from connect_dagster.connectors.mirror.clusters import GroupOffset
from connect_dagster.connectors.mirror.metrics import CheckpointMetrics
from connect_dagster.connectors.mirror.names import checkpoint_topic
from connect_dagster.connectors.mirror.offsets import NO_OFFSET, checkpoint_partition
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.records import Checkpoint, OffsetSync
from connect_dagster.connectors.mirror.scheduler import Scheduler
from connect_dagster.connectors.mirror.translation import CommittedOffset, OffsetSyncStore, checkpoints_to_emit
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.plugin.connector import Properties, SourceTask
from connect_dagster.plugin.frames import SourceTable
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import BYTES_SCHEMA
from connect_dagster.protocol.wire import MalformedBytes

log = logging.getLogger(__name__)

_POLL_SECONDS = 1.0
_RETRY_SECONDS = 30.0
_MILLISECOND = 1000

Emitted = dict[str, dict[TopicPartition, Checkpoint]]
"""The last checkpoint of each partition of the target, by group."""


class MirrorCheckpointTask(SourceTask):
    """Emit checkpoints of consumer groups, and set the groups' offsets on the target where that is asked for."""

    def start(self, config: Properties) -> None:
        """Begin to read the logs in the background: none is emitted until they are read.

        Raises:
            ConfigError: a class cannot be loaded, or a client refuses its settings.
        """
        self._config = parsed = MirrorCheckpointTaskConfig.parse(config)
        self._groups = assigned_groups(config)
        self._stopped = threading.Event()
        self._opened = opened = ExitStack()
        classes = FlowClasses(parsed, self.context.load_class)
        self._policy = classes.policy()
        self._filter = opened.enter_context(closing(classes.topic_filter()))
        self._source, self._target = (
            opened.enter_context(closing(classes.admin(parsed.client_settings(role))))
            for role in (CHECKPOINT_SOURCE_ADMIN, CHECKPOINT_TARGET_ADMIN)
        )
        self._topic = self._policy.checkpoints_topic(parsed.source_alias)
        self._seconds = parsed.emit_checkpoints_interval or 0
        self._due = time.monotonic() + self._seconds
        self._read: Emitted = {group: {} for group in self._groups}
        self._emitted: Emitted | None = None  # until they are read
        self._syncs: OffsetSyncStore | None = None
        syncs = parsed.offset_syncs
        self._checkpoint_log = opened.enter_context(
            closing(
                LogReader(
                    parsed.client_settings(CHECKPOINTS_CONSUMER),
                    self._topic,
                    self._take_checkpoint,
                    waits_for_topic=False,
                )
            )
        )
        self._sync_log = opened.enter_context(
            closing(
                LogReader(
                    parsed.client_settings(syncs.role(ClientKind.CONSUMER)),
                    self._policy.offset_syncs_topic(syncs.alias),
                    self._take_sync,
                )
            )
        )
        self._metrics = CheckpointMetrics(self.context.metrics, parsed.place)
        self._scheduler = opened.enter_context(
            closing(Scheduler(f"MirrorCheckpointTask: {parsed.label}", parsed.admin_timeout_seconds))
        )
        self._scheduler.run_soon(self._load, "starting checkpoint and offset sync stores")
        log.info("Checkpointing %d consumer groups %s: %s.", len(self._groups), parsed.flow, ", ".join(self._groups))

    def poll(self) -> SourceTable | None:
        """Return the checkpoints that say more than those before; waits for their time, a second at most."""
        left = self._due - time.monotonic()
        if left > 0 and (self._stopped.wait(min(left, _POLL_SECONDS)) or left > _POLL_SECONDS):
            return None
        self._due = time.monotonic() + self._seconds
        emitted, syncs = self._emitted, self._syncs
        if self._stopped.is_set() or emitted is None or syncs is None:
            return None
        try:
            return self._translated(emitted, syncs)
        except Exception:  # of a user's filter or policy, say: the next poll may succeed
            log.warning("Failure polling consumer state for checkpoints.", exc_info=True)
            return None

    def delivered(self, batch: SourceBatch) -> None:
        """Measure the checkpoints that the target has."""
        assert isinstance(batch, SourceTable)
        took = int(time.time() * _MILLISECOND) - batch.table.column("timestamp")[0].as_py()
        for place, _ in batch.offsets:
            self._metrics.delivered(place["group"], TopicPartition(place["topic"], place["partition"]), took)

    def stop(self) -> None:
        """End the background work, and close the clients."""
        if not hasattr(self, "_opened"):
            return
        self._stopped.set()
        for name in ("_checkpoint_log", "_sync_log"):
            if (reader := getattr(self, name, None)) is not None:
                reader.stop()
        self._opened.close()

    def _translated(self, emitted: Emitted, syncs: OffsetSyncStore) -> SourceTable | None:
        now = int(time.time() * _MILLISECOND)
        found = [
            one
            for group, offsets in self._committed().items()
            for one in self._checkpoints_of(group, offsets, emitted[group], syncs)
        ]
        if not found:
            return None
        table = _table(found, self._topic, now)
        for one in found:
            emitted[one.group][one.topic_partition] = one
        return table

    def _load(self) -> None:
        """Read the checkpoints, then the offset syncs, and go on reading those."""
        is_complete = self._has_read_checkpoints()
        if not is_complete:
            self._read = {group: {} for group in self._groups}
        self._emitted = emitted = self._read
        # Of syncs older than this task any may have been used, unless its checkpoints are known (KAFKA-15906).
        self._syncs = syncs = OffsetSyncStore(must_read_to_end=not is_complete)
        if not self._has_read_syncs():
            return
        syncs.finish_first_read()
        self._sync_log.follow()
        sync = GroupOffsetSync(self._target, self._groups, self._stopped)
        seconds = self._config.sync_group_offsets_interval
        self._scheduler.repeat(sync.look_for_idle, seconds, "refreshing idle consumers group offsets at target cluster")
        self._scheduler.repeat(
            lambda: sync.sync(emitted), seconds, "sync idle consumer group offset from source to target", delayed=True
        )

    def _has_read_checkpoints(self) -> bool:
        """Read the last checkpoints of the groups, and return whether all could be read."""
        try:
            return self._checkpoint_log.read_to_end()
        except KafkaException as error:
            log.warning(
                "Cannot read checkpoints topic %s - this may degrade offset translation as only checkpoints for "
                "offsets which were mirrored after the task started will be emitted: %s",
                self._topic,
                error.args[0].str(),
            )
            return False
        finally:
            self._checkpoint_log.close()

    def _has_read_syncs(self) -> bool:
        """Read the offset syncs as soon as the brokers allow it; return whether it was before the end of the task."""
        while not self._stopped.is_set():
            try:
                return self._sync_log.read_to_end()
            except KafkaException as error:
                log.error("Offset syncs cannot be read now, will retry: %s", error.args[0].str())
                self._stopped.wait(_RETRY_SECONDS)
        return False

    def _take_checkpoint(self, key: bytes | None, value: bytes | None) -> None:
        try:
            checkpoint = Checkpoint.decode(key, value)
        except MalformedBytes as error:
            log.warning("Ignored invalid checkpoint record: %s", error)
            return
        if checkpoint is not None and checkpoint.group in self._read:
            self._read[checkpoint.group][checkpoint.topic_partition] = checkpoint

    def _take_sync(self, key: bytes | None, value: bytes | None) -> None:
        try:
            sync = OffsetSync.decode(key, value)
        except MalformedBytes as error:
            log.warning("Ignored invalid offset sync record: %s", error)
            return
        if sync is not None and self._syncs is not None:
            self._syncs.apply(sync)

    def _committed(self) -> dict[str, dict[TopicPartition, GroupOffset]]:
        """Return the offsets of groups in the source, without groups whose offsets are not known now."""
        offsets, errors = self._source.group_offsets(self._groups)
        by_text: dict[str, list[str]] = {}
        for group, error in errors.items():
            by_text.setdefault(error.args[0].str(), []).append(group)
        for text, groups in by_text.items():
            names, alias = ", ".join(sorted(groups)), self._config.source_alias
            log.error("Error querying offsets for consumer group %s on cluster %s: %s", names, alias, text)
        return offsets

    def _checkpoints_of(
        self,
        group: str,
        offsets: Mapping[TopicPartition, GroupOffset],
        emitted: Mapping[TopicPartition, Checkpoint],
        syncs: OffsetSyncStore,
    ) -> Sequence[Checkpoint]:
        accepted = set(self._filter.accepted(dict.fromkeys(one.topic for one in offsets)))
        committed = {
            one: CommittedOffset(offset.offset, offset.metadata) if offset.offset >= 0 else None
            for one, offset in offsets.items()
            if one.topic in accepted
        }
        flow = self._config.flow
        rename = partial(checkpoint_topic, self._policy, source_alias=flow.source, target_alias=flow.target)
        return checkpoints_to_emit(group, committed, store=syncs, rename=rename, emitted=emitted)


def _table(checkpoints: Sequence[Checkpoint], topic: str, timestamp: int) -> SourceTable:
    table = pa.table(
        {
            "key": pa.array([one.key for one in checkpoints], pa.binary()),
            "value": pa.array([one.value for one in checkpoints], pa.binary()),
            "partition": pa.array([0] * len(checkpoints), pa.int32()),
            "timestamp": pa.array([timestamp] * len(checkpoints), pa.int64()),
        }
    )
    first, *others = ((checkpoint_partition(one), NO_OFFSET) for one in checkpoints)
    return SourceTable(table, *first, tuple(others), topic, value_schema=BYTES_SCHEMA, key_schema=BYTES_SCHEMA)
