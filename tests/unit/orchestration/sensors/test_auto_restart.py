"""The sensor for everything that FAILED in a cluster, on a served worker."""

from collections.abc import Iterator
from dataclasses import dataclass

import dagster as dg
import pytest
from dagster import DagsterInstance
from dagster._core.definitions.sensor_definition import SensorExecutionData

from connect_dagster.herder.interface import RestartRequest
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.sensors.auto_restart import build_kafka_connect_auto_restart_sensor
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import ConnectServer, connect_server, pin_is_secret


@dataclass
class Driver:
    """The sensor with what Dagster does for it: its cursor is kept, its runs are executed."""

    server: ConnectServer
    instance: DagsterInstance
    cursor: str | None = None

    def tick(self) -> SensorExecutionData:
        """One tick; the runs it asks for are executed before this returns."""
        jobs = build_kafka_connect_jobs(workspace=self.server.workspace)
        sensor = build_kafka_connect_auto_restart_sensor(
            workspace=self.server.workspace,
            jobs=jobs,
            connector_selector_fn=lambda connector: connector.name != "left-out",
            max_restarts=2,
            back_off=BackOff(base=0.0, cap=0.0, settled=3600.0),
        )
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor) as context:
            result = sensor.evaluate_tick(context)
        self.cursor = result.cursor
        restart = next(job for job in jobs if job.name == "kafka_connect_restart")
        for request in result.run_requests or ():
            restart.execute_in_process(
                run_config=request.run_config, tags=request.tags, instance=self.instance, raise_on_error=False
            )
        return result


@pytest.fixture(name="driver")
def driver_fixture() -> Iterator[Driver]:
    with connect_server(poll_timeout=0.1) as server, DagsterInstance.ephemeral() as instance:
        for name in ("well", "broken", "hopeless", "left-out"):
            server.create(name)
        server.create("resting", TargetState.PAUSED)
        yield Driver(server, instance)


def test_s3_07_what_failed_is_restarted_by_one_run(driver: Driver) -> None:
    for name in ("broken", "hopeless", "left-out", "resting"):
        driver.server.herder.fail(name)
    result = driver.tick()
    assert [request.run_key for request in result.run_requests or ()] == ["local:1"]
    assert driver.server.herder.restarts == [
        RestartRequest(name, only_failed=True, include_tasks=True) for name in ("broken", "hopeless")
    ]
    assert driver.tick().skip_message == "Looked at 4 connectors: none FAILED"


def test_s3_12_it_gives_up_on_each_with_one_event(driver: Driver) -> None:
    driver.server.herder.plugin_config = pin_is_secret  # type: ignore[method-assign]
    driver.server.herder.configs["hopeless"]["connection.pin"] = "hunter22"
    driver.server.herder.fail("broken")
    driver.server.herder.fail("hopeless", trace="ConnectException: refused for hunter22", forever=True)
    results = [driver.tick() for _ in range(5)]
    assert [len(result.run_requests or ()) for result in results] == [1, 1, 0, 0, 0]
    assert [str(request.run_key) for result in results for request in result.run_requests or ()] == [
        "local:1",
        "local:2",
    ]
    events = [event for result in results for event in result.asset_events]
    assert [event.asset_key for event in events] == [connector_key("local", "hopeless")]
    assert "hunter22" not in str(events)
    assert results[-1].skip_message == "Looked at 4 connectors: given up on hopeless"


def test_it_forgets_connectors_that_are_well_or_gone(driver: Driver) -> None:
    driver.server.herder.fail("broken", forever=True)
    driver.tick()
    assert '"broken"' in str(driver.cursor)
    driver.server.herder.delete_connector("broken")
    driver.tick()
    assert '"broken"' not in str(driver.cursor)


def test_a_connector_that_failed_itself_is_restarted_too(driver: Driver) -> None:
    driver.server.herder.connector_failures["broken"] = "ConnectException: no such table"
    assert len(driver.tick().run_requests or ()) == 1
    assert driver.tick().skip_message == "Looked at 4 connectors: none FAILED"
