"""Keys and values of offset syncs, checkpoints and heartbeats (Java: ``OffsetSync``, ``Checkpoint``, ``Heartbeat``).

Each is written to partition 0 of its topic. Bytes after the last field are ignored, as in Java.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from connect_dagster.plugin.records import TopicPartition
from connect_dagster.protocol import wire
from connect_dagster.protocol.wire import Reader

_VERSION = 0


@dataclass(frozen=True, slots=True)
class OffsetSync:
    """A record of the source cluster that was delivered to the target cluster; its bytes have no version.

    Attributes:
        topic_partition: of the record, in the source cluster.
        upstream_offset: its offset there.
        downstream_offset: its offset in the target cluster.
    """

    topic_partition: TopicPartition
    upstream_offset: int
    downstream_offset: int

    @property
    def key(self) -> bytes:
        """Return the key's bytes."""
        return _encode(self.topic_partition)

    @property
    def value(self) -> bytes:
        """Return the value's bytes."""
        return wire.int64(self.upstream_offset) + wire.int64(self.downstream_offset)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Self | None:
        """Return the sync, ``None`` for a tombstone.

        Raises:
            MalformedBytes: key or value is too short.
        """
        if key is None or value is None:
            return None
        offsets = Reader(value)
        return cls(_topic_partition(Reader(key)), offsets.int64(), offsets.int64())

    def __str__(self) -> str:
        """Return the text of Java's ``OffsetSyncFormatter``."""
        return (
            f"OffsetSync{{topicPartition={self.topic_partition}, upstreamOffset={self.upstream_offset}, "
            f"downstreamOffset={self.downstream_offset}}}"
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An offset of a consumer group, translated to the target cluster.

    Attributes:
        group: the group's id.
        topic_partition: of the offset, in the target cluster.
        upstream_offset: the offset that the group committed in the source cluster.
        downstream_offset: its translation.
        metadata: that the group committed with it.
    """

    group: str
    topic_partition: TopicPartition
    upstream_offset: int
    downstream_offset: int
    metadata: str = ""

    @property
    def key(self) -> bytes:
        """Return the key's bytes."""
        return wire.string(self.group) + _encode(self.topic_partition)

    @property
    def value(self) -> bytes:
        """Return the value's bytes."""
        offsets = wire.int64(self.upstream_offset) + wire.int64(self.downstream_offset)
        return wire.int16(_VERSION) + offsets + wire.string(self.metadata)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Self | None:
        """Return the checkpoint, ``None`` for a tombstone.

        Raises:
            MalformedBytes: key or value is too short, or the value has another version.
        """
        if key is None or value is None:
            return None
        names, fields = Reader(key), _versioned(value)
        return cls(names.string(), _topic_partition(names), fields.int64(), fields.int64(), fields.string())

    def __str__(self) -> str:
        """Return the text of Java's ``CheckpointFormatter``."""
        return (
            f"Checkpoint{{consumerGroupId={self.group}, topicPartition={self.topic_partition}, "
            f"upstreamOffset={self.upstream_offset}, downstreamOffset={self.downstream_offset}, "
            f"metadata={self.metadata}}}"
        )


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A sign of life of a flow; the timestamp is in epoch milliseconds."""

    source_alias: str
    target_alias: str
    timestamp: int

    @property
    def key(self) -> bytes:
        """Return the key's bytes."""
        return wire.string(self.source_alias) + wire.string(self.target_alias)

    @property
    def value(self) -> bytes:
        """Return the value's bytes."""
        return wire.int16(_VERSION) + wire.int64(self.timestamp)

    @classmethod
    def decode(cls, key: bytes | None, value: bytes | None) -> Self | None:
        """Return the heartbeat, ``None`` for a tombstone.

        Raises:
            MalformedBytes: key or value is too short, or the value has another version.
        """
        if key is None or value is None:
            return None
        aliases = Reader(key)
        return cls(aliases.string(), aliases.string(), _versioned(value).int64())

    def __str__(self) -> str:
        """Return the text of Java's ``HeartbeatFormatter``."""
        return (
            f"Heartbeat{{sourceClusterAlias={self.source_alias}, targetClusterAlias={self.target_alias}, "
            f"timestamp={self.timestamp}}}"
        )


def _encode(topic_partition: TopicPartition) -> bytes:
    return wire.string(topic_partition.topic) + wire.int32(topic_partition.partition)


def _topic_partition(reader: Reader) -> TopicPartition:
    return TopicPartition(reader.string(), reader.int32())


def _versioned(value: bytes) -> Reader:
    """Return a reader of the fields after the version."""
    reader = Reader(value)
    version = reader.int16()
    if version != _VERSION:
        raise reader.malformed(f"version {version} where {_VERSION} is known", 0)
    return reader
