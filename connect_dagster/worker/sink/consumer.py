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

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, OFFSET_INVALID, KafkaError, KafkaException, Message
from confluent_kafka import Consumer as KafkaConsumer
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.backoff import Backoff
from connect_dagster.errors import ConnectError
from connect_dagster.expressions.java_patterns import matching
from connect_dagster.kafka import clients
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.kafka.settings.librdkafka import COOPERATIVE, assignors
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.departures import Departures
from connect_dagster.worker.sink.fetched_records import FEW_BYTES, FEW_RECORDS, FetchedRecords
from connect_dagster.worker.sink.offset_reset import LogRange, OffsetReset, Reset

log = logging.getLogger(__name__)

TopicPartitions = list[TopicPartition]
Result = TypeVar("Result")
_REQUEST_SECONDS = 10.0
_RETRY_SECONDS = 0.5
# Seconds between two searches for a missing topic.
_MISSING_BACKOFF = Backoff(0.5, 30.0)
_GLANCE_SECONDS = 0.5
# A few records that are there come within milliseconds.
_TOGETHER_SECONDS = 0.3
_ABANDON_SECONDS = 1.0
_COORDINATOR_SECONDS = 1.0
_MEMBER_SECONDS = 1.0
# Java's consumer excludes these from a pattern (exclude.internal.topics).
_INTERNAL_TOPICS = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


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

    Args:
        settings: consumer settings in Java's names.
        topics: the topics to read; or
        pattern: a regular expression that whole topic names match (``topics.regex``).
        listener: called in rebalances.
        open_admin: returns a client for the topics' ids.
        departures: removes members of the group that this consumer cannot end itself.
        headers: whether fetched records have headers.
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
    ) -> None:
        self._settings = settings
        self._departures = departures
        self._headers = headers
        self._fetched: list[Message] = []
        self._awaited: dict[TopicPartition, int] = {}
        self._awaited_until = 0.0
        self._fetched_bytes = 0
        self._must_be_read = False  # from the positions: more has come, or a log no longer has the offset
        self._member_id = ""
        self._member_looked = 0.0
        self._topics = list(topics)
        self._pattern = pattern
        self._listener = listener
        self._reset = OffsetReset(settings.get("auto.offset.reset", "earliest"), self._first_offset)
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
        self._closed = False
        self._consumer: KafkaConsumer = clients.consumer(settings, self._own_settings(settings))
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
        self._fetch(0 if self._fetched else seconds)
        while self._awaited and self._fetch(0):
            pass
        if self._awaited and self._fetched and time.monotonic() > self._awaited_until:
            self._read_instead()
        return self._must_be_read or (bool(self._fetched) and not self._awaited)

    def take_fetched(self, most_records: int) -> FetchedRecords | None:
        """Return the records that were fetched since :meth:`watch` or the last call, and that have arrived by now.

        Returns:
            ``None`` where a log no longer has the offset, or more records are waiting than these: then the records
            fetched so far are dropped, and the partitions must be read from their positions.

        Raises:
            ConnectError: as :meth:`poll`.
        """
        while not self._must_be_read and len(self._fetched) <= most_records and self._fetch(0):
            pass
        messages, self._fetched, self._fetched_bytes = self._fetched, [], 0
        if self._must_be_read or not 0 < len(messages) <= most_records:
            return None
        try:
            records = FetchedRecords.of(messages, headers=self._headers)
        except UnicodeDecodeError:  # Java reads such keys of headers
            return None
        waiting = sum(self._waiting(partition, end) for partition, end in records.end.items())
        return records if waiting <= most_records else None

    def _waiting(self, partition: TopicPartition, offset: int) -> int:
        """Return the number of offsets from this one on, as the last fetch has reported the end of the log."""
        _, end = self._consumer.get_watermark_offsets(KafkaPartition(partition.topic, partition.partition), cached=True)
        return max(0, end - offset)

    def _fetch(self, seconds: float) -> bool:
        """Serve one event; return whether it was a record."""
        with self._lock:
            if self._pattern is not None and time.monotonic() - self._refreshed >= self._refresh_seconds:
                self._refresh_topics(self._pattern)
            if self._missing_searches and self._search_is_due():
                self._look_for_missing()
            message = self._consumer.poll(seconds)
            if time.monotonic() - self._member_looked >= _MEMBER_SECONDS:
                self._note_member()
        if self._refusal is not None:
            raise self._refusal
        if message is None:
            return False
        error = message.error()
        if error is None:
            self._keep(message)
            return True
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._must_be_read = True
        elif not error.retriable():
            self._raise_unless_passing(error)
        return False

    def _keep(self, message: Message) -> None:
        """Keep a record, or none where they become many while the task is busy."""
        self._fetched.append(message)
        self._fetched_bytes += len(message)
        if self._awaited:
            partition = TopicPartition(message.topic() or "", message.partition() or 0)
            if (message.offset() or 0) + 1 >= self._awaited.get(partition, 0):
                self._awaited.pop(partition, None)
        if len(self._fetched) > FEW_RECORDS or self._fetched_bytes > FEW_BYTES:
            self._read_instead()

    def _read_instead(self) -> None:
        self._drop_fetched()
        self._must_be_read = True

    def watch(self, offsets: Mapping[TopicPartition, int], until: Mapping[TopicPartition, int] | None = None) -> bool:
        """Fetch the records from these offsets on; return whether that is possible now.

        Args:
            offsets: the first one of each partition.
            until: ends of partitions: what is before them is waited for, so that it becomes one batch. Where it does
                not come, as before the end of a transaction, the partitions must be read.
        """
        self._drop_fetched()
        self._awaited, self._awaited_until = dict(until or {}), time.monotonic() + _TOGETHER_SECONDS
        try:
            self._consumer.resume(_partitions(offsets))
            # Last: it drops what was fetched from another offset, and wakes the client's thread, which resume does not.
            for partition in _partitions(offsets):
                self._consumer.seek(partition)
        except KafkaException as error:
            log.debug("The consumer cannot watch partitions now: %s", error.args[0].str())
            self.unwatch(offsets)
            return False
        return True

    def unwatch(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop fetching, and drop the records that were not taken."""
        self._drop_fetched()
        self._consumer.pause([KafkaPartition(partition.topic, partition.partition) for partition in partitions])

    def _drop_fetched(self) -> None:
        self._fetched, self._fetched_bytes, self._must_be_read = [], 0, False
        self._awaited = {}

    def committed_or_reset(self, partitions: TopicPartitions) -> dict[TopicPartition, int]:
        """Return the offsets to begin with: the committed ones, else those of ``auto.offset.reset``.

        Raises:
            ConnectError: an offset is missing or not in the log, and the reset policy is ``none``.
        """
        asked = [KafkaPartition(partition.topic, partition.partition) for partition in partitions]
        # Before the offsets: a topic that is created again in between is noticed at the next comparison.
        self._ids.update(self._current_ids({partition.topic for partition in partitions}, _REQUEST_SECONDS))
        committed = self._retried(lambda: self._consumer.committed(asked, timeout=_REQUEST_SECONDS))
        offsets = {_topic_partition(one): None if one.offset == OFFSET_INVALID else one.offset for one in committed}
        ranges = self._retried(lambda: self._ranges(partitions, _REQUEST_SECONDS))
        return {
            partition: self._retried(partial(self._reset.begin, partition, offset, ranges[partition]))
            for partition, offset in offsets.items()
        }

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
            positions: of all partitions of the task.

        Returns:
            ``None`` when the brokers do not tell now.

        Raises:
            ConnectError: there is such a partition, and the reset policy is ``none``.
        """
        current = self._current_ids({partition.topic for partition in positions})
        try:
            ranges = self._ranges(positions, _GLANCE_SECONDS)
            recreated = {topic for topic, id in current.items() if self._ids.get(topic, id) != id}
            found = self._reset.resets(positions, ranges, recreated)
        except KafkaException as error:
            log.debug("The logs of partitions are not known now: %s", error.args[0].str())
            return None
        self._ids.update(current)
        return found

    def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends of partitions, from one request to each broker, without those that take longer."""
        try:
            found = self._listed(partitions, OFFSET_END, _GLANCE_SECONDS)
        except KafkaException as error:
            log.debug("The ends of partitions are not known now: %s", error.args[0].str())
            return {}
        return {_topic_partition(one): one.offset for one in found if one.error is None and one.offset >= 0}

    def commit(self, offsets: Mapping[TopicPartition, int], done: Callable[[Exception | None], None]) -> None:
        """Commit without waiting; ``done`` is called by a later :meth:`poll`."""
        partitions = _partitions(offsets)
        self._answers[_key(partitions)] = done
        self._consumer.commit(offsets=partitions, asynchronous=True)

    def commit_now(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit and wait. Raises KafkaException when the group refuses it, or the consumer was abandoned."""
        with self._lock:
            if self._closed:
                raise KafkaException(KafkaError(KafkaError._STATE, "The consumer is closed"))
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
            return error.args[0].code() not in _AWAY
        return True

    def _own_settings(self, settings: Settings) -> dict[str, object]:
        # librdkafka's default differs: its end offsets would not be those that Spark reads up to.
        isolation = settings.get("isolation.level", "read_uncommitted")
        own = {"isolation.level": isolation.strip().lower(), "on_commit": self._committed, "error_cb": self._refused}
        return {**_WATCHING, **own}

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
        found = matching("topics.regex", pattern, sorted(known.keys() - _INTERNAL_TOPICS))
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

    def _ranges(self, partitions: Iterable[TopicPartition], seconds: float) -> dict[TopicPartition, LogRange]:
        """Return the offsets of logs, from two requests to each broker. Raises KafkaException if one is not known."""
        asked = list(partitions)
        starts, ends = (self._listed(asked, edge, seconds) for edge in (OFFSET_BEGINNING, OFFSET_END))
        for one in (*starts, *ends):
            if one.error is not None or one.offset < 0:
                raise KafkaException(one.error or KafkaError(KafkaError._TIMED_OUT))
        return {
            _topic_partition(start): LogRange(start.offset, end.offset) for start, end in zip(starts, ends, strict=True)
        }

    def _first_offset(self, partition: TopicPartition, seconds: float) -> int | None:
        (found,) = self._listed([partition], int(seconds * 1000), _REQUEST_SECONDS)
        return found.offset if found.offset >= 0 else None

    def _listed(self, partitions: Iterable[TopicPartition], time: int, seconds: float) -> list[KafkaPartition]:
        """Return the first offset of each partition at or after a time in epoch milliseconds, or an edge of its log."""
        asked = [KafkaPartition(partition.topic, partition.partition, time) for partition in partitions]
        if not asked:  # librdkafka refuses to ask for none, as of a member without partitions
            return []
        found: list[KafkaPartition] = self._consumer.offsets_for_times(asked, timeout=seconds)
        return found

    def _retried(self, request: Callable[[], Result]) -> Result:
        """Repeat a request while the brokers are away: an assigned partition needs its offset."""
        while True:
            try:
                return request()
            except KafkaException as error:
                if self._refusal is not None:
                    raise self._refusal from error
                if not error.args[0].retriable() and error.args[0].code() not in _AWAY | _MOVED:
                    raise ConnectError(f"Could not read offsets: {error.args[0].str()}") from error
                log.warning("Could not read offsets, will retry: %s", error.args[0].str())
                time.sleep(_RETRY_SECONDS)

    def _raise_unless_passing(self, error: KafkaError) -> None:
        if error.fatal() or error.code() in _FATAL:
            raise ConnectError(f"The consumer group refuses this task: {error.str()}")
        if error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            self._missing_searches = 1
        log.warning("Consumer of the sink task: %s", error.str())


# Few records are taken from here, more of them are read by Spark: fetch little, and without a pause.
_WATCHING: dict[str, object] = {
    # An offset that is not in the log has to wake the task, which applies the policy.
    "auto.offset.reset": "error",
    "enable.auto.offset.store": False,
    "queued.min.messages": 1000,
    "queued.max.messages.kbytes": 64,
    "fetch.queue.backoff.ms": 10,
    "max.partition.fetch.bytes": 64 << 10,
    "fetch.max.bytes": 1 << 20,
}
_AWAY = frozenset(
    {
        KafkaError._TRANSPORT,
        KafkaError._ALL_BROKERS_DOWN,
        KafkaError._TIMED_OUT,
        KafkaError._WAIT_COORD,
        KafkaError._DESTROY,  # of the connection of the request, such as one to a bootstrap address
    }
)
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


def _ignore(_: TopicPartitions) -> None:
    """Ignore a rebalance after the close."""
