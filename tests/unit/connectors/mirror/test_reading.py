"""Reads of a source task: fetched records, ranges of offsets, and clusters that do not respond. No brokers."""

import sys
import time
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_CREATE_TIME, KafkaError, KafkaException
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.connectors.mirror.source import reading
from connect_dagster.connectors.mirror.source.reading import PartitionReader, Read, SourceAwayError
from connect_dagster.errors import RewindError
from connect_dagster.expressions.offset_ranges import OffsetRange
from connect_dagster.kafka import clients
from connect_dagster.kafka.fetched_records import FEW_RECORDS, SKIPPED
from connect_dagster.plugin.records import TopicPartition

T, U = TopicPartition("t", 0), TopicPartition("t", 1)
TIMED_OUT = KafkaException(KafkaError(KafkaError._TIMED_OUT, "no response"))


@dataclass
class Message:
    """A record, or an error of the client."""

    at: int = 0
    failure: KafkaError | None = None
    name: str | None = "t"
    number: int = 0

    def __len__(self) -> int:
        return 1

    def topic(self) -> str | None:
        return self.name

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at

    def key(self) -> None:
        return None

    def value(self) -> bytes:
        return b"v"

    def timestamp(self) -> tuple[int, int]:
        return TIMESTAMP_CREATE_TIME, 1

    def headers(self) -> None:
        return None

    def error(self) -> KafkaError | None:
        return self.failure


@dataclass
class Client:
    """A consumer of t-0 with records of these offsets, and of t-1, of which nothing comes.

    Attributes:
        offsets: in the log of t-0.
        silent: in the log of t-1.
        events: come before the records; after an error of ``SKIPPED``, the first record is left out.
        refusals: of requests for offsets, the next one first.
        unreadable: topics that the client may not read.
        unknown: the error of t-0 in answers with offsets.
        failures: of looks at the watermark.
        waits: the time limits of requests for offsets.
        is_stuck: whether partitions cannot be sought, as after an offset that their log did not have.
        open_from: the first offset of an open transaction in t-0, for readers of committed records.
    """

    offsets: range = range(0)
    silent: range = range(0)
    events: list[Message] = field(default_factory=list)
    refusals: list[Exception] = field(default_factory=list)
    unreadable: set[str] = field(default_factory=set)
    unknown: KafkaError | None = None
    failures: list[Exception] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    polls: int = 0
    at: int = 0
    is_stuck: bool = False
    open_from: int | None = None

    def assign(self, partitions: list[KafkaPartition]) -> None:
        self.is_stuck = False
        for one in partitions:
            self.seek(one)

    def close(self) -> None: ...

    def resume(self, _: Any) -> None: ...

    def pause(self, _: Any) -> None: ...

    def seek(self, to: KafkaPartition) -> None:
        if self.is_stuck:
            raise KafkaException(KafkaError(KafkaError._STATE))
        if to.partition == 0:
            self.at = to.offset

    def offsets_for_times(self, partitions: list[KafkaPartition], timeout: float) -> list[Any]:
        self.waits.append(timeout)
        if self.refusals:
            raise self.refusals.pop(0)
        return [Found(one.topic, one.partition, self._edge(one), self.unknown) for one in partitions]

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics={}, timeout=timeout)

    def _edge(self, asked: KafkaPartition) -> int:
        offsets = self.offsets if asked.partition == 0 else self.silent
        if asked.offset == OFFSET_BEGINNING:
            return offsets.start
        return offsets.stop if self.open_from is None else self.open_from

    def poll(self, seconds: float) -> Message | None:
        self.polls += 1
        if self.events:
            event = self.events.pop(0)
            if event.failure is not None and event.failure.code() in SKIPPED:
                self.at += 1
            return event
        if self.at not in self.offsets or (self.open_from is not None and self.at >= self.open_from):
            time.sleep(seconds)
            return None
        self.at += 1
        return Message(self.at - 1)

    def get_watermark_offsets(self, _: Any, *, cached: bool) -> tuple[int, int]:
        if self.failures:
            raise self.failures.pop()
        return 0, self.offsets.stop


@dataclass
class Found:
    """An offset that brokers have told."""

    topic: str
    partition: int
    offset: int
    error: KafkaError | None


@dataclass
class Clock:
    """A clock that goes on when somebody sleeps."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setattr(clients, "consumer", lambda *_: client)
    monkeypatch.setattr(reading, "fetch_unreadable_topics", lambda *_: client.unreadable)
    return client


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    # Threads that other tests have left must not advance it.
    mine = SimpleNamespace(monotonic=clock, sleep=clock.sleep)
    monkeypatch.setattr(reading, "time", mine)
    monkeypatch.setattr(sys.modules[__name__], "time", mine)
    return clock


def reader(position: int | None = 0, *more: TopicPartition) -> PartitionReader:
    return PartitionReader({}, {T: position, **dict.fromkeys(more, 0)}, 100_000)


def next_read(of: PartitionReader, clock: Clock, polls: int = 20) -> Read:
    """Poll until there are records."""
    for _ in range(polls):
        if (read := of.poll(0.1)) is not None:
            return read
        clock.sleep(0.1)
    raise AssertionError("no records came")


def test_few_records_are_taken_as_they_were_fetched(client: Client, clock: Clock) -> None:
    client.offsets = range(3, 6)
    read = next_read(reader(3), clock)
    assert read.fetched is not None
    assert (read.fetched.start, read.ends) == ({T: 3}, {T: 6})


def test_many_are_read_by_ranges(client: Client, clock: Clock) -> None:
    client.offsets = range(FEW_RECORDS + 1)
    read = next_read(reader(), clock)
    assert (read.ranges, read.ends) == ([OffsetRange(T, 0, 501)], {T: 501})
    assert min(client.waits) >= 5, "brokers may be far away"


@pytest.mark.parametrize("code", sorted(SKIPPED))
def test_a_batch_that_the_client_leaves_out_is_read_by_ranges(client: Client, clock: Clock, code: int) -> None:
    """Java's client refuses a damaged batch; librdkafka goes on behind it."""
    client.offsets = range(5)
    client.events = [Message(failure=KafkaError(code))]
    assert next_read(reader(), clock).ranges == [OffsetRange(T, 0, 5)]


def test_records_that_a_failure_has_dropped_are_fetched_again(client: Client, clock: Clock) -> None:
    client.offsets = range(5)
    client.failures = [TIMED_OUT]
    read = next_read(reader(), clock)
    assert read.fetched is not None
    assert read.fetched.start == {T: 0}


def test_the_client_tells_why_a_source_does_not_respond(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """It tells while it is polled, also while the positions are not known yet."""
    client.refusals = [TIMED_OUT] * 3
    waiting = reader(None)
    client.events = [Message(failure=KafkaError(KafkaError._AUTHENTICATION, "wrong password"), name=None)]
    for _ in range(40):
        assert waiting.poll(0.1) is None
        clock.sleep(0.1)
    assert "Failure during poll: no response" in caplog.text
    assert "Failure during poll: wrong password" in caplog.text
    client.offsets = range(5)
    assert next_read(waiting, clock).ends == {T: 5}


def test_a_partition_that_is_not_known_is_named_with_the_reason(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client.unknown = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not authorized")
    assert reader().poll(0.1) is None
    assert "are not read: t-0 (not authorized)" in caplog.text


def test_a_failure_is_logged_once_a_minute(client: Client, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    waiting = reader()
    for number in range(90):
        text = f"b:9092: Connect failed: Connection refused (after {number}ms in state CONNECT)"
        client.events = [Message(failure=KafkaError(KafkaError._TRANSPORT, text), name=None)]
        assert waiting.poll(1.0) is None
        clock.sleep(1.0)
    assert caplog.text.count("Connection refused") == 2


def test_the_group_that_nobody_joins_needs_no_rights(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client.offsets = range(5)
    client.events = [Message(failure=KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED), name=None)]
    assert next_read(reader(), clock).ends == {T: 5}
    assert caplog.text == ""


def test_a_range_that_was_refused_waits_until_the_source_responds(client: Client, clock: Clock) -> None:
    reading = reader()
    client.refusals = [TIMED_OUT]
    with pytest.raises(SourceAwayError, match="does not respond for t-0"):
        reading.check([T])
    reading.check([T])
    reading.close()
    with pytest.raises(SourceAwayError):
        reading.check([T])


def test_a_backlog_that_may_not_be_read_is_no_range(client: Client, clock: Clock) -> None:
    """A job over ranges would fail for it, again and again."""
    client.offsets, client.silent = range(2_000), range(2_000)
    client.unreadable = {"other"}
    other = TopicPartition("other", 1)
    read = next_read(reader(0, other), clock)
    assert read.ranges == [OffsetRange(T, 0, 2_000)]


def test_a_partition_that_may_not_be_read_does_not_stop_the_others(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    """Java's consumer goes on with the others; a job over both would fail."""
    client.offsets, client.silent = range(3), range(3)
    client.events = [Message(failure=KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "not authorized"), number=1)]
    reading = reader(0, U)
    assert next_read(reading, clock, 100).ends == {T: 3}
    assert "Failure during poll: t-1: not authorized" in caplog.text
    client.offsets, client.silent = range(1000), range(1000)
    assert next_read(reading, clock, 100).ranges == [OffsetRange(T, 3, 1000)]
    for _ in range(150):
        assert reading.poll(0.1) is None
    client.events = [Message(at, number=1) for at in range(3)]
    client.silent = range(3)
    assert next_read(reading, clock, 100).ends == {U: 3}


def test_a_partition_that_cannot_be_sought_is_read_by_ranges_and_assigned_again(client: Client, clock: Clock) -> None:
    """The client cannot seek it after an offset that its log did not have."""
    client.offsets = range(5)
    reading = reader()
    assert next_read(reading, clock).ends == {T: 5}
    reading._stop_watching()
    client.is_stuck, client.offsets = True, range(9)
    assert next_read(reading, clock).ranges == [OffsetRange(T, 5, 9)]
    client.offsets = range(11)
    assert next_read(reading, clock).fetched is not None


def test_removed_records_are_passed_over_at_once(client: Client, clock: Clock) -> None:
    """A job over offsets that are not there any more has no records, and there may be many of such jobs."""
    client.offsets = range(2_000)
    reading = reader()
    assert next_read(reading, clock).ends == {T: 2_000}
    clock.sleep(60)
    client.offsets = range(1_000_000, 1_001_000)
    assert next_read(reading, clock).ranges == [OffsetRange(T, 1_000_000, 1_001_000)]


def test_an_offset_in_an_open_transaction_is_in_its_log(
    client: Client, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java's consumer waits until the transaction has ended."""
    client.offsets, client.open_from = range(100), 50
    all_records = Client(offsets=client.offsets)
    level = "isolation.level"
    monkeypatch.setattr(
        clients, "consumer", lambda _, extra: all_records if extra[level] == "read_uncommitted" else client
    )
    reading = PartitionReader({level: "read_committed"}, {T: 80}, 100_000)
    for _ in range(30):
        assert reading.poll(0.1) is None
        clock.sleep(1)
    client.open_from, client.at = None, 80
    read = next_read(reading, clock, 200)
    assert read.fetched is not None
    assert (read.fetched.start, read.ends) == ({T: 80}, {T: 100})


def test_a_topic_that_may_be_read_again_is_read_also_under_load(client: Client, clock: Clock) -> None:
    client.offsets, client.silent = range(2_000), range(2_000)
    client.unreadable = {"other"}
    other = TopicPartition("other", 1)
    reading = reader(0, other)
    assert next_read(reading, clock).ends == {T: 2_000}
    client.unreadable = set()
    clock.sleep(60)
    client.offsets = range(4_000)
    assert next_read(reading, clock).ends == {T: 4_000, other: 2_000}


def test_a_partition_that_cannot_be_read_any_more_is_left_out_and_the_others_are_read_again(
    client: Client, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    client.offsets, client.silent = range(2_000), range(2_000)
    other = TopicPartition("other", 1)
    reading = reader(0, other)
    first = next_read(reading, clock)
    assert first.ends == {T: 2_000, other: 2_000}
    reading.delivered(first)
    client.offsets = client.silent = range(4_000)
    assert next_read(reading, clock).ends == {T: 4_000, other: 4_000}
    reading.check([T, other])
    client.unreadable = {"other"}
    with pytest.raises(RewindError, match="cannot be read now, others are: other-1"):
        reading.check([T, other])
    reading.rewind()
    again = next_read(reading, clock)
    assert again.ranges == [OffsetRange(T, 2_000, 4_000)]
    reading.delivered(again)
    client.unreadable = set()
    clock.sleep(60)
    assert next_read(reading, clock).ranges == [OffsetRange(other, 2_000, 4_000)]
