"""Incremental snapshots on real servers, while others write."""

from __future__ import annotations

import contextlib
import json
import random
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from connect_dagster.connectors.mysql.incremental.chunk_server import ChunkServer
from connect_dagster.connectors.mysql.incremental.keys import Key
from tests.binlog_servers import BinlogServer
from tests.databases import Database
from tests.integration.mysql.captures import capture

SIGNALS = "CREATE TABLE signals (id VARCHAR(64) PRIMARY KEY, type VARCHAR(32), data VARCHAR(2048))"
ROWS = 700


@pytest.fixture
def goods(database: Database) -> Database:
    """A database with a table of some rows and one of signals."""
    rows = ", ".join(f"({number * 3}, 'v{number}')" for number in range(ROWS))
    database.execute(
        SIGNALS, "CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(40))", f"INSERT INTO goods VALUES {rows}"
    )
    return database


def tables(database: Database, *names: str) -> dict[str, Any]:
    return {"data-collections": [f"{database.name}.{name}" for name in names or ("goods",)]}


def newest(records: list[dict[str, Any]]) -> dict[int, Any]:
    """The newest row of each key that is not deleted."""
    found = {one["key"]["id"]: one["value"] and one["value"]["after"] for one in records}
    return {key: row for key, row in found.items() if row}


def reads(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [one["value"] for one in records if one["value"] and one["value"]["op"] == "r"]


@contextlib.contextmanager
def writer(database: Database, seed: int) -> Iterator[None]:
    """Write to the table all the time."""
    chance, stopped = random.Random(seed), threading.Event()
    statements = (
        "INSERT IGNORE INTO goods (id, name) VALUES (%(key)s, '%(value)s')",
        "UPDATE goods SET name = '%(value)s' WHERE id = %(key)s",
        "UPDATE goods SET name = '%(value)s' WHERE id BETWEEN %(key)s AND %(key)s + 20",
        "DELETE FROM goods WHERE id = %(key)s",
        "UPDATE IGNORE goods SET id = id + 1 WHERE id = %(key)s",
    )

    def run() -> None:
        with database.connected() as connection, connection.cursor() as cursor:
            while not stopped.is_set():
                values = {"key": chance.randrange(ROWS * 3 + 60), "value": f"w{chance.randrange(10**9)}"}
                cursor.execute(chance.choice(statements) % values)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


@pytest.mark.parametrize("strategy", ["INSERT_INSERT", "INSERT_DELETE"])
def test_the_topic_ends_as_the_table(goods: Database, strategy: str) -> None:
    options = {"incremental.snapshot.watermarking.strategy": strategy}
    with capture(goods, options=options) as connector:
        with writer(goods, seed=7):
            connector.snapshot(json.dumps(tables(goods)))
        connector.read_all()
        found = newest(connector.of("goods"))
    expected = {key: {"id": key, "name": name} for key, name in goods.query("SELECT id, name FROM goods")}
    assert found == expected
    assert len(reads(connector.of("goods"))) > ROWS / 2
    assert connector.stored.keys() & {"incremental_snapshot_primary_key"} == set()


def test_records_and_notifications(goods: Database) -> None:
    with capture(goods) as connector:
        connector.snapshot(json.dumps(tables(goods)))
        rows = reads(connector.of("goods"))
    assert [one["after"]["id"] for one in rows] == [number * 3 for number in range(ROWS)]
    source = rows[0]["source"]
    assert (source["snapshot"], source["db"], source["table"]) == ("incremental", goods.name, "goods")
    assert source["pos"] > 4
    chunks = connector.notices("IN_PROGRESS")
    assert len(chunks) == ROWS // 50
    assert (chunks[0]["last_processed_key"], chunks[0]["maximum_key"]) == ("147", str((ROWS - 1) * 3))
    (scanned,) = connector.notices("TABLE_SCAN_COMPLETED")
    assert (scanned["status"], scanned["total_rows_scanned"]) == ("SUCCEEDED", str(ROWS))


def test_conditions(goods: Database) -> None:
    condition = {"data-collection": f"{goods.name}.GOODS", "filter": "id < 30 OR name = 'v600'"}
    with capture(goods) as connector:
        connector.snapshot(json.dumps({**tables(goods), "additional-conditions": [condition]}))
        assert [one["after"]["id"] for one in reads(connector.of("goods"))] == [*range(0, 30, 3), 1800]


def test_a_restart_in_the_middle(goods: Database) -> None:
    with writer(goods, seed=9):
        with capture(goods) as first:
            first.ask(json.dumps(tables(goods)))
            first.read(lambda: len(reads(first.of("goods"))) > ROWS // 3)
        sent = Key.parse(first.stored["incremental_snapshot_primary_key"])
        assert sent is not None
        with capture(goods, first) as second:
            second.read(lambda: bool(second.notices("COMPLETED")))
    with capture(goods, second) as third:
        third.read_all()
        expected = {key: {"id": key, "name": name} for key, name in goods.query("SELECT id, name FROM goods")}
        assert newest(third.of("goods")) == expected


def test_a_column_is_added_in_the_middle(goods: Database) -> None:
    added = False

    with capture(goods) as connector:

        def add() -> None:
            nonlocal added
            if not added and len(reads(connector.of("goods"))) > ROWS // 3:
                goods.execute("ALTER TABLE goods ADD COLUMN price INT DEFAULT 5", "UPDATE goods SET price = 6")
                added = True

        connector.snapshot(json.dumps(tables(goods)), meanwhile=add)
        connector.read_all()
        assert added
        assert {row["price"] for row in newest(connector.of("goods")).values()} == {6}
        (scanned,) = connector.notices("TABLE_SCAN_COMPLETED")
        assert scanned["status"] == "SUCCEEDED"


def test_a_lost_connection(goods: Database, server: BinlogServer) -> None:
    killed: list[int] = []

    with capture(goods) as connector:

        def kill() -> None:
            if killed or len(reads(connector.of("goods"))) < ROWS // 3:
                return
            sessions = server.root_query("SELECT id, user, command FROM information_schema.processlist")
            killed.extend(one for one, user, doing in sessions if user.startswith("user_") and doing == "Sleep")
            for one in killed:
                with contextlib.suppress(Exception):
                    server.root_execute(f"KILL {one}")

        connector.snapshot(json.dumps(tables(goods)), meanwhile=kill)
        assert killed
        assert [one["after"]["id"] for one in reads(connector.of("goods"))] == [number * 3 for number in range(ROWS)]


def test_a_pause_and_a_stop(goods: Database) -> None:
    with capture(goods) as connector:
        connector.ask(json.dumps(tables(goods)))
        connector.read(lambda: len(reads(connector.of("goods"))) >= 50)
        connector.ask("{}", "pause-snapshot")
        connector.read(lambda: bool(connector.notices("PAUSED")))
        connector.read_all()
        count = len(reads(connector.of("goods")))
        connector.read_all()
        assert len(reads(connector.of("goods"))) == count < ROWS
        connector.ask("{}", "stop-snapshot")
        connector.read(lambda: bool(connector.notices("ABORTED")))
        assert len(reads(connector.of("goods"))) == count


KEYS = {
    "two_columns": ("a INT, b VARCHAR(20), PRIMARY KEY (a, b)", "({n} % 7, 'k{n}')"),
    "texts": ("a VARCHAR(20) COLLATE utf8mb4_general_ci PRIMARY KEY", "(CONCAT(CHAR(97 + {n} % 26), {n}))"),
    "bytes": ("a VARBINARY(20) PRIMARY KEY", "(UNHEX(MD5({n})))"),
    "fixed_bytes": ("a BINARY(16) PRIMARY KEY", "(UNHEX(MD5({n})))"),
    "decimals": ("a DECIMAL(20, 4) PRIMARY KEY", "({n} / 7 - 5)"),
    "unsigned": ("a BIGINT UNSIGNED PRIMARY KEY", "(18446744073709551615 - {n})"),
    "dates": (
        "a DATE, b TIME(3), PRIMARY KEY (a, b)",
        "('2024-01-01' + INTERVAL {n} DIV 5 DAY, SEC_TO_TIME({n} - 50))",
    ),
    "times": ("a DATETIME(6) PRIMARY KEY", "('2024-01-01' + INTERVAL {n} * 1500 MICROSECOND)"),
    "timestamps": ("a TIMESTAMP(3) PRIMARY KEY", "('2024-01-01' + INTERVAL {n} * 7 SECOND)"),
    "labels": ("a ENUM('z', 'y', 'x'), b INT, PRIMARY KEY (a, b)", "({n} % 3 + 1, {n})"),
    "bits": ("a BIT(12) PRIMARY KEY", "({n})"),
    "years": ("a YEAR, b TINYINT, PRIMARY KEY (a, b)", "(1990 + {n} % 9, {n})"),
}
MARIADB_KEYS = {
    "uuids": ("a UUID PRIMARY KEY", "(CONCAT(LEFT(MD5({n}), 12), '4000-8000-', RIGHT(MD5({n}), 12)))"),
    "addresses": ("a INET4, b INET6, PRIMARY KEY (a, b)", "('10.0.0.{n}', '2001:db8::{n}')"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_each_type(database: Database, kind: str) -> None:
    assert_snapshot_of_keys(database, *KEYS[kind])


@pytest.mark.nightly
@pytest.mark.parametrize("kind", MARIADB_KEYS)
def test_keys_of_mariadbs_types(mariadb_with_log_database: Database, kind: str) -> None:
    assert_snapshot_of_keys(mariadb_with_log_database, *MARIADB_KEYS[kind])


def assert_snapshot_of_keys(database: Database, columns: str, values: str) -> None:
    rows = ", ".join(values.format(n=number) for number in range(100))
    database.execute(SIGNALS, f"CREATE TABLE goods ({columns})", f"INSERT INTO goods VALUES {rows}")
    with capture(database, options={"incremental.snapshot.chunk.size": "7"}) as connector:
        connector.snapshot(json.dumps(tables(database)))
        found = [json.dumps(one["after"], default=str) for one in reads(connector.of("goods"))]
        assert (len(found), len(set(found))) == (100, 100)
        (scanned,) = connector.notices("TABLE_SCAN_COMPLETED")
        assert scanned["status"] == "SUCCEEDED"


@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_each_type_are_found_in_the_log(database: Database, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_keys_found_in_the_log(database, *KEYS[kind], monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", MARIADB_KEYS)
def test_keys_of_mariadbs_types_are_found_in_the_log(
    mariadb_with_log_database: Database, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert_keys_found_in_the_log(mariadb_with_log_database, *MARIADB_KEYS[kind], monkeypatch)


def assert_keys_found_in_the_log(
    database: Database, columns: str, values: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ", ".join(values.format(n=number).removesuffix(")") + ", 0)" for number in range(50))
    database.execute(SIGNALS, f"CREATE TABLE goods ({columns}, changes INT)", f"INSERT INTO goods VALUES {rows}")
    close = ChunkServer.close_window

    def changed_before(self: ChunkServer, chunk: str) -> None:
        database.execute("UPDATE goods SET changes = changes + 1")
        close(self, chunk)

    monkeypatch.setattr(ChunkServer, "close_window", changed_before)
    with capture(database) as connector:
        connector.snapshot(json.dumps(tables(database)))
        assert reads(connector.of("goods")) == []
        (scanned,) = connector.notices("TABLE_SCAN_COMPLETED")
        assert scanned["total_rows_scanned"] == "50"


@pytest.mark.parametrize("rights", [(), ("INSERT",)])
def test_the_signal_table_cannot_be_written_to(
    goods: Database, rights: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    few = ("SELECT", "RELOAD", "SHOW DATABASES", "LOCK TABLES", "REPLICATION SLAVE", "REPLICATION CLIENT", *rights)
    monkeypatch.setattr("tests.integration.mysql.captures._RIGHTS", few)
    strategy = "INSERT_DELETE" if rights else "INSERT_INSERT"
    with capture(goods, options={"incremental.snapshot.watermarking.strategy": strategy}) as connector:
        connector.snapshot(json.dumps(tables(goods)))
        assert "the signal table cannot be written to" in caplog.text


def test_a_table_without_a_key(goods: Database) -> None:
    goods.execute("CREATE TABLE bare (n INT NULL, t TEXT)", "INSERT INTO bare VALUES (NULL, 'a'), (1, 'b'), (2, 'c')")
    with capture(goods, options={"incremental.snapshot.chunk.size": "2"}) as connector:
        connector.snapshot(json.dumps({**tables(goods, "bare"), "surrogate-key": "n"}))
        assert [one["after"]["t"] for one in reads(connector.of("bare"))] == ["a", "b", "c"]
