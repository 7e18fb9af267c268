"""The task itself, without a worker: what goes wrong at a point that no test could meet from outside."""

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.database import Database as JdbcDatabase
from connect_dagster.connectors.jdbc.sink import connector
from connect_dagster.connectors.jdbc.sink.connector import JdbcSinkTask
from connect_dagster.connectors.jdbc.sink.loaders import folder_for
from connect_dagster.connectors.jdbc.sink.offsets import OffsetsMovedError, SinkOffsets
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.connector import ErrantRecordReporter
from connect_dagster.plugin.frames import SinkBatch, SinkFrame
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.testing.contexts import CollectedMetrics, sink_batch
from connect_dagster.worker.sink.context import SinkContext
from tests.databases import Database

VALUE = Schema(
    SchemaType.STRUCT, fields=(SchemaField("id", Schema(SchemaType.INT32)), SchemaField("name", STRING_SCHEMA))
)
PLACE = TopicPartition("t", 0)
ONCE = {"exactly.once": "true"}
DELETES = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id", "delete.enabled": "true"}


class Reports:
    """A reporter that keeps the offsets of reported records, or fails."""

    def __init__(self, *, tolerates: bool = True) -> None:
        self.tolerates = tolerates
        self.offsets: list[int] = []
        self.failing = False

    def report_frame(self, frame: SinkFrame, error: Column | str) -> None:
        """Note which records are reported."""
        if self.failing:
            raise RuntimeError("a job of Spark has failed")
        rows = frame.df.select("offset", cast("Column", error).alias("error")).where("error IS NOT NULL").collect()
        self.offsets += [row["offset"] for row in rows]


@contextmanager
def started(
    spark: SparkSession, database: Database, config: Mapping[str, str], reports: Reports | None = None
) -> Iterator[JdbcSinkTask]:
    """A task of one partition."""
    task = JdbcSinkTask()
    task.context = SinkContext(
        spark,
        dict,
        CollectedMetrics(),
        frozenset([PLACE]),
        errant_record_reporter=cast("ErrantRecordReporter | None", reports),
    )
    task.start({"name": "s", "topics": "t", **database.connection_config, **config})
    try:
        task.open([PLACE])
        yield task
    finally:
        task.close([PLACE])
        task.stop()


def put(task: JdbcSinkTask, names: Sequence[str | None], first: int = 0) -> None:
    """Put records numbered by their offsets."""
    values = [{"id": number, "name": name} for number, name in enumerate(names, start=first)]
    task.put(sink_batch(task.context.spark, "t", values, VALUE, first))


def rows(database: Database, query: str = "SELECT id, name FROM t ORDER BY id") -> list[tuple[Any, ...]]:
    return database.query(query)


@pytest.mark.parametrize("lost", ["the connection", "the report"])
def test_a_refused_record_is_reported_whatever_comes_after_it(
    spark: SparkSession, postgresql_database: Database, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    """With the offset in the database beyond it, it is not looked at again."""
    postgresql_database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    reports = Reports()
    with started(spark, postgresql_database, ONCE, reports) as task:
        write = task._writer.write
        names = ["a", "b", "too long", "c", *"defg"]

        def interrupted(tables: Sequence[RecordTable]) -> None:
            if tables[0].first_offset() == 4 and lost == "the connection":
                raise DatabaseUnavailableError("deadlock")
            write(tables)

        reports.failing = lost == "the report"
        monkeypatch.setattr(task._writer, "write", interrupted)
        with pytest.raises((RetriableError, RuntimeError)):
            put(task, names)
        monkeypatch.undo()
        reports.failing = False
        put(task, names)
        assert set(reports.offsets) == {2}
        assert rows(postgresql_database) == [(id, name) for id, name in enumerate(names) if id != 2]


def test_nothing_is_written_behind_a_record_that_ends_the_task(
    spark: SparkSession, postgresql_database: Database
) -> None:
    """With exactly.once the task would go on behind it."""
    postgresql_database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    reports = Reports(tolerates=False)
    with started(spark, postgresql_database, ONCE, reports) as task:
        with pytest.raises(ConnectError, match="too long"):
            put(task, ["a", "too long", "b", "too long"])
        assert reports.offsets == [1]
        assert rows(postgresql_database) == [(0, "a")]


def test_values_without_a_schema_are_no_tombstones(spark: SparkSession, postgresql_database: Database) -> None:
    """Else their keys alone would be written."""
    postgresql_database.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(5))", "INSERT INTO t VALUES (0, 'a')")
    reports = Reports()
    with started(spark, postgresql_database, DELETES, reports) as task:
        (frame,) = sink_batch(spark, "t", [None, {"name": "b"}]).frames
        keyed = frame.with_key(F.col("offset").cast("int"), Schema(SchemaType.INT32))
        task.put(SinkBatch((keyed,)))
    assert reports.offsets == [1]
    assert rows(postgresql_database) == []


def test_rows_go_to_the_disk_where_there_is_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.statvfs", lambda _: SimpleNamespace(f_bavail=10, f_frsize=100))
    assert folder_for(500) is not None
    assert folder_for(501) is None


def test_rows_that_another_task_has_written_are_no_refusal(spark: SparkSession, database: Database) -> None:
    """Their keys are there, but it is the offset that tells why."""
    database.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(5))")
    with started(spark, database, ONCE) as task, started(spark, database, ONCE) as other:
        for first in (0, 2):
            put(other, "ab", first)
            with pytest.raises(OffsetsMovedError):
                put(task, "ab", first)
            assert cast("SinkContext", task.context).take_rewound() == {PLACE: first + 2}
    assert rows(database) == [(0, "a"), (1, "b"), (2, "a"), (3, "b")]


def test_a_column_that_is_given_more_digits(spark: SparkSession, postgresql_database: Database) -> None:
    postgresql_database.execute("CREATE TABLE t (id INT PRIMARY KEY, name NUMERIC(5, 1))")
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id"}
    with started(spark, postgresql_database, upsert) as task:
        put(task, ["1.5"])
        postgresql_database.execute("ALTER TABLE t ALTER name TYPE NUMERIC(5, 3)")
        put(task, ["2.125"], 1)
    assert rows(postgresql_database) == [(0, Decimal("1.5")), (1, Decimal("2.125"))]


def test_offsets_that_the_database_refuses_fail_the_task(spark: SparkSession, database: Database) -> None:
    """It is not another task that has written them, and no record's fault."""
    database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    reports = Reports()
    with started(spark, database, {**ONCE, "name": "n" * 201}, reports) as task:
        with pytest.raises(ConnectError, match="Offsets cannot be written to table connect_offsets") as raised:
            put(task, "ab")
        assert not isinstance(raised.value, RetriableError)
    assert (rows(database), reports.offsets) == ([], [])


def test_topics_that_differ_in_upper_and_lower_case(spark: SparkSession, database: Database) -> None:
    database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    with started(spark, database, {**ONCE, "table.name.format": "t"}) as task:
        put(task, "ab")
        task.put(sink_batch(spark, "T", [{"id": 2, "name": "c"}], VALUE))
    assert rows(database, "SELECT topic, next_offset FROM connect_offsets ORDER BY next_offset") == [("T", 1), ("t", 2)]


@pytest.mark.parametrize(
    "config",
    [
        {"connection.allowLocalInfile": "false"},
        {"dialect.name": "PostgreSqlDatabaseDialect", "quote.sql.identifiers": "never"},
    ],
    ids=["LOAD DATA forbidden", "no COPY"],
)
def test_a_driver_without_a_bulk_load(spark: SparkSession, mariadb_database: Database, config: dict[str, str]) -> None:
    mariadb_database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    with started(spark, mariadb_database, config) as task:
        put(task, "ab")
    assert rows(mariadb_database) == [(0, "a"), (1, "b")]


def test_the_hour_that_comes_twice_in_autumn(spark: SparkSession, postgresql_database: Database) -> None:
    postgresql_database.execute("CREATE TABLE t (id INT, name TIMESTAMPTZ)")
    # Before 1883 a zone was ahead by seconds as well.
    instants = ["2024-11-03 05:30:00", "2024-11-03 06:30:00", "1880-01-01 00:00:00"]
    moments = [dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC) for text in instants]
    counted = {"timestamp.fields.list": "name", "db.timezone": "America/New_York"}
    with started(spark, postgresql_database, counted) as task:
        put(task, [str(int(moment.timestamp()) * 1_000_000) for moment in moments])
    assert rows(postgresql_database, "SELECT name FROM t ORDER BY id") == [(moment,) for moment in moments]


def test_text_that_is_no_number(spark: SparkSession, postgresql_database: Database) -> None:
    """Null would be written in its place."""
    postgresql_database.execute("CREATE TABLE t (id INT, name TIMESTAMP)")
    reports = Reports()
    with started(spark, postgresql_database, {"timestamp.fields.list": "name"}, reports) as task:
        put(task, ["1000000", "abc"])
    with (
        started(spark, postgresql_database, {"timestamp.fields.list": "name"}) as task,
        pytest.raises(ConnectError, match="holds no number"),
    ):
        put(task, ["abc"])
    assert (reports.offsets, rows(postgresql_database)) == ([1], [(0, dt.datetime(1970, 1, 1, 0, 0, 1))])


def test_keys_that_only_the_database_finds_equal(spark: SparkSession, postgresql_database: Database) -> None:
    postgresql_database.execute("CREATE TABLE t (id INT, name NUMERIC PRIMARY KEY)")
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "name"}
    with started(spark, postgresql_database, upsert) as task:
        put(task, ["1.0", "2", "1.00"])
    assert rows(postgresql_database) == [(1, Decimal(2)), (2, Decimal("1.0"))]


@pytest.mark.parametrize("seconds", [60.0, pytest.param(0.0, marks=pytest.mark.nightly)])
def test_many_records_that_do_not_fit(
    spark: SparkSession, database: Database, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """They are looked for over one connection, and for so long that the group does not give up the task."""
    database.execute("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(5))")
    monkeypatch.setattr(connector, "_BISECTION_SECONDS", seconds)
    names = ["too long" if number in (1, 3, 6) else "fits" for number in range(8)]
    reports = Reports()
    upsert = {"insert.mode": "upsert", "pk.mode": "record_value", "pk.fields": "id", **ONCE}
    with started(spark, database, upsert, reports) as task:
        connect, opened = JdbcDatabase.connect, list[JdbcDatabase]()

        def counted(database: JdbcDatabase) -> Connection:
            opened.append(database)
            return connect(database)

        monkeypatch.setattr(JdbcDatabase, "connect", counted)
        begins, puts = [0], 0
        while begins:
            put(task, names[begins[0] :], begins[0])
            puts += 1
            begins = list(cast("SinkContext", task.context).take_rewound().values())
        assert len(opened) <= puts
    assert (puts > 1) == (seconds == 0)
    assert reports.offsets == [1, 3, 6]
    assert rows(database) == [(id, name) for id, name in enumerate(names) if name == "fits"]


def test_rows_of_one_record_are_written_together_or_not(
    spark: SparkSession, postgresql_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An offset stands for all of them: what was left of a record would not be looked at again."""
    postgresql_database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    monkeypatch.setattr(connector, "_BISECTION_SECONDS", 0.0)
    reports = Reports()
    with started(spark, postgresql_database, ONCE, reports) as task:
        begin = 0
        while begin < 4:
            values = [{"id": number, "name": "fits"} for number in range(begin, 4)]
            (frame,) = sink_batch(spark, "t", values, VALUE, begin).frames
            names = F.when(F.col("offset") % 2 == 1, F.array(F.lit("too long"), F.lit("a"), F.lit("too long")))
            each = F.explode(F.coalesce(names, F.array(F.lit("a"), F.lit("b"))))
            value = F.struct(F.col("value.id").alias("id"), F.col("name"))
            rows_each = frame.df.select("*", each.alias("name")).withColumn("value", value).drop("name")
            task.put(SinkBatch((replace(frame, df=rows_each),)))
            begin = cast("SinkContext", task.context).take_rewound().get(PLACE, 4)
    assert reports.offsets == [1, 1, 1, 3, 3, 3]
    assert rows(postgresql_database) == [(0, "a"), (0, "b"), (2, "a"), (2, "b")]


def test_a_refusal_of_offsets_that_may_pass_is_tried_again(
    spark: SparkSession, postgresql_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgresql_database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")

    def read_only(*_: object) -> None:
        raise DatabaseError("cannot execute UPDATE in a read-only transaction", "25006")

    with started(spark, postgresql_database, {**ONCE, "retry.backoff.ms": "0"}) as task:
        monkeypatch.setattr(SinkOffsets, "_move", read_only)
        with pytest.raises(RetriableError, match="read-only"):
            put(task, "ab")
        monkeypatch.undo()
        put(task, "ab")
    assert rows(postgresql_database) == [(0, "a"), (1, "b")]


def test_a_topic_that_has_begun_anew(spark: SparkSession, postgresql_database: Database) -> None:
    postgresql_database.execute("CREATE TABLE t (id INT, name VARCHAR(5))")
    with started(spark, postgresql_database, ONCE) as task:
        put(task, "a", 9)
    with (
        started(spark, postgresql_database, ONCE) as task,
        pytest.raises(ConnectError, match="written up to offset 10, but the topic has come to offset 0"),
    ):
        put(task, "b")
