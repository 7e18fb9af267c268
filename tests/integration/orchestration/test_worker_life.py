"""The life of a worker under the keep-alive sensor: launched, crashed, launched again, stopped for good."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import DagsterInstance, DagsterRunStatus
from dagster._core.scheduler.instigation import TickStatus
from dagster_graphql import DagsterGraphQLClient

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.orchestration.asset_keys import worker_key
from tests.shipped_project import ShippedProject, shipped_project, wait_until

KEEPALIVE = "connect_worker__keepalive_sensor"


@pytest.fixture(name="project")
def project_fixture(tmp_path: Path, own_broker: EmbeddedBroker) -> Iterator[ShippedProject]:
    with shipped_project(tmp_path / "project", own_broker.bootstrap_servers) as project:
        project.wait_running()
        yield project


@pytest.mark.timeout(900)
def test_s3_10_a_killed_worker_comes_back_and_a_terminated_one_stays_away(project: ShippedProject) -> None:
    first = project.worker_run().dagster_run.run_id
    server = project.client.server_info()
    wait_until(lambda: bool(_last_observation(project)), "see the worker observed", 60)
    alive = _last_observation(project)
    assert (alive["worker_running"], alive["version"], alive["kafka_cluster_id"]) == (
        1,
        server.version,
        server.kafka_cluster_id,
    )

    os.kill(alive["pid"], signal.SIGKILL)
    project.wait_run_status(first, DagsterRunStatus.FAILURE)
    died = _last_observation(project)
    assert (died["pid"], died["worker_running"], died["exit"]) == (alive["pid"], 0, "signal SIGKILL")

    wait_until(lambda: project.worker_run().dagster_run.run_id != first, "see a new run", 90)
    project.wait_running()
    second = project.worker_run().dagster_run.run_id
    assert project.worker_run().dagster_run.tags["connect-dagster/attempt"] == "2"

    _graphql(project).terminate_run(second)
    project.wait_run_status(second, DagsterRunStatus.CANCELED)
    assert not project.client.is_alive()
    wait_until(lambda: "Stopped by a user" in _last_skip(project.instance), "see the sensor respect that", 90)
    assert project.worker_run().dagster_run.run_id == second


def _graphql(project: ShippedProject) -> DagsterGraphQLClient:
    return DagsterGraphQLClient("127.0.0.1", port_number=project.files.ui_port)


def _last_observation(project: ShippedProject) -> dict[str, Any]:
    """Metadata of the newest observation of the worker's asset; empty without one."""
    for record in project.instance.fetch_observations(worker_key("standalone"), limit=1).records:
        assert record.asset_observation is not None
        return {name: value.value for name, value in record.asset_observation.metadata.items()}
    return {}


def _last_skip(instance: DagsterInstance) -> str:
    """Why the keep-alive sensor launched nothing at its last tick that is over."""
    for state in instance.all_instigator_state():
        if state.instigator_name == KEEPALIVE:
            ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=5)
            return next((tick.skip_reason or "" for tick in ticks if tick.status is TickStatus.SKIPPED), "")
    return ""
