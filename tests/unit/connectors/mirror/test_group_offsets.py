"""Offsets of groups on the target: never of a group that has members, or of which nothing is known, and never back."""

import logging
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException

from connect_dagster.connectors.mirror import clusters
from connect_dagster.connectors.mirror.checkpoint.group_offsets import GroupOffsetSync, offsets_to_set
from connect_dagster.connectors.mirror.clusters import Errors, ForwardingAdmin, GroupOffset
from connect_dagster.connectors.mirror.records import Checkpoint
from connect_dagster.kafka import clients
from connect_dagster.plugin.records import TopicPartition

PLACE, OTHER = TopicPartition("eu.orders", 0), TopicPartition("eu.orders", 1)
Offsets = dict[TopicPartition, GroupOffset]
EMPTY, DEAD, STABLE = ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD, ConsumerGroupState.STABLE


def checkpoint(downstream: int, place: TopicPartition = PLACE, group: str = "billing") -> Checkpoint:
    return Checkpoint(group, place, downstream + 10, downstream, "text")


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({}, {PLACE: 990}),
        ({OTHER: 5}, {PLACE: 990}),
        ({PLACE: 989}, {PLACE: 990}),
        ({PLACE: 990}, {}),
        ({PLACE: 2_000}, {}),
        ({PLACE: -1}, {PLACE: 990}),
    ],
)
def test_offsets_to_set(known: dict[TopicPartition, int], expected: dict[TopicPartition, int]) -> None:
    offsets = {place: GroupOffset(offset) for place, offset in known.items()}
    found = offsets_to_set({PLACE: checkpoint(990)}, offsets)
    assert found == {place: GroupOffset(offset, "text") for place, offset in expected.items()}


def test_an_offset_that_a_client_has_reset_is_set_to_the_first_record() -> None:
    assert offsets_to_set({PLACE: checkpoint(0)}, {PLACE: GroupOffset(-1)}) == {PLACE: GroupOffset(0, "text")}
    assert offsets_to_set({PLACE: checkpoint(0)}, {PLACE: GroupOffset(0)}) == {}


class Target(ForwardingAdmin):
    """A cluster with groups: their offsets, those with members, and those of which the coordinator is away."""

    def __init__(self, offsets: dict[str, Offsets]) -> None:
        self.offsets = offsets
        self.used: set[str] = set()
        self.unknown: set[str] = set()
        self.away = False
        self.altered: list[str] = []

    def idle_groups(self, groups: Collection[str]) -> tuple[set[str], Errors]:
        if self.away:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        errors = dict.fromkeys({*groups} & self.unknown, KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        return {*groups} - self.used - self.unknown, errors

    def group_offsets(self, groups: Iterable[str]) -> tuple[dict[str, Offsets], Errors]:
        return {group: dict(self.offsets.get(group, {})) for group in groups}, {}

    def alter_group_offsets(self, group: str, offsets: Mapping[TopicPartition, GroupOffset]) -> None:
        self.altered.append(group)
        self.offsets.setdefault(group, {}).update(offsets)


EMITTED = {group: {PLACE: checkpoint(990, group=group)} for group in ("billing", "audit")}


def synced(target: Target) -> GroupOffsetSync:
    sync = GroupOffsetSync(target, list(EMITTED), threading.Event())
    sync.look_for_idle()
    sync.sync(EMITTED)
    return sync


def test_idle_and_new_groups_get_offsets() -> None:
    target = Target({"billing": {PLACE: GroupOffset(100)}})
    synced(target)
    assert target.offsets == {group: {PLACE: GroupOffset(990, "text")} for group in EMITTED}


def test_a_group_with_members_is_left_and_named_once(caplog: pytest.LogCaptureFixture) -> None:
    target = Target({"billing": {PLACE: GroupOffset(100)}})
    target.used = {"billing"}
    with caplog.at_level(logging.WARNING):
        sync = synced(target)
        sync.look_for_idle()
        sync.sync(EMITTED)
    assert "billing" not in target.altered
    (line,) = (one.getMessage() for one in caplog.records)
    assert line.startswith("Unable to sync offsets for consumer group billing. This is likely caused by consumers")


def test_a_group_that_cannot_be_described_keeps_what_it_has_read() -> None:
    target = Target({"billing": {PLACE: GroupOffset(5_000)}})
    target.unknown = {"billing"}
    synced(target)
    assert target.altered == ["audit"]
    assert target.offsets["billing"] == {PLACE: GroupOffset(5_000)}


def test_a_target_that_is_away_is_one_line(caplog: pytest.LogCaptureFixture) -> None:
    target = Target({})
    target.unknown = {*EMITTED}
    with caplog.at_level(logging.ERROR):
        synced(target)
    (line,) = caplog.messages
    assert line.startswith("Error querying for consumer groups ")
    assert all(group in line for group in EMITTED)
    assert target.altered == []


def test_a_look_that_fails_sets_nothing_with_what_an_earlier_one_has_found() -> None:
    target = Target({"billing": {PLACE: GroupOffset(100)}})
    sync = GroupOffsetSync(target, list(EMITTED), threading.Event())
    sync.look_for_idle()
    target.offsets["billing"] = {PLACE: GroupOffset(5_000)}
    target.away = True
    with pytest.raises(KafkaException):
        sync.look_for_idle()
    sync.sync(EMITTED)
    assert target.altered == []


def test_what_was_found_counts_for_one_time() -> None:
    target = Target({})
    sync = synced(target)
    target.altered.clear()
    sync.sync(EMITTED)
    assert target.altered == []


def test_a_task_that_has_ended_sets_no_offset() -> None:
    target, stopped = Target({}), threading.Event()
    sync = GroupOffsetSync(target, list(EMITTED), stopped)
    sync.look_for_idle()
    stopped.set()
    sync.sync(EMITTED)
    assert target.altered == []


def test_groups_are_looked_at_again_before_their_offsets_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that had members meanwhile may have read on."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    target = Target({})
    sync = GroupOffsetSync(target, list(EMITTED), threading.Event())
    sync.look_for_idle()
    target.offsets["billing"] = {PLACE: GroupOffset(5_000)}
    now = 60.0
    sync.sync(EMITTED)
    assert target.altered == ["audit"]


def test_a_look_that_takes_long_counts_for_the_groups_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Failed: with a broker away each look took longer than it counted for, and was made for each group."""
    now, looks = 0.0, 0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    class Slow(Target):
        def idle_groups(self, groups: Collection[str]) -> tuple[set[str], Errors]:
            nonlocal now, looks
            now, looks = now + 60.0, looks + 1
            return super().idle_groups(groups)

    sync = GroupOffsetSync(target := Slow({}), list(EMITTED), threading.Event())
    sync.look_for_idle()
    now += 60.0
    sync.sync(EMITTED)
    assert (sorted(target.altered), looks) == (sorted(EMITTED), 2)


class Client:
    """librdkafka's admin client, which knows a coordinator; ``moved`` has the groups with another one now."""

    def __init__(self, states: Mapping[str, Any], moved: Collection[str] = ()) -> None:
        self.states = states
        self.moved = moved

    def poll(self, timeout: float) -> None: ...

    def describe_consumer_groups(self, groups: list[str], **_: Any) -> dict[str, Future[Any]]:
        return {group: done(self.failure(group) or self.states[group]) for group in groups}

    def failure(self, group: str) -> KafkaException | None:
        return KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)) if group in self.moved else None


def done(result: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    if isinstance(result, Exception):
        future.set_exception(result)
    else:
        future.set_result(SimpleNamespace(state=result) if isinstance(result, ConsumerGroupState) else result)
    return future


def admin_with(monkeypatch: pytest.MonkeyPatch, *in_turn: Client) -> ForwardingAdmin:
    made = iter(in_turn)
    monkeypatch.setattr(clients, "admin", lambda *_: next(made))
    return ForwardingAdmin({"bootstrap.servers": "b:1"})


def test_groups_without_members_and_those_that_cannot_be_described(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))
    missing = KafkaException(KafkaError(KafkaError.GROUP_ID_NOT_FOUND))
    states = {"empty": EMPTY, "dead": DEAD, "new": missing, "used": STABLE, "refused": refused}
    admin = admin_with(monkeypatch, Client(states))
    assert admin.idle_groups(list(states)) == ({"empty", "dead", "new"}, {"refused": refused})
    assert admin.idle_groups([]) == (set(), {})


def test_a_coordinator_that_has_moved_is_looked_for_with_a_new_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka's admin client goes on with the one that it knows as long as that broker responds."""
    states = {"one": EMPTY, "two": EMPTY}
    old, new = Client(states, moved=["two"]), Client(states)
    assert admin_with(monkeypatch, old, new).idle_groups(list(states)) == ({"one", "two"}, {})


def test_a_coordinator_that_moves_again_and_again_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_COORDINATOR_SECONDS", 0.05)
    admin = admin_with(monkeypatch, *(Client({"one": EMPTY}, moved=["one"]) for _ in range(3)))
    idle, errors = admin.idle_groups(["one"])
    assert (idle, list(errors)) == (set(), ["one"])
