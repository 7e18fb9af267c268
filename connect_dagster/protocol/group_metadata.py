"""The records of ``__consumer_offsets`` that hold groups (Kafka: ``GroupMetadataKey``, ``GroupMetadataValue``).

The topic holds records of many kinds; a key begins with the number of its kind. This module reads groups of the classic
protocol, of any protocol type, and the keys of offset commits. The meaning of a member's subscription and assignment
depends on the protocol type, and is decoded elsewhere.

Fields by version of the value: rebalance timeout from 1, state timestamp from 2, group instance id from 3; version 4 is
flexible (KIP-915).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from connect_dagster.java.hashes import string_hash
from connect_dagster.protocol import wire
from connect_dagster.protocol.wire import NO_TAGS

OFFSETS_TOPIC = "__consumer_offsets"

_REBALANCE_TIMEOUT_SINCE = 1
_STATE_TIMESTAMP_SINCE = 2
_INSTANCE_ID_SINCE = 3
_FLEXIBLE_SINCE = 4
_NEWEST_VERSION = 4

_GROUP_METADATA = 2
_KINDS = {
    0: "LegacyOffsetCommit",
    1: "OffsetCommit",
    _GROUP_METADATA: "GroupMetadata",
    3: "ConsumerGroupMetadata",
    4: "ConsumerGroupPartitionMetadata",
    5: "ConsumerGroupMemberMetadata",
    6: "ConsumerGroupTargetAssignmentMetadata",
    7: "ConsumerGroupTargetAssignmentMember",
    8: "ConsumerGroupCurrentMemberAssignment",
    10: "ShareGroupMemberMetadata",
    11: "ShareGroupMetadata",
    12: "ShareGroupTargetAssignmentMetadata",
    13: "ShareGroupTargetAssignmentMember",
    14: "ShareGroupCurrentMemberAssignment",
    15: "ShareGroupStatePartitionMetadata",
    16: "ConsumerGroupRegularExpression",
    17: "StreamsGroupMetadata",
    19: "StreamsGroupMemberMetadata",
    20: "StreamsGroupTargetAssignmentMetadata",
    21: "StreamsGroupTargetAssignmentMember",
    22: "StreamsGroupCurrentMemberAssignment",
    23: "StreamsGroupTopology",
}
"""Kafka 4.3's names of the kinds of records."""
_OFFSET_COMMITS = (0, 1)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """The key of a group of the classic protocol."""

    group: str

    def encode(self) -> bytes:
        """Return the bytes. Raises ValueError for a name that is too long."""
        return wire.int16(_GROUP_METADATA) + wire.string(self.group)


@dataclass(frozen=True, slots=True)
class OffsetCommitKey:
    """The key of an offset that a group has committed for a partition. ``kind`` is 1, long ago 0."""

    group: str
    topic: str
    partition: int
    kind: int = 1

    def encode(self) -> bytes:
        """Return the bytes. Raises ValueError for a name that is too long."""
        return wire.int16(self.kind) + wire.string(self.group) + wire.string(self.topic) + wire.int32(self.partition)


@dataclass(frozen=True, slots=True)
class OtherKey:
    """A key of a kind that is not read here: its number, Kafka's name for it, all its bytes."""

    kind: int
    name: str
    data: bytes

    def encode(self) -> bytes:
        """Return the bytes."""
        return self.data


RecordKey: TypeAlias = GroupKey | OffsetCommitKey | OtherKey


def decode_key(data: bytes) -> RecordKey:
    """Read the key of a record of ``__consumer_offsets``.

    Raises:
        MalformedBytes: it is the key of a group or an offset commit, but damaged; names the position.
    """
    reader = wire.Reader(data)
    kind = reader.int16()
    key: RecordKey
    if kind == _GROUP_METADATA:
        key = GroupKey(reader.string())
    elif kind in _OFFSET_COMMITS:
        key = OffsetCommitKey(reader.string(), reader.string(), reader.int32(), kind)
    else:
        return OtherKey(kind, _KINDS.get(kind, "of an unknown kind"), data)
    reader.finish()
    return key


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member of a group.

    Attributes:
        member_id: assigned by the broker.
        group_instance_id: of a static member; ``None`` for others and before version 3.
        client_id: its ``client.id``.
        client_host: its address as the broker sees it, ``/172.19.0.6``.
        rebalance_timeout: milliseconds; -1 before version 1.
        session_timeout: milliseconds.
        subscription: its metadata for the group's protocol.
        assignment: the leader's assignment for it.
        tags: the tag buffer as it is; only version 4 writes it.
    """

    member_id: str
    client_id: str
    client_host: str
    session_timeout: int
    subscription: bytes
    assignment: bytes
    rebalance_timeout: int = -1
    group_instance_id: str | None = None
    tags: bytes = NO_TAGS


@dataclass(frozen=True, slots=True)
class GroupMetadata:
    """A group, as the record's value describes it.

    Attributes:
        version: of the value, 0 to 4.
        protocol_type: ``consumer``, ``connect`` or another client's word.
        generation: grows with each rebalance.
        protocol: the protocol that the members agreed on; ``None`` without members.
        leader: its member id; ``None`` when there is none.
        members: in the record's order.
        current_state_timestamp: milliseconds since 1970 of the last change of state; -1 before version 2.
        tags: the tag buffer as it is; only version 4 writes it.
    """

    version: int
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[GroupMember, ...]
    current_state_timestamp: int = -1
    tags: bytes = NO_TAGS

    @classmethod
    def decode(cls, data: bytes) -> GroupMetadata:
        """Read a record's value.

        Raises:
            MalformedBytes: the bytes are not a value of version 0 to 4; names the position.
        """
        reader = wire.Reader(data)
        version = reader.int16()
        if not 0 <= version <= _NEWEST_VERSION:
            raise reader.malformed(f"group metadata of version {version}, where 0 to {_NEWEST_VERSION} are known", 0)
        group = _read(reader, version)
        reader.finish()
        return group

    def encode(self) -> bytes:
        """Return the bytes of the value.

        Values without a field in its version are left out, as Kafka does when it writes an older version.

        Raises:
            ValueError: a name is longer than versions before 4 allow.
        """
        form = _COMPACT if self.version >= _FLEXIBLE_SINCE else _CLASSIC
        return (
            wire.int16(self.version)
            + form.string(self.protocol_type)
            + wire.int32(self.generation)
            + form.nullable_string(self.protocol)
            + form.nullable_string(self.leader)
            + (wire.int64(self.current_state_timestamp) if self.version >= _STATE_TIMESTAMP_SINCE else b"")
            + form.array(_member(member, form, self.version) for member in self.members)
            + form.tags(self.tags)
        )


@dataclass(frozen=True, slots=True)
class _Reading:
    """Readers of the types of a version: the classic forms, or the compact ones."""

    string: Callable[[], str]
    nullable_string: Callable[[], str | None]
    data: Callable[[], bytes]
    members: Callable[[Callable[[], GroupMember]], tuple[GroupMember, ...]]
    tags: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class _Writing:
    """Writers of the types of a version."""

    string: Callable[[str], bytes]
    nullable_string: Callable[[str | None], bytes]
    data: Callable[[bytes], bytes]
    array: Callable[[Iterable[bytes]], bytes]
    tags: Callable[[bytes], bytes]


_CLASSIC = _Writing(wire.string, wire.nullable_string, wire.data, wire.array, lambda _: b"")
_COMPACT = _Writing(
    wire.compact_string, wire.compact_nullable_string, wire.compact_data, wire.compact_array, lambda tags: tags
)


def _reading(reader: wire.Reader, version: int) -> _Reading:
    if version < _FLEXIBLE_SINCE:
        return _Reading(reader.string, reader.nullable_string, reader.data, reader.array, lambda: NO_TAGS)
    return _Reading(
        reader.compact_string, reader.compact_nullable_string, reader.compact_data, reader.compact_array, reader.tags
    )


def _read(reader: wire.Reader, version: int) -> GroupMetadata:
    reads = _reading(reader, version)
    protocol_type, generation = reads.string(), reader.int32()
    protocol, leader = reads.nullable_string(), reads.nullable_string()
    timestamp = reader.int64() if version >= _STATE_TIMESTAMP_SINCE else -1
    members = reads.members(lambda: _read_member(reader, reads, version))
    return GroupMetadata(version, protocol_type, generation, protocol, leader, members, timestamp, reads.tags())


def _read_member(reader: wire.Reader, reads: _Reading, version: int) -> GroupMember:
    member_id = reads.string()
    instance_id = reads.nullable_string() if version >= _INSTANCE_ID_SINCE else None
    client_id, client_host = reads.string(), reads.string()
    rebalance_timeout = reader.int32() if version >= _REBALANCE_TIMEOUT_SINCE else -1
    session_timeout, subscription, assignment = reader.int32(), reads.data(), reads.data()
    return GroupMember(
        member_id=member_id,
        client_id=client_id,
        client_host=client_host,
        session_timeout=session_timeout,
        subscription=subscription,
        assignment=assignment,
        rebalance_timeout=rebalance_timeout,
        group_instance_id=instance_id,
        tags=reads.tags(),
    )


def _member(member: GroupMember, form: _Writing, version: int) -> bytes:
    return (
        form.string(member.member_id)
        + (form.nullable_string(member.group_instance_id) if version >= _INSTANCE_ID_SINCE else b"")
        + form.string(member.client_id)
        + form.string(member.client_host)
        + (wire.int32(member.rebalance_timeout) if version >= _REBALANCE_TIMEOUT_SINCE else b"")
        + wire.int32(member.session_timeout)
        + form.data(member.subscription)
        + form.data(member.assignment)
        + form.tags(member.tags)
    )


def partition_of_group(group: str, partitions: int) -> int:
    """Return a group's partition of ``__consumer_offsets`` (Kafka: ``GroupCoordinator.partitionFor``).

    Args:
        group: its id.
        partitions: the number of the topic's partitions (``offsets.topic.num.partitions``, 50 by default).
    """
    value = string_hash(group)
    # Kafka's `Utils.abs`: the smallest number has no positive counterpart.
    return (0 if value == -(1 << 31) else abs(value)) % partitions
