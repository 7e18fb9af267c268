"""Positions in the partitions of a source task, and how far their records are delivered. Asks no broker."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from connect_dagster.plugin.records import TopicPartition


class Positions:
    """The next offset to read of each partition, for one thread, but for :meth:`deliver`.

    Args:
        stored: the offset to read next of each partition; ``None`` where it is not known yet.

    Attributes:
        unplaced: partitions whose positions are missing, or are not known to be in their logs.
    """

    def __init__(self, stored: Mapping[TopicPartition, int | None]) -> None:
        self.unplaced = set(stored)
        self._next = dict(stored)
        self._delivered = dict(stored)
        self._first_reads: dict[TopicPartition, int] = {}  # of those that were placed elsewhere
        self._reads = 0
        self._changing = threading.Lock()

    def __getitem__(self, partition: TopicPartition) -> int | None:
        return self._next[partition]

    @property
    def partitions(self) -> list[TopicPartition]:
        """Return all partitions; those that were read last are the last ones."""
        return list(self._next)

    def known(self) -> dict[TopicPartition, int]:
        """Return the positions of partitions that can be read."""
        return {one: offset for one, offset in self._next.items() if offset is not None and one not in self.unplaced}

    def place(self, partition: TopicPartition, offset: int) -> None:
        """Read a partition from an offset on, which is in its log."""
        self.unplaced.discard(partition)
        if offset == self._next[partition]:
            return
        with self._changing:
            self._next[partition] = self._delivered[partition] = offset
            self._first_reads[partition] = self._reads

    def displace(self, partitions: Iterable[TopicPartition]) -> None:
        """Read none of these partitions until they are placed."""
        self.unplaced.update(partitions)

    def move(self, ends: Mapping[TopicPartition, int]) -> int:
        """Go on after a read; return its number."""
        with self._changing:
            # What has come last is first when a next read cannot have all.
            self._next = {one: at for one, at in self._next.items() if one not in ends} | dict(ends)
            self._reads += 1
            return self._reads - 1

    def deliver(self, number: int, ends: Mapping[TopicPartition, int]) -> None:
        """Note that the target has the records of a read; any thread may call it."""
        with self._changing:
            for partition, end in ends.items():
                if number >= self._first_reads.get(partition, 0):  # else its log is another one now
                    self._delivered[partition] = end

    def rewind(self) -> None:
        """Go back to what is delivered, as no read is under way; all partitions are to be placed again."""
        with self._changing:
            self._next = dict(self._delivered)
        self.displace(self._next)
