"""`connect-dagster create`: questions at a served worker and without one, and files that `apply` takes."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from connect_dagster.cli.connectors.connector_text import connector_text
from connect_dagster.cli.main import main
from connect_dagster.herder.interface import PluginInfo
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
# Texts that one of the forms would change without its escapes.
ODD_VALUES = (
    "1.10",
    "007",
    "7",
    "True",
    "None",
    "[1, 2]",
    "'quoted'",
    " led",
    "",
    "{{ x }}",
    "{{1}}",
    "{# y",
    "a\nb\n",
    "a\r\nb",
    "C:\\temp",
    "# key=value: \\",
    "서울 🚀",
    "${file:/etc/secrets:pin}",
    "[0-9]+",
    "1_000",
    "0x10",
    "'{{'",
)


@pytest.fixture(name="server")
def server_fixture(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ConnectServer]:
    monkeypatch.chdir(tmp_path)
    with connect_server() as server:
        plugins = [PluginInfo(SINK, "sink", "4.3.1"), PluginInfo(CLASS, "source", "4.3.1")]
        monkeypatch.setattr(server.herder, "plugins", lambda *, connectors_only: plugins)
        yield server


def run(server: ConnectServer, *words: str, answers: str = "") -> Result:
    return CliRunner(env={"CONNECT_DAGSTER_REST_URL": server.workspace.url}).invoke(
        main, ["create", *words], input=answers
    )


def test_questions_end_with_a_file_that_apply_takes(server: ConnectServer) -> None:
    ran = run(server, "--set", "name=lines", answers="3\n2\n/tmp/in.txt\n")
    assert ran.exit_code == 0, ran.output
    assert f"  1  {SINK}\n  2  {CLASS}\n" in ran.stdout
    assert f"The options of {CLASS}: docs/reference/connector_options.md\n" in ran.stdout
    assert "Error: 3 is neither a number of the list nor a connector class in it" in ran.output
    assert ran.stdout.endswith("lines: written to lines.properties\nNext: connect-dagster apply lines.properties\n")
    assert Path("lines.properties").read_text() == f"name=lines\nconnector.class={CLASS}\nfile=/tmp/in.txt\n"
    applied = CliRunner(env={"CONNECT_DAGSTER_REST_URL": server.workspace.url}).invoke(
        main, ["apply", "lines.properties"]
    )
    assert (applied.exit_code, server.herder.configs["lines"]["file"]) == (0, "/tmp/in.txt")


def test_a_password_is_hidden_and_its_file_private(server: ConnectServer) -> None:
    words = ("FileStreamSource", "--set", "name=lines", "--set", "file=/tmp/in", "--ask", "connection.pin")
    ran = run(server, *words, answers="geheim99\n")
    assert "A placeholder keeps the secret out of the file: ${file:" in ran.stdout
    assert "geheim99" not in ran.output
    assert "lines.properties holds a secret: only you can read it" in ran.stderr
    assert stat.S_IMODE(Path("lines.properties").stat().st_mode) == 0o600
    ran = run(server, *words, "--output", "other.properties", answers="${file:/etc/secrets:pin}\n")
    assert "holds a secret" not in ran.stderr
    assert "connection.pin=${file:/etc/secrets:pin}\n" in Path("other.properties").read_text()


def test_without_input_one_error_lists_what_is_missing(server: ConnectServer) -> None:
    ran = run(server, "FileStreamSource", "--no-input", "--set", "name=lines")
    assert (ran.exit_code, ran.stderr) == (
        1,
        "Error: The configuration is not complete; give these with --set KEY=VALUE:\n"
        '  file: Missing required configuration "file" which has no default value.\n'
        "See docs/reference/connector_options.md\n",
    )
    ran = run(server, "--no-input")
    assert (ran.exit_code, ran.stderr.splitlines()[-1]) == (
        2,
        f"Error: Give a CLASS. The worker at {server.workspace.url} has {SINK}, {CLASS}",
    )
    assert list(Path().iterdir()) == []


def test_a_file_is_replaced_only_when_that_is_said(server: ConnectServer) -> None:
    file, words = Path("lines.json"), ("--set", f"connector.class={CLASS}", "--set", "name=a", "--set", "file=/tmp/in")
    file.write_text("mine")
    ran = run(server, *words, "--output", "lines.json", "--no-input")
    assert (ran.exit_code, ran.stderr) == (2, "Error: lines.json exists; --force replaces it\n")
    ran = run(server, *words, "--output", "lines.json", answers="n\nlines.txt\nother.json\n")
    assert ran.exit_code == 0, ran.output
    assert "Error: lines.txt must end with .properties, .json, .yaml, .yml" in ran.output
    assert file.read_text() == "mine"
    assert json.loads(Path("other.json").read_text()) == {
        "name": "a",
        "config": {"connector.class": CLASS, "file": "/tmp/in"},
    }
    assert run(server, *words, "--output", "lines.json", "--no-input", "--force").exit_code == 0
    assert file.read_text() == Path("other.json").read_text()


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("FileStreamSource", "--output", "lines.toml"), "--output lines.toml must end with .properties, .json"),
        (("FileStreamSource", "--ask", "pin", "--no-input"), "Give --ask or --no-input, not both"),
        (("FileStreamSource", "--set", "name"), "name is not KEY=VALUE"),
        (("FileStreamSource", "--set", f"connector.class={SINK}"), f"and --set connector.class is {SINK}: give one"),
        (("S3Sink",), f"has no connector plugin S3Sink; it has {SINK}, {CLASS}"),
    ],
)
def test_wrong_arguments_are_named(server: ConnectServer, words: tuple[str, ...], error: str) -> None:
    ran = run(server, *words)
    assert (ran.exit_code, error in ran.stderr) == (2, True), ran.output


def test_without_a_worker_the_error_names_the_ways_on(server: ConnectServer) -> None:
    ran = run(server, "--url", "http://127.0.0.1:9", "FileStreamSource")
    assert (ran.exit_code, ran.stderr.partition(".")[0]) == (2, "Error: No worker responds at http://127")
    assert "--installed" in ran.stderr


def test_the_plugins_installed_here_need_no_worker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["create", "JdbcSource", "--installed", "--output", "defs.yaml", "--set", "mode=sometimes"]
    ran = CliRunner().invoke(main, words, input="shop\njdbc:sqlite:/tmp/shop.db\nbulk\nshop-\n")
    assert ran.exit_code == 0, ran.output
    assert "Invalid value sometimes for configuration mode" in ran.stdout
    (declared,) = yaml.safe_load(Path("defs.yaml").read_text())["attributes"]["connectors"]
    assert declared == {
        "name": "shop",
        "connector_class": "io.confluent.connect.jdbc.JdbcSourceConnector",
        "config": {"mode": "bulk", "connection.url": "jdbc:sqlite:/tmp/shop.db", "topic.prefix": "shop-"},
    }


@pytest.mark.parametrize("ending", [".properties", ".json", ".yaml"])
def test_apply_reads_each_value_as_it_was_given(server: ConnectServer, ending: str) -> None:
    file, odd = Path(f"odd{ending}"), {f"odd.{number}": value for number, value in enumerate(ODD_VALUES)}
    config = {"name": "007", "connector.class": CLASS, "file": "/tmp/in", "tasks.max": "2", **odd}
    file.write_text(connector_text(file, config, "http://127.0.0.1:8083"), encoding="utf-8")
    applied = CliRunner(env={"CONNECT_DAGSTER_REST_URL": server.workspace.url}).invoke(main, ["apply", str(file)])
    assert applied.exit_code == 0, applied.output
    assert server.herder.configs["007"] == config


def test_java_reads_the_properties_too() -> None:
    text = connector_text(Path("a.properties"), {"name": "서울 🚀"}, "")
    assert text == "name=\\uc11c\\uc6b8 \\ud83d\\ude80\n"
