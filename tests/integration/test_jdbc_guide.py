"""The guide to databases: its example runs, its commands do what it says, its settings are valid, its links lead on."""

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from connect_dagster.connectors.jdbc.source.config import JdbcSourceConfig
from connect_dagster.embedded.ports import free_port
from connect_dagster.java.properties import parse_properties
from tests.conftest import Broker
from tests.databases import MariaDB
from tests.guides import moved, replaced, running
from tests.integration import topics

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "jdbc.md"
TEXT = GUIDE.read_text(encoding="utf-8")
FIRST, RESET = (block.splitlines() for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL))
SETTINGS = re.findall(r"```properties\n(.*?)```", TEXT, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Guided:
    """The guide's worker, at other places."""

    places: dict[str, str]
    broker: Broker

    def run(self, command: str, *more: str) -> str:
        """What a command of the guide prints."""
        program, *words = shlex.split(replaced(command, self.places))
        named = {
            "KAFKA_BOOTSTRAP_SERVERS": self.places["127.0.0.1:9092"],
            "CONNECT_DAGSTER_REST_URL": f"http://{self.places['127.0.0.1:8083']}",
        }
        done = subprocess.run(
            [ROOT / program, *words, *more], env={**os.environ, **named}, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ids(self, table: str, column: str, count: int) -> list[int]:
        """Keys of the first records of a table."""
        values = topics.values(self.broker.bootstrap_servers, replaced(f"mysql-{table}", self.places), count)
        return [json.loads(value)["payload"][column] for value in values]


@pytest.fixture(scope="module")
def guided(broker: Broker, mariadb: MariaDB, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guided]:
    folder = tmp_path_factory.mktemp("jdbc-guide")
    database = mariadb.new_database("kafkadb")
    script = (ROOT / "examples/jdbc/kafkadb.sql").read_text(encoding="utf-8")
    database.execute(*(part for part in re.sub(r"(?m)^--.*$", "", script).split(";") if part.strip()))
    prefix = f"{folder.parent.name}-{os.getpid()}-mysql-"
    places = {
        "127.0.0.1:9092": broker.bootstrap_servers,
        "127.0.0.1:8083": f"127.0.0.1:{free_port()}",
        "jdbc:mysql://localhost:3306/kafkadb": database.jdbc_url,
        "/tmp/": f"{folder}/",
        "topic.prefix=mysql-": f"topic.prefix={prefix}",
        "mysql-customers": f"{prefix}customers",
        "mysql-orders": f"{prefix}orders",
        "interval.ms=10000": "interval.ms=500",
    }
    program, *files = shlex.split(FIRST[0])
    with running([ROOT / program, *(moved(ROOT / file, folder, places) for file in files)], folder):
        yield Guided(places, broker)


def test_the_example_of_the_seed(guided: Guided) -> None:
    assert guided.ids("customers", "id", 3) == [1, 2, 3]
    read = guided.run(FIRST[1], "--max-messages", "3")
    assert [json.loads(line)["payload"]["name"] for line in read.splitlines()] == ["jyp", "jyh", "kky"]
    deadline = time.monotonic() + 30
    while '"incrementing": 3' not in (shown := guided.run(FIRST[2], "--json")):
        assert time.monotonic() < deadline, shown
    assert json.loads(shown)["offsets"][0]["partition"] == {"protocol": "1", "table": "kafkadb.customers"}


def test_reset_sends_all_again(guided: Guided) -> None:
    assert guided.ids("orders", "seq", 3) == [1, 2, 3]
    stop, reset, resume = RESET
    guided.run(stop)
    guided.run(reset)
    guided.run(resume)
    assert guided.ids("orders", "seq", 6) == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("settings", SETTINGS)
def test_settings_are_valid(settings: str) -> None:
    given = parse_properties(settings, "guide")
    keys = {key.name for key in JdbcSourceConfig.table()}
    assert given.keys() <= keys
    complete = {"connection.url": "jdbc:mysql://h/d", "topic.prefix": "t-", "mode": "bulk", **given}
    assert [error for value in JdbcSourceConfig.validate_all(complete) for error in value.errors] == []


def test_every_option_named_is_one() -> None:
    named = set(re.findall(r"`((?:[a-z]+\.)+[a-z]+)(?:=\w+)?`", TEXT))
    keys = {key.name for key in JdbcSourceConfig.table()}
    elsewhere = {"plugin.path", "connector.class", "jdbc.credentials.provider.class"}
    assert named - keys - elsewhere == set()


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (GUIDE.parent / target).exists(), target
