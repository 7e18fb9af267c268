"""The jobs, launched as the Launchpad offers them, on a served worker."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from threading import Thread
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterEventType, DagsterInstance, ExecuteInProcessResult, TableMetadataValue
from dagster._core.errors import DagsterExecutionInterruptedError

from connect_dagster.client.masking import MASK
from connect_dagster.embedded.ports import free_port
from connect_dagster.herder.interface import ConnectorOffset, RestartRequest
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

PLACE = {"table": "kafkadb.products"}
Run = Callable[..., ExecuteInProcessResult]


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        yield server


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


@pytest.fixture(name="run")
def run_fixture(server: ConnectServer, instance: DagsterInstance) -> Run:
    """Runs the job of a verb; without config, as the Launchpad offers it."""

    def run(verb: str, *declared: KafkaConnectConnectorSpec, raises: bool = True, **config: Any) -> Any:
        jobs = {job.name: job for job in build_kafka_connect_jobs(workspace=server.workspace, connectors=declared)}
        job = jobs[f"kafka_connect_{verb}"]
        run_config = {"ops": {f"{job.name}_op": {"config": config}}} if config else None
        return job.execute_in_process(run_config=run_config, instance=instance, raise_on_error=raises)

    return run


def output_metadata(result: ExecuteInProcessResult) -> dict[str, Any]:
    outputs = [event for event in result.all_node_events if event.event_type is DagsterEventType.STEP_OUTPUT]
    metadata = outputs[0].step_output_data.metadata
    return {key: value if isinstance(value, TableMetadataValue) else value.value for key, value in metadata.items()}


def states(result: ExecuteInProcessResult) -> dict[str, tuple[Any, Any]]:
    rows = [record.data for record in output_metadata(result)["states"].records]
    return {str(row["connector"]): (row["before"], row["after"]) for row in rows}


def observed(instance: DagsterInstance, connector: str) -> Mapping[str, Any]:
    record = instance.fetch_observations(connector_key("local", connector), limit=1).records[0]
    assert record.asset_observation is not None
    return {name: value.value for name, value in record.asset_observation.metadata.items()}


def test_pause_stop_and_resume_go_to_all_connectors_by_default(server: ConnectServer, run: Run) -> None:
    server.create("a", tasks_max="2")
    server.create("b", TargetState.STOPPED)
    assert states(run("pause")) == {
        "a": ("RUNNING, task 0 RUNNING, task 1 RUNNING", "PAUSED, task 0 PAUSED, task 1 PAUSED"),
        "b": ("STOPPED", "PAUSED, task 0 PAUSED"),
    }
    assert states(run("stop"))["a"][1] == "STOPPED"
    assert states(run("resume"))["b"] == ("STOPPED", "RUNNING, task 0 RUNNING")


def test_the_state_is_observed_at_once(server: ConnectServer, run: Run, instance: DagsterInstance) -> None:
    server.create("a")
    run("pause", connectors=["a"])
    assert (observed(instance, "a")["state"], observed(instance, "a")["tasks_running"]) == ("PAUSED", 0)


def test_s3_06_the_failure_names_those_that_did_not_get_there(server: ConnectServer, run: Run) -> None:
    server.create("a")
    server.create("b")
    server.herder.stuck.add("b")
    begin = time.monotonic()
    with pytest.raises(dg.Failure) as failure:
        run("pause", timeout=0.2)
    assert failure.value.metadata.keys() == {"states"}
    assert failure.value.description == "1 of 2 connectors did not reach PAUSED: 'b': RUNNING, task 0 RUNNING"
    assert time.monotonic() - begin < 30


def test_an_unknown_name_stops_the_run_before_anything_is_done(server: ConnectServer, run: Run) -> None:
    server.create("mysql-products")
    server.create("other")
    with pytest.raises(dg.Failure) as failure:
        run("pause", connectors=["other", "mysql-product"])
    assert failure.value.description == (
        f"The cluster 'local' at {server.workspace.url} has no connector 'mysql-product' (did you mean "
        "'mysql-products'?). It has: mysql-products, other. Nothing was done."
    )
    assert server.herder.targets["other"] is TargetState.STARTED


def test_a_cluster_without_connectors_is_no_success(server: ConnectServer, run: Run) -> None:
    with pytest.raises(dg.Failure) as failure:
        run("restart")
    assert str(failure.value.description).endswith("has no connectors, so there is nothing to restart.")


def test_a_worker_that_is_down_is_one_sentence(instance: DagsterInstance) -> None:
    workspace = KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}", request_max_retries=0)
    job = next(job for job in build_kafka_connect_jobs(workspace=workspace) if job.name.endswith("_pause"))
    with pytest.raises(dg.Failure) as failure:
        job.execute_in_process(instance=instance)
    assert str(failure.value.description).startswith(f"No Kafka Connect worker responds at {workspace.url}: ")


@pytest.mark.parametrize("verb", ["delete", "reset_offsets", "alter_offsets"])
def test_what_cannot_be_undone_needs_names(server: ConnectServer, run: Run, verb: str) -> None:
    server.create("a", TargetState.STOPPED)
    server.herder.offsets["a"] = [ConnectorOffset(PLACE, {"position": 7})]
    with pytest.raises(
        dg.Failure, match=r"^Name the connectors to .*: there are defaults only for operations that can be undone"
    ):
        run(verb, KafkaConnectConnectorSpec("a", CLASS))
    assert (server.herder.connectors(), len(server.herder.offsets["a"])) == (["a"], 1)


def test_s3_07_restart_sends_only_failed_with_tasks_by_default(server: ConnectServer, run: Run) -> None:
    server.create("a", tasks_max="2")
    server.create("resting", TargetState.PAUSED)
    server.herder.fail("a", 1)
    result = run("restart")
    assert states(result)["a"] == ("RUNNING, task 0 RUNNING, task 1 FAILED", "RUNNING, task 0 RUNNING, task 1 RUNNING")
    assert states(result)["resting"][1] == "PAUSED, task 0 PAUSED", "a restart is no resume"
    assert server.herder.restarts == [
        RestartRequest(name, only_failed=True, include_tasks=True) for name in ("a", "resting")
    ]


def test_s3_07_a_task_that_fails_again_fails_the_run(server: ConnectServer, run: Run) -> None:
    server.create("a")
    server.herder.fail("a", forever=True)
    with pytest.raises(dg.Failure, match="1 of 1 connectors did not reach RUNNING: 'a': RUNNING, task 0 FAILED"):
        run("restart", timeout=0.1)


def test_restart_of_everything_is_a_matter_of_config(server: ConnectServer, run: Run) -> None:
    server.create("a")
    run("restart", connectors=["a"], only_failed=False)
    assert server.herder.restarts == [RestartRequest("a", only_failed=False, include_tasks=True)]


def test_delete_deletes_what_is_named(server: ConnectServer, run: Run, instance: DagsterInstance) -> None:
    server.create("a")
    server.create("b")
    assert states(run("delete", connectors=["a"])) == {"a": ("RUNNING, task 0 RUNNING", "DELETED")}
    assert server.herder.connectors() == ["b"]
    assert observed(instance, "a") == {"state": "DELETED"}
    server.herder.stuck.add("b")
    with pytest.raises(dg.Failure, match="1 of 1 connectors were not deleted: 'b': it is still there"):
        run("delete", connectors=["b"], timeout=0.1)


@pytest.mark.parametrize(
    ("former", "config", "latter"),
    [
        (TargetState.STARTED, {}, TargetState.STARTED),
        (TargetState.PAUSED, {}, TargetState.PAUSED),
        (TargetState.STOPPED, {}, TargetState.STOPPED),
        (TargetState.STARTED, {"afterwards": "STOPPED"}, TargetState.STOPPED),
    ],
)
def test_s3_11_reset_stops_forgets_and_goes_back(
    server: ConnectServer,
    run: Run,
    instance: DagsterInstance,
    former: TargetState,
    config: dict[str, str],
    latter: TargetState,
) -> None:
    server.create("a", former)
    server.herder.offsets["a"] = [ConnectorOffset(PLACE, {"timestamp": 1642904785000})]
    metadata = output_metadata(run("reset_offsets", connectors=["a"], **config))
    assert metadata["offsets_before"] == {"offsets": [{"partition": PLACE, "offset": {"timestamp": 1642904785000}}]}
    assert metadata["offsets_after"] == {"offsets": []}
    assert metadata["message"] == "The offsets of a have been reset successfully"
    assert server.herder.targets["a"] is latter
    assert observed(instance, "a")["offsets_before"] == metadata["offsets_before"]


def test_alter_sets_what_is_named_and_leaves_the_rest(server: ConnectServer, run: Run) -> None:
    server.create("a")
    other = {"table": "kafkadb.orders"}
    server.herder.offsets["a"] = [ConnectorOffset(PLACE, {"timestamp": 7}), ConnectorOffset(other, {"timestamp": 8})]
    entries = [{"partition": PLACE, "offset": {"timestamp": 1}}]
    metadata = output_metadata(run("alter_offsets", connector="a", offsets=entries))
    after = {str(entry["partition"]): entry["offset"] for entry in metadata["offsets_after"]["offsets"]}
    assert after == {str(PLACE): {"timestamp": 1}, str(other): {"timestamp": 8}}
    assert server.herder.targets["a"] is TargetState.STARTED


def test_alter_without_offsets_does_nothing(server: ConnectServer, run: Run) -> None:
    server.create("a")
    with pytest.raises(dg.Failure, match="The list `offsets` is empty"):
        run("alter_offsets", connector="a")


def test_a_connector_that_does_not_stop_is_asked_to_go_on(server: ConnectServer, run: Run) -> None:
    server.create("a")
    server.herder.stuck.add("a")
    with pytest.raises(dg.Failure, match=r"'a' is not STOPPED after 0.1 s: RUNNING, task 0 RUNNING"):
        run("reset_offsets", connectors=["a"], timeout=0.1)
    assert server.herder.asked == [("a", TargetState.STOPPED), ("a", TargetState.STARTED)]


def test_apply_creates_changes_and_is_done(server: ConnectServer, run: Run) -> None:
    server.create("changed", file="/tmp/former.txt")
    declared = [
        KafkaConnectConnectorSpec("changed", CLASS, {"file": "/tmp/latter.txt"}),
        KafkaConnectConnectorSpec("new", CLASS, {"file": "/tmp/new.txt"}, state=DesiredState.PAUSED),
    ]
    result = run("apply", *declared)
    assert states(result) == {
        "changed": ("RUNNING", "RUNNING, task 0 RUNNING"),
        "new": ("not there", "PAUSED, task 0 PAUSED"),
    }
    assert server.herder.configs["changed"]["file"] == "/tmp/latter.txt"
    assert "changed: no change\nnew: no change" in output_metadata(run("apply", *declared))["diff"]


def test_apply_restarts_what_failed(server: ConnectServer, run: Run) -> None:
    config = server.create("a")
    server.herder.fail("a")
    result = run("apply", KafkaConnectConnectorSpec.from_config(config))
    assert "a: restart what FAILED" in output_metadata(result)["diff"]
    assert states(result)["a"][1] == "RUNNING, task 0 RUNNING"


def test_a_dry_run_prints_the_difference_and_changes_nothing(server: ConnectServer, run: Run) -> None:
    server.create("a", connection_pin="1234")
    declared = KafkaConnectConnectorSpec("a", CLASS, {"file": "/tmp/b", "connection.pin": "5678"})
    metadata = output_metadata(run("apply", declared, dry_run=True))
    lines = ["a: change", f"  - connection.pin={MASK}", f"  + connection.pin={MASK}"]
    assert "\n".join([*lines, "  - file=/tmp/in.txt", "  + file=/tmp/b"]) in metadata["diff"]
    assert server.herder.configs["a"]["file"] == "/tmp/in.txt"


def test_a_refused_configuration_keeps_all_others_back(server: ConnectServer, run: Run) -> None:
    good, bad = KafkaConnectConnectorSpec("good", CLASS, {"file": "f"}), KafkaConnectConnectorSpec("bad", CLASS)
    with pytest.raises(dg.Failure, match=r"refuses the configuration of connector 'bad': file: .* Nothing was changed"):
        run("apply", good, bad)
    assert server.herder.connectors() == []


def test_apply_can_bring_connectors_to_another_state_for_once(server: ConnectServer, run: Run) -> None:
    server.create("a", TargetState.PAUSED)
    result = run("apply", KafkaConnectConnectorSpec("a", CLASS, {"file": "/tmp/b"}), state="PAUSED")
    assert states(result)["a"] == ("PAUSED", "PAUSED, task 0 PAUSED")
    assert output_metadata(result)["diff"].startswith("```diff\na: change\n")
    assert (server.herder.configs["a"]["file"], server.herder.asked) == ("/tmp/b", [])


def test_what_is_not_declared_cannot_be_applied(run: Run) -> None:
    with pytest.raises(dg.Failure, match=r"^The project has no connector 'line' \(did you mean 'lines'\?\)"):
        run("apply", KafkaConnectConnectorSpec("lines", CLASS), connectors=["line"])


def test_without_declarations_there_is_no_apply(server: ConnectServer) -> None:
    names = [job.name for job in build_kafka_connect_jobs(workspace=server.workspace, prefix="second")]
    verbs = ("pause", "resume", "stop", "restart", "delete", "alter_offsets", "reset_offsets")
    assert names == [f"second_{verb}" for verb in verbs]


def test_a_run_that_is_interrupted_while_offsets_change_sends_the_connector_back(
    server: ConnectServer, run: Run
) -> None:
    """As Terminate does it: an exception that no `except Exception` sees, out of a wait."""
    server.create("a")
    server.herder.stuck.add("a")
    begin = time.monotonic()
    Thread(target=_interrupt_who_waits, args=[server], daemon=True).start()
    with pytest.raises(DagsterExecutionInterruptedError):
        run("reset_offsets", connectors=["a"], timeout=60.0)
    assert time.monotonic() - begin < 30
    assert server.herder.asked == [("a", TargetState.STOPPED), ("a", TargetState.STARTED)]


def _interrupt_who_waits(server: ConnectServer) -> None:
    """Send SIGINT to this process once a run looks again and again whether a connector is where it is to be."""
    while server.herder.looks < 5:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
