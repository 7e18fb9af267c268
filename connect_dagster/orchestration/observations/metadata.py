"""Metadata of a connector's observations and of its outputs' materialisations.

The UI plots whole and decimal numbers only, and one key must keep one type; so each fact that is worth a
curve has a numeric twin, present in every event as far as it can be known. The event log keeps all of it for
ever, so everything here is bounded and without secrets.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dagster import MetadataValue, TableColumn, TableRecord, TableSchema

from connect_dagster.client.datasets import KafkaConnectDatasetProps, KafkaConnectTopicProps, topic_names
from connect_dagster.client.masking import mask_config, mask_json, mask_text
from connect_dagster.client.types import Connector, ConnectorStatus, PartitionOffset, State, TaskProgress
from connect_dagster.orchestration.assets.metadata_sets import KafkaConnectMetadataSet
from connect_dagster.orchestration.assets.workspace_data import connector_url
from connect_dagster.orchestration.observations.capture import capture_metadata
from connect_dagster.orchestration.observations.mirror import mirror_metadata
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.trend import ConnectorTrend

LAST_UPDATED = "dagster/last_updated_timestamp"

_LONGEST_TRACE = 4000
_LONGEST_VALUE = 500
_MOST_ROWS = 50


def observation_metadata(
    snapshot: ConnectorSnapshot,
    rest_url: str,
    *,
    trend: ConnectorTrend | None = None,
    generation: int | None = None,
) -> dict[str, Any]:
    """Return the metadata of one poll.

    Args:
        snapshot: The connector.
        rest_url: REST address of its cluster.
        trend: What shows between polls; None from who polls once.
        generation: Generation of the group of workers, when known.
    """
    return {
        **applied_metadata(snapshot.connector, rest_url, generation),
        **offsets_metadata(snapshot),
        **_flow_metadata(snapshot),
        **_trend_metadata(trend),
        **_catch_up_metadata(snapshot, trend),
        **_progress_metadata(snapshot.progress),
    }


def applied_metadata(connector: Connector, rest_url: str, generation: int | None = None) -> dict[str, Any]:
    """Return states and configuration, from one request; see :func:`observation_metadata`."""
    return {
        **status_metadata(connector, generation),
        "config": MetadataValue.json(shown_config(connector)),
        "rest_url": MetadataValue.url(connector_url(rest_url, connector.name)),
    }


def materialization_metadata(
    snapshot: ConnectorSnapshot, output: KafkaConnectDatasetProps, now: float
) -> dict[str, Any]:
    """Return the progress of an output.

    Args:
        snapshot: The connector that writes the output.
        output: The output.
        now: Time of the poll, in epoch seconds.
    """
    end = snapshot.end_offset(output.topic) if isinstance(output, KafkaConnectTopicProps) else None
    # Spark's numbers are of a whole connector.
    is_only_output = snapshot.lineage.outputs == (output,)
    return {
        LAST_UPDATED: MetadataValue.timestamp(now),
        "connector": snapshot.connector.name,
        "offset_total": snapshot.position_of(output),
        **KafkaConnectMetadataSet(offsets_version=snapshot.version_of(output)),
        **_flow_metadata(snapshot, output),
        **_progress_metadata(snapshot.progress if is_only_output else {}),
    } | ({"end_offset_total": end} if end is not None else {})


def status_metadata(connector: Connector, generation: int | None = None) -> dict[str, Any]:
    """Return states as text, table and numbers, and the traces of failures."""
    status = connector.status
    metadata: dict[str, Any] = {
        "state": status.connector.state.value,
        "status": _status_table(status, generation),
        "connector_running": int(status.connector.state is State.RUNNING),
        "tasks_running": status.tasks_in(State.RUNNING),
        "tasks_failed": status.tasks_in(State.FAILED),
        "task_count": len(status.tasks),
    }
    if generation is not None:
        metadata["generation"] = generation
    traces = [(owner, shown_trace(trace, connector)) for owner, trace in status.traces()]
    if traces:
        owner, first = traces[0]
        metadata["error"] = f"{owner}: {first.partition(chr(10))[0]}"
        text = "\n\n".join(f"**{owner}**\n```\n{trace}\n```" for owner, trace in traces)
        metadata["error_trace"] = MetadataValue.md(_cut(text, _LONGEST_TRACE))
    return metadata


def shown_config(connector: Connector) -> dict[str, str | None]:
    """Return the masked configuration of a connector, with long values cut."""
    masked = mask_config(connector.info.config, connector.secret_keys)
    return {key: value and _cut(value, _LONGEST_VALUE) for key, value in masked.items()}


def shown_trace(trace: str, connector: Connector) -> str:
    """Return a trace without the secrets of its connector."""
    return mask_text(trace.strip(), [connector.info.config], connector.secret_keys)


def offsets_metadata(snapshot: ConnectorSnapshot) -> dict[str, Any]:
    """Return committed offsets, and lag and totals from the brokers' end offsets.

    The offsets have the shape REST gives them; of very many, the first and how many more there are.
    """
    numbers = {
        # From `GET /connectors/{c}/offsets`.
        "offset_total": None if snapshot.offsets is None else snapshot.position,
        # From those and the topics' end offsets.
        "records_lag_total": None if snapshot.lags is None else sum(snapshot.lags),
        "records_lag_max": None if snapshot.lags is None else max(snapshot.lags, default=0),
        # From the end offsets of the topic of dead letters.
        "dead_letter_total": snapshot.dead_letters,
    }
    metadata: dict[str, Any] = {key: value for key, value in numbers.items() if value is not None}
    if snapshot.offsets is not None:
        shown: dict[str, Any] = {"offsets": shown_offsets(snapshot.offsets[:_MOST_ROWS])}
        more = len(snapshot.offsets) - _MOST_ROWS
        metadata["offsets"] = MetadataValue.json(shown | ({"more": more} if more > 0 else {}))
    return metadata


def shown_offsets(offsets: Iterable[PartitionOffset]) -> list[dict[str, Any]]:
    """Return offsets in the form of the REST API, masked: a source may name its partitions by a URL."""
    return [{name: mask_json(value) for name, value in entry.model_dump().items()} for entry in offsets]


def _flow_metadata(snapshot: ConnectorSnapshot, output: KafkaConnectDatasetProps | None = None) -> dict[str, Any]:
    """Return the metadata of a mirrored topic, of all of its connector without one, or of a binary log."""
    if snapshot.capture is not None:
        return capture_metadata(snapshot.capture)
    if snapshot.mirror is None:
        return {}
    if output is not None:
        return mirror_metadata(snapshot.mirror, snapshot.sources_of(output), topic_names([output]))
    lineage = snapshot.lineage
    return mirror_metadata(snapshot.mirror, topic_names(lineage.inputs), topic_names(lineage.outputs))


def _trend_metadata(trend: ConnectorTrend | None) -> dict[str, Any]:
    if trend is None:
        return {}
    rate = trend.records_per_second
    return {
        "commit_age_seconds": trend.commit_age_seconds,
        "restarts_total": trend.restarts_total,
    } | ({} if rate is None else {"records_per_second": rate})


def _catch_up_metadata(snapshot: ConnectorSnapshot, trend: ConnectorTrend | None) -> dict[str, Any]:
    """Return the rate at which the tasks of a sink read, and the time until it has caught up."""
    numbers = {
        "read_records_per_second": snapshot.read_rate,
        "seconds_left": snapshot.seconds_left(None if trend is None else trend.records_per_second),
    }
    return {key: value for key, value in numbers.items() if value is not None}


def _status_table(status: ConnectorStatus, generation: int | None) -> MetadataValue:
    """Return a table of the connector and its tasks: state, worker and, when known, the group's generation."""
    parts = [("connector", status.connector), *((f"task {task.id}", task) for task in status.tasks)]
    known = {} if generation is None else {"generation": generation}
    rows = [
        TableRecord({"what": what, "state": part.state.value, "worker_id": part.worker_id, **known})
        for what, part in parts[: _MOST_ROWS + 1]
    ]
    columns = [TableColumn(name) for name in ("what", "state", "worker_id")]
    if known:
        columns.append(TableColumn("generation", "int"))
    return MetadataValue.table(rows, schema=TableSchema(columns))


def _progress_metadata(progress: Mapping[str, TaskProgress]) -> dict[str, Any]:
    """Return Spark's numbers over all tasks, from our ``GET /dagster/progress``; empty from a worker without Spark."""
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


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]} … ({len(text) - longest} characters more)"
