"""Topics and groups that the filters of a connector choose in the source."""

from collections.abc import Iterable

import pytest

from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin, GroupOffset
from connect_dagster.orchestration.observations import flow_filters
from connect_dagster.orchestration.observations.flow_filters import (
    custom_filter,
    fetch_mirrored_topics,
    fetch_translated_groups,
)
from connect_dagster.plugin.records import TopicPartition

CONFIG = {
    "name": "mirror",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
    "source.cluster.bootstrap.servers": "eu:9092",
    "target.cluster.bootstrap.servers": "us:9092",
    "forgotten": None,
}
TOPICS = ["__consumer_offsets", "heartbeats", "mm2-offset-syncs.us.internal", "orders", "payments", "us.orders"]


class Source(ForwardingAdmin):
    """A cluster with a group of each topic."""

    def __init__(self) -> None:
        """Ask no brokers."""

    def consumer_groups(self) -> list[str]:
        return ["of-orders", "of-payments", "connect-sink"]

    def group_offsets(self, groups: Iterable[str]) -> tuple[dict[str, dict[TopicPartition, GroupOffset]], Errors]:
        return {group: {TopicPartition(group.removeprefix("of-"), 0): GroupOffset(1)} for group in groups}, {}


@pytest.fixture(autouse=True)
def source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_filters, "fetch_topic_names", lambda *_: TOPICS)
    monkeypatch.setattr(ForwardingAdmin, "of", lambda *_: Source())


@pytest.mark.parametrize(
    ("options", "topics"),
    [
        ({}, ["orders", "payments"]),
        ({"topics": "or.*, heartbeats"}, ["orders"]),
        ({"topics.exclude": "pay.*,mm2.*,__.*"}, ["orders"]),
        ({"topic.filter.class": "company.mirror.OwnTopics"}, None),
        ({"topic.filter.class": "org.apache.kafka.connect.mirror.DefaultTopicFilter"}, ["orders", "payments"]),
        ({"replication.policy.class": "company.mirror.OwnNames"}, None),
        (
            {"replication.policy.class": "io.strimzi.kafka.connect.mirror.IdentityReplicationPolicy"},
            ["orders", "payments", "us.orders"],
        ),
    ],
)
def test_topics_without_heartbeats_and_those_of_the_target(options: dict[str, str], topics: list[str] | None) -> None:
    assert fetch_mirrored_topics("eu:9092", CONFIG | options, 1.0) == topics


@pytest.mark.parametrize(
    ("options", "groups"),
    [
        ({}, ["of-orders", "of-payments"]),
        ({"topics": "orders"}, ["of-orders"]),
        ({"groups": "of-payments"}, ["of-payments"]),
        ({"group.filter.class": "company.mirror.OwnGroups"}, None),
    ],
)
def test_groups_with_offsets_of_mirrored_topics(options: dict[str, str], groups: list[str] | None) -> None:
    assert fetch_translated_groups("eu:9092", CONFIG | options, 1.0) == groups


@pytest.mark.parametrize(
    ("config", "own"),
    [
        ({}, None),
        ({"config.property.filter.class": "org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter"}, None),
        ({"config.property.filter.class": "company.mirror.OnlyRetention"}, "company.mirror.OnlyRetention"),
    ],
)
def test_a_class_of_the_user_is_named(config: dict[str, str], own: str | None) -> None:
    assert custom_filter(config, "config.property.filter.class") == own
