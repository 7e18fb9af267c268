"""Topics of two clusters as one graph, over the workspaces of both."""

from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey

from connect_dagster.orchestration import (
    KafkaConnectConnectorSpec,
    KafkaConnectWorkspace,
    build_kafka_connect_asset_specs,
)
from connect_dagster.orchestration.assets.keys import connector_key, file_key

EU = KafkaConnectWorkspace(
    cluster="connect-eu", kafka_cluster="eu", bootstrap_servers="eu:9092", data_key_prefix=["europe"]
)
US = KafkaConnectWorkspace(
    cluster="connect-us", kafka_cluster="us", bootstrap_servers="us:9092", data_key_prefix=["america"]
)
ORDERS = {"name": "orders", "connector.class": "FileStreamSource", "file": "/tmp/orders.txt", "topic": "orders"}
MIRROR = {
    "name": "mirror",
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "eu",
    "target.cluster.alias": "us",
    "source.cluster.bootstrap.servers": "eu:9092",
    "topics": "orders",
}
ARCHIVE = {"name": "archive", "connector.class": "FileStreamSink", "file": "/tmp/archive.txt", "topics": "eu.orders"}


def deps(workspace: KafkaConnectWorkspace, *configs: dict[str, str]) -> dict[AssetKey, set[AssetKey]]:
    connectors = [KafkaConnectConnectorSpec.from_config(config) for config in configs]
    specs = build_kafka_connect_asset_specs(workspace=workspace, connectors=connectors)
    return {spec.key: {dep.asset_key for dep in spec.deps} for spec in specs}


def test_a_file_leads_over_two_clusters_to_a_file() -> None:
    graph = deps(EU, ORDERS)
    for key, upstream in deps(US, MIRROR, ARCHIVE).items():
        graph.setdefault(key, set()).update(upstream)
    orders, mirror = connector_key("connect-eu", "orders"), connector_key("connect-us", "mirror")
    archive = connector_key("connect-us", "archive")
    read, written = (file_key(f"/tmp/{name}.txt") for name in ("orders", "archive"))
    read, written = read.with_prefix("europe"), written.with_prefix("america")
    assert graph == {
        read: set(),
        orders: {read},
        AssetKey(["kafka", "eu", "orders"]): {orders},
        mirror: {AssetKey(["kafka", "eu", "orders"])},
        AssetKey(["kafka", "us", "eu.orders"]): {mirror},
        archive: {AssetKey(["kafka", "us", "eu.orders"])},
        written: {archive},
    }


def test_a_workspace_without_an_alias_keeps_the_keys_it_had() -> None:
    plain = KafkaConnectWorkspace(bootstrap_servers="us:9092")
    mirror = connector_key("local", "mirror")
    assert deps(plain, MIRROR) == {
        AssetKey(["kafka", "eu", "orders"]): set(),
        mirror: {AssetKey(["kafka", "eu", "orders"])},
        AssetKey(["kafka", "eu.orders"]): {mirror},
    }


def test_two_clusters_of_one_alias_are_told_apart_by_another_alias() -> None:
    elsewhere = {**MIRROR, "name": "other", "source.cluster.bootstrap.servers": "asia:9092"}
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="give one of the workspaces another `kafka_cluster`"):
        deps(US, MIRROR, elsewhere)


@pytest.mark.parametrize("name", ["cluster", "kafka_cluster"])
def test_a_variable_is_no_part_of_a_key(name: str) -> None:
    """The keys of definitions had the variable's name, those of the sensor's events its value."""
    fields: dict[str, Any] = {name: dg.EnvVar("US_CLUSTER")}
    with pytest.raises(dg.DagsterInvalidDefinitionError, match=f"^{name} is a part of asset keys.* US_CLUSTER"):
        deps(KafkaConnectWorkspace(**fields), ORDERS)
