"""The limit of a pool, set as the guide does, bounds how many steps change connectors at once."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from dagster import DagsterInstance

from connect_dagster.orchestration import FileStreamSourceResource, build_connector_definitions
from tests.unit.orchestration.connect_server import connect_server

pytestmark = pytest.mark.nightly

COMMAND = "dagster instance concurrency set connect 1"
WAITS_SECONDS = 3.0


def test_a_step_waits_for_a_place_in_its_pool(tmp_path: Path) -> None:
    program, *words = COMMAND.split()
    environment = {**os.environ, "DAGSTER_HOME": str(tmp_path)}
    command = [str(Path(sys.executable).with_name(program)), *words]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    with connect_server() as server, DagsterInstance.from_config(str(tmp_path)) as instance:
        source = FileStreamSourceResource(workspace=server.workspace, name="lines", file="/tmp/in.txt", topic="lines")
        job = build_connector_definitions(source, pool="connect").resolve_job_def("kafka_connect_apply")
        storage = instance.event_log_storage
        assert storage.claim_concurrency_slot("connect", "another run", "its step").is_claimed
        with ThreadPoolExecutor(1) as pool:
            run = pool.submit(job.execute_in_process, instance=instance)
            time.sleep(WAITS_SECONDS)
            assert not run.done()
            assert server.workspace.get_client().connectors() == {}
            storage.free_concurrency_slots_for_run("another run")
            assert run.result(120).success
        assert list(server.workspace.get_client().connectors()) == ["lines"]
