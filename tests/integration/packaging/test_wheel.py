"""The wheel: what is in it, and what it does in an environment that has nothing else of the project."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import free_port
from tests.conftest import Broker
from tests.guides import await_content, moved, running
from tests.integration.topics import create

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).with_name("uv")
EXAMPLES = ROOT / "examples" / "file"
LINES = "first message\nseconde line\n세번째 메시지\n"
DEFINITIONS = """
import dagster as dg
from connect_dagster import ConnectorResource, KafkaConnectWorkspace, build_connector_definitions

workspace = KafkaConnectWorkspace(url="http://127.0.0.1:8083")
lines = ConnectorResource(
    workspace=workspace, name="lines", connector_class="FileStreamSource", config={"file": "in.txt", "topic": "lines"}
)
defs = dg.Definitions.merge(build_connector_definitions(lines), dg.Definitions(resources={"kafka_connect": workspace}))
"""

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(1200)]


@pytest.fixture(name="wheel", scope="module")
def wheel_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(name="programs", scope="module")
def programs_fixture(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Programs of an environment with the wheel and its requirements, in the locked versions."""
    environment = tmp_path_factory.mktemp("installed") / "env"
    _run(UV, "venv", "--python", sys.executable, environment)
    python = environment / "bin" / "python"
    _run(UV, "pip", "install", "--python", python, "--constraint", ROOT / "requirements.lock", wheel)
    return python.parent


def test_the_wheel_holds_the_package_and_nothing_beside_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        files = set(opened.namelist())
        (metadata,) = (opened.read(file).decode() for file in files if file.endswith(".dist-info/METADATA"))
    tops = {file.split("/")[0] for file in files}
    assert tops == {"connect_dagster", *(top for top in tops if top.endswith(".dist-info"))}
    assert {
        "connect_dagster/py.typed",
        "connect_dagster/embedded/jars.lock",
        "connect_dagster/expressions/BoundedPattern.java",
        "connect_dagster/worker/spark/log4j2.properties",
        "connect_dagster/cli/plugins/templates/source/plugin.py.tmpl",
    } <= files
    assert any(file.endswith(".dist-info/licenses/LICENSE") for file in files)
    assert not [file for file in files if "demo" in file]
    assert "License-Expression: Apache-2.0\n" in metadata
    assert str(ROOT) not in metadata


def test_a_standalone_worker_of_the_wheel_takes_lines_to_a_topic_and_a_file(
    programs: Path, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    places = {
        "127.0.0.1:9092": broker.bootstrap_servers,
        "127.0.0.1:8083": f"127.0.0.1:{free_port()}",
        "/tmp/": f"{tmp_path}/",
        "connect-test": f"{topic_prefix}connect-test",
    }
    create(broker.bootstrap_servers, places["connect-test"], 1)
    (tmp_path / "test.txt").write_text(LINES, encoding="utf-8")
    worker = moved(EXAMPLES / "connect-standalone.properties", tmp_path, places)
    connectors = [moved(EXAMPLES / f"local-file-{kind}.properties", tmp_path, places) for kind in ("source", "sink")]
    with running([programs / "connect-standalone", worker, *connectors], tmp_path):
        await_content(tmp_path / "test.sink.txt", LINES.encode())
    command = (programs / "connect-dagster", "topic", "--bootstrap-server", broker.bootstrap_servers, "read")
    shown = _run(*command, places["connect-test"], "--from-beginning", "-J", "--max-messages", "3", cwd=tmp_path)
    assert "세번째 메시지" in shown


def test_dagster_validates_a_project_with_the_wheel(programs: Path, tmp_path: Path) -> None:
    (tmp_path / "definitions.py").write_text(DEFINITIONS, encoding="utf-8")
    shown = _run(programs / "dagster", "definitions", "validate", "-f", "definitions.py", cwd=tmp_path)
    assert "Validation successful" in shown
    loaded = "import connect_dagster, definitions; print(connect_dagster.__file__, definitions.defs)"
    assert str(programs.parent) in _run(programs / "python", "-c", loaded, cwd=tmp_path)


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a program that must succeed, outside of this environment; returns all that it prints."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    ran = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert ran.returncode == 0, ran.stdout
    return ran.stdout
