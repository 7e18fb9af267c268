"""What Dagster shows about a connector: metadata of its observations and of its outputs' materialisations.

The UI plots whole and decimal numbers only, and one key must keep one type; so each fact that is worth a
curve has a numeric twin, present in every event.
"""

from collections.abc import Mapping
from typing import Any

from dagster import AssetKey, MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.orchestration.connector_snapshot import ConnectorSnapshot
from connect_dagster.orchestration.records import ConnectorStatus, State, TaskProgress

LAST_UPDATED = "dagster/last_updated_timestamp"
STATES_SCHEMA = TableSchema([TableColumn(name) for name in ("what", "state", "worker_id")])


def status_metadata(status: ConnectorStatus) -> dict[str, Any]:
    """States as text and table, with their numeric twins, and the traces of what failed."""
    metadata = {
        "state": status.connector.state.value,
        "states": _states_table(status),
        "connector_running": int(status.connector.state is State.RUNNING),
        "tasks_running": status.tasks_in(State.RUNNING),
        "tasks_failed": status.tasks_in(State.FAILED),
        "task_count": len(status.tasks),
    }
    traces = "\n\n".join(f"**{owner}**\n```\n{trace}\n```" for owner, trace in status.traces())
    return metadata | ({"error_trace": MetadataValue.md(traces)} if traces else {})


def observation_metadata(snapshot: ConnectorSnapshot, rest_url: str) -> dict[str, Any]:
    """Everything one poll learnt: states, offsets, lag, Spark progress."""
    metadata = status_metadata(snapshot.connector.status)
    metadata["rest_url"] = MetadataValue.url(f"{rest_url}/connectors/{snapshot.connector.name}")
    if snapshot.offsets is not None:
        metadata["offsets"] = MetadataValue.json(snapshot.offsets_json)
        metadata["offset_total"] = snapshot.position
    if snapshot.lag is not None:
        metadata["records_lag_total"] = snapshot.lag
    return metadata | _progress_metadata(snapshot.progress)


def materialization_metadata(snapshot: ConnectorSnapshot, output: AssetKey, now: float) -> dict[str, Any]:
    """How far an output has come.

    Args:
        snapshot: The connector that writes the output.
        output: The output's key.
        now: Time of the poll, in epoch seconds.
    """
    end = snapshot.end_offset_total(output)
    return {
        LAST_UPDATED: MetadataValue.timestamp(now),
        "connector": snapshot.connector.name,
        "offset_total": snapshot.position,
    } | ({"end_offset_total": end} if end is not None else {})


def _states_table(status: ConnectorStatus) -> MetadataValue:
    rows = [("connector", status.connector), *((f"task {task.id}", task) for task in status.tasks)]
    return MetadataValue.table(
        [TableRecord({"what": what, "state": row.state.value, "worker_id": row.worker_id}) for what, row in rows],
        schema=STATES_SCHEMA,
    )


def _progress_metadata(progress: Mapping[str, TaskProgress]) -> dict[str, Any]:
    """Spark's numbers over all tasks; nothing from a worker without Spark."""
    if not progress:
        return {}
    tasks = progress.values()
    return {
        "spark_rows_total": sum(task.total_input_rows for task in tasks),
        "input_rows_per_second": float(sum(task.input_rows_per_second for task in tasks)),
        "processed_rows_per_second": float(sum(task.processed_rows_per_second for task in tasks)),
        "batch_id": max(task.batch_id for task in tasks),
        "batch_duration_ms": float(max(sum(task.duration_ms.values()) for task in tasks)),
    }
