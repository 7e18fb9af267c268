"""Connectors as assets that can be materialised, on a served worker."""

import time
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterInstance

from connect_dagster.herder.interface import ConnectorOffset
from connect_dagster.orchestration import (
    KafkaConnectApplyConfig,
    KafkaConnectConnectorSpec,
    KafkaConnectWorkspace,
    build_kafka_connect_assets_definitions,
    kafka_connect_assets,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.plugin.connector_file import DesiredState
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

LINES = KafkaConnectConnectorSpec(
    "lines", CLASS, {"file": "/tmp/in.txt", "topic": "lines", "connection.password": "kafka123"}
)
KEY = connector_key("local", "lines")


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        yield server


def lines_assets(workspace: KafkaConnectWorkspace, **how: Any) -> dg.AssetsDefinition:
    @kafka_connect_assets(workspace=workspace, **how)
    def lines(
        context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig, kafka_connect: KafkaConnectWorkspace
    ) -> Iterator[Any]:
        yield from kafka_connect.apply_and_poll(context, config).fetch_offsets()

    return lines


def materialize(
    assets: dg.AssetsDefinition, workspace: KafkaConnectWorkspace, **config: Any
) -> dg.ExecuteInProcessResult:
    return dg.materialize(
        [assets],
        resources={"kafka_connect": workspace},
        run_config={"ops": {"kafka_connect_local_lines": {"config": config}}},
        raise_on_error=False,
    )


def failure(result: dg.ExecuteInProcessResult) -> str:
    data = result.get_step_failure_events()[0].step_failure_data
    assert data.user_failure_data is not None
    return str(data.user_failure_data.description)


def test_materialising_creates_a_declared_connector_and_twice_changes_nothing(server: ConnectServer) -> None:
    assets = lines_assets(server.workspace, connector=LINES)
    result = materialize(assets, server.workspace)
    assert server.herder.configs["lines"]["connection.password"] == "kafka123"
    (event,) = result.get_asset_materialization_events()
    metadata = event.materialization.metadata
    assert event.asset_key == KEY
    assert (metadata["state"].value, metadata["offset_total"].value) == ("RUNNING", 0)
    assert materialize(assets, server.workspace).success
    assert server.herder.restarts == []
    assert "kafka123" not in str(list(result.all_events))


def test_a_changed_configuration_is_applied_and_a_failed_task_restarted(server: ConnectServer) -> None:
    server.create("lines", file="/tmp/other.txt")
    server.herder.fail("lines")
    assert materialize(lines_assets(server.workspace, connector=LINES), server.workspace).success
    assert server.herder.configs["lines"]["file"] == "/tmp/in.txt"
    assert server.herder.task_states


def test_the_runs_configuration_can_ask_for_another_state(server: ConnectServer) -> None:
    assets = lines_assets(server.workspace, connector=LINES)
    assert materialize(assets, server.workspace, state=DesiredState.PAUSED.value).success
    assert server.workspace.get_client().status("lines").connector.state.value == "PAUSED"


def test_a_connector_the_cluster_has_is_started_as_it_is(server: ConnectServer) -> None:
    config = server.create("lines", topic="lines")
    server.herder.pause_connector("lines")
    assert materialize(lines_assets(server.workspace, connector_name="lines"), server.workspace).success
    assert server.workspace.get_client().status("lines").connector.state.value == "RUNNING"
    assert server.herder.configs["lines"] == config


def test_a_connector_that_does_not_get_there_fails_the_run_with_its_trace(server: ConnectServer) -> None:
    server.create("lines")
    server.herder.fail("lines", trace="java.io.IOException: no such file\n at x", forever=True)
    result = materialize(lines_assets(server.workspace, connector_name="lines"), server.workspace, timeout=0.3)
    assert failure(result) == (
        "Connector 'lines' did not reach RUNNING: RUNNING, task 0 FAILED. task 0: java.io.IOException: no such file"
    )


def test_a_refused_configuration_fails_the_run_with_the_workers_words(server: ConnectServer) -> None:
    refused = KafkaConnectConnectorSpec("lines", CLASS, {"topic": "lines"})
    result = materialize(lines_assets(server.workspace, connector=refused), server.workspace)
    assert failure(result).startswith("The worker refuses the configuration of connector 'lines': file: ")


def test_no_worker_fails_the_run_with_one_sentence() -> None:
    workspace = KafkaConnectWorkspace(url="http://127.0.0.1:1", request_max_retries=0)
    result = materialize(lines_assets(workspace, connector=LINES), workspace)
    assert failure(result) == "No Kafka Connect worker responds at http://127.0.0.1:1: connection refused or broken"


@pytest.mark.parametrize("how", [{}, {"connector": LINES, "connector_name": "lines"}], ids=["neither", "both"])
def test_a_connector_is_declared_or_named(how: dict[str, Any]) -> None:
    with pytest.raises(dg.DagsterInvariantViolationError, match="either connector, a declaration, or connector_name"):
        kafka_connect_assets(workspace=KafkaConnectWorkspace(), **how)


def test_a_name_the_cluster_does_not_have_is_said(server: ConnectServer) -> None:
    with pytest.raises(dg.DagsterInvariantViolationError, match="Cluster 'local' has no connector 'nobody'"):
        kafka_connect_assets(workspace=server.workspace, connector_name="nobody")


def test_assets_of_another_kind_are_refused(server: ConnectServer) -> None:
    @dg.asset
    def other(context: dg.AssetExecutionContext) -> None:
        next(server.workspace.apply_and_poll(context))

    with pytest.raises(dg.DagsterInvariantViolationError, match="Were they defined by @kafka_connect_assets"):
        dg.materialize([other])


def test_definitions_hold_connectors_to_materialise_and_their_data(server: ConnectServer) -> None:
    defs = build_kafka_connect_assets_definitions(workspace=server.workspace, connectors=[LINES])
    graph = defs.resolve_asset_graph()
    assert graph.executable_asset_keys == {KEY}
    assert graph.get_all_asset_keys() == {KEY, file_key("/tmp/in.txt"), topic_key("lines")}
    assert graph.get(topic_key("lines")).parent_keys == {KEY}


def test_a_job_over_connectors_of_a_cluster_needs_no_resource_key(server: ConnectServer) -> None:
    server.create("lines", topic="lines")
    server.herder.offsets["lines"] = [ConnectorOffset({"filename": "/tmp/in.txt"}, {"position": 7})]
    defs = dg.Definitions.merge(
        build_kafka_connect_assets_definitions(workspace=server.workspace),
        dg.Definitions(jobs=[dg.define_asset_job("apply", selection=dg.AssetSelection.assets(KEY))]),
    )
    with DagsterInstance.ephemeral() as instance:
        assert defs.resolve_job_def("apply").execute_in_process(instance=instance).success
        event = instance.get_latest_materialization_event(KEY)
    assert event is not None
    assert event.asset_materialization is not None
    assert event.asset_materialization.metadata["offset_total"].value == 7


def test_without_a_bound_of_its_own_a_run_waits_as_long_as_the_workspace_says(server: ConnectServer) -> None:
    """The served worker's is 2 s; a minute more would be the bound of somebody else."""
    server.create("lines", file="/tmp/in.txt", topic="lines")
    server.herder.fail("lines", forever=True)
    began = time.monotonic()
    result = materialize(lines_assets(server.workspace, connector_name="lines"), server.workspace)
    assert "did not reach RUNNING" in failure(result)
    assert time.monotonic() - began < 20.0
