"""Jobs, sensors and checks on a worker of ours, with connectors that move records, fail, and come back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest
from confluent_kafka import Producer
from dagster import AssetCheckEvaluation, AssetObservation, DagsterEventType, DagsterInstance, ExecuteInProcessResult

from connect_dagster.client.types import State
from connect_dagster.orchestration import (
    BackOff,
    FileLines,
    KafkaConnectClient,
    KafkaConnectConnectorSpec,
    KafkaConnectWorkspace,
    TopicRecords,
    build_connector_data_checks,
    build_connector_lag_checks,
    build_connector_sensor,
    build_connector_state_checks,
    build_dead_letter_checks,
    build_kafka_connect_jobs,
)
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.testing.recording_sink import RecordingSinkConnector, read_journal
from tests.conftest import Broker
from tests.integration.topics import create, size
from tests.integration.worker_process import WorkerProcess
from tests.rest_calls import call
from tests.shipped_project import wait_until

STRINGS = "org.apache.kafka.connect.storage.StringConverter"
RECORDING = f"{RecordingSinkConnector.__module__}.{RecordingSinkConnector.__qualname__}"


@dataclass
class Cluster:
    """A worker, and a Dagster instance for what is done to it."""

    workspace: KafkaConnectWorkspace
    bootstrap_servers: str
    instance: DagsterInstance
    folder: Path
    mark: str = field(default_factory=lambda: f"driving-{uuid4().hex[:8]}")

    @property
    def client(self) -> KafkaConnectClient:
        return self.workspace.get_client()

    def source(self, what: str) -> KafkaConnectConnectorSpec:
        """A file source of its own; its topic has the connector's name."""
        name, file = f"{self.mark}-{what}", self.folder / f"{what}.txt"
        config = {"file": str(file), "topic": name, "value.converter": STRINGS}
        return KafkaConnectConnectorSpec(name, "FileStreamSource", config)

    def sink(self, what: str, topic: str, *, tasks: int = 1, **config: str) -> KafkaConnectConnectorSpec:
        """A sink that does what its script says; `_` in keys stands for `.`."""
        keys = {key.replace("_", "."): value for key, value in config.items()}
        journal = str(self.folder / f"{what}.jsonl")
        own = {"topics": topic, "journal": journal, "key.converter": STRINGS, "value.converter": STRINGS}
        return KafkaConnectConnectorSpec(f"{self.mark}-{what}", RECORDING, own | keys, tasks)

    def calls(self, what: str, call: str) -> list[dict[str, Any]]:
        """The calls of one method that the sink has journalled."""
        return [entry for entry in read_journal(self.folder / f"{what}.jsonl") if entry["call"] == call]

    def run(self, verb: str, *declared: KafkaConnectConnectorSpec, **config: Any) -> ExecuteInProcessResult:
        """Run a verb's job as the Launchpad would, for the declared connectors."""
        jobs = {job.name: job for job in build_kafka_connect_jobs(workspace=self.workspace, connectors=declared)}
        job = jobs[f"kafka_connect_{verb}"]
        run_config = {"ops": {f"{job.name}_op": {"config": config}}} if config else None
        return job.execute_in_process(run_config=run_config, instance=self.instance)

    def evaluate(self, *checks: Sequence[dg.AssetChecksDefinition]) -> dict[str, AssetCheckEvaluation]:
        """Execute checks in a run; answers their outcomes by the checks' names."""
        every = [check for built in checks for check in built]
        keys = {key.asset_key for check in every for key in check.check_keys}
        job = dg.define_asset_job("checks", selection=dg.AssetSelection.all_asset_checks())
        defs = dg.Definitions(assets=[dg.AssetSpec(key) for key in keys], asset_checks=every, jobs=[job])
        result = defs.resolve_job_def("checks").execute_in_process(instance=self.instance)
        return {one.check_name: one for one in result.get_asset_check_evaluations()}

    def wait_failed(self, spec: KafkaConnectConnectorSpec) -> None:
        wait_until(lambda: self.client.status(spec.name).has_failed, f"see {spec.name} fail", 60)

    def produce(self, topic: str, *values: str) -> None:
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        for value in values:
            producer.produce(topic, value.encode(), partition=0)
        assert producer.flush(20) == 0


@pytest.fixture(name="cluster", scope="module")
def cluster_fixture(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("driving")
    with (
        WorkerProcess({"bootstrap.servers": broker.bootstrap_servers}, [], folder / "worker") as worker,
        DagsterInstance.ephemeral() as instance,
    ):
        workspace = KafkaConnectWorkspace(url=worker.rest_url, bootstrap_servers=broker.bootstrap_servers)
        yield Cluster(workspace, broker.bootstrap_servers, instance, folder)


def output_metadata(result: ExecuteInProcessResult) -> dict[str, Any]:
    outputs = [event for event in result.all_node_events if event.event_type is DagsterEventType.STEP_OUTPUT]
    return {key: value.value for key, value in outputs[0].step_output_data.metadata.items()}


def measured(event: AssetCheckEvaluation | AssetObservation) -> Mapping[str, Any]:
    return {key: value.value for key, value in event.metadata.items()}


def test_s3_06_every_verb_is_done_when_its_run_is(cluster: Cluster) -> None:
    source = cluster.source("verbs")
    (cluster.folder / "verbs.txt").write_text("one\n")
    for verb, state in (("apply", "RUNNING"), ("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED")):
        cluster.run(verb, source)
        assert cluster.client.status(source.name).has_reached(State(state)), verb
        observed = cluster.instance.fetch_observations(connector_key("local", source.name), limit=1).records[0]
        assert observed.asset_observation
        assert observed.asset_observation.metadata["state"].value == state
    diff = output_metadata(cluster.run("apply", source, dry_run=True))["diff"]
    assert f"{source.name}: go from STOPPED to RUNNING" in diff
    cluster.run("delete", connectors=[source.name])
    assert cluster.client.info(source.name) is None


def test_s3_07_restart_brings_back_the_failed_task_alone(cluster: Cluster) -> None:
    topic = f"{cluster.mark}-restart"
    create(cluster.bootstrap_servers, topic, 2)
    sink = cluster.sink("restart", topic, tasks=2, on_start="fail no connection; ok *")
    cluster.run("apply", sink, wait=False)
    wait_until(lambda: cluster.client.status(sink.name).tasks_in(State.FAILED) == 2, "see both tasks fail", 60)
    assert call(cluster.workspace.url, "POST", f"/connectors/{sink.name}/tasks/0/restart").status == 204
    wait_until(lambda: cluster.client.status(sink.name).tasks_in(State.FAILED) == 1, "see one task come back", 60)
    cluster.run("restart", sink)
    assert cluster.client.status(sink.name).has_reached(State.RUNNING)
    starts = [entry["task"] for entry in cluster.calls("restart", "start")]
    assert (sorted(starts[:2]), starts[2:]) == ([0, 1], [0, 1])


def test_s3_11_a_reset_source_sends_everything_again_and_runs_on(cluster: Cluster) -> None:
    source = cluster.source("reset")
    (cluster.folder / "reset.txt").write_text("one\ntwo\nthree\n")
    cluster.run("apply", source)
    wait_until(lambda: cluster.client.offsets(source.name) != [], "see the source commit", 60)
    wait_until(lambda: size(cluster.bootstrap_servers, source.name) == 3, "see three records", 60)
    metadata = output_metadata(cluster.run("reset_offsets", connectors=[source.name]))
    partition = {"filename": str(cluster.folder / "reset.txt")}
    assert metadata["offsets_before"] == {"offsets": [{"partition": partition, "offset": {"position": 14}}]}
    assert metadata["offsets_after"] == {"offsets": []}
    assert cluster.client.status(source.name).has_reached(State.RUNNING)
    wait_until(lambda: size(cluster.bootstrap_servers, source.name) == 6, "see them again", 60)


def test_s3_11_altered_offsets_of_a_paused_sink_count_once_it_runs(cluster: Cluster) -> None:
    topic = f"{cluster.mark}-altered"
    create(cluster.bootstrap_servers, topic, 1)
    sink = cluster.sink("altered", topic)
    cluster.produce(topic, "a", "b", "c")
    cluster.run("apply", sink)
    committed = {"kafka_topic": topic, "kafka_partition": 0}
    wait_until(
        lambda: [entry.offset for entry in cluster.client.offsets(sink.name)] == [{"kafka_offset": 3}],
        "see the sink commit",
        60,
    )
    cluster.run("pause", sink)
    entries = [{"partition": committed, "offset": {"kafka_offset": 2}}]
    metadata = output_metadata(cluster.run("alter_offsets", connector=sink.name, offsets=entries))
    assert metadata["offsets_before"] == {"offsets": [{"partition": committed, "offset": {"kafka_offset": 3}}]}
    assert metadata["offsets_after"] == {"offsets": entries}
    assert cluster.client.status(sink.name).has_reached(State.PAUSED)
    cluster.run("resume", sink)

    def put() -> list[str]:
        return [record["value"] for call in cluster.calls("altered", "put") for record in call["records"]]

    wait_until(lambda: put() == ["a", "b", "c", "c"], "see the last record again", 60)


@pytest.mark.nightly
def test_s3_12_a_sink_that_dies_again_and_again(cluster: Cluster) -> None:
    topic = f"{cluster.mark}-dying"
    create(cluster.bootstrap_servers, topic, 1)
    cluster.produce(topic, "a")
    sink = cluster.sink("dying", topic, on_put="fail the disk is full *")
    jobs = build_kafka_connect_jobs(workspace=cluster.workspace, connectors=[sink])
    sensor = build_connector_sensor(
        workspace=cluster.workspace, spec=sink, jobs=jobs, max_attempts=2, back_off=BackOff(base=0.1, cap=0.2)
    )
    launched: list[str] = []
    events: list[object] = []
    cursor = None
    for _ in range(8):
        with dg.build_sensor_context(instance=cluster.instance, cursor=cursor) as context:
            tick = sensor.evaluate_tick(context)
        cursor = tick.cursor
        events += tick.asset_events
        for request in tick.run_requests or ():
            launched.append(f"{request.job_name} {request.run_key}")
            job = next(job for job in jobs if job.name == request.job_name)
            job.execute_in_process(
                run_config=request.run_config, tags=request.tags, instance=cluster.instance, raise_on_error=False
            )
            cluster.wait_failed(sink)

    key = f"local/{sink.name}"
    restarts = [f"kafka_connect_restart {key}:{number}" for number in (2, 3)]
    assert launched == [f"kafka_connect_apply {key}:1", *restarts]
    assert len(cluster.calls("dying", "start")) == 3
    (event,) = events
    assert isinstance(event, AssetObservation)
    assert event.description == f"Gave up on connector '{sink.name}' after 2 attempts: it or a task of it FAILED"

    checks = build_connector_state_checks(workspace=cluster.workspace, connectors=[sink.name])
    evaluation = cluster.evaluate(checks)["connector_state"]
    assert not evaluation.passed
    first_line = str(measured(evaluation)["error"])
    assert first_line.startswith("task 0: org.apache.kafka.connect.errors.ConnectException: ")
    assert "the disk is full" in str(measured(evaluation)["error_trace"])
    cluster.run("delete", connectors=[sink.name])


def test_checks_measure_lag_dead_letters_and_both_sides(cluster: Cluster) -> None:
    topic, letters = f"{cluster.mark}-checked", f"{cluster.mark}-letters"
    for name in (topic, letters):
        create(cluster.bootstrap_servers, name, 1)
    sink = cluster.sink("checked", topic, errors_tolerance="all", errors_deadletterqueue_topic_name=letters)
    cluster.run("apply", sink)
    file = cluster.folder / "sent.txt"
    file.write_text("a\nb\n")
    names = [sink.name]
    workspace = cluster.workspace
    data = build_connector_data_checks(
        workspace=workspace,
        connector=sink.name,
        source=FileLines(file),
        sink=TopicRecords(cluster.bootstrap_servers, topic),
    )
    checks = (
        build_connector_lag_checks(workspace=workspace, connectors=names, max_lag=1),
        build_dead_letter_checks(workspace=workspace, connectors=names),
        data,
    )

    cluster.produce(topic, "a", "b")
    wait_until(lambda: [one.offset for one in cluster.client.offsets(sink.name)] == [{"kafka_offset": 2}], "commit", 60)
    found = cluster.evaluate(*checks)
    assert {name: one.passed for name, one in found.items()} == {
        "connector_lag": True,
        "dead_letters": True,
        "source_matches_sink": True,
    }

    cluster.run("stop", sink)
    cluster.produce(letters, "not to be read")
    cluster.produce(topic, "c", "d")
    found = cluster.evaluate(*checks)
    assert {name: one.description for name, one in found.items()} == {
        "connector_lag": "2 records are not committed yet; 1 are allowed",
        "dead_letters": f"1 records were added to '{letters}'; 1 in all",
        "source_matches_sink": "2 rows in the source, 4 in the sink; 0 of 2 sampled keys are missing",
    }
    assert not any(one.passed for one in found.values())
    assert (
        measured(found["connector_lag"])["records_lag_total"],
        measured(found["dead_letters"])["dead_letter_growth"],
    ) == (2, 1)
    assert cluster.evaluate(checks[1])["dead_letters"].passed, "what was told once is told no more"
