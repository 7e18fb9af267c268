"""Requests of MirrorMaker to a cluster: topics, their settings and ACLs, groups and their offsets.

Java: ``org.apache.kafka.clients.admin.ForwardingAdmin`` (KIP-787). All changes of a connector pass through one object,
so that a company whose clusters are changed by a separate service replaces the methods that create and alter.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any, Self, TypeVar

from confluent_kafka import (
    ConsumerGroupState,
    KafkaError,
    KafkaException,
    cimpl,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # they are public, but not declared as such
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourcePatternType,
    ResourceType,
)

from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.acls import fetch_topic_acls
from connect_dagster.kafka.groups import commit_group_offsets, fetch_offsets_of_each
from connect_dagster.kafka.settings.java_settings import ClientKind, Settings, parsed
from connect_dagster.kafka.topic_admin import NewTopic
from connect_dagster.plugin.records import TopicPartition

Errors = dict[str, KafkaException]
"""The topics or groups that a request has failed for, each with its error."""

_Change = TypeVar("_Change")
# Brokers refuse a request that makes more than 10,000 records of metadata (Kafka: ``QuorumController``).
_MOST_METADATA_RECORDS = 5_000
_API_TIMEOUT, _API_MILLISECONDS = "default.api.timeout.ms", "60000"
_GRACE_SECONDS = 1.0
_ANY: Any = None
_ACLS_OF_TOPICS = AclBindingFilter(
    ResourceType.TOPIC, _ANY, ResourcePatternType.ANY, _ANY, _ANY, AclOperation.ANY, AclPermissionType.ANY
)
# Java's client asks again for as long as a request may take, also a coordinator that is away.
_MOVING = frozenset({KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_LOAD_IN_PROGRESS})
_COORDINATOR_SECONDS, _COORDINATOR_PAUSE = 5.0, 0.1
_WITHOUT_RESPONSE = frozenset({KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN})
# librdkafka describes a group that does not exist as dead.
_WITHOUT_MEMBERS = frozenset({ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD})


@dataclass(frozen=True, slots=True)
class TopicSetting:
    """A setting of a topic as the brokers describe it (Java: ``ConfigEntry``).

    Attributes:
        name: such as ``retention.ms``.
        value: ``None`` for one that is sensitive.
        is_default: whether neither the topic nor the configuration of the brokers has a value for it.
        is_copied: whether it may be set on a topic of another cluster: it is neither read-only, nor sensitive, nor from
            the brokers' static configuration.
        is_own: whether the topic itself has a value for it.
    """

    name: str
    value: str | None
    is_default: bool
    is_copied: bool
    is_own: bool


@dataclass(frozen=True, slots=True)
class Alteration:
    """A change of a topic's setting.

    Attributes:
        name: of the setting.
        value: its new value; ``None`` for the default.
    """

    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class GroupOffset:
    """A committed offset of a consumer group.

    Attributes:
        offset: of the record that is read next; negative where a client has reset it so.
        metadata: text of the client.
    """

    offset: int
    metadata: str = ""


class ForwardingAdmin:
    """An admin client of one cluster. Any thread may call it.

    A subclass is named by ``forwarding.admin.class``, with its module's path.

    Args:
        settings: of the admin client, in Java's names.

    Example:
        >>> class TicketedAdmin(ForwardingAdmin):
        ...     def create_topics(self, topics):
        ...         for topic in topics:
        ...             tickets.open(f"create {topic.name} with {topic.partitions} partitions")
        ...         return {}
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._seconds = parsed(ClientKind.ADMIN, {_API_TIMEOUT: _API_MILLISECONDS, **settings})[_API_TIMEOUT] / 1000
        self._client: AdminClient | None = self._open_client()

    @classmethod
    def of(cls, brokers: Bootstrap, seconds: float) -> Self:
        """Return the client of a cluster.

        Args:
            brokers: of the cluster.
            seconds: longest wait for each response.
        """
        return cls({**client_settings(brokers), _API_TIMEOUT: str(int(seconds * 1000))})

    def close(self) -> None:
        """Close the connections to the cluster; nothing calls the client after it."""
        self._client = None

    def _open_client(self) -> AdminClient:
        self._refusal: KafkaError | None = None
        return clients.admin(self._settings, {"error_cb": self._failed})

    def _failed(self, error: KafkaError) -> None:
        if clients.refusal(self._settings.get("client.id", ""), error) is not None:
            self._refusal = error

    def _served(self) -> AdminClient:
        """Return the client, after its callbacks: its log lines and errors wait for them."""
        client = self._client
        if client is None:
            raise KafkaException(KafkaError(KafkaError._DESTROY, "The client is closed"))
        client.poll(0)
        return client

    def topics(self) -> dict[str, int]:
        """Return the number of partitions of each topic, in the brokers' order.

        Raises:
            KafkaException: the brokers refuse the request, or do not respond in time; so do the other methods.
        """
        try:
            found = self._served().list_topics(timeout=self._seconds).topics
        except KafkaException as error:
            raise self._cause_of(error) from error
        return {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}

    def topic_settings(self, topics: Iterable[str]) -> dict[str, list[TopicSetting]]:
        """Return the settings of topics, those at their defaults among them."""
        resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in topics]
        if not resources:
            return {}
        answers = self._served().describe_configs(resources, request_timeout=self._seconds)
        return {
            resource.name: [_setting(entry) for entry in self._result(answer).values()]
            for resource, answer in answers.items()
        }

    def create_topics(self, topics: Sequence[NewTopic]) -> Errors:
        """Create topics; return those that were not created, with the error of each."""
        errors: Errors = {}
        for some in _requests(topics, lambda one: 1 + one.partitions + len(one.settings)):
            asked = [
                cimpl.NewTopic(
                    one.name,
                    num_partitions=one.partitions,
                    replication_factor=one.replication_factor,
                    config=dict(one.settings),
                )
                for one in some
            ]
            answers = self._served().create_topics(
                asked, operation_timeout=self._seconds, request_timeout=self._seconds
            )
            errors |= self._errors(answers.items())
        return errors

    def create_partitions(self, counts: Mapping[str, int]) -> Errors:
        """Grow topics to a number of partitions; return those that were not grown, with the error of each."""
        errors: Errors = {}
        for some in _requests(counts.items(), lambda one: one[1]):
            answers = self._served().create_partitions(
                [cimpl.NewPartitions(topic, count) for topic, count in some],
                operation_timeout=self._seconds,
                request_timeout=self._seconds,
            )
            errors |= self._errors(answers.items())
        return errors

    def alter_topic_settings(self, alterations: Mapping[str, Sequence[Alteration]]) -> Errors:
        """Change settings of topics and leave their others; return topics that were not changed, with their errors."""
        changed = ((topic, changes) for topic, changes in alterations.items() if changes)
        errors: Errors = {}
        for some in _requests(changed, lambda one: len(one[1])):
            resources = [
                ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[_entry(one) for one in changes])
                for topic, changes in some
            ]
            answers = self._served().incremental_alter_configs(resources, request_timeout=self._seconds)
            errors |= self._errors((resource.name, answer) for resource, answer in answers.items())
        return errors

    def topic_acls(self) -> list[AclBinding]:
        """Return the ACLs of topics.

        Raises:
            KafkaException: with ``SECURITY_DISABLED`` where the brokers have no authorizer.
        """
        try:
            return fetch_topic_acls(self._settings, self._seconds)
        except ConfigError:
            # A login of librdkafka alone, which reports no authorizer as no ACL.
            found: list[AclBinding] = self._result(
                self._served().describe_acls(_ACLS_OF_TOPICS, request_timeout=self._seconds)
            )
            return found

    def create_acls(self, bindings: Sequence[AclBinding]) -> Errors:
        """Create ACLs; return topics with one that was not created, with the error of each."""
        errors: Errors = {}
        for some in _requests(bindings, lambda one: 1):
            answers = self._served().create_acls(some, request_timeout=self._seconds)
            errors |= self._errors((binding.name, answer) for binding, answer in answers.items())
        return errors

    def consumer_groups(self) -> list[str]:
        """Return the ids of consumer groups, of the classic protocol and of the newer one."""
        found = self._result(self._served().list_consumer_groups(request_timeout=self._seconds))
        if found.errors and not found.valid:
            error = found.errors[0]  # of librdkafka, which can be raised, but not caught
            raise KafkaException(error) if isinstance(error, KafkaError) else error
        return [group.group_id for group in found.valid]

    def group_offsets(self, groups: Iterable[str]) -> tuple[dict[str, dict[TopicPartition, GroupOffset]], Errors]:
        """Return the committed offsets of consumer groups, and the error of each whose offsets are not known now."""
        found, errors = fetch_offsets_of_each(self._settings, list(groups), self._seconds)
        offsets = {
            group: {TopicPartition(*place): GroupOffset(*offset) for place, offset in own.items()}
            for group, own in found.items()
        }
        return offsets, errors

    def idle_groups(self, groups: Collection[str]) -> tuple[set[str], Errors]:
        """Return the groups that have no member or do not exist, and the error of each that cannot be described."""
        found, deadline = self._group_states(groups), time.monotonic() + _COORDINATOR_SECONDS
        while (
            moving := [group for group, state in found.items() if _is_moving(state)]
        ) and time.monotonic() < deadline:
            time.sleep(_COORDINATOR_PAUSE)
            self._forget_coordinators()
            found |= self._group_states(moving)
        idle = {group for group, state in found.items() if state in _WITHOUT_MEMBERS}
        return idle, {group: state for group, state in found.items() if isinstance(state, KafkaException)}

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, GroupOffset]) -> None:
        """Commit offsets of a group that has no member, or does not exist yet.

        Raises:
            KafkaException: with ``UNKNOWN_MEMBER_ID`` where the group has members.
        """
        wanted = {(one.topic, one.partition): (offset.offset, offset.metadata) for one, offset in offsets.items()}
        commit_group_offsets(self._settings, group, wanted, self._seconds)

    def _group_states(self, groups: Collection[str]) -> dict[str, ConsumerGroupState | KafkaException]:
        if not groups:
            return {}
        answers = self._served().describe_consumer_groups(list(groups), request_timeout=self._seconds)
        found: dict[str, ConsumerGroupState | KafkaException] = {}
        for group, answer in answers.items():
            try:
                found[group] = self._result(answer).state
            except KafkaException as error:
                missing = error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
                found[group] = ConsumerGroupState.DEAD if missing else error
        return found

    def _forget_coordinators(self) -> None:
        """Go on with a new client: librdkafka asks the coordinator that it knows as long as that broker responds."""
        self._client = self._open_client()

    def _errors(self, answers: Iterable[tuple[str, Future[Any]]]) -> Errors:
        errors: Errors = {}
        for name, answer in answers:
            try:
                self._result(answer)
            except KafkaException as error:
                errors[name] = error
        return errors

    def _result(self, answer: Future[Any]) -> Any:
        try:
            found = answer.result(self._seconds + _GRACE_SECONDS)
        except FutureTimeout as error:
            late = KafkaException(KafkaError(KafkaError._TIMED_OUT, "The brokers did not respond in time"))
            raise self._cause_of(late) from error
        except KafkaException as error:
            raise self._cause_of(error) from error
        self._refusal = None
        return found

    def _cause_of(self, error: KafkaException) -> KafkaException:
        """Return the refusal of a login or certificate, which a request without a response does not name."""
        self._served()
        known = self._refusal is not None and error.args[0].code() in _WITHOUT_RESPONSE
        return KafkaException(self._refusal) if known else error


def _requests(changes: Iterable[_Change], records: Callable[[_Change], int]) -> Iterator[list[_Change]]:
    """Yield the changes of each request.

    Args:
        changes: all of them.
        records: the number of records of metadata that a change makes.
    """
    some: list[_Change] = []
    size = 0
    for one in changes:
        size += records(one)
        if some and size > _MOST_METADATA_RECORDS:
            yield some
            some, size = [], records(one)
        some.append(one)
    if some:
        yield some


def _is_moving(state: ConsumerGroupState | KafkaException) -> bool:
    """Return whether another broker is the coordinator of the group now, or is about to be."""
    return isinstance(state, KafkaException) and state.args[0].code() in _MOVING


def _setting(entry: ConfigEntry) -> TopicSetting:
    source = ConfigSource(entry.source)
    return TopicSetting(
        entry.name,
        entry.value,
        entry.is_default,
        not (entry.is_read_only or entry.is_sensitive or source is ConfigSource.STATIC_BROKER_CONFIG),
        source is ConfigSource.DYNAMIC_TOPIC_CONFIG,
    )


def _entry(change: Alteration) -> ConfigEntry:
    operation = AlterConfigOpType.DELETE if change.value is None else AlterConfigOpType.SET
    return ConfigEntry(change.name, change.value, incremental_operation=operation)
