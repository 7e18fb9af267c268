"""Metadata of mirrored topics, from readings of a flow."""

import math
import time
from dataclasses import replace
from typing import Any

import dagster as dg
import pytest
from dagster import AssetMaterialization

from connect_dagster.client.datasets import KafkaConnectTopicProps
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.client.types import Direction, MetricSample, PartitionOffset
from connect_dagster.orchestration import KafkaConnectWorkspace, build_kafka_connect_polling_sensor
from connect_dagster.orchestration.observations.metadata import materialization_metadata, observation_metadata
from connect_dagster.orchestration.observations.mirror import (
    MIRROR_SOURCE,
    Latency,
    MirrorReading,
    checkpointed_groups,
    is_mirror,
    mirrored_positions,
    reads_from_end,
    replication_latencies,
)
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import Bounds
from tests.unit.orchestration.answers import SOURCE, connector

MIRROR = {
    "name": "mirror",
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
    "topics": "orders, payments",
}
NAMES = MirrorNames.of(MIRROR)
NOW = 1_700_000_000.0


def offset(topic: str, partition: int, last: int | None, cluster: str = "eu") -> PartitionOffset:
    place = {"cluster": cluster, "partition": partition, "topic": topic}
    return PartitionOffset(partition=place, offset=None if last is None else {"offset": last})


OFFSETS = (offset("orders", 0, 89), offset("orders", 1, 9), offset("payments", 0, 4), offset("orders", 1, 7, "former"))
READING = MirrorReading(
    NAMES,
    NOW,
    mirrored_positions(OFFSETS, "eu"),
    source_bounds={
        ("orders", 0): Bounds(0, 100),
        ("orders", 1): Bounds(20, 25),
        ("orders", 2): Bounds(3, 6),
        ("payments", 0): Bounds(0, 5),
    },
    newest={
        ("eu.orders", 0): NOW - 7.5,
        ("eu.orders", 1): NOW - 2.5,
        ("eu.payments", 0): NOW - 400,
        ("eu.heartbeats", 0): NOW - 1.5,
        ("eu.checkpoints.internal", 0): NOW - 60,
    },
    latencies={("eu.orders", 0): Latency(10.0, 50.0), ("eu.orders", 1): Latency(30.0, 40.0)},
    groups={"billing", "audit"},
)


def shown(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value.value for key, value in AssetMaterialization("x", metadata=metadata).metadata.items()}


def snapshot(reading: MirrorReading | None = READING) -> ConnectorSnapshot:
    lineage = connector_lineage(MIRROR, direction=Direction.SOURCE)
    return ConnectorSnapshot(connector(MIRROR, "RUNNING", "RUNNING"), lineage, OFFSETS, {}, mirror=reading)


def test_a_partition_goes_on_behind_the_last_delivered_record_of_this_source() -> None:
    assert mirrored_positions((*OFFSETS, offset("new", 0, None)), "eu") == {
        ("orders", 0): 90,
        ("orders", 1): 10,
        ("payments", 0): 5,
    }


def test_the_lag_counts_records_that_are_still_there() -> None:
    # Of partition 1 the records before offset 20 are deleted; partition 2 was not mirrored yet.
    assert READING.lags(["orders"]) == {("orders", 0): 10, ("orders", 1): 5, ("orders", 2): 3}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, False),
        ({"consumer.auto.offset.reset": "latest"}, True),
        ({"consumer.auto.offset.reset": "latest", "source.consumer.auto.offset.reset": "earliest"}, False),
        ({"source.consumer.auto.offset.reset": "latest"}, True),
    ],
)
def test_a_flow_of_new_records_only_is_not_behind_by_those_before(options: dict[str, str], expected: bool) -> None:
    assert reads_from_end({**MIRROR, **options}) is expected
    reading = replace(READING, from_end=expected)
    assert reading.lags(["orders"]) == {("orders", 0): 10, ("orders", 1): 5, ("orders", 2): 0 if expected else 3}


def test_a_topic_that_was_made_again_and_ends_before_the_position_is_behind_by_all_of_it() -> None:
    again = replace(READING, source_bounds={("orders", 0): Bounds(1, 3)})
    assert again.lags(["orders"]) == {("orders", 0): 2}
    assert replace(again, from_end=True).lags(["orders"]) == {("orders", 0): 0}


def test_the_metadata_of_very_many_topics_is_computed_from_each_partition_once() -> None:
    """Of a flow with 2,000 topics it took minutes, and a tick of a sensor ends after one."""
    topics = [f"t{number}" for number in range(1000)]
    lineage = connector_lineage({**MIRROR, "topics": ",".join(topics)}, direction=Direction.SOURCE)
    places = [(topic, number) for topic in topics for number in range(10)]
    reading = MirrorReading(
        NAMES,
        NOW,
        dict.fromkeys(places, 5),
        dict.fromkeys(places, Bounds(0, 7)),
        {(f"eu.{topic}", number): NOW for topic, number in places},
    )
    offsets = tuple(offset(*place, 4) for place in places)
    many = ConnectorSnapshot(connector(MIRROR), lineage, offsets, {}, dict.fromkeys(places, Bounds(0, 7)), reading)
    started = time.process_time()
    found = [materialization_metadata(many, output, NOW) for output in lineage.outputs]
    assert {metadata["records_lag_total"] for metadata in found} == {20}
    assert {metadata["offset_total"] for metadata in found} == {40}
    assert time.process_time() - started < 10


def test_a_mirrored_topic_is_materialised_with_numbers_that_dagster_plots() -> None:
    metadata = shown(materialization_metadata(snapshot(), KafkaConnectTopicProps("eu.orders"), NOW))
    numbers = {key: value for key, value in metadata.items() if type(value) in (int, float)}
    numbers.pop("dagster/last_updated_timestamp")
    assert numbers == {
        "offset_total": 89 + 9,
        "records_lag_total": 18,
        "records_lag_max": 10,
        "groups_synced": 2,
        "replication_latency_ms_avg": 20.0,
        "replication_latency_ms_max": 50.0,
        "newest_record_age_seconds": 2.5,
        "heartbeat_age_seconds": 1.5,
        "checkpoint_age_seconds": 60.0,
    }
    flow = ("source_cluster", "target_cluster", "replication_policy")
    assert [metadata[key] for key in flow] == ["eu", "us", "DefaultReplicationPolicy"]
    rows = [record.data for record in metadata["records_lag"].records]
    assert rows[0] == {"topic": "orders", "partition": 0, "records": 10}
    assert len(rows) == 3


def test_a_mirrored_topic_has_the_version_of_its_own_offsets() -> None:
    """Each topic was materialised, and fresh, when any topic of the flow had moved."""
    before, still, moved = snapshot(), KafkaConnectTopicProps("eu.payments"), KafkaConnectTopicProps("eu.orders")
    after = replace(before, offsets=(offset("orders", 0, 95), *OFFSETS[1:]))
    assert after.version_of(still) == before.version_of(still) != ""
    assert after.version_of(moved) != before.version_of(moved)
    assert after.position_of(still) == 4
    assert replace(before, offsets=OFFSETS[:2]).version_of(still) == ""
    # What wrote it is not known, as with a policy of the user.
    assert before.version_of(KafkaConnectTopicProps("from-somewhere")) == before.offsets_version


def test_the_connector_is_observed_with_the_numbers_of_all_its_topics() -> None:
    metadata = shown(observation_metadata(snapshot(), "http://h:8083"))
    assert (metadata["records_lag_total"], metadata["records_lag_max"]) == (18, 10)
    assert len(metadata["records_lag"].records) == 4
    assert metadata["newest_record_age_seconds"] == 2.5


def test_what_nobody_told_is_no_zero() -> None:
    unknown = shown(materialization_metadata(snapshot(MirrorReading(NAMES, NOW)), KafkaConnectTopicProps("x"), NOW))
    assert {"records_lag_total", "newest_record_age_seconds", "heartbeat_age_seconds"}.isdisjoint(unknown)
    assert unknown["source_cluster"] == "eu"
    assert replace(READING, positions=None).lags(["orders"]) is None
    # No topic of the flow is known, as before the first record of a pattern.
    nothing = shown(materialization_metadata(snapshot(), KafkaConnectTopicProps("x"), NOW))
    assert {"records_lag_total", "records_lag_max", "records_lag"}.isdisjoint(nothing)
    other = shown(materialization_metadata(snapshot(None), KafkaConnectTopicProps("eu.orders"), NOW))
    assert "source_cluster" not in other


def test_the_table_of_very_many_partitions_has_the_worst_ones() -> None:
    many = replace(READING, source_bounds={("orders", number): Bounds(0, number) for number in range(1000)})
    metadata = shown(materialization_metadata(snapshot(many), KafkaConnectTopicProps("eu.orders"), NOW))
    assert len(metadata["records_lag"].records) == 50
    assert metadata["records_lag"].records[0].data == {"topic": "orders", "partition": 999, "records": 999}
    assert metadata["records_lag_max"] == 999


@pytest.mark.parametrize("value", [12.0, math.nan])
def test_latencies_are_those_of_the_flow_where_there_are_any(value: float) -> None:
    name = "kafka_connect_mirror_mirrorsourceconnector_replication_latency_ms"
    labels = {"source": "eu", "target": "us", "topic": "eu.orders", "partition": "1"}
    samples = [
        MetricSample(f"{name}_avg", labels, value),
        MetricSample(f"{name}_max", labels, 15.0),
        MetricSample(f"{name}_avg", {**labels, "source": "asia"}, 99.0),
        MetricSample(f"{name}_max", {**labels, "source": "asia"}, 99.0),
        MetricSample("kafka_connect_worker_connector_count", {}, 1.0),
    ]
    expected = {} if math.isnan(value) else {("eu.orders", 1): Latency(12.0, 15.0)}
    assert replication_latencies(samples, NAMES) == expected


def test_groups_are_those_with_checkpoints_of_the_flow() -> None:
    name = "kafka_connect_mirror_mirrorcheckpointconnector_checkpoint_latency_ms"
    labels = {"source": "eu", "target": "us", "topic": "eu.orders", "partition": "1"}
    samples = [
        MetricSample(name, {**labels, "group": "billing"}, 3.0),
        MetricSample(name, {**labels, "group": "billing", "partition": "2"}, 3.0),
        MetricSample(name, {**labels, "group": "asian", "source": "asia"}, 3.0),
        MetricSample(f"{name}_max", {**labels, "group": "audit"}, 3.0),
    ]
    assert checkpointed_groups(samples, NAMES) == {"billing"}


def test_the_connector_is_known_by_its_simple_name() -> None:
    assert is_mirror(connector(MIRROR), MIRROR_SOURCE)
    assert is_mirror(connector({**MIRROR, "connector.class": "MirrorSource"}), MIRROR_SOURCE)
    assert not is_mirror(connector(SOURCE), MIRROR_SOURCE)


def test_a_mirrored_cluster_needs_an_alias_and_brokers() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="'connect-eu' at an end of a flow needs kafka_cluster"):
        build_kafka_connect_polling_sensor(
            workspace=KafkaConnectWorkspace(), mirror_sources=[KafkaConnectWorkspace(cluster="connect-eu")]
        )
