"""Groups of a cluster: as their coordinator describes them, and as ``__consumer_offsets`` holds them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition
from kafka import errors as kafka_errors
from kafka.protocol.admin import DescribeGroupsRequest

from connect_dagster.kafka.access import CLIENT_ID, Bootstrap, client_settings
from connect_dagster.kafka.errors import BrokersError, brokers_errors
from connect_dagster.kafka.settings import to_kafka_python
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.topic_reading import partition_count, read_topic
from connect_dagster.protocol.group_metadata import OFFSETS_TOPIC, GroupKey, GroupMetadata, partition_of_group

ANSWER_SECONDS = 8.0
_RETRY_SECONDS = 0.2
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
    with brokers_errors(), closing(_Groups(bootstrap, timeout)) as groups:
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
    bounds = {name: int(timeout * 1000) for name in ("bootstrap_timeout_ms", "request_timeout_ms")}
    known = to_kafka_python(settings["bootstrap.servers"], settings.get("client.id", CLIENT_ID), settings)
    wanted = [KafkaPartition(topic, partition) for topic, partition in places]
    try:
        with closing(KafkaAdminClient(**{**known, **bounds})) as admin:
            errors = _with_coordinator(lambda: admin.delete_group_offsets(group, wanted), timeout)
        for error in errors.values():
            if error is not kafka_errors.NoError:
                raise error
    except kafka_errors.KafkaError as error:
        raise KafkaException(KafkaError(getattr(error, "errno", KafkaError._FAIL), str(error))) from error


def _with_coordinator(request: Callable[[], Any], timeout: float) -> Any:
    """Return what a request returns; repeat it while the group has no coordinator. Raises KafkaError."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return request()
        except kafka_errors.KafkaError as error:
            if not error.retriable or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


class _Groups(KafkaAdminClient):  # type: ignore[misc]  # kafka-python has no types
    """kafka-python's admin client, without its assumption that all members are consumers."""

    def __init__(self, bootstrap: Bootstrap, timeout: float) -> None:
        # The error has in one sentence what the client library would log.
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._timeout = timeout
        bounds = {name: int(timeout * 1000) for name in ("bootstrap_timeout_ms", "request_timeout_ms")}
        super().__init__(**{**to_kafka_python(str(bootstrap), CLIENT_ID, client_settings(bootstrap)), **bounds})

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
