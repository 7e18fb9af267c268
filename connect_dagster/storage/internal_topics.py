"""The three topics that a group keeps its state in: what they must be, and how they come to be.

Java: ``KafkaTopicBasedBackingStore`` and ``TopicAdmin``. A group's state survives only in topics whose old records
are compacted, never deleted; a topic that somebody else made otherwise is refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field

from confluent_kafka import IsolationLevel, KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not said to be
    AdminClient,
    ConfigResource,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.kafka import defaults as clients

log = logging.getLogger(__name__)

BROKER_DEFAULT = -1
"""Number of partitions or replicas that leaves the choice to the brokers."""

_API_SECONDS = 60.0
_BACKOFF_SECONDS = 0.1
_CREATE_BACKOFF_SECONDS = 0.5
_NEW_TOPIC_SECONDS = 5.0
_POLICY = "cleanup.policy"
_COMPACT = "compact"

_TIMED_OUT = frozenset({KafkaError._TIMED_OUT, KafkaError._TIMED_OUT_QUEUE, KafkaError.REQUEST_TIMED_OUT})
_AWAY = frozenset({KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE})
_UNKNOWN = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION})
# The topic may exist all the same, or the brokers make it when it is first used.
_LEFT_TO_OTHERS = frozenset(
    {
        KafkaError.UNSUPPORTED_VERSION,
        KafkaError._UNSUPPORTED_FEATURE,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
    }
)


JAVAS_RECONNECT = {"reconnect.backoff.ms": "50", "reconnect.backoff.max.ms": "1000"}
"""Java's defaults: with librdkafka's own a client notices up to ten seconds late that the brokers are back."""


@dataclass(frozen=True, slots=True)
class InternalTopic:
    """One of the three topics, as a worker's configuration describes it.

    Attributes:
        name: the topic.
        setting: the property that names it.
        purpose: what it holds, in Java's words.
        partitions: how many it gets when it is made; -1 for the brokers' default.
        replication_factor: likewise.
        settings: settings of the topic beyond compaction.
    """

    name: str
    setting: str
    purpose: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str] = field(default_factory=dict)


def config_topic(name: str, replication_factor: int = 3, settings: Mapping[str, str] | None = None) -> InternalTopic:
    """The topic of configurations: one partition, because the order of its records matters."""
    return _topic("config", name, "connector configurations", 1, replication_factor, settings)


def offset_topic(
    name: str, partitions: int = 25, replication_factor: int = 3, settings: Mapping[str, str] | None = None
) -> InternalTopic:
    """The topic of source connectors' offsets."""
    return _topic("offset", name, "source connector offsets", partitions, replication_factor, settings)


def status_topic(
    name: str, partitions: int = 5, replication_factor: int = 3, settings: Mapping[str, str] | None = None
) -> InternalTopic:
    """The topic of statuses."""
    return _topic("status", name, "connector and task statuses", partitions, replication_factor, settings)


def _topic(
    kind: str, name: str, purpose: str, partitions: int, replicas: int, settings: Mapping[str, str] | None
) -> InternalTopic:
    """A topic from what stands under its prefix in a worker's file (Java: ``DistributedConfig.topicSettings``)."""
    extra = dict(settings or {})
    prefix = f"{kind}.storage."
    if kind == "config" and (count := extra.pop("partitions", None)) is not None:
        log.warning("Ignoring '%spartitions=%s' setting, since config topic partitions is always 1", prefix, count)
    if (policy := extra.pop(_POLICY, None)) is not None:
        log.warning("Ignoring '%s%s=%s' setting, since compaction is always used", prefix, _POLICY, policy)
    return InternalTopic(name, f"{prefix}topic", purpose, partitions, replicas, extra)


def without_consumers_own(settings: clients.Settings) -> dict[str, str]:
    """Settings of a worker's clients for one that is no consumer, and would warn of the others."""
    own = {name: value for name, value in settings.items() if name not in ("group.id", "isolation.level")}
    return JAVAS_RECONNECT | own


class TopicAdmin:
    """Asks the brokers about topics; the three logs of a worker share one. Any thread may call it.

    Args:
        settings: settings of an admin client, in Java's names.
    """

    def __init__(self, settings: clients.Settings) -> None:
        self._servers = settings.get("bootstrap.servers", "<unknown>")
        self._api_seconds = int(settings.get("default.api.timeout.ms", _API_SECONDS * 1000)) / 1000
        self._settings = without_consumers_own(settings)
        self._ended = threading.Event()
        self._renewing = threading.Lock()
        self._client: AdminClient = clients.admin(self._settings)

    def stop(self) -> None:
        """Have nobody wait any longer for a topic that cannot be made yet."""
        self._ended.set()

    def ensure(self, topic: InternalTopic) -> None:
        """Make the topic, or see that the existing one is compacted.

        Raises:
            ConfigError: it exists with another ``cleanup.policy``.
            ConnectError: it cannot be made within ``default.api.timeout.ms``.
        """
        if not self._created(topic):
            self._refuse_unless_compacted(topic)

    def end_offsets(self, topic: str, partitions: list[int], seconds: float) -> dict[int, int]:
        """Where the partitions end, transactions that are open included. Raises as :meth:`offsets`."""
        return self._offsets(topic, partitions, OffsetSpec.latest(), seconds)  # type: ignore[no-untyped-call]

    def beginning_offsets(self, topic: str, partitions: list[int], seconds: float) -> dict[int, int]:
        """Where the partitions begin. Raises as :meth:`end_offsets`."""
        return self._offsets(topic, partitions, OffsetSpec.earliest(), seconds)  # type: ignore[no-untyped-call]

    def partitions(self, topic: str, seconds: float) -> list[int]:
        """Numbers of a topic's partitions, none when it does not exist.

        Raises:
            RetriableError: no answer in time.
        """
        # Unlike list_topics() this does not have the brokers make the topic, with whatever settings.
        answers = self._client.describe_topics(TopicCollection([topic]), request_timeout=seconds)
        try:
            return sorted(one.id for one in answers[topic].result(seconds + 1).partitions)
        except KafkaException as error:
            if error.args[0].code() in _UNKNOWN:
                return []
            raise RetriableError(f"Could not look up topic '{topic}': {_text(error)}") from error

    def _offsets(self, topic: str, partitions: list[int], spec: OffsetSpec, seconds: float) -> dict[int, int]:
        """Offsets of partitions.

        Raises:
            RetriableError: no answer in time, or none now.
            ConnectError: the brokers refuse to tell.
        """
        asked = {TopicPartition(topic, number): spec for number in partitions}
        client = self._client
        answers = client.list_offsets(asked, isolation_level=IsolationLevel.READ_UNCOMMITTED, request_timeout=seconds)
        try:
            found = {one.partition: answer.result(seconds + 1).offset for one, answer in answers.items()}
        except FutureTimeout as error:
            raise RetriableError(f"Timed out while waiting to get offsets of topic '{topic}'") from error
        except KafkaException as error:
            if error.args[0].code() not in _TIMED_OUT | _AWAY | _LEFT_TO_OTHERS:
                self._renew(client)
            kind = ConnectError if error.args[0].code() in _LEFT_TO_OTHERS else RetriableError
            text = f"Error while getting offsets of topic '{topic}' on brokers at {self._servers}: {_text(error)}"
            raise kind(text) from error
        # With librdkafka 2.16 a request that timed out is no error, but an offset that none is.
        if any(offset < 0 for offset in found.values()):
            raise RetriableError(f"Timed out while waiting to get offsets of topic '{topic}'")
        return found

    def _renew(self, client: AdminClient) -> None:
        """Take another client, as librdkafka 2.16 does not get over some answers of brokers that come back.

        It goes on asking a leader in an epoch that is over; and one that was told of no broker at all, as a broker
        answers that has just been fenced itself, never asks again (confluentinc/librdkafka#5301).
        """
        with self._renewing:
            if self._client is client:  # else another thread has been faster
                self._client = clients.admin(self._settings)

    def _created(self, topic: InternalTopic) -> bool:
        """Whether the topic was made now; not so when it exists, or when this worker may not make it."""
        deadline, told = time.monotonic() + self._api_seconds, ""
        while True:
            try:
                self._create(topic)
            except KafkaException as error:
                code = error.args[0].code()
                if code == KafkaError.TOPIC_ALREADY_EXISTS:
                    return False
                if code in _LEFT_TO_OTHERS:
                    log.info("Cannot create topic '%s' (%s): it should exist already", topic.name, _text(error))
                    return False
                remaining = deadline - time.monotonic()
                if code not in _TIMED_OUT | _AWAY | {KafkaError.INVALID_REPLICATION_FACTOR} or remaining <= 0:
                    raise self._not_created(topic, error) from error
                if (text := _text(error)) != told:
                    log.warning(
                        "'%s' topic creation failed due to '%s', retrying, %dms remaining",
                        topic.name,
                        text,
                        remaining * 1000,
                    )
                    told = text
                if self._ended.wait(_CREATE_BACKOFF_SECONDS):
                    raise self._not_created(topic, error) from error
            else:
                log.info("Created topic '%s' on brokers at %s", topic.name, self._servers)
                return True

    def _create(self, topic: InternalTopic) -> None:
        new = NewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replication_factor=topic.replication_factor,
            config={**topic.settings, _POLICY: _COMPACT},
        )
        answers = self._client.create_topics([new], operation_timeout=self._api_seconds, request_timeout=_API_SECONDS)
        answers[topic.name].result(_API_SECONDS + self._api_seconds)

    def _not_created(self, topic: InternalTopic, error: KafkaException) -> ConnectError:
        code = error.args[0].code()
        if code in _TIMED_OUT | _AWAY:
            return ConnectError(
                f"Timed out while checking for or creating topic(s) '{topic.name}'. This could indicate a connectivity "
                "issue, unavailable topic partitions, or if this is your first use of the topic it may have taken too "
                "long to create."
            )
        if code == KafkaError.INVALID_CONFIG:
            return ConnectError(f"Unable to create topic(s) '{topic.name}': {_text(error)}")
        return ConnectError(f"Error while attempting to create/find topic(s) '{topic.name}': {_text(error)}")

    def _refuse_unless_compacted(self, topic: InternalTopic) -> None:
        policies = self._policies(topic.name)
        if policies is None:
            log.info(
                "Unable to use admin client to verify the cleanup policy of '%s' topic is '%s', either because the "
                "broker is an older version or because the Kafka principal used for Connect internal topics does not "
                "have the required permission to describe topic configurations.",
                topic.name,
                _COMPACT,
            )
        elif policies != {_COMPACT}:
            raise ConfigError(
                f"Topic '{topic.name}' supplied via the '{topic.setting}' property is required to have "
                f"'{_POLICY}={_COMPACT}' to guarantee consistency and durability of {topic.purpose}, but found the "
                f"topic currently has '{_POLICY}={','.join(sorted(policies))}'. Continuing would likely result in "
                f"eventually losing {topic.purpose} and problems restarting this Connect cluster in the future. "
                f"Change the '{topic.setting}' property in the Connect worker configurations to use a topic with "
                f"'{_POLICY}={_COMPACT}'."
            )

    def _policies(self, topic: str) -> set[str] | None:
        """Cleanup policies of a topic, ``None`` when this worker cannot know them."""
        resource = ConfigResource(ResourceType.TOPIC, topic)
        deadline = time.monotonic() + _NEW_TOPIC_SECONDS
        while True:
            answers = self._client.describe_configs([resource], request_timeout=self._api_seconds)
            try:
                entry = answers[resource].result(self._api_seconds + 1).get(_POLICY)
            except KafkaException as error:
                code = error.args[0].code()
                if code in _UNKNOWN and time.monotonic() < deadline:
                    # Somebody has just made it, and not all brokers have heard of it.
                    time.sleep(_BACKOFF_SECONDS)
                    continue
                if code in _LEFT_TO_OTHERS | _UNKNOWN:
                    return None
                raise ConnectError(
                    f"Error while attempting to describe topic config for topic '{topic}' on brokers at "
                    f"{self._servers}: {_text(error)}"
                ) from error
            return {policy.strip().lower() for policy in entry.value.split(",")} - {""} if entry is not None else None


def _text(error: KafkaException) -> str:
    return str(error.args[0].str())
