"""Big batches, which are written while the next are decoded: what goes wrong there costs no record and doubles none."""

import pytest

from tests.databases import Database, MariaDB
from tests.integration.jdbc.sink.conftest import ROUTED, Records, Sink, Sinks, paused, resumed
from tests.integration.jdbc.sink.test_sink_faults import SHORT, TOO_LONG, UPSERT, refused, tolerant

RECORDS = 36_000
# Three big batches, and one that is small enough to be written at once.
BATCH = 10_000
BATCHES = {"consumer.override.max.poll.records": str(BATCH)}
COUNT = "SELECT COUNT(*), COUNT(DISTINCT id) FROM {table}"
TABLE = "(id INT, name VARCHAR(5))"
PLAIN = Records({"id": "int32", "name": "string"})


def send_at_once(sink: Sink, records: Records, too_long: tuple[int, ...] = ()) -> None:
    """Have all records there before any is read."""
    paused(sink)
    names = dict.fromkeys(too_long, "too long")
    sink.send(*(records.record({"id": id, "name": names.get(id, "a")}) for id in range(RECORDS)))
    resumed(sink)


@pytest.mark.parametrize(
    "config", [pytest.param({}, id="insert", marks=pytest.mark.nightly), pytest.param(UPSERT, id="upsert")]
)
def test_values_that_do_not_fit_cost_their_records(sinks: Sinks, database: Database, config: dict[str, str]) -> None:
    bad = (BATCH + 3, 2 * BATCH - 1, RECORDS - 5)
    queue = f"{sinks.prefix}dlq"
    with sinks.running(database, {**config, **BATCHES, **tolerant(queue)}) as sink:
        key = "PRIMARY KEY" if config else ""
        database.execute(f"CREATE TABLE {sink.table} (id INT {key}, name VARCHAR(5))")
        send_at_once(sink, SHORT, bad)
        sink.await_rows([(RECORDS - 3, RECORDS - 3)], COUNT, 90)
        assert set(refused(sink, queue, 3)) == set(bad)


def test_records_that_a_transform_has_given_another_topic(sinks: Sinks, database: Database) -> None:
    queue = f"{sinks.prefix}dlq"
    with sinks.running(database, {**BATCHES, **tolerant(queue), **ROUTED}) as sink:
        database.execute(f"CREATE TABLE routed {TABLE}")
        send_at_once(sink, PLAIN, (BATCH + 3,))
        sink.await_rows([(RECORDS - 1, RECORDS - 1)], "SELECT COUNT(*), COUNT(DISTINCT id) FROM routed", 90)
        assert set(refused(sink, queue, 1)) == {BATCH + 3}


@pytest.mark.nightly
def test_a_task_that_fails_commits_what_was_written(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, BATCHES) as sink:
        database.execute(f"CREATE TABLE {sink.table} {TABLE}")
        send_at_once(sink, PLAIN, (2 * BATCH + 7,))
        sink.await_failure(TOO_LONG[database.server.scheme], 90)
        assert sink.rows(COUNT) == [(2 * BATCH, 2 * BATCH)]
        (offset,) = sink.process.call("GET", f"/connectors/{sink.name}/offsets").json["offsets"]
        assert offset["offset"] == {"kafka_offset": 2 * BATCH}
        wider = "ALTER name TYPE VARCHAR(9)" if database.server.scheme == "postgresql" else "MODIFY name VARCHAR(9)"
        database.execute(f"ALTER TABLE {sink.table} {wider}")
        assert sink.process.call("POST", f"/connectors/{sink.name}/tasks/0/restart").status == 204
        sink.await_rows([(RECORDS, RECORDS)], COUNT, 60)


def test_a_pause_waits_for_what_is_written(sinks: Sinks, database: Database) -> None:
    with sinks.running(database, {**BATCHES, "auto.create": "true"}) as sink:
        send_at_once(sink, PLAIN)
        for _ in range(3):
            paused(sink)
            resumed(sink)
        sink.await_rows([(RECORDS, RECORDS)], COUNT, 60)


@pytest.mark.nightly
def test_the_sink_is_the_one_that_gives_way(sinks: Sinks, mariadb: MariaDB) -> None:
    """An application's transaction that waits for the sink's, and it for that, is the one to go on."""
    database = mariadb.new_database()
    with sinks.running(database, {**UPSERT, **BATCHES, "max.retries": "30"}) as sink:
        database.execute(
            f"CREATE TABLE {sink.table} (id INT PRIMARY KEY, name VARCHAR(9))",
            f"INSERT INTO {sink.table} SELECT seq, 'old' FROM seq_1_to_{RECORDS - 1}",
            "CREATE TABLE heavy (id INT PRIMARY KEY)",
        )
        with database.connected() as connection, connection.cursor() as cursor:
            cursor.execute("START TRANSACTION")
            cursor.execute("INSERT INTO heavy SELECT seq FROM seq_1_to_100000")
            cursor.execute(f"UPDATE {sink.table} SET name = 'theirs' WHERE id = {BATCH - 1}")
            send_at_once(sink, SHORT)
            waiting = f"SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_query LIKE '%{sink.topic}%'"
            waiting += " AND trx_state = 'LOCK WAIT'"
            # InnoDB tells what it told before to whom asks again within a tenth of a second.
            waiting = f"SELECT SLEEP(0.3) + ({waiting})"
            sink.process.wait_until(lambda: database.query(waiting) != [(0,)], "wait for the row", 60)
            cursor.execute(f"UPDATE {sink.table} SET name = 'theirs' WHERE id = 1")
            cursor.execute("COMMIT")
        sink.await_rows([("a", RECORDS)], "SELECT name, COUNT(*) FROM {table} GROUP BY name", 60)
