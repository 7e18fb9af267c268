"""Notifications: records, lines of the log, and those of the initial snapshot."""

import logging

import pytest

from connect_dagster.connectors.mysql.notifications.notification import Aggregate, Progress, in_java_order
from connect_dagster.connectors.mysql.notifications.notifications import Notifications
from connect_dagster.connectors.mysql.snapshot.initial_notices import InitialNotices
from connect_dagster.connectors.mysql.snapshot.readers import TableBatch
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.frames import SourceTable

GOODS, ORDERS = TableId("ops", "goods"), TableId("ops", "orders")
NOW = 1_700_000_009_123_456


def notifications(topic: str | None = "notices", *, logs: bool = False) -> Notifications:
    return Notifications("shop", topic, logs, lambda: NOW)


def values(batches: list[SourceTable]) -> list[tuple[str, dict[str, str]]]:
    found = [record["value"] for batch in batches for record in batch.table.to_pylist()]
    return [(one["type"], dict(one["additional_data"])) for one in found]


def test_a_record() -> None:
    (batch,) = notifications().made(Aggregate.INCREMENTAL, Progress.ABORTED, {"data_collections": "a.b"}, "s1")
    assert (batch.topic, batch.source_partition, batch.source_offset) == ("notices", {}, None)
    assert batch.table.to_pylist() == [
        {
            "key": {"id": "s1"},
            "value": {
                "id": "s1",
                "type": "ABORTED",
                "aggregate_type": "Incremental Snapshot",
                "additional_data": [("connector_name", "shop"), ("data_collections", "a.b")],
                "timestamp": NOW // 1000,
            },
        }
    ]


def test_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert notifications(None, logs=True).made(Aggregate.INITIAL, Progress.STARTED, {}, "s1") == []
    assert caplog.messages == [
        "[Notification Service]  {id='s1', aggregateType='Initial Snapshot', type='STARTED', "
        f"additionalData={{connector_name=shop}}, timestamp={NOW // 1000}}}"
    ]


def test_no_channel(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    assert notifications(None).made(Aggregate.INITIAL, Progress.STARTED, {}) == []
    assert caplog.messages == []


def test_notifications_of_the_initial_snapshot() -> None:
    notices, tables = InitialNotices(notifications()), [GOODS, ORDERS]
    both = {"connector_name": "shop", "data_collections": "ops.goods,ops.orders"}
    assert values([*notices.started(), *notices.completed(), *notices.aborted(), *notices.skipped()]) == [
        (kind, {"connector_name": "shop"}) for kind in ("STARTED", "COMPLETED", "ABORTED", "SKIPPED")
    ]
    assert values(notices.of_batch(TableBatch(GOODS, 10, is_first=True), tables)) == [
        ("IN_PROGRESS", {**both, "current_collection_in_progress": "ops.goods"})
    ]
    assert notices.of_batch(TableBatch(GOODS, 10), tables) == []
    end = {"total_rows_scanned": "25", "status": "SUCCEEDED"}
    assert values(notices.of_batch(TableBatch(GOODS, 5, is_last=True), tables)) == [
        ("TABLE_SCAN_COMPLETED", {**both, **end, "scanned_collection": "ops.goods"})
    ]
    empty = values(notices.of_batch(TableBatch(ORDERS, 0, is_first=True, is_last=True), tables))
    assert [kind for kind, _ in empty] == ["IN_PROGRESS", "TABLE_SCAN_COMPLETED"]
    assert empty[1][1]["total_rows_scanned"] == "0"


def test_each_notification_of_the_initial_snapshot_has_another_id() -> None:
    notices = InitialNotices(notifications())
    ids = {record["key"]["id"] for _ in range(3) for record in notices.started()[0].table.to_pylist()}
    assert len(ids) == 3


@pytest.mark.parametrize(
    "order",  # of Java 17; ties in a bucket are by chance there
    [
        ("connector_name",),
        ("connector_name", "data_collections"),
        ("current_collection_in_progress", "connector_name", "data_collections"),
        ("scanned_collection", "connector_name", "total_rows_scanned", "data_collections", "status"),
    ],
)
def test_facts_have_the_order_of_javas_map(order: tuple[str, ...]) -> None:
    facts = dict.fromkeys(sorted(set(order) - {"connector_name"}), "x")
    assert tuple(in_java_order(facts, "shop")) == order
