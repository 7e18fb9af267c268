"""A code location that operates workers elsewhere, with the requirements of its file and no others."""

import json
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions, requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from connect_dagster.client.types import State
from tests.unit.orchestration.connect_server import connect_server

ROOT = Path(__file__).parents[3]
FILE = ROOT / "examples" / "deployment" / "code-location-requirements.txt"
PROGRAM = """
import json, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

url, missing = sys.argv[1], set(json.loads(sys.argv[2]))
sys.meta_path.insert(0, Missing())

import dagster as dg
from connect_dagster import (
    FileStreamSinkResource,
    FileStreamSourceResource,
    KafkaConnectWorkspace,
    build_connector_definitions,
    build_kafka_connect_polling_sensor,
)

workspace = KafkaConnectWorkspace(url=url, poll_interval=0.02)
defs = dg.Definitions.merge(
    build_connector_definitions(
        FileStreamSourceResource(workspace=workspace, name="lines", file="/tmp/lines.txt", topic="lines"),
        FileStreamSinkResource(workspace=workspace, name="archive", file="/tmp/archive.txt", topics=["lines"]),
    ),
    dg.Definitions(sensors=[build_kafka_connect_polling_sensor(workspace=workspace)]),
)
dg.Definitions.validate_loadable(defs)
with dg.DagsterInstance.ephemeral() as instance, dg.build_sensor_context(instance=instance) as context:
    assert defs.resolve_job_def("kafka_connect_apply").execute_in_process(instance=instance).success
    polling = defs.get_sensor_def("kafka_connect_local__connector_status_sensor")
    print(polling.evaluate_tick(context).skip_message)
"""


def installed(name: str, found: set[str]) -> set[str]:
    """Add a package to those found, with all that it requires."""
    if (canonical := canonicalize_name(name)) not in found:
        found.add(canonical)
        for each in map(Requirement, requires(name) or ()):
            if each.marker is None or each.marker.evaluate({"extra": ""}):
                installed(each.name, found)
    return found


def test_it_operates_connectors() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    small = [line for line in FILE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    assert set(small) <= set(project["dependencies"])
    there: set[str] = set()
    for line in small:
        installed(Requirement(line).name, there)
    others = {canonicalize_name(Requirement(line).name) for line in project["dependencies"]} - there
    modules = [
        module for module, owners in packages_distributions().items() if set(map(canonicalize_name, owners)) <= others
    ]
    assert {"pyspark", "pyarrow", "numba", "llvmlite"} <= set(modules)
    with connect_server() as server:
        command = [sys.executable, "-c", PROGRAM, server.workspace.url, json.dumps(modules)]
        found = subprocess.run(command, capture_output=True, text=True, check=False)
        assert found.returncode == 0, found.stderr[-2000:]
        assert found.stdout == "Polled 2 connectors: 2 observations, 0 outputs advanced\n"
        assert server.workspace.get_client().status("archive").has_reached(State.RUNNING)
