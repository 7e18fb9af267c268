"""Topics of the target follow those of the source."""

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow


def set_config(cluster: Cluster, topic: str, **config: str) -> None:
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in config.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)
    cluster.admin.incremental_alter_configs([resource])[resource].result(30)


def config_of(cluster: Cluster, topic: str) -> dict[str, str]:
    """The settings that a topic has of its own."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    found = cluster.admin.describe_configs([resource])[resource].result(30)
    return {entry.name: entry.value for entry in found.values() if entry.source == 1}


def test_lb_05_new_topics_and_partitions_are_made_and_read(flow: Flow, source: Cluster, target: Cluster) -> None:
    first = source.create(f"{flow.alias}-one")
    flow.start("Source", topics=f"{flow.alias}-.*")
    source.produce(first, [{"value": b"1", "partition": 0}])
    target_first = flow.remote(first)
    assert target.read(target_first, {0: 1})[0][0].value == b"1"

    second = source.create(f"{flow.alias}-two", 2)
    source.produce(second, [{"value": b"2", "partition": 1}])
    assert target.read(flow.remote(second), {1: 1})[1][0].value == b"2"
    source.grow(first, 3)
    source.produce(first, [{"value": b"3", "partition": 2}])
    eventually(lambda: target.partitions(target_first) == 3, "the topic grows")
    assert target.read(target_first, {2: 1})[2][0].value == b"3"

    source.delete(second)
    flow.worker.wait_log(f"Found 2 deleted topic-partitions on {flow.alias}.", 60)
    source.produce(first, [{"value": b"4", "partition": 0}])
    assert target.read(target_first, {0: 2})[0][1].value == b"4"
    assert target.partitions(flow.remote(second)) == 2, "nothing is deleted on the target"


def test_lb_06_settings_follow_but_for_those_that_are_excluded(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t", retention_ms="1000000", min_insync_replicas="1")
    flow.start("Source", topics=topic)
    remote = flow.remote(topic)
    eventually(lambda: target.partitions(remote) == 1, "the topic is created")
    assert config_of(target, remote)["retention.ms"] == "1000000", "from its creation"
    set_config(source, topic, retention_ms="2000000", min_insync_replicas="2", max_message_bytes="2000000")
    eventually(lambda: config_of(target, remote).get("retention.ms") == "2000000", "the setting follows")
    found = config_of(target, remote)
    assert found["max.message.bytes"] == "2000000"
    assert "min.insync.replicas" not in found
    set_config(target, remote, flush_ms="5000")
    eventually(lambda: "flush.ms" not in config_of(target, remote), "a setting of the target alone goes")


@pytest.mark.parametrize("policy", ["IdentityReplicationPolicy"])
def test_lb_13_a_topic_keeps_its_name(flow: Flow, source: Cluster, target: Cluster, policy: str) -> None:
    topic = source.create(f"{flow.alias}-same")
    source.produce(topic, [{"value": b"1"}])
    flow.start("Source", topics=topic, replication_policy_class=f"org.apache.kafka.connect.mirror.{policy}")
    assert target.read(topic, {0: 1})[0][0].value == b"1"


def test_lb_02_two_sources_and_two_targets(flow: Flow, source: Cluster, target: Cluster) -> None:
    """Two aliases stand for two clusters on each side: what a flow does depends on its aliases alone."""
    topic = source.create(f"{flow.alias}-fan")
    source.produce(topic, [{"value": b"1"}])
    flow.start("Source", topics=topic)
    other = Flow(f"{flow.alias}b", source, target, flow.worker)
    other.start("Source", topics=topic)
    try:
        for each in (flow, other):
            assert target.read(each.remote(topic), {0: 1})[0][0].value == b"1"
    finally:
        other.end()
