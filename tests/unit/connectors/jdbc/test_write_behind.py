"""A batch that is written by another thread: waited for, and told of once when it could not be."""

import threading
from typing import Any, cast

import pyarrow as pa

from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sink.write_behind import WriteBehind
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
    behind.close()


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
    behind.close()
