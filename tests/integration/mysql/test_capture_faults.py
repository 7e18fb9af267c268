"""Servers that restart, lose their log, or hand over to a replica; ended connections; missing rights."""

from collections.abc import Iterator

import pytest

from tests.binlog_servers import BinlogServer, mariadb_server, mysql_server
from tests.databases import Database
from tests.integration.mysql.conftest import Capture
from tests.integration.mysql.test_capture import GOODS

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(300)]

SERVERS = {"mysql": mysql_server, "mariadb": mariadb_server}
QUICK = {"errors_retry_delay_initial_ms": "100", "retriable_restart_connector_wait_ms": "500"}


@pytest.fixture(params=list(SERVERS))
def own_server(request: pytest.FixtureRequest) -> Iterator[BinlogServer]:
    """A server of one test, of each kind."""
    with SERVERS[request.param]() as server:
        yield server


def ids(capture: Capture, topic: str, count: int) -> list[int]:
    return [key["id"] for key, _ in capture.records(topic, count)]


def goods(capture: Capture, server: BinlogServer) -> tuple[Database, str]:
    database = server.new_database()
    database.execute(GOODS, "INSERT INTO goods VALUES (1, 'a', 1)")
    return database, f"{capture.prefix}.{database.name}.goods"


def test_a_server_that_restarts(capture: Capture, own_server: BinlogServer) -> None:
    database, topic = goods(capture, own_server)
    with capture.running(capture.config(database, **QUICK)):
        assert ids(capture, topic, 1) == [1]
        database.execute("INSERT INTO goods VALUES (2, 'b', 1)")
        assert ids(capture, topic, 2) == [1, 2]
        own_server.stop()
        own_server.start()
        database.execute("INSERT INTO goods VALUES (3, 'c', 1)", "ALTER TABLE goods ADD COLUMN x INT")
        database.execute("INSERT INTO goods VALUES (4, 'd', 1, 5)")
        assert ids(capture, topic, 4) == [1, 2, 3, 4]
        own_server.kill()
        own_server.start()
        database.execute("INSERT INTO goods VALUES (5, 'e', 1, 5)")
        assert ids(capture, topic, 5) == [1, 2, 3, 4, 5]
        capture.process.wait_states(capture.prefix, "RUNNING", "RUNNING")


def test_connections_that_an_administrator_ends(capture: Capture, own_server: BinlogServer) -> None:
    database, topic = goods(capture, own_server)
    with capture.running(capture.config(database, **QUICK)):
        assert ids(capture, topic, 1) == [1]
        for number in range(2, 7):
            database.execute(f"INSERT INTO goods VALUES ({number}, 'x', 1)")
            assert ids(capture, topic, number) == list(range(1, number + 1))
            for thread, command in own_server.root_query("SELECT id, command FROM information_schema.processlist"):
                if "Dump" in command or (command == "Sleep" and number % 2):
                    own_server.root_execute(f"KILL {thread}")


def test_a_table_that_is_altered_before_a_snapshot_reads_it(capture: Capture, own_server: BinlogServer) -> None:
    """The server refuses its rows to the older view: error 1412."""
    database, topic = goods(capture, own_server)
    database.execute("CREATE TABLE first (id INT PRIMARY KEY)", "INSERT INTO first VALUES (1)")
    slow = f"{database.name}.first"
    held = {"snapshot.select.statement.overrides": slow}
    select = f"SELECT * FROM {slow} WHERE GET_LOCK('altered', 100)"
    statement = {f"snapshot.select.statement.overrides.{slow}": select}

    def logged(text: str) -> int:
        return sum(capture.prefix in line and text in line for line in capture.process.log().splitlines())

    with database.connected() as holder, holder.cursor() as cursor:
        cursor.execute("SELECT GET_LOCK('altered', 0)")
        with capture.running(capture.config(database, **QUICK) | held | statement):
            capture.process.wait_until(lambda: logged("The snapshot has 2 tables") == 1, "begin", 60)
            database.execute("ALTER TABLE goods ADD COLUMN x INT DEFAULT 7, ALGORITHM=COPY")
            cursor.execute("SELECT RELEASE_LOCK('altered')")
            assert [(key["id"], value["after"]["x"]) for key, value in capture.records(topic, 1)] == [(1, 7)]
            assert logged("The snapshot begins again") == 1


def test_a_log_that_was_deleted(capture: Capture, own_server: BinlogServer) -> None:
    database, topic = goods(capture, own_server)
    config = capture.config(database, **QUICK)
    with capture.running(config):
        assert ids(capture, topic, 1) == [1]
        database.execute("INSERT INTO goods VALUES (2, 'b', 1)")
        assert ids(capture, topic, 2) == [1, 2]
        capture.stopped()
        database.execute("INSERT INTO goods VALUES (3, 'c', 1)")
        own_server.next_log_file()
        own_server.next_log_file()
        own_server.purge_logs()
        capture.process.call("PUT", f"/connectors/{capture.prefix}/resume")
        capture.process.wait_states(capture.prefix, "RUNNING", "FAILED")
        trace = capture.trace()
        assert "The server no longer has the binary log of the stored position: " in trace
        assert "snapshot.mode=when_needed" in trace
        capture.change(config | {"snapshot.mode": "when_needed"})
        assert ids(capture, topic, 5) == [1, 2, 1, 2, 3]


def test_a_replica_takes_over(capture: Capture) -> None:
    with mysql_server() as source, mysql_server(server_id=2) as replica:
        replica.follow(source)
        database, topic = goods(capture, source)
        config = capture.config(database, **QUICK)
        with capture.running(config):
            assert ids(capture, topic, 1) == [1]
            database.execute("INSERT INTO goods VALUES (2, 'b', 1)")
            assert ids(capture, topic, 2) == [1, 2]
            replica.catch_up(source)
            source.kill()
            replica.stop_following()
            taken_over = Database(replica, database.name)
            taken_over.execute("INSERT INTO goods VALUES (3, 'c', 1)")
            user = replica.new_user()
            there = {"database.port": str(replica.port), "database.user": user.name, "database.password": user.password}
            capture.change(config | there)
            taken_over.execute("INSERT INTO goods VALUES (4, 'd', 1)")
            assert ids(capture, topic, 4) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("rights", "text"),
    [
        (("SELECT", "RELOAD", "REPLICATION CLIENT"), "The right REPLICATION SLAVE to read the binary log is missing"),
        (("SELECT", "RELOAD", "REPLICATION SLAVE"), "needs the right REPLICATION CLIENT"),
        (("RELOAD", "REPLICATION SLAVE", "REPLICATION CLIENT", "INSERT"), "The right to read the tables"),
    ],
)
def test_rights_that_are_missing(
    capture: Capture, mysql_database: Database, rights: tuple[str, ...], text: str
) -> None:
    mysql_database.execute(GOODS, "INSERT INTO goods VALUES (1, 'a', 1)")
    server = mysql_database.server
    assert isinstance(server, BinlogServer)
    user = server.new_user(rights)
    config = capture.config(mysql_database) | {"database.user": user.name, "database.password": user.password}
    with capture.running(config, "RUNNING", "FAILED"):
        trace = capture.trace()
    assert text in trace
    assert "pymysql" not in trace.splitlines()[0]
