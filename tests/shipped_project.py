"""The shipped Dagster project with a worker of ours, as `make demo` runs it: for tests that look at the whole."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dagster import DagsterInstance, DagsterRunStatus, RunRecord
from dagster._core.scheduler.instigation import SensorInstigatorData

from connect_dagster.client.rest_client import KafkaConnectClient, KafkaConnectError
from connect_dagster.client.types import State
from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.assets.keys import identifier
from connect_dagster.orchestration.sensors.reconciliation import ConnectorSensorCursor
from examples.demo.evidence import newest_worker_run
from examples.demo.project import SINK, SOURCE, DemoProject

ROOT = Path(__file__).parents[1]
POLL_SECONDS = 0.2
START_SECONDS = 180


@dataclass(frozen=True, slots=True)
class ShippedProject:
    """A running project; `instance` reads what its Dagster recorded."""

    files: DemoProject
    ui_url: str
    client: KafkaConnectClient
    instance: DagsterInstance

    def worker_run(self) -> RunRecord:
        """The newest run of the worker's job."""
        run = newest_worker_run(self.instance)
        assert run is not None, "no run of the worker's job"
        return run

    def wait_running(self) -> None:
        """Wait until both connectors run and their sensors saw it: what differs from now on is a person's will."""
        self.wait_state(State.RUNNING, SOURCE, SINK)
        wait_until(lambda: all(map(self._is_reached, (SOURCE, SINK))), "be seen by the connectors' sensors", 120)

    def wait_state(self, state: State, *connectors: str, timeout: float = START_SECONDS) -> None:
        """Wait until connectors and their tasks are in a state."""
        wait_until(lambda: all(self._has_reached(name, state) for name in connectors), f"be {state}", timeout)

    def wait_run_status(self, run_id: str, status: DagsterRunStatus, timeout: float = 60) -> None:
        """Wait until a run has a status."""

        def reached() -> bool:
            run = self.instance.get_run_by_id(run_id)
            return run is not None and run.status is status

        wait_until(reached, f"see run {run_id} {status.value}", timeout)

    def _is_reached(self, connector: str) -> bool:
        sensor = f"kafka_connect_local__{identifier(connector)}_sensor"
        known = [state for state in self.instance.all_instigator_state() if state.instigator_name == sensor]
        data = known[0].instigator_data if known else None
        return isinstance(data, SensorInstigatorData) and ConnectorSensorCursor.read(data.cursor).reached

    def _has_reached(self, connector: str, state: State) -> bool:
        try:
            return self.client.status(connector).has_reached(state)
        except KafkaConnectError:
            return False


@contextmanager
def shipped_project(directory: Path, bootstrap_servers: str) -> Iterator[ShippedProject]:
    """Run Dagster with the shipped project; its keep-alive sensor launches the worker."""
    directory.mkdir()
    files = DemoProject(ROOT, directory, bootstrap_servers, free_port(), free_port())
    files.write()
    # The instance first: two that make the same database at once are in each other's way.
    with DagsterInstance.from_config(str(files.home)) as instance, files.dagster() as dagster:
        dagster.wait_ready(START_SECONDS)
        yield ShippedProject(files, dagster.url, files.client(), instance)


def wait_until(condition: Callable[[], bool], aim: str, timeout: float) -> None:
    """Wait for a condition. Raises AssertionError when that takes longer than ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, f"it took over {timeout:g} s to {aim}"
        time.sleep(POLL_SECONDS)
