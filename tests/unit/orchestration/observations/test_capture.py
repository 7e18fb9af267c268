"""Metadata of change data capture, from an offset and the worker's metrics."""

from typing import Any

import pytest
from dagster import AssetMaterialization

from connect_dagster.client.captures import CaptureReading, capture_reading, is_capture, topic_prefix
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.types import Direction, MetricSample, PartitionOffset
from connect_dagster.connectors.mysql.incremental.context import IncrementalContext
from connect_dagster.connectors.mysql.incremental.keys import Key
from connect_dagster.connectors.mysql.incremental.snapshot_tables import SnapshotTable
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.java.object_classes import JavaType
from connect_dagster.orchestration.checks.capture import retention_outcome
from connect_dagster.orchestration.observations.capture import capture_metadata
from connect_dagster.orchestration.observations.metadata import observation_metadata
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from tests.unit.orchestration.answers import SOURCE, connector

NOW = 1_700_000_000.0
SHOP = {
    "name": "shop",
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "topic.prefix": "shop",
    "database.hostname": "db",
    "table.include.list": "shop.orders",
}
OFFSETS = (
    PartitionOffset(
        partition={"server": "shop"},
        offset={"ts_sec": 1_699_999_940, "file": "binlog.000007", "pos": 4711, "gtids": "u:1-5"},
    ),
)
STREAM = {"plugin": "mysql", "name": "shop", "context": "streaming"}
ROWS = {"plugin": "mysql", "name": "shop", "context": "snapshot"}


def samples(**numbers: float) -> list[MetricSample]:
    """Metrics of the stream, those of another connector, and those of a snapshot of two tables."""
    return [
        *(MetricSample(f"debezium_metrics_{name}", STREAM, value) for name, value in numbers.items()),
        MetricSample("debezium_metrics_MilliSecondsBehindSource", {**STREAM, "name": "other"}, 9e6),
        MetricSample("kafka_connect_worker_task_count", {}, 1.0),
        MetricSample("debezium_metrics_TotalTableCount", ROWS, 2.0),
        MetricSample("debezium_metrics_RowsScanned", {**ROWS, "table": "shop.orders"}, 10.0),
        MetricSample("debezium_metrics_RowsEstimated", {**ROWS, "table": "shop.orders"}, 100.0),
        MetricSample("debezium_metrics_RowsScanned", {**ROWS, "table": "shop.customers"}, 5.0),
        MetricSample("debezium_metrics_RowsEstimated", {**ROWS, "table": "shop.customers"}, 4.0),
    ]


def reading(**numbers: float) -> CaptureReading:
    return capture_reading(connector(SHOP), OFFSETS, samples(**numbers), NOW)


def shown(metadata: dict[str, Any]) -> dict[str, Any]:
    return {key: value.value for key, value in AssetMaterialization("x", metadata=metadata).metadata.items()}


def test_connectors_that_capture_changes() -> None:
    assert is_capture(connector(SHOP))
    assert is_capture(connector({**SHOP, "connector.class": "io.debezium.connector.mariadb.MariaDbConnector"}))
    assert not is_capture(connector(SOURCE))
    assert topic_prefix({"database.server.name": "old"}) == "old"


def test_metadata() -> None:
    found = shown(
        capture_metadata(
            reading(
                Connected=1.0, MilliSecondsBehindSource=2500.0, TotalNumberOfEventsSeen=12.0, BinlogRetentionSeconds=0
            )
        )
    )
    table = found.pop("snapshot_progress")
    assert found == {
        "binlog_file": "binlog.000007",
        "gtids": "u:1-5",
        "binlog_position": 4711,
        "lag_seconds": 2.5,
        "last_change_age_seconds": 60.0,
        "binlog_retention_seconds": 0.0,
        "connected": 1,
        "events_total": 12,
        "incremental_snapshot_tables_left": 0,
        "snapshot_tables": 2,
        "snapshot_rows": 15,
        "snapshot_rows_estimated": 104,
    }
    assert [record.data for record in table.records] == [
        {"table": "shop.orders", "rows": 10, "estimated": 100},
        {"table": "shop.customers", "rows": 5, "estimated": 4},
    ]


def test_a_running_snapshot_has_its_rate_and_the_time_left() -> None:
    found = shown(capture_metadata(reading(SnapshotRunning=1.0, SnapshotDurationInSeconds=3.0)))
    assert (found["snapshot_rows_per_second"], found["snapshot_seconds_left"]) == (5.0, 18.0)
    begun = shown(capture_metadata(reading(SnapshotRunning=1.0, SnapshotDurationInSeconds=0.0)))
    assert (begun["snapshot_rows_per_second"], "snapshot_seconds_left" in begun) == (0.0, False)


def test_an_incremental_snapshot_has_its_place() -> None:
    context = IncrementalContext()
    context.add([SnapshotTable(TableId("shop", name)) for name in ("orders", "customers")], "signal-1")
    begun = context.entries()
    context.sent, context.maximum = (Key.of([(JavaType.INTEGER, number)]) for number in (4096, 10_000))
    places = [shown(_of_offset(entries)) for entries in (begun, context.entries())]
    assert [place["incremental_snapshot"] for place in places] == [
        "shop.orders",
        "shop.orders after key 4096 up to 10000",
    ]
    assert {place["incremental_snapshot_tables_left"] for place in places} == {2}


def test_an_offset_without_an_incremental_snapshot_or_with_another_form_of_it() -> None:
    none = shown(_of_offset({}))
    assert (none["incremental_snapshot_tables_left"], "incremental_snapshot" in none) == (0, False)
    unknown = shown(_of_offset({"incremental_snapshot_collections": "?"}))
    assert (unknown["binlog_position"], "incremental_snapshot_tables_left" in unknown) == (4711, False)


def _of_offset(entries: dict[str, Any]) -> dict[str, Any]:
    offsets = [one.model_copy(update={"offset": {**(one.offset or {}), **entries}}) for one in OFFSETS]
    return capture_metadata(capture_reading(connector(SHOP), offsets, [], NOW))


def test_a_java_worker_has_an_offset_alone() -> None:
    found = shown(capture_metadata(capture_reading(connector(SHOP), OFFSETS, [], NOW)))
    assert (found["binlog_position"], found["lag_seconds"]) == (4711, 60.0)
    assert "connected" not in found
    assert capture_metadata(capture_reading(connector(SHOP), None, [], NOW)) == {}


@pytest.mark.parametrize(("numbers", "lag"), [({"Connected": 0.0}, 60.0), ({"Connected": 1.0}, 60.0)])
def test_the_age_of_the_offset_counts_while_nothing_was_read(numbers: dict[str, float], lag: float) -> None:
    assert reading(MilliSecondsBehindSource=-1, **numbers).lag == lag


def test_an_observation_has_it() -> None:
    lineage = connector_lineage(SHOP, direction=Direction.SOURCE)
    snapshot = ConnectorSnapshot(connector(SHOP, "RUNNING", "RUNNING"), lineage, OFFSETS, {}, capture=reading())
    assert shown(observation_metadata(snapshot, "http://c"))["binlog_file"] == "binlog.000007"


@pytest.mark.parametrize(
    ("numbers", "passed", "text"),
    [
        ({"BinlogRetentionSeconds": 121.0}, True, "It is 60 s behind; the server keeps its binary log for 121 s"),
        ({"BinlogRetentionSeconds": 119.0}, False, "It is 60 s behind; the server keeps its binary log for 119 s"),
        ({"BinlogRetentionSeconds": 0.0}, True, "The server deletes nothing of its binary log"),
        ({}, False, "It is not known how long the server keeps its log"),
    ],
)
def test_retention(numbers: dict[str, float], passed: bool, text: str) -> None:
    outcome = retention_outcome(reading(**numbers), 0.5)
    assert (outcome.passed, outcome.description) == (passed, text)
    nothing = retention_outcome(CaptureReading(NOW), 0.5)
    assert nothing.description == "It is not known how far it is"
