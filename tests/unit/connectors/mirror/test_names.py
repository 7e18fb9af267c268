"""Names of mirrored and internal topics, and cycles over several clusters."""

import pytest

from connect_dagster.connectors.mirror.names import (
    BUNDLED_POLICIES,
    DefaultReplicationPolicy,
    IdentityReplicationPolicy,
    ReplicationPolicy,
    checkpoint_topic,
    is_cycle,
)

SEPARATOR = "replication.policy.separator"
INTERNAL = "replication.policy.internal.topic.separator.enabled"


class SuffixPolicy(ReplicationPolicy):
    """A policy of a user: the source after the name."""

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{topic}@{source_alias}"

    def topic_source(self, topic: str) -> str | None:
        return topic.rpartition("@")[2] if "@" in topic else None

    def upstream_topic(self, topic: str) -> str | None:
        return topic.rpartition("@")[0] if "@" in topic else None


class CircularPolicy(SuffixPolicy):
    """A policy of a user with a mistake: two topics that are the upstream of each other."""

    def topic_source(self, topic: str) -> str | None:
        return "somewhere"

    def upstream_topic(self, topic: str) -> str | None:
        return "b" if topic == "a" else "a"


def default(**properties: str) -> DefaultReplicationPolicy:
    policy = DefaultReplicationPolicy()
    policy.configure({name.replace("_", "."): value for name, value in properties.items()})
    return policy


def separated(separator: str, internal: str = "true") -> DefaultReplicationPolicy:
    policy = DefaultReplicationPolicy()
    policy.configure({SEPARATOR: separator, INTERNAL: internal})
    return policy


def identity(**properties: str) -> IdentityReplicationPolicy:
    policy = IdentityReplicationPolicy()
    policy.configure({name.replace("_", "."): value for name, value in properties.items()})
    return policy


@pytest.mark.parametrize(
    ("separator", "topic", "source", "upstream", "original"),
    [
        (".", "orders", None, None, "orders"),
        (".", "eu.orders", "eu", "orders", "orders"),
        (".", "us.eu.orders", "us", "eu.orders", "orders"),
        (".", "eu.", None, None, "eu."),
        (".", "eu..", None, None, "eu.."),
        (".", ".", None, None, "."),
        (".", ".orders", "", "orders", "orders"),
        (".", "eu..orders", "eu", ".orders", "orders"),
        (".", "eu.orders.", "eu", "orders.", "orders."),
        (".", "", None, None, ""),
        ("--", "eu--orders", "eu", "orders", "orders"),
        ("--", "eu---", "eu", "-", "-"),
        ("--", "eu.orders", None, None, "eu.orders"),
        ("\\E", "eu\\Eorders", "eu", "orders", "orders"),
        ("", "abc", "a", "bc", "c"),
        ("", "a", None, None, "a"),
    ],
)
def test_the_parts_of_a_remote_topic(
    separator: str, topic: str, source: str | None, upstream: str | None, original: str
) -> None:
    policy = separated(separator)
    assert policy.topic_source(topic) == source
    assert policy.upstream_topic(topic) == upstream
    assert policy.original_topic(topic) == original


def test_a_remote_topic_goes_back_to_its_parts() -> None:
    remote = default().format_remote_topic("eu", "orders")
    assert (remote, default().topic_source(remote), default().upstream_topic(remote)) == ("eu.orders", "eu", "orders")
    assert separated("__").format_remote_topic("eu", "orders") == "eu__orders"


@pytest.mark.parametrize(
    ("properties", "syncs", "checkpoints"),
    [
        ({}, "mm2-offset-syncs.us.internal", "us.checkpoints.internal"),
        ({SEPARATOR: "-"}, "mm2-offset-syncs-us-internal", "us-checkpoints-internal"),
        ({SEPARATOR: "-", INTERNAL: "TRUE"}, "mm2-offset-syncs-us-internal", "us-checkpoints-internal"),
        ({SEPARATOR: "-", INTERNAL: "false"}, "mm2-offset-syncs.us.internal", "us.checkpoints.internal"),
        ({SEPARATOR: "-", INTERNAL: " true"}, "mm2-offset-syncs.us.internal", "us.checkpoints.internal"),
        ({INTERNAL: "false"}, "mm2-offset-syncs.us.internal", "us.checkpoints.internal"),
    ],
)
@pytest.mark.parametrize("kind", [DefaultReplicationPolicy, IdentityReplicationPolicy])
def test_internal_topics(
    kind: type[ReplicationPolicy], properties: dict[str, str], syncs: str, checkpoints: str
) -> None:
    policy = kind()
    policy.configure(properties)
    assert policy.heartbeats_topic() == "heartbeats"
    assert policy.offset_syncs_topic("us") == syncs
    assert policy.checkpoints_topic("us") == checkpoints
    assert policy.is_mm2_internal_topic(syncs)
    assert policy.is_checkpoints_topic(checkpoints)
    assert policy.is_mm2_internal_topic(checkpoints)


@pytest.mark.parametrize(
    ("separator", "topic", "internal"),
    [
        (".", "orders", False),
        (".", "__consumer_offsets", True),
        (".", ".orders", True),
        (".", "mm2-configs.eu.internal", True),
        (".", "mm2-configs-eu-internal", False),
        ("-", "mm2-configs-eu-internal", True),
        ("-", "mm2-configs.eu.internal", False),
        (".", "mm2", False),
        (".", "my.mm2.internal", False),
        (".", "us.eu.checkpoints.internal", True),
        (".", "checkpoints.internal", False),
    ],
)
def test_which_topics_are_internal(separator: str, topic: str, internal: bool) -> None:
    assert separated(separator).is_internal_topic(topic) is internal


@pytest.mark.parametrize(
    ("topic", "heartbeats"),
    [("heartbeats", True), ("eu.heartbeats", True), ("us.eu.heartbeats", True), ("my-heartbeats", False)],
)
def test_which_topics_have_heartbeats(topic: str, heartbeats: bool) -> None:
    assert default().is_heartbeats_topic(topic) is heartbeats
    assert identity().is_heartbeats_topic(topic) is heartbeats


def test_identity_leaves_all_names_but_those_of_heartbeats() -> None:
    policy = identity(source_cluster_alias="eu")
    assert policy.format_remote_topic("eu", "orders") == "orders"
    assert (policy.topic_source("orders"), policy.upstream_topic("orders")) == ("eu", "orders")
    assert (policy.topic_source("us.orders"), policy.original_topic("us.orders")) == ("eu", "us.orders")
    assert policy.format_remote_topic("eu", "heartbeats") == "eu.heartbeats"
    assert policy.format_remote_topic("eu", "my-heartbeats") == "eu.my-heartbeats"
    assert (policy.topic_source("us.heartbeats"), policy.upstream_topic("us.heartbeats")) == ("us", "heartbeats")
    assert (policy.topic_source("heartbeats"), policy.upstream_topic("heartbeats")) == (None, None)
    assert identity().topic_source("orders") is None


@pytest.mark.parametrize(
    ("policy", "topic", "cycle"),
    [
        (default(), "orders", False),
        (default(), "us.orders", True),
        (default(), "eu.orders", False),
        (default(), "eu.us.orders", True),
        (default(), "eu.us.", False),
        (separated("-"), "us.orders", False),
        (separated("-"), "eu-us-orders", True),
        (identity(source_cluster_alias="eu"), "us.orders", False),
        (identity(source_cluster_alias="us"), "orders", True),
        (identity(), "orders", False),
        (identity(source_cluster_alias="eu"), "us.heartbeats", True),
        (SuffixPolicy(), "orders@us", True),
        (SuffixPolicy(), "orders@us@eu", True),
        (SuffixPolicy(), "orders@eu", False),
        (CircularPolicy(), "a", False),
    ],
)
def test_which_topics_came_from_the_target(policy: ReplicationPolicy, topic: str, cycle: bool) -> None:
    assert is_cycle(policy, topic, "us") is cycle


@pytest.mark.parametrize(
    ("policy", "topic", "renamed"),
    [
        (default(), "orders", "eu.orders"),
        (default(), "us.orders", "orders"),
        (default(), "us.asia.orders", "orders"),
        (default(), "asia.us.orders", "eu.asia.us.orders"),
        (identity(source_cluster_alias="eu"), "orders", "orders"),
        (SuffixPolicy(), "orders", "orders@eu"),
    ],
)
def test_the_topic_of_a_checkpoint(policy: ReplicationPolicy, topic: str, renamed: str) -> None:
    assert checkpoint_topic(policy, topic, source_alias="eu", target_alias="us") == renamed


def test_a_users_policy_has_javas_defaults() -> None:
    policy = SuffixPolicy()
    policy.configure({SEPARATOR: "-"})
    assert policy.original_topic("orders@eu@us") == "orders"
    assert policy.offset_syncs_topic("us") == "mm2-offset-syncs.us.internal"
    assert policy.checkpoints_topic("eu") == "eu.checkpoints.internal"
    assert policy.is_heartbeats_topic("heartbeats@eu")
    assert policy.is_internal_topic("eu.checkpoints.internal")
    assert not policy.is_internal_topic("orders@eu")
    assert CircularPolicy().original_topic("a") == "b"


def test_policies_have_the_names_of_java() -> None:
    assert dict(BUNDLED_POLICIES) == {
        "org.apache.kafka.connect.mirror.DefaultReplicationPolicy": DefaultReplicationPolicy,
        "org.apache.kafka.connect.mirror.IdentityReplicationPolicy": IdentityReplicationPolicy,
    }
    assert SuffixPolicy.java_class is None
