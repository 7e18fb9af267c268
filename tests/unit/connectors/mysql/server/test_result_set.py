"""Batches of rows that arrive in pieces, without a server."""

from collections.abc import Iterator
from typing import Any

import pymysql
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.decode.result_rows import ResultColumn
from connect_dagster.connectors.mysql.server import result_set
from connect_dagster.connectors.mysql.server.packets import Command, PacketConnection
from connect_dagster.connectors.mysql.server.result_set import BatchLimits, ResultSet
from connect_dagster.protocol.wire import MalformedBytes
from tests import result_rows

COLUMNS = [result_rows.integer(3, 4, signed=True), result_rows.encoded(253)]
READINGS = {"ID": Reading(), "name": Reading(charset="utf8mb4")}
FIRST = 5


class Pieces(PacketConnection):
    """A connection over which bytes arrive in given pieces."""

    def __init__(self, data: bytes, sizes: Iterator[int]) -> None:
        self.data, self.sizes = data, sizes
        self.sent: list[Command] = []
        self.is_aborted = False

    @property
    def sequence(self) -> int:
        return FIRST

    def send(self, command: Command, content: bytes) -> None:
        self.sent.append(command)

    def receive(self, into: memoryview) -> int:
        if not self.data:
            raise pymysql.err.OperationalError(2013, "Lost connection")
        piece = self.data[: min(next(self.sizes), len(into))]
        into[: len(piece)] = piece
        self.data = self.data[len(piece) :]
        return len(piece)

    def abort(self) -> None:
        self.is_aborted = True


def always(size: int) -> Iterator[int]:
    while True:
        yield size


def result_of(link: PacketConnection) -> ResultSet:
    names = ("id", "name")
    definitions = [result_rows.definition(column, original=name) for column, name in zip(COLUMNS, names, strict=True)]
    return ResultSet(link, 1, tuple(map(ResultColumn.parse, definitions)))


def rows_of(link: PacketConnection, limits: BatchLimits | None = None) -> list[list[tuple[Any, ...]]]:
    """Return the batches as rows."""
    batches = []
    with result_of(link) as result:
        for batch in result.batches(READINGS, limits):
            values = [batch.columns[name].values.to_pylist() for name in READINGS]
            batches.append(list(zip(*values, strict=True)))
            assert len(batches[-1]) == batch.rows
    return batches


@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(st.none() | st.text(max_size=300), max_size=40),
    sizes=st.lists(st.integers(1, 200), min_size=1, max_size=9),
    most_bytes=st.integers(1, 2000),
    most_rows=st.none() | st.integers(1, 20),
)
def test_rows_do_not_depend_on_how_they_arrive(
    texts: list[str | None], sizes: list[int], most_bytes: int, most_rows: int | None
) -> None:
    values = [[number, None if text is None else text.encode()] for number, text in enumerate(texts)]
    data = result_rows.rows(COLUMNS, values, FIRST) + result_rows.end(FIRST + len(values))
    link = Pieces(data, iter(sizes * len(data)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result_set, "_SLACK", 64)
        batches = rows_of(link, BatchLimits(most_bytes, most_rows))
    assert [row for batch in batches for row in batch] == list(enumerate(texts))
    assert all(batches)
    assert max(map(len, batches), default=0) <= (most_rows or len(values))
    assert (link.sent, link.is_aborted) == ([Command.CLOSE], False)


def test_batches_end_at_a_limit() -> None:
    values = [[number, b"x" * 89] for number in range(100)]  # 100 bytes each
    data = result_rows.rows(COLUMNS, values, FIRST) + result_rows.end(FIRST + 100)
    assert [len(batch) for batch in rows_of(Pieces(data, always(100)), BatchLimits(bytes=3000))] == [30, 30, 30, 10]
    assert [len(batch) for batch in rows_of(Pieces(data, always(100)), BatchLimits(rows=60))] == [60, 40]
    assert [len(batch) for batch in rows_of(Pieces(data, always(100)))] == [100]


def test_offsets_are_kept_for_a_limited_number_of_cells() -> None:
    assert BatchLimits().most_rows(1) == 4_000_000
    assert BatchLimits().most_rows(1000) == 4000
    assert BatchLimits(rows=7).most_rows(1000) == 7
    assert BatchLimits(rows=0).most_rows(1) == 4_000_000


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_an_error_after_rows(size: int) -> None:
    data = result_rows.rows(COLUMNS, [[1, b"a"]], FIRST) + result_rows.error(1317, "interrupted", FIRST + 1)
    link = Pieces(data, always(size))
    batches = result_of(link).batches(READINGS)
    assert next(batches).rows == 1
    with pytest.raises(pymysql.err.OperationalError, match=r"\(1317, 'interrupted'\)"):
        next(batches)
    assert not link.is_aborted


def test_rows_that_are_not_read_end_the_session() -> None:
    data = result_rows.rows(COLUMNS, [[1, b"a"], [2, b"b"]], FIRST)
    link = Pieces(data, always(1000))
    with result_of(link) as result:
        assert next(result.batches(READINGS, BatchLimits(rows=1))).rows == 1
    assert (link.sent, link.is_aborted) == ([], True)


def test_a_connection_that_is_lost() -> None:
    link = Pieces(result_rows.rows(COLUMNS, [[1, b"a"]], FIRST)[:-1], always(1000))
    with pytest.raises(pymysql.err.OperationalError, match="2013"):
        rows_of(link)
    assert link.is_aborted


def test_bytes_after_the_end() -> None:
    link = Pieces(result_rows.end(FIRST) + b"\0", always(1000))
    with pytest.raises(MalformedBytes, match="bytes after the end of a result set"):
        rows_of(link)


def test_only_the_columns_that_were_asked_for() -> None:
    data = result_rows.rows(COLUMNS, [[1, b"a"]], FIRST) + result_rows.end(FIRST + 1)
    with result_of(Pieces(data, always(1000))) as result:
        (batch,) = result.batches({"name": Reading(), "absent": Reading()})
    assert {name: column.values.to_pylist() for name, column in batch.columns.items()} == {"name": [b"a"]}
