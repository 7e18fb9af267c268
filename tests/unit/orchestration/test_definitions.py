"""All that is built from connectors' resources, and that it works together on a served worker."""

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster._core.execution.api import create_execution_plan

from connect_dagster.client.types import State
from connect_dagster.orchestration.assets.keys import connector_key, file_key, table_key, topic_key
from connect_dagster.orchestration.definitions import build_connector_definitions
from connect_dagster.orchestration.resources.bundled import (
    FileStreamSinkResource,
    FileStreamSourceResource,
    JdbcSourceResource,
)
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

VERBS = ("apply", "pause", "resume", "stop", "restart", "delete", "alter_offsets", "reset_offsets")


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        yield server


def source(workspace: KafkaConnectWorkspace, state: DesiredState = DesiredState.RUNNING) -> FileStreamSourceResource:
    return FileStreamSourceResource(
        workspace=workspace, name="access-log", file="/tmp/access.log", topic="log", state=state
    )


def sink(workspace: KafkaConnectWorkspace) -> FileStreamSinkResource:
    return FileStreamSinkResource(workspace=workspace, name="archive", file="/tmp/archive.txt", topics=["log"])


def test_two_connectors_are_one_line_from_file_to_file() -> None:
    workspace = KafkaConnectWorkspace(url=dg.EnvVar("NO_SUCH_URL"))
    defs = build_connector_definitions(source(workspace), sink(workspace))
    graph = defs.resolve_asset_graph()
    line = [
        file_key("/tmp/access.log"),
        connector_key("local", "access-log"),
        topic_key("log"),
        connector_key("local", "archive"),
        file_key("/tmp/archive.txt"),
    ]
    assert graph.get_all_asset_keys() == set(line)
    assert [graph.get(key).parent_keys for key in line] == [set(), *({key} for key in line[:-1])]
    assert graph.materializable_asset_keys == {line[1], line[3]}


def test_s3_08_a_repository_of_the_seeds_connectors_holds_one_connected_graph() -> None:
    workspace = KafkaConnectWorkspace()
    defs = build_connector_definitions(
        FileStreamSourceResource(
            workspace=workspace, name="nginx-accesslog-source", file="/logs/access.log", topic="nginx-accesslog"
        ),
        FileStreamSinkResource(
            workspace=workspace, name="nginx-accesslog-sink", file="/logs/access.log.sink", topics=["nginx-accesslog"]
        ),
        JdbcSourceResource(
            workspace=workspace,
            name="mysql-customers-source",
            connection_url="jdbc:mysql://mysql:3306/kafkadb",
            mode="bulk",
            table_whitelist=["customers"],
            topic_prefix="mysql-",
        ),
    )
    dg.Definitions.validate_loadable(defs)
    graph = defs.get_repository_def().asset_graph
    lines = [
        [
            file_key("/logs/access.log"),
            connector_key("local", "nginx-accesslog-source"),
            topic_key("nginx-accesslog"),
            connector_key("local", "nginx-accesslog-sink"),
            file_key("/logs/access.log.sink"),
        ],
        [
            table_key("mysql", ["kafkadb", "customers"]),
            connector_key("local", "mysql-customers-source"),
            topic_key("mysql-customers"),
        ],
    ]
    for line in lines:
        assert [graph.get(key).parent_keys for key in line] == [set(), *({key} for key in line[:-1])]
        assert [graph.get(key).child_keys for key in line] == [*({key} for key in line[1:]), set()]


def test_jobs_sensors_and_resources_are_named_after_verbs_and_connectors() -> None:
    workspace = KafkaConnectWorkspace()
    defs = build_connector_definitions(source(workspace), sink(workspace), job_prefix="logs")
    repository = defs.get_repository_def()
    assert {f"logs_{verb}" for verb in VERBS} <= set(repository.job_names)
    assert {sensor.name for sensor in repository.sensor_defs} == {
        "kafka_connect_local__access_log_sensor",
        "kafka_connect_local__archive_sensor",
    }
    assert {"access_log", "archive"} <= set(repository.get_top_level_resources())


def test_the_steps_of_assets_and_jobs_are_in_a_pool(server: ConnectServer) -> None:
    defs = build_connector_definitions(source(server.workspace), sink(server.workspace), pool="connect")
    jobs = [job for job in defs.jobs or () if isinstance(job, dg.JobDefinition)]
    steps = [step for job in jobs for step in create_execution_plan(job).step_dict.values()]
    assert [step.pool for step in steps] == ["connect"] * len(VERBS)
    applied = [one for one in defs.assets or () if isinstance(one, dg.AssetsDefinition)]
    assert [one.node_def.pools for one in applied] == [{"connect"}] * 2
    assert defs.resolve_job_def("kafka_connect_apply").execute_in_process().success
    assert server.workspace.get_client().status("archive").has_reached(State.RUNNING)
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="not a valid pool name"):
        build_connector_definitions(source(server.workspace), pool="a pool")


def test_what_others_write_is_left_to_them() -> None:
    workspace = KafkaConnectWorkspace(url="http://nowhere:8083")
    again = FileStreamSourceResource(workspace=workspace, name="again", file="/tmp/archive.txt", topic="copies")
    writer = build_connector_definitions(sink(workspace))
    refused = dg.Definitions.merge(writer, build_connector_definitions(again, job_prefix="reader"))
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="conflicting AssetSpecs"):
        dg.Definitions.validate_loadable(refused)
    reader = build_connector_definitions(again, job_prefix="reader", input_assets=False)
    graph = dg.Definitions.merge(writer, reader).resolve_asset_graph()
    file = file_key("/tmp/archive.txt")
    assert graph.get(file).parent_keys == {connector_key("local", "archive")}
    assert graph.get(file).child_keys == {connector_key("local", "again")}


def test_each_connector_has_checks() -> None:
    workspace = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")
    letters = FileStreamSinkResource(
        workspace=workspace, name="letters", topics=["log"], errors_deadletterqueue_topic_name="dead"
    )
    keys = build_connector_definitions(source(workspace), letters).resolve_asset_graph().asset_check_keys
    assert {(key.asset_key.path[-1], key.name) for key in keys} == {
        ("access-log", "connector_state"),
        ("access-log", "config_drift"),
        ("letters", "connector_state"),
        ("letters", "config_drift"),
        ("letters", "dead_letters"),
    }


def test_materialize_applies_and_reaches_the_declared_state(server: ConnectServer) -> None:
    defs = build_connector_definitions(source(server.workspace, DesiredState.PAUSED), sink(server.workspace))
    job = defs.resolve_implicit_global_asset_job_def()
    result = job.execute_in_process(asset_selection=[connector_key("local", "access-log")])
    assert result.success
    assert server.herder.targets == {"access-log": TargetState.PAUSED}


def test_the_resource_is_there_for_assets_of_ones_own(server: ConnectServer) -> None:
    @dg.asset(deps=[connector_key("local", "access-log")])
    def rotated(access_log: FileStreamSourceResource) -> None:
        access_log.stop()

    defs = dg.Definitions.merge(build_connector_definitions(source(server.workspace)), dg.Definitions(assets=[rotated]))
    assert defs.resolve_implicit_global_asset_job_def().execute_in_process().success
    assert server.herder.targets == {"access-log": TargetState.STOPPED}


def test_two_clusters_stand_side_by_side() -> None:
    here, there = KafkaConnectWorkspace(), KafkaConnectWorkspace(cluster="there", url="http://there:8083")
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="'access-log' and 'archive' have different workspaces"):
        build_connector_definitions(source(here), sink(there))
    defs = dg.Definitions.merge(
        build_connector_definitions(source(here)), build_connector_definitions(sink(there), job_prefix="there")
    )
    jobs = {job.name for job in defs.get_repository_def().get_all_jobs()}
    assert {"kafka_connect_apply", "there_apply", "kafka_connect_pause", "there_pause"} <= jobs
    graph = defs.resolve_asset_graph()
    assert graph.get(connector_key("there", "archive")).parent_keys == {topic_key("log")}
    assert graph.get(topic_key("log")).parent_keys == {connector_key("local", "access-log")}


def test_names_are_unique_and_there_is_at_least_one() -> None:
    workspace = KafkaConnectWorkspace()
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=r"\['access-log'\] are declared twice"):
        build_connector_definitions(source(workspace), source(workspace))
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="at least one connector"):
        build_connector_definitions()
