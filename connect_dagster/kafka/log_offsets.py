"""Offsets of the logs of partitions: their edges, and those of a time."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

_GLANCE_SECONDS = 0.5
# The brokers describe all of their topics to find the leaders of some.
_LEADERS_SECONDS = 0.5

AWAY = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._WAIT_COORD,
        KafkaError._DESTROY,  # of the connection of the request, such as one to a bootstrap address
    }
)
"""Codes of errors of brokers that do not respond now."""
# Java's consumer asks for offsets again after these (Java: ``OffsetFetcherUtils``); librdkafka reports some as final.
_MOVED = frozenset(
    {
        KafkaError.NOT_LEADER_FOR_PARTITION,
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.FENCED_LEADER_EPOCH,
        KafkaError.UNKNOWN_LEADER_EPOCH,
        KafkaError.OFFSET_NOT_AVAILABLE,
        KafkaError.REPLICA_NOT_AVAILABLE,
        KafkaError.KAFKA_STORAGE_ERROR,
    }
)


def is_passing(error: KafkaError) -> bool:
    """Return whether offsets that were refused with an error are to be asked for again."""
    return bool(error.retriable()) or error.code() in AWAY | _MOVED


@dataclass(frozen=True, slots=True)
class LogRange:
    """The offsets of a partition's log.

    Attributes:
        start: the first offset.
        end: the offset after the last one.
    """

    start: int
    end: int


class LogOffsets:
    """Asks the brokers for offsets; for one thread.

    librdkafka has an answer for all partitions or for none. Those without a leader, as their only replica is on a
    broker that is away, are left out as soon as the brokers report it: the others are read on.

    Args:
        consumer: its ``isolation.level`` decides what the end of a log is.
    """

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._leaderless: frozenset[TopicPartition] = frozenset()
        self._leaders_at = 0.0

    def ends(self, partitions: Iterable[TopicPartition], seconds: float = _GLANCE_SECONDS) -> dict[TopicPartition, int]:
        """Return the ends of logs, from one request to each broker; none when one that leads takes longer than this."""
        return self._edge(partitions, OFFSET_END, seconds)

    def starts(self, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, int]:
        """Return the first offsets of logs, as :meth:`ends` does."""
        return self._edge(partitions, OFFSET_BEGINNING, seconds)

    def _edge(self, partitions: Iterable[TopicPartition], edge: int, seconds: float) -> dict[TopicPartition, int]:
        try:
            found = self._listed(partitions, edge, seconds)
        except KafkaException as error:
            log.debug("The offsets of partitions are not known now: %s", error.args[0].str())
            return {}
        return {_topic_partition(one): one.offset for one in found if one.error is None and one.offset >= 0}

    def ranges(self, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, LogRange]:
        """Return the offsets of logs that have a leader, from two requests to each broker.

        Raises:
            KafkaException: one of them is not known within this time.
        """
        known, errors = self.known_ranges(partitions, seconds)
        for error in errors.values():
            if error.code() != KafkaError.LEADER_NOT_AVAILABLE:
                raise KafkaException(error)
        return known

    def known_ranges(
        self, partitions: Iterable[TopicPartition], seconds: float
    ) -> tuple[dict[TopicPartition, LogRange], dict[TopicPartition, KafkaError]]:
        """Return the offsets of logs, and the errors of those that are not known, such as those of deleted topics.

        Raises:
            KafkaException: no response within this time.
        """
        known: dict[TopicPartition, LogRange] = {}
        errors: dict[TopicPartition, KafkaError] = {}
        for start, end in self._edges(partitions, seconds):
            if (error := _error(start) or _error(end)) is None:
                known[_topic_partition(start)] = LogRange(start.offset, end.offset)
            else:
                errors[_topic_partition(start)] = error
        return known, errors

    def _edges(
        self, partitions: Iterable[TopicPartition], seconds: float
    ) -> Iterator[tuple[KafkaPartition, KafkaPartition]]:
        asked = list(partitions)
        starts, ends = (self._listed(asked, edge, seconds) for edge in (OFFSET_BEGINNING, OFFSET_END))
        return zip(starts, ends, strict=True)

    def first_since(self, partition: TopicPartition, time: float, seconds: float) -> int | None:
        """Return the first offset at or after a time in epoch seconds; ``None`` when there is none.

        Raises:
            KafkaException: no response within these seconds.
        """
        (found,) = self._listed([partition], int(time * 1000), seconds)
        if found.offset == OFFSET_INVALID:
            raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE))
        return found.offset if found.offset >= 0 else None

    def _listed(self, partitions: Iterable[TopicPartition], time: int, seconds: float) -> list[KafkaPartition]:
        """Return the first offset of each partition at or after a time in epoch milliseconds, or an edge of its log.

        A partition without a leader has an invalid offset. Each of up to three requests may take the seconds.
        """
        asked = list(partitions)
        if self._leaderless and monotonic() >= self._leaders_at:
            self._leaderless = self._without_leader(asked, seconds)
        try:
            return self._offsets(asked, time, seconds)
        except KafkaException as error:
            refusal = error.args[0]
        # Not in the handler: confluent-kafka 2.16 keeps its errors for good, with the error that is handled then.
        left_out, self._leaderless = self._leaderless, self._without_leader(asked, seconds)
        if self._leaderless <= left_out:
            raise KafkaException(refusal)
        return self._offsets(asked, time, seconds)

    def _offsets(self, asked: Sequence[TopicPartition], time: int, seconds: float) -> list[KafkaPartition]:
        left_out = self._leaderless
        led = [KafkaPartition(one.topic, one.partition, time) for one in asked if one not in left_out]
        # librdkafka refuses to ask for none, as of a member without partitions.
        found = iter(self._consumer.offsets_for_times(led, timeout=seconds) if led else ())
        return [KafkaPartition(one.topic, one.partition) if one in left_out else next(found) for one in asked]

    def _without_leader(self, partitions: Iterable[TopicPartition], seconds: float) -> frozenset[TopicPartition]:
        topics = self._consumer.list_topics(timeout=seconds).topics
        self._leaders_at = monotonic() + _LEADERS_SECONDS
        leaders = {
            TopicPartition(topic, number): partition.leader
            for topic, found in topics.items()
            for number, partition in found.partitions.items()
        }
        return frozenset(one for one in partitions if leaders.get(one, 0) < 0)


def _error(found: KafkaPartition) -> KafkaError | None:
    if found.error is None and found.offset < 0:
        return KafkaError(KafkaError.LEADER_NOT_AVAILABLE if found.offset == OFFSET_INVALID else KafkaError._TIMED_OUT)
    return found.error


def _topic_partition(partition: KafkaPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)
