"""`connect-dagster` itself: what it imports for help and for the commands that operate connectors over REST."""

import json
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from connect_dagster.cli.main import LazyGroup, main
from tests.unit.orchestration.connect_server import ConnectServer, connect_server

HEAVY = {"dagster", "numpy", "pandas", "pyarrow", "pyspark"}
RUN = f"""
import json, sys
from connect_dagster.cli.main import main
try:
    main(json.loads(sys.argv[1]))
except SystemExit as end:
    print("exit code", end.code, file=sys.stderr)
print("loaded", sorted({HEAVY} & set(sys.modules)), file=sys.stderr)
"""


@pytest.fixture(name="server", scope="module")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        for name in ("a", "b"):
            server.create(name)
        yield server


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--help"], 0),
        (["no-such-command"], 2),
        (["list"], 0),
        (["status"], 0),
        (["pause", "a"], 0),
        (["resume", "a"], 0),
        (["stop", "a"], 0),
        (["restart", "a"], 0),
        (["offsets", "show", "a"], 0),
        (["offsets", "reset", "a"], 0),
        (["dlq", "list", "--connector", "a"], 2),
        (["history", "a", "--context", "none"], 2),
        (["create", "NoSuchConnector"], 2),
        (["delete", "b"], 0),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_neither_dagster_nor_spark_is_loaded(server: ConnectServer, words: list[str], code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", RUN, json.dumps(words)],
        env={"CONNECT_DAGSTER_REST_URL": server.workspace.url},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr.splitlines()[-2:] == [f"exit code {code}", "loaded []"], ran.stdout


def test_the_summaries_of_the_help_are_those_of_the_commands() -> None:
    assert isinstance(main, LazyGroup)
    context = click.Context(main)
    for name, (_, summary) in main.lazy.items():
        command = main.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(limit=100) == summary
