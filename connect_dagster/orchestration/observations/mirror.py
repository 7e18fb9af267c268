"""A flow of MirrorMaker at one moment, as the brokers of both clusters and a worker report it; and its metadata.

The time of a topic's newest record is the largest timestamp in it, which brokers are asked for (KIP-734, Kafka 3.0): a
sensor polls no consumer.
"""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar

from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.connector_classes import simple_name
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.client.types import Connector, MetricSample
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition

MIRROR_SOURCE, MIRROR_CHECKPOINT = "MirrorSource", "MirrorCheckpoint"

_LATENCY = "kafka_connect_mirror_mirrorsourceconnector_replication_latency_ms"
_CHECKPOINTED = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
_MOST_ROWS = 50

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the timestamp of a record to its delivery in the target, of one partition."""

    avg: float
    max: float


@dataclass(frozen=True)  # without slots, for what is computed once: a flow may have thousands of topics
class MirrorReading:
    """A reading of a flow; what could not be read, or was not asked for, is None.

    Attributes:
        names: The flow, and the names of its topics.
        read_at: When it was read, in epoch seconds.
        positions: Offset in the source from which each partition goes on, of those that have one.
        source_bounds: Bounds of the partitions in the source.
        newest: Time of the newest record of each partition in the target that has one, in epoch seconds: of mirrored
            topics, of the source's heartbeats and of checkpoints.
        latencies: Of partitions in the target, from the metrics of our worker.
        groups: Ids of consumer groups with checkpoints since their tasks began, from these metrics; empty from a Java
            worker.
        from_end: Whether partitions without a position are mirrored from their end on.
    """

    names: MirrorNames
    read_at: float
    positions: Mapping[Partition, int] | None = None
    source_bounds: Mapping[Partition, Bounds] | None = None
    newest: Mapping[Partition, float] | None = None
    latencies: Mapping[Partition, Latency] = field(default_factory=dict)
    groups: Collection[str] = ()
    from_end: bool = False

    def lags(self, topics: Collection[str]) -> dict[Partition, int] | None:
        """Return the records of each partition of topics in the source beyond its committed position.

        A partition without a position is mirrored from its first record on, or from its end on, as is one of a topic
        that was created again and ends before the position.
        """
        if self.source_bounds is None or self.positions is None:
            return None
        return {
            (topic, number): edge.end - self._position((topic, number), edge, self.positions)
            for topic in topics
            for number, edge in self._bounds_by_topic.get(topic, {}).items()
        }

    def _position(self, partition: Partition, edge: Bounds, positions: Mapping[Partition, int]) -> int:
        position = positions.get(partition)
        if position is None or position > edge.end:
            return edge.end if self.from_end else edge.start
        return max(edge.start, position)  # records before the first one are deleted

    def age_of(self, topics: Collection[str]) -> float | None:
        """Return the seconds since the newest record of topics in the target; None without one."""
        times = [time for topic in topics for time in self._newest_by_topic.get(topic, {}).values()]
        return max(0.0, self.read_at - max(times)) if times else None

    def latencies_of(self, topics: Collection[str]) -> list[Latency]:
        """Return the latencies of the partitions of topics in the target."""
        return [latency for topic in topics for latency in self._latencies_by_topic.get(topic, {}).values()]

    @cached_property
    def _bounds_by_topic(self) -> Mapping[str, Mapping[int, Bounds]]:
        return _by_topic(self.source_bounds or {})

    @cached_property
    def _newest_by_topic(self) -> Mapping[str, Mapping[int, float]]:
        return _by_topic(self.newest or {})

    @cached_property
    def _latencies_by_topic(self) -> Mapping[str, Mapping[int, Latency]]:
        return _by_topic(self.latencies)

    @property
    def heartbeat_age(self) -> float | None:
        """Return the seconds since the newest heartbeat of the source that has arrived."""
        return self.age_of([self.names.heartbeats])

    @property
    def checkpoint_age(self) -> float | None:
        """Return the seconds since the newest checkpoint."""
        return self.age_of([self.names.checkpoints])


def _by_topic(values: Mapping[Partition, Value]) -> dict[str, dict[int, Value]]:
    found: dict[str, dict[int, Value]] = {}
    for (topic, number), value in values.items():
        found.setdefault(topic, {})[number] = value
    return found


def is_mirror(connector: Connector, kind: str) -> bool:
    """Return whether a connector is the one of MirrorMaker with this simple name."""
    return simple_name(connector.connector_class) == kind


def reads_from_end(config: Mapping[str, str | None]) -> bool:
    """Return whether a source connector mirrors partitions without a position from their end on."""
    given = (config.get(f"{prefix}consumer.auto.offset.reset") for prefix in ("source.", ""))
    return next((value for value in given if value), None) == "latest"


class CommittedPosition(Protocol):
    """An offset of a source connector in one of its partitions."""

    @property
    def partition(self) -> Mapping[str, Any]:
        """Return the partition."""

    @property
    def offset(self) -> Mapping[str, Any] | None:
        """Return the offset, None for none."""


def mirrored_positions(offsets: Iterable[CommittedPosition], source: str) -> dict[Partition, int]:
    """Return the offsets from which partitions of the source go on: one beyond the last delivered ones.

    Args:
        offsets: Committed offsets of the source connector, as REST or the offset topic gives them.
        source: Alias of the source; a connector whose alias was changed has offsets of the former one as well.
    """
    return {
        (str(entry.partition["topic"]), int(entry.partition["partition"])): int(entry.offset["offset"]) + 1
        for entry in offsets
        if entry.offset is not None and entry.partition.get("cluster") == source
    }


def replication_latencies(samples: Iterable[MetricSample], names: MirrorNames) -> dict[Partition, Latency]:
    """Return the latencies of a flow's partitions in the target, from the metrics of a worker."""
    found: dict[str, dict[Partition, float]] = {"_avg": {}, "_max": {}}
    for sample in samples:
        of_kind, labels = found.get(sample.name.removeprefix(_LATENCY)), sample.labels
        is_flows = (labels.get("source"), labels.get("target")) == (names.source, names.target)
        if of_kind is not None and is_flows and not math.isnan(sample.value):
            of_kind[labels["topic"], int(labels["partition"])] = sample.value
    averages, largest = found["_avg"], found["_max"]
    return {place: Latency(averages[place], largest[place]) for place in averages.keys() & largest.keys()}


def checkpointed_groups(samples: Iterable[MetricSample], names: MirrorNames) -> frozenset[str]:
    """Return the consumer groups of a flow with checkpoints, from the metrics of a worker."""
    flow = (names.source, names.target)
    return frozenset(
        sample.labels["group"]
        for sample in samples
        if sample.name == _CHECKPOINTED and (sample.labels.get("source"), sample.labels.get("target")) == flow
    )


def mirror_metadata(reading: MirrorReading, sources: Collection[str], targets: Collection[str]) -> dict[str, Any]:
    """Return the metadata of mirrored topics.

    Args:
        reading: Of their flow.
        sources: The topics in the source.
        targets: Their names in the target.
    """
    latencies = reading.latencies_of(targets)
    numbers = {
        "replication_latency_ms_avg": sum(one.avg for one in latencies) / len(latencies) if latencies else None,
        "replication_latency_ms_max": max((one.max for one in latencies), default=None),
        "newest_record_age_seconds": reading.age_of(targets),
        "heartbeat_age_seconds": reading.heartbeat_age,
        "checkpoint_age_seconds": reading.checkpoint_age,
    }
    return {
        "source_cluster": reading.names.source,
        "target_cluster": reading.names.target,
        "replication_policy": reading.names.policy_name,
        **lag_metadata(reading.lags(sources)),
        **({"groups_synced": len(reading.groups)} if reading.groups else {}),
        **{key: float(value) for key, value in numbers.items() if value is not None},
    }


def lag_metadata(lags: Mapping[Partition, int] | None) -> dict[str, Any]:
    """Return the records beyond the committed positions: summed, of the worst partition, and as a table.

    It is empty where none are known: of a flow whose topics are not known, no record may be mirrored.
    """
    if not lags:
        return {}
    worst = sorted(lags.items(), key=lambda item: (-item[1], item[0]))
    rows = [
        TableRecord({"topic": topic, "partition": number, "records": lag})
        for (topic, number), lag in worst[:_MOST_ROWS]
    ]
    columns = [TableColumn("topic"), TableColumn("partition", "int"), TableColumn("records", "int")]
    return {
        "records_lag_total": sum(lags.values()),
        "records_lag_max": worst[0][1],
        "records_lag": MetadataValue.table(rows, schema=TableSchema(columns)),
    }
