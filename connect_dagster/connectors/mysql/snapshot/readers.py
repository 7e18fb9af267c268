"""Several connections that read the rows of a snapshot, each in its thread.

Readers take the next range as soon as they are done with one, in the order of the tables. Their batches go through a
queue of two: who takes them slowly slows down the readers, and TCP the server.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Self

import pymysql

from connect_dagster.connectors.mysql.decode.columns import Decoded
from connect_dagster.connectors.mysql.server.packets import PacketConnection
from connect_dagster.connectors.mysql.server.result_set import BatchLimits, ResultSet
from connect_dagster.connectors.mysql.server.sessions import Connection
from connect_dagster.connectors.mysql.snapshot.chunks import Range
from connect_dagster.connectors.mysql.table_ids import TableId

_WAITING_BATCHES = 2
_END_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class TableBatch:
    """Rows of a table that follow each other in one of its ranges.

    Attributes:
        rows: their number; 0 in the one batch of a table without rows.
        columns: by name.
        is_first: whether the queue had no batch of the table before.
        is_last: whether no batch of the table will follow.
    """

    table: TableId
    rows: int = 0
    columns: Mapping[str, Decoded] = field(default_factory=lambda: MappingProxyType({}))
    is_first: bool = False
    is_last: bool = False


@dataclass(slots=True)
class _Progress:
    """Batches of a table.

    Attributes:
        unread: number of ranges that are not read to their end.
        held: the newest batch, which may be the last.
    """

    unread: int
    held: TableBatch | None = None
    has_begun: bool = False


class _StopReadingError(Exception):
    """The reading has been stopped."""


class SnapshotReaders:
    """Readers of ranges; a context that stops them.

    Args:
        connections: one for each reader, in transactions with the same view; the readers close them.
        ranges: in the order of the tables.
        limits: of a batch.
    """

    def __init__(
        self, connections: Sequence[Connection], ranges: Sequence[Range], limits: BatchLimits | None = None
    ) -> None:
        self._connections = connections
        self._limits = limits
        self._ranges = deque(ranges)
        self._progress = {table: _Progress(count) for table, count in Counter(one.scan.table for one in ranges).items()}
        self._queue: deque[TableBatch] = deque()
        self._changed = threading.Condition()
        self._error: BaseException | None = None
        self._is_stopped = False
        self._running = len(connections)
        self._threads = [
            threading.Thread(target=self._run, args=(connection,), name=f"snapshot-reader-{number}", daemon=True)
            for number, connection in enumerate(connections)
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    @property
    def is_done(self) -> bool:
        """Return whether all batches have been taken."""
        with self._changed:
            return not self._running and not self._queue and not self._is_stopped

    def take(self, seconds: float) -> TableBatch | None:
        """Return the next batch; ``None`` where none has come in time, or all have been taken.

        Raises:
            pymysql.Error: the server reports an error to a reader, or its connection is lost; all readers have stopped.
            DataError: a value cannot be decoded; all readers have stopped.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._error or not self._running, seconds)
            if self._error is not None:
                raise self._error
            if not self._queue:
                return None
            batch = self._queue.popleft()
            self._changed.notify_all()
            return batch

    def stop(self) -> None:
        """End all readers at once, with their connections; no effect where they have ended."""
        self._end(None)
        for thread in self._threads:
            if thread.is_alive():
                thread.join(_END_SECONDS)

    def _run(self, connection: Connection) -> None:
        try:
            while (part := self._next_range()) is not None:
                self._read(connection, part)
        except _StopReadingError:
            pass
        except BaseException as error:  # raised where the batches are taken
            self._end(error)
        finally:
            with contextlib.suppress(pymysql.Error):
                connection.close()
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def _next_range(self) -> Range | None:
        with self._changed:
            return self._ranges.popleft() if self._ranges else None

    def _read(self, connection: Connection, part: Range) -> None:
        scan = part.scan
        with ResultSet.execute(connection, part.statement) as result:
            for batch in result.batches(scan.readings, self._limits):
                self._offer(TableBatch(scan.table, batch.rows, batch.columns))
        self._end_range(scan.table)

    def _offer(self, batch: TableBatch) -> None:
        """Hold a batch back, since it may be the last of its table, and put the one before it into the queue."""
        with self._changed:
            progress = self._progress[batch.table]
            before, progress.held = progress.held, batch
            if before is not None:
                self._put(progress, before)

    def _end_range(self, table: TableId) -> None:
        with self._changed:
            progress = self._progress[table]
            progress.unread -= 1
            if not progress.unread:  # then no other reader waits with a batch of the table either
                self._put(progress, replace(progress.held or TableBatch(table), is_last=True))
                progress.held = None

    def _put(self, progress: _Progress, batch: TableBatch) -> None:
        self._changed.wait_for(lambda: len(self._queue) < _WAITING_BATCHES or self._is_stopped)
        if self._is_stopped:
            raise _StopReadingError
        self._queue.append(replace(batch, is_first=not progress.has_begun))
        progress.has_begun = True
        self._changed.notify_all()

    def _end(self, error: BaseException | None) -> None:
        """Stop all readers; the first error stays."""
        with self._changed:
            if not self._is_stopped:
                self._is_stopped = True
                self._error = error
                self._ranges.clear()
            self._changed.notify_all()
        for connection in self._connections:
            PacketConnection(connection).abort()
