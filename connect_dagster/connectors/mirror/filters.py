"""Filters of topics, consumer groups and topic configurations (Java: ``DefaultTopicFilter`` and its like).

A name is accepted when the whole of it matches one of a list of Java's regular expressions, and none of another list.
An empty list matches nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from connect_dagster.connectors.mirror.names import ReplicationPolicy, is_cycle
from connect_dagster.expressions import java_patterns
from connect_dagster.plugin.config import ConfigDef, Importance, UniqueValues, config_key

TOPICS, TOPICS_EXCLUDE = "topics", "topics.exclude"
GROUPS, GROUPS_EXCLUDE = "groups", "groups.exclude"
PROPERTIES_EXCLUDE, USE_DEFAULTS_FROM = "config.properties.exclude", "use.defaults.from"

_EVERYTHING = (".*",)
_ZERO, _ANOTHER_CONTROL = "\0", "\x01"


class TopicFilter(ABC):
    """Chooses topics to mirror; a plugin implements ``should_replicate_topic`` (Java: ``TopicFilter``).

    Attributes:
        java_class: the class that the filter replaces, for configurations of Java.
    """

    java_class: ClassVar[str | None] = None

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (optional hook)
        """Take the configuration of the connector, as its user wrote it."""

    @abstractmethod
    def should_replicate_topic(self, topic: str) -> bool:
        """Return whether a topic is accepted."""

    def accepted(self, topics: Iterable[str]) -> list[str]:
        """Return the accepted ones of many topics, in their order."""
        return [topic for topic in topics if self.should_replicate_topic(topic)]

    def close(self) -> None:  # noqa: B027 (optional hook)
        """Close all that ``configure`` opened."""


class GroupFilter(ABC):
    """Chooses consumer groups; a plugin implements ``should_replicate_group`` (Java: ``GroupFilter``).

    Attributes:
        java_class: the class that the filter replaces, for configurations of Java.
    """

    java_class: ClassVar[str | None] = None

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (optional hook)
        """Take the configuration of the connector, as its user wrote it."""

    @abstractmethod
    def should_replicate_group(self, group: str) -> bool:
        """Return whether a group is accepted."""

    def accepted(self, groups: Iterable[str]) -> list[str]:
        """Return the accepted ones of many groups, in their order."""
        return [group for group in groups if self.should_replicate_group(group)]

    def close(self) -> None:  # noqa: B027 (optional hook)
        """Close all that ``configure`` opened."""


class ConfigPropertyFilter(ABC):
    """Chooses the configurations of a topic that its mirror gets (Java: ``ConfigPropertyFilter``).

    Attributes:
        java_class: the class that the filter replaces, for configurations of Java.
    """

    java_class: ClassVar[str | None] = None

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (optional hook)
        """Take the configuration of the connector, as its user wrote it."""

    @abstractmethod
    def should_replicate_config_property(self, name: str) -> bool:
        """Return whether the target gets the source's value of a configuration."""

    def should_replicate_source_default(self, name: str) -> bool:
        """Return whether the target gets the source's value also where that is a default."""
        return False

    def accepted(self, names: Iterable[str]) -> list[str]:
        """Return the accepted ones of many configurations, in their order."""
        return [name for name in names if self.should_replicate_config_property(name)]

    def close(self) -> None:  # noqa: B027 (optional hook)
        """Close all that ``configure`` opened."""


@dataclass(frozen=True, slots=True)
class NamePatterns:
    """A list of regular expressions under the name of its option.

    Attributes:
        option: the name, for errors.
        patterns: Java's regular expressions; none matches nothing.

    Raises:
        ConfigError: together they are not an expression.
    """

    option: str
    patterns: tuple[str, ...]

    def __post_init__(self) -> None:
        java_patterns.regex(self.option, self._joined)

    def matching(self, names: Iterable[str]) -> set[str]:
        """Return the names that match as a whole.

        Raises:
            CostlyPatternError: it takes too long.
        """
        if not self.patterns:
            return set()
        # A group may have any character in its name, the JVM gets names with a zero between two.
        shown = {name: name.replace(_ZERO, _ANOTHER_CONTROL) for name in names}
        found = set(java_patterns.matching(self.option, self._joined, shown.values()))
        return {name for name, as_shown in shown.items() if as_shown in found}

    @property
    def _joined(self) -> str:
        """Return one expression, as in Java: flags of the first one hold for all."""
        return "|".join(self.patterns)


TOPICS_KEY = config_key(
    TOPICS,
    default=_EVERYTHING,
    validator=UniqueValues(),
    importance=Importance.HIGH,
    doc="Topics to mirror: names or Java regular expressions that match a whole name.",
)
TOPICS_EXCLUDE_KEY = config_key(
    TOPICS_EXCLUDE,
    default=(r"mm2.*\.internal", r".*\.replica", "__.*"),
    validator=UniqueValues(),
    importance=Importance.HIGH,
    doc="Topics that are not mirrored, also where `topics` has them.",
)


class TopicFilterConfig(ConfigDef):
    """Options of ``DefaultTopicFilter``."""

    topics: tuple[str, ...] = TOPICS_KEY
    topics_exclude: tuple[str, ...] = TOPICS_EXCLUDE_KEY


class DefaultTopicFilter(TopicFilter):
    """Accepts topics by two lists of regular expressions (Java: ``DefaultTopicFilter``)."""

    java_class: ClassVar[str | None] = "org.apache.kafka.connect.mirror.DefaultTopicFilter"

    def configure(self, properties: Mapping[str, str]) -> None:
        """Take the lists. Raises ConfigError."""
        config = TopicFilterConfig.parse(properties)
        self._included = NamePatterns(TOPICS, config.topics)
        self._excluded = NamePatterns(TOPICS_EXCLUDE, config.topics_exclude)

    def should_replicate_topic(self, topic: str) -> bool:
        return bool(self.accepted([topic]))

    def accepted(self, topics: Iterable[str]) -> list[str]:
        return _accepted(topics, self._included, self._excluded)


GROUPS_KEY = config_key(
    GROUPS,
    default=_EVERYTHING,
    validator=UniqueValues(),
    importance=Importance.HIGH,
    doc="Consumer groups to translate offsets of: ids or Java regular expressions that match a whole id.",
)
GROUPS_EXCLUDE_KEY = config_key(
    GROUPS_EXCLUDE,
    default=("console-consumer-.*", "connect-.*", "__.*"),
    validator=UniqueValues(),
    importance=Importance.HIGH,
    doc="Consumer groups that are left out, also where `groups` has them.",
)


class GroupFilterConfig(ConfigDef):
    """Options of ``DefaultGroupFilter``."""

    groups: tuple[str, ...] = GROUPS_KEY
    groups_exclude: tuple[str, ...] = GROUPS_EXCLUDE_KEY


class DefaultGroupFilter(GroupFilter):
    """Accepts groups by two lists of regular expressions (Java: ``DefaultGroupFilter``)."""

    java_class: ClassVar[str | None] = "org.apache.kafka.connect.mirror.DefaultGroupFilter"

    def configure(self, properties: Mapping[str, str]) -> None:
        """Take the lists. Raises ConfigError."""
        config = GroupFilterConfig.parse(properties)
        self._included = NamePatterns(GROUPS, config.groups)
        self._excluded = NamePatterns(GROUPS_EXCLUDE, config.groups_exclude)

    def should_replicate_group(self, group: str) -> bool:
        return bool(self.accepted([group]))

    def accepted(self, groups: Iterable[str]) -> list[str]:
        return _accepted(groups, self._included, self._excluded)


PROPERTIES_EXCLUDE_KEY = config_key(
    PROPERTIES_EXCLUDE,
    default=(
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "message.timestamp.difference.max.ms",
        "log.message.timestamp.before.max.ms",
        "log.message.timestamp.after.max.ms",
        "message.timestamp.type",
        "unclean.leader.election.enable",
        "min.insync.replicas",
    ),
    validator=UniqueValues(),
    importance=Importance.HIGH,
    doc="Topic configurations that are not mirrored: names or Java regular expressions that match a whole name.",
)
USE_DEFAULTS_FROM_KEY = config_key(
    USE_DEFAULTS_FROM,
    default="target",
    doc="The cluster whose defaults hold for configurations that a topic does not set: source or target.",
)


class ConfigPropertyFilterConfig(ConfigDef):
    """Options of ``DefaultConfigPropertyFilter``."""

    properties_exclude: tuple[str, ...] = PROPERTIES_EXCLUDE_KEY
    use_defaults_from: str | None = USE_DEFAULTS_FROM_KEY


class DefaultConfigPropertyFilter(ConfigPropertyFilter):
    """Leaves out configurations by a list of regular expressions (Java: ``DefaultConfigPropertyFilter``)."""

    java_class: ClassVar[str | None] = "org.apache.kafka.connect.mirror.DefaultConfigPropertyFilter"

    def configure(self, properties: Mapping[str, str]) -> None:
        """Take list and cluster. Raises ConfigError."""
        config = ConfigPropertyFilterConfig.parse(properties)
        self._excluded = NamePatterns(PROPERTIES_EXCLUDE, config.properties_exclude)
        self._source_defaults = config.use_defaults_from == "source"

    def should_replicate_config_property(self, name: str) -> bool:
        return bool(self.accepted([name]))

    def should_replicate_source_default(self, name: str) -> bool:
        return self._source_defaults

    def accepted(self, names: Iterable[str]) -> list[str]:
        names = list(names)
        excluded = self._excluded.matching(names)
        return [name for name in names if name not in excluded]


BUNDLED_FILTERS: Mapping[str | None, type[TopicFilter | GroupFilter | ConfigPropertyFilter]] = {
    DefaultTopicFilter.java_class: DefaultTopicFilter,
    DefaultGroupFilter.java_class: DefaultGroupFilter,
    DefaultConfigPropertyFilter.java_class: DefaultConfigPropertyFilter,
}
"""The filters by the classes that they replace."""


def topics_to_replicate(
    topics: Iterable[str],
    *,
    topic_filter: TopicFilter,
    policy: ReplicationPolicy,
    target_alias: str,
    heartbeats: bool = True,
) -> list[str]:
    """Return the topics that are mirrored, in their order (Java: ``MirrorSourceConnector.shouldReplicateTopic``).

    Args:
        topics: of the source cluster.
        topic_filter: need not accept topics of heartbeats.
        policy: knows internal topics, and those that come from the target cluster.
        target_alias: of the target cluster.
        heartbeats: ``heartbeats.replication.enabled``.
    """
    topics = list(topics)
    accepted = set(topic_filter.accepted(topics))
    return [
        topic
        for topic in topics
        if (topic in accepted or (heartbeats and policy.is_heartbeats_topic(topic)))
        and not policy.is_internal_topic(topic)
        and not is_cycle(policy, topic, target_alias)
    ]


def _accepted(names: Iterable[str], included: NamePatterns, excluded: NamePatterns) -> list[str]:
    names = list(names)
    kept = included.matching(names) - excluded.matching(names)
    return [name for name in names if name in kept]
