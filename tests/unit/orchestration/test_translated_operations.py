"""Whoever gives connectors other keys by a translator finds jobs, sensors and checks at those keys."""

from collections.abc import Iterator

import dagster as dg
import pytest
from dagster import AssetKey, AssetSpec, DagsterInstance

from connect_dagster.client.datasets import KafkaConnectConnectorProps, KafkaConnectDatasetProps
from connect_dagster.orchestration.assets.translator import DagsterKafkaConnectTranslator
from connect_dagster.orchestration.checks.config_drift import build_connector_config_drift_checks
from connect_dagster.orchestration.checks.state import build_connector_state_checks
from connect_dagster.orchestration.connectors.spec import KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.sensors.auto_restart import build_kafka_connect_auto_restart_sensor
from connect_dagster.orchestration.sensors.connector import build_connector_sensor
from connect_dagster.orchestration.workspace import build_kafka_connect_asset_specs
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

LINES = KafkaConnectConnectorSpec("lines", CLASS, {"file": "/tmp/in.txt", "topic": "lines"})
KEY = AssetKey(["ingest", "lines"])
AT_ONCE = BackOff(base=0.0, cap=0.0)


class Ingest(DagsterKafkaConnectTranslator):
    """Connectors stand below `ingest`."""

    def get_asset_spec(self, props: KafkaConnectConnectorProps | KafkaConnectDatasetProps) -> AssetSpec:
        spec = super().get_asset_spec(props)
        if isinstance(props, KafkaConnectConnectorProps):
            return spec.replace_attributes(key=["ingest", props.name])
        return spec


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server(poll_timeout=0.1) as server:
        yield server


@pytest.fixture(name="instance")
def instance_fixture() -> Iterator[DagsterInstance]:
    with DagsterInstance.ephemeral() as instance:
        yield instance


def jobs_of(server: ConnectServer) -> dict[str, dg.JobDefinition]:
    jobs = build_kafka_connect_jobs(
        workspace=server.workspace, connectors=[LINES], dagster_kafka_connect_translator=Ingest()
    )
    return {job.name: job for job in jobs}


def test_jobs_observe_the_assets_of_the_translator(server: ConnectServer, instance: DagsterInstance) -> None:
    server.create("undeclared")
    jobs_of(server)["kafka_connect_apply"].execute_in_process(instance=instance)
    config = {"ops": {"kafka_connect_pause_op": {"config": {"connectors": ["lines", "undeclared"]}}}}
    jobs_of(server)["kafka_connect_pause"].execute_in_process(instance=instance, run_config=config)
    assert set(instance.all_asset_keys()) == {KEY, AssetKey(["connect", "local", "undeclared"])}


def test_sensors_give_up_on_the_assets_of_the_translator(server: ConnectServer, instance: DagsterInstance) -> None:
    server.create("lines", topic="lines")
    server.herder.fail("lines", forever=True)
    jobs = list(jobs_of(server).values())
    sensors = [
        build_connector_sensor(
            workspace=server.workspace,
            spec=LINES,
            jobs=jobs,
            max_attempts=0,
            back_off=AT_ONCE,
            dagster_kafka_connect_translator=Ingest(),
        ),
        build_kafka_connect_auto_restart_sensor(
            workspace=server.workspace,
            jobs=jobs,
            max_restarts=0,
            back_off=AT_ONCE,
            dagster_kafka_connect_translator=Ingest(),
        ),
    ]
    for sensor in sensors:
        with dg.build_sensor_context(instance=instance) as context:
            assert [event.asset_key for event in sensor.evaluate_tick(context).asset_events] == [KEY]


def test_checks_stand_on_the_assets_of_the_translator(server: ConnectServer) -> None:
    specs = build_kafka_connect_asset_specs(
        workspace=server.workspace, connectors=[LINES], dagster_kafka_connect_translator=Ingest()
    )
    assert len(specs) == 3
    checks = [
        *build_connector_state_checks(workspace=server.workspace, connectors=specs),
        *build_connector_config_drift_checks(
            workspace=server.workspace, connectors=[LINES], dagster_kafka_connect_translator=Ingest()
        ),
    ]
    assert [(key.asset_key, key.name) for check in checks for key in check.check_keys] == [
        (KEY, "connector_state"),
        (KEY, "config_drift"),
    ]
