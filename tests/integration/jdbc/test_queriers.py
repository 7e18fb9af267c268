"""What a task reads, mode by mode, on real databases: large reads, ties, late commits, deletes, faults."""

import tempfile
import time
from decimal import Decimal
from pathlib import Path
from unittest.mock import Mock

import pytest
from pyspark.sql import SparkSession

from connect_dagster.connectors.jdbc.source import query_slot
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.frames import SourceFrame, SourceQuery
from tests.databases import Database, MariaDB
from tests.integration.jdbc.queriers import Offsets, Running, rows_of, taken, task

CHANGED = {"timestamp_column_name": "modified"}
BOTH = {**CHANGED, "incrementing_column_name": "id"}
SAME = "2022-01-23 02:26:25"
AT_SAME = {"timestamp": 1642904785000, "timestamp_nanos": 0}
PARTITION_OF = "protocol", "table"


def fill(database: Database, rows: int, *, index: bool = False, modified: str = f"'{SAME}'") -> None:
    database.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20) NOT NULL, modified TIMESTAMP NOT NULL)",
        f"INSERT INTO t SELECT seq, CONCAT('n', seq), {modified} FROM seq_1_to_{rows}",
        *(["CREATE INDEX by_time ON t (modified)"] if index else []),
    )


@pytest.mark.parametrize("index", [False, True])
def test_all_rows_of_one_time_are_one_place(spark: SparkSession, mariadb_database: Database, index: bool) -> None:
    fill(mariadb_database, 1000, index=index)
    with task(spark, mariadb_database, "timestamp", "t", batch_max_rows="100", **CHANGED) as running:
        found: list[int] = []
        for count, frame in enumerate(running.frames(), 1):
            found += [row["id"] for row in taken(frame)]
            running.delivered(frame)
            (stored, *others) = running.offsets.shown()
            assert not others
            if count < 10:
                saved = {"key": count * 100, **AT_SAME, "initial_nanos": 0, "initial_incrementing": -1}
                assert stored == ({"protocol": "1", "table": "t", "snapshot": "id"}, saved)
    assert found == list(range(1, 1001))
    assert running.offsets.shown() == [({"protocol": "1", "table": "t"}, AT_SAME)]


def test_a_large_read_goes_on_where_it_was(spark: SparkSession, mariadb_database: Database) -> None:
    fill(mariadb_database, 1000)
    offsets = Offsets()
    with task(spark, mariadb_database, "timestamp+incrementing", "t", offsets, batch_max_rows="300", **BOTH) as first:
        frame = next(first.frames())
        assert len(taken(frame)) == 300
        offsets.commit(frame)
    mariadb_database.execute("UPDATE t SET modified = modified + INTERVAL 1 SECOND WHERE id IN (10, 900)")
    with task(spark, mariadb_database, "timestamp+incrementing", "t", offsets, batch_max_rows="300", **BOTH) as second:
        found = [row["id"] for row in second.rows()]
    assert found == [*range(301, 900), *range(901, 1001), 10, 900]
    assert offsets.shown() == [
        ({"protocol": "1", "table": "t"}, {"incrementing": 900, **AT_SAME, "timestamp": 1642904786000})
    ]


@pytest.mark.parametrize(
    ("offset", "ids"),
    [
        (None, range(101, 301)),
        ({**AT_SAME, "timestamp": AT_SAME["timestamp"] - 1000}, range(1, 301)),
        (AT_SAME, range(250, 301)),
    ],
)
def test_a_large_read_goes_on_unless_the_offset_was_changed(
    spark: SparkSession, mariadb_database: Database, offset: dict[str, int] | None, ids: range
) -> None:
    fill(mariadb_database, 300, modified=f"'{SAME}' + INTERVAL (seq DIV 250) SECOND")
    offsets = Offsets()
    batch = {**CHANGED, "batch_max_rows": "100"}
    with task(spark, mariadb_database, "timestamp", "t", offsets, timestamp_initial="0", **batch) as first:
        offsets.commit(next(first.frames()))
    if offset is not None:
        offsets.stored[frozenset({"protocol": "1", "table": "t"}.items())] = offset
    # What -1 stands for is later at each start.
    with task(spark, mariadb_database, "timestamp", "t", offsets, timestamp_initial="-1", **batch) as second:
        assert [row["id"] for row in second.rows()] == list(ids)
    end = {**AT_SAME, "timestamp": AT_SAME["timestamp"] + 1000}
    assert offsets.shown() == [({"protocol": "1", "table": "t"}, end)]


def test_bulk_goes_on_where_it_was_and_keeps_no_offset(spark: SparkSession, mariadb_database: Database) -> None:
    fill(mariadb_database, 250)
    offsets = Offsets()
    with task(spark, mariadb_database, "bulk", "t", offsets, batch_max_rows="100") as first:
        offsets.commit(next(first.frames()))
    assert offsets.shown() == [({"protocol": "1", "table": "t", "snapshot": "id"}, {"key": 100})]
    with task(spark, mariadb_database, "bulk", "t", offsets, batch_max_rows="100", poll_interval_ms="60000") as second:
        assert [row["id"] for row in second.rows()] == list(range(101, 251))
    assert offsets.shown() == []


def test_a_batch_is_small_until_rows_have_shown_their_size(spark: SparkSession, mariadb_database: Database) -> None:
    mariadb_database.execute("CREATE TABLE t (id INT PRIMARY KEY, text LONGTEXT NOT NULL)")
    with task(spark, mariadb_database, "incrementing", "t", incrementing_column_name="id") as running:
        assert running.rows() == []
        mariadb_database.execute("INSERT INTO t SELECT seq, REPEAT('x', 30000) FROM seq_1_to_400")
        sizes = [len(taken(frame)) for frame in running.frames()]
    assert sum(sizes) == 400
    assert 200 < sizes[0] < 300


@pytest.mark.parametrize("rows", [60, 30], ids=["sampled", "guessed"])
def test_a_batch_of_large_rows_has_few_of_them(spark: SparkSession, mariadb_database: Database, rows: int) -> None:
    """Fails at ce718d3: a batch had 200 rows at least, and a driver held 2,000, whatever their size."""
    mariadb_database.execute("CREATE TABLE t (id BIGINT PRIMARY KEY, v LONGTEXT NOT NULL)")
    for first in range(0, rows, 10):
        values = ", ".join(f"({id}, REPEAT('{id % 10}', 500000))" for id in range(first, first + 10))
        mariadb_database.execute(f"INSERT INTO t VALUES {values}")
    with task(spark, mariadb_database, "incrementing", "t", incrementing_column_name="id") as running:
        batches = []
        for frame in running.frames():
            batches.append([row["id"] for row in taken(frame)])
            running.delivered(frame)
    assert [id for batch in batches for id in batch] == list(range(rows))
    assert max(map(len, batches)) <= 16


def test_a_large_batch_is_read_by_several_connections(spark: SparkSession, mariadb: MariaDB) -> None:
    database = mariadb.new_database()
    fill(database, 9000)
    with (
        mariadb.general_log() as log,
        task(spark, database, "incrementing", "t", incrementing_column_name="id", parallel_reads="3") as running,
    ):
        found = [row["id"] for row in running.rows()]
    assert found == list(range(1, 9001))
    read = [
        line
        for line in log().splitlines()
        if "WHERE (`t`.`id` > -1)" in line and "connect_rows" in line and "1=0" not in line
    ]
    assert len(read) == 3
    assert running.offsets.shown() == [({"protocol": "1", "table": "t"}, {"incrementing": 9000})]


def test_a_table_without_a_key_comes_by_way_of_the_disk(spark: SparkSession, mariadb_database: Database) -> None:
    fill(mariadb_database, 1000, modified=f"'{SAME}' + INTERVAL (seq DIV 400) SECOND")
    mariadb_database.execute("ALTER TABLE t DROP PRIMARY KEY")
    with task(spark, mariadb_database, "timestamp", "t", batch_max_rows="150", **CHANGED) as running:
        offsets, found = [], []
        for frame in running.frames():
            found += [row["id"] for row in taken(frame)]
            running.delivered(frame)
            offsets += [offset["timestamp"] - AT_SAME["timestamp"] for _, offset in running.offsets.shown()]
    assert sorted(found) == list(range(1, 1001))
    assert offsets == sorted(offsets)
    assert offsets[-1] == 2000
    assert offsets[0] == 0


def test_a_read_without_rows_leaves_nothing_on_disk(
    spark: SparkSession, mariadb_database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mariadb_database.execute("CREATE TABLE t (id INT)")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with task(spark, mariadb_database, "bulk", "t", poll_interval_ms="60000") as running:
        assert running.rows() == []
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("mode", ["timestamp+incrementing", "incrementing"])
def test_a_row_committed_late_is_not_lost(spark: SparkSession, mariadb_database: Database, mode: str) -> None:
    fill(mariadb_database, 1, modified="NOW()")
    columns = BOTH if mode == "timestamp+incrementing" else {"incrementing_column_name": "id"}
    with (
        mariadb_database.connected() as late,
        task(spark, mariadb_database, mode, "t", open_transactions_wait="true", **columns) as running,
    ):
        time.sleep(1.1)
        late.begin()
        late.cursor().execute("INSERT INTO t VALUES (2, 'late', NOW())")
        time.sleep(1.1)
        mariadb_database.execute("INSERT INTO t VALUES (3, 'early', NOW())")
        time.sleep(1.1)
        assert [row["id"] for row in running.rows()] == ([1] if mode != "incrementing" else [])
        late.commit()
        time.sleep(1.3)
        assert [row["id"] for row in running.rows()] == ([2, 3] if mode != "incrementing" else [1, 2, 3])


def test_postgresql_waits_for_open_transactions(spark: SparkSession, postgresql_database: Database) -> None:
    postgresql_database.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, modified TIMESTAMPTZ NOT NULL DEFAULT CURRENT_TIMESTAMP)",
        "INSERT INTO t VALUES (1)",
    )
    with (
        postgresql_database.connected() as late,
        task(
            spark, postgresql_database, "timestamp+incrementing", '"public"."t"', open_transactions_wait="true", **BOTH
        ) as running,
    ):
        late.autocommit = False
        late.execute("INSERT INTO t VALUES (2)")
        postgresql_database.execute("INSERT INTO t VALUES (3)")
        assert [row["id"] for row in running.rows()] == [1]
        late.commit()
        assert [row["id"] for row in running.rows()] == [2, 3]


def test_without_the_privilege_open_transactions_are_not_guessed(spark: SparkSession, mariadb: MariaDB) -> None:
    database = mariadb.new_database()
    fill(database, 1)
    database.execute(
        "CREATE OR REPLACE USER 'blind'@'%' IDENTIFIED BY 'blind-1'",
        f"GRANT SELECT ON {database.name}.* TO 'blind'@'%'",
    )
    blind = {"connection_user": "blind", "connection_password": "blind-1"}
    with (
        task(spark, database, "timestamp", "t", open_transactions_wait="true", **CHANGED, **blind) as running,
        pytest.raises(ConnectError, match="lacks the privilege PROCESS"),
    ):
        running.rows()


def test_deletes_are_found_by_their_keys(
    spark: SparkSession, mariadb_database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    fill(mariadb_database, 5)
    scans = {
        "incrementing_column_name": "id",
        "delete_scan_interval_ms": "1",
        "delete_scan_location": str(tmp_path_factory.mktemp("scans")),
    }
    offsets = Offsets()
    with task(spark, mariadb_database, "incrementing", "t", offsets, **scans) as running:
        rows = running.rows()
        assert [key for key, _ in rows] == [{"id": id} for id in range(1, 6)]
        assert rows[0][1]["name"] == "n1"
        mariadb_database.execute("DELETE FROM t WHERE id IN (2, 4)")
        assert sorted(running.rows(), key=str) == [({"id": 2}, None), ({"id": 4}, None)]
        assert running.rows() == []
    mariadb_database.execute("DELETE FROM t WHERE id = 5")
    with task(spark, mariadb_database, "incrementing", "t", offsets, name="other", **scans) as other:
        assert other.rows() == []
    with task(spark, mariadb_database, "incrementing", "t", offsets, **scans) as again:
        assert again.rows() == [({"id": 5}, None)]
    mariadb_database.execute("ALTER TABLE t DROP PRIMARY KEY, ADD PRIMARY KEY (name)")
    with task(spark, mariadb_database, "incrementing", "t", offsets, **scans) as keyed_anew:
        assert keyed_anew.rows() == []
        mariadb_database.execute("DELETE FROM t WHERE id = 1")
        assert keyed_anew.rows() == [({"name": "n1"}, None)]


def test_rows_that_trickle_in_wait_for_their_turn_and_put_off_no_scan(
    spark: SparkSession, mariadb_database: Database
) -> None:
    fill(mariadb_database, 3)
    scans = {"incrementing_column_name": "id", "delete_scan_interval_ms": "1", "batch_max_rows": "3"}
    with task(spark, mariadb_database, "incrementing", "t", **scans) as running:
        querier = running.task._queriers[0].querier
        assert (querier.next() is not None, querier.busy) == (True, True)  # a full batch
        assert (querier.next(), querier.busy) == (None, False)  # the first scan
        found = []
        for id in (4, 5, 6):
            mariadb_database.execute(f"DELETE FROM t WHERE id = {id - 3}", f"INSERT INTO t VALUES ({id}, '', NOW())")
            frame = querier.next()
            assert frame is not None
            found += taken(frame)
            running.delivered(frame)
            assert querier.busy == (found[-1][1] is None)
        gone = {key["id"] for key, value in found if value is None}
        assert (gone, [key["id"] for key, value in found if value is not None]) == ({1, 2}, [4, 5, 6])


def test_a_lost_connection_is_opened_again(spark: SparkSession, mariadb: MariaDB) -> None:
    database = mariadb.new_database()
    fill(database, 2)
    with task(
        spark, database, "incrementing", "t", incrementing_column_name="id", connection_backoff_ms="50"
    ) as running:
        assert len(running.rows()) == 2
        database.execute("INSERT INTO t VALUES (3, 'n3', NOW())")
        for id, user in database.query("SELECT id, db FROM information_schema.processlist WHERE id <> CONNECTION_ID()"):
            if user == database.name:
                database.execute(f"KILL {id}")
        assert [row["id"] for row in running.rows()] == [3]


def test_positions_are_read_in_the_same_isolation_as_rows(spark: SparkSession, mariadb_database: Database) -> None:
    fill(mariadb_database, 2)
    columns = {"incrementing_column_name": "id", "transaction_isolation_mode": "SERIALIZABLE"}
    with task(spark, mariadb_database, "incrementing", "t", **columns) as running:
        assert len(running.rows()) == 2
        assert running.task._connection.get().rows("SELECT @@tx_isolation", "string") == [("SERIALIZABLE",)]


def test_retries_end(spark: SparkSession, mariadb: MariaDB) -> None:
    database = mariadb.new_database()
    fill(database, 2)
    few = {"query_retry_attempts": "0", "connection_backoff_ms": "10", "incrementing_column_name": "id"}
    with task(spark, database, "incrementing", "t", **few) as running:
        assert len(running.rows()) == 2
        for id, user in database.query("SELECT id, db FROM information_schema.processlist WHERE id <> CONNECTION_ID()"):
            if user == database.name:
                database.execute(f"KILL {id}")
        with pytest.raises(ConnectError, match=r"query\.retry\.attempts"):
            running.rows()


def test_retries_are_counted_for_each_table(
    spark: SparkSession, mariadb_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(mariadb_database, 2)
    mariadb_database.execute("CREATE TABLE u LIKE t")
    few = {"query_retry_attempts": "2", "connection_backoff_ms": "10", "incrementing_column_name": "id"}
    with task(spark, mariadb_database, "incrementing", "t,u", **few) as running:
        away = Mock(side_effect=DatabaseUnavailableError("locked"))
        monkeypatch.setattr(running.task._queriers[0].querier, "next", away)
        with pytest.raises(ConnectError, match=r"Gave up after 2 retries .*: locked"):
            list(filter(None, (running.task.poll() for _ in range(40))))


def test_a_masked_query_does_not_show(spark: SparkSession, mariadb_database: Database) -> None:
    query = "SELECT * FROM nowhere WHERE token = 'abc' AND name = 'hush'"
    with (
        task(spark, mariadb_database, "bulk", "", query_masked=query) as running,
        pytest.raises(ConnectError, match=r"refuses SELECT \* FROM \(\*{4}\) q") as caught,
    ):
        running.rows()
    assert "hush" not in str(caught.value)


def test_initial_positions(spark: SparkSession, mariadb_database: Database) -> None:
    fill(mariadb_database, 5, modified=f"'{SAME}' + INTERVAL seq SECOND")
    with task(
        spark, mariadb_database, "incrementing", "t", incrementing_column_name="id", incrementing_initial="3"
    ) as one:
        assert [row["id"] for row in one.rows()] == [4, 5]
    with task(spark, mariadb_database, "timestamp", "t", timestamp_initial="1642904788000", **CHANGED) as two:
        assert [row["id"] for row in two.rows()] == [4, 5]
    with task(spark, mariadb_database, "timestamp", "t", timestamp_initial="-1", **CHANGED) as three:
        assert three.rows() == []


@pytest.mark.parametrize("rows", ["100", "2"])
def test_the_first_time_that_is_not_null_counts(spark: SparkSession, mariadb_database: Database, rows: str) -> None:
    mariadb_database.execute(
        "CREATE TABLE t (id INT, changed DATETIME NULL, created DATETIME NOT NULL)",
        f"INSERT INTO t VALUES (1, '{SAME}' + INTERVAL 5 SECOND, '{SAME}'), (2, NULL, '{SAME}' + INTERVAL 1 SECOND)",
        f"INSERT INTO t VALUES (3, NULL, '{SAME}' + INTERVAL 9 SECOND)",
    )
    columns = {"timestamp_column_name": "changed,created"}
    with task(spark, mariadb_database, "timestamp", "t", batch_max_rows=rows, **columns) as running:
        assert [row["id"] for row in running.rows()] == [2, 1, 3]
        assert running.offsets.shown()[0][1]["timestamp"] == AT_SAME["timestamp"] + 9000


def test_postgresql_in_each_mode(spark: SparkSession, postgresql_database: Database) -> None:
    postgresql_database.execute(
        'CREATE TABLE "T x" (id SERIAL PRIMARY KEY, price NUMERIC(9,2), modified TIMESTAMP NOT NULL)',
        f"""INSERT INTO "T x" (price, modified) SELECT n, timestamp '{SAME}' + n * interval '1 second'
        FROM generate_series(1, 500) n""",
    )
    table = '"public"."T x"'
    for mode, columns in (
        ("bulk", {}),
        ("incrementing", {}),
        ("timestamp", CHANGED),
        ("timestamp+incrementing", BOTH),
    ):
        with task(
            spark, postgresql_database, mode, table, batch_max_rows="200", poll_interval_ms="60000", **columns
        ) as running:
            rows = running.rows()
            assert [row["id"] for row in rows] == list(range(1, 501))
            assert rows[-1]["price"] == Decimal(500)
            if mode == "timestamp":
                assert running.offsets.shown() == [
                    ({"protocol": "1", "table": "public.T x"}, {**AT_SAME, "timestamp": AT_SAME["timestamp"] + 500_000})
                ]


@pytest.mark.parametrize("kind", ["mariadb", "postgresql"])
def test_a_query_reads_the_rows_of_each_batch_by_one_plan(
    spark: SparkSession, mariadb_database: Database, postgresql_database: Database, kind: str
) -> None:
    """Also in another order than that of the polls, and after columns have changed."""
    database = mariadb_database if kind == "mariadb" else postgresql_database
    database.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(20), modified TIMESTAMP NOT NULL)")
    columns = {"incrementing_column_name": "id", "batch_max_rows": "4500"}
    with task(spark, database, "incrementing", "t", **columns) as running:
        fill_more(database, 0, 9000)
        first, second = queries(running)
        fill_more(database, 9000, 9010)
        (few,) = queries(running)
        fill_more(database, 9010, 9020)
        (few_more,) = queries(running)
        database.execute("ALTER TABLE t ADD COLUMN more INT")
        fill_more(database, 9020, 9030)
        (wider,) = queries(running)
        assert first.df is second.df is not few.df
        assert few.df is few_more.df is not wider.df
        for query in (second, wider, few_more, first, few, second):
            assert taken(query) == rows_of(query.read())
        assert [row["id"] for row in taken(few)] == list(range(9001, 9011))
        assert [row["id"] for row in taken(second)] == list(range(4501, 9001))
        assert [row["more"] for row in taken(wider)] == [None] * 10


def fill_more(database: Database, after: int, last: int) -> None:
    rows = ", ".join(f"({id}, 'n{id}', '2024-02-29 12:00:{id % 60:02}.5')" for id in range(after + 1, last + 1))
    database.execute(f"INSERT INTO t (id, name, modified) VALUES {rows}")


def queries(running: Running) -> list[SourceQuery]:
    found = []
    for query in running.frames():
        assert isinstance(query, SourceQuery)
        found.append(query)
    return found


def test_batches_are_planned_each_where_spark_has_other_parts(
    spark: SparkSession, mariadb_database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(query_slot, "_TEXT", "renamed")
    fill(mariadb_database, 250)
    columns = {"incrementing_column_name": "id", "batch_max_rows": "100"}
    with caplog.at_level("INFO"), task(spark, mariadb_database, "incrementing", "t", **columns) as running:
        frames = list(running.frames())
        assert [type(frame) for frame in frames] == [SourceFrame] * 3
        assert [row["id"] for frame in frames for row in taken(frame)] == list(range(1, 251))
    assert caplog.text.count("Spark's JDBC source has other parts than in Spark 4.1") == 1


def test_rows_are_read_again_when_the_database_was_away(spark: SparkSession, mariadb_database: Database) -> None:
    fill(mariadb_database, 2)
    with task(spark, mariadb_database, "incrementing", "t", incrementing_column_name="id") as running:
        assert running.task.reread_delay(DatabaseUnavailableError("away")) is not None
        assert running.task.reread_delay(DatabaseError("refused")) is None
