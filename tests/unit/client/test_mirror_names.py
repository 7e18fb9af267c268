import pytest

from connect_dagster.client.mirror_names import MirrorNames

JAVA = "org.apache.kafka.connect.mirror."
CONFIG = {"source.cluster.alias": "eu", "target.cluster.alias": "us"}


@pytest.mark.parametrize(
    ("more", "policy", "remote", "heartbeats", "checkpoints"),
    [
        ({}, "DefaultReplicationPolicy", "eu.orders", "eu.heartbeats", "eu.checkpoints.internal"),
        (
            {"replication.policy.separator": "_"},
            "DefaultReplicationPolicy",
            "eu_orders",
            "eu_heartbeats",
            "eu_checkpoints_internal",
        ),
        (
            {"replication.policy.class": f"{JAVA}IdentityReplicationPolicy"},
            "IdentityReplicationPolicy",
            "orders",
            "eu.heartbeats",
            "eu.checkpoints.internal",
        ),
        (
            {"replication.policy.class": "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"},
            "IdentityReplicationPolicy",
            "orders",
            "eu.heartbeats",
            "eu.checkpoints.internal",
        ),
    ],
)
def test_names_are_those_of_the_policy(
    more: dict[str, str], policy: str, remote: str, heartbeats: str, checkpoints: str
) -> None:
    names = MirrorNames.of({**CONFIG, **more})
    assert (names.flow, names.policy_name) == ("eu->us", policy)
    assert names.remote("orders") == remote
    assert names.upstream(remote) == "orders"
    assert (names.heartbeats, names.checkpoints) == (heartbeats, checkpoints)
    assert all(map(names.is_state, (heartbeats, checkpoints, "heartbeats")))
    assert not names.is_state(remote)


def test_topics_of_another_cluster_are_not_the_flows() -> None:
    assert MirrorNames.of(CONFIG).upstream("asia.orders") is None
    assert MirrorNames.of(CONFIG).upstream("orders") is None


def test_a_policy_of_a_users_own_names_no_topics_but_mirrormakers() -> None:
    names = MirrorNames.of({**CONFIG, "replication.policy.class": "acme.SuffixPolicy"})
    assert (names.policy_name, names.is_known) == ("SuffixPolicy", False)
    assert names.remote("orders") is None
    assert names.upstream("eu.orders") is None
    assert names.is_state("eu.checkpoints.internal")
