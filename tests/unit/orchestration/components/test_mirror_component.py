"""A flow of MirrorMaker in YAML."""

from typing import Any

import dagster as dg
import pytest
from dagster import AssetKey
from pydantic import ValidationError

from connect_dagster.orchestration import MirrorFlowComponent
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.plugin.connector_file import DesiredState
from tests.unit.orchestration.components.sandbox import loaded, scaffolded

FLOW = {
    "source": {
        "kafka_cluster": "eu",
        "bootstrap_servers": "eu:9092",
        "client_properties": {"sasl.jaas.config": {"env": "EU_JAAS"}},
    },
    "target": {"cluster": "connect-us", "kafka_cluster": "us", "bootstrap_servers": "us:9092"},
    "topics": ["orders"],
    "groups": ["billing"],
    "config": {"replication.factor": 3, "sync.group.offsets.enabled": True},
}
NAMES = ["eu-to-us-source", "eu-to-us-checkpoint", "eu-to-us-heartbeat"]


def test_what_is_scaffolded_loads() -> None:
    with scaffolded(MirrorFlowComponent, source="a", target="b") as (component, defs):
        assert [spec.name for spec in component.connectors().values()] == [
            "a-to-b-source",
            "a-to-b-checkpoint",
            "a-to-b-heartbeat",
        ]
        assert connector_key("local", "a-to-b-source") in defs.resolve_asset_graph().get_all_asset_keys()


def test_its_connectors_lead_from_topic_to_topic_and_are_operated() -> None:
    with loaded(MirrorFlowComponent, FLOW) as (component, defs):
        graph = defs.resolve_asset_graph()
        mirror = connector_key("connect-us", NAMES[0])
        assert graph.get(mirror).parent_keys == {AssetKey(["kafka", "eu", "orders"])}
        assert graph.get(AssetKey(["kafka", "us", "eu.orders"])).parent_keys == {mirror}
        config = component.connectors()["source"].config
        assert config["source.cluster.sasl.jaas.config"] == dg.EnvVar("EU_JAAS")
        assert (config["replication.factor"], config["sync.group.offsets.enabled"]) == (3, True)
        repository = defs.get_repository_def()
        assert {
            "kafka_connect_ingest_apply",
            "kafka_connect_ingest_mirror_failover_report",
            "kafka_connect_ingest_mirror_sync_groups",
        } <= set(repository.job_names)
        assert {sensor.name for sensor in repository.sensor_defs} >= {
            "kafka_connect_connect_us__ingest_status_sensor",
        }


def test_its_state_is_that_of_the_three_connectors() -> None:
    with loaded(MirrorFlowComponent, {**FLOW, "state": "PAUSED"}) as (component, _):
        assert {spec.state for spec in component.connectors().values()} == {DesiredState.PAUSED}
        # Without one MirrorMaker would mirror all topics.
        with pytest.raises(ValidationError, match="topics"):
            MirrorFlowComponent.resolve_from_dict({**FLOW, "topics": []})


@pytest.mark.parametrize(
    ("more", "further"),
    [
        ({}, set()),
        ({"max_heartbeat_age_seconds": 60}, {(NAMES[0], "mirror_heartbeat")}),
        ({"compared_records": 50}, {(NAMES[0], "mirror_matches")}),
        ({"compared_records": "{{ 5 * 10 }}"}, {(NAMES[0], "mirror_matches")}),
    ],
    ids=["default", "heartbeats", "records", "template"],
)
def test_its_checks_are_of_the_connector_that_they_look_at(more: dict[str, Any], further: set[tuple[str, str]]) -> None:
    with loaded(MirrorFlowComponent, {**FLOW, **more}) as (_, defs):
        keys = {key for each in defs.asset_checks or () for key in each.check_keys}
        found = {(key.asset_key.path[-1], key.name) for key in keys if key.name.startswith("mirror")}
        expected = {(NAMES[0], "mirror_lag"), (NAMES[0], "mirror_config_drift"), (NAMES[1], "mirror_failover_ready")}
        assert found == expected | further


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ({"bootstrap_servers": "us:9092"}, "needs kafka_cluster"),
        ({"kafka_cluster": "us"}, "needs kafka_cluster"),
        ({"kafka_cluster": "eu", "bootstrap_servers": "us:9092"}, "both have the alias 'eu'"),
    ],
)
def test_both_ends_have_an_alias_of_their_own_and_brokers(end: dict[str, str], message: str) -> None:
    with loaded(MirrorFlowComponent, FLOW):
        component = MirrorFlowComponent.resolve_from_dict({**FLOW, "target": end})
        with pytest.raises(dg.DagsterInvalidDefinitionError, match=message):
            component.connectors()
