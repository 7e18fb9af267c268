"""Filters of topics, groups and configurations: lists of regular expressions, and what is mirrored of all topics."""

import pytest

from connect_dagster.connectors.mirror.filters import (
    BUNDLED_FILTERS,
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    GroupFilter,
    TopicFilter,
    topics_to_replicate,
)
from connect_dagster.connectors.mirror.names import DefaultReplicationPolicy, IdentityReplicationPolicy
from connect_dagster.errors import ConfigError


class ShortTopics(TopicFilter):
    """A filter of a user."""

    def should_replicate_topic(self, topic: str) -> bool:
        return len(topic) < 5


class ShortGroups(GroupFilter):
    """A filter of a user."""

    def should_replicate_group(self, group: str) -> bool:
        return len(group) < 5


class ShortProperties(ConfigPropertyFilter):
    """A filter of a user."""

    def should_replicate_config_property(self, name: str) -> bool:
        return len(name) < 5


def topic_filter(properties: dict[str, str]) -> DefaultTopicFilter:
    found = DefaultTopicFilter()
    found.configure(properties)
    return found


@pytest.mark.parametrize(
    ("properties", "accepted", "refused"),
    [
        (
            {},
            ["orders", "eu.orders", "mm2-x"],
            ["mm2-offset-syncs.us.internal", "orders.replica", "__consumer_offsets"],
        ),
        ({"topics": "orders"}, ["orders"], ["orders2", "my-orders", "eu.orders"]),
        ({"topics": "orders, pay.*"}, ["orders", "payments"], ["other"]),
        ({"topics": "a|b"}, ["a", "b"], ["ab"]),
        ({"topics": "(?i)orders, payments"}, ["ORDERS", "Payments"], ["other"]),
        ({"topics": "(o)rders, x\\1"}, ["orders"], ["x", "xo"]),
        ({"topics": ""}, [], ["", "orders"]),
        ({"topics": "orders,orders"}, ["orders"], ["other"]),
        ({"topics.exclude": ""}, ["orders.replica", "__consumer_offsets", ""], []),
        ({"topics": "orders.*", "topics.exclude": "orders-old"}, ["orders", "orders-older"], ["orders-old"]),
        ({"topics": "[a-z&&[^b]]+"}, ["ac"], ["ab"]),
    ],
)
def test_topics(properties: dict[str, str], accepted: list[str], refused: list[str]) -> None:
    found = topic_filter(properties)
    assert found.accepted([*accepted, *refused]) == accepted
    assert [name for name in [*refused, *accepted] if found.should_replicate_topic(name)] == accepted


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"topics": "a,,b"}, "Configuration 'topics' values must not be empty."),
        ({"topics.exclude": "a,"}, "Configuration 'topics.exclude' values must not be empty."),
        ({"topics": "(a"}, "Invalid value (a for configuration topics: Invalid regex: "),
    ],
)
def test_lists_that_are_refused(properties: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        topic_filter(properties)
    assert str(caught.value).startswith(message)


def test_groups() -> None:
    found = DefaultGroupFilter()
    found.configure({})
    names = ["billing", "console-consumer-1", "connect-sink", "__x", "", "a\0b", "line\nbreak"]
    assert found.accepted(names) == ["billing", "", "a\0b"]
    found.configure({"groups": "billing,a.b", "groups.exclude": "b.*"})
    assert found.accepted(names) == ["a\0b"]
    assert not found.should_replicate_group("billing")


def test_configurations_of_topics() -> None:
    found = DefaultConfigPropertyFilter()
    found.configure({})
    names = ["cleanup.policy", "min.insync.replicas", "message.timestamp.type", "min-insync-replicas", "retention.ms"]
    # The points of the names match any character, as in Java.
    assert found.accepted(names) == ["cleanup.policy", "retention.ms"]
    assert not found.should_replicate_source_default("retention.ms")
    found.configure({"config.properties.exclude": "retention.*", "use.defaults.from": "source"})
    assert [name for name in names if not found.should_replicate_config_property(name)] == ["retention.ms"]
    assert found.should_replicate_source_default("retention.ms")
    found.configure({"config.properties.exclude": ""})
    assert found.accepted(names) == names


@pytest.mark.parametrize("kind", [ShortTopics, ShortGroups, ShortProperties])
def test_a_users_filter_decides_name_by_name(kind: type[ShortTopics | ShortGroups | ShortProperties]) -> None:
    found = kind()
    found.configure({})
    assert found.accepted(["orders", "pay", "tax"]) == ["pay", "tax"]
    assert found.java_class is None
    found.close()


def test_defaults_of_the_source_are_left_out_unless_a_filter_says_so() -> None:
    assert not ShortProperties().should_replicate_source_default("pay")


TOPICS = [
    "orders",
    "us.orders",
    "eu.us.orders",
    "asia.orders",
    "heartbeats",
    "asia.heartbeats",
    "us.heartbeats",
    "asia.checkpoints.internal",
    "mm2-configs.eu.internal",
    "__consumer_offsets",
    ".hidden",
]


@pytest.mark.parametrize(
    ("topics", "heartbeats", "mirrored"),
    [
        (".*", True, ["orders", "asia.orders", "heartbeats", "asia.heartbeats"]),
        ("orders", True, ["orders", "heartbeats", "asia.heartbeats"]),
        ("orders", False, ["orders"]),
        ("", False, []),
    ],
)
def test_which_topics_are_mirrored(topics: str, heartbeats: bool, mirrored: list[str]) -> None:
    found = topics_to_replicate(
        TOPICS,
        topic_filter=topic_filter({"topics": topics, "topics.exclude": ""}),
        policy=DefaultReplicationPolicy(),
        target_alias="us",
        heartbeats=heartbeats,
    )
    assert found == mirrored


def test_without_prefixes_only_heartbeats_show_a_cycle() -> None:
    policy = IdentityReplicationPolicy()
    policy.configure({"source.cluster.alias": "eu"})
    found = topics_to_replicate(TOPICS, topic_filter=topic_filter({}), policy=policy, target_alias="us")
    assert found == ["orders", "us.orders", "eu.us.orders", "asia.orders", "heartbeats", "asia.heartbeats"]


def test_filters_have_the_names_of_java() -> None:
    assert dict(BUNDLED_FILTERS) == {
        f"org.apache.kafka.connect.mirror.{kind.__name__}": kind
        for kind in (DefaultTopicFilter, DefaultGroupFilter, DefaultConfigPropertyFilter)
    }
