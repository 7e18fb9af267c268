"""What `connect-dagster mirror status` and `check` say of a flow."""

from dataclasses import dataclass, replace
from typing import Any, cast

import pytest
from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME, KafkaError, KafkaException, Message

from connect_dagster.cli.mirror import flow_reading
from connect_dagster.cli.mirror.flow_reading import (
    FlowReading,
    append_latency,
    flow_checks,
    flow_status,
    read_flow,
    unread_check,
    unread_status,
)
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.connectors.mirror.flow_configs import read_flows
from connect_dagster.connectors.mirror.records import Heartbeat
from connect_dagster.kafka.errors import UnansweredError
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset
from connect_dagster.orchestration.observations.mirror import MirrorReading
from connect_dagster.orchestration.observations.topic_offsets import Bounds
from connect_dagster.orchestration.workers.group_topics import StoredOffset
from connect_dagster.plugin.connector import importable_class

NAMES = MirrorNames.of({"source.cluster.alias": "A", "target.cluster.alias": "B"})
NOW = 1_000.0


def reading(**more: Any) -> FlowReading:
    """A flow of one topic with two partitions, of which the second one is ten records behind."""
    bounds = {("t", 0): Bounds(0, 100), ("t", 1): Bounds(0, 50)}
    newest = {("A.t", 0): 990.0, ("A.heartbeats", 0): 999.0, ("A.checkpoints.internal", 0): 960.0}
    mirror = MirrorReading(NAMES, NOW, {("t", 0): 100, ("t", 1): 40}, bounds, newest)
    return FlowReading(**{"mirror": mirror, "topics": ["t"], "remote": ["A.t"], "groups": ["g"], "offsets": [], **more})


def translated(group: str, downstream: int, **more: Any) -> TranslatedOffset:
    return TranslatedOffset(group, "A.t", 0, downstream, downstream, 960.0, Bounds(0, 100), **more)


def test_a_flow_that_works() -> None:
    assert flow_status("A->B", reading(latency=0.25)) == {
        "flow": "A->B",
        "topics": 1,
        "lag": 10,
        "worst": "t-1: 10",
        "record": 10.0,
        "heartbeat": 1.0,
        "latency": 0.25,
        "checkpoint": 40.0,
        "groups": 1,
        "error": None,
    }


def test_a_flow_of_which_nothing_has_arrived() -> None:
    mirror = MirrorReading(NAMES, NOW, {}, {("t", 0): Bounds(5, 100)}, {})
    found = flow_status("A->B", reading(mirror=mirror))
    assert (found["lag"], found["worst"]) == (95, "t-0: 95")
    assert (found["record"], found["heartbeat"], found["checkpoint"]) == (None, None, None)


def test_a_flow_without_topics() -> None:
    found = flow_status("A->B", reading(mirror=MirrorReading(NAMES, NOW, {}, {}, {}), topics=[], remote=[]))
    assert (found["topics"], found["lag"], found["worst"]) == (0, 0, None)


def test_groups_that_can_move_and_those_that_cannot() -> None:
    offsets = [translated("near", 90, committed=90), translated("far", 10, committed=10), translated("former", 5)]
    known = reading(groups=["near", "none", "far"], offsets=offsets)
    found = list(flow_checks("A->B", known, max_lag=20, max_age=300))
    assert [(row["group"], row["ready"], row["records"], row["why"]) for row in found] == [
        (None, True, 10, ""),
        ("far", False, 90, "it would read 90 records"),
        ("near", True, 10, ""),
        ("none", False, 0, "it has no checkpoint"),
    ]


def test_records_that_have_not_arrived() -> None:
    flow, _ = flow_checks("A->B", reading(), max_lag=5, max_age=300)
    assert (flow["ready"], flow["why"]) == (False, "10 records are beyond the committed position")


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"topics": [], "remote": []}, "no topic is mirrored: is the filter right?"),
        ({"groups": []}, "no group has offsets to translate: is the filter right?"),
    ],
)
def test_a_flow_in_which_nothing_can_be_checked_is_not_ready(more: dict[str, Any], why: str) -> None:
    flow, *_ = flow_checks("A->B", reading(**more), max_lag=10, max_age=300)
    assert (flow["ready"], flow["why"]) == (False, why)


def test_groups_are_judged_by_their_checkpoints_while_the_source_is_away() -> None:
    away = reading(mirror=MirrorReading(NAMES, NOW, {}), offsets=[translated("g", 90)], away="No broker of 'A'.")
    flow, group = flow_checks("A->B", away, max_lag=10, max_age=300)
    assert (flow["ready"], flow["records"]) == (None, None)
    assert flow["why"] == "groups are judged by their checkpoints alone: No broker of 'A'."
    assert (group["group"], group["ready"], group["records"]) == ("g", True, 10)
    status = flow_status("A->B", away)
    assert (status["lag"], status["error"]) == (None, "No broker of 'A'.")


def test_a_flow_whose_target_is_away_has_the_rows_of_others() -> None:
    error = UnansweredError("No broker of 'B'.")
    status, (check, _) = flow_status("A->B", reading()), flow_checks("A->B", reading(), max_lag=10, max_age=300)
    assert unread_status("A->B", error) == {**dict.fromkeys(status), "flow": "A->B", "error": "No broker of 'B'."}
    assert unread_check("A->B", error) == {**dict.fromkeys(check), "flow": "A->B", "why": "No broker of 'B'."}


@dataclass(frozen=True, slots=True)
class Beat:
    """A heartbeat as a client library's message."""

    kind: int
    content: bytes | None

    def timestamp(self) -> tuple[int, int]:
        return self.kind, 1_250

    def key(self) -> bytes:
        return Heartbeat("A", "B", 1_000).key

    def value(self) -> bytes | None:
        return self.content


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (TIMESTAMP_LOG_APPEND_TIME, Heartbeat("A", "B", 1_000).value, 0.25),
        (TIMESTAMP_LOG_APPEND_TIME, Heartbeat("A", "B", 2_000).value, 0.0),
        (TIMESTAMP_CREATE_TIME, Heartbeat("A", "B", 1_000).value, None),
        (TIMESTAMP_LOG_APPEND_TIME, None, None),
        (TIMESTAMP_LOG_APPEND_TIME, b"beat", None),
    ],
)
def test_the_latency_of_a_heartbeat_needs_the_time_of_its_append(
    kind: int, value: bytes | None, expected: float | None
) -> None:
    assert append_latency(cast("Message", Beat(kind, value))) == expected


FILE = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a:1",
    "B.bootstrap.servers": "b:1",
    "A->B.enabled": "true",
    "topics": "t, local",
    "groups": "g.*",
}
REMOTE = {("A.t", 0): 990.0, ("A.heartbeats", 0): 999.0}


@pytest.fixture(name="clusters")
def clusters_fixture(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Let functions be the brokers of A and B, which have these topics; a cluster without any is away."""
    topics = {
        "a:1": ["B.t", "heartbeats", "mm2-offset-syncs.B.internal", "t"],
        "b:1": ["A.checkpoints.internal", "A.heartbeats", "A.t", "mm2-offsets.A.internal"],
    }

    def names(brokers: object, _: float) -> list[str]:
        if not topics[str(brokers)]:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "away"))
        return topics[str(brokers)]

    def committed(offsets: list[TranslatedOffset], *_: object, groups: list[str], mirrored: Any) -> Any:
        assert (groups, mirrored(["B.t", "heartbeats", "other", "t"])) == (["g", "g-local"], ["t"])
        return [replace(one, committed=one.upstream) for one in offsets]

    stored = [StoredOffset("MirrorSourceConnector", {"cluster": "A", "partition": 0, "topic": "t"}, {"offset": 39})]
    monkeypatch.setattr(flow_reading, "fetch_topic_names", names)
    monkeypatch.setattr(
        flow_reading, "fetch_topic_bounds", lambda _, asked, __: {(one, 0): Bounds(0, 50) for one in asked}
    )
    monkeypatch.setattr(
        flow_reading,
        "fetch_newest_times",
        lambda _, asked, __: {place: time for place, time in REMOTE.items() if place[0] in asked},
    )
    monkeypatch.setattr(flow_reading, "fetch_translated_offsets", lambda *_: [translated("g", 90), translated("x", 9)])
    monkeypatch.setattr(flow_reading, "with_committed", committed)
    monkeypatch.setattr(flow_reading, "groups_to_translate", lambda *_: ["g", "g-local"])
    monkeypatch.setattr(flow_reading, "read_offsets", lambda *_: stored)
    monkeypatch.setattr(flow_reading, "fetch_records", lambda *_: {})
    return topics


def read() -> FlowReading:
    (config,) = (one for one in read_flows(FILE, [], (), lambda given: given)[1] if one.replicates)
    return read_flow(config, importable_class, 1.0)


def test_both_clusters_are_asked(clusters: dict[str, list[str]]) -> None:
    found = read()
    assert (found.topics, found.remote, found.away) == (["t"], ["A.t"], "")
    assert found.lags == {("t", 0): 10}
    assert found.mirror.newest == REMOTE
    # The other group only reads what came from the target.
    assert found.groups == ["g"]
    assert [one.committed for one in found.offsets] == [90, 9]


def test_while_the_source_is_away_the_target_alone_is_asked(clusters: dict[str, list[str]]) -> None:
    clusters["a:1"].clear()
    found = read()
    assert found.away.startswith("No broker of 'A' responded at a:1 (away): check A.bootstrap.servers")
    assert (found.topics, found.remote, found.lags, found.groups) == (["t"], ["A.t"], None, ["g"])
    assert [one.committed for one in found.offsets] == [None, None]
    clusters["b:1"].clear()
    with pytest.raises(UnansweredError, match="No broker of 'B' responded at b:1"):
        read()


def test_groups_that_the_source_refuses_to_list_are_judged_by_their_checkpoints(
    clusters: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> list[str]:
        raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "Access denied"))

    monkeypatch.setattr(flow_reading, "groups_to_translate", refused)
    found = read()
    assert (found.lags, found.groups) == (None, ["g"])
    assert "The brokers of 'A' refuse" in found.away


def test_a_flow_that_has_not_begun_has_neither_positions_nor_checkpoints(clusters: dict[str, list[str]]) -> None:
    clusters["b:1"][:] = ["heartbeats"]
    found = read()
    assert (found.lags, found.offsets, found.groups) == ({("t", 0): 50}, [], [])
