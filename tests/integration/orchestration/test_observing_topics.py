"""Observe of topics, from a real broker."""

import time
from uuid import uuid4

import dagster as dg
import pytest
from confluent_kafka import Producer
from dagster import AssetObservation, DagsterInstance

from connect_dagster.kafka.topic_sizes import fetch_topic_sizes
from connect_dagster.orchestration import KafkaConnectWorkspace, build_kafka_topic_assets
from connect_dagster.orchestration.assets.keys import topic_key
from tests.conftest import Broker
from tests.integration.topics import create


def send(broker: Broker, topic: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value, partition=0)
    assert producer.flush(30) == 0


def test_observe_reads_offsets_sizes_and_times_of_a_topic(broker: Broker) -> None:
    topic, empty = (f"observed-{uuid4().hex[:8]}-{what}" for what in ("full", "empty"))
    for name in (topic, empty):
        create(broker.bootstrap_servers, name, 2)
    send(broker, topic, b"x" * 1000, b"y" * 1000)
    workspace = KafkaConnectWorkspace(bootstrap_servers=broker.bootstrap_servers)
    job = dg.Definitions(
        assets=[build_kafka_topic_assets(workspace=workspace, topics=[topic, empty])]
    ).resolve_implicit_global_asset_job_def()

    with DagsterInstance.ephemeral() as instance:

        def observe() -> dict[str, AssetObservation]:
            result = job.execute_in_process(instance=instance)
            observations = result.get_asset_observation_events()
            found = [event.event_specific_data.asset_observation for event in observations]  # type: ignore[union-attr]
            return {one.asset_key.path[-1]: one for one in found}

        first = observe()
        seen = {key: value.value for key, value in first[topic].metadata.items()}
        assert (seen["partition_count"], seen["start_offset_total"], seen["end_offset_total"]) == (2, 0, 2)
        assert isinstance(seen["size_bytes"], int)
        assert 2000 < seen["size_bytes"] < 4000
        assert seen["newest_record_age_seconds"] == pytest.approx(0, abs=60)
        assert seen["dagster/last_updated_timestamp"] == pytest.approx(time.time(), abs=60)
        assert first[empty].metadata.keys() >= {"size_bytes", "end_offset_total"}
        assert "newest_record_age_seconds" not in first[empty].metadata
        assert observe()[topic].data_version == first[topic].data_version
        send(broker, topic, b"z")
        assert observe()[topic].data_version != first[topic].data_version
        assert instance.get_latest_data_version_record(topic_key(topic)) is not None


def test_a_topic_that_is_missing_fails_with_its_name_after_the_others(broker: Broker) -> None:
    topic = f"observed-{uuid4().hex[:8]}"
    create(broker.bootstrap_servers, topic, 1)
    workspace = KafkaConnectWorkspace(bootstrap_servers=broker.bootstrap_servers)
    defs = dg.Definitions(assets=[build_kafka_topic_assets(workspace=workspace, topics=[topic, "no-such-topic"])])
    result = defs.resolve_implicit_global_asset_job_def().execute_in_process(raise_on_error=False)
    assert not result.success
    failure = result.failure_data_for_node(f"observe_local_{'no_such_topic'}")
    assert failure is not None
    assert failure.user_failure_data is not None
    assert "do not have no-such-topic" in str(failure.user_failure_data.description)
    assert [event.asset_key for event in result.get_asset_observation_events()] == [topic_key(topic)]


def test_sizes_are_of_the_topics_asked_for_alone(broker: Broker) -> None:
    topic = f"sized-{uuid4().hex[:8]}"
    create(broker.bootstrap_servers, topic, 1)
    send(broker, topic, b"x" * 500)
    sizes = fetch_topic_sizes(broker.bootstrap_servers, [topic, "no-such-topic"], 30)
    assert sizes.keys() == {(topic, 0)}
    assert 500 < sizes[topic, 0] < 1500
