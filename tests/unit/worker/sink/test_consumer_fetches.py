"""Records that a watching consumer fetches, and their columns. No brokers."""

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import (
    OFFSET_INVALID,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    KafkaError,
    KafkaException,
)
from confluent_kafka import TopicPartition as KafkaPartition

from connect_dagster.errors import ConnectError
from connect_dagster.kafka import clients
from connect_dagster.kafka.fetched_records import FEW_BYTES, FEW_RECORDS, SKIPPED
from connect_dagster.kafka.offset_reset import Reset, ResetCause
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink import consumer as sink_consumer
from connect_dagster.worker.sink.consumer import RebalanceListener, SinkConsumer

A, B = TopicPartition("t", 0), TopicPartition("t", 1)


@dataclass
class Message:
    """A message of the client."""

    at: int
    number: int = 0
    data: bytes | None = b"v"
    times: tuple[int, int] = (TIMESTAMP_CREATE_TIME, 1_700_000_000_123)
    pairs: Sequence[tuple[str, bytes | None]] | None = None
    failure: KafkaError | None = None

    def __len__(self) -> int:
        return len(self.data or b"")

    def topic(self) -> str:
        return "t"

    def partition(self) -> int:
        return self.number

    def offset(self) -> int:
        return self.at

    def key(self) -> bytes | None:
        return None

    def value(self) -> bytes | None:
        return self.data

    def timestamp(self) -> tuple[int, int]:
        return self.times

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None:
        if self.pairs and self.pairs[0][0] == "not text":
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        return self.pairs

    def error(self) -> KafkaError | None:
        return self.failure


@dataclass
class Client:
    """A consumer that has fetched these messages, of logs that end there."""

    messages: list[Message] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)
    waits: list[float] = field(default_factory=list)
    refusals: list[Exception] = field(default_factory=list)
    commits: dict[int, int] = field(default_factory=dict)
    leaderless: set[int] = field(default_factory=set)

    def subscribe(self, *_: Any, **__: Any) -> None: ...

    def seek(self, _: Any) -> None: ...

    def resume(self, _: Any) -> None: ...

    def pause(self, _: Any) -> None: ...

    def committed(self, partitions: list[Any], timeout: float) -> list[Any]:
        return [KafkaPartition(one.topic, one.partition, self.commits.get(one.partition, 4)) for one in partitions]

    def list_topics(self, timeout: float) -> Any:
        leaders = {number: SimpleNamespace(leader=-1 if number in self.leaderless else 1) for number in (0, 1)}
        return SimpleNamespace(topics={"t": SimpleNamespace(partitions=leaders)}, timeout=timeout)

    def offsets_for_times(self, partitions: list[Any], timeout: float) -> list[Any]:
        if self.refusals:
            raise self.refusals.pop()
        if any(one.partition in self.leaderless for one in partitions):
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return [KafkaPartition(one.topic, one.partition, 9 if one.offset == -1 else 0) for one in partitions]

    def memberid(self) -> str:
        return "m"

    def poll(self, seconds: float) -> Message | None:
        self.waits.append(seconds)
        return self.messages.pop(0) if self.messages else None

    def get_watermark_offsets(self, partition: Any, *, cached: bool) -> tuple[int, int]:
        assert cached
        return 0, self.ends.get(partition.partition, -1001)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    client = Client()
    monkeypatch.setattr(clients, "consumer", lambda *_: client)
    return client


def watching(*, headers: bool = False) -> SinkConsumer:
    listener = RebalanceListener(*[lambda _: None] * 3)
    none = cast("Any", None)
    consumer = SinkConsumer({"client.id": "c"}, ["t"], None, listener, none, none, headers=headers)
    consumer.watch({A: 3, B: 0})
    return consumer


def test_all_that_has_arrived_is_taken_together(client: Client) -> None:
    consumer = watching()
    client.messages = [Message(3), Message(0, 1), Message(7)]
    assert consumer.poll(0.1)
    taken = consumer.take_fetched(10)
    assert taken is not None
    assert (taken.start, taken.end) == ({A: 3, B: 0}, {A: 8, B: 1})
    assert taken.rows["offset"].to_pylist() == [3, 0, 7]
    assert not consumer.poll(0.1)
    assert consumer.take_fetched(10) is None


def test_what_is_there_at_first_is_waited_for(client: Client) -> None:
    consumer = watching()
    consumer.watch({A: 3, B: 0}, {A: 5, B: 1})
    client.messages = [Message(3), Message(4)]
    assert not consumer.poll(0.1)
    client.messages = [Message(0, 1), Message(5)]
    assert consumer.poll(0.1)
    taken = consumer.take_fetched(10)
    assert taken is not None
    assert taken.end == {A: 6, B: 1}


def test_what_does_not_come_must_be_read(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    consumer = watching()
    consumer.watch({A: 3}, {A: 5})  # 4 is the end of a transaction
    client.messages = [Message(3)]
    assert not consumer.poll(0.1)
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 1)
    assert consumer.poll(0.1)
    assert consumer.take_fetched(10) is None


def test_large_records_must_be_read_at_once(client: Client) -> None:
    consumer = watching()
    consumer.watch({A: 0}, {A: 400})
    client.messages = [Message(at, data=b"x" * (FEW_BYTES // 2)) for at in range(4)]
    assert consumer.poll(0.1)
    assert consumer.take_fetched(500) is None
    assert client.messages


def test_a_poll_does_not_wait_beside_a_record(client: Client) -> None:
    consumer = watching()
    client.messages = [Message(3)]
    assert consumer.poll(0.1)
    assert consumer.poll(0.1)
    assert client.waits == [0.1, 0]


@pytest.mark.parametrize("bound", ["records", "bytes", "log"])
def test_more_than_the_bound_is_left_to_ranges(client: Client, bound: str) -> None:
    consumer = watching()
    size = FEW_BYTES // 4 if bound == "bytes" else 1
    client.messages = [Message(3 + number, data=b"v" * size) for number in range(5)]
    client.ends = {0: 8 if bound != "log" else 30}
    assert consumer.take_fetched(4 if bound == "records" else 10) is None


@pytest.mark.parametrize(("count", "size"), [(FEW_RECORDS + 100, 1), (10, FEW_BYTES // 4)], ids=["records", "bytes"])
def test_records_that_become_many_while_the_task_is_busy_are_not_kept(client: Client, count: int, size: int) -> None:
    consumer = watching()
    client.messages = [Message(3 + number, data=b"v" * size) for number in range(count)]
    for _ in range(count):
        assert consumer.poll()
        assert sum(map(len, consumer._watch._fetched)) <= FEW_BYTES
        assert len(consumer._watch._fetched) <= FEW_RECORDS
    assert consumer.take_fetched(FEW_RECORDS) is None
    consumer.watch({A: 3})
    client.messages = [Message(3)]
    taken = consumer.take_fetched(FEW_RECORDS)
    assert taken is not None
    assert taken.end == {A: 4}


@pytest.mark.parametrize("code", [KafkaError._AUTO_OFFSET_RESET, *SKIPPED])
def test_what_the_client_cannot_read_is_left_to_ranges(client: Client, code: int) -> None:
    """An offset that is not in the log, for the reset policy; a damaged batch, which librdkafka leaves out."""
    consumer = watching()
    client.messages = [Message(3), Message(0, failure=KafkaError(code))]
    assert consumer.poll()
    assert consumer.take_fetched(10) is None
    assert consumer.poll()
    consumer.unwatch([A, B])
    assert not consumer.poll()


@pytest.mark.parametrize("dropped_by", ["watch", "unwatch"])
def test_records_that_were_not_taken_are_dropped(client: Client, dropped_by: str) -> None:
    consumer = watching()
    client.messages = [Message(3)]
    assert consumer.poll()
    if dropped_by == "watch":
        consumer.watch({A: 3})
    else:
        consumer.unwatch([A, B])
    assert not consumer.poll()
    assert consumer.take_fetched(10) is None


def test_the_columns_are_those_of_sparks_source(client: Client) -> None:
    consumer = watching(headers=True)
    client.messages = [
        Message(3, data=None, pairs=[("h", b"1"), ("h", None)]),
        Message(4, data=b"", times=(TIMESTAMP_LOG_APPEND_TIME, 5)),
        Message(5, times=(TIMESTAMP_NOT_AVAILABLE, 0), pairs=[]),
    ]
    taken = consumer.take_fetched(10)
    assert taken is not None
    rows = taken.rows.drop_columns(["timestamp"]).to_pylist()
    place = {"key": None, "topic": "t", "partition": 0}
    assert rows == [
        {**place, "offset": 3, "value": None, "timestampType": 0, "headers": [_header(b"1"), _header(None)]},
        {**place, "offset": 4, "value": b"", "timestampType": 1, "headers": None},
        {**place, "offset": 5, "value": b"v", "timestampType": -1, "headers": None},
    ]
    assert taken.rows["timestamp"].cast("int64").to_pylist() == [1_700_000_000_123_000, 5000, -1000]


def _header(value: bytes | None) -> dict[str, Any]:
    return {"key": "h", "value": value}


def test_a_header_whose_key_is_not_text_is_left_to_ranges(client: Client) -> None:
    consumer = watching(headers=True)
    client.messages = [Message(3, pairs=[("not text", b"")])]
    assert consumer.take_fetched(10) is None


@pytest.mark.parametrize(
    "code", [KafkaError.FENCED_LEADER_EPOCH, KafkaError.UNKNOWN_LEADER_EPOCH, KafkaError.OFFSET_NOT_AVAILABLE]
)
def test_offsets_are_asked_for_again_where_a_leader_has_moved(
    client: Client, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Failed: a broker that was frozen fenced the request, and the task with it."""
    monkeypatch.setattr(time, "sleep", lambda _: None)
    client.refusals = [KafkaException(KafkaError(code))]
    consumer = watching()
    consumer._admin = cast("Any", NoIds())
    assert consumer.committed_or_reset([A]) == {A: 4}
    assert client.refusals == []


def test_an_abandoned_task_asks_for_offsets_no_more(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It asks in a rebalance, during which the consumer is in use."""
    monkeypatch.setattr(sink_consumer, "_ABANDON_SECONDS", 0.01)
    client.refusals = [KafkaException(KafkaError(KafkaError._TIMED_OUT))]
    consumer = watching()
    consumer._admin = cast("Any", NoIds())
    with consumer._lock:
        abandoning = threading.Thread(target=consumer.abandon)
        abandoning.start()
        abandoning.join()
        with pytest.raises(ConnectError, match="Could not read offsets"):
            consumer.committed_or_reset([A])


def test_a_partition_without_a_leader_does_not_hold_the_others(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins where it was committed; without that it waits, as its first offset is not known."""
    monkeypatch.setattr(time, "sleep", lambda _: client.leaderless.clear())
    client.leaderless, client.commits = {1}, {0: 20}
    consumer = watching()
    consumer._admin = cast("Any", NoIds())
    assert consumer.committed_or_reset([A, B]) == {A: 0, B: 4}
    assert consumer.resets({A: 20, B: 20}) == {A: Reset(0, ResetCause.TRUNCATED)}
    assert client.leaderless, "nobody has waited"
    client.commits = {0: 5, 1: OFFSET_INVALID}
    assert consumer.committed_or_reset([A, B]) == {A: 5, B: 0}
    assert not client.leaderless, "it has waited for the leader"


class NoIds:
    """Brokers that tell no ids of topics."""

    def ids(self, topics: Sequence[str], seconds: float) -> dict[str, str]:
        return {}
