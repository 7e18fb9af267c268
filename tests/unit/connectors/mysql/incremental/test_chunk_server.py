"""Marks and chunks on a connection that fails: what is sent to the server, and which errors are final."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pymysql
import pytest

from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlans
from connect_dagster.connectors.mysql.incremental.chunk_server import ChunkServer
from connect_dagster.connectors.mysql.incremental.keys import Key
from connect_dagster.connectors.mysql.incremental.snapshot_tables import SnapshotTable
from connect_dagster.connectors.mysql.options.snapshots import WatermarkStrategy
from connect_dagster.connectors.mysql.schema.model import Tables
from connect_dagster.connectors.mysql.server.result_set import ResultSet
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError, DataError, RetriableError
from connect_dagster.java.object_classes import JavaType
from tests.unit.connectors.mysql.incremental.simulated_server import GOODS
from tests.unit.connectors.mysql.stream.test_change_tables import rules

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z"


class Connection:
    """Takes statements, or fails."""

    def __init__(self) -> None:
        self.statements: list[tuple[str, Any]] = []
        self.failure: Exception | None = None
        self.is_closed = False

    @contextlib.contextmanager
    def cursor(self) -> Iterator[Any]:
        yield SimpleNamespace(execute=self._execute, fetchall=list)

    def _execute(self, statement: str, values: Any) -> None:
        if self.failure is not None:
            raise self.failure
        self.statements.append((statement, values))

    def close(self) -> None:
        self.is_closed = True


class Opened:
    """Opens connections."""

    def __init__(self) -> None:
        self.all: list[Connection] = []

    def __call__(self) -> Any:
        self.all.append(Connection())
        return self.all[-1]


def server(opened: Opened, strategy: WatermarkStrategy = WatermarkStrategy.INSERT_INSERT) -> ChunkServer:
    return ChunkServer(opened, TableId("ops", "my signals"), strategy, 100)


def test_marks_that_are_inserted() -> None:
    opened = Opened()
    chunks = server(opened)
    chunks.open_window("c1")
    chunks.close_window("c1")
    (connection,) = opened.all
    (first, begin), (second, end) = connection.statements
    assert first == second == "INSERT INTO `ops`.`my signals` VALUES (%s, %s, %s)"
    assert begin[:2] == ("c1-open", "snapshot-window-open")
    assert re.fullmatch(rf'{{"openWindowTimestamp": "{TIME}"}}', begin[2])
    assert end[:2] == ("c1-close", "snapshot-window-close")
    assert re.fullmatch(rf'{{"openWindowTimestamp": "{TIME}", "closeWindowTimestamp": "{TIME}"}}', end[2])


def test_a_mark_that_is_deleted() -> None:
    opened = Opened()
    chunks = server(opened, WatermarkStrategy.INSERT_DELETE)
    chunks.open_window("c1")
    chunks.close_window("c1")
    assert opened.all[0].statements[1] == ("DELETE FROM `ops`.`my signals` WHERE id = %s", ("c1-open",))


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (pymysql.err.OperationalError(2013, "Lost connection"), RetriableError),
        (pymysql.err.OperationalError(2003, "Can't connect"), RetriableError),
        (pymysql.err.InterfaceError(0, ""), RetriableError),
        (ConnectionResetError("reset"), RetriableError),
        (pymysql.err.OperationalError(1142, "INSERT command denied"), ConnectError),
        (pymysql.err.OperationalError(1290, "running with the --read-only option"), ConnectError),
    ],
)
def test_errors(failure: Exception, kind: type[ConnectError]) -> None:
    opened = Opened()
    chunks = server(opened)
    chunks.open_window("c1")
    opened.all[0].failure = failure
    with pytest.raises(kind) as raised:
        chunks.close_window("c1")
    assert raised.type is kind
    assert opened.all[0].is_closed is (kind is RetriableError)
    chunks.open_window("c2") if kind is RetriableError else chunks.close()
    assert len(opened.all) == (2 if kind is RetriableError else 1)


class Result:
    """Rows of a statement, in batches."""

    def __init__(self, batches: Sequence[Sequence[int]], failure: Exception | None = None) -> None:
        self._batches = batches
        self._failure = failure

    def batches(self, readings: Mapping[str, Any]) -> Iterator[Any]:
        for numbers in self._batches:
            values = {"id": pa.array(numbers, pa.int64()), "name": pa.array([f"v{one}" for one in numbers])}
            columns = {name: SimpleNamespace(values=values[name]) for name in readings}
            yield SimpleNamespace(rows=len(numbers), columns=columns)
        if self._failure is not None:
            raise self._failure


def reading(monkeypatch: pytest.MonkeyPatch, result: Result) -> list[tuple[str, tuple[Any, ...]]]:
    """Have statements give rows; return these statements as they come."""
    asked: list[tuple[str, tuple[Any, ...]]] = []

    @contextlib.contextmanager
    def execute(_: Any, statement: str, parameters: tuple[Any, ...] = ()) -> Iterator[Result]:
        asked.append((statement, parameters))
        yield result

    monkeypatch.setattr(ResultSet, "execute", execute)
    return asked


def plan() -> Any:
    tables = Tables()
    tables.put(GOODS)
    return ChunkPlans(tables, rules()).plan(SnapshotTable(GOODS.id))


def number(value: int) -> Key:
    return Key.of([(JavaType.INTEGER, value)])


def test_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = reading(monkeypatch, Result([[4, 5], [7]]))
    rows = server(Opened()).chunk(plan(), number(3), number(9))
    assert (rows.count, rows.last) == (3, number(7))
    assert rows.columns["name"].to_pylist() == ["v4", "v5", "v7"]
    ((statement, parameters),) = asked
    assert statement.endswith("WHERE (`id` > ?) AND NOT (`id` > ?) ORDER BY `id` LIMIT 100")
    assert parameters == (3, 9)


def test_the_largest_key_and_none(monkeypatch: pytest.MonkeyPatch) -> None:
    reading(monkeypatch, Result([[9]]))
    assert server(Opened()).maximum(plan()) == number(9)
    reading(monkeypatch, Result([]))
    assert server(Opened()).maximum(plan()) is None


def test_rows_that_cannot_be_decoded_cost_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Opened()
    reading(monkeypatch, Result([[1]], DataError("no such type")))
    with pytest.raises(DataError):
        server(opened).chunk(plan(), None, number(9))
    assert opened.all[0].is_closed
