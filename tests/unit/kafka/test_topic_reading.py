"""Single records of a topic, as a client library without brokers gives them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, TopicPartition

from connect_dagster.kafka import clients
from connect_dagster.kafka.topic_reading import fetch_records

RECORDS = {("orders", 0): [0, 1, 3, 7], ("orders", 1): [5]}
"""Offsets of the records of each partition."""


@dataclass
class Read:
    """A record, or the end of a partition."""

    place: tuple[str, int]
    at: int | None

    def topic(self) -> str:
        return self.place[0]

    def partition(self) -> int:
        return self.place[1]

    def offset(self) -> int | None:
        return self.at

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self.at is None else None


@dataclass
class Library:
    """An admin client and a consumer of these records."""

    assigned: list[TopicPartition] = field(default_factory=list)
    closed: bool = False

    def list_topics(self, timeout: float) -> Any:
        return SimpleNamespace(topics={"orders": SimpleNamespace(partitions={0: None, 1: None})})

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.assigned = list(partitions)
        assert all((one.topic, one.partition) in RECORDS for one in self.assigned), "it would wait for a new topic"

    def consume(self, number: int, timeout: float) -> list[Read]:
        read = []
        for one in self.assigned:
            place = one.topic, one.partition
            read += [*(Read(place, at) for at in RECORDS[place] if at >= one.offset), Read(place, None)]
        return read

    def close(self) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(clients, "quiet_admin", lambda _: made)
    monkeypatch.setattr(clients, "consumer", lambda *_: made)
    return made


def test_records_are_found_at_their_offsets_and_gaps_are_left_out(library: Library) -> None:
    places = [("orders", 0, 1), ("orders", 0, 2), ("orders", 0, 7), ("orders", 0, 9), ("orders", 1, 5)]
    assert sorted(fetch_records("eu:9092", places, 1.0)) == [("orders", 0, 1), ("orders", 0, 7), ("orders", 1, 5)]
    assert library.closed


def test_topics_and_partitions_that_do_not_exist_are_left_out() -> None:
    assert list(fetch_records("eu:9092", [("gone", 0, 1), ("orders", 9, 1), ("orders", 1, 5)], 1.0)) == [
        ("orders", 1, 5)
    ]
    assert fetch_records("eu:9092", [("gone", 0, 1)], 1.0) == {}
