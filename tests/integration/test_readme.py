"""The README: its commands run as they stand, but for addresses and folders; what it points to exists."""

import re
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from connect_dagster.embedded.ports import free_port
from tests.conftest import Broker
from tests.guides import await_content, moved, replaced, running
from tests.integration.topics import create

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()
] + re.findall(r"`((?:\.venv/bin/|make )[^`]+)`", TEXT)
LINES = "first message\nseconde line\n세번째 메시지\n"


def _command(beginning: str) -> list[str]:
    (found,) = {command for command in COMMANDS if command == beginning or command.startswith(f"{beginning} ")}
    return shlex.split(found)


def test_every_command_of_the_readme_is_run_by_a_test() -> None:
    run_here = [
        "make demo",
        "make install",
        ".venv/bin/connect-standalone",
        ".venv/bin/connect-distributed",
        "curl",
        ".venv/bin/connect-dagster topic read",
    ]
    run_elsewhere = ["make help", "make test", "make check", "make bench"]  # CI is made of them
    unknown = [command for command in COMMANDS if not command.startswith((*run_here, *run_elsewhere))]
    assert unknown == []


def test_links_of_the_readme_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / target).exists(), target


def test_the_list_of_make_targets_names_those_of_the_readme() -> None:
    listed = subprocess.run(["make", "help"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for command in COMMANDS:
        if command.startswith("make "):
            assert f"{command} " in listed


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_demo_delivers_every_line_and_shows_it() -> None:
    done = subprocess.run([*_command("make demo"), "ONCE=1"], cwd=ROOT, capture_output=True, text=True, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "10,000" in done.stdout
    assert not list((ROOT / ".demo").glob("**/*.pid"))


def test_the_worker_of_the_readme_takes_lines_to_a_topic_and_a_file(
    broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    places = _places(broker, topic_prefix, tmp_path)
    program, *files = _command(".venv/bin/connect-standalone")
    copies = [moved(ROOT / file, tmp_path, places) for file in files]
    (tmp_path / "test.txt").write_text(LINES, encoding="utf-8")
    with running([ROOT / program, *copies], tmp_path):
        await_content(tmp_path / "test.sink.txt", (tmp_path / "test.txt").read_bytes())
    assert "세번째 메시지" in _shown(broker, places, 3)


@pytest.mark.nightly
def test_the_group_of_the_readme_takes_a_connector_over_rest(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    places = _places(broker, topic_prefix, tmp_path) | {
        name: f"{topic_prefix}{name}"
        for name in ("connect-cluster", "connect-configs", "connect-offsets", "connect-status")
    }
    create(broker.bootstrap_servers, places["connect-test"], 1)
    program, file = _command(".venv/bin/connect-distributed")
    (tmp_path / "test.txt").write_text(LINES, encoding="utf-8")
    curl = _command("curl")
    (connector,) = [word.removeprefix("@") for word in curl if word.startswith("@")]
    request = ["--fail", "--retry", "60", "--retry-delay", "1", "--retry-connrefused", "--silent", "--show-error"]
    with running([ROOT / program, moved(ROOT / file, tmp_path, places)], tmp_path):
        words = [replaced(word, {**places, connector: str(moved(ROOT / connector, tmp_path, places))}) for word in curl]
        created = subprocess.run([*words, *request], check=True, capture_output=True, text=True, timeout=90)
        assert '"name":"local-file-source"' in created.stdout
        assert "세번째 메시지" in _shown(broker, places, 3)


def _places(broker: Broker, topic_prefix: str, folder: Path) -> dict[str, str]:
    """What a test has instead of the README's addresses, folders and names."""
    return {
        "127.0.0.1:9092": broker.bootstrap_servers,
        "127.0.0.1:8083": f"127.0.0.1:{free_port()}",
        "/tmp/": f"{folder}/",
        "connect-test": f"{topic_prefix}connect-test",
    }


def _shown(broker: Broker, places: Mapping[str, str], records: int) -> str:
    """What the README's look into the topic prints."""
    program, *words = _command(".venv/bin/connect-dagster topic read")
    done = subprocess.run(
        [ROOT / program, *(replaced(word, places) for word in words), "--max-messages", str(records)],
        env={"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers},
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout
