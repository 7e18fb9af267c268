"""The guide to Dagster: its Python loads, its commands run as they stand, what it names is there."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

import connect_dagster
from tests.unit.orchestration.components.sandbox import loaded
from tests.unit.orchestration.connect_server import connect_server

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "dagster.md"
TEXT = GUIDE.read_text(encoding="utf-8")
# Other YAML is of workspaces: orchestration/test_hosting_machines.py.
COMPONENTS = re.findall(r"```yaml\n(type: .*?)```", TEXT, re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
OURS = [command for command in COMMANDS if command.startswith(".venv/bin/connect-dagster ")]
RUN_ELSEWHERE = [
    "dagster job launch -w workspace.yaml -j kafka_connect_pause",  # orchestration/test_job_launch.py
    "dagster instance concurrency set connect 1",  # orchestration/test_pools.py
    "dg scaffold defs connect_dagster.KafkaConnectConnectorComponent ingest",  # …/test_components_in_project.py
    "dagster api grpc -h 0.0.0.0 -p 4266 -m connect_workers --location-name machine-2",  # …/test_hosting_machines.py
]


@pytest.mark.parametrize("code", PYTHON, ids=range(len(PYTHON)))
def test_its_python_makes_definitions_that_load(code: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    dg.Definitions.validate_loadable(names["defs"])


@pytest.mark.parametrize("text", COMPONENTS, ids=range(len(COMPONENTS)))
def test_its_yaml_is_of_components_that_load(text: str) -> None:
    contents = yaml.safe_load(text)
    component = getattr(connect_dagster, contents["type"].removeprefix("connect_dagster."))
    with loaded(component, contents["attributes"]) as (_, defs):
        dg.Definitions.validate_loadable(defs)


def test_its_commands_run_one_after_the_other() -> None:
    with connect_server() as server:
        environment = {**os.environ, "CONNECT_DAGSTER_REST_URL": server.workspace.url}
        for command in OURS:
            program, *words = shlex.split(command)
            done = subprocess.run(
                [ROOT / program, *words], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
            )
            assert done.returncode == (1 if words[0] == "diff" else 0), f"{command}\n{done.stdout}{done.stderr}"


def test_every_command_is_run_by_a_test() -> None:
    inline = re.findall(r"`((?:dg|dagster) [^`]+)`", TEXT)
    assert [command for command in [*COMMANDS, *inline] if command not in [*OURS, *RUN_ELSEWHERE]] == []


def test_what_it_names_is_there() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (GUIDE.parent / target).exists(), target
    names = re.findall(r"`((?:build_|load_)\w+|(?:Kafka|Connect|File)\w+(?:Resource|Component))`", TEXT)
    assert [name for name in names if not hasattr(connect_dagster, name)] == []
