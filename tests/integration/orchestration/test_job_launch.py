"""`dagster job launch` through the shipped workspace file: with a daemon that runs, and without one."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance, DagsterRunStatus

from connect_dagster.embedded.ports import free_port
from connect_dagster.orchestration.dagster_dev import DagsterDev
from connect_dagster.orchestration.run_coordinator import QUEUE_DAEMON
from connect_dagster.protocol.states import TargetState
from tests.shipped_project import ROOT, START_SECONDS, wait_until
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

WORKSPACE = ROOT / "workspace.yaml"
CONNECTORS = ("local-file-source", "local-file-sink")


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        for name in CONNECTORS:
            server.create(name)
        yield server


@pytest.fixture(name="home")
def home_fixture(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    return home


def _launch(server: ConnectServer, home: Path, job: str) -> tuple[str, str]:
    """Launch a job; answers its run's id and what was said."""
    command = [sys.executable, "-m", "dagster", "job", "launch", "-w", str(WORKSPACE), "-j", job]
    environment = {**os.environ, **_environment(server), "DAGSTER_HOME": str(home)}
    launched = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert launched.returncode == 0, launched.stderr
    (said,) = re.findall(r"^Run .*$", launched.stderr, re.MULTILINE)
    return said.split()[1], said


def _environment(server: ConnectServer) -> dict[str, str]:
    return {"CONNECT_DAGSTER_REST_URL": server.workspace.url}


def _status(instance: DagsterInstance, run_id: str) -> DagsterRunStatus | None:
    run = instance.get_run_by_id(run_id)
    return run.status if run else None


@pytest.mark.nightly
def test_a_launched_job_waits_for_a_daemon_and_says_so(server: ConnectServer, home: Path) -> None:
    waiting, said = _launch(server, home, "kafka_connect_pause")
    assert "but no Dagster daemon runs on this instance (none was ever seen): it waits until one does." in said

    with DagsterInstance.from_config(str(home)) as instance:
        assert _status(instance, waiting) is DagsterRunStatus.QUEUED
        with DagsterDev(home, WORKSPACE, free_port(), _environment(server)) as dagster:
            dagster.wait_ready(START_SECONDS)
            wait_until(lambda: QUEUE_DAEMON in instance.get_daemon_heartbeats(), "hear of the daemon", 60)
            wait_until(lambda: _status(instance, waiting) is DagsterRunStatus.SUCCESS, "pause", 60)
            # Asked for, that is: the sensors, which never saw the declared state yet, bring it about.
            assert {(name, TargetState.PAUSED) for name in CONNECTORS} <= set(server.herder.asked)

            started, said = _launch(server, home, "kafka_connect_resume")
            assert re.search(r"is queued; the daemon, last seen \d+ s ago, starts it\.$", said)
            wait_until(lambda: _status(instance, started) is DagsterRunStatus.SUCCESS, "resume", 60)
            wait_until(lambda: set(server.herder.targets.values()) == {TargetState.STARTED}, "see them resumed", 60)
