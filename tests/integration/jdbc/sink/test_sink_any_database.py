"""Databases without a bulk load of their own: by drivers on `plugin.path`, and MariaDB without LOCAL."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from connect_dagster.embedded.jars import resolve
from tests.conftest import Broker
from tests.databases import MariaDB
from tests.integration.jdbc.conftest import SOURCE
from tests.integration.jdbc.sink.conftest import Records, Sinks
from tests.integration.topics import values
from tests.integration.worker_process import WorkerProcess

pytestmark = pytest.mark.nightly

ROWS = Records({"id": "int32", "name": "string?", "price": "double?"}, {"id": "int32"})
SINGLE = Records({"id": "int32", "name": "string?"}, {"id": "int32"})
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key", "delete.enabled": "true", "auto.create": "true"}


@pytest.fixture(scope="module")
def any_worker(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    """A worker with drivers of databases it knows nothing about."""
    folder: Path = tmp_path_factory.mktemp("any-sinks")
    plugins = folder / "plugins"
    plugins.mkdir()
    for jar in (*resolve("sqlite-driver"), *resolve("h2-driver")):
        shutil.copy(jar, plugins)
    props = {"bootstrap.servers": broker.bootstrap_servers, "plugin.path": str(plugins)}
    with WorkerProcess(props, [], folder) as process:
        yield process


class SqliteFile:
    """What tests ask of a database, of a file."""

    scheme = "sqlite"

    def __init__(self, file: Path) -> None:
        self.server = self
        self.file = file
        self.connection_config = {"connection.url": f"jdbc:sqlite:{file}"}

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """The rows of a statement."""
        try:
            with closing(sqlite3.connect(self.file, timeout=10)) as connection:
                return connection.execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            raise LookupError("it does not exist yet") from error


def test_a_database_of_no_kind_known(
    any_worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    database = SqliteFile(tmp_path / "shop.db")
    sinks = Sinks(any_worker, broker, topic_prefix)
    config = {**UPSERT, "auto.evolve": "true", "exactly.once": "true"}
    with sinks.running(database, config) as sink:
        sink.send(*(SINGLE.record({"id": id, "name": f"n{id}"}) for id in (1, 2, 1)))
        sink.await_rows([(1, "n1"), (2, "n2")])
        sink.send(
            ROWS.record({"id": 2, "name": None, "price": 1.5}),
            ROWS.record(None, {"id": 1}),
            ROWS.record({"id": 3, "name": "it's", "price": None}),
        )
        sink.await_rows([(2, None, 1.5), (3, "it's", None)])
        assert sink.rows("SELECT next_offset FROM connect_offsets") == [(6,)]
        sink.await_rows([], "SELECT name FROM sqlite_master WHERE name LIKE 'connect_stage%'")


class FileOfTheWorker:
    """A database that only the worker's process can open."""

    scheme = "file"

    def __init__(self, url: str) -> None:
        self.server = self
        self.connection_config = {"connection.url": url}

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        """Nobody else may ask."""
        raise LookupError("it does not exist here")


def test_a_table_that_a_sink_writes_and_a_source_reads(
    any_worker: WorkerProcess, broker: Broker, topic_prefix: str, tmp_path: Path
) -> None:
    database = FileOfTheWorker(f"jdbc:h2:{tmp_path}/shop")
    config = {**UPSERT, "auto.evolve": "true", "exactly.once": "true", "table.name.format": "things"}
    with Sinks(any_worker, broker, topic_prefix).running(database, config) as sink:
        sink.send(*(SINGLE.record({"id": id, "name": f"n{id}"}) for id in (1, 2, 1, 4)))
        sink.send(
            ROWS.record({"id": 2, "name": None, "price": 1.5}),
            ROWS.record(None, {"id": 1}),
            ROWS.record({"id": 3, "name": "it's", "price": None}),
        )
        offsets = f"/connectors/{sink.name}/offsets"
        any_worker.wait_until(
            lambda: [one["offset"] for one in any_worker.call("GET", offsets).json["offsets"]] == [{"kafka_offset": 7}],
            "write all",
            60,
        )
        source = {
            "connector.class": SOURCE,
            **database.connection_config,
            "mode": "incrementing",
            "incrementing.column.name": "id",
            "table.whitelist": "things",
            "topic.prefix": topic_prefix,
        }
        name = f"{topic_prefix}source"
        assert any_worker.call("PUT", f"/connectors/{name}/config", source).status == 201
        found = values(broker.bootstrap_servers, f"{topic_prefix}things", 3, timeout=40)
        any_worker.call("DELETE", f"/connectors/{name}")
    rows = [tuple(json.loads(value)["payload"].values()) for value in found]
    assert rows == [(2, None, 1.5), (3, "it's", None), (4, "n4", None)]


@pytest.mark.parametrize("mode", ["insert", "upsert", "update"])
def test_mariadb_without_local_files(sinks: Sinks, mariadb_explicit_timestamps: MariaDB, mode: str) -> None:
    database = mariadb_explicit_timestamps.new_database()
    with sinks.running(database, {**UPSERT, "insert.mode": mode}) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(9), price DOUBLE)")
        if mode != "insert":
            database.execute(f"INSERT INTO {sink.table} VALUES (1, 'old', 1), (2, 'old', 2), (9, 'gone', 9)")
        sink.send(*(ROWS.record({"id": id, "name": f"n{id}", "price": None}) for id in (1, 3)))
        sink.send(ROWS.record(None, {"id": 9}))
        expected: dict[str, list[tuple[Any, ...]]] = {
            "insert": [(1, "n1", None), (3, "n3", None)],
            "upsert": [(1, "n1", None), (2, "old", 2.0), (3, "n3", None)],
            "update": [(1, "n1", None), (2, "old", 2.0)],
        }
        sink.await_rows(expected[mode])
