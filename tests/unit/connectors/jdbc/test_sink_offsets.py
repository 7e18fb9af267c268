"""The table of a sink's offsets with ``exactly.once``, in SQLite: whose records the offsets count."""

import sqlite3
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from connect_dagster.connectors.jdbc.database import Connection
from connect_dagster.connectors.jdbc.dialects import Dialect
from connect_dagster.connectors.jdbc.sink.offsets import KeptOffset, OffsetsMovedError, SinkOffsets
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError
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

    def execute(self, sql: str) -> int:
        if sql.startswith(self.forbidden):
            raise DatabaseError("permission denied")
        try:
            return self.sqlite.execute(sql).rowcount
        except sqlite3.Error as error:
            raise DatabaseError(str(error)) from error

    def rows(self, sql: str, *_: str) -> list[tuple[Any, ...]]:
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
    write(opened(database, OLD)[0], database, 0, 1, 2)
    offsets, begun = opened(database, {})
    assert begun == {PLACE: 3}
    write(offsets, database, 3)
    assert kept(database) == [("s", "t", 0, 4, None)]
    assert opened(database, NEW)[1] == {PLACE: 4}


@pytest.mark.parametrize("allowed", [True, False], ids=["column added", "ALTER TABLE forbidden"])
def test_a_table_of_an_earlier_version(database: SqliteConnection, allowed: bool) -> None:
    database.execute(EARLIER)
    database.execute("INSERT INTO connect_offsets VALUES ('s', 't', 0, 3)")
    database.commit()
    database.forbidden = "none" if allowed else "ALTER"
    offsets, begun = opened(database, OLD)
    assert begun == {PLACE: 3}
    assert write(offsets, database, 3) == [3]
    assert kept(database) == [("s", "t", 0, 4, "an old id") if allowed else ("s", "t", 0, 4)]
    assert opened(database, NEW)[1] == ({} if allowed else {PLACE: 4})


def test_a_task_with_the_topic_before_does_not_write_on(database: SqliteConnection) -> None:
    """The new topic happens to have as many records."""
    old, _ = opened(database, OLD)
    write(old, database, 0, 1)
    write(opened(database, NEW)[0], database, 0, 1)
    with pytest.raises(OffsetsMovedError):
        write(old, database, 2)


def test_altered_offsets_hold_for_any_id(database: SqliteConnection) -> None:
    offsets, _ = opened(database, OLD)
    offsets.set(cast("Connection", database), {PLACE: 7})
    assert offsets.read(cast("Connection", database)) == {PLACE: KeptOffset(7)}
    assert opened(database, NEW)[1] == {PLACE: 7}
