"""Groups of a cluster: as their coordinator describes them, and as ``__consumer_offsets`` holds them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.admin import MemberToRemove
from kafka.protocol.admin import DescribeGroupsRequest
from kafka.structs import OffsetAndMetadata

from connect_dagster.kafka import clients
from connect_dagster.kafka.access import CLIENT_ID, Bootstrap, client_settings
from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.kafka.python_admin import (
    RETRY_SECONDS,
    PythonAdmin,
    ask_anew,
    is_temporary,
    kafka_exception,
    open_admin,
    silence,
)
from connect_dagster.kafka.settings import to_kafka_python
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_reading import partition_count, read_topic
from connect_dagster.protocol.group_metadata import OFFSETS_TOPIC, GroupKey, GroupMetadata, partition_of_group

ANSWER_SECONDS = 8.0
_REMOVAL_SECONDS = 2.0
_REFUSAL_SECONDS = 3.0
# A coordinator that does not respond leaves time to ask the others.
_REQUESTS_IN_TIME = 4
_OTHERS_SECONDS = 5.0
# Errors of a commit that another try may not have; kafka-python would repeat others, such as those of missing topics.
_OF_COORDINATOR = (
    kafka_errors.CoordinatorLoadInProgressError,
    kafka_errors.CoordinatorNotAvailableError,
    kafka_errors.NotCoordinatorError,
)
_REMOVED = (kafka_errors.NoError, kafka_errors.UnknownMemberIdError)
_GONE = "Dead"


@dataclass(frozen=True, slots=True)
class DescribedMember:
    """One member of a group; ``None`` for a timeout that the source does not include."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    subscription: bytes
    assignment: bytes
    rebalance_timeout: int | None = None
    session_timeout: int | None = None


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    """A group; ``None`` for fields that the source does not include.

    Attributes:
        group: its id.
        state: in the broker's words.
        protocol_type: ``connect``, ``consumer`` or another client's word.
        protocol: on which the members agreed.
        members: in the source's order.
        generation: grows with each rebalance.
        leader: its member id.
        current_state_timestamp: milliseconds since 1970 of the last change of state.
    """

    group: str | None
    protocol_type: str
    protocol: str | None
    members: tuple[DescribedMember, ...]
    state: str | None = None
    generation: int | None = None
    leader: str | None = None
    current_state_timestamp: int | None = None

    @classmethod
    def of_record(cls, group: str | None, record: GroupMetadata) -> DescribedGroup:
        """Return the group id of a record of ``__consumer_offsets``."""
        return cls(
            group=group,
            protocol_type=record.protocol_type,
            protocol=record.protocol,
            generation=record.generation,
            leader=record.leader,
            current_state_timestamp=record.current_state_timestamp,
            members=tuple(
                DescribedMember(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout,
                    session_timeout=member.session_timeout,
                    subscription=member.subscription,
                    assignment=member.assignment,
                )
                for member in record.members
            ),
        )


def live_group(bootstrap: Bootstrap, group: str, timeout: float = ANSWER_SECONDS) -> DescribedGroup:
    """Return a group as its coordinator describes it.

    Args:
        bootstrap: Brokers, ``host:port``, separated by commas.
        group: Its id.
        timeout: Bound for each request, in seconds.

    Raises:
        BrokersError: No broker responds, or the group does not exist.
    """
    with silence.kept(), brokers_errors(), closing(_Groups(bootstrap, timeout)) as groups:
        found = groups.raw_description(group)
    if found.group_state == _GONE:
        # Older brokers return this; newer ones have a sentence, which also names groups of other protocols.
        raise BrokersError(found.error_message or f"Group {group} not found.")
    return DescribedGroup(
        group=group,
        state=found.group_state,
        protocol_type=found.protocol_type,
        protocol=found.protocol_data or None,
        members=tuple(
            DescribedMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                subscription=bytes(member.member_metadata),
                assignment=bytes(member.member_assignment),
            )
            for member in found.members
        ),
    )


def recorded_group(bootstrap: Bootstrap, group: str, timeout: float = ANSWER_SECONDS) -> GroupMetadata:
    """Return a group as its last record in ``__consumer_offsets`` describes it.

    Args:
        bootstrap: Brokers, ``host:port``, separated by commas.
        group: Its id.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        BrokersError: No broker responds, or the record does not exist.
        MalformedBytes: The record is malformed; names the position.
    """
    count = partition_count(bootstrap, OFFSETS_TOPIC, timeout)
    if count is None:
        raise BrokersError(f"Topic {OFFSETS_TOPIC} does not exist yet: the cluster never had a group.")
    partition, key = partition_of_group(group, count), GroupKey(group).encode()
    records = read_topic(bootstrap, OFFSETS_TOPIC, timeout, partition, "read_uncommitted")
    values = [record.value() for record in records if record.key() == key]
    if not values:
        raise BrokersError(f"Partition {partition} of {OFFSETS_TOPIC} has no record of group {group!r}.")
    if values[-1] is None:
        raise BrokersError(f"Group {group!r} was deleted: its last record in {OFFSETS_TOPIC} is a tombstone.")
    return GroupMetadata.decode(values[-1])


Offsets = Mapping[tuple[str, int], tuple[int, str]]
"""Committed offset and metadata by topic and partition."""


def fetch_group_offsets(settings: Settings, groups: Collection[str], timeout: float) -> dict[str, Offsets]:
    """Return the committed offsets of groups, as :func:`fetch_offsets_of_each` does; the offsets of all or none.

    Raises:
        KafkaException: A coordinator refuses, or does not respond.
        ConfigError: kafka-python has no such login.
    """
    found, errors = fetch_offsets_of_each(settings, groups, timeout)
    for error in errors.values():
        raise error
    return found


def fetch_offsets_of_each(
    settings: Settings, groups: Collection[str], timeout: float
) -> tuple[dict[str, Offsets], dict[str, KafkaException]]:
    """Return the committed offsets of groups, with one request for each coordinator where all respond (KIP-709).

    Kafka's protocol is spoken directly: an admin client of librdkafka ends the process when a broker is no longer the
    coordinator of the group, as after a restart.

    Args:
        settings: of an admin client, in Java's names.
        groups: their ids.
        timeout: Longest wait for brokers and coordinators, in seconds.

    Returns:
        The offsets by group, none for a group that does not exist; and the errors of those groups whose coordinator
        refuses, or does not respond.

    Raises:
        ConfigError: kafka-python has no such login.
    """
    found: dict[str, Offsets] = {}
    errors: dict[str, KafkaException] = {}
    left = list(groups)
    deadline = time.monotonic() + timeout
    while left:
        for group, answer in _answers(settings, left, timeout).items():
            if isinstance(answer, KafkaException):
                errors[group] = answer
            else:
                found[group] = answer
                errors.pop(group, None)
        left = [group for group, error in errors.items() if is_temporary(error)]
        if found:  # which do not wait long for the others
            deadline = min(deadline, time.monotonic() + _OTHERS_SECONDS)
        if time.monotonic() > deadline:
            break
        if left:
            time.sleep(RETRY_SECONDS)
    return found, errors


_Answers = dict[str, Offsets | KafkaException]


def _answers(settings: Settings, groups: Sequence[str], timeout: float) -> _Answers:
    try:
        with open_admin(settings, wait=timeout, request=timeout / _REQUESTS_IN_TIME) as admin:
            return _bisected(admin, groups, time.monotonic() + timeout)
    except KafkaException as error:
        return dict.fromkeys(groups, error)


def _bisected(admin: KafkaAdminClient, groups: Sequence[str], deadline: float) -> _Answers:
    """Return the offsets of groups; halves them while one fails, as kafka-python has the first error alone."""
    try:
        found = admin.list_group_offsets(list(groups))
    except kafka_errors.KafkaError as error:
        if len(groups) == 1 or time.monotonic() > deadline:
            return dict.fromkeys(groups, kafka_exception(error))
        half = len(groups) // 2
        return _bisected(admin, groups[:half], deadline) | _bisected(admin, groups[half:], deadline)
    return {
        group: {(place.topic, place.partition): (offset.offset, offset.metadata or "") for place, offset in own.items()}
        for group, own in found.items()
    }


def commit_group_offsets(settings: Settings, group: str, offsets: Offsets, timeout: float) -> None:
    """Commit offsets of a group that has no member, or does not exist yet.

    librdkafka's client in Python is not asked: it ends the metadata with a zero byte.

    Args:
        settings: of an admin client, in Java's names.
        group: its id.
        offsets: to commit; its others stay.
        timeout: Longest wait for brokers and coordinator, in seconds.

    Raises:
        KafkaException: The coordinator refuses, with ``UNKNOWN_MEMBER_ID`` where the group has members, or does not
            respond. Offsets of other partitions than those named are committed (Java:
            ``AlterConsumerGroupOffsetsHandler``).
        ConfigError: kafka-python has no such login.
    """
    wanted = {KafkaPartition(*place): OffsetAndMetadata(*offset) for place, offset in offsets.items()}

    def commit(admin: KafkaAdminClient) -> dict[KafkaPartition, type[kafka_errors.KafkaError]]:
        results = admin.alter_group_offsets(group, wanted)
        errors = {place: error for place, error in results.items() if error is not kafka_errors.NoError}
        for error in errors.values():
            if error in _OF_COORDINATOR:
                raise error
        return errors

    errors = ask_anew(settings, commit, timeout)
    if errors:
        error = next(iter(errors.values()))
        refused = ", ".join(f"{place.topic}-{place.partition}" for place, other in errors.items() if other is error)
        raise KafkaException(KafkaError(error.errno, f"{error.message} for {refused}"))


def delete_group_offsets(settings: Settings, group: str, places: Collection[tuple[str, int]], timeout: float) -> None:
    """Delete committed offsets of a group; its others stay (KIP-496, which librdkafka's clients in Python lack).

    Args:
        settings: of an admin client, in Java's names.
        group: its id.
        places: topic and partition of the offsets to delete; one without an offset is as it should be.
        timeout: Bound for each request, and for the wait for a coordinator, in seconds.

    Raises:
        KafkaException: The coordinator refuses, or does not respond.
        ConfigError: kafka-python has no such login.
    """
    wanted = [KafkaPartition(topic, partition) for topic, partition in places]
    with open_admin(settings, wait=timeout, request=timeout) as admin:
        errors = _with_coordinator(lambda: admin.delete_group_offsets(group, wanted), timeout)
        for error in errors.values():
            if error is not kafka_errors.NoError:
                raise error


def remove_members(settings: Settings, members: Mapping[str, Collection[str]], timeout: float) -> dict[str, str]:
    """Remove members from their groups as soon as the coordinators respond (KIP-345).

    Args:
        settings: of an admin client, in Java's names.
        members: ids of members by group; one that the group does not have is as it should be.
        timeout: Longest wait for brokers and coordinators, in seconds.

    Returns:
        The errors of groups with members that were not removed.

    Raises:
        KafkaException: No broker responds.
        ConfigError: kafka-python has no such login.
    """
    deadline = time.monotonic() + timeout
    errors: dict[str, str] = {}
    left = dict(members)
    with open_admin(settings, wait=timeout, request=_REMOVAL_SECONDS) as admin:
        while left and time.monotonic() < deadline:
            for group, ids in list(left.items()):
                try:
                    error = _removal_error(admin, group, ids)
                except kafka_errors.RetriableError:
                    continue
                del left[group]
                if error:
                    errors[group] = error
            if left:
                time.sleep(RETRY_SECONDS)
    return {**errors, **dict.fromkeys(left, "its coordinator does not respond")}


def _removal_error(admin: KafkaAdminClient, group: str, ids: Collection[str]) -> str | None:
    """Remove members; return the final error. Raises RetriableError of kafka-python."""
    try:
        found = admin.remove_group_members(group, [MemberToRemove(member_id=id) for id in ids])
    except kafka_errors.KafkaError as error:
        if error.retriable:
            raise
        return str(error)
    errors = {error for error in found.values() if error not in _REMOVED}
    if any(error.retriable for error in errors):
        raise kafka_errors.RetriableError
    return ", ".join(sorted(error.__name__ for error in errors)) or None


def _with_coordinator(request: Callable[[], Any], timeout: float) -> Any:
    """Return what a request returns; repeat it while the group has no coordinator. Raises KafkaError."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return request()
        except kafka_errors.KafkaError as error:
            if not error.retriable or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)


class _Groups(PythonAdmin):
    """kafka-python's admin client, without its assumption that all members are consumers."""

    def __init__(self, bootstrap: Bootstrap, timeout: float) -> None:
        self._timeout = timeout
        bounds = {name: int(timeout * 1000) for name in ("bootstrap_timeout_ms", "request_timeout_ms")}
        settings = client_settings(bootstrap)
        try:
            super().__init__(**{**to_kafka_python(str(bootstrap), CLIENT_ID, settings), **bounds})
        except kafka_errors.KafkaTimeoutError:
            # It repeats a login that brokers refuse until the time is over, and then says that it found none.
            with suppress(KafkaException):
                clients.quiet_admin(settings).list_topics(timeout=_REFUSAL_SECONDS)
            raise

    def raw_description(self, group: str) -> Any:
        """Return the ``DescribedGroup`` of the response; waits for a coordinator. Raises KafkaError."""
        return _with_coordinator(lambda: self._manager.run(self._described, group), self._timeout)

    async def _described(self, group: str) -> Any:
        coordinator = await self._find_coordinator_id(group)
        answer = await self._manager.send(DescribeGroupsRequest(groups=[group]), node_id=coordinator)
        (found,) = answer.groups
        error = kafka_errors.for_code(found.error_code)
        if error not in (kafka_errors.NoError, kafka_errors.GroupIdNotFoundError):
            raise error(found.error_message or "")
        return found
