"""Reads the partitions of a source task: few records as its consumer fetches them, many by ranges of offsets.

The consumer has no group: the worker keeps the offsets. While brokers are away, a poll has no records and a warning is
logged each minute; reading goes on where it was, or where ``auto.offset.reset`` says when the log does not have that
offset any more (Java: ``MirrorSourceTask.poll``, for which each ``KafkaException`` is a warning).
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.backoff import Backoff
from connect_dagster.connectors.mirror.client_settings import NO_GROUP
from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.expressions.offset_ranges import OffsetRange, shared_out
from connect_dagster.kafka import clients
from connect_dagster.kafka.acls import fetch_unreadable_topics
from connect_dagster.kafka.errors import is_of_group
from connect_dagster.kafka.fetched_records import FEW_RECORDS, SKIPPED, WATCHING, FetchedRecords, RecordWatch
from connect_dagster.kafka.log_offsets import LogOffsets
from connect_dagster.kafka.offset_reset import OffsetReset
from connect_dagster.kafka.settings.java_settings import Settings
from connect_dagster.plugin.records import TopicPartition

log = logging.getLogger(__name__)

Positions = Mapping[TopicPartition, int | None]

_REQUEST_SECONDS = 5.0
_AWAY = Backoff(0.1, 5.0)
# Offsets without records, such as those of a transaction's end, are not reported by the consumer.
_LOOK_SECONDS = 10.0
_AWAKE_SECONDS = 1.0
_ASK_SECONDS = 0.01
_WARNING_SECONDS = 60.0
_TRIES = re.compile(r" \(after \d+ms in state .*\)$")  # how long and how often, in errors of connections


class SourceAwayError(RetriableError):
    """The source cluster does not respond for partitions that are to be read."""


@dataclass(frozen=True, slots=True)
class Read:
    """The next records of a task.

    Attributes:
        ends: the offset after the records of each partition that has some.
        fetched: the records, where the consumer has fetched them.
        ranges: of offsets to read, where it has not.
        new_consumers: whether to read ranges by new ones, as a log may be another one than for those before.
    """

    ends: Mapping[TopicPartition, int]
    fetched: FetchedRecords | None = None
    ranges: Sequence[OffsetRange] = ()
    new_consumers: bool = False


class PartitionReader:
    """Reads a fixed set of partitions, for one thread, but for :meth:`check`.

    Args:
        settings: of the consumer, in Java's names.
        positions: the offset to read next of each partition; ``None`` leaves it to the reset policy.
        most_records: of one read by ranges.

    Attributes:
        most_records: of the next read by ranges.
    """

    def __init__(self, settings: Settings, positions: Positions, most_records: int) -> None:
        self.most_records = most_records
        self._settings = settings
        self._positions = dict(positions)
        self._consumer: Consumer = clients.consumer(
            settings, {**NO_GROUP, **WATCHING, "isolation.level": _isolation(settings), "error_cb": self._client_failed}
        )
        self._logs = LogOffsets(self._consumer)
        self._watch = RecordWatch(self._consumer, self._fetch, headers=True)
        self._reset = OffsetReset(
            settings.get("auto.offset.reset", "earliest"),
            lambda partition, since: self._logs.first_since(partition, since, _REQUEST_SECONDS),
        )
        self._unplaced = set(positions)  # whose positions are missing, or are not known to be in their logs
        # Which the consumer may not read: a job over ranges of all partitions would fail for one of them.
        self._refused: set[TopicPartition] = set()
        self._place_at = 0.0
        self._is_watching = False
        self._reads_ranges_next = False
        self._is_placed_anew = False  # since the ranges before
        self._busy_at = self._look_at = time.monotonic()
        self._outages = 0
        self._warned: dict[str, float] = {}
        self._in_use = threading.Lock()
        self._is_closed = False
        # Any offset: a paused partition is sought before it is read.
        self._consumer.assign([KafkaPartition(one.topic, one.partition, 0) for one in positions])
        self._consumer.pause([KafkaPartition(one.topic, one.partition) for one in positions])

    def poll(self, seconds: float) -> Read | None:
        """Return the next records; ``None`` when there are none within this time."""
        try:
            if self._unplaced and time.monotonic() >= self._place_at:
                self._place()
            return self._fetched(seconds) if self._is_watching else self._next_ranges()
        except (KafkaException, ConnectError) as error:
            self._wait_after(error, seconds)
            return None

    def check(self, partitions: Collection[TopicPartition]) -> None:
        """Check that the source responds for partitions; any thread may call it.

        Raises:
            SourceAwayError: it does not.
        """
        with self._in_use:
            known = {} if self._is_closed else self._logs.ends(partitions, _REQUEST_SECONDS)
        if missing := [str(one) for one in partitions if one not in known]:
            raise SourceAwayError(f"The source does not respond for {', '.join(missing)}")

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
        logs, errors = self._logs.known_ranges(self._unplaced, _REQUEST_SECONDS)
        for partition, range in logs.items():
            self._positions[partition] = self._reset.begin(partition, self._positions[partition], range)
        self._unplaced.difference_update(logs)
        self._is_placed_anew |= bool(logs)
        unreadable = self._unreadable({one.topic for one in logs})
        self._refused |= {one for one in logs if one.topic in unreadable}
        self._outages = 0
        if self._unplaced:
            self._place_at = time.monotonic() + _LOOK_SECONDS
            log.warning("These partitions are not known now, and are not read: %s", _reasons(errors))

    def _unreadable(self, topics: set[str]) -> set[str]:
        """Return the topics that the brokers only describe; none where they cannot be asked."""
        try:
            return fetch_unreadable_topics(self._settings, topics, _REQUEST_SECONDS) if topics else set()
        except (KafkaException, ConfigError) as error:
            log.debug("The rights to topics are not known now: %s", error)
            return set()

    def _next_ranges(self) -> Read | None:
        known = self._known_positions()
        ends = self._logs.ends(known, _REQUEST_SECONDS)
        if known and not ends:
            self._warn("The ends of the partitions are not known now")
        displaced = {one for one, position in known.items() if ends.get(one, position) < position}
        if displaced:
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
        read = Read({one.partition: one.end for one in ranges}, None, ranges, self._is_placed_anew)
        self._is_placed_anew = False
        self._move(read.ends)
        return read

    def _watch_from(self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
        if waits := time.monotonic() - self._busy_at < _AWAKE_SECONDS and not ends:
            time.sleep(_ASK_SECONDS)
        self._is_watching = not waits and self._watch.watch(positions, ends)
        self._look_at = time.monotonic() + (_AWAKE_SECONDS if ends else _LOOK_SECONDS)

    def _fetched(self, seconds: float) -> Read | None:
        if not self._watch.poll(seconds):
            if time.monotonic() >= self._look_at:
                self._look()
            return None
        fetched = self._watch.take(FEW_RECORDS)
        if fetched is None or not self._follows(fetched):
            self._read_ranges()
            return None
        self._move(fetched.end)
        return Read(fetched.end, fetched)

    def _follows(self, fetched: FetchedRecords) -> bool:
        return all(first >= (self._positions[one] or 0) for one, first in fetched.start.items())

    def _look(self) -> None:
        """Read on by ranges where offsets are before the ends of logs, or the logs are shorter than they were."""
        self._look_at = time.monotonic() + _LOOK_SECONDS
        known = self._known_positions()
        if any(end != known[one] for one, end in self._logs.ends(known).items() if one not in self._refused):
            self._read_ranges()

    def _read_ranges(self) -> None:
        self._stop_watching()
        self._reads_ranges_next = True

    def _stop_watching(self) -> None:
        self._watch.unwatch(self._positions)
        self._is_watching = False

    def _move(self, ends: Mapping[TopicPartition, int]) -> None:
        # What has come last is first when a next read cannot have all.
        self._positions = {one: at for one, at in self._positions.items() if one not in ends} | dict(ends)
        self._busy_at = time.monotonic()
        self._look_at = self._busy_at + _AWAKE_SECONDS

    def _known_positions(self) -> dict[TopicPartition, int]:
        return {
            one: position
            for one, position in self._positions.items()
            if position is not None and one not in self._unplaced
        }

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
        self._warn(f"{partition}: {error.str()}")
        return False

    def _displace(self, partitions: set[TopicPartition]) -> None:
        self._unplaced |= partitions
        self._place_at = 0.0

    def _client_failed(self, error: KafkaError) -> None:
        """Log an error of the client; called while it is polled."""
        if not is_of_group(error):
            self._warn(error.str())

    def _warn(self, text: str) -> None:
        """Log a failure, once a minute."""
        now, reason = time.monotonic(), _TRIES.sub("", text)
        if now >= self._warned.get(reason, now):
            self._warned[reason] = now + _WARNING_SECONDS
            log.warning("Failure during poll: %s", text)

    def _wait_after(self, error: Exception, seconds: float) -> None:
        self._outages += 1
        self._is_watching = False  # records that were fetched may be dropped: they are fetched again
        self._warn(error.args[0].str() if isinstance(error, KafkaException) else str(error))
        time.sleep(min(seconds, _AWAY.delay(self._outages)))
        # Until then partitions that have positions are read, and the client is polled, which logs its errors.
        self._place_at = time.monotonic() + (_LOOK_SECONDS if self._known_positions() else _AWAKE_SECONDS)


def _reasons(errors: Mapping[TopicPartition, KafkaError]) -> str:
    return ", ".join(sorted(f"{partition} ({error.str()})" for partition, error in errors.items()))


def _isolation(settings: Settings) -> str:
    # librdkafka's default differs from Java's.
    return settings.get("isolation.level", "read_uncommitted").strip().lower()
