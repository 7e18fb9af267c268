"""Translated offsets, and what they say about a group's move to the target."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.orchestration.observations import checkpoints
from connect_dagster.orchestration.observations.checkpoints import (
    TranslatedOffset,
    by_group,
    group_readiness,
    newest_checkpoints,
    with_committed,
)
from connect_dagster.plugin.records import TopicPartition

NOW = 1_700_000_000.0
BILLING = TranslatedOffset("billing", "eu.orders", 0, upstream=1000, downstream=990, emitted_at=NOW - 30, end=1000)


def record(group: str, partition: int, upstream: int, at: float) -> tuple[bytes, bytes, float]:
    made = Checkpoint(group, TopicPartition("eu.orders", partition), upstream, upstream - 10)
    return made.key, made.value, at


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
    assert found == [replace(BILLING, end=None), TranslatedOffset("billing", "eu.orders", 1, 70, 60, NOW - 80)]


def test_offsets_of_the_source_stand_beside_their_translations(monkeypatch: pytest.MonkeyPatch) -> None:
    names = MirrorNames.of({"source.cluster.alias": "eu", "target.cluster.alias": "us"})
    asked: list[list[str]] = []

    def fetch(settings: Mapping[str, str], groups: list[str], timeout: float) -> dict[str, object]:
        asked.append(groups)
        assert settings["bootstrap.servers"] == "eu:9092"
        return {"billing": {("orders", 0): (1001, ""), ("orders", 1): (-1, ""), ("local", 0): (5, "")}}

    monkeypatch.setattr(checkpoints, "fetch_group_offsets", fetch)
    back = replace(BILLING, topic="local")
    offsets = [BILLING, replace(BILLING, partition=1), back, replace(BILLING, group="audit")]
    found = with_committed(offsets, "eu:9092", names, 1.0)
    assert [one.committed for one in found] == [1001, None, None, None]
    assert asked == [["audit", "billing"]]


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
        (1001, ("checkpoints of 1 partitions are late",)),
        (1000, ()),
    ],
)
def test_an_old_checkpoint_is_late_unless_the_group_stands_still(
    committed: int | None, expected: tuple[str, ...]
) -> None:
    assert obstacles(replace(BILLING, committed=committed), max_age=20) == expected


def test_without_the_source_one_fresh_partition_shows_that_the_group_is_translated() -> None:
    assert obstacles(BILLING, replace(BILLING, partition=1, emitted_at=NOW - 9000)) == ()


def test_what_the_target_lacks_and_what_is_too_much_are_said() -> None:
    gone = replace(BILLING, topic="eu.gone", end=None)
    assert obstacles(gone, replace(BILLING, downstream=100)) == (
        "the target lacks partitions of eu.gone",
        "it would read 900 records",
    )
