"""Offset syncs as samples of records, and records of both clusters compared."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from confluent_kafka import Message

from connect_dagster.connectors.mirror.records import OffsetSync
from connect_dagster.orchestration.observations import mirrored_records
from connect_dagster.orchestration.observations.mirrored_records import (
    MISSING,
    Distances,
    distances,
    fetch_compared,
    fetch_missing,
    offset_syncs,
    record_difference,
    sample,
    shrunk,
)
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition
from connect_dagster.plugin.records import TopicPartition

ORDERS, PAYMENTS = ("orders", 0), ("payments", 3)


def sync(place: tuple[str, int], upstream: int, downstream: int) -> tuple[bytes, bytes]:
    made = OffsetSync(TopicPartition(*place), upstream, downstream)
    return made.key, made.value


@dataclass
class Sent:
    """A record as the client library has it."""

    parts: tuple[Any, ...]

    def key(self) -> Any:
        return self.parts[0]

    def value(self) -> Any:
        return self.parts[1]

    def headers(self) -> Any:
        return self.parts[2]


def record(*parts: Any) -> Message:
    return cast("Message", Sent(parts))


def test_syncs_are_by_partition_and_other_records_are_left_out() -> None:
    key, value = sync(ORDERS, 1, 1)
    records = [sync(ORDERS, 5, 3), sync(PAYMENTS, 7, 7), (key, None), (b"", value), sync(ORDERS, 9, 6)]
    assert offset_syncs(records) == {ORDERS: [(5, 3), (9, 6)], PAYMENTS: [(7, 7)]}


@pytest.mark.parametrize("again", [(0, 12), (20, 0)], ids=["source", "target"])
def test_syncs_before_a_topic_was_made_again_do_not_count(again: tuple[int, int]) -> None:
    assert offset_syncs([sync(ORDERS, 5, 5), sync(ORDERS, 10, 10), sync(ORDERS, *again)]) == {ORDERS: [again]}


def test_offsets_between_the_syncs_of_all_partitions() -> None:
    assert distances({ORDERS: [(5, 3), (9, 6), (15, 13)], PAYMENTS: [(7, 7)]}) == Distances(10, 10)
    assert distances({}) == Distances(0, 0)


def test_the_newest_syncs_with_fewer_offsets_in_the_target_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    syncs = {
        ORDERS: [(0, 0), (10, 9), (20, 18), (30, 28)],
        PAYMENTS: [(0, 0), (500, 7)],
        ("orders", 1): [(1, 1), (5, 5)],
    }
    found = shrunk(syncs, 100)
    assert found == {ORDERS: ((10, 9), (20, 18))}
    assert shrunk(syncs, 510) == {**found, PAYMENTS: ((0, 0), (500, 7))}
    asked = []
    counts = iter([10, 9, 0])

    def count(_: str, partition: Partition, start: int, end: int, timeout: float) -> int:
        asked.append((partition, start, end))
        return next(counts)

    monkeypatch.setattr(mirrored_records, "count_records", count)
    assert [fetch_missing("eu:9092", found, 1.0) for _ in range(3)] == [{ORDERS: 1}, {}, {}]
    assert asked[0] == (ORDERS, 11, 21)


def test_a_record_that_the_target_should_have_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(brokers: str, places: list[tuple[str, int, int]], timeout: float) -> dict[tuple[str, int, int], Message]:
        return {place: record(b"k", b"v", None) for place in places if brokers == "eu:9092" or place[2] == 6}

    bounds = {("eu.orders", 0): Bounds(5, 9), ("eu.payments", 3): Bounds(0, 9)}
    monkeypatch.setattr(mirrored_records, "fetch_records", fetch)
    monkeypatch.setattr(mirrored_records, "fetch_topic_bounds", lambda *_: bounds)
    syncs = {ORDERS: [(14, 4), (16, 6), (17, 7), (19, 9)], PAYMENTS: [(7, 7)]}
    remote = {"orders": "eu.orders", "payments": "eu.payments"}
    found = fetch_compared("eu:9092", "us:9092", syncs, remote, {"eu.payments"}, 1.0)
    differences = {(one.partition, one.downstream): one.difference for one in found}
    assert differences == {
        (ORDERS, 4): None,
        (ORDERS, 6): (),
        (ORDERS, 7): MISSING,
        (ORDERS, 9): None,
        (PAYMENTS, 7): None,
    }


@pytest.mark.parametrize(("size", "sizes"), [(1, [1]), (2, [1, 1]), (10, [5, 2]), (1000, [20, 2])])
def test_a_sample_has_the_newest_sync_of_each_partition(size: int, sizes: list[int]) -> None:
    syncs = {ORDERS: [(number, number) for number in range(20)], PAYMENTS: [(7, 7), (8, 8), (8, 8)]}
    chosen = sample(syncs, size)
    assert [len(pairs) for pairs in chosen.values()] == sizes
    assert all(pairs[0] == syncs[place][-1] for place, pairs in chosen.items())


def test_a_sample_of_very_many_partitions_is_of_all_topics() -> None:
    syncs = {(topic, number): [(1, 1)] for topic in ("orders", "payments") for number in range(10)}
    assert list(sample(syncs, 5)) == [("orders", 0), ("orders", 4), ("orders", 8), ("payments", 2), ("payments", 6)]


@pytest.mark.parametrize(
    ("arrived", "difference"),
    [
        ((b"k", b"v", [("h", b"1")]), ()),
        ((b"k", b"w", [("h", b"1")]), ("value",)),
        ((None, b"v", None), ("key", "headers")),
    ],
)
def test_the_parts_that_differ(arrived: tuple[Any, ...], difference: tuple[str, ...]) -> None:
    assert record_difference(record(b"k", b"v", [("h", b"1")]), record(*arrived)) == difference


def test_no_headers_are_no_difference_and_a_record_that_is_gone_is_none() -> None:
    assert record_difference(record(b"k", None, None), record(b"k", None, [])) == ()
    assert record_difference(None, record(b"k", b"v", None)) is None
