"""Order and marks of batches of several readers, without a server."""

import random
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from connect_dagster.connectors.mysql.server.result_set import RowBatch
from connect_dagster.connectors.mysql.snapshot import readers as module
from connect_dagster.connectors.mysql.snapshot.chunks import Range, TableScan
from connect_dagster.connectors.mysql.snapshot.readers import SnapshotReaders, TableBatch
from connect_dagster.connectors.mysql.table_ids import TableId


class Connection:
    """A connection that is only closed."""

    def __init__(self) -> None:
        self._sock = None
        self.open = True

    def close(self) -> None:
        self.open = False


class Result:
    """A result with as many batches as the statement says, of one row each."""

    delay = random.Random(1)

    def __init__(self, statement: str) -> None:
        self._statement = statement

    @classmethod
    def execute(cls, _: object, statement: str) -> "Result":
        return cls(statement)

    def __enter__(self) -> "Result":
        return self

    def __exit__(self, *exc_info: object) -> None:
        pass

    def batches(self, _: Mapping[str, Any], __: object) -> Iterator[RowBatch]:
        if self._statement == "fails":
            raise ValueError("mine")
        for _row in range(int(self._statement)):
            time.sleep(self.delay.random() / 500)
            yield RowBatch(1, {})


@pytest.fixture(autouse=True)
def results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ResultSet", Result)


def reading(statements: Mapping[str, list[str]], count: int) -> tuple[SnapshotReaders, list[Connection]]:
    parts = [
        Range(TableScan(TableId("ops", table), {}, ""), statement)
        for table, of_table in statements.items()
        for statement in of_table
    ]
    connections: list[Any] = [Connection() for _ in range(count)]
    return SnapshotReaders(connections, parts), connections


def taken(readers: SnapshotReaders) -> list[TableBatch]:
    found = []
    while not readers.is_done:
        batch = readers.take(1)
        if batch:
            found.append(batch)
    return found


@pytest.mark.parametrize("count", [1, 2, 5])
def test_batches_of_tables(count: int) -> None:
    statements = {"a": ["3", "0", "4", "0"], "b": ["0", "0"], "c": ["1"], "d": ["0", "9", "1"]}
    for _ in range(10):
        readers, connections = reading(statements, count)
        with readers:
            batches = taken(readers)
        assert not any(connection.open for connection in connections)
        for table, parts in statements.items():
            mine = [batch for batch in batches if batch.table.name == table]
            rows = sum(map(int, parts))
            assert sum(batch.rows for batch in mine) == rows
            assert len(mine) == max(rows, 1)
            assert [batch.is_first for batch in mine] == [True] + [False] * (len(mine) - 1)
            assert [batch.is_last for batch in mine] == [False] * (len(mine) - 1) + [True]


def test_no_more_than_two_batches_wait() -> None:
    readers, _ = reading({"a": ["9"], "b": ["9"]}, 2)
    with readers:
        time.sleep(0.3)
        assert len(readers._queue) == 2
        assert len(taken(readers)) == 18


def test_an_error_surfaces_and_stops_all() -> None:
    readers, connections = reading({"a": ["1000"], "b": ["fails"], "c": ["5"]}, 2)
    with readers, pytest.raises(ValueError, match="mine"):
        taken(readers)
    assert not any(connection.open for connection in connections)
    with pytest.raises(ValueError, match="mine"):
        readers.take(0)


def test_a_stop_ends_threads_that_wait() -> None:
    before = threading.active_count()
    readers, _ = reading({"a": ["1000"], "b": ["1000"]}, 2)
    with readers:
        assert readers.take(5)
    assert threading.active_count() == before
    assert not readers.is_done


def test_nothing_to_read() -> None:
    readers, _ = reading({}, 2)
    with readers:
        assert taken(readers) == []
