"""Translates committed offsets of consumer groups, and emits them as checkpoints (Java: ``MirrorCheckpointTask``)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException

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
# Errors of a single group, which are not a reason to leave the others untranslated.
_OF_ONE_GROUP = (KafkaError.GROUP_AUTHORIZATION_FAILED, KafkaError.INVALID_GROUP_ID, KafkaError.GROUP_ID_NOT_FOUND)
_MILLISECOND = 1000


class MirrorCheckpointTask(SourceTask):
    """Emit checkpoints of consumer groups, and set the groups' offsets on the target where that is asked for."""

    def start(self, config: Properties) -> None:
        """Begin to read the logs in the background: none is emitted until they are read."""
        self._config = parsed = MirrorCheckpointTaskConfig.parse(config)
        self._groups = assigned_groups(config)
        classes = FlowClasses(parsed, self.context.load_class)
        self._policy = classes.policy()
        self._filter = classes.topic_filter()
        self._source, self._target = (
            classes.admin(parsed.client_settings(role)) for role in (CHECKPOINT_SOURCE_ADMIN, CHECKPOINT_TARGET_ADMIN)
        )
        self._topic = self._policy.checkpoints_topic(parsed.source_alias)
        self._seconds = parsed.emit_checkpoints_interval or 0
        self._due = time.monotonic() + self._seconds
        self._stopped = threading.Event()
        self._emitted: dict[str, dict[TopicPartition, Checkpoint]] | None = None  # None until they are read
        self._syncs: OffsetSyncStore | None = None
        self._readers: list[LogReader] = []
        self._metrics = CheckpointMetrics(self.context.metrics, parsed.place)
        self._scheduler = Scheduler(f"MirrorCheckpointTask: {parsed.label}", parsed.admin_timeout_seconds)
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
        if not hasattr(self, "_scheduler"):
            return
        self._stopped.set()
        for reader in self._readers:
            reader.stop()
        self._scheduler.close()
        for reader in self._readers:
            reader.close()
        self._filter.close()

    def _translated(
        self, emitted: dict[str, dict[TopicPartition, Checkpoint]], syncs: OffsetSyncStore
    ) -> SourceTable | None:
        now = int(time.time() * _MILLISECOND)
        found = [
            one
            for group, offsets in self._committed(self._groups).items()
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
        emitted, is_complete = self._read_checkpoints()
        self._emitted = emitted
        # Of syncs older than this task any may have been used, unless its checkpoints are known (KAFKA-15906).
        self._syncs = syncs = OffsetSyncStore(must_read_to_end=not is_complete)
        topic = self._config.offset_syncs
        reader = self._reader(
            LogReader(
                self._config.client_settings(topic.role(ClientKind.CONSUMER)),
                self._policy.offset_syncs_topic(topic.alias),
                partial(_apply, syncs),
            )
        )
        if not reader.read_to_end():
            return
        syncs.finish_first_read()
        reader.follow()
        sync = GroupOffsetSync(self._target, self._groups)
        seconds = self._config.sync_group_offsets_interval
        self._scheduler.repeat(sync.look_for_idle, seconds, "refreshing idle consumers group offsets at target cluster")
        self._scheduler.repeat(
            lambda: sync.sync(emitted), seconds, "sync idle consumer group offset from source to target", delayed=True
        )

    def _read_checkpoints(self) -> tuple[dict[str, dict[TopicPartition, Checkpoint]], bool]:
        """Return the last checkpoints of the groups, and whether all could be read."""
        emitted: dict[str, dict[TopicPartition, Checkpoint]] = {group: {} for group in self._groups}

        def take(key: bytes | None, value: bytes | None) -> None:
            try:
                checkpoint = Checkpoint.decode(key, value)
            except MalformedBytes as error:
                log.warning("Ignored invalid checkpoint record: %s", error)
                return
            if checkpoint is not None and checkpoint.group in emitted:
                emitted[checkpoint.group][checkpoint.topic_partition] = checkpoint

        settings = self._config.client_settings(CHECKPOINTS_CONSUMER)
        reader = self._reader(LogReader(settings, self._topic, take, waits_for_topic=False))
        try:
            return emitted, reader.read_to_end()
        except KafkaException as error:
            log.warning(
                "Cannot read checkpoints topic %s - this may degrade offset translation as only checkpoints for "
                "offsets which were mirrored after the task started will be emitted: %s",
                self._topic,
                error.args[0].str(),
            )
            return {group: {} for group in self._groups}, False
        finally:
            reader.close()

    def _reader(self, reader: LogReader) -> LogReader:
        self._readers.append(reader)
        if self._stopped.is_set():
            reader.stop()
        return reader

    def _committed(self, groups: Sequence[str]) -> dict[str, dict[TopicPartition, GroupOffset]]:
        """Return the offsets of groups in the source; bisects to leave out those whose offsets may not be read."""
        try:
            return self._source.group_offsets(groups)
        except KafkaException as error:
            if len(groups) == 1 or error.args[0].code() not in _OF_ONE_GROUP:
                alias, text = self._config.source_alias, error.args[0].str()
                log.error(
                    "Error querying offsets for consumer group %s on cluster %s: %s", ", ".join(groups), alias, text
                )
                return {}
        half = len(groups) // 2
        return self._committed(groups[:half]) | self._committed(groups[half:])

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


def _apply(syncs: OffsetSyncStore, key: bytes | None, value: bytes | None) -> None:
    try:
        sync = OffsetSync.decode(key, value)
    except MalformedBytes as error:
        log.warning("Ignored invalid offset sync record: %s", error)
        return
    if sync is not None:
        syncs.apply(sync)


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
