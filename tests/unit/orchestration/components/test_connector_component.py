"""Declared connectors in YAML, on a served worker."""

from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg
import pytest
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing.test_cases import TestTranslation
from dagster.components.testing.utils import component_defs, create_defs_folder_sandbox

from connect_dagster.orchestration import KafkaConnectApplyConfig, KafkaConnectWorkspace
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.orchestration.components import KafkaConnectConnectorComponent
from connect_dagster.orchestration.event_iterator import KafkaConnectEvent
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.components.sandbox import loaded, scaffolded
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

KEY = connector_key("local", "src")
SOURCE = {
    "name": "src",
    "connector_class": CLASS,
    "config": {"file": "/tmp/in.txt", "topic": "lines", "batch.size": 100, "fast": True, "db.password": {"env": "PW"}},
}
SINK_FILE = "name=snk\nconnector.class=FileStreamSink\ntopics=lines\nfile=/tmp/out.txt\n"


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        yield server


def attributes(server: ConnectServer | None = None, **more: Any) -> dict[str, Any]:
    workspace = {"url": server.workspace.url if server else "http://nowhere:8083", "poll_interval": 0.02}
    return {"workspace": workspace, "connectors": [SOURCE], **more}


def test_what_is_scaffolded_loads() -> None:
    with scaffolded(KafkaConnectConnectorComponent, url="http://c:8083", cluster="prod") as (component, defs):
        assert component.workspace == KafkaConnectWorkspace(url="http://c:8083", cluster="prod")
        assert defs.resolve_asset_graph().materializable_asset_keys == {connector_key("prod", "local-file-source")}


def test_a_connector_stands_in_yaml_or_in_a_file_beside_it() -> None:
    given = attributes(connectors=[SOURCE, {"file": "snk.properties", "state": "paused"}])
    with loaded(KafkaConnectConnectorComponent, given, {"snk.properties": SINK_FILE}) as (component, defs):
        source, sink = component.connectors
        assert source.declared_config() == {
            "name": "src",
            "connector.class": CLASS,
            "tasks.max": "1",
            "file": "/tmp/in.txt",
            "topic": "lines",
            "batch.size": "100",
            "fast": "true",
            "db.password": "${env:PW}",
        }
        assert (sink.name, sink.config["topics"], sink.state) == ("snk", "lines", DesiredState.PAUSED)
        graph = defs.resolve_asset_graph()
        assert graph.get(connector_key("local", "snk")).parent_keys == {topic_key("lines")}
        assert graph.get(topic_key("lines")).parent_keys == {KEY}


def test_jobs_are_named_after_the_folder_or_as_told() -> None:
    with loaded(KafkaConnectConnectorComponent, attributes()) as (_, defs):
        repository = defs.get_repository_def()
        assert {"kafka_connect_ingest_apply", "kafka_connect_ingest_pause"} <= set(repository.job_names)
        assert {sensor.name: sensor.default_status for sensor in repository.sensor_defs} == {
            "kafka_connect_local__src_sensor": dg.DefaultSensorStatus.RUNNING,
            "kafka_connect_local__ingest_status_sensor": dg.DefaultSensorStatus.RUNNING,
        }
    quiet = attributes(job_prefix="shop", sensors_running=False, sensor_interval_seconds=5, polling_sensor=False)
    with loaded(KafkaConnectConnectorComponent, quiet) as (_, defs):
        repository = defs.get_repository_def()
        assert "shop_apply" in repository.job_names
        (sensor,) = repository.sensor_defs
        assert (sensor.minimum_interval_seconds, sensor.default_status) == (5, dg.DefaultSensorStatus.STOPPED)


def test_a_folder_may_have_a_name_that_dagster_does_not_take() -> None:
    with loaded(KafkaConnectConnectorComponent, attributes(), folder="shop-orders") as (_, defs):
        assert "kafka_connect_shop_orders_apply" in defs.get_repository_def().job_names


def test_a_dry_run_tells_and_apply_twice_changes_once(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "geheim99")
    with loaded(KafkaConnectConnectorComponent, attributes(server)) as (_, defs):
        job = defs.resolve_job_def("kafka_connect_ingest_apply")

        def diff(**config: Any) -> str:
            result = job.execute_in_process(run_config={"ops": {"kafka_connect_apply_op": {"config": config}}})
            (output,) = (event.step_output_data for event in result.all_events if event.is_successful_output)
            return str(output.metadata["diff"].value)

        told = diff(dry_run=True)
        assert told.startswith("```diff\nsrc: create\n")
        assert "db.password=********" in told
        assert server.herder.configs == {}
        assert diff() == told
        assert server.herder.configs["src"]["db.password"] == "geheim99"
        assert diff() == "```diff\nsrc: no change\n```"


def test_the_polling_sensor_reports_its_own_connectors_alone(server: ConnectServer) -> None:
    server.create("src", topic="lines")
    server.create("other", topic="lines")
    given = attributes(server, translation={"key_prefix": "raw"})
    with loaded(KafkaConnectConnectorComponent, given) as (_, defs), dg.DagsterInstance.ephemeral() as instance:
        sensor = defs.get_sensor_def("kafka_connect_local__ingest_status_sensor")
        with dg.build_sensor_context(instance=instance) as context:
            events = sensor.evaluate_tick(context).asset_events
    assert KEY.with_prefix("raw") in {event.asset_key for event in events}
    assert not any("other" in event.asset_key.path for event in events)


def test_materialize_applies(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PW", "geheim99")
    stopped = attributes(server, connectors=[SOURCE | {"state": "STOPPED"}])
    with loaded(KafkaConnectConnectorComponent, stopped) as (_, defs):
        result = defs.resolve_implicit_global_asset_job_def().execute_in_process()
        assert [event.asset_key for event in result.get_asset_materialization_events()] == [KEY]
    assert server.herder.targets == {"src": TargetState.STOPPED}


def test_a_location_loads_without_its_cluster_or_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PW", raising=False)
    workspace = {"url": {"env": "NO_SUCH_URL"}, "password": {"env": "NO_SUCH"}, "headers": {"X-Token": {"env": "NO"}}}
    with loaded(KafkaConnectConnectorComponent, attributes(workspace=workspace)) as (component, _):
        assert component.workspace.password == dg.EnvVar("NO_SUCH")
        assert isinstance(component.workspace.headers["X-Token"], dg.EnvVar)


def test_templates_are_resolved_when_definitions_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOPIC", "orders")
    source = SOURCE | {"config": {"topic": "{{ env.TOPIC }}"}, "tasks_max": "{{ 1 + 1 }}"}
    with loaded(KafkaConnectConnectorComponent, attributes(connectors=[source])) as (component, _):
        (spec,) = component.connectors
        assert (spec.config["topic"], spec.tasks_max) == ("orders", 2)


@pytest.mark.parametrize(
    ("connector", "sentence"),
    [
        (SOURCE | {"state": "ASLEEP"}, "state of connector 'src' must be one of RUNNING, PAUSED, STOPPED, but is 'AS"),
        ({"file": "none.json"}, "none.json"),
        (SOURCE | {"tasks": 2}, "tasks"),
    ],
    ids=["state", "file", "field"],
)
def test_what_is_wrong_is_said_when_definitions_load(connector: dict[str, Any], sentence: str) -> None:
    given = attributes(connectors=[connector])
    with pytest.raises(ComponentTreeException) as error, loaded(KafkaConnectConnectorComponent, given):
        pass
    assert sentence in f"{error.value}{error.value.__cause__}"


class TestConnectorTranslation(TestTranslation):
    """What YAML's `translation` can say of an asset: Dagster's own suite."""

    def test_translation(
        self,
        attributes: dict[str, Any],
        assertion: Callable[[dg.AssetSpec], bool],
        key_modifier: Callable[[dg.AssetKey], dg.AssetKey] | None,
    ) -> None:
        given = {"workspace": {}, "connectors": [SOURCE], "translation": attributes}
        with loaded(KafkaConnectConnectorComponent, given) as (_, defs):
            key = key_modifier(KEY) if key_modifier else KEY
            assert assertion(defs.get_assets_def(key).get_asset_spec(key))


def test_data_has_a_translation_of_its_own() -> None:
    given = attributes(
        translation={"group_name": "ingest"}, data_translation={"key_prefix": "raw", "group_name": "data"}
    )
    with loaded(KafkaConnectConnectorComponent, given) as (_, defs):
        specs = {spec.key: spec for spec in defs.resolve_all_asset_specs()}
        topic = topic_key("lines").with_prefix("raw")
        assert (specs[KEY].group_name, specs[topic].group_name) == ("ingest", "data")
        assert [dep.asset_key for dep in specs[topic].deps] == [KEY]
        assert [dep.asset_key.path[0] for dep in specs[KEY].deps] == ["raw"]


class OwnedConnectors(KafkaConnectConnectorComponent):
    def get_asset_spec(self, props: Any) -> dg.AssetSpec:
        return super().get_asset_spec(props).replace_attributes(owners=["team:shop"])

    def execute(
        self, context: dg.AssetExecutionContext, config: KafkaConnectApplyConfig, kafka_connect: KafkaConnectWorkspace
    ) -> Iterator[KafkaConnectEvent]:
        for event in super().execute(context, config, kafka_connect):
            context.log.info("told")
            yield event


def test_a_subclass_changes_assets_and_what_materialize_does(
    server: ConnectServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PW", "geheim99")
    workspace = server.workspace
    component = OwnedConnectors.resolve_from_dict({"workspace": {"url": workspace.url}, "connectors": [SOURCE]})
    defs = component_defs(component=component)
    spec = defs.get_assets_def(KEY).get_asset_spec(KEY)
    assert spec.owners == ["team:shop"]
    assert defs.resolve_implicit_global_asset_job_def().execute_in_process().success


def test_the_pool_of_its_steps() -> None:
    with loaded(KafkaConnectConnectorComponent, attributes(pool="connect")) as (_, defs):
        (applied,) = (one for one in defs.assets or () if isinstance(one, dg.AssetsDefinition))
        assert applied.node_def.pools == {"connect"}
        assert defs.resolve_job_def("kafka_connect_ingest_restart").graph.node_defs[0].pools == {"connect"}


def test_components_that_write_and_read_one_file_load() -> None:
    source = {"name": "again", "connector_class": CLASS, "config": {"file": "/tmp/out.txt", "topic": "copies"}}
    sink = {"name": "snk", "connector_class": "FileStreamSink", "config": {"file": "/tmp/out.txt", "topics": "lines"}}
    with create_defs_folder_sandbox() as sandbox:
        for name, connector, input_assets in (("reader", source, False), ("writer", sink, True)):
            given = attributes(connectors=[connector], input_assets=input_assets)
            sandbox.scaffold_component(
                component_cls=KafkaConnectConnectorComponent,
                defs_path=name,
                defs_yaml_contents={"type": "connect_dagster.KafkaConnectConnectorComponent", "attributes": given},
            )
        with sandbox.build_all_defs() as defs:
            graph = defs.resolve_asset_graph()
            assert graph.get(file_key("/tmp/out.txt")).parent_keys == {connector_key("local", "snk")}
            assert graph.get(file_key("/tmp/out.txt")).child_keys == {connector_key("local", "again")}
