"""MirrorMaker's dedicated process as a resource, without brokers."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster import AssetObservation, DagsterInstance, DagsterRunStatus

from connect_dagster.orchestration import MirrorMakerResource, build_connect_worker_definitions
from connect_dagster.orchestration.assets.keys import worker_key
from connect_dagster.orchestration.workers import mirror_maker
from connect_dagster.orchestration.workers.group_topics import StoredStatus
from connect_dagster.orchestration.workers.job import PROCESS_TAG, REFUSED_TAG
from connect_dagster.orchestration.workers.mirror_maker import FlowsReport, FlowState, flows_metadata
from connect_dagster.orchestration.workers.process import WorkerProcess
from connect_dagster.orchestration.workers.run_process import RunProcess
from connect_dagster.protocol.states import State
from tests.unit.orchestration.workers.runs import NOW, add_run, observe_in, status_of, stop_the_clock

FILE = {
    "clusters": "eu, us",
    "eu.bootstrap.servers": "eu:9092",
    "us.bootstrap.servers": "us:9092",
    "us.security.protocol": "SSL",
    "eu->us.enabled": "true",
    "us->eu.emit.heartbeats.enabled": "false",
}
STARTED = "print('INFO Kafka MirrorMaker started with flows eu->us')\nsys.stdin.read()"


def resource(code: str = STARTED, **fields: Any) -> MirrorMakerResource:
    return MirrorMakerResource(
        **{"properties": FILE, "command": [sys.executable, "-u", "-c", f"import sys\n{code}"], **fields}
    )


def status(task: int | None, state: State) -> StoredStatus:
    return StoredStatus("MirrorSourceConnector", task, state, "host/eu->us/1", 3, "4.3.1", None)


def test_the_states_of_a_flow_are_on_its_target() -> None:
    (flow,) = resource().flows()
    assert (flow.flow, str(flow.brokers), flow.topic) == ("eu->us", "us:9092", "mm2-status.eu.internal")
    assert flow.brokers.properties["security.protocol"] == "SSL"


@pytest.mark.parametrize(
    ("provider", "password"),
    [
        ("org.apache.kafka.common.config.provider.FileConfigProvider", "kafka123"),
        ("company.vault.VaultConfigProvider", None),
    ],
    ids=["ours", "of java"],
)
def test_placeholders_are_replaced_where_the_provider_is_known(
    provider: str, password: str | None, tmp_path: Path
) -> None:
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("us=kafka123\n")
    placeholder = f"${{file:{secrets}:us}}"
    providers = {"config.providers": "file", "config.providers.file.class": provider}
    (flow,) = resource(properties={**FILE, **providers, "us.ssl.key.password": placeholder}).flows()
    assert flow.brokers.properties["ssl.key.password"] == (password or placeholder)


def test_without_a_file_it_has_no_properties_but_those_given() -> None:
    assert resource().effective_properties == FILE


def test_the_targets_are_arguments_and_part_of_the_configuration() -> None:
    chosen = resource(clusters=["us"])
    assert chosen.arguments == ["--clusters", "us"]
    assert resource().arguments == []
    assert chosen.generation != resource().generation


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"worker_properties": "none.properties"}, "Cannot read none.properties"),
        ({"properties": {"clusters": "eu"}}, "No source->target replication flows."),
        ({"clusters": ["asia"]}, "--clusters names asia, which is not in clusters=eu, us."),
    ],
)
def test_what_cannot_run_is_refused_in_one_sentence(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(dg.Failure, match=message):
        resource(**fields).flows()


def test_it_has_started_once_it_says_so() -> None:
    process = resource().start(60)
    try:
        assert process.has_announced
        assert process.is_alive()
    finally:
        process.stop(10)


def test_a_process_that_ends_instead_shows_its_last_words() -> None:
    with pytest.raises(dg.Failure, match="MirrorMaker ended before it had started: exit code 2") as failure:
        resource("print('Stopping due to error'); sys.exit(2)").start(60)
    assert "Stopping due to error" in str(failure.value.metadata["last_lines"].value)


def test_a_process_that_never_starts_is_ended() -> None:
    with pytest.raises(dg.Failure, match="MirrorMaker did not start within 1 s"):
        resource("sys.stdin.read()").start(1)


def test_flows_are_counted_and_those_that_cannot_be_read_are_said() -> None:
    states = [status(None, State.RUNNING), status(0, State.RUNNING), status(1, State.FAILED)]
    metadata = flows_metadata({"eu->us": states, "us->eu": "Topic 'mm2-status.us.internal' does not exist."})
    numbers = ("flow_count", "connector_count", "connectors_failed", "task_count", "tasks_failed")
    assert [metadata[name] for name in numbers] == [2, 1, 0, 2, 1]
    (row,) = metadata["flows"].records
    assert row.data == {"flow": "eu->us", "connectors": 1, "tasks": 2, "running": 1, "failed": 1}
    assert metadata["error"] == "eu->us MirrorSourceConnector-1: no trace"
    assert metadata["flows_error"] == "us->eu: Topic 'mm2-status.us.internal' does not exist."


def test_a_connector_without_a_state_is_named() -> None:
    """A configuration that is refused leaves nothing but a line in the log of the process."""
    wanted = {"eu->us": ["MirrorSourceConnector", "MirrorCheckpointConnector"], "us->eu": ["MirrorSourceConnector"]}
    metadata = flows_metadata({"eu->us": [status(None, State.RUNNING)], "us->eu": "no broker"}, {}, wanted)
    assert metadata["connectors_missing"] == "eu->us MirrorCheckpointConnector"
    assert "connectors_missing" not in flows_metadata({"eu->us": [status(None, State.RUNNING)]}, {}, {})


def test_why_a_task_failed_is_said_without_secrets() -> None:
    failed = replace(status(1, State.FAILED), trace="ConnectException: refused for kafka123\n\tat somewhere")
    metadata = flows_metadata({"eu->us": [status(0, State.RUNNING), failed]}, {"us.sasl.password": "kafka123"})
    assert metadata["error"] == "eu->us MirrorSourceConnector-1: ConnectException: refused for ********"
    assert "error" not in flows_metadata({"eu->us": [status(0, State.RUNNING)]})


def test_a_run_hosts_it_and_reports_its_flows_until_it_ends(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []

    def statuses(_: object, topic: str, __: float) -> tuple[StoredStatus, ...]:
        asked.append(topic)
        return (status(None, State.RUNNING), status(0, State.RUNNING))

    monkeypatch.setattr(mirror_maker, "read_statuses", statuses)
    ends = "import time\nprint('Kafka MirrorMaker started')\ntime.sleep(1)\nsys.exit(2)"
    defs = build_connect_worker_definitions(workers={"mirror": resource(ends)}, job_name="mirror_maker")
    result = defs.resolve_job_def("mirror_maker").execute_in_process(instance=instance, raise_on_error=False)
    assert status_of(instance, result.dagster_run) is DagsterRunStatus.FAILURE
    found = instance.fetch_observations(worker_key("mirror"), limit=10).records
    last, first = (record.asset_observation for record in (found[0], found[-1]))
    assert isinstance(first, AssetObservation)
    assert isinstance(last, AssetObservation)
    assert (first.metadata["task_count"].value, first.metadata["worker_running"].value) == (1, 1)
    assert last.metadata["exit"].value == "exit code 2"
    assert set(asked) == {"mm2-status.eu.internal"}


def test_a_second_run_is_refused_while_an_earlier_one_may_live(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes without an internal REST API cannot hand each other the configurations of tasks."""
    stop_the_clock(monkeypatch)
    ends = "print('Kafka MirrorMaker started')\nsys.exit(2)"
    defs = build_connect_worker_definitions(workers={"mirror": resource(ends)}, job_name="mirror_maker")

    def description() -> str:
        result = defs.resolve_job_def("mirror_maker").execute_in_process(instance=instance, raise_on_error=False)
        (event,) = result.get_step_failure_events()
        data = event.step_failure_data.user_failure_data
        run = instance.get_run_by_id(result.run_id)
        assert data is not None
        assert run is not None
        assert (REFUSED_TAG in run.tags) is ("hosts" in str(data.description))
        return str(data.description)

    earlier = add_run(instance, DagsterRunStatus.STARTED, worker_id="mirror", age=60.0)
    assert description() == f"Run {earlier.run_id[:8]} hosts 'mirror' already; terminate it first."
    process = RunProcess.current()
    if process is not None:
        instance.add_run_tags(earlier.run_id, {PROCESS_TAG: replace(process, start=process.start - 1).text()})
        assert description().startswith("MirrorMaker ended before it had started")
    observe_in(instance, earlier, NOW, worker_id="mirror", worker_running=1)
    instance.add_run_tags(earlier.run_id, {PROCESS_TAG: ""})
    # The refused run is the newest one, and the process lives in the other.
    sensor = defs.resolve_sensor_def("mirror_maker__keepalive_sensor")
    with dg.build_sensor_context(instance=instance) as context:
        tick = sensor.evaluate_tick(context)
    assert (tick.run_requests, tick.skip_message) == ([], f"mirror: Alive in run {earlier.run_id[:8]}")


def test_the_sensor_of_its_job_keeps_it_alive(instance: DagsterInstance) -> None:
    defs = build_connect_worker_definitions(workers={"mirror": resource()}, job_name="mirror_maker")
    sensor = defs.resolve_sensor_def("mirror_maker__keepalive_sensor")
    with dg.build_sensor_context(instance=instance) as context:
        (request,) = sensor.evaluate_tick(context).run_requests or ()
    assert request.tags["connect-dagster/worker_id"] == "mirror"


def test_a_report_does_not_need_the_file_any_more(tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text("\n".join(f"{name}={value}" for name, value in FILE.items()))
    report = resource(properties={}, worker_properties=str(file)).report()
    file.unlink()
    assert isinstance(report, FlowsReport)
    assert [type(flow) for flow in report.flows] == [FlowState]
    process = WorkerProcess.spawn([sys.executable, "-c", ""])
    process.wait(30)
    process.stop(1)
    assert report.ended(process)["exit"] == "exit code 0"
