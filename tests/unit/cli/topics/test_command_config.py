"""``--command-config``: settings of clients from a file, as Kafka's own tools take them."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from connect_dagster.cli.main import main
from connect_dagster.cli.topics.brokers import chosen_brokers
from connect_dagster.kafka.access import Brokers, client_settings, with_servers


def test_settings_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("security.protocol=SASL_SSL\nsasl.jaas.config=a.B required;\n")
    brokers = chosen_brokers("a:1", str(tmp_path / "client.properties"))
    assert client_settings(brokers) == {
        "bootstrap.servers": "a:1",
        "client.id": "connect-dagster",
        "security.protocol": "SASL_SSL",
        "sasl.jaas.config": "a.B required;",
    }
    assert client_settings(with_servers(brokers, "b:2"))["bootstrap.servers"] == "b:2"
    assert "a.B" not in f"{brokers} {brokers!r}"


def test_brokers_without_settings() -> None:
    assert client_settings("a:1") == client_settings(Brokers("a:1"))
    assert chosen_brokers("a:1", None) == Brokers("a:1")


@pytest.mark.parametrize("words", [["topic", "list"], ["group", "describe", "g"], ["dlq", "list", "t"]])
def test_wrong_settings_are_said_in_one_sentence(tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=a.B required;\n")
    command, *rest = words
    ran = CliRunner().invoke(main, [command, "--bootstrap-server", "127.0.0.1:1", "--command-config", str(file), *rest])
    assert ran.exit_code == 1
    assert ran.exception is None or isinstance(ran.exception, SystemExit)
    assert "The login module of sasl.jaas.config lacks the option username, which PLAIN needs" in ran.output
