"""The servers of tests that write a binary log: what they log, what outlives them, what replicates."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pymysql
import pytest

from tests.binlog_servers import BinlogServer, LogPosition, MySQL, mariadb_server, mysql_server
from tests.databases import PASSWORD, USER, Database

TABLE = "CREATE TABLE goods (id INT PRIMARY KEY, name VARCHAR(20))"
Started = Callable[..., AbstractContextManager[BinlogServer]]

BOTH = pytest.mark.parametrize("kind", ["mysql", "mariadb_with_log"])
START = pytest.mark.parametrize("started", [mysql_server, mariadb_server])


def _logged(server: BinlogServer, database: Database, *statements: str) -> list[str]:
    """The kinds of the events that statements made."""
    start = server.log_position()
    database.execute(*statements)
    return [event.kind for event in server.log_events(start)]


@BOTH
def test_rows_are_in_the_log(kind: str, request: pytest.FixtureRequest) -> None:
    server: BinlogServer = request.getfixturevalue(kind)
    database = server.new_database()
    database.execute(TABLE)
    start = server.log_position()
    database.execute("INSERT INTO goods VALUES (1, '별'), (2, NULL)")
    events = server.log_events(start)
    assert [event for event in events if f"({database.name}.goods)" in event.info]
    assert [event for event in events if event.kind.lower().startswith("write_rows")]
    assert events[-1].end == server.log_position().position
    assert events[0].start == start.position
    assert (server.log_folder() / start.file).stat().st_size == events[-1].end


@BOTH
def test_gtids_count_transactions(kind: str, request: pytest.FixtureRequest) -> None:
    server: BinlogServer = request.getfixturevalue(kind)
    database = server.new_database()
    before = server.executed_gtids()
    database.execute(TABLE)
    server.new_user()
    after = server.executed_gtids()
    assert int(after.split("-")[-1].rpartition(":")[2]) == int(before.split("-")[-1].rpartition(":")[2]) + 1


def test_what_mysql_logs_changes_for_a_while(mysql: MySQL, mysql_database: Database) -> None:
    insert = "INSERT INTO goods VALUES (%d, 'aaaaaaaaaaaaaaaaaaaa')"
    mysql_database.execute(TABLE)
    with mysql.global_variables(binlog_transaction_compression=1, binlog_rows_query_log_events=1):
        kinds = _logged(mysql, mysql_database, insert % 1)  # those inside of the payload come after it
        assert kinds == ["Gtid", "Transaction_payload", "Query", "Rows_query", "Table_map", "Write_rows", "Xid"]
    assert _logged(mysql, mysql_database, insert % 2) == ["Gtid", "Query", "Table_map", "Write_rows", "Xid"]
    with mysql.global_variables(binlog_rows_query_log_events=1, binlog_row_metadata="MINIMAL"):
        assert "Rows_query" in _logged(mysql, mysql_database, insert % 3)


def test_what_mariadb_logs_changes_for_a_while(
    mariadb_with_log: BinlogServer, mariadb_with_log_database: Database
) -> None:
    insert = f"INSERT INTO goods VALUES (%d, '{'a' * 20}')"
    mariadb_with_log_database.execute(TABLE)
    with mariadb_with_log.global_variables(log_bin_compress=1, binlog_annotate_row_events=1):
        kinds = _logged(mariadb_with_log, mariadb_with_log_database, insert % 1)
        assert kinds == ["Gtid", "Annotate_rows", "Table_map", "Write_rows_compressed_v1", "Xid"]
    kinds = _logged(mariadb_with_log, mariadb_with_log_database, insert % 2)
    assert kinds == ["Gtid", "Table_map", "Write_rows_v1", "Xid"]


@BOTH
def test_a_user_may_replicate_and_not_write(kind: str, request: pytest.FixtureRequest) -> None:
    server: BinlogServer = request.getfixturevalue(kind)
    database = server.new_database()
    database.execute(TABLE)
    user = server.new_user()
    with server.connection_as(user.name, user.password, database.name) as connection, connection.cursor() as cursor:
        cursor.execute("FLUSH TABLES WITH READ LOCK")
        cursor.execute("SHOW MASTER STATUS")
        assert cursor.fetchone()
        cursor.execute("SELECT * FROM goods")
        with pytest.raises(pymysql.err.OperationalError, match="denied"):
            cursor.execute("INSERT INTO goods VALUES (1, '')")
    weak = server.new_user(())
    with (
        server.connection_as(weak.name, weak.password) as connection,
        connection.cursor() as cursor,
        pytest.raises(pymysql.err.OperationalError, match=r"REPLICATION CLIENT|BINLOG MONITOR"),
    ):
        cursor.execute("SHOW MASTER STATUS")


def test_mysql_offers_tls(mysql: MySQL) -> None:
    tls = {"ca": str(mysql.ca_file), "check_hostname": False}
    options: dict[str, Any] = {"host": "127.0.0.1", "port": mysql.port, "user": USER, "password": PASSWORD}
    with pymysql.connect(**options, ssl=tls) as connection, connection.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        row = cursor.fetchone()
    assert row is not None
    assert row[1].startswith("TLS_")


@pytest.mark.nightly
@START
def test_data_and_log_outlive_stop_and_kill(started: Started) -> None:
    with started() as server:
        database = server.new_database()
        database.execute(TABLE, "INSERT INTO goods VALUES (1, 'stopped')")
        server.stop()
        assert not server.runs
        server.start()
        gtids = server.executed_gtids()
        database.execute("INSERT INTO goods VALUES (2, 'killed')")
        server.kill()
        server.start()
        assert database.query("SELECT id, name FROM goods") == [(1, "stopped"), (2, "killed")]
        assert server.executed_gtids() != gtids
        first, *_, last = server.log_files()
        assert any("goods" in event.info for event in server.log_events(LogPosition(first, 4)))
        server.purge_logs()
        assert server.log_files()[0] > last


@pytest.mark.nightly
@START
def test_a_replica_takes_over(started: Started) -> None:
    with started() as first, started(server_id=2) as second:
        database = first.new_database()
        database.execute(TABLE, "INSERT INTO goods VALUES (1, 'first')")
        second.follow(first)
        second.catch_up(first)
        gtids = first.executed_gtids()
        assert second.executed_gtids() == gtids
        first.kill()
        second.stop_following()
        there = Database(second, database.name)
        there.execute("INSERT INTO goods VALUES (2, 'second')")
        assert there.query("SELECT name FROM goods ORDER BY id") == [("first",), ("second",)]
        assert second.executed_gtids() != gtids


def test_mysql_logs_without_gtids() -> None:
    with mysql_server(gtids=False) as server:
        database = server.new_database()
        assert _logged(server, database, TABLE) == ["Anonymous_Gtid", "Query"]
        assert server.executed_gtids() == ""
