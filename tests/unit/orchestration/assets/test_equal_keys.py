"""Clusters and databases with equal names in one code location: what is refused, and how they are kept apart."""

import logging
from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey, AssetSpec
from dagster._core.definitions.definitions_load_context import DefinitionsLoadContext, DefinitionsLoadType

from connect_dagster.orchestration import (
    ConnectWorkerResource,
    DagsterKafkaConnectTranslator,
    KafkaConnectConnectorProps,
    KafkaConnectConnectorSpec,
    KafkaConnectDatasetProps,
    KafkaConnectTableProps,
    KafkaConnectWorkspace,
    build_connect_group_assets,
    build_kafka_connect_asset_specs,
    build_kafka_connect_assets_definitions,
    load_kafka_connect_asset_specs,
)
from tests.unit.orchestration.connect_server import connect_server

EU, US = "eu:9092", "us:9092"


def source(name: str) -> KafkaConnectConnectorSpec:
    return KafkaConnectConnectorSpec(name, "FileStreamSource", {"file": f"/{name}.txt", "topic": "orders"})


def sink(name: str) -> KafkaConnectConnectorSpec:
    return KafkaConnectConnectorSpec(name, "FileStreamSink", {"file": f"/{name}.txt", "topics": "orders"})


def table_sink(name: str, server: str) -> KafkaConnectConnectorSpec:
    url = f"jdbc:postgresql://{server}/shop"
    config = {"connection.url": url, "topics": name, "table.name.format": "orders"}
    return KafkaConnectConnectorSpec(name, "JdbcSink", config)


def workspace(cluster: str, brokers: str | None, **fields: Any) -> KafkaConnectWorkspace:
    return KafkaConnectWorkspace(url=f"http://{cluster}:8083", cluster=cluster, bootstrap_servers=brokers, **fields)


def keys(specs: Any) -> set[str]:
    return {spec.key.to_user_string() for spec in specs}


@pytest.fixture
def load() -> Iterator[None]:
    """The load of one code location."""
    with DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)):
        yield


@pytest.mark.parametrize("build", [build_kafka_connect_asset_specs, build_kafka_connect_assets_definitions])
def test_a_topic_on_two_clusters_is_warned_of_with_both(
    load: None, build: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The sink's asset depended on the other cluster's topic; of two sources Dagster showed two long specs."""
    build(workspace=workspace("one", EU), connectors=[source("writer")])
    assert caplog.messages == []
    build(workspace=workspace("two", US), connectors=[sink("reader")])
    assert caplog.messages == [
        "The asset key kafka/orders is of connector 'writer' of cluster 'one' (Kafka at eu:9092) and of connector "
        "'reader' of cluster 'two' (Kafka at us:9092): give one of the workspaces a `data_key_prefix`, or another key "
        "by a DagsterKafkaConnectTranslator; if both servers are one, set its allow_equal_keys"
    ]


def test_a_table_on_two_servers_is_refused_in_one_cluster() -> None:
    """Both sinks fed one asset."""
    connectors = [table_sink("one", "a:5432"), table_sink("two", "b:5432")]
    with pytest.raises(
        dg.DagsterInvalidDefinitionError, match=r"\(postgres at a:5432\) and of .* \(postgres at b:5432\)"
    ):
        build_kafka_connect_asset_specs(workspace=KafkaConnectWorkspace(), connectors=connectors)


def test_two_clusters_of_one_name_are_warned_of(load: None, caplog: pytest.LogCaptureFixture) -> None:
    """Failed: a URL with a user was another cluster than the one without."""

    def build(url: str) -> None:
        build_kafka_connect_asset_specs(workspace=KafkaConnectWorkspace(url=url), connectors=[source("lines")])

    build("http://a:8083")
    build("http://a:8083/")
    build("http://me:secret@a:8083")
    assert caplog.messages == []
    build("http://b:8083")
    (told,) = caplog.messages
    assert "give one of the workspaces a `cluster` of another name" in told


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("k1:9092", "k1:9092"),
        ("k1:9092,k2:9092", "K2:9092, k3:9092"),
        ("k1:9092", "k1"),
        ("127.0.0.1:9092", "localhost:9092"),
        ("localhost:9092", "[::1]:9092"),
        (None, "k1:9092"),
        ("${env:BROKERS}", "k1:9092"),
    ],
)
def test_what_may_be_one_cluster_is_one(
    load: None, caplog: pytest.LogCaptureFixture, one: str | None, other: str
) -> None:
    """Failed: localhost and 127.0.0.1 were two."""
    specs = [
        *build_kafka_connect_asset_specs(workspace=workspace("one", one), connectors=[source("writer")]),
        *build_kafka_connect_asset_specs(workspace=workspace("two", other), connectors=[sink("reader")]),
    ]
    assert keys(specs) > {"kafka/orders", "connect/one/writer", "connect/two/reader"}
    assert caplog.messages == []


def test_definitions_that_are_not_of_one_load_have_nothing_to_do_with_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for cluster, brokers in (("one", EU), ("two", US)):
        with DefinitionsLoadContext.scoped(DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)):
            build_kafka_connect_asset_specs(workspace=workspace(cluster, brokers), connectors=[source("writer")])
    assert caplog.messages == []


def test_a_prefix_keeps_the_data_of_clusters_apart(load: None, caplog: pytest.LogCaptureFixture) -> None:
    one = build_kafka_connect_assets_definitions(workspace=workspace("one", EU), connectors=[source("writer")])
    two = build_kafka_connect_assets_definitions(
        workspace=workspace("two", US, data_key_prefix=["us", "west"]), connectors=[source("writer"), sink("reader")]
    )
    assert caplog.messages == []
    graph = dg.Definitions.merge(one, two).resolve_asset_graph()
    assert graph.get(AssetKey(["connect", "two", "reader"])).parent_keys == {
        AssetKey(["us", "west", "kafka", "orders"])
    }
    assert {key.to_user_string() for key in graph.get_all_asset_keys()} == {
        "connect/one/writer",
        "file/writer.txt",
        "kafka/orders",
        "connect/two/writer",
        "connect/two/reader",
        "us/west/file/writer.txt",
        "us/west/file/reader.txt",
        "us/west/kafka/orders",
    }


class ByServer(DagsterKafkaConnectTranslator):
    """Tables below the names of their servers."""

    def get_asset_spec(self, props: KafkaConnectConnectorProps | KafkaConnectDatasetProps) -> AssetSpec:
        spec = super().get_asset_spec(props)
        if isinstance(props, KafkaConnectTableProps) and props.server:
            return spec.replace_attributes(key=spec.key.with_prefix(props.server.partition(":")[0]))
        return spec


class OneDatabase(DagsterKafkaConnectTranslator):
    """Of a database with two addresses."""

    allow_equal_keys = True


def test_a_translator_keeps_databases_apart_or_lets_them_be_one() -> None:
    connectors = [table_sink("one", "a:5432"), table_sink("two", "b:5432")]

    def tables(translator: DagsterKafkaConnectTranslator) -> set[str]:
        specs = build_kafka_connect_asset_specs(
            workspace=KafkaConnectWorkspace(), connectors=connectors, dagster_kafka_connect_translator=translator
        )
        return {key for key in keys(specs) if key.endswith("/public/orders")}

    assert tables(ByServer()) == {"a/postgres/shop/public/orders", "b/postgres/shop/public/orders"}
    assert tables(OneDatabase()) == {"postgres/shop/public/orders"}


def test_connectors_of_a_cluster_give_a_warning(load: None, caplog: pytest.LogCaptureFixture) -> None:
    """Anybody may create one at any time, which must not keep a code location from loading."""
    with connect_server() as server, caplog.at_level(logging.WARNING):
        server.create("one", connector_class="JdbcSink", topics="a", connection_url="jdbc:mysql://a/shop")
        server.create("two", connector_class="JdbcSink", topics="a", connection_url="jdbc:mysql://b/shop")
        assert "mysql/shop/a" in keys(load_kafka_connect_asset_specs(workspace=server.workspace))
    assert "The asset key mysql/shop/a is of connector 'one' of cluster 'local' (mysql at a)" in caplog.text


def test_groups_of_workers_with_equal_names_are_kept_apart() -> None:
    def group(**fields: Any) -> dg.AssetsDefinition:
        worker = ConnectWorkerResource(
            workspace=KafkaConnectWorkspace(**fields),
            bootstrap_servers="k:9092",
            group_id="connect",
            config_storage_topic="configs",
            offset_storage_topic="offsets",
            status_storage_topic="status",
        )
        return build_connect_group_assets(worker=worker)

    both = dg.Definitions(assets=[group(), group(data_key_prefix=["us"])])
    found = {key.to_user_string() for key in both.resolve_asset_graph().get_all_asset_keys()}
    names = {"connect/groups/connect", "kafka/configs", "kafka/offsets", "kafka/status"}
    assert found == {*names, *(f"us/{name}" for name in names)}
