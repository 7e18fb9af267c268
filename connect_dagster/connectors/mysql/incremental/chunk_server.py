"""Chunks of tables and watermarks around them, on a connection for them alone.

Debezium: ``SignalBasedIncrementalSnapshotChangeEventSource``, ``InsertWindowCloser``, ``DeleteWindowCloser``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa
import pymysql

from connect_dagster.connectors.mysql.decode.columns import Reading
from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlan
from connect_dagster.connectors.mysql.incremental.chunk_queries import ChunkQuery, chunk_query, maximum_query
from connect_dagster.connectors.mysql.incremental.keys import Key
from connect_dagster.connectors.mysql.options.snapshots import WatermarkStrategy
from connect_dagster.connectors.mysql.server.result_set import ResultSet
from connect_dagster.connectors.mysql.server.server_error import as_connect_error
from connect_dagster.connectors.mysql.server.sessions import Connection, query
from connect_dagster.connectors.mysql.table_ids import TableId, quoted_table
from connect_dagster.errors import DataError, RetriableError

OPEN, CLOSE = "snapshot-window-open", "snapshot-window-close"
"""Types of the rows that mark a window."""

OPEN_SUFFIX, CLOSE_SUFFIX = "-open", "-close"


@dataclass(frozen=True, slots=True)
class ChunkRows:
    """Rows of a chunk.

    Attributes:
        count: their number.
        columns: decoded, by name.
        last: key of the last one; ``None`` where there are none.
    """

    count: int
    columns: Mapping[str, pa.Array]
    last: Key | None


class ChunkServer:
    """Reads chunks, and marks windows.

    Args:
        connect: opens a session that reads tables, and commits each statement.
        signals: the table that gets the marks.
        strategy: of these.
        rows: most of a chunk.
    """

    def __init__(
        self, connect: Callable[[], Connection], signals: TableId, strategy: WatermarkStrategy, rows: int
    ) -> None:
        self._connect = connect
        self._table = quoted_table(signals)
        self._deletes = strategy is WatermarkStrategy.INSERT_DELETE
        self._rows = rows
        self._connection: Connection | None = None
        self._opened = ""

    def open_window(self, chunk: str) -> None:
        """Mark the beginning of a window.

        Raises:
            RetriableError: the connection is lost, or cannot be made.
            ConnectError: the server refuses the row.
        """
        self._opened = _now()
        self._mark(chunk + OPEN_SUFFIX, OPEN, f'{{"openWindowTimestamp": "{self._opened}"}}')

    def close_window(self, chunk: str) -> None:
        """Mark the end of a window. Raises as ``open_window``."""
        if self._deletes:
            with self._session() as connection:
                query(connection, f"DELETE FROM {self._table} WHERE id = %s", chunk + OPEN_SUFFIX)
        else:
            data = f'{{"openWindowTimestamp": "{self._opened}", "closeWindowTimestamp": "{_now()}"}}'
            self._mark(chunk + CLOSE_SUFFIX, CLOSE, data)

    def maximum(self, plan: ChunkPlan) -> Key | None:
        """Return the largest key of a table; ``None`` where it has no rows. Raises as ``open_window``."""
        return self._read(plan, maximum_query(plan), {one.column.name: one.reading for one in plan.key}).last

    def chunk(self, plan: ChunkPlan, after: Key | None, maximum: Key) -> ChunkRows:
        """Return the next rows of a table. Raises as ``open_window``.

        Args:
            plan: of the table.
            after: key of the last row before them; ``None`` for the first ones.
            maximum: key of the table's last row.
        """
        return self._read(plan, chunk_query(plan, after, maximum, self._rows), plan.readings)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            with contextlib.suppress(pymysql.Error, OSError):
                self._connection.close()
        self._connection = None

    def _mark(self, number: str, kind: str, data: str) -> None:
        with self._session() as connection:
            query(connection, f"INSERT INTO {self._table} VALUES (%s, %s, %s)", number, kind, data)

    def _read(self, plan: ChunkPlan, asked: ChunkQuery, readings: Mapping[str, Reading]) -> ChunkRows:
        with self._session() as connection, ResultSet.execute(connection, asked.statement, asked.parameters) as result:
            batches = list(result.batches(readings))
        count = sum(batch.rows for batch in batches)
        if not count:
            return ChunkRows(0, {}, None)
        columns = {name: pa.concat_arrays([batch.columns[name].values for batch in batches]) for name in readings}
        last = Key.of([(one.type, one.value(columns[one.column.name][-1])) for one in plan.key])
        return ChunkRows(count, columns, last)

    @contextlib.contextmanager
    def _session(self) -> Iterator[Connection]:
        """Yield the connection; raise what the server reports as our errors."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            yield self._connection
        except DataError:
            self.close()  # rows are left that nobody reads
            raise
        except (pymysql.Error, OSError) as error:
            raised = as_connect_error("to read chunks of tables", error)
            if isinstance(raised, RetriableError):
                self.close()
            raise raised from error


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")
