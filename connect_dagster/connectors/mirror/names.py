"""Names of mirrored and internal topics (Java: ``ReplicationPolicy`` and its classes). Pure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

SEPARATOR = "replication.policy.separator"
INTERNAL_SEPARATOR_ENABLED = "replication.policy.internal.topic.separator.enabled"
SOURCE_ALIAS = "source.cluster.alias"

_DEFAULT_SEPARATOR = "."
_HEARTBEATS = "heartbeats"
_INTERNAL_OF_KAFKA = ("__", ".")


class ReplicationPolicy(ABC):
    """Names a topic in the target cluster, and recognises such names (Java: ``ReplicationPolicy``).

    A plugin implements the three abstract methods; the others have Java's defaults.

    Attributes:
        java_class: the class that the policy replaces, for configurations of Java.

    Example:
        >>> class SuffixPolicy(ReplicationPolicy):
        ...     def format_remote_topic(self, source_alias, topic):
        ...         return f"{topic}@{source_alias}"
        ...
        ...     def topic_source(self, topic):
        ...         return topic.rpartition("@")[2] if "@" in topic else None
        ...
        ...     def upstream_topic(self, topic):
        ...         return topic.rpartition("@")[0] if "@" in topic else None
        >>> SuffixPolicy().original_topic("orders@eu@us")
        'orders'
    """

    java_class: ClassVar[str | None] = None

    def configure(self, properties: Mapping[str, str]) -> None:  # noqa: B027 (optional hook)
        """Take the configuration of the connector, as its user wrote it."""

    @abstractmethod
    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        """Return the name in the target cluster of a topic of the source cluster."""

    @abstractmethod
    def topic_source(self, topic: str) -> str | None:
        """Return the alias of the cluster that a topic was mirrored from, ``None`` for a topic that is not remote."""

    @abstractmethod
    def upstream_topic(self, topic: str) -> str | None:
        """Return the topic's name in the cluster it was mirrored from, ``None`` for a topic that is not remote."""

    def original_topic(self, topic: str) -> str:
        """Return the topic's name in the cluster where it was first written, over any number of hops."""
        seen = {topic}
        while (upstream := self.upstream_topic(topic)) is not None and upstream not in seen:
            seen.add(upstream)  # a plugin may go round in a circle
            topic = upstream
        return topic

    def heartbeats_topic(self) -> str:
        """Return the name of the topic for heartbeats."""
        return _HEARTBEATS

    def offset_syncs_topic(self, alias: str) -> str:
        """Return the name of the topic for offset syncs; the alias is that of the cluster it is not on."""
        return _offset_syncs_topic(alias, _DEFAULT_SEPARATOR)

    def checkpoints_topic(self, source_alias: str) -> str:
        """Return the name of the topic for checkpoints in the target cluster."""
        return f"{source_alias}{_checkpoints_suffix(_DEFAULT_SEPARATOR)}"

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Return whether a topic has heartbeats, mirrored or not."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Return whether a topic has checkpoints."""
        return topic.endswith(_checkpoints_suffix(_DEFAULT_SEPARATOR))

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Return whether MirrorMaker keeps its state in a topic."""
        return _is_named_internal(topic, _DEFAULT_SEPARATOR) or self.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """Return whether a topic is never mirrored: MirrorMaker's or Kafka's own."""
        return self.is_mm2_internal_topic(topic) or topic.startswith(_INTERNAL_OF_KAFKA)


class DefaultReplicationPolicy(ReplicationPolicy):
    """Puts the alias of the source cluster and a separator before the name (Java: ``DefaultReplicationPolicy``)."""

    java_class: ClassVar[str | None] = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"

    def __init__(self) -> None:
        self._separator = self._internal_separator = _DEFAULT_SEPARATOR

    def configure(self, properties: Mapping[str, str]) -> None:
        """Take the separators. That of internal topics is always a point where none was set."""
        if SEPARATOR in properties:
            self._separator = properties[SEPARATOR]
            # Java: Boolean.parseBoolean, which takes nothing but this for true.
            everywhere = properties.get(INTERNAL_SEPARATOR_ENABLED, "true").lower() == "true"
            self._internal_separator = self._separator if everywhere else _DEFAULT_SEPARATOR

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return f"{source_alias}{self._separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        source, rest = self._split(topic)
        # Java's split drops empty parts at the end: "a." is one part, as "a" is.
        return source if rest.replace(self._separator, "") else None

    def upstream_topic(self, topic: str) -> str | None:
        return None if self.topic_source(topic) is None else self._split(topic)[1]

    def offset_syncs_topic(self, alias: str) -> str:
        return _offset_syncs_topic(alias, self._internal_separator)

    def checkpoints_topic(self, source_alias: str) -> str:
        return f"{source_alias}{_checkpoints_suffix(self._internal_separator)}"

    def is_checkpoints_topic(self, topic: str) -> bool:
        return topic.endswith(_checkpoints_suffix(self._internal_separator))

    def is_mm2_internal_topic(self, topic: str) -> bool:
        return _is_named_internal(topic, self._internal_separator) or self.is_checkpoints_topic(topic)

    def _split(self, topic: str) -> tuple[str, str]:
        if not self._separator:  # an empty one separates all characters
            return topic[:1], topic[1:]
        source, _, rest = topic.partition(self._separator)
        return source, rest


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Leaves names as they are, except those of heartbeats (Java: ``IdentityReplicationPolicy``).

    Any topic may be remote, so that cycles over two clusters are not found.
    """

    java_class: ClassVar[str | None] = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"

    def __init__(self) -> None:
        super().__init__()
        self._source_alias: str | None = None

    def configure(self, properties: Mapping[str, str]) -> None:
        """Take the separators, and the alias that is the source of all topics."""
        super().configure(properties)
        self._source_alias = properties.get(SOURCE_ALIAS, self._source_alias)

    def format_remote_topic(self, source_alias: str, topic: str) -> str:
        return super().format_remote_topic(source_alias, topic) if self._may_be_heartbeats(topic) else topic

    def topic_source(self, topic: str) -> str | None:
        return super().topic_source(topic) if self._may_be_heartbeats(topic) else self._source_alias

    def upstream_topic(self, topic: str) -> str | None:
        return super().upstream_topic(topic) if self._may_be_heartbeats(topic) else topic

    def _may_be_heartbeats(self, topic: str) -> bool:
        return topic.endswith(self.heartbeats_topic())


def is_cycle(policy: ReplicationPolicy, topic: str, target_alias: str) -> bool:
    """Return whether a topic has been in the target cluster before (Java: ``MirrorSourceConnector.isCycle``)."""
    seen: set[str] = set()
    upstream: str | None = topic
    while upstream is not None and upstream not in seen:
        seen.add(upstream)  # IdentityReplicationPolicy has the topic itself upstream
        source = policy.topic_source(upstream)
        if source == target_alias:
            return True
        upstream = None if source is None else policy.upstream_topic(upstream)
    return False


def checkpoint_topic(policy: ReplicationPolicy, topic: str, *, source_alias: str, target_alias: str) -> str:
    """Return the name in the target cluster of a topic that a group consumes in the source cluster.

    A topic that came from the target cluster has its first name there (Java:
    ``MirrorCheckpointTask.renameTopicPartition``).
    """
    if policy.topic_source(topic) == target_alias:
        return policy.original_topic(topic)
    return policy.format_remote_topic(source_alias, topic)


BUNDLED_POLICIES: Mapping[str | None, type[ReplicationPolicy]] = {
    policy.java_class: policy for policy in (DefaultReplicationPolicy, IdentityReplicationPolicy)
}
"""The policies by the classes that they replace."""


def _offset_syncs_topic(alias: str, separator: str) -> str:
    return f"mm2-offset-syncs{separator}{alias}{separator}internal"


def _checkpoints_suffix(separator: str) -> str:
    return f"{separator}checkpoints{separator}internal"


def _is_named_internal(topic: str, separator: str) -> bool:
    return topic.startswith("mm2") and topic.endswith(f"{separator}internal")
