"""What `connect-dagster mirror status` and `check` say of a flow."""

from typing import Any

from connect_dagster.cli.mirror.flow_reading import FlowReading, flow_checks, flow_status
from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.orchestration.observations.checkpoints import TranslatedOffset
from connect_dagster.orchestration.observations.mirror import MirrorReading
from connect_dagster.orchestration.observations.topic_offsets import Bounds

NAMES = MirrorNames.of({"source.cluster.alias": "A", "target.cluster.alias": "B"})
NOW = 1_000.0


def reading(**more: Any) -> FlowReading:
    """A flow of one topic with two partitions, of which the second one is ten records behind."""
    bounds = {("t", 0): Bounds(0, 100), ("t", 1): Bounds(0, 50)}
    newest = {("A.t", 0): 990.0, ("A.heartbeats", 0): 999.0, ("A.checkpoints.internal", 0): 960.0}
    mirror = MirrorReading(NAMES, NOW, {("t", 0): 100, ("t", 1): 40}, bounds, newest)
    return FlowReading(**{"mirror": mirror, "topics": ["t"], "remote": ["A.t"], "groups": [], "offsets": [], **more})


def translated(group: str, downstream: int, end: int | None = 100, **more: Any) -> TranslatedOffset:
    return TranslatedOffset(group, "A.t", 0, downstream, downstream, 960.0, end, **more)


def test_a_flow_that_works() -> None:
    assert flow_status("A->B", reading(groups=["g"])) == {
        "flow": "A->B",
        "topics": 1,
        "lag": 10,
        "worst": "t-1: 10",
        "record": 10.0,
        "heartbeat": 1.0,
        "checkpoint": 40.0,
        "groups": 1,
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
    (flow,) = flow_checks("A->B", reading(), max_lag=5, max_age=300)
    assert (flow["ready"], flow["why"]) == (False, "10 records have not arrived")


def test_a_lag_that_is_not_known_is_none() -> None:
    (flow,) = flow_checks("A->B", reading(mirror=MirrorReading(NAMES, NOW)), max_lag=5, max_age=300)
    assert (flow["ready"], flow["records"], flow["why"]) == (False, None, "the lag is not known")
