"""Offset syncs on their way to their topic. No brokers."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from confluent_kafka import KafkaError

from connect_dagster.connectors.mirror.records import OffsetSync
from connect_dagster.connectors.mirror.source.offset_syncs import OffsetSyncWriter
from connect_dagster.connectors.mirror.sync_state import MOST_PENDING, consecutive
from connect_dagster.errors import ConfigError
from connect_dagster.kafka import clients
from connect_dagster.plugin.records import TopicPartition

MANY = [TopicPartition("t", number) for number in range(3 * MOST_PENDING)]


@dataclass(frozen=True)
class Sent:
    """A sync that was given to the producer."""

    content: tuple[bytes, bytes]
    report: Callable[[KafkaError | None, "Sent"], None]

    def key(self) -> bytes:
        return self.content[0]

    def value(self) -> bytes:
        return self.content[1]

    @property
    def sync(self) -> OffsetSync | None:
        return OffsetSync.decode(*self.content)


@dataclass
class Producer:
    """A producer whose records arrive when the test says so."""

    sent: list[Sent] = field(default_factory=list)
    reports: list[tuple[Sent, KafkaError | None]] = field(default_factory=list)
    flushed: list[Sent] = field(default_factory=list)

    def produce(
        self,
        topic: str,
        value: bytes,
        key: bytes,
        partition: int,
        on_delivery: Callable[[KafkaError | None, Sent], None],
    ) -> None:
        assert (topic, partition) == ("syncs", 0)
        self.sent.append(Sent((key, value), on_delivery))

    def arrive(self, error: KafkaError | None = None) -> list[Sent]:
        arrived, self.sent = self.sent, []
        self.reports += [(one, error) for one in arrived]
        return arrived

    def flush(self, seconds: float) -> int:
        self.flushed += self.arrive()
        self.poll(seconds)
        return 0

    def purge(self) -> None:
        """Nothing is left."""

    def poll(self, _: float) -> None:
        reports, self.reports = self.reports, []
        for one, error in reports:
            one.report(error, one)


@pytest.fixture
def producer(monkeypatch: pytest.MonkeyPatch) -> Producer:
    producer = Producer()
    monkeypatch.setattr(clients, "producer", lambda *_: producer)
    return producer


def deliver(writer: OffsetSyncWriter, partition: TopicPartition, first: int, count: int) -> None:
    writer.delivered(partition, consecutive([first], [count]), consecutive([first + 100], [count]))


def test_each_partition_of_a_batch_has_its_syncs_sent(producer: Producer) -> None:
    writer = OffsetSyncWriter({}, "syncs", 100)
    for partition in MANY:
        deliver(writer, partition, 0, 1)
    assert [one.sync for one in producer.arrive()] == [OffsetSync(one, 0, 100) for one in MANY]
    for partition in MANY:
        deliver(writer, partition, 1, 1)
    assert producer.arrive() == [], "these are not due"
    writer.commit()
    assert [one.sync for one in producer.arrive()] == [OffsetSync(one, 1, 101) for one in MANY]


def test_those_on_their_way_are_bounded_while_the_cluster_is_away(
    producer: Producer, caplog: pytest.LogCaptureFixture
) -> None:
    writer = OffsetSyncWriter({}, "syncs", 0)
    for first in range(0, 1000, 10):
        deliver(writer, MANY[0], first, 10)
    waiting = producer.arrive(KafkaError(KafkaError._MSG_TIMED_OUT, "timed out"))
    assert len(waiting) == MOST_PENDING
    assert caplog.text == ""
    writer.commit()
    assert f"Failure sending offset sync {waiting[0].sync}: timed out" in caplog.text
    after = [one.sync for one in producer.arrive()]
    assert len(after) == MOST_PENDING
    assert after[-1] == OffsetSync(MANY[0], 999, 1099)


def test_the_last_sync_is_written_at_the_end_though_there_was_no_room(producer: Producer) -> None:
    """Failed: the end of a topic whose producers had stopped was never known."""
    writer = OffsetSyncWriter({}, "syncs", 0)
    for first in range(0, 1000, 10):
        deliver(writer, MANY[0], first, 10)
    writer.commit()
    writer.close()
    assert producer.flushed[-1].sync == OffsetSync(MANY[0], 999, 1099)


@pytest.mark.parametrize("name", ["max.in.flight.requests.per.connection", "delivery.timeout.ms"])
def test_a_setting_that_is_no_number_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"Invalid value abc for configuration {name}"):
        OffsetSyncWriter({name: "abc"}, "syncs", 0)
