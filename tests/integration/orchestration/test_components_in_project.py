"""The example project of components in the hands of `dg`: scaffold, list, launch."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.ports import free_port
from connect_dagster.protocol.states import TargetState
from tests.shipped_project import ROOT
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

pytestmark = pytest.mark.nightly

DG = Path(sys.executable).with_name("dg")


@dataclass(frozen=True, slots=True)
class Project:
    """A copy of the example, and the cluster its connectors are to run on; `said` is what `dg` wrote to its errors."""

    root: Path
    server: ConnectServer
    said: list[str]

    def dg(self, *words: str) -> str:
        """Run `dg` in the project; answers what it printed."""
        nobody = f"http://127.0.0.1:{free_port()}"
        environment = {
            **os.environ,
            "CONNECT_URL": self.server.workspace.url,
            "CLUSTER_URL": nobody,
            "WAREHOUSE_PASSWORD": "geheim99",
            "DAGSTER_HOME": str(self.root / "home"),
            "DAGSTER_DISABLE_TELEMETRY": "1",
            "PYTHONPATH": str(self.root / "src"),
            "PATH": f"{DG.parent}{os.pathsep}{os.environ['PATH']}",
        }
        environment.pop("VIRTUAL_ENV", None)
        ran = subprocess.run(
            [DG, *words], cwd=self.root, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        self.said.append(ran.stderr)
        return ran.stdout

    def definitions(self) -> dict[str, list[dict[str, Any]]]:
        """What `dg list defs` finds, by kind."""
        printed = self.dg("list", "defs", "--json")
        return dict(json.loads(printed[printed.index("{") :]))


@pytest.fixture(name="project", scope="module")
def project_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("example") / "shop"
    shutil.copytree(ROOT / "examples" / "dagster" / "project", root)
    (root / "home").mkdir()
    with connect_server() as server:
        yield Project(root, server, [])


def test_dg_finds_the_components_by_their_short_names(project: Project) -> None:
    listed = project.dg("list", "components", "--json")
    for name in ("KafkaConnectWorkspaceComponent", "KafkaConnectConnectorComponent", "ConnectWorkerComponent"):
        assert f'"connect_dagster.{name}"' in listed
    assert "connect_dagster.orchestration" not in listed


def test_what_dg_scaffolds_is_listed_among_the_rest(project: Project) -> None:
    params = ["--url", project.server.workspace.url, "--cluster", "prod", "--name", "orders"]
    project.dg("scaffold", "defs", "connect_dagster.KafkaConnectConnectorComponent", "orders", *params)
    found = project.definitions()
    assets = {each["asset_key"]: each for each in found["assets"]}
    assert "connect/prod/orders" in assets
    assert assets["connect/local/archive"]["dependency_keys"] == ["kafka/access-log"]
    assert (assets["connect/local/archive"]["group_name"], assets["connect/local/archive"]["owners"]) == (
        "ingest",
        [{"team": "archive"}],
    )
    assert {"connect/workers/worker-1", "connect/workers/worker-2", "connect/groups/shop"} <= assets.keys()
    jobs = {each["name"] for each in found["jobs"]}
    assert {"kafka_connect_ingest_apply", "kafka_connect_orders_pause", "kafka_connect_stop", "connect_worker"} <= jobs
    sensors = {each["name"] for each in found["sensors"]}
    assert {
        "kafka_connect_local__archive_sensor",
        "kafka_connect_prod__orders_sensor",
        "kafka_connect_warehouse__connector_status_sensor",
        "connect_worker__keepalive_sensor",
    } <= sensors
    assert "Connectors of cluster 'warehouse' are shown as they were last seen" in project.said[-1]


def test_dg_launches_a_dry_run_and_then_the_change(project: Project) -> None:
    job = ("launch", "--job", "kafka_connect_ingest_apply")
    project.dg(*job, "--config-json", '{"ops": {"kafka_connect_apply_op": {"config": {"dry_run": true}}}}')
    assert "access-log: create" in project.said[-1]
    assert "+ topics=access-log" in project.said[-1]
    assert project.server.herder.configs == {}
    project.dg(*job)
    assert project.server.herder.targets == {"access-log": TargetState.STARTED, "archive": TargetState.PAUSED}
    assert project.server.herder.configs["archive"]["tasks.max"] == "2"
