from dataclasses import replace

from connect_dagster.client.lineage import connector_lineage
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.trend import ConnectorMark, ConnectorTrend
from tests.unit.orchestration.answers import SINK, connector, group_offset


def sink(offset: int, *states: str) -> ConnectorSnapshot:
    status = connector(SINK, *(states or ("RUNNING", "RUNNING")))
    return ConnectorSnapshot(status, connector_lineage(SINK), (group_offset(0, offset),), {})


def trends(*looks: tuple[float, ConnectorSnapshot]) -> list[ConnectorTrend]:
    found, last = [], None
    for now, snapshot in looks:
        mark = ConnectorMark.of(snapshot, now, last)
        found.append(ConnectorTrend.between(last, mark))
        last = mark
    return found


def test_the_rate_is_what_was_committed_between_two_polls() -> None:
    assert [trend.records_per_second for trend in trends((0, sink(10)), (10, sink(60)), (20, sink(60)))] == [None, 5, 0]


def test_offsets_that_were_reset_are_no_negative_rate() -> None:
    assert trends((0, sink(10)), (10, sink(0)))[-1].records_per_second == 0


def test_the_age_of_a_commit_grows_until_the_offsets_move() -> None:
    looks = trends((0, sink(10)), (30, sink(10)), (60, sink(11)), (90, sink(11)))
    assert [trend.commit_age_seconds for trend in looks] == [0, 30, 0, 30]


def test_offsets_that_cannot_be_read_once_have_not_moved() -> None:
    unread = replace(sink(10), offsets=None)
    looks = trends((0, sink(10)), (30, unread), (60, sink(10)))
    assert [trend.commit_age_seconds for trend in looks] == [0, 30, 60]
    assert [trend.records_per_second for trend in looks] == [None, None, None]


def test_a_restart_is_counted_when_what_was_down_is_back() -> None:
    looks = trends(
        (0, sink(1, "RUNNING", "FAILED", "FAILED")),
        (1, sink(1, "RUNNING", "RUNNING", "RESTARTING")),
        (2, sink(1, "RUNNING", "RUNNING", "RUNNING")),
        (3, sink(1, "RUNNING", "RUNNING", "RUNNING")),
    )
    assert [trend.restarts_total for trend in looks] == [0, 1, 2, 2]
