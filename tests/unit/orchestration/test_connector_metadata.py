from typing import Any

from dagster import AssetObservation

from connect_dagster.orchestration.asset_keys import file_key, topic_key
from connect_dagster.orchestration.connector_metadata import materialization_metadata, observation_metadata
from connect_dagster.orchestration.connector_snapshot import ConnectorSnapshot
from connect_dagster.orchestration.lineage import connector_lineage
from connect_dagster.orchestration.records import PartitionOffset, TaskProgress
from connect_dagster.orchestration.topic_offsets import Bounds
from tests.unit.orchestration.answers import SINK, SOURCE, connector, file_offset, group_offset

ENDS = {("logs", 0): Bounds(5, 40), ("logs", 1): Bounds(0, 60), ("other", 0): Bounds(0, 7)}


def snapshot(config: dict[str, Any], *offsets: PartitionOffset, state: str = "RUNNING") -> ConnectorSnapshot:
    lineage = connector_lineage(config)
    return ConnectorSnapshot(connector(config, state, state), lineage, offsets, {})


def progress(batch_id: int, rows: int, rate: float, durations: dict[str, float]) -> TaskProgress:
    answer = {"batchId": batch_id, "totalInputRows": rows, "inputRowsPerSecond": rate, "durationMs": durations}
    return TaskProgress.model_validate(answer)


def test_the_lag_counts_a_partition_without_a_commit_from_its_start() -> None:
    sink = snapshot(SINK, group_offset(1, 55), group_offset(0, None)).with_bounds(ENDS)
    assert sink.lag == 35 + 5


def test_a_source_has_no_lag_and_neither_has_a_sink_of_unasked_brokers() -> None:
    assert snapshot(SOURCE, file_offset(3)).with_bounds(ENDS).lag is None
    assert snapshot(SINK, group_offset(0, 3)).lag is None


def test_the_numbers_are_ints_and_floats_that_dagster_plots() -> None:
    sink = snapshot(SINK, group_offset(0, 40), group_offset(1, 60)).with_bounds(ENDS)
    metadata = AssetObservation("x", metadata=observation_metadata(sink, "http://h:8083")).metadata
    numbers = {key: value.value for key, value in metadata.items() if type(value.value) in (int, float)}
    assert numbers == {
        "connector_running": 1,
        "tasks_running": 1,
        "tasks_failed": 0,
        "task_count": 1,
        "offset_total": 100,
        "records_lag_total": 0,
    }


def test_sparks_numbers_are_added_up_over_tasks() -> None:
    source = snapshot(SOURCE, file_offset(3))
    tasks = {
        "src-0": progress(4, 10, 1.5, {"a": 1.0, "b": 2.0}),
        "src-1": progress(2, 5, 2.5, {"a": 9.0}),
    }
    metadata = observation_metadata(
        ConnectorSnapshot(source.connector, source.lineage, source.offsets, tasks), "http://h:8083"
    )
    assert {key: metadata[key] for key in ("spark_rows_total", "input_rows_per_second", "batch_id")} == {
        "spark_rows_total": 15,
        "input_rows_per_second": 4.0,
        "batch_id": 4,
    }
    assert metadata["batch_duration_ms"] == 9.0


def test_a_failed_tasks_trace_is_shown_under_its_name() -> None:
    failed = ConnectorSnapshot(
        connector(SINK, "RUNNING", "FAILED", trace="Disk full\n  at line 3"), connector_lineage(SINK), (), {}
    )
    metadata = observation_metadata(failed, "http://h:8083")
    assert metadata["error_trace"].value == "**task 0**\n```\nDisk full\n  at line 3\n```"
    assert metadata["tasks_failed"] == 1


def test_a_topic_materialises_with_its_end_offset_and_a_file_without() -> None:
    source = snapshot(SOURCE, file_offset(990)).with_bounds(ENDS)
    sink = snapshot(SINK, group_offset(0, 40)).with_bounds(ENDS)
    of_topic = materialization_metadata(source, topic_key("logs"), 1_700_000_000.0)
    of_file = materialization_metadata(sink, file_key("/tmp/out.txt"), 1_700_000_000.0)
    assert (of_topic["end_offset_total"], of_topic["offset_total"]) == (100, 990)
    assert "end_offset_total" not in of_file
    assert of_file["dagster/last_updated_timestamp"].value == 1_700_000_000.0


def test_offsets_are_equal_texts_whatever_their_order() -> None:
    one = snapshot(SINK, group_offset(0, 1), group_offset(1, 2))
    other = snapshot(SINK, group_offset(1, 2), group_offset(0, 1))
    assert one.offsets_text == other.offsets_text
    assert one.offsets_text != snapshot(SINK, group_offset(0, 1), group_offset(1, 3)).offsets_text
