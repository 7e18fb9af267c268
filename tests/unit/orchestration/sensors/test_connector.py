"""A connector's sensor on a served worker; the runs it asks for are executed as the daemon would."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import dagster as dg
import pytest
from dagster import AssetObservation, DagsterInstance
from dagster._core.definitions.sensor_definition import SensorExecutionData

from connect_dagster.embedded.ports import free_port
from connect_dagster.herder.interface import RestartRequest
from connect_dagster.orchestration.assets.keys import connector_key
from connect_dagster.orchestration.connectors.spec import ConfigValue, KafkaConnectConnectorSpec
from connect_dagster.orchestration.ops.jobs import build_kafka_connect_jobs
from connect_dagster.orchestration.sensors.attempts import BackOff
from connect_dagster.orchestration.sensors.connector import build_connector_sensor
from connect_dagster.orchestration.workspace import KafkaConnectWorkspace
from connect_dagster.plugin.connector_file import DesiredState
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server, pin_is_secret

AT_ONCE = BackOff(base=0.0, cap=0.0, settled=3600.0)


@dataclass
class Driver:
    """The sensor with what Dagster does for it: its cursor is kept, its runs are executed."""

    server: ConnectServer
    instance: DagsterInstance
    state: DesiredState = DesiredState.RUNNING
    back_off: BackOff = AT_ONCE
    max_attempts: int = 3
    config: dict[str, ConfigValue] = field(default_factory=lambda: {"file": "/tmp/in.txt"})
    cursor: str | None = None

    def tick(self) -> SensorExecutionData:
        """One tick; the runs it asks for are executed before this returns."""
        spec = KafkaConnectConnectorSpec("lines", CLASS, self.config, state=self.state)
        jobs = build_kafka_connect_jobs(workspace=self.server.workspace, connectors=[spec])
        sensor = build_connector_sensor(
            workspace=self.server.workspace,
            spec=spec,
            jobs=jobs,
            max_attempts=self.max_attempts,
            back_off=self.back_off,
        )
        with dg.build_sensor_context(instance=self.instance, cursor=self.cursor) as context:
            result = sensor.evaluate_tick(context)
        self.cursor = result.cursor
        for request in result.run_requests or ():
            job = next(job for job in jobs if job.name == request.job_name)
            job.execute_in_process(
                run_config=request.run_config, tags=request.tags, instance=self.instance, raise_on_error=False
            )
        return result

    def keys(self, ticks: int) -> list[str | None]:
        """Run keys of the requests of so many ticks."""
        return [request.run_key for _ in range(ticks) for request in self.tick().run_requests or ()]


@pytest.fixture(name="driver")
def driver_fixture() -> Iterator[Driver]:
    with connect_server(poll_timeout=0.2) as server, DagsterInstance.ephemeral() as instance:
        yield Driver(server, instance)


def target(driver: Driver) -> TargetState:
    return driver.server.herder.targets["lines"]


@pytest.mark.parametrize("state", list(DesiredState))
def test_a_missing_connector_is_created_as_declared(driver: Driver, state: DesiredState) -> None:
    driver.state = state
    result = driver.tick()
    assert result.run_requests
    assert (result.run_requests[0].run_key, result.run_requests[0].job_name) == ("local/lines:1", "kafka_connect_apply")
    assert driver.server.workspace.get_client().status("lines").connector.state.value == state
    assert str(driver.tick().skip_message).endswith(", as declared")


def test_a_configuration_that_differs_is_changed(driver: Driver) -> None:
    driver.server.create("lines", file="/tmp/former.txt")
    assert driver.keys(3) == ["local/lines:1"]
    assert driver.server.herder.configs["lines"]["file"] == "/tmp/in.txt"


@pytest.mark.parametrize("target_state", [TargetState.PAUSED, TargetState.STOPPED])
def test_what_was_paused_before_the_sensor_saw_it_run_is_resumed(driver: Driver, target_state: TargetState) -> None:
    driver.server.create("lines", target_state)
    driver.tick()
    assert target(driver) is TargetState.STARTED


@pytest.mark.parametrize("target_state", [TargetState.PAUSED, TargetState.STOPPED])
def test_what_a_person_paused_is_left_alone(driver: Driver, target_state: TargetState) -> None:
    driver.keys(2)
    driver.server.herder._aim("lines", target_state)
    result = driver.tick()
    assert not result.run_requests
    assert "changed by a user and kept, though RUNNING is declared" in str(result.skip_message)
    assert target(driver) is target_state


def test_what_a_person_paused_is_still_configured_as_declared(driver: Driver) -> None:
    driver.keys(2)
    driver.server.herder.pause_connector("lines")
    driver.config = {"file": "/tmp/latter.txt"}
    assert len(driver.keys(3)) == 1
    assert (driver.server.herder.configs["lines"]["file"], target(driver)) == ("/tmp/latter.txt", TargetState.PAUSED)


def test_another_declared_state_is_the_newer_will(driver: Driver) -> None:
    driver.keys(2)
    driver.server.herder.stop_connector("lines")
    driver.keys(1)
    driver.state = DesiredState.PAUSED
    driver.keys(2)
    assert target(driver) is TargetState.PAUSED
    driver.state = DesiredState.RUNNING
    driver.keys(2)
    assert target(driver) is TargetState.STARTED


def test_a_task_that_failed_is_restarted_alone(driver: Driver) -> None:
    driver.keys(2)
    driver.server.herder.fail("lines")
    result = driver.tick()
    assert [request.job_name for request in result.run_requests or ()] == ["kafka_connect_restart"]
    assert driver.server.herder.restarts == [RestartRequest("lines", only_failed=True, include_tasks=True)]
    assert "as declared" in str(driver.tick().skip_message)


def test_a_failed_task_of_a_paused_connector_is_left_alone(driver: Driver) -> None:
    driver.keys(2)
    driver.server.herder.pause_connector("lines")
    driver.server.herder.fail("lines")
    assert driver.keys(2) == []


def test_s3_12_it_gives_up_at_its_cap_with_one_event(driver: Driver) -> None:
    driver.server.herder.plugin_config = pin_is_secret  # type: ignore[method-assign]
    driver.config |= {"connection.pin": "hunter22"}
    driver.keys(2)
    trace = "org.apache.kafka.connect.errors.ConnectException: no route\n\tat Task.put(hunter22) with password=hunter23"
    driver.server.herder.fail("lines", trace=trace, forever=True)
    results = [driver.tick() for _ in range(6)]
    keys = [request.run_key for result in results for request in result.run_requests or ()]
    assert keys == [f"local/lines:{number}" for number in (2, 3, 4)]
    events = [event for result in results for event in result.asset_events]
    assert len(events) == 1
    event = events[0]
    assert isinstance(event, AssetObservation)
    assert event.asset_key == connector_key("local", "lines")
    assert event.description == "Gave up on connector 'lines' after 3 attempts: it or a task of it FAILED"
    metadata = {key: value.value for key, value in event.metadata.items()}
    assert (metadata["gave_up"], metadata["attempts"]) == (1, 3)
    assert metadata["error"] == "task 0: org.apache.kafka.connect.errors.ConnectException: no route"
    assert "Task.put(********) with password=****" in str(metadata["error_trace"])
    assert "given up after 3 attempts" in str(results[-1].skip_message)


def test_attempts_wait_for_their_effect(driver: Driver) -> None:
    driver.back_off = BackOff(base=3600.0, cap=3600.0)
    driver.keys(2)
    driver.server.herder.fail("lines", forever=True)
    assert len(driver.keys(1)) == 1
    result = driver.tick()
    assert not result.run_requests
    assert "attempt 1 has until " in str(result.skip_message)


def test_a_refused_configuration_is_given_up_until_it_is_declared_anew(driver: Driver) -> None:
    driver.config = {"topic": "no-file"}
    assert len(driver.keys(6)) == 3
    driver.config = {"file": "/tmp/in.txt"}
    assert driver.keys(2) == ["local/lines:4"]
    assert driver.server.herder.connectors() == ["lines"]


def test_a_worker_that_loses_its_connectors_again_and_again_gets_them_back_each_time(driver: Driver) -> None:
    for number in range(1, 6):
        assert driver.keys(2) == [f"local/lines:{number}"]
        driver.server.herder.delete_connector("lines")


def write(driver: Driver, **config: str) -> None:
    """Another writer's configuration."""
    whole = {**driver.server.herder.configs["lines"], **config}
    driver.server.herder.put_connector("lines", whole, allow_replace=True)


def launched(results: list[SensorExecutionData]) -> int:
    return sum(len(result.run_requests or ()) for result in results)


def test_a_configuration_that_another_writer_changes_back_is_left_to_it_with_one_event(driver: Driver) -> None:
    """Each correction was seen and counted from 0, so the two changed it in turn without an end."""
    driver.keys(2)
    results = []
    for _ in range(5):
        write(driver, file="/tmp/theirs.txt")
        results += [driver.tick(), driver.tick()]
    assert launched(results) == 3
    (event,) = [event for result in results for event in result.asset_events]
    assert isinstance(event, AssetObservation)
    assert event.asset_key == connector_key("local", "lines")
    assert str(event.description).startswith(
        "Gave up on connector 'lines' after 3 corrections within a day: another writer changed file back each time."
    )
    assert (event.metadata["gave_up"].value, event.metadata["attempts"].value) == (1, 3)
    assert "given up, as another writer changes its configuration back" in str(results[-1].skip_message)
    assert driver.server.herder.configs["lines"]["file"] == "/tmp/theirs.txt"


def test_what_a_person_paused_comes_back_paused(driver: Driver) -> None:
    driver.keys(2)
    driver.server.herder.pause_connector("lines")
    driver.tick()
    driver.server.herder.delete_connector("lines")
    assert len(driver.keys(3)) == 1
    assert target(driver) is TargetState.PAUSED
    driver.server.herder.resume_connector("lines")
    driver.tick()
    driver.server.herder.delete_connector("lines")
    driver.keys(2)
    assert target(driver) is TargetState.STARTED, "who resumes it takes the pause back"


def test_a_cursor_that_is_lost_brings_no_old_key_back(driver: Driver) -> None:
    driver.keys(2)
    driver.cursor = None
    driver.server.herder.fail("lines")
    assert driver.keys(1) == ["local/lines:2"]
    driver.cursor = "not a cursor"
    driver.server.herder.fail("lines")
    assert driver.keys(1) == ["local/lines:3"]


def test_it_waits_for_its_run(driver: Driver) -> None:
    tags = {"connect-dagster/cluster": "local", "connect-dagster/connector": "lines", "connect-dagster/attempt": "1"}
    run = dg.DagsterRun("kafka_connect_apply", run_id="12345678-0000", status=dg.DagsterRunStatus.STARTED, tags=tags)
    driver.instance.add_run(run)
    result = driver.tick()
    assert not result.run_requests
    assert result.skip_message == "The cluster does not have it; run 12345678 is in progress"


def test_a_worker_that_is_down_is_a_skip_with_its_reason(driver: Driver) -> None:
    driver.keys(2)
    memory = driver.cursor
    workspace = KafkaConnectWorkspace(url=f"http://127.0.0.1:{free_port()}")
    driver.server = ConnectServer(driver.server.herder, workspace)
    assert str(driver.tick().skip_message).startswith(f"No Kafka Connect worker responds at {workspace.url}")
    assert driver.cursor == memory


def test_a_variable_that_is_not_set_is_named(driver: Driver) -> None:
    driver.config = {"file": dg.EnvVar("NO_SUCH_FILE")}
    assert "NO_SUCH_FILE (for file)" in str(driver.tick().skip_message)


def test_it_needs_jobs_of_declared_connectors() -> None:
    workspace = KafkaConnectWorkspace()
    spec = KafkaConnectConnectorSpec("lines", CLASS)
    with pytest.raises(dg.DagsterInvalidDefinitionError, match="needs the job with the op kafka_connect_apply_op"):
        build_connector_sensor(workspace=workspace, spec=spec, jobs=build_kafka_connect_jobs(workspace=workspace))


def test_jobs_and_sensors_stand_in_one_location() -> None:
    workspace = KafkaConnectWorkspace(cluster="my-cluster")
    spec = KafkaConnectConnectorSpec("my.lines", CLASS)
    jobs = build_kafka_connect_jobs(workspace=workspace, connectors=[spec])
    sensor = build_connector_sensor(workspace=workspace, spec=spec, jobs=jobs)
    assert sensor.name == "kafka_connect_my_cluster__my_lines_sensor"
    dg.Definitions(jobs=jobs, sensors=[sensor]).get_repository_def().load_all_definitions()
