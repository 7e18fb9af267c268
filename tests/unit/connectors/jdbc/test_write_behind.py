"""A batch that is written by another thread: waited for, and told of once when it could not be."""

import threading
from typing import Any, cast

import pyarrow as pa
import pytest

from connect_dagster.connectors.jdbc.database import Connection, HeldConnection
from connect_dagster.connectors.jdbc.sink import connector
from connect_dagster.connectors.jdbc.sink.connector import JdbcSinkTask
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sink.write_behind import WriteBehind
from connect_dagster.connectors.jdbc.sink.writer import SinkWriter
from connect_dagster.connectors.jdbc.sql_errors import DatabaseUnavailableError
from connect_dagster.plugin.records import TopicPartition


def table(*places: tuple[int, int]) -> RecordTable:
    partitions, offsets = zip(*places, strict=True)
    rows = pa.table({"partition": pa.array(partitions, pa.int32()), "offset": pa.array(offsets, pa.int64())})
    return RecordTable("table", "t", cast("Any", None), rows, cast("Any", None))


def test_it_goes_on_until_it_is_waited_for() -> None:
    begun, may_end = threading.Event(), threading.Event()

    def write(_: object) -> None:
        begun.set()
        may_end.wait(10)

    behind = WriteBehind(write, lambda: None)
    assert behind.settle() is None
    behind.begin([table((0, 5))])
    assert begun.wait(10)
    may_end.set()
    assert behind.settle() is None
    assert behind.close(10)


class _Writer:
    """A writer whose database does not respond until its connection is aborted."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.begun, self.aborted = threading.Event(), threading.Event()

    def write(self, _: object) -> None:
        self.begun.set()
        self.aborted.wait(60)

    def wait_no_more(self) -> None:
        self.calls.append("wait no more")

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")
        self.aborted.set()


def test_a_task_does_not_wait_for_a_database_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hangs at 1f0d1e0, as long as the database does."""
    monkeypatch.setattr(connector, "_STOP_SECONDS", 0.05)
    writer, task = _Writer(), JdbcSinkTask()
    behind = task._behind = WriteBehind(writer.write, lambda: None)
    task._writer = cast("SinkWriter", writer)
    behind.begin([table((0, 5))])
    assert writer.begun.wait(10)
    task.stop()
    assert writer.calls == ["wait no more", "abort"]
    assert behind.close(10)
    task.stop()
    assert writer.calls[2:] == ["wait no more", "close"]


class _Connection:
    """A connection that records its end."""

    def __init__(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True


def test_a_connection_that_is_opened_during_the_stop_is_not_used() -> None:
    """Fails at fa6cb2e: a stopped task's thread wrote and committed its batch with it, and nobody closed it."""
    opened, opening, aborted = _Connection(), threading.Event(), threading.Event()

    def connect() -> Connection:
        opening.set()
        aborted.wait(60)
        return cast("Connection", opened)

    held = HeldConnection(connect)
    behind = WriteBehind(lambda _: cast("None", held.get()), lambda: None)
    behind.begin([table((0, 5))])
    assert opening.wait(10)
    held.abort()
    aborted.set()
    failed = behind.settle()
    assert failed is not None
    assert isinstance(failed.error, DatabaseUnavailableError)
    assert opened.closed
    assert behind.close(10)


def test_what_was_not_written_is_told_once() -> None:
    told = threading.Event()

    def write(_: object) -> None:
        raise ValueError("full")

    behind = WriteBehind(write, told.set)
    behind.begin([table((0, 7), (0, 5), (1, 3)), table((1, 2), (2, 9))])
    assert told.wait(10)
    failed = behind.settle()
    assert failed is not None
    assert str(failed.error) == "full"
    assert failed.starts == {TopicPartition("t", 0): 5, TopicPartition("t", 1): 2, TopicPartition("t", 2): 9}
    assert behind.settle() is None
    assert behind.close(10)
