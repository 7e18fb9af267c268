"""`connect-dagster mirror`, without brokers."""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from connect_dagster.cli.mirror import flow_reading
from connect_dagster.cli.mirror.mirror import mirror_command
from connect_dagster.connectors.mirror.flow_configs import FlowConfig
from connect_dagster.kafka.errors import UnansweredError
from tests.unit.cli.mirror.test_flow_reading import reading, translated

FLOWS = """
clusters=A, B
A.bootstrap.servers=127.0.0.1:1
B.bootstrap.servers=127.0.0.1:2
"""
BOTH = FLOWS + "A->B.enabled=true\nB->A.enabled=true\n"


@pytest.fixture(name="file")
def file_fixture(tmp_path: Path) -> Path:
    return tmp_path / "mm2.properties"


def test_commands_that_ask_one_cluster_do_not_load_dagster() -> None:
    program = "import sys, connect_dagster.cli.mirror.mirror; print('dagster' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize(
    ("text", "words", "sentence"),
    [
        (FLOWS, [], "No flow in {file} replicates topics: is A->B.enabled=true there?"),
        (FLOWS + "A->B.enabled=true\n", ["--cluster", "A"], "No flow to A in {file} replicates topics"),
    ],
)
@pytest.mark.parametrize("verb", ["status", "check"])
def test_a_file_without_a_flow_that_replicates_is_an_error(
    file: Path, verb: str, text: str, words: list[str], sentence: str
) -> None:
    file.write_text(text)
    ran = CliRunner().invoke(mirror_command, [verb, str(file), *words])
    assert (ran.exit_code, sentence.format(file=file) in ran.output) == (1, True), ran.output


def shown(monkeypatch: pytest.MonkeyPatch, words: list[str], found: Mapping[str, Any]) -> tuple[int, list[Any]]:
    """Return exit code and rows of a command, with readings of flows or errors of their targets."""

    def read(config: FlowConfig, *_: object) -> flow_reading.FlowReading:
        result = found[str(config.flow)]
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, flow_reading.FlowReading)
        return result

    monkeypatch.setattr(flow_reading, "read_flow", read)
    ran = CliRunner().invoke(mirror_command, [*words, "--json"])
    return ran.exit_code, json.loads(ran.stdout)


def test_each_flow_is_shown_by_itself(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    file.write_text(BOTH)
    found = {"A->B": UnansweredError("No broker of 'B'."), "B->A": reading()}
    code, rows = shown(monkeypatch, ["status", str(file)], found)
    errors = {row["flow"]: (row["lag"], row["error"]) for row in rows}
    assert (code, errors) == (2, {"A->B": (None, "No broker of 'B'."), "B->A": (10, None)})


@pytest.mark.parametrize(("downstream", "of_one", "of_both"), [(90, 0, 2), (10, 1, 1)])
def test_not_ready_is_1_and_not_known_is_2(
    monkeypatch: pytest.MonkeyPatch, file: Path, downstream: int, of_one: int, of_both: int
) -> None:
    file.write_text(BOTH)
    one = reading(offsets=[translated("g", downstream, committed=downstream)])
    found = {"A->B": UnansweredError("No broker of 'B'."), "B->A": one}
    words = ["check", str(file), "--max-lag", "20"]
    assert shown(monkeypatch, words, found)[0] == of_both
    assert shown(monkeypatch, [*words, "--cluster", "A"], found)[0] == of_one
