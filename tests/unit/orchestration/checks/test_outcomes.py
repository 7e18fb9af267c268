"""What checks make of a snapshot, without cluster or run."""

from dataclasses import replace

import pytest
from dagster import AssetCheckSeverity

from connect_dagster.client.lineage import connector_lineage
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.checks.dead_letters import dead_letter_outcome
from connect_dagster.orchestration.checks.lag import lag_outcome
from connect_dagster.orchestration.checks.state import state_evaluation
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import Bounds
from tests.unit.orchestration.answers import SINK, connector, group_offset

BROKEN = {**SINK, "errors.deadletterqueue.topic.name": "broken"}


def snapshot(config: dict[str, str], letters: int = 0) -> ConnectorSnapshot:
    """A sink of a topic with two partitions, 10 records behind in the first, 3 in the second."""
    offsets = (group_offset(0, 90), group_offset(1, None))
    bounds = {("logs", 0): Bounds(0, 100), ("logs", 1): Bounds(4, 7), ("broken", 0): Bounds(0, letters)}
    lineage = connector_lineage(config)
    return ConnectorSnapshot(connector(config, "RUNNING", "RUNNING"), lineage, offsets, {}).with_bounds(bounds)


@pytest.mark.parametrize(("bound", "passed"), [(12, False), (13, True)])
def test_lag_counts_partitions_without_a_commit_from_their_start(bound: int, passed: bool) -> None:
    outcome = lag_outcome(snapshot(SINK), bound)
    assert outcome.metadata == {"records_lag_total": 13, "records_lag_max": 10, "max_lag": bound}
    assert outcome.passed is passed


def test_lag_that_nobody_told_is_no_zero() -> None:
    outcome = lag_outcome(replace(snapshot(SINK), bounds=None), 1000)
    assert (outcome.passed, outcome.severity) == (False, AssetCheckSeverity.WARN)


def test_what_is_not_settled_warns() -> None:
    evaluation = state_evaluation(connector_key("local", "snk"), connector(SINK, "RUNNING", "UNASSIGNED"))
    assert (evaluation.passed, evaluation.severity) == (False, AssetCheckSeverity.WARN)
    assert evaluation.description == "Not settled: RUNNING, task 0 UNASSIGNED"


@pytest.mark.parametrize(
    ("former", "now", "passed", "growth"),
    [(None, 5, True, 0), (5, 5, True, 0), (5, 6, True, 1), (5, 7, False, 2), (5, 2, False, 2), (5, 1, True, 1)],
)
def test_dead_letters_are_judged_by_their_growth(former: int | None, now: int, passed: bool, growth: int) -> None:
    outcome = dead_letter_outcome(snapshot(BROKEN, now), former, 1)
    assert (outcome.passed, outcome.metadata["dead_letter_growth"]) == (passed, growth)
    assert outcome.metadata["dead_letter_total"] == now


def test_without_a_topic_of_dead_letters_there_is_nothing_to_grow() -> None:
    outcome = dead_letter_outcome(snapshot(SINK), None, 0)
    assert outcome.passed
    assert "errors.deadletterqueue.topic.name" in outcome.description
