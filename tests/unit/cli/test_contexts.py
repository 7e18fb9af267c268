"""`connect-dagster context`, and `--context` of the commands that ask a cluster."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.cli.topics.brokers import brokers_options, chosen_brokers
from tests.unit.orchestration.connect_server import ConnectServer, connect_server


@pytest.fixture(name="server", scope="module")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("src")
        yield server


@pytest.fixture(name="file")
def file_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where contexts are kept."""
    monkeypatch.setenv("CONNECT_DAGSTER_CONTEXTS", str(tmp_path / "new" / "contexts.json"))
    monkeypatch.delenv("CONNECT_DAGSTER_REST_URL", raising=False)
    return tmp_path / "new" / "contexts.json"


def run(*words: str, **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, words)


def test_contexts_are_named_chosen_and_removed(file: Path) -> None:
    assert run("context", "list").stdout == "CURRENT  NAME  URL  BROKERS\n"
    added = run("context", "set", "test", "--url", "http://a:8083", "--username", "ann", "--password", "geheim99")
    assert added.stdout == f"test: http://a:8083, in {file}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    run("context", "set", "live", "--url", "https://b", "--bootstrap-server", "b:9092")
    assert run("context", "use", "live").stdout == "live: https://b\n"
    assert run("context", "list").stdout.splitlines() == [
        "CURRENT  NAME  URL            BROKERS",
        "*        live  https://b      b:9092",
        "         test  http://a:8083",
    ]
    shown = run("context", "list", "-J").stdout
    assert json.loads(shown)["contexts"]["test"] == {
        "url": "http://a:8083",
        "username": "ann",
        "password": "********",
    }
    run("context", "set", "test", "--username", "", "--url", "http://c")
    assert json.loads(file.read_text())["contexts"]["test"] == {"url": "http://c", "password": "geheim99"}
    assert run("context", "remove", "live").stdout == "live: removed\n"
    assert json.loads(file.read_text())["current"] is None


@pytest.mark.usefixtures("file")
def test_commands_ask_the_current_context_or_the_one_they_name(server: ConnectServer) -> None:
    run("context", "set", "nobody", "--url", "http://127.0.0.1:9")
    run("context", "set", "test", "--url", server.workspace.url)
    assert "127.0.0.1:9:" in run("list").stderr
    for asked in (run("list", "--context", "test"), run("list", CONNECT_DAGSTER_CONTEXT="test")):
        assert asked.stdout.splitlines()[1].split()[0] == "src"
    run("context", "use", "test")
    assert run("list").exit_code == 0
    # What leads to one worker is not shown to another.
    run("context", "set", "test", "--username", "ann", "--token", "t")
    assert "Give one of username, token and token_file" in run("list").stderr
    assert run("list", "--url", server.workspace.url).exit_code == 0


@pytest.mark.usefixtures("file")
def test_brokers_are_those_of_a_context() -> None:
    @click.command()
    @brokers_options
    def brokers(bootstrap_server: str | None, command_config: str | None) -> None:
        click.echo(chosen_brokers(bootstrap_server, command_config).servers)

    def told(*words: str) -> str:
        return CliRunner().invoke(brokers, words).output

    assert told() == "localhost:9092\n"
    run("context", "set", "a", "--url", "http://a", "--bootstrap-server", "a:9092")
    run("context", "set", "b", "--url", "http://b")
    assert told() == "a:9092\n"
    assert told("--bootstrap-server", "c:1") == "c:1\n"
    assert "Error: The context b names no brokers: `connect-dagster context set b --boot" in told("--context", "b")
    assert "Give --bootstrap-server or --context, not both" in told("--context", "a", "--bootstrap-server", "c:1")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["context", "use", "who"], "has no context who; it has none at all. `connect-dagster context set` adds one"),
        (["context", "remove", "who"], "has no context who; it has none at all."),
        (["list", "--context", "who"], "has no context who; it has none at all."),
        (["list", "--context", "who", "--url", "http://a"], "Give --url or --context, not both"),
        (["context", "set", "new", "--username", "ann"], "The context new needs a worker's address: --url http"),
    ],
)
def test_wrong_arguments_are_one_sentence(file: Path, words: list[str], text: str) -> None:
    ran = run(*words)
    assert ran.exit_code == 2
    assert text in ran.stderr
    assert not file.exists()


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("{", " is not valid JSON: "),
        ("[]", ' must hold {"current": NAME, "contexts": {NAME: {"url": …}, …}}'),
        ('{"contexts": {"a": {}}}', ": context a must be texts by their names, among them url"),
        ('{"contexts": {"a": {"url": "b", "urls": "c"}}}', ": context a has urls, which is none of url, username,"),
        ('{"current": "b", "contexts": {}}', ": the current context b is none of no contexts"),
    ],
)
def test_a_file_that_holds_something_else_is_named(file: Path, content: str, text: str) -> None:
    file.parent.mkdir()
    file.write_text(content)
    ran = run("list")
    assert (ran.exit_code, ran.stderr.startswith(f"Error: {file}{text}")) == (2, True), ran.stderr


def test_a_file_that_cannot_be_written_is_named(file: Path) -> None:
    file.parent.write_text("no folder")
    ran = run("context", "set", "a", "--url", "http://a")
    assert (ran.exit_code, ran.stderr) == (2, f"Error: {file} cannot be read: Not a directory\n")
