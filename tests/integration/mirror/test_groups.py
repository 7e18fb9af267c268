"""Offsets of consumer groups are translated, and set on the target."""

import itertools
from typing import Any

import pytest
from confluent_kafka import Consumer

from connect_dagster.connectors.mirror.records import Checkpoint, Heartbeat, OffsetSync
from connect_dagster.plugin.records import TopicPartition
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow

pytestmark = pytest.mark.nightly

RECORDS = 1_000


def checkpoints(flow: Flow, target: Cluster) -> list[Checkpoint]:
    topic = f"{flow.alias}.checkpoints.internal"
    found = target.read_all(topic)[0]
    return [made for one in found if (made := Checkpoint.decode(one.key, one.value)) is not None]


def test_lb_10_an_offset_becomes_a_checkpoint_that_is_never_beyond_it(
    flow: Flow, source: Cluster, target: Cluster
) -> None:
    topic, group = source.create(f"{flow.alias}-t"), f"{flow.alias}-group"
    source.produce(topic, ({"value": str(number).encode()} for number in range(RECORDS)))
    source.commit(group, {(topic, 0): 700})
    flow.start("Source", topics=topic, offset_lag_max="10")
    target.read(flow.remote(topic), {0: RECORDS})
    flow.start("Checkpoint", topics=topic, groups=group)
    checkpoints_topic = f"{flow.alias}.checkpoints.internal"
    eventually(lambda: target.ends(checkpoints_topic).get(0, 0) > 0, "a checkpoint is emitted")
    found = checkpoints(flow, target)[-1]
    assert (found.group, found.topic_partition) == (group, TopicPartition(flow.remote(topic), 0))
    assert found.upstream_offset == 700
    assert 0 <= found.downstream_offset <= 700
    source.commit(group, {(topic, 0): RECORDS})
    eventually(lambda: checkpoints(flow, target)[-1].downstream_offset == RECORDS, "the end is translated exactly")


def test_each_offset_sync_is_a_true_pair(flow: Flow, source: Cluster, target: Cluster) -> None:
    topic = source.create(f"{flow.alias}-t")
    source.produce(topic, ({"value": str(number).encode()} for number in range(RECORDS)))
    flow.start("Source", topics=topic, offset_lag_max="0")
    remote = target.read(flow.remote(topic), {0: RECORDS})[0]
    syncs = f"mm2-offset-syncs.target-of-{flow.alias}.internal"
    local = source.read(topic, {0: RECORDS})[0]

    def pairs() -> list[OffsetSync]:
        found = source.read_all(syncs)[0]
        return [made for one in found if (made := OffsetSync.decode(one.key, one.value)) is not None]

    eventually(lambda: any(one.upstream_offset == RECORDS - 1 for one in pairs()), "the last record has a sync")
    for one in pairs():
        assert local[one.upstream_offset].content == remote[one.downstream_offset].content


def test_lb_12_offsets_of_an_idle_group_are_set_and_those_of_an_active_one_left(
    flow: Flow, source: Cluster, target: Cluster
) -> None:
    topic, group = source.create(f"{flow.alias}-t"), f"{flow.alias}-group"
    source.produce(topic, ({"value": str(number).encode()} for number in range(RECORDS)))
    source.commit(group, {(topic, 0): 400})
    remote = flow.remote(topic)
    flow.start("Source", topics=topic, offset_lag_max="10")
    target.read(remote, {0: RECORDS})
    flow.start("Checkpoint", topics=topic, groups=group, sync_group_offsets_enabled="true")
    eventually(lambda: 0 < target.committed(group, remote) <= 400, "the offset is set on the target")

    settings: dict[str, Any] = {
        "bootstrap.servers": target.bootstrap_servers,
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    consumer = Consumer(settings)
    try:
        consumer.subscribe([remote])
        first = next(one for one in iter(lambda: consumer.poll(1.0), 0) if one is not None and one.error() is None)
        assert (first.offset() or 0) <= 400, "no record is lost"
        before = target.committed(group, remote)
        source.commit(group, {(topic, 0): 900})
        eventually(lambda: checkpoints(flow, target)[-1].upstream_offset == 900, "the checkpoint moves on")
        for _ in range(20):
            consumer.poll(0.2)
        assert target.committed(group, remote) == before
    finally:
        consumer.close()
    eventually(lambda: target.committed(group, remote) > before, "the idle group's offset moves on")


def test_lb_09_heartbeats_come_each_second(flow: Flow, source: Cluster, target: Cluster) -> None:
    flow.start("Heartbeat")
    eventually(lambda: len(beats(flow, target)) >= 3, "three heartbeats")
    times = beats(flow, target)
    gaps = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert all(500 < gap < 5_000 for gap in gaps), gaps


def beats(flow: Flow, target: Cluster) -> list[int]:
    found = target.read_all("heartbeats").get(0, [])
    decoded = (Heartbeat.decode(one.key, one.value) for one in found)
    return [one.timestamp for one in decoded if one is not None and one.source_alias == flow.alias]
