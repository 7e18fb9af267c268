"""Snapshot of a connector from one poll of the worker and, when they are known, the brokers."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from connect_dagster.client.captures import CaptureReading
from connect_dagster.client.datasets import KafkaConnectDatasetProps, topic_names
from connect_dagster.client.lineage import ConnectorLineage
from connect_dagster.client.progress import Progress
from connect_dagster.client.types import Connector, Direction, PartitionOffset, TaskProgress
from connect_dagster.orchestration.observations.mirror import MirrorReading
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition, lags


@dataclass(frozen=True)  # without slots, for what is computed once: a connector may have thousands of topics
class ConnectorSnapshot:
    """A connector at one moment.

    Attributes:
        connector: Its configuration and states.
        lineage: What it reads and writes.
        offsets: Its committed offsets; None when they could not be read.
        progress: Spark progress of its tasks; empty from a Java worker.
        bounds: Bounds of its topics' partitions; None when the brokers were not, or could not be, asked.
        mirror: Reading of its flow; None for all but MirrorMaker's source connector.
        capture: Reading of its binary log; None for all but change data capture.
        reading: How far its tasks have read; empty for all but sinks, and where metrics of a task are not known.
    """

    connector: Connector
    lineage: ConnectorLineage
    offsets: tuple[PartitionOffset, ...] | None
    progress: Mapping[str, TaskProgress]
    bounds: Mapping[Partition, Bounds] | None = None
    mirror: MirrorReading | None = None
    capture: CaptureReading | None = None
    reading: Sequence[Progress] = ()

    def with_bounds(self, bounds: Mapping[Partition, Bounds]) -> "ConnectorSnapshot":
        """Return the snapshot with those of ``bounds`` that belong to its topics."""
        topics = self.topics
        own = {partition: edge for partition, edge in bounds.items() if partition[0] in topics}
        return replace(self, bounds=own)

    @property
    def topics(self) -> frozenset[str]:
        """Return the topics it reads or writes, with its dead letter queue."""
        dead_letters = self.lineage.dead_letter_topic
        return frozenset(self.lineage.topics) | ({dead_letters} if dead_letters else frozenset())

    @property
    def offsets_version(self) -> str:
        """Hash of the committed offsets, independent of their order; empty without offsets."""
        return _version(self.offsets or ())

    @property
    def position(self) -> int:
        """Sum of all integers in the committed offsets: records for a sink, bytes for a file."""
        return _position(self.offsets or ())

    def version_of(self, output: KafkaConnectDatasetProps) -> str:
        """Return the hash of the offsets of what an output is made of; empty without offsets."""
        return _version(self._offsets_of(output))

    def position_of(self, output: KafkaConnectDatasetProps) -> int:
        """Return the sum of all integers in the offsets of what an output is made of."""
        return _position(self._offsets_of(output))

    def _offsets_of(self, output: KafkaConnectDatasetProps) -> Sequence[PartitionOffset]:
        """Return the offsets of what an output is made of.

        MirrorMaker's are those of topics, of which one may stand still while others move. Those of other connectors do
        not tell: each output has all of them.
        """
        known = self.sources_of(output)
        if self.mirror is None or not known:
            return self.offsets or ()
        return [entry for topic in known for entry in self._offsets_by_topic.get(topic, ())]

    def sources_of(self, output: KafkaConnectDatasetProps) -> Sequence[str]:
        """Return the topics that an output is made of, as far as they are known."""
        return self._sources.get(output, ())

    @cached_property
    def _sources(self) -> Mapping[KafkaConnectDatasetProps | None, Sequence[str]]:
        routes: dict[KafkaConnectDatasetProps | None, list[KafkaConnectDatasetProps | None]] = {}
        for route in self.lineage.routes:
            routes.setdefault(route.target, []).append(route.source)
        return {output: sorted(topic_names(sources)) for output, sources in routes.items()}

    @cached_property
    def _offsets_by_topic(self) -> Mapping[str, Sequence[PartitionOffset]]:
        """Return the offsets of the flow by topic of its source."""
        found: dict[str, list[PartitionOffset]] = {}
        for entry in self.offsets or ():
            if self.mirror is not None and entry.partition.get("cluster") == self.mirror.names.source:
                found.setdefault(str(entry.partition.get("topic")), []).append(entry)
        return found

    @cached_property
    def _ends(self) -> Mapping[str, int]:
        found: dict[str, int] = {}
        for (topic, _), edge in (self.bounds or {}).items():
            found[topic] = found.get(topic, 0) + edge.end
        return found

    @property
    def lags(self) -> list[int] | None:
        """Records of each partition that a sink has not committed; None for a source, or when unknown."""
        if self.bounds is None or self.offsets is None or self.lineage.direction is not Direction.SINK:
            return None
        topics = set(self.lineage.topics)
        own = {partition: edge for partition, edge in self.bounds.items() if partition[0] in topics}
        return lags(own, _committed(self.offsets))

    @property
    def read_rate(self) -> float | None:
        """Return the records a second that the tasks of a sink read; None where their metrics are not known."""
        return sum(task.rate for task in self.reading) if self.reading else None

    def seconds_left(self, committed_rate: float | None) -> float | None:
        """Return the seconds until a sink has caught up at its rate; None for a source, while it stands, or unknown.

        It has caught up when its slowest task has; without metrics of the tasks, when all committed records are.

        Args:
            committed_rate: Records a second that it commits; None when unknown.
        """
        lag = None if self.lags is None else sum(self.lags)
        if not self.reading:
            return None if lag is None else _seconds(lag, committed_rate)
        # The left of a task is a bound, from its partition furthest behind.
        tasks = [_seconds(task.left if lag is None else min(task.left, lag), task.rate) for task in self.reading]
        moving = [seconds for seconds in tasks if seconds is not None]
        return max(moving) if len(moving) == len(tasks) else None

    @property
    def records(self) -> int | None:
        """Records that a sink has committed, or that were written to a source's topics; None without brokers."""
        if self.lineage.direction is Direction.SINK:
            return self.position if self.offsets is not None else None
        return sum(self.end_offset(topic) or 0 for topic in self.lineage.topics) if self.bounds is not None else None

    @property
    def dead_letters(self) -> int | None:
        """Records ever written to the dead letter queue; None without brokers."""
        topic = self.lineage.dead_letter_topic
        if topic is None:
            return 0
        return None if self.bounds is None else self.end_offset(topic) or 0

    def end_offset(self, topic: str) -> int | None:
        """Return the sum of a topic's end offsets; None when it does not exist, or without brokers."""
        return self._ends.get(topic)


def _seconds(left: int, rate: float | None) -> float | None:
    if left == 0:
        return 0.0
    return left / rate if rate else None


def _version(offsets: Iterable[PartitionOffset]) -> str:
    entries = sorted(json.dumps(entry.model_dump(), sort_keys=True) for entry in offsets)
    return hashlib.sha256("\n".join(entries).encode()).hexdigest()[:16] if entries else ""


def _position(offsets: Iterable[PartitionOffset]) -> int:
    values = [value for entry in offsets for value in (entry.offset or {}).values()]
    return sum(value for value in values if isinstance(value, int))


def _committed(offsets: tuple[PartitionOffset, ...]) -> dict[Partition, int]:
    """Return the offsets of a sink by partition, from the form of KIP-875."""
    return {
        (str(entry.partition["kafka_topic"]), int(entry.partition["kafka_partition"])): int(
            entry.offset["kafka_offset"]
        )
        for entry in offsets
        if entry.offset is not None
    }
