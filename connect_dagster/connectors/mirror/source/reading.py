"""Reads the partitions of a source task: few records as its consumer fetches them, many by ranges of offsets.

The consumer has no group: the worker keeps the offsets. While brokers are away, a poll has no records and a warning is
logged each minute; reading goes on where it was, or where ``auto.offset.reset`` says when the log does not have that
offset any more (Java: ``MirrorSourceTask.poll``, for which each ``KafkaException`` is a warning).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mirror.client_settings import NO_GROUP
from connect_dagster.connectors.mirror.source.positions import Positions
from connect_dagster.errors import ConfigError, ConnectError, RetriableError, RewindError
from connect_dagster.expressions.offset_ranges import OffsetRange, shared_out
from connect_dagster.kafka import clients
from connect_dagster.kafka.acls import fetch_unreadable_topics
from connect_dagster.kafka.errors import is_of_group
from connect_dagster.kafka.fetched_records import FEW_RECORDS, SKIPPED, WATCHING, FetchedRecords, RecordWatch
from connect_dagster.kafka.log_offsets import LogOffsets, LogRange
from connect_dagster.kafka.offset_reset import OffsetReset
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

_UNCOMMITTED = "read_uncommitted"
_REQUEST_SECONDS = 5.0
_AWAY = Backoff(0.1, 5.0)
# Offsets without records, such as those of a transaction's end, are not reported by the consumer.
_LOOK_SECONDS = 10.0
_AWAKE_SECONDS = 1.0
_ASK_SECONDS = 0.01
_WARNING_SECONDS = 60.0


class SourceAwayError(RetriableError):
    """The source cluster does not respond for partitions that are to be read."""


@dataclass(frozen=True, slots=True)
class Read:
    """The next records of a task.

    Attributes:
        number: of the reads before it.
        ends: the offset after the records of each partition that has some.
        fetched: the records, where the consumer has fetched them.
        ranges: of offsets to read, where it has not.
        new_consumers: whether to read ranges by new ones, as a log may be another one than for those before.
    """

    number: int
    ends: Mapping[TopicPartition, int]
    fetched: FetchedRecords | None = None
    ranges: Sequence[OffsetRange] = ()
    new_consumers: bool = False


class PartitionReader:
    """Reads a fixed set of partitions, for one thread, but for :meth:`check` and :meth:`delivered`.

    Args:
        settings: of the consumer, in Java's names.
        positions: the offset to read next of each partition; ``None`` leaves it to the reset policy.
        most_records: of one read by ranges.

    Attributes:
        most_records: of the next read by ranges.
    """

    def __init__(self, settings: Settings, positions: Mapping[TopicPartition, int | None], most_records: int) -> None:
        self.most_records = most_records
        self._settings = settings
        self._positions = Positions(positions)
        self._partitions = tuple(positions)
        # librdkafka's default differs from Java's.
        isolation = settings.get("isolation.level", _UNCOMMITTED).strip().lower()
        self._sees_all = isolation == _UNCOMMITTED
        self._consumer: Consumer = clients.consumer(
            settings, {**NO_GROUP, **WATCHING, "isolation.level": isolation, "error_cb": self._client_failed}
        )
        self._logs, self._checked_logs = LogOffsets(self._consumer), LogOffsets(self._consumer)
        self._watch = RecordWatch(self._consumer, self._fetch, headers=True)
        self._reset = OffsetReset(
            settings.get("auto.offset.reset", "earliest"),
            lambda partition, since: self._logs.first_since(partition, since, _REQUEST_SECONDS),
        )
        # Which the consumer may not read: a job over ranges of all partitions would fail for one of them.
        self._refused: set[TopicPartition] = set()
        self._place_at = 0.0
        self._is_watching = False
        self._reads_ranges_next = False
        self._is_placed_anew = False  # since the ranges before
        self._busy_at = self._look_at = time.monotonic()
        self._outages = 0
        self._warned: dict[Hashable, float] = {}
        self._in_use = threading.Lock()
        self._is_closed = False
        self._assigned: set[TopicPartition] = set()
        self._check_at = 0.0

    def poll(self, seconds: float) -> Read | None:
        """Return the next records; ``None`` when there are none within this time."""
        try:
            if self._positions.unplaced and time.monotonic() >= self._place_at:
                self._place()
            return self._fetched(seconds) if self._is_watching else self._next_ranges()
        except (KafkaException, ConnectError) as error:
            self._wait_after(error, seconds)
            return None

    def check(self, partitions: Collection[TopicPartition]) -> None:
        """Check that partitions can be read; any thread may call it.

        Raises:
            RewindError: only others can.
            SourceAwayError: the source does not respond.
        """
        with self._in_use:
            known = {} if self._is_closed else self._checked_logs.ends(self._partitions, _REQUEST_SECONDS)
        if not known:
            raise SourceAwayError(f"The source does not respond for {', '.join(map(str, partitions))}")
        unreadable = self._unreadable({one.topic for one in partitions}) or set()
        if missing := [str(one) for one in partitions if one not in known or one.topic in unreadable]:
            raise RewindError(f"These partitions cannot be read now, others are: {', '.join(missing)}")

    def delivered(self, read: Read) -> None:
        """Note that the target has the records of a read; any thread may call it."""
        self._positions.deliver(read.number, read.ends)

    def rewind(self) -> None:
        """Read on after the records that are delivered, of those partitions that can be read; none is under way."""
        if self._is_watching:
            self._stop_watching()
        self._positions.rewind()
        self._displace(self._partitions)

    def close(self) -> None:
        """Close the consumer."""
        with self._in_use:
            self._is_closed = True
            self._consumer.close()

    def _place(self) -> None:
        """Find the positions that are missing, and replace those that are not in their logs.

        A partition whose log is not known, as its topic was deleted, has no records until it is.
        """
        if self._is_watching:
            self._stop_watching()
        positions = self._positions
        logs, errors = self._logs.known_ranges(positions.unplaced, _REQUEST_SECONDS)
        for partition, range in self._whole(logs).items():
            positions.place(partition, self._reset.begin(partition, positions[partition], range))
        self._check_at = time.monotonic() + _LOOK_SECONDS
        self._is_placed_anew |= bool(logs)
        if logs:
            self._look_at_rights({one.topic for one in logs})
        self._outages = 0
        if positions.unplaced:
            self._place_at = time.monotonic() + _LOOK_SECONDS
            self._warn(f"these partitions are not known now, and are not read: {_reasons(errors)}")

    def _whole(self, logs: Mapping[TopicPartition, LogRange]) -> dict[TopicPartition, LogRange]:
        """Return logs with open transactions, where a position may be in one of these."""
        beyond = {one for one, range in logs.items() if (self._positions[one] or 0) > range.end}
        if not beyond or self._sees_all:
            return dict(logs)
        ends = self._ends_with_open_transactions(beyond)
        return {one: replace(range, end=max(range.end, ends.get(one, 0))) for one, range in logs.items()}

    def _look_at_rights(self, topics: set[str]) -> None:
        """Refuse the partitions of topics that the brokers only describe, and no others of these topics."""
        unreadable = self._unreadable(topics)
        if unreadable is None:
            return
        self._refused -= {one for one in self._refused if one.topic in topics}
        self._refused |= {one for one in self._partitions if one.topic in unreadable}

    def _unreadable(self, topics: set[str]) -> set[str] | None:
        """Return the topics that the brokers only describe; ``None`` where they cannot be asked."""
        try:
            return fetch_unreadable_topics(self._settings, topics, _REQUEST_SECONDS)
        except (KafkaException, ConfigError) as error:
            log.debug("The rights to topics are not known now: %s", error)
            return None

    def _next_ranges(self) -> Read | None:
        known = self._positions.known()
        ends = self._logs.ends(known, _REQUEST_SECONDS)
        if known and not ends:
            self._warn("The ends of the partitions are not known now")
        if displaced := self._outside_their_logs(known, ends):
            self._displace(displaced)
            return None
        backlogs = {
            one: ends[one] - position
            for one, position in known.items()
            if ends.get(one, position) > position and one not in self._refused
        }
        if not backlogs or (sum(backlogs.values()) <= FEW_RECORDS and not self._reads_ranges_next):
            self._watch_from(known, {one: ends[one] for one in backlogs})
            return None
        self._reads_ranges_next = False
        shares = shared_out(self.most_records, backlogs)
        ranges = [OffsetRange(one, known[one], known[one] + count) for one, count in shares.items() if count > 0]
        ends = {one.partition: one.end for one in ranges}
        read = Read(self._move(ends), ends, None, ranges, self._is_placed_anew)
        self._is_placed_anew = False
        return read

    def _outside_their_logs(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> set[TopicPartition]:
        beyond = {one for one, position in positions.items() if ends.get(one, position) < position}
        if time.monotonic() < self._check_at:
            return beyond if self._sees_all else set()
        self._check_at = time.monotonic() + _LOOK_SECONDS
        if self._refused:
            self._look_at_rights({one.topic for one in self._refused})
        starts = self._logs.starts(positions, _REQUEST_SECONDS)
        removed = {one for one, position in positions.items() if starts.get(one, position) > position}
        if beyond and not self._sees_all:
            ends = self._ends_with_open_transactions(beyond)
            beyond = {one for one in beyond if ends.get(one, positions[one]) < positions[one]}
        return beyond | removed

    def _ends_with_open_transactions(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends of logs, which are not those of their committed records."""
        settings = {**NO_GROUP, "isolation.level": _UNCOMMITTED}
        with closing(clients.consumer(self._settings, settings)) as consumer:
            return LogOffsets(consumer).ends(partitions, _REQUEST_SECONDS)

    def _watch_from(self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
        if time.monotonic() - self._busy_at < _AWAKE_SECONDS and not ends:
            time.sleep(_ASK_SECONDS)
            return
        if not positions.keys() <= self._assigned:
            self._assign(positions)
        self._reads_ranges_next = False
        self._is_watching = self._watch.watch(positions, ends)
        if not self._is_watching:
            self._assigned.clear()
            self._reads_ranges_next = bool(ends)
        self._look_at = time.monotonic() + (_AWAKE_SECONDS if ends else _LOOK_SECONDS)

    def _assign(self, positions: Mapping[TopicPartition, int]) -> None:
        """Assign partitions at their positions; a client cannot seek one whose offset its log did not have."""
        self._assigned = set(positions)
        self._consumer.assign([KafkaPartition(one.topic, one.partition, at) for one, at in positions.items()])

    def _fetched(self, seconds: float) -> Read | None:
        if not self._watch.poll(seconds):
            if time.monotonic() >= self._look_at:
                self._look()
            return None
        fetched = self._watch.take(FEW_RECORDS)
        if fetched is None or not self._follows(fetched):
            self._read_ranges()
            return None
        return Read(self._move(fetched.end), fetched.end, fetched)

    def _follows(self, fetched: FetchedRecords) -> bool:
        return all(first >= (self._positions[one] or 0) for one, first in fetched.start.items())

    def _look(self) -> None:
        """Read on by ranges where offsets are before the ends of logs, or the logs are shorter than they were."""
        self._look_at = time.monotonic() + _LOOK_SECONDS
        known = self._positions.known()
        if any(end != known[one] for one, end in self._logs.ends(known).items() if one not in self._refused):
            self._read_ranges()

    def _read_ranges(self) -> None:
        self._stop_watching()
        self._reads_ranges_next = True

    def _stop_watching(self) -> None:
        self._watch.unwatch(self._assigned)
        self._is_watching = False

    def _move(self, ends: Mapping[TopicPartition, int]) -> int:
        self._busy_at = time.monotonic()
        self._look_at = self._busy_at + _AWAKE_SECONDS
        return self._positions.move(ends)

    def _fetch(self, seconds: float) -> bool:
        message = self._consumer.poll(seconds)
        if message is None:
            return False
        error, topic = message.error(), message.topic()
        if error is not None and topic is None:
            self._client_failed(error)
            return False
        partition = TopicPartition(topic or "", message.partition() or 0)
        if error is None:
            self._refused.discard(partition)
            self._watch.keep(message)
            return True
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            self._refused.add(partition)
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._displace({partition})
            return False
        if error.code() in SKIPPED:
            self._watch.read_instead()
        self._warn(f"{partition}: {error.str()}", (partition, error.code()))
        return False

    def _displace(self, partitions: Iterable[TopicPartition]) -> None:
        self._positions.displace(partitions)
        self._assigned.difference_update(partitions)
        self._place_at = 0.0

    def _client_failed(self, error: KafkaError) -> None:
        """Log an error of the client; called while it is polled."""
        if not is_of_group(error):
            self._warn(error.str(), error.code())

    def _warn(self, text: str, reason: Hashable | None = None) -> None:
        """Log a failure, once a minute for each reason; the text may have figures that differ each time."""
        now, reason = time.monotonic(), text if reason is None else reason
        if now >= self._warned.get(reason, now):
            self._warned = {one: until for one, until in self._warned.items() if until > now}
            self._warned[reason] = now + _WARNING_SECONDS
            log.warning("Failure during poll: %s", text)

    def _wait_after(self, error: Exception, seconds: float) -> None:
        self._outages += 1
        if self._is_watching:  # records that were fetched may be dropped: they are fetched again
            self._stop_watching()
        if isinstance(error, KafkaException):
            self._warn(error.args[0].str(), error.args[0].code())
        else:
            self._warn(str(error))
        time.sleep(min(seconds, _AWAY.delay(self._outages)))
        # Until then partitions that have positions are read, and the client is polled, which logs its errors.
        self._place_at = time.monotonic() + (_LOOK_SECONDS if self._positions.known() else _AWAKE_SECONDS)


def _reasons(errors: Mapping[TopicPartition, KafkaError]) -> str:
    return ", ".join(sorted(f"{partition} ({error.str()})" for partition, error in errors.items()))
