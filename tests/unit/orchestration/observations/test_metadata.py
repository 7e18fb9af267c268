from dataclasses import replace
from typing import Any

import pytest
from dagster import AssetObservation

from connect_dagster.client.datasets import KafkaConnectFileProps, KafkaConnectTopicProps
from connect_dagster.client.lineage import connector_lineage
from connect_dagster.client.progress import Progress
from connect_dagster.client.types import PartitionOffset, TaskProgress
from connect_dagster.orchestration.observations.metadata import materialization_metadata, observation_metadata
from connect_dagster.orchestration.observations.snapshot import ConnectorSnapshot
from connect_dagster.orchestration.observations.topic_offsets import Bounds
from connect_dagster.orchestration.observations.trend import ConnectorTrend
from tests.unit.orchestration.answers import SINK, SOURCE, WORKER, connector, file_offset, group_offset

REST = "http://h:8083"
ENDS = {("logs", 0): Bounds(5, 40), ("logs", 1): Bounds(0, 60), ("other", 0): Bounds(0, 7), ("dead", 0): Bounds(1, 3)}


def snapshot(config: dict[str, Any], *offsets: PartitionOffset, state: str = "RUNNING") -> ConnectorSnapshot:
    lineage = connector_lineage(config)
    return ConnectorSnapshot(connector(config, state, state), lineage, offsets, {})


def shown(snapshot: ConnectorSnapshot, **more: Any) -> dict[str, Any]:
    metadata = AssetObservation("x", metadata=observation_metadata(snapshot, REST, **more)).metadata
    return {key: value.value for key, value in metadata.items()}


def progress(batch_id: int, rows: int, rate: float, durations: dict[str, float]) -> TaskProgress:
    answer = {"batchId": batch_id, "totalInputRows": rows, "inputRowsPerSecond": rate, "durationMs": durations}
    return TaskProgress.model_validate(answer)


def test_the_lag_counts_a_partition_without_a_commit_from_its_start() -> None:
    sink = snapshot(SINK, group_offset(1, 55), group_offset(0, None)).with_bounds(ENDS)
    assert sink.lags == [35, 5]


def test_a_source_has_no_lag_and_neither_has_a_sink_of_unasked_brokers() -> None:
    assert snapshot(SOURCE, file_offset(3)).with_bounds(ENDS).lags is None
    assert snapshot(SINK, group_offset(0, 3)).lags is None


def test_the_numbers_are_ints_and_floats_that_dagster_plots() -> None:
    config = {**SINK, "errors.deadletterqueue.topic.name": "dead"}
    sink = snapshot(config, group_offset(0, 30), group_offset(1, 60)).with_bounds(ENDS)
    metadata = shown(sink, trend=ConnectorTrend(2.5, 7.0, 1), generation=4)
    numbers = {key: value for key, value in metadata.items() if type(value) in (int, float)}
    assert numbers == {
        "connector_running": 1,
        "tasks_running": 1,
        "tasks_failed": 0,
        "task_count": 1,
        "offset_total": 90,
        "records_lag_total": 10,
        "records_lag_max": 10,
        "records_per_second": 2.5,
        "seconds_left": 4.0,
        "commit_age_seconds": 7.0,
        "restarts_total": 1,
        "dead_letter_total": 2 + 1,
        "generation": 4,
    }


@pytest.mark.parametrize(
    ("reading", "committed_rate", "shown_numbers"),
    [
        ([], 5.0, {"seconds_left": 2.0}),
        ([], 0.0, {}),
        ([], None, {}),
        ([(4, 2.0), (0, 1.0)], 0.0, {"read_records_per_second": 3.0, "seconds_left": 2.0}),
        ([(4, 2.0), (8, 0.0)], 5.0, {"read_records_per_second": 2.0}),
        ([(400, 2.0)], 5.0, {"read_records_per_second": 2.0, "seconds_left": 5.0}),
    ],
    ids=["committed", "stands", "first poll", "slowest task", "one stands", "a bound above the lag"],
)
def test_the_time_that_a_sink_needs_to_catch_up(
    reading: list[tuple[int, float]], committed_rate: float | None, shown_numbers: dict[str, float]
) -> None:
    behind = snapshot(SINK, group_offset(0, 30), group_offset(1, 60)).with_bounds(ENDS)
    tasks = [Progress(f"task {number}", "records", 0, *task) for number, task in enumerate(reading)]
    metadata = shown(replace(behind, reading=tasks), trend=ConnectorTrend(committed_rate, 0.0, 0))
    assert {key: metadata[key] for key in ("read_records_per_second", "seconds_left") if key in metadata} == (
        shown_numbers
    )


def test_a_sink_that_has_caught_up_needs_no_time_and_a_source_has_none() -> None:
    done = snapshot(SINK, group_offset(0, 40), group_offset(1, 60)).with_bounds(ENDS)
    assert done.seconds_left(None) == 0.0
    assert snapshot(SOURCE, file_offset(3)).with_bounds(ENDS).seconds_left(1.0) is None


def test_a_connector_without_dead_letters_has_none_and_unasked_brokers_do_not_know() -> None:
    assert snapshot(SINK).dead_letters == 0
    assert snapshot({**SINK, "errors.deadletterqueue.topic.name": "dead"}).dead_letters is None


def test_records_are_what_a_sink_committed_and_what_a_sources_topics_had() -> None:
    assert snapshot(SINK, group_offset(0, 30)).records == 30
    assert snapshot(SOURCE, file_offset(990)).with_bounds(ENDS).records == 100
    assert snapshot(SOURCE, file_offset(990)).records is None


def test_s3_02_the_table_has_a_row_for_the_connector_and_each_task() -> None:
    two = ConnectorSnapshot(connector(SOURCE, "RUNNING", "RUNNING", "PAUSED"), connector_lineage(SOURCE), (), {})
    rows = [record.data for record in shown(two, generation=7)["status"].records]
    assert rows == [
        {"what": "connector", "state": "RUNNING", "worker_id": WORKER, "generation": 7},
        {"what": "task 0", "state": "RUNNING", "worker_id": WORKER, "generation": 7},
        {"what": "task 1", "state": "PAUSED", "worker_id": WORKER, "generation": 7},
    ]
    assert [column.name for column in shown(two)["status"].schema.columns] == ["what", "state", "worker_id"]


def test_sparks_numbers_are_added_up_over_tasks() -> None:
    source = snapshot(SOURCE, file_offset(3))
    tasks = {
        "src-0": progress(4, 10, 1.5, {"a": 1.0, "b": 2.0}),
        "src-1": progress(2, 5, 2.5, {"a": 9.0}),
    }
    metadata = shown(ConnectorSnapshot(source.connector, source.lineage, source.offsets, tasks))
    assert {key: metadata[key] for key in ("spark_rows_total", "input_rows_per_second", "batch_id")} == {
        "spark_rows_total": 15,
        "input_rows_per_second": 4.0,
        "batch_id": 4,
    }
    assert metadata["batch_duration_ms"] == 9.0


def test_a_failed_tasks_trace_is_shown_under_its_name() -> None:
    failed = connector(SINK, "RUNNING", "FAILED", trace="Disk full\n  at line 3")
    metadata = shown(ConnectorSnapshot(failed, connector_lineage(SINK), (), {}))
    assert metadata["error"] == "task 0: Disk full"
    assert metadata["error_trace"] == "**task 0**\n```\nDisk full\n  at line 3\n```"
    assert metadata["tasks_failed"] == 1


def test_s3_03_configuration_and_trace_are_without_secrets() -> None:
    config = {**SINK, "database.password": "connect_dev", "connection.url": "jdbc:mysql://h/d?user=u&password=kafka123"}
    failed = connector(config, "RUNNING", "FAILED", trace="Access denied with kafka123\n  at connect_dev")
    metadata = shown(ConnectorSnapshot(failed, connector_lineage(config), (), {}))
    assert metadata["config"]["connection.url"] == "jdbc:mysql://h/d?user=u&password=********"
    assert "kafka123" not in str(metadata)
    assert "connect_dev" not in str(metadata)


def test_s3_03_what_only_the_plugin_knows_as_a_secret_is_masked_too() -> None:
    config = {**SINK, "connection.pin": "kafka123"}
    failed = connector(config, "RUNNING", "FAILED", trace="Wrong pin kafka123")
    known = failed.model_copy(update={"secret_keys": frozenset({"connection.pin"})})
    assert "kafka123" not in str(shown(ConnectorSnapshot(known, connector_lineage(config), (), {})))


def test_an_event_stays_small_whatever_the_connector() -> None:
    config = {**SINK, "query": "x" * 100_000}
    failed = connector(config, "RUNNING", *["FAILED"] * 500, trace="line\n" * 100_000)
    many = tuple(group_offset(number, number) for number in range(1000))
    metadata = shown(ConnectorSnapshot(failed, connector_lineage(config), many, {}))
    assert len(metadata["status"].records) == 51
    assert (len(metadata["offsets"]["offsets"]), metadata["offsets"]["more"]) == (50, 950)
    assert metadata["error_trace"].endswith(" characters more)")
    assert len(str(metadata)) < 30_000


def test_a_topic_materialises_with_its_end_offset_and_a_file_without() -> None:
    source = snapshot(SOURCE, file_offset(990)).with_bounds(ENDS)
    sink = snapshot(SINK, group_offset(0, 40)).with_bounds(ENDS)
    of_topic = materialization_metadata(source, KafkaConnectTopicProps("logs"), 1_700_000_000.0)
    of_file = materialization_metadata(sink, KafkaConnectFileProps("/tmp/out.txt"), 1_700_000_000.0)
    assert (of_topic["end_offset_total"], of_topic["offset_total"]) == (100, 990)
    assert "end_offset_total" not in of_file
    assert of_file["dagster/last_updated_timestamp"].value == 1_700_000_000.0
    assert of_file["connect-dagster/offsets_version"] == sink.offsets_version


def test_offsets_have_one_version_whatever_their_order() -> None:
    one = snapshot(SINK, group_offset(0, 1), group_offset(1, 2))
    other = snapshot(SINK, group_offset(1, 2), group_offset(0, 1))
    assert one.offsets_version == other.offsets_version
    assert one.offsets_version != snapshot(SINK, group_offset(0, 1), group_offset(1, 3)).offsets_version
    assert snapshot(SINK).offsets_version == ""
