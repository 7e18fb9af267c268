"""Translated offsets, and what they say about a group's move to the target."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

import pytest

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.kafka.errors import MissingTopicError
from connect_dagster.orchestration.observations import checkpoints
from connect_dagster.orchestration.observations.checkpoints import (
    TranslatedOffset,
    by_group,
    group_readiness,
    newest_checkpoints,
    with_committed,
)
from connect_dagster.orchestration.observations.mirrored_records import Pair
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition
from connect_dagster.plugin.records import TopicPartition

NOW = 1_700_000_000.0
BILLING = TranslatedOffset(
    "billing", "eu.orders", 0, upstream=1000, downstream=990, emitted_at=NOW - 30, bounds=Bounds(0, 1000)
)
NAMES = MirrorNames.of({"source.cluster.alias": "eu", "target.cluster.alias": "us"})
Offsets = dict[str, dict[Partition, tuple[int, str]]]


def record(group: str, partition: int, upstream: int, at: float) -> tuple[bytes, bytes, float]:
    made = Checkpoint(group, TopicPartition("eu.orders", partition), upstream, upstream - 10)
    return made.key, made.value, at


LATE = ("checkpoints of 1 partitions are late",)


def obstacles(*offsets: TranslatedOffset, max_age: float = 60.0, max_lag: int = 100) -> tuple[str, ...]:
    return group_readiness("billing", offsets, now=NOW, max_age=max_age, max_lag=max_lag).obstacles


def test_the_last_checkpoint_of_a_partition_counts_and_other_records_do_not() -> None:
    key, value, _ = record("billing", 0, 5000, NOW)
    found = newest_checkpoints(
        [
            record("billing", 0, 500, NOW - 90),
            record("billing", 1, 70, NOW - 80),
            record("billing", 0, 1000, NOW - 30),
            (key, None, NOW),
            (None, value, NOW),
            (key, b"\0\1" + value[2:], NOW),
            (key, b"", NOW),
        ]
    )
    assert found == [replace(BILLING, bounds=None), TranslatedOffset("billing", "eu.orders", 1, 70, 60, NOW - 80)]


def served(
    monkeypatch: pytest.MonkeyPatch,
    groups: Offsets,
    syncs: Callable[[], dict[Partition, list[Pair]]],
    bounds: Mapping[str, Mapping[Partition, Bounds]],
) -> list[list[str]]:
    """Let functions be the brokers of both clusters; return the groups that are asked for."""
    asked: list[list[str]] = []

    def fetch(settings: Mapping[str, str], wanted: list[str], timeout: float) -> Offsets:
        asked.append(wanted)
        assert settings["bootstrap.servers"] == "eu:9092"
        return groups

    monkeypatch.setattr(checkpoints, "fetch_group_offsets", fetch)
    monkeypatch.setattr(checkpoints, "fetch_offset_syncs", lambda *_: syncs())
    monkeypatch.setattr(checkpoints, "fetch_topic_bounds", lambda brokers, *_: bounds[brokers])
    return asked


def no_syncs() -> dict[Partition, list[Pair]]:
    raise MissingTopicError("Topic 'mm2-offset-syncs.us.internal' does not exist.")


def test_offsets_of_the_source_stand_beside_their_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"billing": {("orders", 0): (1001, ""), ("orders", 1): (-1, ""), ("local", 0): (5, "")}}
    asked = served(monkeypatch, groups, no_syncs, {})
    back = replace(BILLING, topic="local")
    offsets = [BILLING, replace(BILLING, partition=1), back, replace(BILLING, group="audit")]
    found = with_committed(offsets, NAMES, "eu:9092", "us:9092", 1.0)
    assert [one.committed for one in found] == [1001, None, None, None]
    assert [one.translation for one in found] == [None] * 4
    assert asked == [["audit", "billing"]]


def test_offsets_of_groups_that_moved_are_translated_by_the_syncs(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"billing": {("orders", 0): (1040, ""), ("orders", 1): (1000, "")}, "back": {("orders", 0): (3, "")}}
    served(monkeypatch, groups, lambda: {("orders", 0): [(900, 890), (1000, 989), (1050, 1039)]}, {})
    offsets = [BILLING, replace(BILLING, partition=1), replace(BILLING, group="back")]
    found = with_committed(offsets, NAMES, "eu:9092", "us:9092", 1.0)
    assert [one.translation for one in found] == [990, None, -1]
    assert [one.is_current for one in found] == [True, True, False]


def test_partitions_without_a_checkpoint_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {("orders", number): (10, "") for number in range(4)} | {("orders", 4): (-1, ""), ("us.orders", 0): (7, "")}
    bounds = {
        "eu:9092": {("orders", 1): Bounds(0, 10), ("orders", 2): Bounds(10, 10), ("orders", 3): Bounds(10, 10)},
        "us:9092": {("eu.orders", 1): Bounds(0, 8), ("eu.orders", 2): Bounds(0, 8), ("eu.orders", 3): Bounds(0, 0)},
    }
    asked = served(monkeypatch, {"billing": own, "new": {("orders", 1): (2, "")}}, no_syncs, bounds)

    def mirrored(topics: Iterable[str]) -> list[str]:
        return [topic for topic in topics if not topic.startswith("us.")]

    found = with_committed([BILLING], NAMES, "eu:9092", "us:9092", 1.0, groups=["new"], mirrored=mirrored)
    assert found == [
        replace(BILLING, committed=10),
        TranslatedOffset("billing", "eu.orders", 1, bounds=Bounds(0, 8), committed=10),
        TranslatedOffset("billing", "eu.orders", 2, bounds=Bounds(0, 8), committed=10),
        TranslatedOffset("new", "eu.orders", 1, bounds=Bounds(0, 8), committed=2),
    ]
    assert asked == [["billing", "new"]]
    assert with_committed([BILLING], NAMES, "eu:9092", "us:9092", 1.0) == [replace(BILLING, committed=10)]


def test_groups_are_in_order_with_their_partitions() -> None:
    audit, later = replace(BILLING, group="audit"), replace(BILLING, partition=1)
    assert by_group([later, audit, BILLING]) == {"audit": [audit], "billing": [BILLING, later]}


def test_a_group_with_a_fresh_checkpoint_near_the_end_is_ready() -> None:
    found = group_readiness("billing", [BILLING], now=NOW, max_age=60, max_lag=10)
    assert (found.is_ready, found.lag, found.age) == (True, 10, 30.0)


def test_a_group_without_a_checkpoint_is_not() -> None:
    assert obstacles() == ("it has no checkpoint",)


@pytest.mark.parametrize(
    ("committed", "expected"),
    [
        (None, ("its newest checkpoint is 30 s old",)),
        (1001, LATE),
        (1000, ()),
    ],
)
def test_an_old_checkpoint_is_late_unless_the_group_stands_still(
    committed: int | None, expected: tuple[str, ...]
) -> None:
    assert obstacles(replace(BILLING, committed=committed), max_age=20) == expected


@pytest.mark.parametrize(
    ("committed", "translation", "expected"),
    [
        (1050, 990, ()),
        (1050, -1, ()),
        (1050, 991, LATE),
        (1050, None, LATE),
        (900, 890, LATE),
        (900, -1, LATE),
    ],
)
def test_a_group_that_moved_on_between_two_syncs_is_not_late(
    committed: int, translation: int | None, expected: tuple[str, ...]
) -> None:
    """Nothing is emitted for it, as its translation stays as it is."""
    offset = replace(BILLING, committed=committed, translation=translation)
    assert obstacles(offset, max_age=20) == expected
    assert obstacles(offset, max_age=60) == ()


def test_a_partition_without_a_checkpoint_is_an_obstacle() -> None:
    without = TranslatedOffset("billing", "eu.orders", 1, bounds=Bounds(0, 7), committed=5)
    assert obstacles(BILLING, without) == ("it has no checkpoint of eu.orders-1",)
    assert obstacles(without) == ("it has no checkpoint",)


@pytest.mark.parametrize(
    ("bounds", "lag", "expected"),
    [
        (Bounds(0, 500), 0, "its checkpoint is beyond the end of eu.orders-0"),
        (Bounds(995, 1000), 5, "records behind its checkpoint are deleted from eu.orders-0"),
        (Bounds(1000, 1000), 0, None),
        (Bounds(990, 990), 0, None),
    ],
)
def test_a_checkpoint_must_be_of_a_record_of_the_target(bounds: Bounds, lag: int, expected: str | None) -> None:
    offset = replace(BILLING, bounds=bounds)
    assert (offset.lag, obstacles(offset)) == (lag, (expected,) if expected else ())


def test_without_the_source_one_fresh_partition_shows_that_the_group_is_translated() -> None:
    assert obstacles(BILLING, replace(BILLING, partition=1, emitted_at=NOW - 9000)) == ()


def test_what_the_target_lacks_and_what_is_too_much_are_said() -> None:
    gone = replace(BILLING, topic="eu.gone", bounds=None)
    assert obstacles(gone, replace(BILLING, downstream=100)) == (
        "the target lacks partitions of eu.gone",
        "it would read 900 records",
    )
