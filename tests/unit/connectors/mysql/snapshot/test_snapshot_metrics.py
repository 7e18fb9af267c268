"""Metrics of the initial snapshot."""

from connect_dagster.connectors.mysql.metric_groups import MetricPlace
from connect_dagster.connectors.mysql.snapshot.readers import TableBatch
from connect_dagster.connectors.mysql.snapshot.snapshot_metrics import SnapshotMetrics
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.testing.contexts import CollectedMetrics

GOODS, SHELVES = TableId("ops", "goods"), TableId("ops", "shelves")


def test_a_snapshot() -> None:
    shown, now = CollectedMetrics(), [10.0]
    metrics = SnapshotMetrics(shown, MetricPlace("mariadb", "shop"), lambda: now[0])
    assert shown.readings(0) == []
    metrics.started({GOODS: 100, SHELVES: 0})
    metrics.read(TableBatch(GOODS, 60))
    metrics.read(TableBatch(GOODS, 45, is_last=True))
    now[0] = 13.0
    whole, *tables = shown.readings(0)
    assert whole.tags == ("mariadb", "shop", "snapshot")
    assert whole.values == {
        "TotalTableCount": 2,
        "RemainingTableCount": 1,
        "SnapshotRunning": 1,
        "SnapshotCompleted": 0,
        "SnapshotAborted": 0,
        "SnapshotSkipped": 0,
        "SnapshotDurationInSeconds": 3,
    }
    assert {(one.tags[-1], one.values["RowsScanned"], one.values["RowsEstimated"]) for one in tables} == {
        ("ops.goods", 105, 100),
        ("ops.shelves", 0, 0),
    }
    metrics.completed()
    now[0] = 20.0
    assert shown.readings(0)[0].values["SnapshotDurationInSeconds"] == 3
    assert shown.readings(0)[0].values["SnapshotCompleted"] == 1


def test_no_snapshot() -> None:
    shown = CollectedMetrics()
    SnapshotMetrics(shown, MetricPlace("mysql", "shop"), lambda: 5.0).skipped()
    (reading,) = shown.readings(0)
    assert (reading.values["SnapshotSkipped"], reading.values["SnapshotDurationInSeconds"]) == (1, 0)
