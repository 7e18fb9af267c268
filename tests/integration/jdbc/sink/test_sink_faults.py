"""Values that do not fit, deadlocks, databases that are away: what can be written is, and nothing is written twice."""

import pytest

from tests.databases import Database, DatabaseServer, MariaDB, PostgreSQL
from tests.integration.jdbc.sink.conftest import Records, Sink, Sinks
from tests.integration.topics import read_topic

SHORT = Records({"id": "int32", "name": "string"}, {"id": "int32"})
TOO_LONG = {"mysql": "Data truncated for column 'name'", "postgresql": "value too long for type character varying(5)"}
UPSERT = {"insert.mode": "upsert", "pk.mode": "record_key"}


def tolerant(queue: str) -> dict[str, str]:
    """What sends records that fail to a dead letter queue."""
    return {
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": queue,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }


def refused(sink: Sink, queue: str, count: int) -> dict[int, str]:
    """Offset and error of the records in the dead letter queue."""
    found = {}
    for message in read_topic(sink.bootstrap, queue, count, timeout=60):
        headers = dict(message.headers() or [])
        texts = {name: str(value, "utf-8") for name, value in headers.items() if isinstance(value, bytes)}
        found[int(texts["__connect.errors.offset"])] = texts["__connect.errors.exception.message"]
    return found


@pytest.mark.parametrize("config", [{}, UPSERT], ids=["insert", "upsert"])
def test_a_value_that_does_not_fit_costs_one_record(sinks: Sinks, database: Database, config: dict[str, str]) -> None:
    queue = f"{sinks.prefix}dlq"
    with sinks.running(database, {**config, **tolerant(queue)}) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(5))")
        names = ["a", "too long", "b", "c", "much too long", "d"]
        sink.send(*(SHORT.record({"id": id, "name": name}) for id, name in enumerate(names)))
        sink.await_rows([(0, "a"), (2, "b"), (3, "c"), (5, "d")])
        errors = refused(sink, queue, 2)
        assert set(errors) == {1, 4}
        assert all(TOO_LONG[database.server.scheme] in error for error in errors.values())


def test_a_value_that_does_not_fit_fails_the_task(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, {}) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(5))")
        sink.send(SHORT.record({"id": 1, "name": "a"}), SHORT.record({"id": 2, "name": "too long"}))
        sink.await_failure(TOO_LONG[database.server.scheme])
        assert sink.rows() == []


def test_a_key_that_is_there_fails_an_insert(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, {}) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(5))")
        sink.send(SHORT.record({"id": 1, "name": "a"}))
        sink.await_rows([(1, "a")])
        sink.send(SHORT.record({"id": 2, "name": "b"}), SHORT.record({"id": 1, "name": "c"}))
        sink.await_failure("uplicate")
        assert sink.rows() == [(1, "a")]


def test_null_where_there_must_be_a_value(sinks: Sinks, database: Database) -> None:
    records = Records({"id": "int32", "name": "string?"})
    with sinks.running(database, {}) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(5) NOT NULL)")
        sink.send(records.record({"id": 1, "name": None}))
        sink.await_failure("null" if database.server.scheme == "postgresql" else "NULL")
        assert sink.rows() == []


@pytest.mark.nightly
def test_a_database_that_is_started_again(sinks: Sinks, server: DatabaseServer) -> None:
    database = server.new_database()
    config = {**UPSERT, "auto.create": "true", "max.retries": "30"}
    with sinks.running(database, config) as sink:
        sink.send(SHORT.record({"id": 1, "name": "a"}))
        sink.await_rows([(1, "a")])
        server.kill()
        try:
            sink.send(SHORT.record({"id": 2, "name": "b"}))
            sink.process.wait_until(lambda: "remainingRetries" in sink.process.log(), "notice", 120)
        finally:
            server.start()
        sink.await_rows([(1, "a"), (2, "b")])


def test_a_deadlock_is_tried_again(sinks: Sinks, mariadb: MariaDB) -> None:
    """The database ends one of two transactions that wait for each other: the one that did less."""
    database = mariadb.new_database()
    with sinks.running(database, {**UPSERT, "max.retries": "30"}) as sink:
        database.execute(
            f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(9))",
            f"INSERT INTO {sink.table} VALUES (1, 'old'), (2, 'old')",
            "CREATE TABLE heavy (id INT PRIMARY KEY)",
        )
        with database.connected() as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            cursor.executemany("INSERT INTO heavy VALUES (%s)", [(id,) for id in range(1000)])
            cursor.execute(f"UPDATE {sink.table} SET name = 'theirs' WHERE id = 2")
            sink.send(*(SHORT.record({"id": id, "name": "new"}) for id in (1, 2)))
            waiting = f"SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_query LIKE '%{sink.topic}%'"
            waiting += " AND trx_state = 'LOCK WAIT'"
            # InnoDB tells what it told before to whom asks again within a tenth of a second.
            waiting = f"SELECT SLEEP(0.3) + ({waiting})"
            sink.process.wait_until(lambda: database.query(waiting) != [(0,)], "wait for the row", 30)
            cursor.execute(f"UPDATE {sink.table} SET name = 'theirs' WHERE id = 1")
            cursor.execute("COMMIT")
        sink.await_rows([(1, "new"), (2, "new")])


def test_a_table_that_is_dropped_and_a_column_that_is_widened(sinks: Sinks, postgresql: PostgreSQL) -> None:
    database = postgresql.new_database()
    with sinks.running(database, {**UPSERT, "auto.create": "true"}) as sink:
        database.execute(f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(5))")
        sink.send(SHORT.record({"id": 1, "name": "a"}))
        sink.await_rows([(1, "a")])
        database.execute(f"ALTER TABLE {sink.table} ALTER name TYPE VARCHAR(50)")
        sink.send(SHORT.record({"id": 2, "name": "long enough"}))
        sink.await_rows([(1, "a"), (2, "long enough")])
        database.execute(f"DROP TABLE {sink.table}")
        sink.send(SHORT.record({"id": 3, "name": "c"}))
        sink.await_rows([(3, "c")])
