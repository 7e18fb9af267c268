"""A sink task's membership in its consumer group: partitions, committed offsets, commits.

The consumer is paused on all assigned partitions while Spark reads the records. Kafka's tools show the group, its lag
and its members as usual. The consumer fetches while the task sleeps, which puts few records as they were fetched
and has Spark read many (docs/decisions/0031-few-records-need-no-job.md).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from confluent_kafka import OFFSET_INVALID, KafkaError, KafkaException
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.backoff import Backoff
from connect_dagster.errors import ConnectError
from connect_dagster.expressions.java_patterns import matching
from connect_dagster.kafka import clients
from connect_dagster.kafka.client_statistics import StatisticsCollector
from connect_dagster.kafka.fetched_records import SKIPPED, WATCHING, FetchedRecords, RecordWatch
from connect_dagster.kafka.log_offsets import AWAY, LogOffsets, LogRange, is_passing
from connect_dagster.kafka.offset_reset import OffsetReset, Reset
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.settings.librdkafka import COOPERATIVE, assignors
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.departures import Departures

log = logging.getLogger(__name__)

TopicPartitions = list[TopicPartition]
Result = TypeVar("Result")
_REQUEST_SECONDS = 10.0
_RETRY_SECONDS = 0.5
# Seconds between two searches for a missing topic.
_MISSING_BACKOFF = Backoff(0.5, 30.0)
_GLANCE_SECONDS = 0.5
_ABANDON_SECONDS = 1.0
_COORDINATOR_SECONDS = 1.0
_MEMBER_SECONDS = 1.0
# Java's consumer excludes these from a pattern (exclude.internal.topics).
_INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def matching_topics(pattern: str, topics: Iterable[str]) -> list[str]:
    """Return the topics that a value of ``topics.regex`` subscribes to, sorted.

    Raises:
        ConfigError: a match takes too long.
    """
    return matching("topics.regex", pattern, sorted(set(topics) - _INTERNAL_TOPICS))


@dataclass(frozen=True, slots=True)
class RebalanceListener:
    """Called on the thread that polls, while a rebalance waits for it."""

    assigned: Callable[[TopicPartitions], None]
    revoked: Callable[[TopicPartitions], None]
    lost: Callable[[TopicPartitions], None]


class Consumer(Protocol):
    """The methods of ``SinkConsumer`` that a task calls."""

    def poll(self, seconds: float = 0) -> bool:
        """Serve rebalances and commit callbacks; return whether a watched partition has a record."""

    def take_fetched(self, most_records: int) -> FetchedRecords | None:
        """Return the fetched records; ``None`` where the partitions must be read from their positions."""

    def watch(self, offsets: Mapping[TopicPartition, int], until: Mapping[TopicPartition, int] | None = None) -> bool:
        """Fetch from these offsets on, all records before some ends together."""

    def unwatch(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching."""

    def committed_or_reset(self, partitions: TopicPartitions) -> dict[TopicPartition, int]:
        """Return the offsets to begin with."""

    def topic_ids(self) -> Mapping[str, str]:
        """Return the ids of the topics whose partitions have begun."""

    def recreated(self, topics: Iterable[str]) -> set[str]:
        """Return the topics that were created again."""

    def resets(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, Reset] | None:
        """Return the partitions that cannot be read on at their positions."""

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end offsets that are known at once."""

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[Exception | None], None]) -> None:
        """Commit asynchronously."""

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit and wait."""

    def close(self) -> None:
        """Leave the group."""

    def abandon(self) -> None:
        """Leave the group from another thread."""


class SinkConsumer:
    """One member of ``connect-<connector>``.

    A task may call it after another thread has closed it: it has no records then, and refuses commits.

    Args:
        settings: consumer settings in Java's names.
        topics: the topics to read; or
        pattern: a regular expression that whole topic names match (``topics.regex``).
        listener: called in rebalances.
        open_admin: returns a client for the topics' ids.
        departures: removes members of the group that this consumer cannot end itself.
        headers: whether fetched records have headers.
        statistics: of the client; ``None`` where nobody asks for them.
    """

    def __init__(
        self,
        settings: Settings,
        topics: Sequence[str],
        pattern: str | None,
        listener: RebalanceListener,
        open_admin: Callable[[], TopicAdmin],
        departures: Departures,
        *,
        headers: bool,
        statistics: StatisticsCollector | None = None,
    ) -> None:
        self._settings = settings
        self._departures = departures
        self._member_id = ""
        self._member_looked = 0.0
        self._topics = list(topics)
        self._pattern = pattern
        self._listener = listener
        self._reset = OffsetReset(
            settings.get("auto.offset.reset", "earliest"),
            lambda partition, time: self._logs.first_since(partition, time, _REQUEST_SECONDS),
        )
        self._open_admin = open_admin
        self._admin: TopicAdmin | None = None
        self._ids: dict[str, str] = {}
        self._client_id = settings.get("client.id", "")
        self._refusal: ConnectError | None = None
        self._refresh_seconds = int(settings.get("metadata.max.age.ms", "300000")) / 1000
        self._refreshed = -self._refresh_seconds
        self._missing_searches = 0  # 0 while no topic is missing
        self._missing_looked = 0.0
        self._incremental = _is_incremental(settings)
        self._answers: dict[_CommitKey, Callable[[Exception | None], None]] = {}
        self._lock = threading.RLock()
        self._closed = self._abandoned = False
        callbacks = {} if statistics is None else statistics.callback()
        self._consumer: KafkaConsumer = clients.consumer(settings, {**self._own_settings(settings), **callbacks})
        self._watch = RecordWatch(self._consumer, self._fetch, headers=headers)
        self._logs = LogOffsets(self._consumer)
        if pattern is None:
            self._subscribe()

    def poll(self, seconds: float = 0) -> bool:
        """Serve rebalances and commit results; call it at least every ``max.poll.interval.ms``.

        Args:
            seconds: longest wait for an event.

        Returns:
            Whether a partition that is watched has a record, or its log no longer has the offset.

        Raises:
            ConnectError: the group refuses this member for good.
            ConfigError: ``topics.regex`` takes too long for a topic's name.
        """
        return self._watch.poll(seconds)

    def take_fetched(self, most_records: int) -> FetchedRecords | None:
        """Return the fetched records, as :meth:`RecordWatch.take` does. Raises as :meth:`poll`."""
        with self._lock:
            return None if self._closed else self._watch.take(most_records)

    def watch(self, offsets: Mapping[TopicPartition, int], until: Mapping[TopicPartition, int] | None = None) -> bool:
        """Fetch from these offsets on, as :meth:`RecordWatch.watch` does."""
        with self._lock:
            return not self._closed and self._watch.watch(offsets, until)

    def unwatch(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching, and drop the records that were not taken."""
        with self._lock:
            if not self._closed:
                self._watch.unwatch(partitions)

    def _fetch(self, seconds: float) -> bool:
        """Serve one event; return whether it was a record."""
        with self._lock:
            if self._closed:
                return False
            if self._pattern is not None and time.monotonic() - self._refreshed >= self._refresh_seconds:
                self._refresh_topics(self._pattern)
            if self._missing_searches and self._search_is_due():
                self._look_for_missing()
            message = self._consumer.poll(seconds)
            if time.monotonic() - self._member_looked >= _MEMBER_SECONDS:
                self._note_member()
                if self._admin is not None:
                    self._admin.serve()
        if self._refusal is not None:
            raise self._refusal
        if message is None:
            return False
        error = message.error()
        if error is None:
            self._watch.keep(message)
            return True
        if error.code() in SKIPPED | {KafkaError._AUTO_OFFSET_RESET}:
            self._watch.read_instead()
        elif not error.retriable():
            self._raise_unless_passing(error)
        return False

    def committed_or_reset(self, partitions: TopicPartitions) -> dict[TopicPartition, int]:
        """Return the offsets to begin with: the committed ones, else those of ``auto.offset.reset``.

        Raises:
            ConnectError: an offset is missing or not in the log, and the reset policy is ``none``.
        """
        if not partitions:  # which librdkafka refuses, or answers late
            return {}
        asked = [KafkaPartition(partition.topic, partition.partition) for partition in partitions]
        # Before the offsets: a topic that is created again in between is noticed at the next comparison.
        self._ids.update(self._current_ids({partition.topic for partition in partitions}, _REQUEST_SECONDS))
        committed = self._retried(lambda: self._consumer.committed(asked, timeout=_REQUEST_SECONDS))
        offsets = {_topic_partition(one): None if one.offset == OFFSET_INVALID else one.offset for one in committed}
        without = {partition for partition, offset in offsets.items() if offset is None}
        ranges = self._retried(lambda: self._ranges(partitions, without))
        return {
            partition: self._retried(partial(self._begin, partition, offset, ranges.get(partition)))
            for partition, offset in offsets.items()
        }

    def _ranges(
        self, partitions: TopicPartitions, required: Iterable[TopicPartition]
    ) -> dict[TopicPartition, LogRange]:
        """Return the offsets of logs that have a leader. Raises KafkaException: one that is required has none."""
        ranges = self._logs.ranges(partitions, _REQUEST_SECONDS)
        for partition in required:
            if partition not in ranges:
                raise KafkaException(KafkaError(KafkaError.LEADER_NOT_AVAILABLE, f"{partition} has no leader"))
        return ranges

    def _begin(self, partition: TopicPartition, committed: int | None, range: LogRange | None) -> int:
        if committed is not None and range is None:  # checked before it is read
            return committed
        assert range is not None
        return self._reset.begin(partition, committed, range)

    def topic_ids(self) -> Mapping[str, str]:
        """Return the ids of the topics whose partitions have begun, without those that are not known."""
        return dict(self._ids)

    def recreated(self, topics: Iterable[str]) -> set[str]:
        """Return the topics that were created again since the offsets to begin with, as far as that is known now."""
        current = self._current_ids(set(topics))
        self._ids = current | self._ids  # a topic whose id was not known at its beginning
        return {topic for topic, id in current.items() if self._ids[topic] != id}

    def resets(self, positions: Mapping[TopicPartition, int]) -> dict[TopicPartition, Reset] | None:
        """Return the partitions that cannot be read on at their positions, with their next offsets.

        Args:
            positions: of all partitions of the task; one without a leader is looked at once it has one.

        Returns:
            ``None`` when the brokers do not tell now.

        Raises:
            ConnectError: there is such a partition, and the reset policy is ``none``.
        """
        current = self._current_ids({partition.topic for partition in positions})
        try:
            ranges = self._logs.ranges(positions, _GLANCE_SECONDS)
            recreated = {topic for topic, id in current.items() if self._ids.get(topic, id) != id}
            led = {partition: position for partition, position in positions.items() if partition in ranges}
            found = self._reset.resets(led, ranges, recreated)
        except KafkaException as error:
            log.debug("The logs of partitions are not known now: %s", error.args[0].str())
            return None
        hidden = {partition.topic for partition in positions if partition not in ranges}
        self._ids.update({topic: id for topic, id in current.items() if topic not in hidden})
        return found

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends of partitions that are known at once."""
        with self._lock:
            return {} if self._closed else self._logs.ends(partitions)

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[Exception | None], None]) -> None:
        """Commit without waiting; ``done`` is called by a later :meth:`poll`, or with an error after :meth:`close`."""
        partitions = _partitions(offsets)
        with self._lock:
            if not self._closed:
                self._answers[_key(partitions)] = done
                self._consumer.commit(offsets=partitions, asynchronous=True)
                return
        done(_closed())

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit and wait. Raises KafkaException when the group refuses it, or the consumer was abandoned."""
        with self._lock:
            if self._closed:
                raise _closed()
            refused = _first_error(self._consumer.commit(offsets=_partitions(offsets), asynchronous=False))
        if refused is not None:
            raise KafkaException(refused)

    def close(self) -> None:
        """Leave the group without a call to the listener: the task has given up its partitions and is stopped.

        While the coordinator is away, the member is removed once it responds.
        """
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._listener = RebalanceListener(_ignore, _ignore, _ignore)
            self._note_member()
            if not self._member_id or self._coordinator_responds():
                self._end()
                return
            self._depart()
            # The client waits five seconds for a coordinator that does not respond.
            threading.Thread(target=self._end, name=f"{self._client_id}-ends", daemon=True).start()

    def _end(self) -> None:
        try:
            self._consumer.close()
        except KafkaException as error:
            log.warning("Could not leave the group in an orderly way: %s", error.args[0].str())

    def abandon(self) -> None:
        """Leave the group from another thread, unless the consumer is in use.

        For a task that is blocked in its own code: its partitions move at once, not after ``max.poll.interval.ms``.
        """
        self._abandoned = True
        if not self._lock.acquire(timeout=_ABANDON_SECONDS):
            log.warning("The consumer is in use: the group removes this member when its session times out")
            return
        try:
            self.close()
        finally:
            self._lock.release()

    def _note_member(self) -> None:
        """Keep the member id; remove the member before it, which the client has dropped."""
        self._member_looked = time.monotonic()
        current = self._consumer.memberid() or ""
        if self._member_id and current != self._member_id:
            self._depart()
        self._member_id = current

    def _depart(self) -> None:
        if "group.instance.id" not in self._settings:  # such a member is to stay until its session ends
            self._departures.add(self._settings, self._member_id)

    def _coordinator_responds(self) -> bool:
        if not self._topics:
            return True  # the brokers have just told that no topic matches the pattern any more
        try:
            self._consumer.committed([KafkaPartition(self._topics[0], 0)], timeout=_COORDINATOR_SECONDS)
        except KafkaException as error:
            return error.args[0].code() not in AWAY
        return True

    def _own_settings(self, settings: Settings) -> dict[str, object]:
        # librdkafka's default differs: its end offsets would not be those that Spark reads up to.
        isolation = settings.get("isolation.level", "read_uncommitted")
        own = {"isolation.level": isolation.strip().lower(), "on_commit": self._committed, "error_cb": self._refused}
        return {**WATCHING, **own}

    def _refused(self, error: KafkaError) -> None:
        """Keep a final error; called while the client is polled."""
        self._refusal = self._refusal or clients.refusal(self._client_id, error)

    def _subscribe(self) -> None:
        self._consumer.subscribe(
            self._topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost
        )

    def _refresh_topics(self, pattern: str) -> None:
        self._refreshed = time.monotonic()
        try:
            known = self._consumer.list_topics(timeout=_REQUEST_SECONDS).topics
        except KafkaException as error:
            log.warning("Could not list topics, will retry: %s", error.args[0].str())
            self._refreshed += min(_RETRY_SECONDS, self._refresh_seconds) - self._refresh_seconds
            return
        found = matching_topics(pattern, known)
        if found != self._topics:
            self._topics = found
            if found:
                self._subscribe()
            else:
                self._consumer.unsubscribe()

    def _look_for_missing(self) -> None:
        """Refresh the metadata for topics created meanwhile: the client itself would wait five minutes."""
        self._missing_looked = time.monotonic()
        self._missing_searches += 1
        try:
            known = self._consumer.list_topics(timeout=_GLANCE_SECONDS).topics
        except KafkaException as error:
            log.debug("Could not look for missing topics: %s", error.args[0].str())
            return
        if known.keys() >= set(self._topics):
            self._missing_searches = 0

    def _search_is_due(self) -> bool:
        return time.monotonic() - self._missing_looked >= _MISSING_BACKOFF.delay(self._missing_searches)

    def _on_assign(self, consumer: KafkaConsumer, partitions: list[KafkaPartition]) -> None:
        assign = consumer.incremental_assign if self._incremental else consumer.assign
        # Any offset: without a committed one the client would give up the partition, and could not seek.
        assign([KafkaPartition(one.topic, one.partition, 0) for one in partitions])
        consumer.pause(partitions)
        self._listener.assigned([_topic_partition(one) for one in partitions])

    def _on_revoke(self, consumer: KafkaConsumer, partitions: list[KafkaPartition]) -> None:
        self._listener.revoked([_topic_partition(one) for one in partitions])

    def _on_lost(self, consumer: KafkaConsumer, partitions: list[KafkaPartition]) -> None:
        self._listener.lost([_topic_partition(one) for one in partitions])

    def _committed(self, error: KafkaError | None, partitions: list[KafkaPartition]) -> None:
        done = self._answers.pop(_key(partitions), None)
        if done is not None:
            refused = error or _first_error(partitions)
            done(KafkaException(refused) if refused is not None else None)

    def _current_ids(self, topics: set[str], seconds: float = _GLANCE_SECONDS) -> dict[str, str]:
        if self._admin is None:
            self._admin = self._open_admin()
        return self._admin.ids(sorted(topics), seconds)

    def _retried(self, request: Callable[[], Result]) -> Result:
        """Repeat a request while the brokers are away, unless the task is abandoned: a partition needs its offset."""
        while True:
            try:
                return request()
            except KafkaException as error:
                if self._refusal is not None:
                    raise self._refusal from error
                if self._abandoned or not is_passing(error.args[0]):
                    raise ConnectError(f"Could not read offsets: {error.args[0].str()}") from error
                log.warning("Could not read offsets, will retry: %s", error.args[0].str())
                time.sleep(_RETRY_SECONDS)

    def _raise_unless_passing(self, error: KafkaError) -> None:
        if error.fatal() or error.code() in _FATAL:
            raise ConnectError(f"The consumer group refuses this task: {error.str()}")
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._missing_searches = 1
        log.warning("Consumer of the sink task: %s", error.str())


_FATAL = frozenset(
    {
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.INCONSISTENT_GROUP_PROTOCOL,
        KafkaError.INVALID_GROUP_ID,
    }
)


def _is_incremental(settings: Settings) -> bool:
    """Return whether a rebalance moves single partitions (cooperative), not all."""
    if settings.get("group.protocol", "classic").strip().lower() == "consumer":
        return True
    names = settings.get("partition.assignment.strategy", "").split(",")
    return assignors(name.strip() for name in names if name.strip())[:1] == [COOPERATIVE]


def _topic_partition(partition: KafkaPartition) -> TopicPartition:
    return TopicPartition(partition.topic, partition.partition)


def _partitions(offsets: Mapping[TopicPartition, int]) -> list[KafkaPartition]:
    return [KafkaPartition(partition.topic, partition.partition, offset) for partition, offset in offsets.items()]


_CommitKey = frozenset[tuple[str, int, int]]


def _key(partitions: list[KafkaPartition]) -> _CommitKey:
    return frozenset((one.topic, one.partition, one.offset) for one in partitions)


def _first_error(partitions: list[KafkaPartition] | None) -> KafkaError | None:
    return next((one.error for one in partitions or () if one.error is not None), None)


def _closed() -> KafkaException:
    return KafkaException(KafkaError(KafkaError._STATE, "The consumer is closed"))


def _ignore(_: TopicPartitions) -> None:
    """Ignore a rebalance after the close."""
