"""Details of workers and connectors, changes of keys, loggers, validation and completion, at a served worker."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from connect_dagster.cli.main import main
from connect_dagster.herder.interface import ConnectorOffset, Health, HealthReport
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server, pin_is_secret


@pytest.fixture(name="server")
def server_fixture() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("src", topic="lines", connection_pin="geheim99")
        server.herder.topics["src"] = ["lines"]
        server.herder.offsets["src"] = [ConnectorOffset({"filename": "in.txt"}, {"position": 7})]
        yield server


def run(server: ConnectServer, *words: str, **environment: str) -> Result:
    url = {"CONNECT_DAGSTER_REST_URL": server.workspace.url}
    return CliRunner(env={**url, **environment}).invoke(main, words, prog_name="connect-dagster")


def test_a_worker_tells_its_version_and_health(server: ConnectServer) -> None:
    told = json.loads(run(server, "info", "-J").stdout)
    assert told.keys() == {"url", "version", "commit", "kafka_cluster_id", "status", "message"}
    assert (told["status"], told["message"]) == ("healthy", "Worker is ready.")
    server.herder.report = HealthReport(Health.STARTING, "Worker is still starting up.")
    ran = run(server, "info")
    assert ran.exit_code == 1
    assert "status            starting\nmessage           Worker is still starting up.\n" in ran.stdout


def test_a_connector_is_described_without_its_secrets(server: ConnectServer) -> None:
    server.herder.fail("src", trace="java.lang.Error: geheim99\n\tat x.Y(Z.java:1)")
    assert (
        run(server, "describe", "src").stdout
        == f"""\
name    src
type    source
topics  lines

States:
PART       STATE    WORKER
connector  RUNNING  127.0.0.1:8083
task 0     FAILED   127.0.0.1:8083

Failure of task 0:
java.lang.Error: ********
\tat x.Y(Z.java:1)

Configuration:
name             src
connector.class  {CLASS}
tasks.max        1
file             /tmp/in.txt
topic            lines
connection.pin   ********

Offsets:
PARTITION               OFFSET
{{"filename": "in.txt"}}  {{"position": 7}}
"""
    )
    told = json.loads(run(server, "describe", "src", "--json").stdout)
    assert (told["topics"], told["config"]["connection.pin"]) == (["lines"], "********")


def test_keys_are_changed_and_removed(server: ConnectServer) -> None:
    dry = run(server, "patch", "src", "--set", "topic=a=b", "--remove", "connection.pin", "--dry-run")
    lines = ["src: change", "- connection.pin=********", "- topic=lines", "+ topic=a=b"]
    assert (dry.exit_code, dry.stdout.splitlines()) == (0, lines)
    assert server.herder.configs["src"]["topic"] == "lines"
    ran = run(server, "patch", "src", "-s", "topic=a=b", "-r", "connection.pin")
    assert ran.stdout.splitlines() == [*lines, "src: RUNNING, task 0 RUNNING"]
    config = server.herder.configs["src"]
    assert (config["topic"], config["file"], config.get("connection.pin")) == ("a=b", "/tmp/in.txt", None)
    assert run(server, "patch", "src", "-s", "topic=a=b").stdout == "src: no change\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["patch", "src"], "Error: Nothing to change: give --set KEY=VALUE or --remove KEY"),
        (["patch", "src", "-s", "topic"], "Error: topic is not KEY=VALUE"),
        (["patch", "src", "-r", "topics"], "Error: The configuration of src has no topics."),
        (["patch", "who", "-s", "a=b"], "Error: The cluster at {url} has no connector who; it has src."),
        (
            ["patch", "src", "-r", "file"],
            'Error: The worker refuses the configuration of src: file: Missing required configuration "file" which has '
            "no default value; see docs/reference/connector_options.md. Nothing was changed.",
        ),
        (["describe", "who"], "Error: The cluster at {url} has no connector who; it has src."),
        (["reset-topics", "who"], "Error: The cluster at {url} has no connector who; it has src."),
        (["loggers", "get", "x.y"], "Error: GET {url}/admin/loggers/x.y → 404: Logger x.y not found."),
        (["loggers", "set", "a.b", "LOUD"], "Error: Invalid value for 'LEVEL': 'LOUD' is not one of"),
        (["completion", "tcsh"], "Error: Invalid value for '{{bash|zsh|fish}}': 'tcsh' is not one of"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(server: ConnectServer, words: list[str], sentence: str) -> None:
    ran = run(server, *words)
    assert ran.exit_code == 2
    assert ran.stderr.splitlines()[-1].startswith(sentence.format(url=server.workspace.url))


def test_topics_are_forgotten(server: ConnectServer) -> None:
    assert run(server, "reset-topics", "src").stdout == "src: topics reset\n"
    assert server.herder.topics == {}


def test_levels_are_shown_and_set(server: ConnectServer) -> None:
    assert run(server, "loggers", "list").stdout == "LOGGER  LEVEL\na.b     DEBUG\nroot    INFO\n"
    assert run(server, "loggers", "set", "connector:src", "trace").stdout == "connector:src\n"
    assert run(server, "loggers", "get", "connector:src").stdout == "TRACE\n"
    assert run(server, "loggers", "set", "root", "WARN", "--cluster").stdout == "root: WARN on all workers\n"
    assert json.loads(run(server, "loggers", "list", "-J").stdout)["root"] == "WARN"


def test_declarations_are_validated(server: ConnectServer, tmp_path: Path) -> None:
    for name, more in {"well": "file=/tmp/in.txt\n", "ill": ""}.items():
        (tmp_path / f"{name}.properties").write_text(f"name={name}\nconnector.class={CLASS}\n{more}")
    ran = run(server, "validate", str(tmp_path / "well.properties"), str(tmp_path / "ill.properties"))
    assert (ran.exit_code, ran.stdout) == (1, "well: valid\n")
    assert ran.stderr.startswith("The worker refuses the configuration of connector 'ill': file: Missing required")
    assert run(server, "validate", str(tmp_path / "well.properties")).exit_code == 0
    assert list(server.herder.configs) == ["src"]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["pause", "s"], ["src"]),
        (["describe", "x"], []),
        (["loggers", "get", "a"], ["a.b"]),
        (["loggers", "get", "--url", "http://127.0.0.1:9", "a"], []),
        (["desc"], ["describe"]),
    ],
)
def test_a_shell_completes_words(server: ConnectServer, words: list[str], names: list[str]) -> None:
    completed = run(
        server,
        _CONNECT_DAGSTER_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(["connect-dagster", *words]),
        COMP_CWORD=str(len(words)),
    )
    assert completed.stdout.split() == [f"plain,{name}" for name in names]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_a_shell_asks_this_command(server: ConnectServer, shell: str) -> None:
    assert "_CONNECT_DAGSTER_COMPLETE" in run(server, "completion", shell).stdout


def test_the_options_of_a_plugin(server: ConnectServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.herder, "plugin_config", pin_is_secret)
    assert run(server, "plugin", "describe", CLASS).stdout.splitlines() == [
        "OPTION          TYPE      DEFAULT   MEANING",
        "file            string    required",
        "topic           string",
        "connection.pin  password",
    ]
    assert json.loads(run(server, "plugin", "describe", CLASS, "-J").stdout)[0]["name"] == "file"
