"""The queue that says whether a daemon will start what is queued."""

import logging
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from dagster import DagsterInstance, DagsterRunStatus, SubmitRunContext
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteJobOrigin, RemoteRepositoryOrigin
from dagster._core.test_utils import create_run_for_test
from dagster._daemon.types import DaemonHeartbeat

from connect_dagster.orchestration.run_coordinator import QUEUE_DAEMON, DaemonAwareRunCoordinator, log
from tests.shipped_project import ROOT

ORIGIN = RemoteJobOrigin(RemoteRepositoryOrigin(RegisteredCodeLocationOrigin("location"), "repository"), "pause")


@pytest.fixture(name="instance")
def instance_fixture(tmp_path: Path) -> Iterator[DagsterInstance]:
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        yield instance


def _queued(instance: DagsterInstance, caplog: pytest.LogCaptureFixture) -> str:
    """What is said of a run that is submitted, without its id."""
    run = create_run_for_test(instance, job_name="pause", remote_job_origin=ORIGIN)
    with caplog.at_level(logging.INFO):
        submitted = instance.run_coordinator.submit_run(SubmitRunContext(run, workspace=Mock()))
    assert submitted.status is DagsterRunStatus.QUEUED
    return caplog.messages[-1].replace(run.run_id, "<id>")


def _beat(instance: DagsterInstance, seconds_ago: float) -> None:
    instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - seconds_ago, QUEUE_DAEMON, "d", []))


def test_the_shipped_instance_has_it_with_the_limits_beside_it(instance: DagsterInstance) -> None:
    assert isinstance(instance.run_coordinator, DaemonAwareRunCoordinator)
    queue = instance.get_concurrency_config().run_queue_config
    assert queue is not None
    assert queue.max_concurrent_runs == 25


def test_without_a_daemon_a_run_waits_and_that_is_said(
    instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    waits = "it waits until one does. Start one with 'dagster dev' or 'dagster-daemon run', on the same"
    said = _queued(instance, caplog)
    assert said.startswith("Run <id> of job 'pause' is queued, but no Dagster daemon runs on this instance")
    assert f"(none was ever seen): {waits}" in said
    _beat(instance, 7200)
    assert f"(the last was seen 120 min ago): {waits}" in _queued(instance, caplog)
    assert {record.levelno for record in caplog.records if record.name == log.name} == {logging.WARNING}


def test_with_a_daemon_the_run_is_said_to_start(instance: DagsterInstance, caplog: pytest.LogCaptureFixture) -> None:
    _beat(instance, 12)
    assert _queued(instance, caplog) == "Run <id> of job 'pause' is queued; the daemon, last seen 12 s ago, starts it."
