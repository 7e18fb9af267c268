"""The guide to change data capture: its example runs, its statements have the effects, its options exist."""

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.connectors.mysql.options.config import MySqlConfig
from connect_dagster.embedded.ports import free_port
from tests.binlog_servers import BinlogServer, MySQL, mysql_server
from tests.conftest import Broker
from tests.databases import Database, PostgreSQL
from tests.guides import moved, replaced, running

pytestmark = [pytest.mark.timeout(600), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "cdc.md"
TEXT = GUIDE.read_text(encoding="utf-8")
(_, START), (READ, SELECT) = (block.splitlines() for block in re.findall(r"```bash\n(.*?)```", TEXT, re.DOTALL))
CHANGES, SIGNAL = re.findall(r"```sql\n(.*?)```", TEXT, re.DOTALL)


@dataclass(frozen=True, slots=True)
class Guided:
    """The guide's worker, at other places."""

    places: dict[str, str]
    server: MySQL
    copy: Database

    def execute(self, script: str) -> None:
        """Run the statements of a script as root."""
        plain = re.sub(r"(?m)^--.*$", "", script)
        self.server.root_execute(*(part.strip() for part in plain.split(";\n") if part.strip()))

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        """The rows of the copy."""
        try:
            return self.copy.query(replaced(SELECT, {"orders": table}).split("'")[1])
        except Exception:  # it is not there yet
            return []


def eventually(found: Callable[[], Any], expected: Any) -> None:
    deadline = time.monotonic() + 120
    while (now := found()) != expected:
        assert time.monotonic() < deadline, now
        time.sleep(0.3)


@pytest.fixture(scope="module")
def guided(broker: Broker, postgresql: PostgreSQL, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guided]:
    folder = tmp_path_factory.mktemp("cdc-guide")
    copy = postgresql.new_database()
    connection = copy.connection_config
    with mysql_server() as server:
        unique = f"shop{time.time_ns()}"
        places = {
            "127.0.0.1:9092": broker.bootstrap_servers,
            "127.0.0.1:8083": f"127.0.0.1:{free_port()}",
            "database.port=3306": f"database.port={server.port}",
            "jdbc:postgresql://127.0.0.1:5432/copy": connection["connection.url"],
            "connection.user=kafka": f"connection.user={connection['connection.user']}",
            "connection.password=kafka-secret": f"connection.password={connection['connection.password']}",
            "topic.prefix=shop": f"topic.prefix={unique}",
            r"shop\.shop\.": rf"{unique}\.shop\.",
            "shop.history": f"{unique}.history",
            "shop.shop.orders": f"{unique}.shop.orders",
            "/tmp/": f"{folder}/",
        }
        found = Guided(places, server, copy)
        found.execute((ROOT / "examples/cdc/shop.sql").read_text(encoding="utf-8"))
        program, *files = shlex.split(START)
        with running([ROOT / program, *(moved(ROOT / file, folder, places) for file in files)], folder):
            yield found


def test_rows_become_rows(guided: Guided) -> None:
    eventually(lambda: [(row[0], str(row[2])) for row in guided.rows("orders")], [(1, "12.50"), (2, "7.00")])
    program, *words = shlex.split(replaced(READ, guided.places))
    ran = subprocess.run(
        [ROOT / program, *words],
        env={**os.environ, "KAFKA_BOOTSTRAP_SERVERS": guided.places["127.0.0.1:9092"]},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert [json.loads(line)["payload"]["customer_id"] for line in ran.stdout.splitlines()] == [1, 2]


def test_changes_follow(guided: Guided) -> None:
    eventually(lambda: len(guided.rows("customers")), 2)
    guided.execute(CHANGES)
    eventually(lambda: [row[0] for row in guided.rows("orders")], [2])
    eventually(
        lambda: guided.rows("customers"),
        [(1, "Kim", "kim@example.com", None), (2, "Lee", "lee@example.com", None), (3, "Park", None, "Seoul")],
    )


def test_statements_of_signals_are_valid(guided: Guided) -> None:
    guided.execute(SIGNAL)
    assert guided.server.root_query("SELECT type FROM shop.signals") == [("execute-snapshot",)]


def test_the_user_has_no_more_rights_than_the_page_lists(guided: Guided) -> None:
    assert isinstance(guided.server, BinlogServer)
    grants = " ".join(row[0] for row in guided.server.root_query("SHOW GRANTS FOR 'capture'@'%'"))
    found = {one for one in re.findall(r"[A-Z]+(?: [A-Z]+)?(?=,| ON)", grants) if one != "GRANT"}
    assert all(f"`{right.removeprefix('GRANT ')}`" in TEXT for right in found), found


def test_every_option_named_is_one() -> None:
    named = set(re.findall(r"`((?:[a-z]+\.)+[a-z]+)(?:=[^`]*)?`", TEXT))
    keys = {key.name for key in MySqlConfig.table()}
    elsewhere = {"connector.class", "shop.history", "shop.transaction", "shop.shop.orders"}
    assert named - keys - elsewhere == set()


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (GUIDE.parent / target).exists(), target
