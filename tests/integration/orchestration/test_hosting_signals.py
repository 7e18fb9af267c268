"""How a hosted worker ends: by the UI, by Ctrl+C, by a signal to one process, by `kill -9` of any and of all.

One live project for all cases, in this order; each begins with a worker that runs, and leaves one that runs. Each
ends with no process left behind, no second worker, and the run's status telling whose will it was.
"""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest
from dagster import DagsterRunStatus

from tests.conftest import Broker
from tests.integration.orchestration.hosted_project import WORKER_ID, StandaloneProject
from tests.shipped_project import wait_until

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]


@pytest.fixture(scope="module")
def project(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneProject]:
    folder = tmp_path_factory.mktemp("hosted")
    with StandaloneProject(folder, broker.bootstrap_servers, f"{folder.parent.name}-") as project:
        project.await_new_life()
        yield project


@pytest.fixture(name="life")
def life_fixture(project: StandaloneProject) -> str:
    """Id of the run whose worker runs."""
    run_id = project.await_new_life()
    assert project.unfinished_runs() == [run_id]
    assert len(project.workers()) == 1
    return run_id


def test_s3_01_the_workers_asset_tells_what_rest_tells(project: StandaloneProject, life: str) -> None:
    server = project.client.server_info()
    (task,) = project.client.connectors()["hosted-source"].status.tasks
    told = project.observed(WORKER_ID)
    assert "rest_error" not in told, told
    assert (told["version"], told["commit"], told["kafka_cluster_id"], told["worker_id"]) == (
        server.version,
        server.commit,
        server.kafka_cluster_id,
        task.worker_id,
    )
    (worker,) = project.workers()
    assert (told["pid"], told["worker_running"], told["rest_answering"]) == (worker.pid, 1, 1)
    assert 300e6 < told["rss_bytes"] < 3e9
    assert project.status(life) is DagsterRunStatus.STARTED


def test_s3_10_kill_9_of_the_worker(project: StandaloneProject, life: str) -> None:
    (worker,) = project.workers()
    os.kill(worker.pid, signal.SIGKILL)
    project.await_status(life, DagsterRunStatus.FAILURE)
    project.await_new_life(life)
    wait_until(lambda: bool(_failure(project, worker.pid)), "see the failure on the worker's asset", 60)
    failure = _failure(project, worker.pid)
    assert failure["exit"] == "signal SIGKILL"
    assert "Kafka Connect started" in failure["last_lines"]
    assert failure["run"] == life


def test_a_worker_that_is_frozen_is_replaced(project: StandaloneProject, life: str) -> None:
    """Its process lived, so its run was kept for good."""
    (worker,) = project.workers()
    os.kill(worker.pid, signal.SIGSTOP)
    project.await_status(life, DagsterRunStatus.CANCELED, seconds=240)
    project.await_new_life(life)
    assert worker not in project.processes()
    assert len(project.workers()) == 1
    reasons = [str(told["reason"]) for told in project.observations(WORKER_ID) if "reason" in told]
    assert [f"run {life[:8]} is terminated, as its REST API has not responded" in one for one in reasons] == [True]


def test_kill_9_of_the_runs_process(project: StandaloneProject, life: str) -> None:
    (worker,) = project.workers()
    os.kill(project.run_process().pid, signal.SIGKILL)
    wait_until(lambda: worker not in project.processes(), "see the worker follow its run", 30)
    project.await_status(life, DagsterRunStatus.FAILURE)
    project.await_new_life(life)
    assert len(project.workers()) == 1


def test_s3_10_terminated_in_the_ui_it_stays_down_until_it_is_launched(project: StandaloneProject, life: str) -> None:
    project.ui().terminate_run(life)
    project.await_status(life, DagsterRunStatus.CANCELED)
    assert project.workers() == []
    assert not project.client.is_alive()
    wait_until(lambda: "Stopped by a user" in project.last_skip(), "see the sensor respect that", 60)
    assert project.newest_run(WORKER_ID) == life
    project.ui().submit_job_execution("connect_worker")
    project.await_new_life(life)


def test_sigint_to_dagster_alone_leaves_the_worker_to_the_next_dagster(project: StandaloneProject, life: str) -> None:
    former = project.dagster
    (worker,) = project.workers()
    os.kill(former.pid, signal.SIGINT)
    wait_until(lambda: former.pid not in [process.pid for process in project.processes()], "see dagster dev end", 30)
    project.start_dagster()
    wait_until(lambda: f"Alive in run {life[:8]}" in project.last_skip(), "see the sensor find the worker", 60)
    assert project.workers() == [worker]
    assert project.unfinished_runs() == [life]
    project.ui().terminate_run(life)
    project.await_status(life, DagsterRunStatus.CANCELED)
    assert project.workers() == []
    project.ui().submit_job_execution("connect_worker")
    project.await_new_life(life)


def test_another_configuration_replaces_the_worker(project: StandaloneProject, life: str) -> None:
    with project.worker_properties.open("a") as file:
        file.write("offset.flush.interval.ms=2000\n")
    project.await_status(life, DagsterRunStatus.CANCELED, seconds=60)
    project.await_new_life(life)
    assert len(project.workers()) == 1


def test_ctrl_c_ends_everything_and_the_next_dagster_starts_anew(project: StandaloneProject, life: str) -> None:
    os.killpg(project.dagster.pid, signal.SIGINT)
    # Of the Dagster that was interrupted alone, the code server too has ended: nobody asks it any more.
    project.await_no_process()
    assert project.status(life) is DagsterRunStatus.FAILURE
    assert project.observed(WORKER_ID)["worker_running"] == 0
    project.start_dagster()
    project.await_new_life(life)


def test_kill_9_of_everything_and_the_next_dagster_starts_anew(project: StandaloneProject, life: str) -> None:
    os.killpg(project.dagster.pid, signal.SIGKILL)
    project.await_no_process()
    assert project.status(life) is DagsterRunStatus.STARTED
    project.start_dagster()
    project.await_new_life(life)
    assert project.status(life) is DagsterRunStatus.FAILURE


def _failure(project: StandaloneProject, pid: int) -> dict[str, Any]:
    """What the failure sensor told of a worker."""
    return next(
        (told for told in project.observations(WORKER_ID) if told.get("pid") == pid and "last_lines" in told), {}
    )
