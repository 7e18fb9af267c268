"""Topics of a flow as they are found, created and grown. No brokers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from connect_dagster.connectors.mirror.clusters import TopicSetting
from connect_dagster.connectors.mirror.filters import ConfigPropertyFilter, TopicFilter
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.names import DefaultReplicationPolicy
from connect_dagster.connectors.mirror.source.topics import MirroredTopics, Replication
from connect_dagster.kafka.topic_admin import NewTopic
from connect_dagster.plugin.records import TopicPartition

AWAY = KafkaException(KafkaError(KafkaError._TIMED_OUT))


class All(TopicFilter):
    """Accepts all topics."""

    def should_replicate_topic(self, topic: str) -> bool:
        return True


class Retention(ConfigPropertyFilter):
    """Accepts one property."""

    def should_replicate_config_property(self, name: str) -> bool:
        return name == "retention.ms"


@dataclass
class Admin:
    """A cluster with topics and their numbers of partitions; each request that changes something is kept."""

    found: dict[str, int] = field(default_factory=dict)
    failure: KafkaException | None = None
    changes: list[Any] = field(default_factory=list)

    def topics(self) -> dict[str, int]:
        if self.failure is not None:
            raise self.failure
        return self.found

    def topic_settings(self, topics: Iterable[str]) -> dict[str, list[TopicSetting]]:
        settings = [
            TopicSetting(name, value, False, True, True) for name, value in (("retention.ms", "5"), ("flush.ms", "7"))
        ]
        return dict.fromkeys(topics, settings)

    def create_topics(self, topics: Sequence[NewTopic]) -> dict[str, KafkaException]:
        self.changes += [(one.name, one.partitions, dict(one.settings)) for one in topics]
        return {}

    def create_partitions(self, counts: Mapping[str, int]) -> dict[str, KafkaException]:
        self.changes += counts.items()
        return {}


@pytest.fixture
def source() -> Admin:
    return Admin({"orders": 2, "mm2-offset-syncs.B.internal": 1, "__consumer_offsets": 50, "B.payments": 1})


@pytest.fixture
def target() -> Admin:
    return Admin({"payments": 1, "A.checkpoints.internal": 1})


@pytest.fixture
def topics(source: Admin, target: Admin) -> MirroredTopics:
    rules = Replication(Flow("A", "B"), DefaultReplicationPolicy(), All(), Retention(), heartbeats=True)
    return MirroredTopics(rules, cast("Any", source), cast("Any", target), 2)


def partitions(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


def test_what_is_missing_is_created_with_its_settings(topics: MirroredTopics, target: Admin) -> None:
    topics.load()
    assert topics.partitions == partitions("orders", 2)
    topics.create_missing()
    assert target.changes == [("A.orders", 2, {"retention.ms": "5"})]
    assert topics.replicated() == [], "until the target is looked at again"
    target.found["A.orders"] = 2
    topics.look_at_target()
    assert topics.replicated() == ["orders"]


def test_tasks_are_configured_again_where_partitions_are_other_ones(
    topics: MirroredTopics, source: Admin, target: Admin
) -> None:
    target.found["A.orders"] = 2
    topics.load()
    assert not topics.refresh()
    source.found["orders"] = 3
    assert topics.refresh()
    assert target.changes == [("A.orders", 3)]
    target.found["A.orders"] = 3
    assert not topics.refresh()
    del source.found["orders"]
    assert topics.refresh()
    assert topics.partitions == []
    assert len(target.changes) == 1, "nothing is deleted on the target"


def test_tasks_are_configured_again_where_the_target_lacks_partitions(topics: MirroredTopics, target: Admin) -> None:
    target.found["A.orders"] = 2
    topics.load()
    target.found["A.orders"] = 1
    assert topics.refresh()
    assert target.changes == [("A.orders", 2)]
    del target.found["A.orders"]
    assert topics.refresh()
    assert target.changes[1:] == [("A.orders", 2, {"retention.ms": "5"})]


@pytest.mark.parametrize("away", ["source", "target"])
def test_nothing_changes_while_a_cluster_is_away(
    topics: MirroredTopics, source: Admin, target: Admin, away: str
) -> None:
    target.found["A.orders"] = 2
    topics.load()
    source.found["orders"] = 3
    cluster = source if away == "source" else target
    cluster.failure = AWAY
    with pytest.raises(KafkaException):
        topics.refresh()
    assert topics.partitions == partitions("orders", 2)
    assert target.changes == []
    cluster.failure = None
    assert topics.refresh()
    assert topics.partitions == partitions("orders", 3)
