"""The table of a sink's offsets with ``exactly.once``, in SQLite: whose records the offsets count."""

import sqlite3
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.sink.offsets import OffsetsMovedError, SinkOffsets
from connect_dagster.connectors.jdbc.sink.offsets_table import OffsetsTable, WrittenOffset
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.records import TopicPartition

PLACE = TopicPartition("t", 0)
EARLIER = (
    "CREATE TABLE connect_offsets (connector VARCHAR(200) NOT NULL, topic VARCHAR(249) NOT NULL, "
    "kafka_partition INTEGER NOT NULL, next_offset BIGINT NOT NULL, PRIMARY KEY (connector, topic, kafka_partition))"
)
OLD, NEW = {"t": "an old id"}, {"t": "a new id"}


class SqliteConnection:
    """A connection with the errors of a JDBC one."""

    def __init__(self) -> None:
        self.sqlite = sqlite3.connect(":memory:", isolation_level="DEFERRED")
        self.forbidden = "none"
        self.overtakes = "none"
        self.away = False

    def execute(self, sql: str) -> int:
        if sql.startswith(self.forbidden):
            raise DatabaseError("permission denied")
        if sql.startswith(self.overtakes):
            self.sqlite.execute(sql)
            self.sqlite.commit()
        try:
            return self.sqlite.execute(sql).rowcount
        except sqlite3.Error as error:
            raise DatabaseError(str(error)) from error

    def rows(self, sql: str, *_: str) -> list[tuple[Any, ...]]:
        if self.away:
            raise DatabaseUnavailableError("no route to the database")
        try:
            return self.sqlite.execute(sql).fetchall()
        except sqlite3.Error as error:
            raise DatabaseError(str(error)) from error

    def commit(self) -> None:
        self.sqlite.commit()

    def rollback(self) -> None:
        self.sqlite.rollback()


@pytest.fixture
def database() -> Iterator[SqliteConnection]:
    connection = SqliteConnection()
    yield connection
    connection.sqlite.close()


def records(*offsets: int) -> RecordTable:
    rows = pa.table({"partition": pa.array([0] * len(offsets)), "offset": pa.array(offsets)})
    return RecordTable("t", "t", cast("Any", None), rows, cast("Any", SimpleNamespace()))


def write(offsets: SinkOffsets, database: SqliteConnection, *written: int) -> list[int]:
    """Write records as the task does; return those that were not left out."""
    fresh = offsets.unwritten(records(*written))
    offsets.write(cast("Connection", database), [fresh])
    database.commit()
    offsets.committed()
    return cast("list[int]", fresh.rows["offset"].to_pylist())


def opened(database: SqliteConnection, ids: dict[str, str]) -> tuple[SinkOffsets, dict[TopicPartition, int]]:
    offsets = SinkOffsets("s", Dialect("generic"))
    return offsets, offsets.open(cast("Connection", database), [PLACE], ids)


def kept(database: SqliteConnection) -> list[tuple[Any, ...]]:
    return database.rows("SELECT * FROM connect_offsets")


def test_the_offset_of_a_topic_that_was_created_again_does_not_hold(database: SqliteConnection) -> None:
    """Fails at ce718d3: the records of the new topic were left out, or failed the task."""
    offsets, _ = opened(database, OLD)
    assert write(offsets, database, 0, 1, 2) == [0, 1, 2]
    assert opened(database, NEW)[1] == {}
    assert offsets.open(cast("Connection", database), [PLACE], NEW) == {}
    assert write(offsets, database, 0, 1) == [0, 1]
    assert kept(database) == [("s", "t", 0, 2, "a new id")]
    assert write(offsets, database, 1, 2) == [2]


def test_the_offset_of_the_same_topic_holds(database: SqliteConnection) -> None:
    write(opened(database, OLD)[0], database, 0, 1, 2)
    offsets, begun = opened(database, OLD)
    assert begun == {PLACE: 3}
    assert write(offsets, database, 3, 4) == [3, 4]


def test_without_ids_offsets_alone_are_compared(database: SqliteConnection) -> None:
    write(opened(database, {})[0], database, 0, 1, 2)
    offsets, begun = opened(database, {})
    assert begun == {PLACE: 3}
    write(offsets, database, 3)
    assert kept(database) == [("s", "t", 0, 4, None)]


def test_an_id_that_is_not_known_for_a_while_stays(database: SqliteConnection) -> None:
    write(opened(database, OLD)[0], database, 0, 1, 2)
    offsets, begun = opened(database, {})
    assert begun == {PLACE: 3}
    write(offsets, database, 3)
    assert kept(database) == [("s", "t", 0, 4, "an old id")]


def test_without_ids_records_below_the_offset_fail_the_task(database: SqliteConnection) -> None:
    write(opened(database, {})[0], database, 0, 1, 2)
    with pytest.raises(ConnectError, match="written up to offset 3, but the topic has come to offset 0"):
        write(opened(database, {})[0], database, 0)


@pytest.mark.parametrize("allowed", [True, False], ids=["column added", "ALTER TABLE forbidden"])
def test_a_table_of_an_earlier_version(
    database: SqliteConnection, caplog: pytest.LogCaptureFixture, allowed: bool
) -> None:
    database.execute(EARLIER)
    database.execute("INSERT INTO connect_offsets VALUES ('s', 't', 0, 3)")
    database.commit()
    database.forbidden = "none" if allowed else "ALTER"
    offsets, begun = opened(database, OLD)
    assert begun == {PLACE: 3}
    assert kept(database) == [("s", "t", 0, 3, "an old id") if allowed else ("s", "t", 0, 3)]
    assert write(offsets, database, 3) == [3]
    assert kept(database) == [("s", "t", 0, 4, "an old id") if allowed else ("s", "t", 0, 4)]
    assert opened(database, NEW)[1] == ({} if allowed else {PLACE: 4})
    warning = "Topics that are created again are not recognized: table connect_offsets has no column topic_id"
    assert (warning in caplog.text) is not allowed


def test_a_topic_created_again_before_a_first_write_after_the_upgrade(database: SqliteConnection) -> None:
    database.execute(EARLIER)
    database.execute("INSERT INTO connect_offsets VALUES ('s', 't', 0, 3)")
    database.commit()
    assert opened(database, OLD)[1] == {PLACE: 3}
    assert opened(database, NEW)[1] == {}


def test_a_table_that_another_task_prepares_at_the_same_time(
    database: SqliteConnection, caplog: pytest.LogCaptureFixture
) -> None:
    database.execute(EARLIER)
    database.overtakes = "ALTER"
    assert opened(database, OLD)[1] == {}
    assert caplog.text == ""


def test_a_database_that_goes_away_keeps_the_ids(database: SqliteConnection) -> None:
    offsets, _ = opened(database, OLD)
    write(offsets, database, 0)
    database.away = True
    with pytest.raises(DatabaseUnavailableError):
        offsets.open(cast("Connection", database), [PLACE], OLD)
    database.away = False
    offsets.open(cast("Connection", database), [PLACE], OLD)
    write(offsets, database, 1)
    assert kept(database) == [("s", "t", 0, 2, "an old id")]


def test_a_task_with_the_topic_before_does_not_write_on(database: SqliteConnection) -> None:
    """The new topic happens to have as many records."""
    old, _ = opened(database, OLD)
    write(old, database, 0, 1)
    write(opened(database, NEW)[0], database, 0, 1)
    with pytest.raises(OffsetsMovedError):
        write(old, database, 2)


def test_a_task_of_the_earlier_offset_does_not_write_on(database: SqliteConnection) -> None:
    """One that opened the partition when no broker told the id, beside one that knows it."""
    offsets, _ = opened(database, OLD)
    offsets.set(cast("Connection", database), {PLACE: 5})
    first, second = SinkOffsets("s", Dialect("generic")), opened(database, {})[0]
    first.open(cast("Connection", database), [PLACE], OLD)
    with pytest.raises(OffsetsMovedError):
        write(second, database, 5)


def test_altered_offsets_hold_for_any_id(database: SqliteConnection) -> None:
    offsets, _ = opened(database, OLD)
    write(offsets, database, 0)
    offsets.set(cast("Connection", database), {PLACE: 7})
    assert OffsetsTable("s", Dialect("generic")).read(cast("Connection", database)) == {PLACE: WrittenOffset(7)}
    assert opened(database, NEW)[1] == {PLACE: 7}
    assert opened(database, OLD)[1] == {}


def test_offsets_are_reset_one_by_one_or_all(database: SqliteConnection) -> None:
    offsets, _ = opened(database, OLD)
    offsets.set(cast("Connection", database), {PLACE: 7, TopicPartition("t", 1): 8})
    offsets.set(cast("Connection", database), {PLACE: None})
    assert kept(database) == [("s", "t", 1, 8, None)]
    offsets.set(cast("Connection", database), {})
    assert kept(database) == []
