"""The three topics that a group keeps its state in: what they must be, and how they come to be.

Java: ``KafkaTopicBasedBackingStore`` and ``TopicAdmin``. A group's state survives only in topics whose old records
are compacted, never deleted; an existing topic with another policy is refused.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from connect_dagster.errors import ConfigError
from connect_dagster.kafka.topic_admin import CLEANUP_POLICY, COMPACT, NewTopic, TopicAdmin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """One of the three topics, as a worker's configuration describes it.

    Attributes:
        name: the topic.
        setting: the property that names it.
        purpose: what it holds, in Java's words.
        partitions: how many it gets when it is made; -1 for the brokers' default.
        replication_factor: the same for its replicas.
        settings: settings of the topic beyond compaction.
    """

    name: str
    setting: str
    purpose: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)


def config_topic(name: str, replication_factor: int = 3, settings: Mapping[str, str] | None = None) -> InternalTopic:
    """Return the topic of configurations: one partition, because the order of its records matters."""
    return _topic("config", name, "connector configurations", 1, replication_factor, settings)


def offset_topic(
    name: str, partitions: int = 25, replication_factor: int = 3, settings: Mapping[str, str] | None = None
) -> InternalTopic:
    """Return the topic of source connectors' offsets."""
    return _topic("offset", name, "source connector offsets", partitions, replication_factor, settings)


def status_topic(
    name: str, partitions: int = 5, replication_factor: int = 3, settings: Mapping[str, str] | None = None
) -> InternalTopic:
    """Return the topic of statuses."""
    return _topic("status", name, "connector and task statuses", partitions, replication_factor, settings)


def _topic(
    kind: str, name: str, purpose: str, partitions: int, replicas: int, settings: Mapping[str, str] | None
) -> InternalTopic:
    """A topic from what stands under its prefix in a worker's file (Java: ``DistributedConfig.topicSettings``)."""
    extra = dict(settings or {})
    prefix = f"{kind}.storage."
    if kind == "config" and (count := extra.pop("partitions", None)) is not None:
        log.warning("Ignoring '%spartitions=%s' setting, since config topic partitions is always 1", prefix, count)
    if (policy := extra.pop(CLEANUP_POLICY, None)) is not None:
        log.warning("Ignoring '%s%s=%s' setting, since compaction is always used", prefix, CLEANUP_POLICY, policy)
    return InternalTopic(name, f"{prefix}topic", purpose, partitions, replicas, extra)


def ensure_internal_topic(admin: TopicAdmin, topic: InternalTopic) -> None:
    """Create an internal topic, or verify that the existing one is compacted.

    Raises:
        ConfigError: it exists with another ``cleanup.policy``.
        ConnectError: it cannot be created within ``default.api.timeout.ms``.
    """
    settings = {**topic.settings, CLEANUP_POLICY: COMPACT}
    created = admin.create_with_retry(NewTopic(topic.name, topic.partitions, topic.replication_factor, settings))
    if created is None:
        log.info("Cannot create topic '%s': it should exist already", topic.name)
    if not created:
        _refuse_unless_compacted(admin, topic)


def _refuse_unless_compacted(admin: TopicAdmin, topic: InternalTopic) -> None:
    policies = admin.cleanup_policies(topic.name)
    if policies is None:
        log.info(
            "Unable to use admin client to verify the cleanup policy of '%s' topic is '%s', either because the "
            "broker is an older version or because the Kafka principal used for Connect internal topics does not "
            "have the required permission to describe topic configurations.",
            topic.name,
            COMPACT,
        )
    elif policies != {COMPACT}:
        raise ConfigError(
            f"Topic '{topic.name}' supplied via the '{topic.setting}' property is required to have "
            f"'{CLEANUP_POLICY}={COMPACT}' to guarantee consistency and durability of {topic.purpose}, but found the "
            f"topic currently has '{CLEANUP_POLICY}={','.join(sorted(policies))}'. Continuing would likely result in "
            f"eventually losing {topic.purpose} and problems restarting this Connect cluster in the future. "
            f"Change the '{topic.setting}' property in the Connect worker configurations to use a topic with "
            f"'{CLEANUP_POLICY}={COMPACT}'."
        )
