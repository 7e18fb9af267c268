"""The verbs and the status sensor, on a worker of ours."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from dagster import AssetKey, DagsterInstance, ExecuteInProcessResult
from dagster._core.definitions.sensor_definition import SensorExecutionData

from connect_dagster.orchestration import (
    KafkaConnectClient,
    KafkaConnectError,
    KafkaConnectWorkspace,
    build_connector_status_sensor,
    build_kafka_connect_jobs,
)
from connect_dagster.orchestration.asset_keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.records import State
from tests.conftest import Broker
from tests.integration.worker_process import WorkerProcess, write_properties
from tests.shipped_project import wait_until

JOBS = {job.name: job for job in build_kafka_connect_jobs()}


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A worker with a file source, a sink for its topic, and a sink whose folder is missing."""

    workspace: KafkaConnectWorkspace
    instance: DagsterInstance
    source: str
    sink: str
    stuck: str
    topic: str
    folder: Path

    @property
    def client(self) -> KafkaConnectClient:
        return self.workspace.get_client()

    def run(self, job: str, *, raises: bool = True, **config: Any) -> ExecuteInProcessResult:
        """Run a job as the Launchpad would, with this config for its op."""
        return JOBS[job].execute_in_process(
            run_config={"ops": {f"{job}_op": {"config": config}}},
            resources={"kafka_connect": self.workspace},
            instance=self.instance,
            raise_on_error=raises,
        )

    def wait_state(self, connector: str, state: State) -> None:
        wait_until(lambda: self.client.status(connector).has_reached(state), f"see {connector} {state}", 60)


@pytest.fixture(name="pipeline", scope="module")
def pipeline_fixture(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pipeline]:
    folder = tmp_path_factory.mktemp("pipeline")
    mark = f"jobs-{uuid4().hex[:8]}"
    source, sink, stuck = (f"{mark}-{role}" for role in ("source", "sink", "stuck"))
    files = [_connector(folder, mark, name) for name in (source, sink, stuck)]
    with (
        WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, files, folder / "worker") as worker,
        DagsterInstance.ephemeral() as instance,
    ):
        workspace = KafkaConnectWorkspace(url=worker.rest_url, bootstrap_servers=broker.bootstrap_servers)
        yield Pipeline(workspace, instance, source, sink, stuck, mark, folder)


def _connector(folder: Path, topic: str, name: str) -> Path:
    if name.endswith("source"):
        config = {"connector.class": "FileStreamSource", "file": str(folder / "in.txt"), "topic": topic}
    else:
        file = folder / ("missing/out.txt" if name.endswith("stuck") else "out.txt")
        config = {"connector.class": "FileStreamSink", "file": str(file), "topics": topic}
    return write_properties(folder / f"{name}.properties", {"name": name, **config})


def _observed(instance: DagsterInstance, key: AssetKey) -> Mapping[str, Any]:
    record = instance.fetch_observations(key, limit=1).records[0]
    assert record.asset_observation is not None
    return {name: value.value for name, value in record.asset_observation.metadata.items()}


def test_s3_06_pause_and_resume_succeed_only_after_the_state_was_seen(pipeline: Pipeline) -> None:
    pipeline.wait_state(pipeline.source, State.RUNNING)
    assert pipeline.run("kafka_connect_pause", connectors=[pipeline.source]).success
    assert pipeline.client.status(pipeline.source).has_reached(State.PAUSED)
    observed = _observed(pipeline.instance, connector_key("local", pipeline.source))
    assert (observed["state"], observed["connector_running"], observed["tasks_running"]) == ("PAUSED", 0, 0)

    assert pipeline.run("kafka_connect_resume", connectors=[pipeline.source]).success
    assert pipeline.client.status(pipeline.source).has_reached(State.RUNNING)


def test_s3_06_the_failure_names_those_that_did_not_get_there(pipeline: Pipeline) -> None:
    pipeline.wait_state(pipeline.sink, State.RUNNING)
    with pytest.raises(dg.Failure) as failure:
        pipeline.run("kafka_connect_resume", connectors=[pipeline.sink, "nobody", pipeline.stuck], timeout=1.0)
    text = str(failure.value.description)
    assert text.startswith("2 of 3 connectors did not reach RUNNING: 'nobody': PUT ")
    assert text.endswith(f"404: Unknown connector nobody; '{pipeline.stuck}': RUNNING, task 0 FAILED")


def test_s3_07_restart_brings_back_the_failed_task_alone(pipeline: Pipeline) -> None:
    wait_until(lambda: pipeline.client.status(pipeline.stuck).tasks_in(State.FAILED) == 1, "see the task fail", 60)
    (pipeline.folder / "missing").mkdir()
    assert pipeline.run("kafka_connect_restart").success
    pipeline.wait_state(pipeline.stuck, State.RUNNING)


def test_the_sensor_observes_and_materialises_what_advanced(pipeline: Pipeline) -> None:
    (pipeline.folder / "in.txt").write_text("one\ntwo\nthree\n")
    out = pipeline.folder / "out.txt"
    wait_until(lambda: out.exists() and out.read_text() == "one\ntwo\nthree\n", "find the lines", 60)
    wait_until(lambda: pipeline.client.offsets(pipeline.source) != [], "see the source commit", 60)
    wait_until(lambda: pipeline.client.offsets(pipeline.sink) != [], "see the sink commit", 60)
    task = f"{pipeline.sink}-0"
    wait_until(lambda: pipeline.client.progress()[task].total_input_rows == 3, "see Spark's count", 60)
    sensor = build_connector_status_sensor()

    def tick(cursor: str | None) -> SensorExecutionData:
        with dg.build_sensor_context(
            instance=pipeline.instance, cursor=cursor, resources={"kafka_connect": pipeline.workspace}
        ) as context:
            return sensor.evaluate_tick(context)

    first = tick(None)
    observations = {e.asset_key: e for e in first.asset_events if isinstance(e, dg.AssetObservation)}
    materialized = {e.asset_key: e for e in first.asset_events if isinstance(e, dg.AssetMaterialization)}
    sink = {name: value.value for name, value in observations[connector_key("local", pipeline.sink)].metadata.items()}
    assert (sink["offset_total"], sink["records_lag_total"], sink["spark_rows_total"]) == (3, 0, 3)
    assert materialized[topic_key(pipeline.topic)].metadata["end_offset_total"].value == 3
    assert materialized[file_key(str(out))].metadata["offset_total"].value == 3

    second = tick(first.cursor)
    assert {type(event) for event in second.asset_events} == {dg.AssetObservation}


def test_an_error_of_the_worker_is_told_in_its_own_words(pipeline: Pipeline) -> None:
    with pytest.raises(KafkaConnectError, match="→ 404: No status found for connector nobody") as error:
        pipeline.client.status("nobody")
    assert (error.value.status, error.value.retriable) == (404, False)
