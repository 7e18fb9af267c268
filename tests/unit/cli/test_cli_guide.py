"""The guide to the command line: its commands run, in their order, and its table of kcctl names commands that exist."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from confluent_kafka import Producer

from connect_dagster.cli.main import main
from connect_dagster.herder.interface import PluginInfo
from connect_dagster.protocol.config_records import connector_key, properties_value
from tests.guides import replaced
from tests.mock_cluster import MockCluster, mock_cluster
from tests.unit.orchestration.connect_server import CLASS, ConnectServer, connect_server

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL) for line in block.splitlines()]
PROGRAM = ".venv/bin/connect-dagster"


@pytest.fixture
def server() -> Iterator[ConnectServer]:
    with connect_server() as server:
        server.create("lines", topic="lines", batch_size="7")
        yield server


@pytest.fixture
def cluster(server: ConnectServer) -> Iterator[MockCluster]:
    """Brokers with the config topic of the worker."""
    with mock_cluster() as cluster:
        cluster.create("connect-configs")
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for changed in ({"batch.size": "5"}, {"batch.size": "6"}, {"topic": "other"}, {}):
            value = properties_value(server.herder.configs["lines"] | changed)
            producer.produce("connect-configs", value, connector_key("lines").encode())
        assert producer.flush(20) == 0
        yield cluster


def test_its_commands_run(
    server: ConnectServer, cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONNECT_DAGSTER_CONTEXTS", str(tmp_path / "contexts.json"))
    for variable in ("CONNECT_DAGSTER_REST_URL", "KAFKA_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(server.herder, "plugins", lambda *, connectors_only: [PluginInfo(CLASS, "source", "4.3.1")])
    exits = {"diff": 1}  # the connector is not there yet
    places = {
        "http://127.0.0.1:8083": server.workspace.url,
        "127.0.0.1:9092": cluster.bootstrap_servers,
        "/tmp/app-log.yaml": str(tmp_path / "app-log.yaml"),
    }
    for command in COMMANDS:
        program, *words = shlex.split(replaced(command, places))
        ran = CliRunner().invoke(main, words)
        assert program == PROGRAM
        assert ran.exit_code == exits.get(words[0], 0), (command, ran.output)
    assert [(name, config["topic"]) for name, config in server.herder.configs.items()] == [
        ("local-file-source", "connect-test")
    ]
    assert server.herder.levels["connector:lines"].level == "DEBUG"


def test_its_table_names_commands() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \|$", TEXT.partition("## Beside kcctl")[2], re.MULTILINE)[1:]
    named = {word for _, ours in rows for word in re.findall(r"`([a-z][a-z-]*)[^`]*`", ours)}
    assert len(rows) > 15
    assert named <= set(main.list_commands(click.Context(main)))
