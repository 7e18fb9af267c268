"""Metrics of real connectors, scraped over HTTP from a worker's process."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from connect_dagster.testing.recording_sink import RecordingSinkConnector
from tests.conftest import Broker
from tests.integration import topics
from tests.integration.sink.kafka_topics import Topics
from tests.integration.worker_process import WorkerProcess

RECORDING = f"{RecordingSinkConnector.__module__}.{RecordingSinkConnector.__qualname__}"
STRING = "org.apache.kafka.connect.storage.StringConverter"
OPENMETRICS = {"Accept": "application/openmetrics-text; version=1.0.0"}
SECONDS = 60


@dataclass(frozen=True, slots=True)
class Measured:
    """A worker with a flush interval of a second, its broker, and a name that nobody else uses."""

    worker: WorkerProcess
    topics: Topics
    name: str
    folder: Path

    def __call__(self, metric: str, **labels: str) -> float:
        """The value of `kafka_connect_<metric>`; NaN when there is none."""
        answer = self.worker.call("GET", "/metrics")
        assert answer.status == 200
        for family in read_text(answer.body.decode()):
            for sample in family.samples:
                if sample.name == f"kafka_connect_{metric}" and sample.labels == labels:
                    return sample.value
        return math.nan

    def task(self, connector: str, metric: str, **labels: str) -> float:
        """The same of a connector's only task."""
        return self(metric, connector=connector, task="0", **labels)

    def wait(self, condition: Callable[[], bool], aim: str) -> None:
        """Wait until something is so."""
        self.worker.wait_until(condition, aim, SECONDS)

    def create(self, connector: str, config: Mapping[str, str]) -> str:
        """Create a connector; answers its name."""
        answer = self.worker.call("POST", "/connectors", {"name": connector, "config": dict(config)})
        assert answer.status == 201, answer.body
        return connector

    def sink(self, topic: str, **config: str) -> str:
        """Create a recording sink of a topic, with the topic's name."""
        journal = str(self.folder / f"{topic}.jsonl")
        named = {key.replace("_", "."): value for key, value in config.items()}
        common = {"connector.class": RECORDING, "topics": topic, "journal": journal, "key.converter": STRING}
        return self.create(topic, {**common, "value.converter": STRING, **named})


@pytest.fixture(scope="module")
def measured(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measured]:
    folder = tmp_path_factory.mktemp("metrics")
    props = {"bootstrap.servers": broker.bootstrap_servers, "offset.flush.interval.ms": "1000"}
    with WorkerProcess(props, [], folder / "worker") as worker:
        yield Measured(worker, Topics(broker.bootstrap_servers), f"metrics-{uuid.uuid4().hex[:8]}", folder)


def test_s2_26_a_sink_that_took_100_records_in_known_batches(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-hundred")
    measured.topics.write(name, map(str, range(100)))
    measured.sink(name, consumer_override_max_poll_records="25")
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_read_total") == 100, "count 100 records")
    assert measured.task(name, "sink_task_sink_record_send_total") == 100
    assert measured.task(name, "sink_task_put_batch_avg_time_ms") > 0
    assert (
        measured.task(name, "sink_task_put_batch_max_time_ms")
        >= measured.task(name, "sink_task_put_batch_avg_time_ms")
        > 0
    )
    assert measured.task(name, "connector_task_batch_size_avg") == 25
    assert measured.task(name, "connector_task_batch_size_max") == 25
    assert 100 / 60 <= measured.task(name, "sink_task_sink_record_read_rate") <= 100 / 30
    assert measured.task(name, "sink_task_sink_record_lag_max") == 0
    assert measured.task(name, "sink_task_partition_count") == 1
    assert 0 <= measured.task(name, "connector_task_last_record_seconds_ago") < SECONDS
    assert measured.task(name, "connector_task_status", status="running") == 1
    assert 0 < measured.task(name, "connector_task_running_ratio") <= 1
    assert measured.task(name, "connector_task_task_class", task_class=RECORDING.replace("Connector", "Task")) == 1
    measured.wait(lambda: measured.task(name, "sink_task_offset_commit_seq_no") > 0, "commit")
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_active_count") == 0, "have it acknowledged")
    assert measured.task(name, "sink_task_offset_commit_completion_total") >= 1
    assert measured.task(name, "connector_task_offset_commit_success_percentage") == 1
    assert measured("connector_status", connector=name, status="running") == 1
    assert measured("connector_connector_type", connector=name, connector_type="sink") == 1
    assert measured("worker_connector_running_task_count", connector=name) == 1


def test_the_worker_tells_its_version_in_both_formats(measured: Measured) -> None:
    text, other = measured.worker.call("GET", "/metrics"), measured.worker.call("GET", "/metrics", None, OPENMETRICS)
    assert text.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert other.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    worker_id = measured.worker.rest_url.removeprefix("http://")
    families: Any = read_openmetrics(other.body.decode())  # type: ignore[no-untyped-call]
    (version,) = [one for family in families for one in family.samples if one.name == "kafka_connect_version_info"]
    assert version.labels == {"clientid": worker_id, "version": "4.3.1"}
    assert measured("start_time_seconds", clientid=worker_id) > 1_700_000_000


def test_a_failed_task_keeps_its_metrics_until_it_is_deleted(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-failing")
    measured.topics.write(name, map(str, range(5)))
    measured.sink(name, on_put="ok; fail the disk is full *", consumer_override_max_poll_records="3")
    measured.worker.wait_states(name, "RUNNING", "FAILED", timeout=SECONDS)
    assert measured.task(name, "sink_task_sink_record_read_total") == 3
    assert measured.task(name, "connector_task_status", status="failed") == 1
    assert measured("worker_connector_failed_task_count", connector=name) == 1
    assert measured("worker_connector_total_task_count", connector=name) == 1
    assert measured.worker.call("DELETE", f"/connectors/{name}").status == 204
    assert math.isnan(measured.task(name, "sink_task_sink_record_read_total"))
    assert math.isnan(measured("worker_connector_failed_task_count", connector=name))


def test_a_task_that_does_not_start_is_counted(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-unstarted")
    failed = measured("worker_task_startup_failure_total")
    measured.sink(name, on_start="fail no *")
    measured.worker.wait_states(name, "RUNNING", "FAILED", timeout=SECONDS)
    assert measured.task(name, "connector_task_status", status="failed") == 1
    assert measured("worker_task_startup_failure_total") == failed + 1
    assert 0 < measured("worker_task_startup_failure_percentage") <= 1


def test_records_left_out_are_counted(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-tolerant")
    measured.topics.write(name, ["1", "{", "2", "nonsense", "3", "4", "}", "5", "6", "7"])
    measured.sink(
        name,
        value_converter="org.apache.kafka.connect.json.JsonConverter",
        value_converter_schemas_enable="false",
        errors_tolerance="all",
    )
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_read_total") == 10, "count ten records")
    assert measured.task(name, "sink_task_sink_record_send_total") == 7
    assert measured.task(name, "task_error_total_records_skipped") == 3
    assert measured.task(name, "task_error_total_record_errors") == 3
    assert measured.task(name, "task_error_last_error_timestamp") > 1_700_000_000_000
    assert measured.task(name, "task_error_deadletterqueue_produce_requests") == 0


def test_markers_of_transactions_are_no_records(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-transactions")
    producer = Producer({"bootstrap.servers": measured.topics.bootstrap, "transactional.id": name})
    producer.init_transactions(SECONDS)
    for value in range(3):
        producer.begin_transaction()
        producer.produce(name, str(value))
        producer.commit_transaction(SECONDS)
    assert topics.size(measured.topics.bootstrap, name) == 6
    measured.sink(name)
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_read_total") == 3, "count three records")
    assert measured.task(name, "sink_task_sink_record_send_total") == 3
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_lag_max") == 0, "have no lag")


def test_lag_grows_while_a_put_is_tried_again(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-retrying")
    measured.topics.write(name, ["1"])
    measured.sink(name, on_put="retry 200 *")
    measured.wait(lambda: measured.task(name, "task_error_total_retries") > 0, "try again")
    measured.topics.write(name, map(str, range(9)))
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_lag_max") == 10, "see the lag")
    assert measured.task(name, "sink_task_sink_record_send_total") == 0
    assert measured.worker.call("DELETE", f"/connectors/{name}").status == 204


def test_lag_grows_while_a_task_is_paused(measured: Measured) -> None:
    name = measured.topics.create(f"{measured.name}-paused")
    measured.topics.write(name, ["1"])
    measured.sink(name)
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_read_total") == 1, "take a record")
    assert measured.worker.call("PUT", f"/connectors/{name}/pause").status == 202
    measured.worker.wait_states(name, "PAUSED", "PAUSED")
    measured.topics.write(name, map(str, range(7)))
    measured.wait(lambda: measured.task(name, "sink_task_sink_record_lag_max") == 7, "see the lag")
    assert measured.task(name, "connector_task_pause_ratio") > 0
    assert measured("worker_connector_paused_task_count", connector=name) == 1


def test_a_source(measured: Measured) -> None:
    name = f"{measured.name}-source"
    file = measured.folder / "lines.txt"
    file.write_text("".join(f"line {number}\n" for number in range(50)))
    config = {"connector.class": "FileStreamSource", "file": str(file), "topic": name, "value.converter": STRING}
    measured.create(name, config)
    measured.wait(lambda: measured.task(name, "source_task_source_record_write_total") == 50, "write 50 records")
    assert measured.task(name, "source_task_source_record_poll_total") == 50
    assert measured.task(name, "source_task_source_record_active_count") == 0
    assert measured.task(name, "source_task_source_record_active_count_max") >= 1
    assert measured.task(name, "source_task_poll_batch_max_time_ms") > 0
    assert 50 / 60 <= measured.task(name, "source_task_source_record_write_rate") <= 50 / 30
    assert measured.task(name, "connector_task_batch_size_max") <= 50
    measured.wait(lambda: measured.task(name, "connector_task_offset_commit_max_time_ms") > 0, "commit")
    assert measured.task(name, "connector_task_offset_commit_failure_percentage") == 0
    assert measured("connector_connector_type", connector=name, connector_type="source") == 1
