"""`connect-dagster offsets`: show, alter and reset, at a served worker."""

import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.protocol.states import TargetState
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

OFFSETS = {"offsets": [{"partition": {"filename": "/tmp/in.txt"}, "offset": {"position": 42}}]}


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("src", TargetState.PAUSED, topic="lines")
        yield server


def run(server: ConnectServer, *words: str, given: str = "") -> Result:
    return CliRunner(env={"CONNECT_DAGSTER_REST_URL": server.workspace.url}).invoke(
        main, ["offsets", *words], input=given
    )


def test_alter_show_and_reset_leave_the_state_as_it_was(server: ConnectServer) -> None:
    altered = run(server, "alter", "src", "-", given=json.dumps(OFFSETS))
    assert (altered.exit_code, altered.stderr) == (0, "The offsets of src have been altered successfully\n")
    shown = run(server, "show", "src")
    assert shown.stdout.splitlines() == [
        "PARTITION                    OFFSET",
        '{"filename": "/tmp/in.txt"}  {"position": 42}',
    ]
    as_json = run(server, "show", "src", "--json")
    assert json.loads(as_json.stdout) == OFFSETS
    assert run(server, "alter", "src", "-", given=as_json.stdout).exit_code == 0
    assert json.loads(run(server, "reset", "src", "-J").stdout) == {"offsets": []}
    assert server.herder.targets["src"] is TargetState.PAUSED


def test_a_connector_that_does_not_stop_is_one_sentence(server: ConnectServer) -> None:
    server.herder.stuck.add("src")
    ran = run(server, "reset", "src", "--timeout", "0.1")
    assert ran.exit_code == 2
    assert ran.stderr == "Error: Connector 'src' is not STOPPED after 0.1 s: PAUSED, task 0 PAUSED\n"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ("{", "Error: - is not valid JSON: "),
        ("[]", 'Error: - must hold {"offsets": [{"partition": '),
        ('{"offsets": [{"offset": null}]}', 'Error: - must hold {"offsets": [{"partition": '),
    ],
)
def test_what_is_no_list_of_offsets_is_said(server: ConnectServer, given: str, sentence: str) -> None:
    ran = run(server, "alter", "src", "-", given=given)
    assert ran.exit_code == 2
    assert ran.stderr.startswith(sentence)
    assert server.herder.targets["src"] is TargetState.PAUSED
