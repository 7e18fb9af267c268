"""Settings of workers and connectors of a flow, recomputed by hand from the rules of Java's MirrorMakerConfig."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from connect_dagster.connectors.mirror.connector_classes import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
)
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_settings import (
    CONNECTOR_OPTIONS,
    cluster_settings,
    connector_settings,
    worker_settings,
)

FRAMEWORK = ("name", "connector.class", "tasks.max", "transforms", "errors.tolerance")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
WORKER = {
    "client.id": "A->B",
    "group.id": "A-mm2",
    "offset.storage.topic": "mm2-offsets.A.internal",
    "status.storage.topic": "mm2-status.A.internal",
    "config.storage.topic": "mm2-configs.A.internal",
    "key.converter": BYTES,
    "value.converter": BYTES,
    "header.converter": BYTES,
}
CONNECTOR = {
    "name": "MirrorSourceConnector",
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "enabled": "false",
}


def clients(**access: str) -> dict[str, str]:
    """Return settings of access for each kind of client."""
    named = {name.replace("_", "."): value for name, value in access.items()}
    return {f"{kind}.{name}": value for kind in ("producer", "consumer", "admin") for name, value in named.items()}


def resolve(properties: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value.replace("${env:P}", "secret") for name, value in properties.items()}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"B.x": "1"}, {}),
        ({"A.x": "1", "A.": "2", "Ab.x": "3", "A": "4"}, {"x": "1"}),
        (
            {"A.bootstrap.servers": "a:1"},
            {"bootstrap.servers": "a:1", **clients(bootstrap_servers="a:1")},
        ),
        # A client's own goes before the cluster's.
        (
            {"A.bootstrap.servers": "a:1", "A.admin.bootstrap.servers": "a:2", "A.admin.retries": "3"},
            {
                "bootstrap.servers": "a:1",
                **clients(bootstrap_servers="a:1"),
                "admin.bootstrap.servers": "a:2",
                "admin.retries": "3",
            },
        ),
        # What has no cluster before it counts for those that do not set their own.
        (
            {"security.protocol": "SSL", "ssl.key.password": "k", "A.security.protocol": "PLAINTEXT", "acks": "1"},
            {
                "security.protocol": "PLAINTEXT",
                "ssl.key.password": "k",
                **clients(security_protocol="PLAINTEXT", ssl_key_password="k"),
            },
        ),
        (
            {"sasl.mechanism": "PLAIN", "A.consumer.sasl.mechanism": "GSSAPI"},
            {"sasl.mechanism": "PLAIN", **clients(sasl_mechanism="PLAIN"), "consumer.sasl.mechanism": "GSSAPI"},
        ),
        # Neither settings of other clients, nor those that only look like access.
        (
            {"A.request.timeout.ms": "1", "A.security.providers": "p", "request.timeout.ms": "2"},
            {"request.timeout.ms": "1", "security.providers": "p"},
        ),
    ],
)
def test_cluster(given: dict[str, str], expected: dict[str, str]) -> None:
    assert cluster_settings(given, "A") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, WORKER),
        ({"A.bootstrap.servers": "a:1", "A.group.id": "g", "A->B.group.id": "g"}, WORKER),
        (
            {"B.bootstrap.servers": "b:1", "B.group.id": "g", "B.client.id": "c", "B.offset.storage.topic": "o"},
            {
                **WORKER,
                "bootstrap.servers": "b:1",
                **clients(bootstrap_servers="b:1"),
                "group.id": "g",
                "client.id": "c",
                "offset.storage.topic": "o",
            },
        ),
        # Those for all flows go before those of the cluster.
        (
            {
                "B.key.converter": "K",
                "key.converter": "L",
                "value.converter.x": "V",
                "offset.storage.replication.factor": "1",
                "config.storage.y": "2",
                "status.storage.partitions": "3",
                "tasks.max": "4",
                "task.shutdown.graceful.timeout.ms": "5",
                "worker.sync.timeout.ms": "6",
                "replication.policy.separator": "-",
                "header.converter": "H",
            },
            {
                **WORKER,
                "key.converter": "L",
                "value.converter.x": "V",
                "offset.storage.replication.factor": "1",
                "config.storage.y": "2",
                "status.storage.partitions": "3",
                "tasks.max": "4",
                "task.shutdown.graceful.timeout.ms": "5",
                "worker.sync.timeout.ms": "6",
                "replication.policy.separator": "-",
                "header.converter": "H",
            },
        ),
        # Other settings need a cluster before them.
        ({"offset.flush.interval.ms": "1", "plugin.path": "p", "group.id": "g", "topics": "t"}, WORKER),
        # Placeholders are resolved, except in the configuration of the providers.
        (
            {
                "B.ssl.key.password": "${env:P}",
                "worker.x": "${env:P}",
                "config.providers": "env",
                "config.providers.env.class": "${env:P}",
            },
            {
                **WORKER,
                "ssl.key.password": "secret",
                **clients(ssl_key_password="secret"),
                "worker.x": "secret",
                "config.providers": "env",
                "config.providers.env.class": "${env:P}",
            },
        ),
    ],
)
def test_worker(given: dict[str, str], expected: dict[str, str]) -> None:
    assert worker_settings(given, Flow("A", "B"), resolve) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, CONNECTOR),
        (
            {
                "A.bootstrap.servers": "a:1",
                "A.consumer.fetch.min.bytes": "5",
                "A.administrator": "x",
                "B.bootstrap.servers": "b:1",
                "B.acks": "1",
            },
            {
                **CONNECTOR,
                "source.cluster.bootstrap.servers": "a:1",
                **{f"source.{name}": value for name, value in clients(bootstrap_servers="a:1").items()},
                "source.consumer.fetch.min.bytes": "5",
                "source.administrator": "x",
                "target.cluster.bootstrap.servers": "b:1",
                **{f"target.{name}": value for name, value in clients(bootstrap_servers="b:1").items()},
                "target.cluster.acks": "1",
            },
        ),
        # Options of any of the three connectors, of the framework, of the policy and of config providers.
        (
            {
                "topics": "t",
                "groups": "${env:P}",
                "emit.heartbeats.enabled": "false",
                "tasks.max": "4",
                "errors.tolerance": "all",
                "replication.policy.x": "y",
                "config.providers": "env",
                "config.providers.env.class": "C",
            },
            {
                **CONNECTOR,
                "topics": "t",
                "groups": "${env:P}",
                "emit.heartbeats.enabled": "false",
                "tasks.max": "4",
                "errors.tolerance": "all",
                "replication.policy.x": "y",
                "config.providers": "env",
                "config.providers.env.class": "C",
            },
        ),
        # Nothing else without a flow before it.
        (
            {"use.defaults.from": "source", "topicz": "t", "transforms.x.type": "T", "consumer.fetch.min.bytes": "1"},
            CONNECTOR,
        ),
        # The flow's own goes before all.
        (
            {
                "topics": "t",
                "A->B.topics": "own",
                "B->A.topics": "back",
                "A->B.use.defaults.from": "source",
                "A->B.transforms.x.type": "T",
                "A->B.source.cluster.bootstrap.servers": "a:2",
                "A.bootstrap.servers": "a:1",
                "A->B.target.cluster.alias": "other",
                "A->B.name": "n",
                "A->B.enabled": "true",
            },
            {
                **CONNECTOR,
                "topics": "own",
                "use.defaults.from": "source",
                "transforms.x.type": "T",
                **{f"source.{name}": value for name, value in clients(bootstrap_servers="a:1").items()},
                "source.cluster.bootstrap.servers": "a:2",
                "target.cluster.alias": "other",
                "name": "n",
                "enabled": "true",
            },
        ),
        # Java takes these for all flows, too.
        (
            {"name": "n", "connector.class": "C", "enabled": "true", "source.cluster.alias": "x"},
            {**CONNECTOR, "name": "n", "connector.class": "C", "enabled": "true", "source.cluster.alias": "x"},
        ),
        # A cluster's settings reach the connector under its side, whatever they are.
        ({"A.alias": "x"}, {**CONNECTOR, "source.cluster.alias": "x"}),
    ],
)
def test_connector(given: dict[str, str], expected: dict[str, str]) -> None:
    assert connector_settings(given, Flow("A", "B"), SOURCE_CONNECTOR, FRAMEWORK) == expected


@pytest.mark.parametrize("connector", [CHECKPOINT_CONNECTOR, HEARTBEAT_CONNECTOR])
def test_the_other_connectors_differ_in_name_and_class(connector: str) -> None:
    given = {"topics": "t", "A->B.enabled": "true"}
    assert connector_settings(given, Flow("A", "B"), connector, FRAMEWORK) == {
        **CONNECTOR,
        "topics": "t",
        "enabled": "true",
        "name": connector.rpartition(".")[2],
        "connector.class": connector,
    }


def test_options_for_all_flows() -> None:
    assert {"topics", "groups", "emit.heartbeats.interval.seconds", "ssl.protocol"} <= CONNECTOR_OPTIONS
    assert "bootstrap.servers" not in CONNECTOR_OPTIONS
