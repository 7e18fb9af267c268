"""What MirrorMaker has written to a cluster, by the names of its topics."""

import pytest

from connect_dagster.connectors.mirror.client import MirrorClient
from connect_dagster.connectors.mirror.clusters import ForwardingAdmin

TOPICS = (
    "__consumer_offsets",
    "asia.eu.heartbeats",
    "asia.heartbeats",
    "asia.orders",
    "eu.checkpoints.internal",
    "eu.heartbeats",
    "eu.orders",
    "heartbeats",
    "mm2-offsets.eu.internal",
    "orders",
)


@pytest.fixture(name="client")
def client_fixture(monkeypatch: pytest.MonkeyPatch) -> MirrorClient:
    monkeypatch.setattr(ForwardingAdmin, "topics", lambda _: dict.fromkeys(TOPICS, 1))
    return MirrorClient({"bootstrap.servers": "127.0.0.1:1"})


def test_topics_that_are_mirrored(client: MirrorClient) -> None:
    everywhere = {"asia.eu.heartbeats", "asia.heartbeats", "asia.orders", "eu.heartbeats", "eu.orders"}
    assert client.remote_topics() == everywhere
    assert client.remote_topics("eu") == {"eu.heartbeats", "eu.orders"}


def test_topics_of_mirrormaker(client: MirrorClient) -> None:
    assert client.heartbeat_topics() == {"heartbeats", "eu.heartbeats", "asia.heartbeats", "asia.eu.heartbeats"}
    assert client.checkpoint_topics() == {"eu.checkpoints.internal"}


def test_clusters_upstream_and_the_shortest_way_from_them(client: MirrorClient) -> None:
    assert client.upstream_clusters() == {"eu", "asia"}
    assert [client.replication_hops(alias) for alias in ("eu", "asia", "africa")] == [1, 1, None]
