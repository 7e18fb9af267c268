"""Which partitions are read by ranges: those of which the consumer has got something. Pure.

A job over ranges of many partitions fails for all of them where the brokers refuse one, such as a topic that may be
described but not read. Java's consumer goes on with the others (Java: ``FetchCollector``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from connect_dagster.plugin.records import TopicPartition

AGAIN_SECONDS = 10.0
"""Partitions that are not read by ranges are tried again after this time."""


class ReadablePartitions:
    """Keeps what the consumer has got of each partition.

    A partition without an event may have offsets without records only, or its refusal was missed: it is tried twice.
    """

    def __init__(self) -> None:
        self._untried: set[TopicPartition] = set()
        self._refused: set[TopicPartition] = set()
        self._silent: set[TopicPartition] = set()
        self._again_at = 0.0

    @property
    def excluded(self) -> set[TopicPartition]:
        """Return the partitions that are not read by ranges now."""
        return self._refused | self._silent

    def at_rest(self, now: float) -> set[TopicPartition]:
        """Return those of them for which there is nothing to do before the consumer has got something."""
        return self._refused | (self._silent if now < self._again_at else set())

    def placed(self, partitions: Iterable[TopicPartition]) -> None:
        """Note partitions that begin at a position."""
        self._untried.update(partitions)

    def fetched(self, partition: TopicPartition) -> None:
        """Note a record."""
        for kept in (self._untried, self._refused, self._silent):
            kept.discard(partition)

    def failed(self, partition: TopicPartition, *, refused: bool) -> None:
        """Note an error; whether it refuses the right to read."""
        self._untried.discard(partition)
        if refused:
            self._silent.discard(partition)
            self._refused.add(partition)

    def to_try(self, partitions: Collection[TopicPartition], now: float) -> set[TopicPartition]:
        """Return those of some partitions to fetch from before ranges are read."""
        if now >= self._again_at:
            self._untried |= self.excluded
            self._again_at = now + AGAIN_SECONDS
        return self._untried.intersection(partitions)

    def are_untried(self, partitions: Collection[TopicPartition]) -> bool:
        """Return whether nothing has come of one of some partitions yet."""
        return not self._untried.isdisjoint(partitions)

    def tried(self, partitions: Collection[TopicPartition], now: float) -> None:
        """Note the end of the time to fetch from partitions."""
        for one in self._untried.intersection(partitions):
            self._untried.discard(one)
            if one in self._silent:
                self._silent.discard(one)
            elif one not in self._refused:
                self._silent.add(one)
                self._again_at = now + AGAIN_SECONDS
