"""Connectors, topics, tables and files as one graph, declared or loaded from a served worker."""

import json
from collections.abc import Iterable
from pathlib import Path

import dagster as dg
import pytest
from dagster import AssetKey, AssetSpec
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType
from dagster._core.definitions.repository_definition import RepositoryLoadData
from dagster._core.remote_representation.external_data import RepositorySnap

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration import (
    DagsterKafkaConnectTranslator,
    KafkaConnectConnectorProps,
    KafkaConnectConnectorSpec,
    KafkaConnectDatasetProps,
    KafkaConnectTopicProps,
    KafkaConnectWorkspace,
    build_kafka_connect_asset_specs,
    build_kafka_connect_assets_definitions,
    load_kafka_connect_asset_specs,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key, table_key, topic_key
from tests.unit.client.test_lineage import DEBEZIUM, JDBC_SINK
from tests.unit.orchestration.connect_server import connect_server

# Seed 001's connectors.
ACCESS_LOG = {
    "name": "nginx-accesslog-source",
    "connector.class": "FileStreamSource",
    "file": "/var/log/nginx/access.log",
    "topic": "nginx-accesslog",
}
ACCESS_LOG_SINK = {
    "name": "nginx-accesslog-sink",
    "connector.class": "FileStreamSink",
    "file": "/var/log/nginx/access.log.sink",
    "topics": "nginx-accesslog",
}
CUSTOMERS = {
    "name": "mysql-time-incre-source",
    "connector.class": "io.confluent.connect.jdbc.JdbcSourceConnector",
    "connection.url": "jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=kafka123",
    "table.whitelist": "customers",
    "mode": "timestamp+incrementing",
    "topic.prefix": "mysql-",
}
WORKSPACE = KafkaConnectWorkspace(bootstrap_servers="127.0.0.1:9092")


def declared(
    *configs: dict[str, str], translator: DagsterKafkaConnectTranslator | None = None
) -> dict[AssetKey, AssetSpec]:
    specs = build_kafka_connect_asset_specs(
        workspace=WORKSPACE,
        connectors=[KafkaConnectConnectorSpec.from_config(config) for config in configs],
        dagster_kafka_connect_translator=translator,
    )
    return {spec.key: spec for spec in specs}


def deps(specs: Iterable[AssetSpec]) -> dict[AssetKey, set[AssetKey]]:
    return {spec.key: {dep.asset_key for dep in spec.deps} for spec in specs}


def test_s3_08_the_demos_graph_is_connected_from_file_to_file() -> None:
    source, sink = (connector_key("local", f"nginx-accesslog-{end}") for end in ("source", "sink"))
    assert deps(declared(ACCESS_LOG, ACCESS_LOG_SINK).values()) == {
        file_key("/var/log/nginx/access.log"): set(),
        source: {file_key("/var/log/nginx/access.log")},
        topic_key("nginx-accesslog"): {source},
        sink: {topic_key("nginx-accesslog")},
        file_key("/var/log/nginx/access.log.sink"): {sink},
    }


def test_s3_08_the_jdbc_graph_leads_from_the_table_to_prefix_and_table() -> None:
    connector = connector_key("local", "mysql-time-incre-source")
    specs = declared(CUSTOMERS)
    assert deps(specs.values()) == {
        table_key("mysql", ["kafkadb", "customers"]): set(),
        connector: {table_key("mysql", ["kafkadb", "customers"])},
        topic_key("mysql-customers"): {connector},
    }
    table = specs[table_key("mysql", ["kafkadb", "customers"])]
    assert table.metadata == {"dagster/table_name": "kafkadb.customers", "dagster/storage_kind": "mysql"}
    assert specs[topic_key("mysql-customers")].metadata["dagster/uri"] == "kafka://127.0.0.1:9092/mysql-customers"


def test_a_table_reaches_another_database_through_two_connectors() -> None:
    products = {**CUSTOMERS, "table.whitelist": "products", "connection.url": "jdbc:mariadb://h/kafkadb"}
    graph = deps(declared(products, JDBC_SINK).values())
    path = [table_key("postgres", ["shop", "public", "products"])]
    sink = {**JDBC_SINK, "table.name.format": "products"}
    graph = deps(declared(products, sink).values())
    while before := graph[path[0]]:
        path.insert(0, before.pop())
    assert [key.to_user_string() for key in path] == [
        "mariadb/kafkadb/products",
        "connect/local/mysql-time-incre-source",
        "kafka/mysql-products",
        "connect/local/products",
        "postgres/shop/public/products",
    ]


def test_a_topic_of_two_sources_depends_on_both() -> None:
    specs = declared(ACCESS_LOG, {**ACCESS_LOG, "name": "second"})
    assert {dep.asset_key.path[-1] for dep in specs[topic_key("nginx-accesslog")].deps} == {
        "nginx-accesslog-source",
        "second",
    }


def test_a_connectors_asset_shows_all_about_it_but_its_secrets() -> None:
    spec = declared(CUSTOMERS)[connector_key("local", "mysql-time-incre-source")]
    assert (spec.kinds, spec.group_name) == ({"kafka", "mysql"}, "connect")
    assert spec.tags["connect-dagster/connector_type"] == "source"
    assert spec.tags["connect-dagster/plugin"] == "JdbcSourceConnector"
    url = "http://127.0.0.1:8083/connectors/mysql-time-incre-source"
    assert spec.metadata["dagster/uri"] == spec.metadata["connect-dagster/rest_url"].value == url
    config = spec.metadata["connect-dagster/config"].value
    assert config["connection.url"] == "jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=********"
    assert "kafka123" not in str(spec)


def test_the_code_version_follows_the_configuration_and_no_secret() -> None:
    key = connector_key("local", "mysql-time-incre-source")
    versions = [
        declared(config)[key].code_version
        for config in (
            CUSTOMERS,
            dict(reversed(CUSTOMERS.items())),
            {**CUSTOMERS, "connection.url": CUSTOMERS["connection.url"].replace("kafka123", "other")},
            {**CUSTOMERS, "mode": "bulk"},
        )
    ]
    assert versions[0] == versions[1] == versions[2] != versions[3]


class Renaming(DagsterKafkaConnectTranslator):
    """Topics below `bus`, connectors owned by a team."""

    def get_asset_spec(self, props: KafkaConnectConnectorProps | KafkaConnectDatasetProps) -> AssetSpec:
        spec = super().get_asset_spec(props)
        if isinstance(props, KafkaConnectTopicProps):
            return spec.replace_attributes(key=AssetKey(["bus", props.topic]))
        return spec.replace_attributes(owners=["team:shop"])


def test_a_translators_keys_join_the_graph() -> None:
    specs = declared(ACCESS_LOG, ACCESS_LOG_SINK, translator=Renaming())
    assert {dep.asset_key for dep in specs[connector_key("local", "nginx-accesslog-sink")].deps} == {
        AssetKey(["bus", "nginx-accesslog"])
    }
    assert specs[connector_key("local", "nginx-accesslog-sink")].owners == ["team:shop"]


def test_what_a_cluster_has_is_loaded_with_the_topics_it_used() -> None:
    with connect_server() as server:
        server.create("lines", file="/tmp/in.txt", topic="lines")
        server.create("other", topic="others")
        server.herder.topics["lines"] = ["lines", "lines-2"]
        specs = load_kafka_connect_asset_specs(
            workspace=server.workspace, connector_selector_fn=lambda props: props.name == "lines"
        )
        assert deps(server.workspace.load_asset_specs()).keys() > {spec.key for spec in specs}
    assert {spec.key for spec in specs} == {
        file_key("/tmp/in.txt"),
        connector_key("local", "lines"),
        topic_key("lines"),
        topic_key("lines-2"),
    }


def test_a_snapshot_serves_the_last_state_when_the_cluster_is_down(tmp_path: Path) -> None:
    snapshot = tmp_path / "connect.json"
    with connect_server() as server:
        server.create("lines", topic="lines", connection_password="kafka123")
        loaded = load_kafka_connect_asset_specs(workspace=server.workspace, snapshot_path=snapshot)
        workspace = server.workspace
    assert load_kafka_connect_asset_specs(workspace=workspace, snapshot_path=snapshot) == loaded
    seen = workspace.get_or_fetch_workspace_data(snapshot_path=snapshot)
    assert seen.connectors
    assert json.loads(snapshot.read_text())["connectors"][0]["name"] == "lines"
    assert "kafka123" not in snapshot.read_text()


def test_a_run_loads_what_its_location_has_loaded_and_does_not_ask_again() -> None:
    at_start = DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)
    with connect_server() as server, DefinitionsLoadContext.scoped(at_start):
        server.create("lines", topic="lines", connection_password="kafka123")
        loaded = load_kafka_connect_asset_specs(workspace=server.workspace)
        workspace = server.workspace
    handed_on = RepositoryLoadData({}, at_start.get_pending_reconstruction_metadata())
    assert "kafka123" not in dg.serialize_value(handed_on)
    in_run = DefinitionsLoadContext(DefinitionsLoadType.RECONSTRUCTION, handed_on)
    with DefinitionsLoadContext.scoped(in_run):
        assert load_kafka_connect_asset_specs(workspace=workspace) == loaded


def test_s3_03_a_locations_snapshot_for_the_ui_holds_no_secret() -> None:
    defs = build_kafka_connect_assets_definitions(
        workspace=WORKSPACE, connectors=[KafkaConnectConnectorSpec.from_config(CUSTOMERS)]
    )
    snapshot = dg.serialize_value(RepositorySnap.from_def(defs.get_repository_def()))
    assert "mysql-customers" in snapshot
    assert "jdbc:mysql://localhost:3306/kafkadb?user=kafka&password=********" in snapshot
    assert "kafka123" not in snapshot


@pytest.mark.parametrize("snapshot", [None, "missing.json"])
def test_without_cluster_and_snapshot_the_location_fails_with_one_sentence(
    snapshot: str | None, tmp_path: Path
) -> None:
    workspace = KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}", request_max_retries=0)
    path = tmp_path / snapshot if snapshot else None
    with pytest.raises(dg.Failure) as failure:
        load_kafka_connect_asset_specs(workspace=workspace, snapshot_path=path)
    reason = f"The connectors of cluster 'local' cannot be loaded: No Kafka Connect worker responds at {workspace.url}"
    assert str(failure.value.description).startswith(reason)
    assert "\n" not in str(failure.value.description)


def test_debeziums_many_tables_are_one_asset_each() -> None:
    specs = declared(DEBEZIUM)
    assert {key for key in specs if key.path[0] == "mysql"} == {
        table_key("mysql", ["ops", "customers"]),
        table_key("mysql", ["ops", "products"]),
    }
