"""Checks as a user builds them, executed in runs on a served worker."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import dagster as dg
import pytest
from dagster import AssetCheckEvaluation, AssetCheckSeverity, DagsterInstance

from connect_dagster.client.masking import MASK
from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.checks.config_drift import build_connector_config_drift_checks
from connect_dagster.orchestration.checks.data import FileLines, build_connector_data_checks
from connect_dagster.orchestration.checks.dead_letters import build_dead_letter_checks
from connect_dagster.orchestration.checks.lag import build_connector_lag_checks
from connect_dagster.orchestration.checks.state import build_connector_state_checks
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server, pin_is_secret

Evaluate = Callable[[Sequence[dg.AssetChecksDefinition]], dict[str, AssetCheckEvaluation]]


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        yield server


@pytest.fixture(name="evaluate")
def evaluate_fixture() -> Iterator[Evaluate]:
    """Executes checks in a run, on external assets; answers their outcomes by connector."""
    with DagsterInstance.ephemeral() as instance:

        def evaluate(checks: Sequence[dg.AssetChecksDefinition]) -> dict[str, AssetCheckEvaluation]:
            assets = [dg.AssetSpec(connector_key("local", name)) for name in ("a", "b", "c")]
            defs = dg.Definitions(
                assets=assets,
                asset_checks=checks,
                jobs=[dg.define_asset_job("checks", selection=dg.AssetSelection.all_asset_checks())],
            )
            result = defs.resolve_job_def("checks").execute_in_process(instance=instance)
            return {one.asset_key.path[-1]: one for one in result.get_asset_check_evaluations()}

        yield evaluate


def measured(evaluation: AssetCheckEvaluation) -> dict[str, object]:
    return {key: value.value for key, value in evaluation.metadata.items()}


def test_s3_12_a_failed_task_fails_the_check_with_line_and_trace(server: ConnectServer, evaluate: Evaluate) -> None:
    server.create("a", tasks_max="2", connection_password="hunter22")
    server.create("b")
    trace = "org.apache.kafka.connect.errors.ConnectException: refused for hunter22\n\tat Sink.put(Sink.java:7)"
    server.herder.fail("a", 1, trace=trace)
    server.herder.pause_connector("b")
    found = evaluate(build_connector_state_checks(workspace=server.workspace, connectors=["a", "b", "c"]))
    assert {name: (one.passed, one.description) for name, one in found.items()} == {
        "a": (
            False,
            f"1 of 2 tasks FAILED: task 1: org.apache.kafka.connect.errors.ConnectException: refused for {MASK}",
        ),
        "b": (True, "PAUSED, task 0 PAUSED"),
        "c": (False, "The cluster 'local' has no connector 'c'"),
    }
    metadata = measured(found["a"])
    assert metadata["error"] == f"task 1: org.apache.kafka.connect.errors.ConnectException: refused for {MASK}"
    assert "at Sink.put(Sink.java:7)" in str(metadata["error_trace"])
    assert (metadata["tasks_failed"], metadata["tasks_running"], metadata["task_count"]) == (1, 1, 2)


def test_s3_03_a_trace_that_quotes_what_only_the_plugin_knows_as_secret_loses_it(
    server: ConnectServer, evaluate: Evaluate
) -> None:
    server.herder.plugin_config = pin_is_secret  # type: ignore[method-assign]
    server.create("a", connection_pin="hunter22")
    server.herder.fail("a", trace="ConnectException: refused for hunter22")
    found = evaluate(build_connector_state_checks(workspace=server.workspace, connectors=["a"]))["a"]
    assert measured(found)["error"] == f"task 0: ConnectException: refused for {MASK}"
    assert "hunter22" not in f"{found.description} {measured(found)}"


def test_a_worker_that_is_down_fails_the_check_in_one_sentence(evaluate: Evaluate) -> None:
    workspace = KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}", request_max_retries=0)
    found = evaluate(build_connector_state_checks(workspace=workspace, connectors=["a"]))
    assert str(found["a"].description).startswith(f"No Kafka Connect worker responds at {workspace.url}")


def test_drift_shows_what_differs_without_secrets(server: ConnectServer, evaluate: Evaluate) -> None:
    server.create("a", connection_pin="1234")
    same = KafkaConnectConnectorSpec("b", CLASS, {"file": "/tmp/in.txt"})
    server.create("b")
    declared = [KafkaConnectConnectorSpec("a", CLASS, {"file": "/tmp/b", "connection.pin": "5678"}), same]
    found = evaluate(build_connector_config_drift_checks(workspace=server.workspace, connectors=declared))
    assert (found["b"].passed, measured(found["b"])) == (True, {"changed_keys": 0})
    assert found["a"].description == "2 keys are not as declared: connection.pin, file"
    assert measured(found["a"])["changed_keys"] == 2
    assert f"- connection.pin={MASK}\n+ connection.pin={MASK}" in str(measured(found["a"])["diff"])


def test_a_declaration_that_would_be_refused_is_drift(server: ConnectServer, evaluate: Evaluate) -> None:
    declared = [KafkaConnectConnectorSpec("a", CLASS), KafkaConnectConnectorSpec("b", CLASS, {"file": "f"})]
    found = evaluate(build_connector_config_drift_checks(workspace=server.workspace, connectors=declared))
    assert "refuses the configuration of connector 'a': file:" in str(found["a"].description)
    assert found["b"].description == "The cluster has no connector 'b'"


def test_lag_that_cannot_be_measured_warns(server: ConnectServer, evaluate: Evaluate) -> None:
    server.create("a", topics="lines")
    server.create("b", topic="lines")
    nobody = f"127.0.0.1:{free_port()}"
    workspace = KafkaConnectWorkspace(url=server.workspace.url, bootstrap_servers=nobody)
    found = evaluate(build_connector_lag_checks(workspace=workspace, connectors=["a", "b"], max_lag=5))
    assert (found["a"].passed, found["a"].severity) == (False, AssetCheckSeverity.WARN)
    assert found["b"].description == "A source has no lag"


@pytest.mark.parametrize(
    ("what", "build"),
    [("lag", partial(build_connector_lag_checks, max_lag=0)), ("dead letters", build_dead_letter_checks)],
)
def test_what_asks_the_brokers_needs_them(what: str, build: Callable[..., object]) -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=f"^Checks of {what} ask the brokers: give bootstrap"):
        build(workspace=KafkaConnectWorkspace(), connectors=["a"])


def test_all_checks_of_all_connectors_stand_in_one_location(server: ConnectServer) -> None:
    workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
    checks = [
        check
        for names in (["a"], ["b", "c"])
        for built in (
            build_connector_state_checks(workspace=workspace, connectors=names),
            build_connector_lag_checks(workspace=workspace, connectors=names, max_lag=1),
            build_dead_letter_checks(workspace=workspace, connectors=names),
            build_connector_data_checks(
                workspace=workspace, connector=names[0], source=FileLines("in"), sink=FileLines("out")
            ),
        )
        for check in built
    ]
    dg.Definitions(asset_checks=checks).get_repository_def().load_all_definitions()
    assert build_connector_state_checks(workspace=workspace, connectors=[]) == []
