"""Two workers of one group under one sensor: each has a life, and an end, of its own."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterRunStatus

from connect_dagster.embedded.ports import HOST, free_port, is_free
from connect_dagster.orchestration import KafkaConnectWorkspace
from connect_dagster.orchestration.workers.resource import ConnectWorkerResource
from tests.conftest import Broker
from tests.integration.orchestration.hosted_project import HostedProject
from tests.shipped_project import wait_until

pytestmark = pytest.mark.nightly

FIRST, SECOND = "worker-1", "worker-2"


def _two_free_ports() -> int:
    while not is_free((first := free_port()) + 1):
        pass
    return first


@pytest.fixture(name="project")
def project_fixture(broker: Broker, topic_prefix: str, tmp_path: Path) -> Iterator[HostedProject]:
    environment = {
        "HOSTED_GROUP_PREFIX": topic_prefix,
        "HOSTED_GROUP_URL": f"http://{HOST}:{_two_free_ports()}",
        "HOSTED_GROUP_SERVERS": broker.bootstrap_servers,
    }
    module = "tests.integration.orchestration.hosted_group"
    with HostedProject(tmp_path / "hosted", module, environment) as project:
        yield project


@pytest.mark.timeout(800)
def test_both_are_kept_alive_but_one_that_was_terminated_stays_down(
    project: HostedProject, broker: Broker, topic_prefix: str
) -> None:
    group = ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(), bootstrap_servers=broker.bootstrap_servers, group_id=f"{topic_prefix}group"
    )
    wait_until(lambda: all(_runs(project, worker) for worker in (FIRST, SECOND)), "see both run", 150)
    wait_until(lambda: len(group.members()) == 2, "see both in the group", 150)
    first, second = project.newest_run(FIRST), project.newest_run(SECOND)
    assert first is not None
    assert second is not None
    assert set(project.unfinished_runs()) == {first, second}

    project.ui().terminate_run(second)
    project.await_status(second, DagsterRunStatus.CANCELED, 150)
    os.kill(project.observed(FIRST)["pid"], signal.SIGKILL)
    project.await_status(first, DagsterRunStatus.FAILURE)
    wait_until(lambda: project.newest_run(FIRST) != first, "see a new life of the first", 150)
    wait_until(lambda: _runs(project, FIRST), "see the first run again", 150)
    assert project.newest_run(SECOND) == second
    wait_until(lambda: f"{SECOND}: Stopped by a user" in project.last_skip(), "see the sensor respect that", 150)
    wait_until(lambda: len(group.members()) == 1, "see the group without the second", 150)


def _runs(project: HostedProject, worker_id: str) -> bool:
    return project.observed(worker_id).get("rest_answering") == 1
