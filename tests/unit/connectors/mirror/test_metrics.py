"""What a flow measures, by Java's names."""

import math

import numpy as np
import pytest

from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.metrics import CheckpointMetrics, PartitionMetrics, Place
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.testing.contexts import CollectedMetrics
from connect_dagster.worker.metrics.families import families

PLACE = Place(Flow("A", "B"), ("legacy",))
PARTITION = TopicPartition("A.t", 1)
SOURCE_LABELS = {"source": "A", "target": "B", "topic": "A.t", "partition": "1"}
PREFIX = "kafka_connect_mirror_mirrorsourceconnector_"


class Shown(CollectedMetrics):
    """Metrics as Prometheus gets them, by name and labels; its clock stands at 100 s."""

    def clock(self) -> float:
        return 100.0

    def shown(self, now: float = 100.0) -> dict[str, dict[frozenset[tuple[str, str]], float]]:
        return {
            one.name: {frozenset(sample.labels.items()): sample.value for sample in one.samples}
            for one in families(self.readings(now))
        }

    def value(self, name: str, labels: dict[str, str] = SOURCE_LABELS, now: float = 100.0) -> float:
        return self.shown(now)[name][frozenset(labels.items())]


@pytest.fixture
def metrics() -> Shown:
    return Shown()


def delivered(measured: PartitionMetrics, timestamps: list[int], sizes: list[int]) -> None:
    measured.delivered(PARTITION, 1_000, 1_250, np.array(timestamps, np.int64), np.array(sizes, np.int64))


def test_a_partition_without_records_is_shown(metrics: Shown) -> None:
    PartitionMetrics(metrics, PLACE, [PARTITION], metrics.clock)
    assert metrics.value(PREFIX + "record_count") == 0
    assert metrics.value(PREFIX + "replication_latency_ms") == 0
    assert math.isnan(metrics.value(PREFIX + "replication_latency_ms_max"))


def test_records_of_a_partition(metrics: Shown) -> None:
    measured = PartitionMetrics(metrics, PLACE, [PARTITION], metrics.clock)
    delivered(measured, [700, 900], [10, 0])
    delivered(measured, [950], [5])
    expected = {
        "record_count": 3,
        "record_rate": 3 / 30,
        "byte_count": 15,
        "byte_rate": 15 / 30,
        "record_age_ms": 50,
        "record_age_ms_max": 300,
        "record_age_ms_min": 50,
        "record_age_ms_avg": 150,
        "replication_latency_ms": 300,
        "replication_latency_ms_max": 550,
        "replication_latency_ms_min": 300,
        "replication_latency_ms_avg": 400,
    }
    assert {name: metrics.value(PREFIX + name) for name in expected} == expected
    assert metrics.value(PREFIX + "record_rate", now=300) == 0
    assert metrics.value(PREFIX + "record_count", now=300) == 3


def test_a_record_without_timestamp_has_no_age(metrics: Shown) -> None:
    measured = PartitionMetrics(metrics, PLACE, [PARTITION], metrics.clock)
    delivered(measured, [900, -1], [1, 1])
    assert metrics.value(PREFIX + "record_count") == 2
    assert metrics.value(PREFIX + "record_age_ms_max") == 100
    delivered(measured, [-1], [1])
    assert metrics.value(PREFIX + "record_age_ms") == 100


def test_checkpoints_of_groups(metrics: Shown) -> None:
    measured = CheckpointMetrics(metrics, PLACE, metrics.clock)
    assert metrics.shown() == {}
    measured.delivered("billing", PARTITION, 4)
    measured.delivered("billing", PARTITION, 8)
    labels = {**SOURCE_LABELS, "group": "billing"}
    name = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
    assert metrics.value(name, labels) == 8
    assert metrics.value(name + "_min", labels) == 4
    assert metrics.value(name + "_avg", labels) == 6


def test_both_formats_of_names(metrics: Shown) -> None:
    both = Place(Flow("A", "B"), ("new", "legacy"))
    measured = PartitionMetrics(metrics, both, [PARTITION], metrics.clock)
    delivered(measured, [900], [1])
    assert metrics.value(PREFIX + "record_count") == 1
    assert metrics.value("kafka_connect_plugins_record_count") == 1
    assert {(one.group.type, one.group.has_worker_tags) for one in metrics.readings(100)} == {
        ("MirrorSourceConnector", False),
        ("plugins", True),
    }


def test_names_have_one_family_for_all_tasks(metrics: Shown) -> None:
    for _ in range(2):
        PartitionMetrics(metrics, PLACE, [PARTITION], metrics.clock)
    names = [one.name for one in families(metrics.readings(100))]
    assert len(names) == len(set(names)) == 12
