"""The handbook for workers: its blocks make one worker that starts, and its commands do what the page says."""

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import free_port
from tests.conftest import Broker
from tests.guides import replaced, running
from tests.key_tool import PASSWORD, make_key

pytestmark = [pytest.mark.timeout(300), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "workers.md"
TEXT = GUIDE.read_text(encoding="utf-8")
FILE = "".join(re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL))
(LOGIN,) = re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)
(CONNECTOR,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
START, *CALLS = COMMANDS
QUICK = "spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=1\n"


@pytest.fixture(scope="module")
def outputs(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What each command of the page prints, on a worker of its blocks at other places."""
    folder = tmp_path_factory.mktemp("workers")
    name = f"{folder.parent.name}-{os.getpid()}-"
    places = {
        "127.0.0.1:9092": broker.bootstrap_servers,
        **{f"127.0.0.1:{port}": f"127.0.0.1:{free_port()}" for port in (8083, 8443, 9083)},
        "/etc/connect": str(folder),
        **{topic: f"{name}{topic}" for topic in ("connect-configs", "connect-offsets", "connect-status")},
        "connect-cluster": f"{name}connect-cluster",
    }
    for made in ("plugins", "logs"):
        (folder / made).mkdir()
    make_key(folder, "worker")
    _as_pkcs12(folder)
    (folder / "secrets.properties").write_text(f"keystore={PASSWORD}\n")
    (folder / "users.properties").write_text("admin=secret\n")
    (folder / "jaas.conf").write_text(replaced(LOGIN, places))
    (folder / "lines.json").write_text(CONNECTOR)
    (folder / "worker.properties").write_text(replaced(FILE, places) + QUICK)
    program, *words = shlex.split(replaced(START, places))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={folder}/jaas.conf")
        with running([ROOT / program, *words], folder):
            health = next(command for command in CALLS if command.endswith("/health"))
            _await_success(replaced(health, places), folder)
            told = {command: _run(replaced(command, places)) for command in _status_written(CALLS, places, folder)}
            yield told | {file.name: file.read_text() for file in (folder / "logs").iterdir()}


def test_the_group_has_its_one_member(outputs: dict[str, str]) -> None:
    described = json.loads(_output(outputs, "group describe"))
    assert [member["subscription"]["url"] for member in described["members"]]


def test_a_connector_is_created_stopped_and_resumed(outputs: dict[str, str]) -> None:
    assert json.loads(_output(outputs, "/connectors"))["name"] == "lines"
    assert json.loads(_output(outputs, ":8083/connectors/lines/status"))["connector"]["state"] == "STOPPED"
    assert _output(outputs, "/connectors/lines/resume") == ""


def test_the_configuration_that_runs_is_told(outputs: dict[str, str]) -> None:
    told = json.loads(_output(outputs, "/dagster/connectors/lines/status"))
    assert (told["connector"]["current"], told["connector"]["config_offset"]) == (True, told["config_offset"])


def test_health_metrics_progress_and_the_description_are_served(outputs: dict[str, str]) -> None:
    assert json.loads(_output(outputs, "/health"))["status"] == "healthy"
    assert "kafka_connect_" in _output(outputs, "/metrics")
    assert json.loads(_output(outputs, "/dagster/progress")) is not None
    assert json.loads(_output(outputs, "/openapi.json"))["openapi"].startswith("3.")


def test_levels_are_shown_and_set_on_the_listener_of_administrators(outputs: dict[str, str]) -> None:
    assert "root" in json.loads(_output(outputs, "/admin/loggers"))
    assert "connect_dagster.worker" in json.loads(_output(outputs, "/admin/loggers/connect_dagster.worker"))


def test_the_log_is_in_files_as_the_page_says(outputs: dict[str, str]) -> None:
    lines = [json.loads(line) for line in outputs["worker.json"].splitlines()]
    assert {"Kafka Connect started", "Creating connector lines of type FileStreamSource"} <= {
        line["message"] for line in lines
    }
    about = [json.loads(line) for line in outputs["lines.log"].splitlines()]
    assert {(line["connector"], line.get("task")) for line in about} == {("lines", None), ("lines", 0)}
    assert about == [line for line in lines if line.get("connector") == "lines"]
    assert json.loads(_output(outputs, "/admin/loggers/connector:lines")) == ["connector:lines"]


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (GUIDE.parent / target).exists(), target


def _output(outputs: dict[str, str], ending: str) -> str:
    (found,) = {command for command in outputs if command.rstrip().endswith(ending) or f"{ending} " in command}
    return outputs[found]


def _status_written(commands: Iterable[str], places: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The commands; the status of a new connector is 404 until its worker has written one, as with Java."""
    for command in commands:
        if command.endswith("/status"):
            _await_success(replaced(command, places), folder)
        yield command


def _run(command: str) -> str:
    program, *words = shlex.split(command)
    path = str(ROOT / program) if program.startswith(".venv/") else program
    done = subprocess.run([path, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def _await_success(command: str, folder: Path) -> None:
    deadline = time.monotonic() + 150
    while subprocess.run(shlex.split(command), capture_output=True, timeout=60).returncode != 0:
        assert time.monotonic() < deadline, (folder / "worker.log").read_text(errors="replace")[-5000:]
        time.sleep(0.5)


def _as_pkcs12(folder: Path) -> None:
    into = ["-destkeystore", "worker.p12", "-deststoretype", "PKCS12", "-deststorepass", PASSWORD]
    command = ["keytool", "-importkeystore", "-srckeystore", "worker.jks", "-srcstorepass", PASSWORD, *into]
    subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=True)
