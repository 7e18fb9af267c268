"""`connect-dagster history` and `rollback`, at a served worker and a broker inside of librdkafka."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import Producer

from connect_dagster.cli.connectors import history as history_module
from connect_dagster.cli.main import main
from connect_dagster.protocol.config_records import connector_key, properties_value
from tests.mock_cluster import MockCluster, mock_cluster
from tests.unit.orchestration.connect_server import ConnectServer, connect_server, pin_is_secret

TOPIC = "configs"
START = 1_700_000_000_000


class History:
    """A worker, and the config topic of its cluster, in which records are written by hand."""

    def __init__(self, server: ConnectServer, cluster: MockCluster) -> None:
        self.server, self.cluster = server, cluster
        self._producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        self._written = 0

    def write(self, name: str, config: dict[str, str] | None) -> None:
        value = None if config is None else properties_value(config)
        self._producer.produce(TOPIC, value, connector_key(name).encode(), timestamp=START + self._written * 1000)
        self._written += 1
        assert self._producer.flush(20) == 0

    def run(self, *words: str, **environment: str) -> Result:
        places = {
            "CONNECT_DAGSTER_REST_URL": self.server.workspace.url,
            "KAFKA_BOOTSTRAP_SERVERS": self.cluster.bootstrap_servers,
            "CONNECT_DAGSTER_CONFIG_TOPIC": TOPIC,
        }
        return CliRunner(env=places | environment).invoke(main, words)


@pytest.fixture
def history() -> Iterator[History]:
    """A connector with three versions, of which the last is its own."""
    with connect_server() as server, mock_cluster() as cluster:
        cluster.create(TOPIC)
        server.herder.plugin_config = pin_is_secret  # type: ignore[method-assign]
        made = History(server, cluster)
        live = server.create("src", topic="lines", connection_pin="geheim99")
        made.write("src", {**live, "topic": "old", "connection.pin": "former11"})
        made.write("src", {**live, "connection.pin": "former11"})
        made.write("other", live)
        made.write("src", live)
        yield made


def test_versions_and_their_differences(history: History) -> None:
    ran = history.run("history", "src")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines() == [
        "VERSION  TIME                      CHANGE",
        "0        2023-11-14T22:13:20.000Z  the first one that is left",
        "1        2023-11-14T22:13:21.000Z  topic",
        "3        2023-11-14T22:13:23.000Z  connection.pin",
    ]
    lines = ["- connection.pin=********", "+ connection.pin=********", "- topic=old", "+ topic=lines"]
    assert history.run("history", "src", "--diff", "0", "3").stdout.splitlines() == lines
    assert history.run("history", "src", "--diff", "3", "3").stdout == "no change\n"
    assert json.loads(history.run("history", "src", "--diff", "0", "3", "-J").stdout) == {
        "from": 0,
        "to": 3,
        "changed_keys": ["connection.pin", "topic"],
        "diff": lines,
    }
    shown = history.run("history", "src", "--json").stdout
    assert [(one["version"], one["timestamp"], one["config"]["topic"]) for one in json.loads(shown)] == [
        (0, START, "old"),
        (1, START + 1000, "lines"),
        (3, START + 3000, "lines"),
    ]
    assert "geheim99" not in shown
    assert "former11" not in shown


def test_a_connector_goes_back(history: History) -> None:
    configs = history.server.herder.configs
    lines = ["src: change to version 1", "- connection.pin=********", "+ connection.pin=********"]
    assert history.run("rollback", "src", "--dry-run").stdout.splitlines() == lines
    assert configs["src"]["connection.pin"] == "geheim99"
    ran = history.run("rollback", "src")
    assert (ran.exit_code, ran.stdout.splitlines()) == (0, [*lines, "src: RUNNING, task 0 RUNNING"])
    assert configs["src"]["connection.pin"] == "former11"
    # The worker of a cluster writes the new configuration, which is the next version.
    assert "another configuration of src than version 3 of topic 'configs'" in history.run("rollback", "src").stderr
    history.write("src", configs["src"])
    assert history.run("history", "src").stdout.splitlines()[-1].split() == [
        "4",
        "2023-11-14T22:13:24.000Z",
        "connection.pin",
    ]
    assert history.run("rollback", "src", "--to", "4").stdout == "src: no change to version 4\n"
    assert history.run("rollback", "src", "--to", "0").exit_code == 0
    assert configs["src"]["topic"] == "old"


def test_a_deleted_connector_comes_back(history: History) -> None:
    live = history.server.herder.configs["src"]
    history.server.herder.delete_connector("src")
    history.write("src", None)
    assert history.run("history", "src").stdout.splitlines()[-1].split()[2:] == ["deleted"]
    diff = history.run("history", "src", "--diff", "3", "4").stdout.splitlines()
    assert diff[0] == "- connection.pin=********"
    assert all(line.startswith("- ") for line in diff)
    ran = history.run("rollback", "src", "--to", "4")
    assert (ran.exit_code, ran.stderr) == (
        2,
        "Error: Version 4 of src is its deletion: use `connect-dagster delete`.\n",
    )
    ran = history.run("rollback", "src")
    assert (ran.exit_code, ran.stdout.splitlines()[0]) == (0, "src: create as version 3")
    assert history.server.herder.configs["src"] == live


def test_a_configuration_that_the_worker_refuses_is_not_put(history: History) -> None:
    live = dict(history.server.herder.configs["src"])
    history.write("src", {key: value for key, value in live.items() if key != "file"})
    history.write("src", live)
    ran = history.run("rollback", "src", "--to", "4")
    assert ran.exit_code == 2
    assert ran.stderr.startswith("Error: The worker refuses the configuration of src: file: ")
    assert history.server.herder.configs["src"] == live


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["history", "nope"], "No configuration of a connector nope is in topic 'configs' at 127.0.0.1:"),
        (["history", "nope"], "; there are those of other, src."),
        (
            ["history", "src", "--diff", "0", "2"],
            "src has no version 2, or compaction has removed it; there are 0, 1, 3.",
        ),
        (["rollback", "src", "--to", "7"], "src has no version 7, or compaction has removed it; there are 0, 1, 3."),
        (["history", "src", "--config-topic", "none"], "There is no topic 'none' at 127.0.0.1:"),
        (["history", "src", "--config-topic", "none"], "--config-topic must be what config.storage.topic of the work"),
        (["rollback", "other"], "another configuration of other than version 2 of topic 'configs' at 127.0.0.1:"),
    ],
)
def test_errors_name_what_there_is(history: History, words: list[str], text: str) -> None:
    ran = history.run(*words)
    assert (ran.exit_code, text in ran.stderr) == (2, True), ran.stderr
    assert len(ran.stderr.splitlines()) == 1


def test_the_only_version_has_none_before(history: History) -> None:
    live = history.server.create("lone")
    history.write("lone", live)
    ran = history.run("rollback", "lone")
    assert ran.exit_code == 2
    assert "No other configuration of lone is in topic 'configs'" in ran.stderr


def test_a_topic_that_may_not_be_read_is_named(history: History) -> None:
    for _ in range(20):
        history.cluster.fail_next(1, 29)  # Fetch, TOPIC_AUTHORIZATION_FAILED
    ran = history.run("history", "src")
    assert ran.exit_code == 2
    assert "Error: Cannot read topic 'configs' at 127.0.0.1:" in ran.stderr


def test_brokers_that_do_not_respond_are_named(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_module, "ANSWER_SECONDS", 0.5)
    ran = history.run("history", "src", KAFKA_BOOTSTRAP_SERVERS="127.0.0.1:9")
    assert ran.exit_code == 2
    assert "Error: No broker responded at 127.0.0.1:9 within " in ran.stderr


def test_a_context_names_the_topic(history: History, tmp_path: Path) -> None:
    empty = {"CONNECT_DAGSTER_REST_URL": "", "KAFKA_BOOTSTRAP_SERVERS": "", "CONNECT_DAGSTER_CONFIG_TOPIC": ""}
    places = {**empty, "CONNECT_DAGSTER_CONTEXTS": str(tmp_path / "contexts.json")}
    url, brokers = history.server.workspace.url, history.cluster.bootstrap_servers
    words = ("--url", url, "--bootstrap-server", brokers, "--config-topic", TOPIC)
    assert history.run("context", "set", "test", *words, **places).exit_code == 0
    for chosen in ([], ["--context", "test"]):
        ran = history.run("history", "src", *chosen, **places)
        assert (ran.exit_code, len(ran.stdout.splitlines())) == (0, 4), ran.output
