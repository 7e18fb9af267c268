"""Rows of a SELECT as they arrive, in batches of Arrow arrays.

The statement is prepared, because only then rows come in the binary protocol, and runs without a cursor of the server:
it sends all rows, and waits where they are not read.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pymysql

from connect_dagster.connectors.mysql.decode import result_kernels
from connect_dagster.connectors.mysql.decode.columns import Decoded, Reading
from connect_dagster.connectors.mysql.decode.result_rows import ResultColumn, ResultWalk, decode
from connect_dagster.connectors.mysql.decode.wire import Reader
from connect_dagster.connectors.mysql.server.packets import Command, PacketConnection, raise_error
from connect_dagster.connectors.mysql.server.parameters import Parameter, execution
from connect_dagster.connectors.mysql.server.sessions import Connection
from connect_dagster.errors import DataError
from connect_dagster.protocol.wire import MalformedBytes

_MOST_CELLS = 4_000_000  # 16 MB of offsets
_SLACK = 1 << 20  # room for a packet that has arrived in part
_HEADER = 4


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Size of a batch, which ends at the row that reaches one of the limits.

    Attributes:
        bytes: of the rows as they arrive.
        rows: ``None`` for no limit (``snapshot.fetch.size``).
    """

    bytes: int = 8 << 20
    rows: int | None = None

    def most_rows(self, columns: int) -> int:
        """Return the most rows for which offsets are kept."""
        most = max(1, _MOST_CELLS // max(1, columns))
        return min(most, self.rows or most)


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Rows that follow each other.

    Attributes:
        rows: their number, at least one.
        columns: by name, those that were asked for and are in the result.
    """

    rows: int
    columns: Mapping[str, Decoded]


class ResultSet:
    """The result of a SELECT; a context that ends the statement, and the session where rows are left.

    Attributes:
        columns: in the statement's order.
    """

    def __init__(self, link: PacketConnection, statement: int, columns: tuple[ResultColumn, ...]) -> None:
        self.columns = columns
        self._link = link
        self._statement = statement
        self._is_read = False

    @classmethod
    def execute(cls, connection: Connection, statement: str, parameters: Sequence[Parameter] = ()) -> Self:
        """Run a statement.

        Args:
            connection: its session as ``sessions.SnapshotSession`` sets it.
            statement: a SELECT, with ``?`` for each parameter.
            parameters: values.

        Raises:
            pymysql.Error: the server refuses the statement.
            DataError: it returns no rows, or has another number of parameters.
            MalformedBytes: a column has a type that is not known.
        """
        link = PacketConnection(connection)
        number, columns, wanted = _prepared(link, statement)
        if columns == 0 or wanted != len(parameters):
            _close(link, number)
            reason = f"has {wanted} parameters, not {len(parameters)}" if columns else "returns no rows"
            raise DataError(f"A statement that {reason} cannot be read: {statement}")
        link.send(Command.EXECUTE, execution(number, parameters))
        try:
            definitions = [link.read() for _ in range(Reader(link.read()).length())]
        except pymysql.Error:
            _close(link, number)
            raise
        link.read()  # the end of the definitions
        return cls(link, number, tuple(map(ResultColumn.parse, definitions)))

    def batches(self, readings: Mapping[str, Reading], limits: BatchLimits | None = None) -> Iterator[RowBatch]:
        """Yield all rows; to be called once.

        Args:
            readings: of the columns to decode, by name, in which case does not matter.
            limits: of a batch.

        Raises:
            pymysql.Error: the server reports an error after some rows, or the connection is lost.
            DataError: the type of a column is not known.
            MalformedBytes: the bytes are not rows of these columns.
        """
        names = {name.lower(): name for name in readings}
        chosen = [
            (place, names[column.name.lower()])
            for place, column in enumerate(self.columns)
            if column.name.lower() in names
        ]
        rows = _Rows(self._link, self.columns, limits or BatchLimits())
        while not self._is_read:
            self._is_read = rows.fill()
            if rows.walk.rows:
                count, cells = rows.walk.rows, rows.walk.take()
                columns = {
                    name: decode(rows.buffer, cells[place], self.columns[place], readings[name])
                    for place, name in chosen
                }
                yield RowBatch(count, columns)
            rows.raise_failure()

    def close(self) -> None:
        """End the statement; where rows are left, the session as well, since the server would go on to send them."""
        if self._is_read:
            _close(self._link, self._statement)
        else:
            self._link.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


class _Rows:
    """A buffer with rows of which the last one may have arrived in part."""

    def __init__(self, link: PacketConnection, columns: tuple[ResultColumn, ...], limits: BatchLimits) -> None:
        self.walk = ResultWalk(columns, limits.most_rows(len(columns)), link.sequence)
        self.buffer = np.empty(limits.bytes + _SLACK, np.uint8)
        self._link = link
        self._limit = limits.bytes
        self._next = 0  # the first packet that is not walked
        self._end = 0
        self._failure = b""

    def fill(self) -> bool:
        """Collect rows up to a limit; return whether there are no more."""
        self._move_rest()
        while True:
            self._next = self.walk.advance(self.buffer, self._next, self._end)
            if self.walk.state != result_kernels.INCOMPLETE:
                return self._is_at_end()
            if self._next >= self._limit or (self._is_full and self.walk.rows):
                return False
            if self._is_full:
                self.buffer = np.concatenate([self.buffer, np.empty_like(self.buffer)])
            self._end += self._link.receive(self.buffer.data[self._end :])

    def raise_failure(self) -> None:
        """Raise the error with which the server ended the rows, if it did."""
        if self._failure:
            raise_error(self._failure)

    @property
    def _is_full(self) -> bool:
        return self._end == len(self.buffer)

    def _is_at_end(self) -> bool:
        if self.walk.state == result_kernels.FULL:
            return False
        start = self._next + _HEADER
        after = start + int.from_bytes(self.buffer[self._next : self._next + 3].tobytes(), "little")
        if after != self._end:
            raise MalformedBytes("bytes after the end of a result set", after, self._end)
        if self.walk.state == result_kernels.FAILED:
            self._failure = self.buffer[start:after].tobytes()
        return True

    def _move_rest(self) -> None:
        rest = self._end - self._next
        self.buffer[:rest] = self.buffer[self._next : self._end]
        self._next, self._end = 0, rest


def _prepared(link: PacketConnection, statement: str) -> tuple[int, int, int]:
    """Prepare a statement; return its number, and the numbers of its columns and parameters."""
    link.send(Command.PREPARE, statement.encode())
    _, number, columns, parameters = struct.unpack_from("<BIHH", link.read())
    for count in (parameters, columns):
        for _ in range(count + 1 if count else 0):  # definitions and their end
            link.read()
    return number, columns, parameters


def _close(link: PacketConnection, statement: int) -> None:
    with contextlib.suppress(pymysql.Error):  # with its session it has ended as well
        link.send(Command.CLOSE, struct.pack("<I", statement))
