"""Creates the topics of source connectors before their first record, with the connector's settings (KIP-158).

    topic.creation.default.replication.factor=1
    topic.creation.default.partitions=3
    topic.creation.groups=compacted
    topic.creation.compacted.include=state-.*
    topic.creation.compacted.cleanup.policy=compact

The first group counts whose ``include`` matches a topic and whose ``exclude`` does not, else ``default``. Without any
such setting brokers create topics themselves. Java: ``TopicCreationConfig``, ``TopicCreationGroup``, ``TopicCreation``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connect_dagster.errors import ConfigError, ConnectError, RetriableError, java_text
from connect_dagster.expressions import java_patterns
from connect_dagster.kafka.topic_admin import NewTopic, TopicAdmin
from connect_dagster.plugin.config import ConfigKey, ConfigTable, Importance, Type, non_null, under_prefix
from connect_dagster.worker.config.source import SourceConnectorConfig

log = logging.getLogger(__name__)

PREFIX = "topic.creation."
GROUPS = f"{PREFIX}groups"
DEFAULT = "default"

_INCLUDE, _EXCLUDE, _REPLICAS, _PARTITIONS = "include", "exclude", "replication.factor", "partitions"
_OWN = frozenset({_INCLUDE, _EXCLUDE, _REPLICAS, _PARTITIONS})
_BROKERS_CHOICE = -1
_RETRY_SECONDS = 1.0


def uses_topic_creation(connector: Mapping[str, str | None]) -> bool:
    """Return whether a configuration has topic creation settings."""
    return any(name.startswith(PREFIX) for name in connector)


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """A topic creation group.

    Attributes:
        name: of the group.
        include: regular expressions; one of them matches the whole name of a topic of the group.
        exclude: regular expressions that match none of its topics.
        partitions: of a topic; -1 for the brokers' choice.
        replication_factor: of a topic; -1 for the brokers' choice.
        settings: of the topic, such as ``cleanup.policy``.
    """

    name: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]

    def matches(self, topic: str) -> bool:
        """Return whether a topic belongs to the group. Raises ConfigError when an expression takes too long."""
        return not self._matches(_EXCLUDE, self.exclude, topic) and self._matches(_INCLUDE, self.include, topic)

    def plan(self, topic: str) -> NewTopic:
        """Return the plan of a topic of the group."""
        return NewTopic(topic, self.partitions, self.replication_factor, self.settings)

    def _matches(self, option: str, patterns: Sequence[str], topic: str) -> bool:
        return bool(java_patterns.matching(f"{PREFIX}{self.name}.{option}", "|".join(patterns), [topic]))

    def __str__(self) -> str:
        return (
            f"TopicCreationGroup{{name='{self.name}', inclusionPattern={'|'.join(self.include)}, "
            f"exclusionPattern={'|'.join(self.exclude)}, numPartitions={self.partitions}, "
            f"replicationFactor={self.replication_factor}, otherConfigs={java_text(self.settings)}}}"
        )


def topic_groups(config: SourceConnectorConfig, *, enabled: bool) -> tuple[TopicGroup, ...]:
    """Return the groups of a connector in their order, ``default`` last; none when it leaves topics to the brokers.

    Args:
        config: of the connector.
        enabled: whether the worker creates topics (``topic.creation.enable``).

    Raises:
        ConfigError: a setting is wrong, or the default group lacks one (Java: ``SourceConnectorConfig``).
    """
    if not (enabled and uses_topic_creation(config.originals)):
        return ()
    default = _group(DEFAULT, config.originals, _default_table())
    names = list(config.topic_creation_groups)
    if DEFAULT in names:
        log.warning("'%s' topic creation group always exists and does not need to be listed explicitly", DEFAULT)
        names.remove(DEFAULT)
    table = _table(default.replication_factor, default.partitions)
    return (*(_group(name, config.originals, table) for name in names), default)


class TopicCreation:
    """Creates missing topics; for one thread.

    Args:
        groups: the result of :func:`topic_groups`; at least the default.
        open_admin: opens the admin client.
        wait: waits for the given seconds; returns whether to continue.
    """

    def __init__(
        self, groups: Sequence[TopicGroup], open_admin: Callable[[], TopicAdmin], wait: Callable[[float], bool]
    ) -> None:
        self._groups = groups
        self._open_admin = open_admin
        self._admin: TopicAdmin | None = None
        self._wait = wait
        self._there: set[str] = set()

    def ensure(self, topics: set[str]) -> None:
        """Create the topics that do not exist; wait for brokers that are away.

        Raises:
            ConnectError: a topic does not exist and cannot be created.
        """
        for topic in sorted(topics - self._there):
            while True:
                try:
                    self._ensure(topic)
                    break
                except RetriableError as error:
                    log.warning("Failed to send record to topic '%s'. Backing off before retrying: %s", topic, error)
                    if not self._wait(_RETRY_SECONDS):
                        return

    def serve(self) -> None:
        """Do what is due without a topic."""
        if self._admin is not None:
            self._admin.serve()

    def _ensure(self, topic: str) -> None:
        admin = self._admin = self._admin or self._open_admin()
        log.info("The task will send records to topic '%s' for the first time. Checking whether topic exists", topic)
        if admin.exists(topic):
            log.info("Topic '%s' already exists.", topic)
        else:
            self._create(admin, topic)
        self._there.add(topic)

    def _create(self, admin: TopicAdmin, topic: str) -> None:
        log.info("Creating topic '%s'", topic)
        group = next((one for one in self._groups[:-1] if one.matches(topic)), self._groups[-1])
        log.debug("Topic '%s' matched topic creation group: %s", topic, group)
        plan = group.plan(topic)
        created = admin.create(plan)
        if created is None:
            log.warning("Request to create new topic '%s' failed", topic)
            raise ConnectError(
                f"Task failed to create new topic {plan}. Ensure that the task is authorized to create topics or that "
                "the topic exists and restart the task"
            )
        if created:
            log.info("Created topic '%s' using creation group %s", plan, group)
        else:
            log.info("Found existing topic '%s'", plan)


def _group(name: str, connector: Mapping[str, str], table: ConfigTable) -> TopicGroup:
    prefix = f"{PREFIX}{name}."
    given = under_prefix(connector, prefix)
    if name == DEFAULT:  # it matches the topics of no other group, whatever its patterns are
        given = {key: value for key, value in given.items() if key not in (_INCLUDE, _EXCLUDE)}
    full = ConfigTable(tuple(_prefixed(key, prefix) for key in table))
    values = full.parse({prefix + key: value for key, value in given.items()})
    return TopicGroup(
        name,
        values[prefix + _INCLUDE],
        values[prefix + _EXCLUDE],
        values[prefix + _PARTITIONS],
        values[prefix + _REPLICAS],
        {key: value for key, value in given.items() if key not in _OWN},
    )


def _prefixed(key: ConfigKey, prefix: str) -> ConfigKey:
    default = {} if key.required else {"default": key.default}
    return ConfigKey(prefix + key.name, key.type, **default, importance=key.importance, validator=key.validator)


def _replication_factor(name: str, value: Any) -> None:
    if value != _BROKERS_CHOICE and value < 1:
        raise ConfigError.invalid(
            name,
            value,
            "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster, or -1 "
            "to use the broker's default",
        )


def _partition_count(name: str, value: Any) -> None:
    if value != _BROKERS_CHOICE and value < 1:
        reason = "Number of partitions must be positive, or -1 to use the broker's default"
        raise ConfigError.invalid(name, value, reason)


def _patterns(name: str, value: Any) -> None:
    for pattern in value:
        java_patterns.regex(name, pattern)


def _default_table() -> ConfigTable:
    return ConfigTable(
        (
            ConfigKey(_INCLUDE, Type.LIST, (".*",), Importance.LOW, validator=non_null),
            ConfigKey(_EXCLUDE, Type.LIST, (), Importance.LOW, validator=non_null),
            ConfigKey(_REPLICAS, Type.SHORT, importance=Importance.LOW, validator=_replication_factor),
            ConfigKey(_PARTITIONS, Type.INT, importance=Importance.LOW, validator=_partition_count),
        )
    )


def _table(replication_factor: int, partitions: int) -> ConfigTable:
    """Return the table of a group, whose defaults are the values of the default group."""
    return ConfigTable(
        (
            ConfigKey(_INCLUDE, Type.LIST, (), Importance.LOW, validator=_patterns),
            ConfigKey(_EXCLUDE, Type.LIST, (), Importance.LOW, validator=_patterns),
            ConfigKey(_REPLICAS, Type.SHORT, replication_factor, Importance.LOW, validator=_replication_factor),
            ConfigKey(_PARTITIONS, Type.INT, partitions, Importance.LOW, validator=_partition_count),
        )
    )
