"""Metadata of change data capture, from a reading of it."""

from collections.abc import Mapping
from typing import Any

from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.captures import CaptureReading
from connect_dagster.client.progress import Progress, snapshot_progress
from connect_dagster.errors import ConnectError

_MOST_ROWS, _LONGEST_GTIDS, _LONGEST_KEY = 50, 500, 100
_NUMBERS = {
    "connected": "Connected",
    "events_total": "TotalNumberOfEventsSeen",
    "transactions_total": "NumberOfCommittedTransactions",
    "disconnects_total": "NumberOfDisconnects",
    "snapshot_tables": "TotalTableCount",
    "snapshot_tables_left": "RemainingTableCount",
    "snapshot_running": "SnapshotRunning",
}


def capture_metadata(reading: CaptureReading) -> dict[str, Any]:
    """Return the metadata of a connector, and of the topics that it writes."""
    offset = reading.offset
    texts = {"binlog_file": offset.get("file"), "gtids": (offset.get("gtids") or "")[:_LONGEST_GTIDS] or None}
    seconds = {
        "lag_seconds": reading.lag,
        "last_change_age_seconds": reading.change_age,
        "binlog_retention_seconds": reading.retention,
    }
    metadata: dict[str, Any] = {
        **texts,
        "binlog_position": offset.get("pos"),
        **{key: None if value is None else float(value) for key, value in seconds.items()},
        **{key: _whole(reading.metrics.get(name)) for key, name in _NUMBERS.items()},
        **_snapshot_metadata(reading.rows),
        **_speed_metadata(snapshot_progress(reading)),
        **_incremental_metadata(offset),
    }
    return {key: value for key, value in metadata.items() if value is not None}


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


def _speed_metadata(running: Progress | None) -> dict[str, Any]:
    """Return the rate of a running snapshot, and the time that it takes from now on at that rate."""
    if running is None:
        return {}
    return {"snapshot_rows_per_second": running.rate, "snapshot_seconds_left": running.seconds_left}


def _incremental_metadata(offset: Mapping[str, Any]) -> dict[str, Any]:
    """Return how far an incremental snapshot is, from the committed offset, which is that of Debezium as well."""
    if not offset:
        return {}
    # Dagster's definitions load without connectors.
    from connect_dagster.connectors.mysql.incremental.context import IncrementalContext

    context = IncrementalContext()
    try:
        context.restore(offset)
    except ConnectError:  # the rest of the offset is known
        return {}
    if not context.is_running:
        return {"incremental_snapshot_tables_left": 0}
    table, sent, maximum = context.tables[0].id, context.sent, context.maximum
    ends = [f"{word} {str(key)[:_LONGEST_KEY]}" for word, key in (("after key", sent), ("up to", maximum)) if key]
    return {
        "incremental_snapshot_tables_left": len(context.tables),
        "incremental_snapshot": " ".join([str(table), *ends]),
    }


def _snapshot_metadata(rows: Mapping[str, tuple[int, int]]) -> dict[str, Any]:
    """Return how far a snapshot is: summed, and as a table of the tables with most rows left."""
    if not rows:
        return {}
    left = sorted(rows.items(), key=lambda item: (item[1][0] - item[1][1], item[0]))
    records = [
        TableRecord({"table": table, "rows": done, "estimated": estimate})
        for table, (done, estimate) in left[:_MOST_ROWS]
    ]
    columns = [TableColumn("table"), TableColumn("rows", "int"), TableColumn("estimated", "int")]
    return {
        "snapshot_rows": sum(done for done, _ in rows.values()),
        "snapshot_rows_estimated": sum(estimate for _, estimate in rows.values()),
        "snapshot_progress": MetadataValue.table(records, schema=TableSchema(columns)),
    }
