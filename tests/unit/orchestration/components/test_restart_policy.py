"""Restarts in YAML: of declared connectors, and of those that a cluster has."""

from collections.abc import Iterator
from typing import Any

import dagster as dg
import pytest
from dagster import DagsterInstance
from dagster._core.definitions.sensor_definition import SensorExecutionData
from dagster.components.core.component_tree import ComponentTree, ComponentTreeException
from dagster.components.testing.utils import component_defs

from connect_dagster.orchestration.components import KafkaConnectConnectorComponent, KafkaConnectWorkspaceComponent
from connect_dagster.orchestration.components.restart_policy import RestartPolicy
from connect_dagster.orchestration.sensors.attempts import AttemptPolicy, BackOff
from tests.unit.orchestration.components.sandbox import loaded
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

CONFIG = {"file": "/tmp/in.txt", "topic": "lines"}
SOURCE = {"name": "src", "connector_class": CLASS, "config": CONFIG}
SENSOR, OF_CLUSTER = "kafka_connect_local__src_sensor", "kafka_connect_local__auto_restart_sensor"


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("src", file="/tmp/in.txt", topic="lines")
        yield server


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


def tick(defs: dg.Definitions, name: str, instance: DagsterInstance, cursor: str | None = None) -> SensorExecutionData:
    with dg.build_sensor_context(instance=instance, cursor=cursor) as context:
        return defs.resolve_sensor_def(name).evaluate_tick(context)


def declared(server: ConnectServer, auto_restart: Any) -> dg.Definitions:
    given = {"workspace": {"url": server.workspace.url}, "connectors": [SOURCE], "auto_restart": auto_restart}
    return component_defs(component=KafkaConnectConnectorComponent.resolve_from_dict(given))


def of_cluster(server: ConnectServer, **attributes: Any) -> dg.Definitions:
    given = {"workspace": {"url": server.workspace.url}, **attributes}
    component: KafkaConnectWorkspaceComponent = KafkaConnectWorkspaceComponent.resolve_from_dict(given)
    return component.build_defs_from_state(ComponentTree.for_test().load_context, None)


def test_a_policy_is_that_of_the_sensors() -> None:
    assert RestartPolicy().attempts() == AttemptPolicy(5, BackOff(30.0, 600.0, 600.0))
    policy = RestartPolicy(max_restarts=2, delay_seconds=1, max_delay_seconds=9, reset_after_seconds=60)
    assert policy.attempts() == AttemptPolicy(2, BackOff(1.0, 9.0, 60.0))


def test_a_declared_connector_is_restarted_as_often_as_the_policy_has_it(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    defs = declared(server, {"max_restarts": "{{ 2 - 1 }}", "delay_seconds": 0})
    server.herder.fail("src")
    first = tick(defs, SENSOR, instance)
    assert [str(request.job_name).endswith("_restart") for request in first.run_requests or ()] == [True]
    second = tick(defs, SENSOR, instance, first.cursor)
    assert second.run_requests == []
    assert str(second.skip_message).startswith("Gave up on connector 'src' after 1 attempts")


def test_a_declared_connector_is_left_failed_where_restarts_are_off(
    server: ConnectServer, instance: DagsterInstance
) -> None:
    defs = declared(server, auto_restart=False)
    server.herder.fail("src")
    result = tick(defs, SENSOR, instance)
    assert (result.run_requests, result.asset_events) == ([], [])
    assert str(result.skip_message).endswith("it or a task of it FAILED, and is not restarted by this sensor")
    assert "restarts FAILED" not in str(defs.resolve_sensor_def(SENSOR).description)


def test_of_a_cluster_nothing_is_restarted_unless_asked(server: ConnectServer) -> None:
    def sensors(**attributes: Any) -> list[str]:
        return [sensor.name for sensor in of_cluster(server, **attributes).sensors or ()]

    assert OF_CLUSTER not in sensors()
    assert OF_CLUSTER not in sensors(auto_restart=False)
    assert OF_CLUSTER in sensors(auto_restart=True)
    assert OF_CLUSTER in sensors(auto_restart="{{ 1 < 2 }}")
    assert sensors(auto_restart={"max_restarts": 2}, polling_sensor=False) == [OF_CLUSTER]


def test_of_a_cluster_the_selected_connectors_are_restarted(server: ConnectServer, instance: DagsterInstance) -> None:
    server.create("other", file="/tmp/in.txt", topic="lines")
    for name in ("src", "other"):
        server.herder.fail(name)
    policy = {"max_restarts": 1, "delay_seconds": 0}
    defs = of_cluster(server, auto_restart=policy, connector_selector={"by_name": ["src"]})
    first = tick(defs, OF_CLUSTER, instance)
    (request,) = first.run_requests or ()
    assert request.run_config["ops"]["kafka_connect_restart_op"]["config"]["connectors"] == ["src"]
    second = tick(defs, OF_CLUSTER, instance, first.cursor)
    assert [str(event.description) for event in second.asset_events] == [
        "Gave up on connector 'src' after 1 restarts: it FAILED again"
    ]


@pytest.mark.parametrize(
    ("policy", "sentences"),
    [
        ({"max_restarts": 0}, ["max_restarts must be 1 or more, but is 0"]),
        ({"delay_seconds": -1}, ["delay_seconds must be 0 or more, but is -1"]),
        ({"delay_seconds": 900}, ["max_delay_seconds must be delay_seconds (900) or more, but is 600"]),
        ({"retries": 3}, ["retries", "not permitted"]),
        ("often", ["auto_restart", "must be true, false, or have keys max_restarts, ", "is 'often'"]),
    ],
    ids=["restarts", "delay", "order", "key", "text"],
)
def test_a_policy_that_cannot_be_is_refused(policy: Any, sentences: list[str]) -> None:
    given = {"workspace": {}, "connectors": [SOURCE], "auto_restart": policy}
    with pytest.raises(ComponentTreeException) as raised, loaded(KafkaConnectConnectorComponent, given):
        pass
    message = f"{raised.value}{raised.value.__cause__}"
    assert [sentence for sentence in sentences if sentence not in message] == [], message
