"""Mirrors partitions of the source cluster (Java: ``MirrorSourceTask``)."""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mirror.assignment import assigned_partitions
from connect_dagster.connectors.mirror.client_settings import REPLICATION_CONSUMER
from connect_dagster.connectors.mirror.metrics import PartitionMetrics
from connect_dagster.connectors.mirror.names import ReplicationPolicy
from connect_dagster.connectors.mirror.offsets import position, source_offset, source_partition
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.source.offset_syncs import OffsetSyncWriter
from connect_dagster.connectors.mirror.source.reading import PartitionReader, Read, SourceAwayError
from connect_dagster.connectors.mirror.source.record_columns import (
    delivered_by_partition,
    mirrored_frame,
    mirrored_table,
    only_topic,
)
from connect_dagster.connectors.mirror.source_config import MirrorSourceTaskConfig
from connect_dagster.expressions.offset_ranges import (
    Layout,
    OffsetRange,
    OffsetRangeReader,
    RangeSlot,
    is_refused_read,
    layout,
)
from connect_dagster.kafka.clients import range_options
from connect_dagster.kafka.settings.java_settings import ClientKind
from connect_dagster.plugin.connector import Properties, SourceTask
from connect_dagster.plugin.frames import Offsets, SourceFrame, SourceQuery, SourceTable
from connect_dagster.plugin.lines import SourceBatch
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import BYTES_SCHEMA, OPTIONAL_BYTES_SCHEMA

log = logging.getLogger(__name__)

# Of a size that is not known yet.
_FIRST_RECORDS = 10_000
_BATCH_RECORDS = 100_000
# A quarter of what the worker's heap bounds them to: larger ones would stay on disk after one that has gone there.
_BATCH_BYTES = 16 << 20
_MOST_SLOTS = 4
# Spark has a consumer for each partition, and each of them fetches ahead.
_AHEAD_BYTES = 32 << 20
_LEAST_AHEAD_BYTES, _MOST_AHEAD_BYTES = 64 << 10, 1 << 20
_REREAD = Backoff(0.5, 5.0)
# The worker asks a task to stop between two polls.
_MOST_POLL_SECONDS = 1.0
_MILLISECOND = 1000
_NANOSECONDS = 1_000_000  # of a millisecond


class MirrorSourceTask(SourceTask):
    """Read partitions of the source, and write their records to the topics of the target."""

    wants_receipts: ClassVar[bool] = True
    polls_late: ClassVar[bool] = True

    def start(self, config: Properties) -> None:
        """Find the offsets to continue from, and open the consumer."""
        parsed = MirrorSourceTaskConfig.parse(config)
        partitions = assigned_partitions(config)
        policy = FlowClasses(parsed, self.context.load_class).policy()
        self._source = parsed.source_alias
        self._remote = {one.topic: policy.format_remote_topic(self._source, one.topic) for one in partitions}
        self._poll_seconds = min(max(0.0, parsed.consumer_poll_timeout_ms / _MILLISECOND), _MOST_POLL_SECONDS)
        settings = parsed.client_settings(REPLICATION_CONSUMER)
        stored = self.context.offsets.offsets(source_partition(self._source, one) for one in partitions)
        positions = {one: position(one, offset) for one, offset in zip(partitions, stored, strict=True)}
        log.info("Starting with %d previously uncommitted partitions.", list(positions.values()).count(None))
        self._reader = PartitionReader(settings, positions, self.context.rate.cap_records(_FIRST_RECORDS))
        ahead = {"max.partition.fetch.bytes": str(_ahead_bytes(len(partitions)))}
        self._ranges = OffsetRangeReader(self.context.spark, range_options({**ahead, **settings}, headers=True))
        self._slots: OrderedDict[Layout, _Kept] = OrderedDict()
        self._syncs = _syncs_of(parsed, policy) if parsed.emit_offset_syncs_enabled else None
        remote = [TopicPartition(self._remote[one.topic], one.partition) for one in partitions]
        self._metrics = PartitionMetrics(self.context.metrics, parsed.place, remote)
        self._in_flight: dict[int, _InFlight] = {}
        self._rereads = 0
        log.info(
            "Replicating %d topic-partitions %s: %s.", len(partitions), parsed.flow, ", ".join(map(str, partitions))
        )

    def poll(self) -> SourceBatch | None:
        """Return the next records; waits ``consumer.poll.timeout.ms`` or a second at most."""
        read = self._reader.poll(self._poll_seconds)
        if read is None:
            return None
        batch = self._table(read) if read.fetched is not None else self._query(read)
        self._in_flight[id(batch)] = _InFlight(read, _now())
        return batch

    def reread_delay(self, error: Exception) -> float | None:
        """Return the delay before ranges are read again that the source did not give (Java: ``poll``)."""
        if not (isinstance(error, SourceAwayError) or is_refused_read(error)):
            return None
        self._rereads += 1
        return _REREAD.delay(self._rereads)

    def rewind(self) -> None:
        """Read on after the records that the target has, without partitions that cannot be read now."""
        self._rereads = 0
        self._in_flight.clear()
        self._reader.rewind()

    def encoded(self, batch: SourceBatch, records: int, size: int) -> None:
        """Fit the number of records of a batch to their size."""
        if records:
            fitting = min(_BATCH_RECORDS, _BATCH_BYTES * records // max(1, size))
            self._reader.most_records = self.context.rate.cap_records(fitting)

    def received(self, batch: SourceBatch, receipts: pa.Table) -> None:
        """Measure the records that the target has, and take their offsets in both clusters."""
        now = _now()
        read, at = self._in_flight[id(batch)]
        for one in delivered_by_partition(receipts, next(iter(read.ends)).topic):
            remote = TopicPartition(self._remote[one.partition.topic], one.partition.partition)
            self._metrics.delivered(remote, at, now, one.timestamps, one.sizes)
            if self._syncs is not None:
                self._syncs.delivered(one.partition, one.upstream, one.downstream)

    def delivered(self, batch: SourceBatch) -> None:
        """Note how far the target has the records."""
        self._rereads = 0
        self._reader.delivered(self._in_flight.pop(id(batch)).read)

    def commit(self) -> None:
        """Write the last offset syncs of partitions."""
        if self._syncs is not None:
            self._syncs.commit()

    def stop(self) -> None:
        """Close the clients."""
        if (syncs := getattr(self, "_syncs", None)) is not None:
            syncs.close()
        if hasattr(self, "_reader"):
            self._reader.close()

    def _table(self, read: Read) -> SourceBatch:
        assert read.fetched is not None
        made = mirrored_table(read.fetched.rows, self._remote)
        return SourceTable(made, *self._offsets(read), only_topic(self._remote), **_SCHEMAS)

    def _query(self, read: Read) -> SourceBatch:
        ranges = sorted(read.ranges, key=lambda one: (one.partition.topic, one.partition.partition))
        if read.new_consumers:
            self._ranges.renew_consumers()
        df = partial(self._frame, ranges)
        offsets, topic = self._offsets(read), only_topic(self._remote_of(ranges))
        kept = self._kept(ranges)
        if kept is None:
            return SourceFrame(df(), *offsets, topic, **_SCHEMAS)
        return SourceQuery(kept.df, partial(self._set, kept.slot, ranges), df, *offsets, topic, **_SCHEMAS)

    def _set(self, slot: RangeSlot, ranges: Sequence[OffsetRange]) -> None:
        if self._rereads:  # a job that waits for the source would keep the cores of all tasks of the worker
            self._reader.check([one.partition for one in ranges])
        slot.set(ranges)

    def _frame(self, ranges: Sequence[OffsetRange]) -> DataFrame:
        return mirrored_frame(self._ranges.read(ranges), self._remote_of(ranges))

    def _kept(self, ranges: Sequence[OffsetRange]) -> _Kept | None:
        """Return the DataFrame that is kept for ranges of these partitions."""
        wanted = layout(ranges)
        kept = self._slots.pop(wanted, None)
        if kept is None:
            slot = self._ranges.slot(ranges)
            kept = None if slot is None else _Kept(slot, mirrored_frame(slot.df, self._remote_of(ranges)))
        if kept is not None:
            self._slots[wanted] = kept
            if len(self._slots) > _MOST_SLOTS:
                self._slots.popitem(last=False)
        return kept

    def _remote_of(self, ranges: Sequence[OffsetRange]) -> Mapping[str, str]:
        return {one.partition.topic: self._remote[one.partition.topic] for one in ranges}

    def _offsets(self, read: Read) -> tuple[Mapping[str, Any], Mapping[str, Any], Offsets]:
        first, *others = (
            (source_partition(self._source, partition), source_offset(end - 1)) for partition, end in read.ends.items()
        )
        return (*first, tuple(others))


class _InFlight(NamedTuple):
    """A batch that is not delivered yet.

    Attributes:
        read: the offsets of its records.
        at: the time of its poll, in epoch milliseconds.
    """

    read: Read
    at: int


class _Kept(NamedTuple):
    """Ranges that a DataFrame reads, others for each batch."""

    slot: RangeSlot
    df: DataFrame


_SCHEMAS: Mapping[str, Any] = {"value_schema": BYTES_SCHEMA, "key_schema": OPTIONAL_BYTES_SCHEMA}


def _ahead_bytes(partitions: int) -> int:
    return max(_LEAST_AHEAD_BYTES, min(_MOST_AHEAD_BYTES, _AHEAD_BYTES // partitions))


def _now() -> int:
    return time.time_ns() // _NANOSECONDS


def _syncs_of(config: MirrorSourceTaskConfig, policy: ReplicationPolicy) -> OffsetSyncWriter:
    topic = config.offset_syncs
    settings = config.client_settings(topic.role(ClientKind.PRODUCER))
    return OffsetSyncWriter(settings, policy.offset_syncs_topic(topic.alias), config.offset_lag_max)
