"""Structs of a consumer group: the subscription and the assignment of protocol type ``consumer``.

Layouts after Kafka's ``ConsumerProtocolSubscription`` and ``ConsumerProtocolAssignment``, versions 0 to 3: a
subscription has owned partitions from 1, the generation from 2, the rack from 3.
"""

from __future__ import annotations

from dataclasses import dataclass

from connect_dagster.protocol import wire

PROTOCOL_TYPE = "consumer"

_OWNED_SINCE = 1
_GENERATION_SINCE = 2
_RACK_SINCE = 3
_NEWEST_VERSION = 3


@dataclass(frozen=True, slots=True)
class TopicPartitions:
    """Partitions of a topic."""

    topic: str
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ConsumerSubscription:
    """The metadata of a consumer, for the leader.

    Attributes:
        version: of the struct, 0 to 3.
        topics: which it wants to read.
        user_data: what its assignor adds.
        owned_partitions: what it reads now; empty before version 1.
        generation: in which it got these; -1 before version 2.
        rack: where it runs; ``None`` before version 3.
    """

    version: int
    topics: tuple[str, ...]
    user_data: bytes | None
    owned_partitions: tuple[TopicPartitions, ...] = ()
    generation: int = -1
    rack: str | None = None

    @classmethod
    def decode(cls, data: bytes) -> ConsumerSubscription:
        """Read a subscription. Raises MalformedBytes: it is not of version 0 to 3; names the position."""
        reader = wire.Reader(data)
        version = _version(reader, "subscription")
        topics, user_data = reader.array(reader.string), reader.nullable_data()
        owned = reader.array(lambda: _read_partitions(reader)) if version >= _OWNED_SINCE else ()
        generation = reader.int32() if version >= _GENERATION_SINCE else -1
        rack = reader.nullable_string() if version >= _RACK_SINCE else None
        reader.finish()
        return cls(version, topics, user_data, owned, generation, rack)

    def encode(self) -> bytes:
        """Return the bytes; without what its version has no field for."""
        return (
            wire.int16(self.version)
            + wire.array(map(wire.string, self.topics))
            + wire.nullable_data(self.user_data)
            + (wire.array(map(_partitions, self.owned_partitions)) if self.version >= _OWNED_SINCE else b"")
            + (wire.int32(self.generation) if self.version >= _GENERATION_SINCE else b"")
            + (wire.nullable_string(self.rack) if self.version >= _RACK_SINCE else b"")
        )


@dataclass(frozen=True, slots=True)
class ConsumerAssignment:
    """The assignment of a consumer, from the leader.

    Attributes:
        version: of the struct, 0 to 3, of equal layout.
        assigned_partitions: what it has to read.
        user_data: what its assignor adds.
    """

    version: int
    assigned_partitions: tuple[TopicPartitions, ...]
    user_data: bytes | None

    @classmethod
    def decode(cls, data: bytes) -> ConsumerAssignment:
        """Read an assignment. Raises MalformedBytes: it is not of version 0 to 3; names the position."""
        reader = wire.Reader(data)
        version = _version(reader, "assignment")
        assigned, user_data = reader.array(lambda: _read_partitions(reader)), reader.nullable_data()
        reader.finish()
        return cls(version, assigned, user_data)

    def encode(self) -> bytes:
        """Return the bytes."""
        return (
            wire.int16(self.version)
            + wire.array(map(_partitions, self.assigned_partitions))
            + wire.nullable_data(self.user_data)
        )


def _version(reader: wire.Reader, what: str) -> int:
    start, version = reader.position, reader.int16()
    if not 0 <= version <= _NEWEST_VERSION:
        raise reader.malformed(f"{what} of version {version}, where 0 to {_NEWEST_VERSION} are known", start)
    return version


def _read_partitions(reader: wire.Reader) -> TopicPartitions:
    return TopicPartitions(reader.string(), reader.array(reader.int32))


def _partitions(entry: TopicPartitions) -> bytes:
    return wire.string(entry.topic) + wire.array(map(wire.int32, entry.partitions))
