"""The partition that Java's default partitioner chooses for a key (``BuiltInPartitioner.partitionForKey``)."""

from __future__ import annotations

from kafka.partitioner.default import murmur2


def partition_of(key: bytes, partitions: int) -> int:
    """Return the number of the partition of a key.

    Args:
        key: of a record.
        partitions: how many the topic has.
    """
    return int(murmur2(key) & 0x7FFFFFFF) % partitions
