"""Incremental snapshots: a chunk is read between two marks in the signal table, and sent where the log has the second.

What the log has of its keys between the marks is newer than the chunk, or as new. A chunk waits with the log: the next
one is read when it is sent. Debezium: ``AbstractIncrementalSnapshotChangeEventSource``.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from connect_dagster.connectors.mysql.incremental.chunk_plan import ChunkPlan, ChunkPlans, SkippedTableError
from connect_dagster.connectors.mysql.incremental.chunk_server import ChunkRows
from connect_dagster.connectors.mysql.incremental.context import IncrementalContext
from connect_dagster.connectors.mysql.incremental.incremental_notices import IncrementalNotices
from connect_dagster.connectors.mysql.incremental.keys import Key
from connect_dagster.connectors.mysql.incremental.read_records import LogRow, ReadRecords
from connect_dagster.connectors.mysql.incremental.snapshot_tables import SnapshotTable
from connect_dagster.connectors.mysql.incremental.window import Window
from connect_dagster.connectors.mysql.notifications.notification import Progress, ScanStatus
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.errors import ConnectError, RetriableError
from connect_dagster.plugin.frames import SourceTable

log = logging.getLogger(__name__)

_RETRY_SECONDS = 5.0


class Chunks(Protocol):
    """The methods of ``ChunkServer`` that snapshots use."""

    def open_window(self, chunk: str) -> None:
        """Mark the beginning of a window."""

    def close_window(self, chunk: str) -> None:
        """Mark the end of a window."""

    def maximum(self, plan: ChunkPlan) -> Key | None:
        """Return the largest key of a table."""

    def chunk(self, plan: ChunkPlan, after: Key | None, maximum: Key) -> ChunkRows:
        """Return the next rows of a table."""

    def close(self) -> None:
        """Close the connection."""


@dataclass(frozen=True, slots=True)
class ChunkParts:
    """Parts that snapshots are made of.

    Attributes:
        server: reads chunks, and marks windows.
        plans: of tables.
        records: of rows.
        seconds: gives the time of a clock that only moves forwards.
    """

    server: Chunks
    plans: ChunkPlans
    records: ReadRecords
    seconds: Callable[[], float]


class IncrementalSnapshots:
    """Takes one snapshot at a time, of any number of tables one after the other.

    Args:
        parts: of the connector.
        context: of the snapshot.
        notices: report on it.
    """

    def __init__(self, parts: ChunkParts, context: IncrementalContext, notices: IncrementalNotices) -> None:
        self.context = context
        self._parts = parts
        self._notices = notices
        self._chunk: str | None = None
        self._window: Window | None = None
        self._since: int | None = None
        """First event of the piece that counts for the window; ``None`` while it is closed."""
        self._stopping: list[TableId] = []
        self._scanned = 0
        self._due_at: float | None = None

    def resume(self) -> None:
        """Go on with a snapshot that a stored offset has."""
        if self.context.is_running:
            log.info("The incremental snapshot goes on with %s", self.context.tables[0].id)
            self._due_at = self._parts.seconds()

    def add(self, tables: Iterable[SnapshotTable], correlation: str | None) -> list[SourceTable]:
        """Add tables to the snapshot, and begin it where none is running.

        Args:
            tables: to read.
            correlation: id of the signal.
        """
        is_first = not self.context.is_running
        self.context.add(tables, correlation)
        if not is_first or not self.context.is_running:
            return []
        self.context.begin_table()
        self.context.is_paused = False
        self._scanned = 0
        return [*self._notices.of_all(Progress.STARTED), *self._read()]

    def stop(self, tables: Iterable[TableId]) -> list[SourceTable]:
        """Take tables off the snapshot, at once or when the window is sent that waits."""
        self._stopping += tables
        return [] if self._window is not None else self._stopped()

    def pause(self) -> list[SourceTable]:
        """Read no further chunk; the one that waits is sent."""
        if not self.context.is_running or self.context.is_paused:
            return []
        self.context.is_paused = True
        return self._notices.of_all(Progress.PAUSED)

    def go_on(self) -> list[SourceTable]:
        """Read further chunks after a pause."""
        if not self.context.is_running or not self.context.is_paused:
            return []
        self.context.is_paused = False
        return [*self._notices.of_all(Progress.RESUMED), *([] if self._window is not None else self._read())]

    def read_if_due(self) -> list[SourceTable]:
        """Read a chunk after a restart, or after a connection was lost."""
        if self._due_at is None or self._parts.seconds() < self._due_at:
            return []
        return self._read()

    def open_window(self, number: str, event: int) -> None:
        """Take notice of a mark in the log.

        Args:
            number: of the mark.
            event: index in the piece.
        """
        if self._expects(number):
            self._since = event

    def close_window(self, number: str, changes: Sequence[ChangeTable], at: LogRow) -> list[SourceTable]:
        """Send the chunk whose window ends with a mark in the log, and read the next one.

        Args:
            number: of the mark.
            changes: all records of the piece; the batches that are returned come after them.
            at: the mark.
        """
        if not self._expects(number):
            return []
        self.passed(changes)
        window, self._window, self._chunk, self._since = self._window, None, None, None
        return [*([] if window is None else self._sent(window, at)), *self._read()]

    def passed(self, changes: Sequence[ChangeTable]) -> None:
        """Drop the rows of the window that the log has in a newer version.

        Args:
            changes: records of a piece.
        """
        window = self._window
        if window is None or self._since is None or not self._parts.plans.holds(window.plan):
            return
        for one in changes:
            if one.captured.id == window.plan.captured.id:
                window.drop(one, self._since)

    def piece_ended(self) -> None:
        """Begin with the next piece, which is in the window from its first event on if this one ended in it."""
        if self._since is not None:
            self._since = 0

    def close(self) -> None:
        """Close the connection."""
        self._parts.server.close()

    def _expects(self, number: str) -> bool:
        if self._chunk is not None and number.startswith(self._chunk):
            return True
        log.info("The mark %s of a chunk is passed over: the chunk that is read is %s", number, self._chunk)
        return False

    def _sent(self, window: Window, at: LogRow) -> list[SourceTable]:
        context = self.context
        if not self._parts.plans.holds(window.plan):
            log.info("Table %s has changed while a chunk of it was read, which is read again", context.tables[0].id)
            context.revert()
            return []
        if window.failure is not None:
            return self._skipped(SkippedTableError(str(window.failure), ScanStatus.SQL_EXCEPTION))
        context.sent = context.read
        kept = window.kept()
        return [] if kept is None else [self._parts.records.batch(window.plan.captured, kept, at)]

    def _read(self) -> list[SourceTable]:
        """Read the next chunk, if one is to be read."""
        self._due_at = None
        made = self._stopped()
        if not self.context.is_running or self.context.is_paused:
            return made
        server, chunk = self._parts.server, str(uuid.uuid4())
        try:
            server.open_window(chunk)
            made += self._read_tables()
            server.close_window(chunk)
        except RetriableError as error:
            log.warning("%s. The chunk is read again in %d s", error, _RETRY_SECONDS)
            self._later(_RETRY_SECONDS)
        except ConnectError as error:
            reason = f"the signal table cannot be written to: {error}"
            if self.context.is_running:
                made += self._skipped(SkippedTableError(reason, ScanStatus.SQL_EXCEPTION))
            self._later(0)
        else:
            self._chunk, self._since = chunk, None
        return made

    def _later(self, seconds: float) -> None:
        self.context.revert()
        self._window = None
        self._due_at = self._parts.seconds() + seconds

    def _read_tables(self) -> list[SourceTable]:
        """Read a chunk of the first table that has rows left, with reports on those that have none."""
        made: list[SourceTable] = []
        while self.context.is_running and self._window is None:
            try:
                made += self._read_table()
            except SkippedTableError as error:
                made += self._skipped(error)
        return made

    def _read_table(self) -> list[SourceTable]:
        context, server = self.context, self._parts.server
        plan = self._parts.plans.plan(context.tables[0])
        if any(key is not None and len(key.values) != len(plan.key) for key in (context.read, context.maximum)):
            log.info("The key of table %s has changed: it is read from its beginning", context.tables[0].id)
            context.begin_table()
        try:
            if context.maximum is None:
                context.maximum = server.maximum(plan)
            if context.maximum is None:
                return self._ended(ScanStatus.EMPTY)
            rows = server.chunk(plan, context.read, context.maximum)
        except RetriableError:
            raise
        except ConnectError as error:
            # Perhaps the table has changed since the place that the log has reached: this is known at the mark.
            self._window = Window(plan, failure=error)
            return []
        if not rows.count:
            return self._ended(ScanStatus.SUCCEEDED)
        self._window = Window.of(plan, rows)
        context.read = rows.last
        self._scanned += rows.count
        return self._notices.in_progress()

    def _skipped(self, error: SkippedTableError) -> list[SourceTable]:
        log.warning("The incremental snapshot skips table %s: %s", self.context.tables[0].id, error)
        return self._ended(error.scan)

    def _ended(self, status: ScanStatus) -> list[SourceTable]:
        log.info("The incremental snapshot ends table %s: %s", self.context.tables[0].id, status.value)
        return [*self._notices.scanned(self._scanned, status), *self._next_table()]

    def _next_table(self) -> list[SourceTable]:
        context = self.context
        context.next_table()
        self._scanned = 0
        if context.is_running:
            return []
        made = self._notices.completed()
        context.correlation = None
        return made

    def _stopped(self) -> list[SourceTable]:
        """Take off the tables whose stop was asked for, the first one last, as Debezium does."""
        asked, self._stopping = set(self._stopping), []
        if not asked or not self.context.is_running:
            return []
        first, *others = self.context.tables
        stopped = [one.id for one in others if one.id in asked]
        self.context.remove(asked)
        made: list[SourceTable] = []
        if first.id in asked:
            stopped.append(first.id)
            made += self._next_table()
        log.info("The incremental snapshot no longer reads %s", ", ".join(map(str, stopped)))
        return [*made, *self._notices.aborted(stopped)]
