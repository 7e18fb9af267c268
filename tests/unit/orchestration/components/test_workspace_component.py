"""The connectors a cluster has, in YAML: what it answers is kept, and serves while it is down."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType
from dagster._utils.env import environ
from dagster.components.core.component_tree import ComponentTreeException
from dagster.components.testing.test_cases import TestTranslation
from dagster.components.testing.utils import DefsFolderSandbox, create_defs_folder_sandbox

from connect_dagster.client.rest_client import KafkaConnectError
from connect_dagster.orchestration import KafkaConnectWorkspaceComponent
from connect_dagster.orchestration.assets.keys import connector_key, file_key, topic_key
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.components.sandbox import loaded, scaffolded
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

SOURCE, SINK = connector_key("prod", "src"), connector_key("prod", "snk")


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("src", topic="lines", database_password="geheim99")
        server.create("snk", TargetState.PAUSED, connector_class="FileStreamSink", topics="lines", file="/tmp/out.txt")
        yield server


@contextmanager
def project() -> Iterator[tuple[DefsFolderSandbox, Callable[..., dg.Definitions]]]:
    """A project, and its definitions as `dg dev` loads them, each time anew."""
    with create_defs_folder_sandbox() as sandbox, environ({"DAGSTER_IS_DEV_CLI": "1"}):

        def definitions(url: str, **attributes: Any) -> dg.Definitions:
            workspace = {"url": url, "cluster": "prod", "request_max_retries": 0}
            contents = {
                "type": "connect_dagster.KafkaConnectWorkspaceComponent",
                "attributes": {"workspace": workspace, **attributes},
            }
            path = sandbox.scaffold_component(
                component_cls=KafkaConnectWorkspaceComponent, defs_path="cluster", defs_yaml_contents=contents
            )
            DefinitionsLoadContext.set(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION))
            with sandbox.load_component_and_build_defs(defs_path=path) as (_, defs):
                return defs

        yield sandbox, definitions


def test_mirrored_clusters_need_an_alias_and_brokers(server: ConnectServer) -> None:
    with project() as (_, definitions):
        source = {"kafka_cluster": "eu", "bootstrap_servers": "eu:9092"}
        assert list(definitions(server.workspace.url, mirror_sources=[source]).sensors or ())
        with pytest.raises(ComponentTreeException) as raised:
            definitions(server.workspace.url, mirror_sources=[{"bootstrap_servers": "eu:9092"}])
        assert "needs kafka_cluster" in str(raised.value.__cause__)


def test_what_is_scaffolded_loads_without_a_cluster() -> None:
    with scaffolded(KafkaConnectWorkspaceComponent, url="http://c:8083", cluster="prod") as (component, defs):
        assert (component.workspace.url, component.workspace.cluster) == ("http://c:8083", "prod")
        assert component.defs_state_config.key == "KafkaConnectWorkspaceComponent[prod]"
        assert defs.resolve_asset_graph().get_all_asset_keys() == set()


def test_connectors_are_assets_between_what_they_read_and_write(server: ConnectServer) -> None:
    with project() as (_, definitions):
        defs = definitions(server.workspace.url)
        graph = defs.resolve_asset_graph()
        assert graph.materializable_asset_keys == {SOURCE, SINK}
        assert graph.get(SINK).parent_keys == {topic_key("lines")}
        assert graph.get(topic_key("lines")).parent_keys == {SOURCE}
        assert graph.get(file_key("/tmp/out.txt")).parent_keys == {SINK}
        repository = defs.get_repository_def()
        assert "kafka_connect_pause" in repository.job_names
        assert [sensor.name for sensor in repository.sensor_defs] == ["kafka_connect_prod__connector_status_sensor"]


def test_the_pool_of_its_steps(server: ConnectServer) -> None:
    with project() as (_, definitions):
        defs = definitions(server.workspace.url, pool="connect")
        applied = [one for one in defs.assets or () if isinstance(one, dg.AssetsDefinition)]
        assert [one.node_def.pools for one in applied] == [{"connect"}] * 2
        assert defs.resolve_job_def("kafka_connect_restart").graph.node_defs[0].pools == {"connect"}


def test_a_cluster_that_is_down_is_shown_as_it_was_last_seen(
    server: ConnectServer, caplog: pytest.LogCaptureFixture
) -> None:
    nobody = "http://127.0.0.1:9"
    with project() as (_, definitions):
        assert definitions(nobody).resolve_asset_graph().get_all_asset_keys() == set()
        assert "Connectors of cluster 'prod' are shown as they were last seen: No Kafka Connect worker" in caplog.text
        seen = definitions(server.workspace.url).resolve_asset_graph().get_all_asset_keys()
        assert SOURCE in seen
        for _ in range(2):
            assert definitions(nobody).resolve_asset_graph().get_all_asset_keys() == seen


def test_the_state_holds_no_secrets(server: ConnectServer) -> None:
    with project() as (sandbox, definitions):
        definitions(server.workspace.url)
        states = [file for file in Path(sandbox.project_root).rglob("*") if file.is_file()]
        texts = {file.name: file.read_text() for file in states}
        assert any('"name":"src"' in text for text in texts.values())
        assert not any("geheim99" in text for text in texts.values())


def test_refreshing_by_hand_says_that_the_cluster_is_down(server: ConnectServer) -> None:
    component = KafkaConnectWorkspaceComponent.resolve_from_dict(
        {"workspace": {"url": "http://127.0.0.1:9", "request_max_retries": 0}}
    )
    with pytest.raises(KafkaConnectError, match="No Kafka Connect worker responds"):
        asyncio.run(component.refresh_state(Path("/nonexistent")))


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ({"by_name": ["snk"]}, {SINK}),
        ({"by_type": "source"}, {SOURCE}),
        ({"by_pattern": ["s?c", "x*"]}, {SOURCE}),
        ({"by_pattern": ["s*"], "by_type": "sink"}, {SINK}),
        ({"by_name": ["src"], "by_type": "sink"}, set()),
    ],
    ids=["name", "type", "pattern", "pattern and type", "name and type"],
)
def test_a_selector_chooses_connectors(server: ConnectServer, selector: dict[str, Any], expected: set[Any]) -> None:
    with project() as (_, definitions):
        defs = definitions(server.workspace.url, connector_selector=selector, polling_sensor=False, job_prefix="shop")
        assert defs.resolve_asset_graph().materializable_asset_keys == expected
        assert list(defs.get_repository_def().sensor_defs) == []
        assert "shop_pause" in defs.get_repository_def().job_names


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        ({}, "connector_selector needs by_name, by_pattern or by_type"),
        ({"by_type": "topic"}, "by_type"),
        ({"by_regex": "s.*"}, "by_regex"),
    ],
)
def test_a_selector_that_selects_by_nothing_is_refused(selector: dict[str, Any], sentence: str) -> None:
    given = {"workspace": {}, "connector_selector": selector}
    with pytest.raises(ComponentTreeException) as raised, loaded(KafkaConnectWorkspaceComponent, given):
        pass
    assert sentence in f"{raised.value}{raised.value.__cause__}"


def test_materialize_has_a_connector_run(server: ConnectServer) -> None:
    with project() as (_, definitions):
        job = definitions(server.workspace.url).resolve_implicit_global_asset_job_def()
        assert job.execute_in_process(asset_selection=[SINK]).success
    assert server.herder.targets["snk"] is TargetState.STARTED


class TestWorkspaceTranslation(TestTranslation):
    """What YAML's `translation` can say of an asset: Dagster's own suite."""

    def test_translation(
        self,
        server: ConnectServer,
        attributes: dict[str, Any],
        assertion: Callable[[dg.AssetSpec], bool],
        key_modifier: Callable[[dg.AssetKey], dg.AssetKey] | None,
    ) -> None:
        with project() as (_, definitions):
            defs = definitions(server.workspace.url, translation=attributes)
            key = key_modifier(SOURCE) if key_modifier else SOURCE
            assert assertion(defs.get_assets_def(key).get_asset_spec(key))
