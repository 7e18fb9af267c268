"""Metrics of a flow: of each mirrored partition, and of the checkpoints of each consumer group.

Java: ``MirrorSourceMetrics``, ``MirrorCheckpointMetrics``. A metric of the bean
``kafka.connect.mirror:type=MirrorSourceConnector,source=A,target=B,topic=A.t,partition=0`` becomes
``kafka_connect_mirror_mirrorsourceconnector_record_count{source="A",target="B",topic="A.t",partition="0"}``; with the
format ``new`` of ``metric.names.formats`` it is under ``kafka_connect_plugins``, with the worker's connector and task.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.plugin.metrics import MetricGroup, MetricReading, Metrics
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.samples import Samples, Windows

Milliseconds = npt.NDArray[np.int64]


def _times(name: str, what: str) -> dict[str, str]:
    return {
        name: f"{what} of the last one, in milliseconds.",
        f"{name}-max": f"{what} at most of late, in milliseconds.",
        f"{name}-min": f"{what} at least of late, in milliseconds.",
        f"{name}-avg": f"{what} on average of late, in milliseconds.",
    }


PARTITIONS = MetricGroup(
    "MirrorSourceConnector",
    "kafka_connect_mirror_mirrorsourceconnector",
    ("source", "target", "topic", "partition"),
    {
        "record-count": "Records replicated to the partition of the target since the task began.",
        "record-rate": "Records replicated a second.",
        "byte-count": "Bytes of their values.",
        "byte-rate": "Bytes of their values a second.",
        **_times("record-age-ms", "Age of records when they were read from the source:"),
        **_times("replication-latency-ms", "Age of records when the target had them:"),
    },
    has_worker_tags=False,
)
CHECKPOINTS = MetricGroup(
    "MirrorCheckpointConnector",
    "kafka_connect_mirror_mirrorcheckpointconnector",
    ("source", "target", "group", "topic", "partition"),
    _times("checkpoint-latency-ms", "Time from the translation of an offset until the target had its checkpoint:"),
    has_worker_tags=False,
)


@dataclass(frozen=True, slots=True)
class Place:
    """The flow whose metrics these are.

    Attributes:
        flow: the clusters.
        formats: values of ``metric.names.formats``.
    """

    flow: Flow
    formats: Sequence[str]

    def readings(
        self, group: MetricGroup, tags: tuple[str, ...], values: Mapping[str, float]
    ) -> Iterator[MetricReading]:
        """Yield a reading for each format.

        Args:
            group: with Java's earlier names.
            tags: values of its tags after source and target.
            values: by Kafka's names.
        """
        tags = (self.flow.source, self.flow.target, *tags)
        if "legacy" in self.formats:
            yield MetricReading(group, tags, values)
        if "new" in self.formats:
            as_plugin = replace(group, type="plugins", prefix="kafka_connect_plugins", has_worker_tags=True)
            yield MetricReading(as_plugin, tags, values)


class _Times:
    """The last of some times, and their extremes and average within the windows."""

    def __init__(self, windows: Windows) -> None:
        self._last = 0.0
        self._samples = Samples(windows)

    def record(self, times: Milliseconds, now: float) -> None:
        if times.size:
            self._last = float(times[-1])
            self._samples.record_many(times.size, float(times.sum()), float(times.min()), float(times.max()), now)

    def values(self, name: str, now: float) -> dict[str, float]:
        return {
            name: self._last,
            f"{name}-max": self._samples.maximum(now),
            f"{name}-min": self._samples.minimum(now),
            f"{name}-avg": self._samples.average(now),
        }


class _Partition:
    """Measurements of one partition of the target."""

    def __init__(self, windows: Windows) -> None:
        self._records = self._bytes = 0
        self._record_rates, self._byte_rates = Samples(windows), Samples(windows)
        self._ages, self._latencies = _Times(windows), _Times(windows)

    def record(self, ages: Milliseconds, latencies: Milliseconds, count: int, size: int, now: float) -> None:
        self._records += count
        self._bytes += size
        self._record_rates.record(count, now)
        self._byte_rates.record(size, now)
        self._ages.record(ages, now)
        self._latencies.record(latencies, now)

    def values(self, now: float) -> dict[str, float]:
        return {
            "record-count": self._records,
            "record-rate": self._record_rates.rate(now),
            "byte-count": self._bytes,
            "byte-rate": self._byte_rates.rate(now),
            **self._ages.values("record-age-ms", now),
            **self._latencies.values("replication-latency-ms", now),
        }


class PartitionMetrics:
    """Metrics of the partitions of a task; the delivery thread records, others read.

    Args:
        metrics: of the task.
        place: the task.
        partitions: of the target.
        clock: seconds of a clock that never goes back.
    """

    def __init__(
        self,
        metrics: Metrics,
        place: Place,
        partitions: Iterable[TopicPartition],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._place = place
        self._clock = clock
        self._lock = threading.Lock()
        self._partitions = {one: _Partition(metrics.windows) for one in partitions}
        metrics.add(self._readings)

    def delivered(
        self, partition: TopicPartition, read_at: int, delivered_at: int, timestamps: Milliseconds, sizes: Milliseconds
    ) -> None:
        """Record records that the target has.

        Args:
            partition: of the target, by the name that the policy gives its topic.
            read_at: when they were read from the source, in milliseconds since the epoch.
            delivered_at: when the target had them.
            timestamps: of the records; negative for one without.
            sizes: bytes of their values.
        """
        timed = timestamps[timestamps >= 0]
        with self._lock:
            self._partitions[partition].record(
                read_at - timed, delivered_at - timed, sizes.size, int(sizes.sum()), self._clock()
            )

    def _readings(self, now: float) -> Iterator[MetricReading]:
        for partition, measured in self._partitions.items():
            with self._lock:
                values = measured.values(now)
            yield from self._place.readings(PARTITIONS, (partition.topic, str(partition.partition)), values)


class CheckpointMetrics:
    """Metrics of the checkpoints of a task; the delivery thread records, others read.

    Args:
        metrics: of the task.
        place: the task.
        clock: seconds of a clock that never goes back.
    """

    def __init__(self, metrics: Metrics, place: Place, clock: Callable[[], float] = time.monotonic) -> None:
        self._place = place
        self._clock = clock
        self._windows = metrics.windows
        self._lock = threading.Lock()
        self._groups: dict[tuple[str, TopicPartition], _Times] = {}
        metrics.add(self._readings)

    def delivered(self, group: str, partition: TopicPartition, milliseconds: int) -> None:
        """Record a checkpoint that the target has.

        Args:
            group: the consumer group.
            partition: of the target.
            milliseconds: since its offset was translated.
        """
        with self._lock:
            times = self._groups.setdefault((group, partition), _Times(self._windows))
            times.record(np.array([milliseconds], np.int64), self._clock())

    def _readings(self, now: float) -> Iterator[MetricReading]:
        with self._lock:
            values = {key: times.values("checkpoint-latency-ms", now) for key, times in self._groups.items()}
        for (group, partition), found in values.items():
            yield from self._place.readings(CHECKPOINTS, (group, partition.topic, str(partition.partition)), found)
