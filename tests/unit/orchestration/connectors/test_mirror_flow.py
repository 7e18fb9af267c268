"""Declarations of a flow's connectors."""

import dagster as dg
import pytest

from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig
from connect_dagster.connectors.mirror.heartbeat_config import MirrorHeartbeatConfig
from connect_dagster.connectors.mirror.shared_options import MirrorConnectorConfig
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.orchestration.connectors.mirror_flow import MirroredCluster, mirror_connectors
from connect_dagster.plugin.connector_file import DesiredState

EU = MirroredCluster("eu", "eu:9092", {"security.protocol": "SASL_SSL", "sasl.jaas.config": dg.EnvVar("EU_JAAS")})
US = MirroredCluster("us", "us:9092")
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def test_a_flow_has_three_connectors_with_the_access_to_both_clusters() -> None:
    found = mirror_connectors(EU, US, topics=["orders", "pay.*"], groups=["billing"], tasks_max=4)
    assert [spec.name for spec in found.values()] == ["eu-to-us-source", "eu-to-us-checkpoint", "eu-to-us-heartbeat"]
    package = "org.apache.kafka.connect.mirror."
    assert [spec.connector_class for spec in found.values()] == [
        f"{package}Mirror{kind}Connector" for kind in ("Source", "Checkpoint", "Heartbeat")
    ]
    assert [spec.tasks_max for spec in found.values()] == [4, 4, 1]
    shared = {
        "key.converter": BYTES,
        "value.converter": BYTES,
        "header.converter": BYTES,
        "source.cluster.alias": "eu",
        "source.cluster.bootstrap.servers": "eu:9092",
        "source.cluster.security.protocol": "SASL_SSL",
        "source.cluster.sasl.jaas.config": dg.EnvVar("EU_JAAS"),
        "target.cluster.alias": "us",
        "target.cluster.bootstrap.servers": "us:9092",
    }
    assert found["heartbeat"].config == shared
    assert found["source"].config == {**shared, "topics": "orders,pay.*"}
    assert found["checkpoint"].config == {**shared, "topics": "orders,pay.*", "groups": "billing"}


def test_a_secret_stays_a_variable_until_it_goes_to_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = mirror_connectors(EU, US)["source"]
    assert spec.declared_config()["source.cluster.sasl.jaas.config"] == "${env:EU_JAAS}"
    monkeypatch.setenv("EU_JAAS", "kafka123")
    assert spec.resolved_config()["source.cluster.sasl.jaas.config"] == "kafka123"
    assert "kafka123" not in repr(EU)


def test_further_options_name_and_state_are_the_users() -> None:
    found = mirror_connectors(
        EU,
        US,
        name="orders",
        config={"replication.factor": 3, "target.cluster.alias": "usa"},
        state=DesiredState.PAUSED,
    )
    assert found["source"].name == "orders-source"
    assert {spec.state for spec in found.values()} == {DesiredState.PAUSED}
    assert (
        found["source"].declared_config().items() >= {"replication.factor": "3", "target.cluster.alias": "usa"}.items()
    )


def test_the_plugins_accept_what_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EU_JAAS", "kafka123")
    found = mirror_connectors(EU, US, topics=["orders"], groups=["billing"])
    configs: dict[str, type[MirrorConnectorConfig]] = {
        "source": MirrorSourceConfig,
        "checkpoint": MirrorCheckpointConfig,
        "heartbeat": MirrorHeartbeatConfig,
    }
    for kind, config in configs.items():
        given = {key: value for key, value in found[kind].resolved_config().items() if value is not None}
        parsed = config.parse(given)
        assert str(parsed.flow) == "eu->us"


def test_a_flow_from_a_cluster_to_itself_is_refused() -> None:
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="both have the alias 'eu'"):
        mirror_connectors(EU, MirroredCluster("eu", "us:9092"))
