"""Metrics of the binary log."""

from connect_dagster.connectors.mysql.metric_groups import MetricPlace
from connect_dagster.connectors.mysql.stream.streaming_metrics import StreamingMetrics
from connect_dagster.testing.contexts import CollectedMetrics
from tests.unit.connectors.mysql.stream.test_change_tables import DELETE, INSERT, MAP, NOW, UPDATE, piece, tables


def test_before_anything_comes() -> None:
    shown = CollectedMetrics()
    StreamingMetrics(shown, MetricPlace("mysql", "shop"), lambda: NOW)
    (reading,) = shown.readings(0)
    assert reading.tags == ("mysql", "shop", "streaming")
    assert (reading.values["Connected"], reading.values["MilliSecondsBehindSource"]) == (0, -1)
    assert "BinlogPosition" not in reading.values


def test_pieces_and_connections() -> None:
    shown, now = CollectedMetrics(), [NOW]
    metrics = StreamingMetrics(shown, MetricPlace("mysql", "shop"), lambda: now[0])
    metrics.connected(None)
    metrics.disconnected()
    metrics.connected(86_400)
    one = piece(MAP, INSERT, UPDATE, DELETE)
    metrics.read(one, tables(one), one.times.after)
    now[0] += 2_000_000
    (reading,) = shown.readings(0)
    assert reading.values == {
        "Connected": 1,
        "NumberOfDisconnects": 1,
        "MilliSecondsBehindSource": (NOW - 1_700_000_000_654_321) // 1000,
        "MilliSecondsSinceLastEvent": 2000,
        "NumberOfCommittedTransactions": 1,
        "TotalNumberOfEventsSeen": 6,
        "TotalNumberOfCreateEventsSeen": 3,
        "TotalNumberOfUpdateEventsSeen": 1,
        "TotalNumberOfDeleteEventsSeen": 2,
        "BinlogFilename": "log.000001",
        "BinlogRetentionSeconds": 86_400,
        "BinlogPosition": int(one.events.end_position[-1]),
    }


def test_a_piece_without_records() -> None:
    shown = CollectedMetrics()
    metrics = StreamingMetrics(shown, MetricPlace("mysql", "shop"), lambda: NOW)
    one = piece(MAP)
    metrics.read(one, [], one.times.after)
    (reading,) = shown.readings(0)
    assert (reading.values["NumberOfCommittedTransactions"], reading.values["MilliSecondsBehindSource"]) == (1, -1)
