"""The topics of a flow on both clusters: found, created on the target, and grown there.

Java: ``MirrorSourceConnector``. A topic of the target never shrinks and is never deleted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from confluent_kafka import KafkaError

from connect_dagster.connectors.mirror.clusters import Alteration, ForwardingAdmin, TopicSetting
from connect_dagster.connectors.mirror.filters import ConfigPropertyFilter, TopicFilter, topics_to_replicate
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.names import ReplicationPolicy
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.kafka.topic_admin import NewTopic
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

Partitions = list[TopicPartition]


@dataclass(frozen=True, slots=True)
class Replication:
    """The rules by which topics go from one cluster to another.

    Attributes:
        flow: the clusters.
        policy: names topics on the target.
        topic_filter: chooses topics of the source.
        properties: chooses the settings of topics that go over.
        heartbeats: whether heartbeats go over as well, whatever the filter says.
    """

    flow: Flow
    policy: ReplicationPolicy
    topic_filter: TopicFilter
    properties: ConfigPropertyFilter
    heartbeats: bool

    def chosen(self, topics: Iterable[str]) -> list[str]:
        """Return the topics of the source whose records are mirrored, in their order."""
        return topics_to_replicate(
            topics,
            topic_filter=self.topic_filter,
            policy=self.policy,
            target_alias=self.flow.target,
            heartbeats=self.heartbeats,
        )

    def remote(self, topic: str) -> str:
        """Return the name on the target of a topic of the source."""
        return self.policy.format_remote_topic(self.flow.source, topic)

    def comes_from_source(self, topic: str) -> bool:
        """Return whether a topic of the target has this name because it is mirrored from the source."""
        return self.policy.topic_source(topic) == self.flow.source


class MirroredTopics:
    """The partitions of a flow, as they were last seen on both clusters.

    Args:
        rules: of the flow.
        source: the cluster that is read.
        target: the cluster that is written.
        replication_factor: of new topics; -1 for the brokers' default.

    Attributes:
        partitions: of the source, those that are mirrored.
    """

    def __init__(
        self,
        rules: Replication,
        source: ForwardingAdmin,
        target: ForwardingAdmin,
        replication_factor: int,
    ) -> None:
        self._rules = rules
        self._source = source
        self._target = target
        self._replication_factor = replication_factor
        self._checkpoints = rules.policy.checkpoints_topic(rules.flow.source)
        self.partitions: Partitions = []
        self._on_target: Counter[str] = Counter()

    def load(self) -> None:
        """Look at both clusters."""
        self.partitions = self._find_partitions()
        self.look_at_target()

    def look_at_target(self) -> None:
        """Look at the topics of the target that come from the source."""
        found = self._target.topics()
        self._on_target = Counter(
            {
                topic: count
                for topic, count in found.items()
                if self._rules.comes_from_source(topic) and topic != self._checkpoints
            }
        )

    def refresh(self) -> bool:
        """Look at both clusters, and create what is missing on the target.

        Returns:
            Whether the partitions of the source are other ones, or some were missing on the target: tasks have to be
            configured again.
        """
        before, now = set(self.partitions), self._find_partitions()
        self.look_at_target()
        missing = [one for one in now if one.partition >= self._on_target[self._rules.remote(one.topic)]]
        if before == set(now) and not missing:
            return False
        log.info(
            "Found %d new topic-partitions on %s. Found %d deleted topic-partitions on %s. "
            "Found %d topic-partitions missing on %s.",
            len(set(now) - before),
            self._rules.flow.source,
            len(before - set(now)),
            self._rules.flow.source,
            len(missing),
            self._rules.flow.target,
        )
        self.partitions = now
        self.create_missing()
        return True

    def create_missing(self) -> None:
        """Create the topics that the target lacks, and grow those with fewer partitions."""
        counts = Counter(one.topic for one in self.partitions)
        missing = [topic for topic in counts if self._rules.remote(topic) not in self._on_target]
        self._create(missing, counts)
        grown = {
            remote: count
            for topic, count in counts.items()
            if 0 < self._on_target[remote := self._rules.remote(topic)] < count
        }
        self._grow(grown)

    def replicated(self) -> list[str]:
        """Return the topics of the source that are on both clusters."""
        topics = dict.fromkeys(one.topic for one in self.partitions)
        return [topic for topic in topics if self._rules.remote(topic) in self._on_target]

    def _find_partitions(self) -> Partitions:
        found = self._source.topics()
        topics = _as_described(self._rules.chosen(hash_map_order(found)))
        return [TopicPartition(topic, number) for topic in topics for number in range(found[topic])]

    def _create(self, topics: Iterable[str], counts: Mapping[str, int]) -> None:
        settings = self._source.topic_settings(topics)
        new = [
            NewTopic(
                self._rules.remote(topic),
                counts[topic],
                self._replication_factor,
                settings_of_new_topic(found, self._rules.properties),
            )
            for topic, found in settings.items()
        ]
        refused = self._target.create_topics(new)
        for topic in new:
            if (error := refused.get(topic.name)) is None:
                log.info("Created remote topic %s with %d partitions.", topic.name, topic.partitions)
            elif error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                log.warning("Could not create topic %s: %s", topic.name, error.args[0].str())

    def _grow(self, counts: Mapping[str, int]) -> None:
        refused = self._target.create_partitions(counts)
        for topic, count in counts.items():
            if (error := refused.get(topic)) is None:
                log.info("Increased size of %s to %d partitions.", topic, count)
            elif error.args[0].code() != KafkaError.INVALID_PARTITIONS:  # another worker was quicker
                log.warning("Could not create topic-partitions for %s: %s", topic, error.args[0].str())


def _as_described(topics: Collection[str]) -> list[str]:
    """Return topics in the order in which Java's connector has their descriptions, and gives partitions to tasks.

    So a leader of the other kind finds the configurations of tasks unchanged, and no task is restarted.
    """
    described = hash_map_order(topics)  # Collectors.toSet
    for _ in ("of requests", "of descriptions"):  # KafkaAdminClient and DescribeTopicsResult
        described = hash_map_order(described, len(described))
    return described


def settings_of_new_topic(settings: Iterable[TopicSetting], properties: ConfigPropertyFilter) -> dict[str, str]:
    """Return the settings that a topic is created with on the target.

    Args:
        settings: of the topic on the source.
        properties: chooses those that go over.
    """
    return {
        one.name: one.value
        for one in _copied(settings, properties)
        if one.value is not None and (not one.is_default or properties.should_replicate_source_default(one.name))
    }


def alterations_of_topic(settings: Iterable[TopicSetting], properties: ConfigPropertyFilter) -> list[Alteration]:
    """Return the changes that give a topic of the target the settings of its source.

    Args:
        settings: of the topic on the source.
        properties: chooses those that go over.
    """
    return [
        Alteration(
            one.name, None if one.is_default and not properties.should_replicate_source_default(one.name) else one.value
        )
        for one in _copied(settings, properties)
    ]


def _copied(settings: Iterable[TopicSetting], properties: ConfigPropertyFilter) -> list[TopicSetting]:
    copied = {one.name: one for one in settings if one.is_copied}
    return [copied[name] for name in properties.accepted(copied)]
