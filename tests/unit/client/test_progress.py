"""Progress of snapshots and sinks, from a worker's metrics."""

import math

import pytest

from connect_dagster.client.progress import Progress, progress_of, sink_progress
from connect_dagster.client.types import MetricSample
from tests.unit.orchestration.answers import SINK, SOURCE, connector

SHOP = {"name": "shop", "connector.class": "io.debezium.connector.mysql.MySqlConnector", "topic.prefix": "store"}
ROWS = {"plugin": "mysql", "name": "store", "context": "snapshot"}


def snapshot(running: float = 1.0, seconds: float = 10.0) -> list[MetricSample]:
    """A snapshot of two tables, one of which has more rows than the server estimated, and another connector's."""
    numbers = {
        "SnapshotRunning": running,
        "SnapshotDurationInSeconds": seconds,
        "RemainingTableCount": 1.0,
        "TotalTableCount": 2.0,
    }
    tables = {"shop.orders": (2_000.0, 10_000.0), "shop.customers": (1_000.0, 900.0)}
    return [
        *(MetricSample(f"debezium_metrics_{name}", ROWS, value) for name, value in numbers.items()),
        MetricSample("debezium_metrics_SnapshotRunning", {**ROWS, "name": "other"}, 1.0),
        *(
            MetricSample(f"debezium_metrics_{name}", {**ROWS, "table": table}, value)
            for table, rows in tables.items()
            for name, value in zip(("RowsScanned", "RowsEstimated"), rows, strict=True)
        ),
    ]


def sink(task: int, lag: float, rate: float, name: str = "snk") -> list[MetricSample]:
    labels = {"connector": name, "task": str(task)}
    numbers = {
        "sink_record_lag": lag,
        "sink_record_lag_max": lag - 10,
        "sink_record_read_rate": rate,
        "sink_record_read_total": 70.0,
    }
    return [MetricSample(f"kafka_connect_sink_task_{name}", labels, value) for name, value in numbers.items()]


def test_a_running_snapshot() -> None:
    (found,) = progress_of(connector(SHOP), snapshot())
    assert found.text() == "3000 of about 11000 rows, 1 of 2 tables left, 300 rows/s, about 27 s left"
    assert found.as_json() == {
        "part": "snapshot",
        "unit": "rows",
        "done": 3_000,
        "left": 8_000,
        "rate": 300.0,
        "seconds_left": 26.7,
    }


def test_a_snapshot_that_has_just_begun_or_ended() -> None:
    (found,) = progress_of(connector(SHOP), snapshot(seconds=0.0))
    assert found.text() == "3000 of about 11000 rows, 1 of 2 tables left, 0.0 rows/s, not moving"
    assert progress_of(connector(SHOP), snapshot(running=0.0)) == []
    assert progress_of(connector(SOURCE), snapshot()) == []


def test_tasks_of_a_sink_that_are_behind() -> None:
    samples = [*sink(1, 900, 3), *sink(0, 150, 2), *sink(2, 0, 3), *sink(3, math.nan, math.nan)]
    found = progress_of(connector(SINK), [*samples, *sink(0, 7_000, 1, name="other")])
    assert [(one.part, one.text()) for one in found] == [
        ("task 0", "150 records behind, 2.0 records/s, about 75 s left"),
        ("task 1", "900 records behind, 3.0 records/s, about 5 min left"),
    ]


def test_a_sink_that_keeps_up_has_none_and_one_that_stands_has_no_time() -> None:
    assert progress_of(connector(SINK), sink(0, 500, 300)) == []
    (found,) = progress_of(connector(SINK), sink(0, 500, 0))
    assert (found.seconds_left, found.text()) == (None, "500 records behind, 0.0 records/s, not moving")


def test_all_tasks_of_a_sink_or_none() -> None:
    two = connector(SINK, "RUNNING", "RUNNING", "RUNNING")
    samples = [*sink(0, 0, 4), *sink(1, 20, 2)]
    assert [(task.left, task.rate) for task in sink_progress(two, samples)] == [(0, 4), (20, 2)]
    assert sink_progress(two, sink(0, 0, 4)) == []
    assert sink_progress(connector(SOURCE), samples) == []


@pytest.mark.parametrize(("left", "time"), [(120, "120 s"), (121, "2 min"), (7_200, "120 min"), (9_000, "2.5 h")])
def test_times(left: int, time: str) -> None:
    assert Progress("task 0", "records", 0, left, 1.0).text().endswith(f"about {time} left")
