"""How long a log waits for a topic that somebody has deleted, and what it makes of one of the same name. No brokers."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError

from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.kafka.topic_admin import TopicAdmin
from connect_dagster.storage import topic_log, topic_sightings
from connect_dagster.storage.topic_log import Entry, TopicLog, TopicMissingError

MISSING = r"^Topic 't' does not exist any more on the brokers, so that it can neither be read nor written\."


class Admin:
    """Describes the topic `t` by its id, `None` once it was deleted; has no answer while `away`."""

    def __init__(self) -> None:
        self.id: str | None = "A"
        self.away = False
        self.ends = {0: 5}

    def id_of(self, topic: str, seconds: float) -> str | None:
        if self.away:
            raise RetriableError("no brokers")
        return self.id

    def partitions(self, topic: str, seconds: float) -> list[int]:
        return sorted(self.ends)

    def beginning_offsets(self, topic: str, partitions: list[int], seconds: float) -> dict[int, int]:
        return dict.fromkeys(partitions, 0)

    def cleanup_policies(self, topic: str) -> set[str]:
        return {"delete"}

    def end_offsets(self, topic: str, partitions: list[int], seconds: float, isolation: object) -> dict[int, int]:
        if self.id is None or self.away:
            raise RetriableError("unknown topic")
        return self.ends


class Producer:
    """Keeps records until they are purged."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[Any, Any], None]] = []

    def produce(self, *record: object, on_delivery: Callable[[Any, Any], None], headers: object) -> None:
        self.waiting.append(on_delivery)

    def purge(self) -> None:
        purged, self.waiting = self.waiting, []
        for take in purged:
            take(KafkaError(KafkaError._PURGE_QUEUE), None)

    def flush(self, timeout: float) -> int:
        time.sleep(timeout)
        return len(self.waiting)


class Consumer:
    closed = False

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def admin() -> Admin:
    return Admin()


@pytest.fixture
def log(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> TopicLog:
    """A log that has read five records, with times that are a fiftieth of the real ones."""
    monkeypatch.setattr(topic_log, "_GLANCE_SECONDS", 0.02)
    monkeypatch.setattr(topic_log, "_RETRY_SECONDS", 0.002)
    monkeypatch.setattr(topic_sightings, "_MISSING_SECONDS", 0.04)
    made = TopicLog("t", {"bootstrap.servers": "localhost:1"}, cast("TopicAdmin", admin), lambda *_: None)
    made._producer = cast("Any", Producer())
    made._consumer = cast("Any", Consumer())
    made._open_consumer = lambda: cast("Any", Consumer())  # type: ignore[method-assign]
    made._positions = {0: 5}
    made._started = True
    made._look(1)
    return made


def test_nobody_waits_for_a_deleted_topic(log: TopicLog, admin: Admin, caplog: pytest.LogCaptureFixture) -> None:
    """At fa6cb2e each write kept the herder's thread for half a minute, and so did each flush."""
    admin.id = None
    producer = cast("Any", log._producer)
    attempts: list[Callable[[], object]] = [
        lambda: log.write([(b"k", b"1"), (b"k", b"2")], 30),
        lambda: log.append([(b"k", b"1")], 30),
        lambda: log.read_to_end(30),
    ]
    for attempt in attempts:
        began = time.monotonic()
        with pytest.raises(TopicMissingError, match=MISSING):
            attempt()
        assert time.monotonic() - began < 5
        # What the caller was told to have failed is not written later.
        assert producer.waiting == []
    log.send(b"k", b"1")
    began = time.monotonic()
    assert not log.flush(30)
    assert time.monotonic() - began < 5
    assert len(producer.waiting) == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_another_producer_gives_up_with_the_topic(log: TopicLog, admin: Admin) -> None:
    sent: list[Sequence[Entry]] = []

    def send(entries: Sequence[Entry], timeout: float, over: Callable[[], bool]) -> dict[int, int]:
        sent.append(entries)
        deadline = time.monotonic() + timeout
        while not over():
            assert time.monotonic() < deadline
            log._look_again()  # as the reader does
        raise ConnectError("the transaction failed")

    admin.id = None
    with pytest.raises(TopicMissingError, match=MISSING):
        log.write([(b"k", b"1")], 5, send)
    assert sent == [[(b"k", b"1")]]
    with pytest.raises(TopicMissingError, match=MISSING):
        log.write([(b"k", b"2")], 5, send)
    assert len(sent) == 1


def test_brokers_that_are_away_have_deleted_nothing(log: TopicLog, admin: Admin) -> None:
    admin.away = True
    with pytest.raises(TimeoutError, match="did not acknowledge 1 records of topic 't' in time"):
        log.write([(b"k", b"1")], 0.2)
    with pytest.raises(TimeoutError, match="unknown topic"):
        log.read_to_end(0.2)
    assert not log.flush(0.2)


def test_a_topic_that_is_created_again_is_read_from_its_beginning(
    log: TopicLog, admin: Admin, caplog: pytest.LogCaptureFixture
) -> None:
    former = cast("Any", log._consumer)
    admin.id, admin.ends = "B", {0: 2, 1: 0}
    with pytest.raises(TimeoutError, match=r"not read up to offsets \{0: 2, 1: 0\} in time"):
        log.read_to_end(0.05)  # the reader does not run yet
    assert log._suspect.is_set()
    log._look_again()
    assert former.closed
    assert (log.partitions, log._positions) == ([0, 1], {0: 0, 1: 0})
    log._positions = {0: 2, 1: 0}
    log.read_to_end(0.05)
    assert not log._suspect.is_set()
    lost, policy = caplog.messages
    assert lost.startswith("Topic 't' was deleted and created again: the records that it had are lost.")
    assert policy.startswith("Topic 't' has cleanup.policy=delete now, not compact")


def test_a_position_that_is_ahead_of_the_end_is_looked_into_once(log: TopicLog, admin: Admin) -> None:
    """Brokers may lose records without the topic's being another one."""
    admin.ends = {0: 3}
    looks = log._looks
    with pytest.raises(TimeoutError):
        log.read_to_end(0.05)
    log._look_again()
    assert (log._looks, log._positions) == (looks + 1, {0: 5})
    assert not log._suspect.is_set()


def test_a_reader_that_found_the_beginning_by_itself_reads_nothing_twice(log: TopicLog, admin: Admin) -> None:
    admin.id, admin.ends = "B", {0: 2}
    log._rewound = {0}
    log._positions = {0: 2}
    log._look_again()
    assert log._positions == {0: 2}
    assert log._rewound == set()
