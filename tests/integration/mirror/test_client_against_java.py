"""Java's `RemoteClusterUtils` and our client beside each other, on a cluster that our connectors have written."""

import time
from collections.abc import Iterator

import pytest

from connect_dagster.connectors.mirror.client import GroupOffsets, MirrorClient
from tests.conformance.java_mirror import JavaMirror
from tests.integration.mirror.clusters import Cluster, eventually
from tests.integration.mirror.conftest import Flow

pytestmark = pytest.mark.nightly
RECORDS = 2_000
SETTLED_SECONDS = 3.0  # of several intervals between checkpoints


@pytest.fixture(scope="module")
def java() -> Iterator[JavaMirror]:
    with JavaMirror() as process:
        yield process


def test_lb_11_a_group_goes_on_from_equal_offsets_and_loses_nothing(
    flow: Flow, source: Cluster, target: Cluster, java: JavaMirror
) -> None:
    topic, group = source.create(f"{flow.alias}-t", 3), f"{flow.alias}-group"
    client = MirrorClient({"bootstrap.servers": target.bootstrap_servers})

    def translated() -> int:
        found = f"{flow.alias}.checkpoints.internal" in client.checkpoint_topics()
        return len(client.remote_consumer_offsets(flow.alias, group.__eq__).get(group, {})) if found else 0

    # The checkpoint task translates with syncs that come after it has read the topic once: its first checkpoint tells.
    source.produce(topic, ({"value": b"first", "partition": number} for number in range(3)))
    source.commit(group, {(topic, 2): 0})
    flow.start("Source", topics=topic, offset_lag_max="10", heartbeats_replication_enabled="true")
    source.produce("heartbeats", [{"value": b"beat"}])  # is copied as well, and shows how far the source is
    flow.start("Heartbeat")
    flow.start("Checkpoint", topics=topic, groups=group)
    eventually(lambda: translated() == 1, "the first partition has a checkpoint")
    source.produce(topic, ({"value": str(number).encode(), "partition": number % 3} for number in range(RECORDS)))
    committed = {(topic, 0): 500, (topic, 1): 100, (topic, 2): 0}
    source.commit(group, committed)
    eventually(lambda: translated() == 3, "all partitions have checkpoints")
    target.read(flow.remote(topic), dict.fromkeys(range(3), RECORDS // 3 + 1))

    def offsets() -> GroupOffsets:
        return client.remote_consumer_offsets(flow.alias, group.__eq__)[group]

    def is_settled() -> bool:
        before = offsets()
        time.sleep(SETTLED_SECONDS)
        return offsets() == before

    eventually(is_settled, "the last checkpoints are emitted")
    eventually(lambda: client.replication_hops(flow.alias) == 1, "a heartbeat is there")
    ours = offsets()
    answer = java.ask("client", cluster={"bootstrap.servers": target.bootstrap_servers}, alias=flow.alias, group=group)
    assert answer["offsets"] == {f"{one.topic}-{one.partition}": at.offset for one, at in ours.items()}
    assert set(answer["heartbeats"]) == client.heartbeat_topics()
    assert set(answer["checkpoints"]) == client.checkpoint_topics()
    assert set(answer["upstream"]) == client.upstream_clusters()
    assert answer["hops"] == 1
    for one, at in ours.items():
        assert at.offset <= committed[topic, one.partition], "no record is lost"
