"""Queriers of a target: each returns its next batch (Java: ``TableQuerier`` and its subclasses)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from connect_dagster.connectors.jdbc.source.columns import has_zone
from connect_dagster.connectors.jdbc.source.keyset_scan import Begin, KeysetScan, saved_scan
from connect_dagster.connectors.jdbc.source.row_reader import Range, RowReader
from connect_dagster.connectors.jdbc.source.spool import SpooledRows, Spools
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import (
    Partition,
    TimestampIncrementingCriteria,
    TimestampIncrementingOffset,
    Zone,
    snapshot_partition,
)
from connect_dagster.connectors.jdbc.source.visibility_horizon import VisibilityHorizon
from connect_dagster.plugin.lines import SourceBatch

log = logging.getLogger(__name__)


class TableQuerier(Protocol):
    """Read one target."""

    def next(self) -> SourceBatch | None:
        """Return the next batch; ``None`` when there is none now.

        Raises:
            DatabaseError: the database refuses; the next call continues at the same place.
        """

    @property
    def busy(self) -> bool:
        """Return whether the next batch is due now rather than after ``poll.interval.ms``."""

    def delivered(self, batch: SourceBatch) -> None:
        """Release what was kept for a frame that was delivered; called by another thread."""

    def close(self) -> None:
        """Release all resources."""


class BulkTableQuerier:
    """Read every row at each poll (mode ``bulk``).

    Args:
        reader: of the target.
        saved: the stored state of a large read that was not finished.
    """

    def __init__(self, reader: RowReader, saved: Mapping[str, Any] | None) -> None:
        self._reader = reader
        self._saved = saved_scan(saved, ends=False)
        self._scan: KeysetScan | None = None
        self._spools = Spools()

    @property
    def busy(self) -> bool:
        """Return whether a read is unfinished."""
        return self._scan is not None or self._spools.reading

    def next(self) -> SourceBatch | None:
        """Return the next batch; waits only briefly for one that is spooled on disk."""
        if not self.busy:
            self._begin()
        if self._scan is None:
            return self._spools.next()
        frame = self._scan.next()
        if frame is None:
            self._scan = None
        return frame

    def delivered(self, batch: SourceBatch) -> None:
        """Delete delivered rows from the disk."""
        self._spools.delivered(batch)

    def close(self) -> None:
        """Abandon unfinished reads."""
        self._scan = None
        self._spools.close()

    def _begin(self) -> None:
        reader = self._reader
        suffix = reader.config.query_suffix.strip()
        statement = " ".join(filter(None, (reader.target.select, suffix)))
        reader.announce(statement)
        key = reader.key()
        if key is not None and key.whole and not suffix:
            self._scan = KeysetScan(reader, key.columns[0], "", None, after=self._saved[0] if self._saved else None)
            self._saved = None
        else:
            self._spools.begin(SpooledRows(reader, statement))


class TimestampIncrementingTableQuerier:
    """Read rows that are new by a timestamp, by an incrementing column, or by both.

    Args:
        reader: of the target.
        timestamps: timestamp columns; empty in mode ``incrementing``.
        incrementing: the incrementing column; empty in mode ``timestamp``.
        offset: of the last row that was read; ``None`` for none yet.
        initial: the offset to begin with in that case.
        saved: the stored state of a large read that was not finished.
    """

    def __init__(
        self,
        reader: RowReader,
        timestamps: Sequence[str],
        incrementing: str,
        offset: TimestampIncrementingOffset | None,
        initial: TimestampIncrementingOffset,
        saved: Mapping[str, Any] | None,
    ) -> None:
        self._reader = reader
        self._first = offset is None
        self._offset = initial if offset is None else offset
        self._timestamps = tuple(timestamps)
        self._incrementing = incrementing
        quoted = [reader.column(name) for name in timestamps]
        time = quoted[0] if len(quoted) == 1 else f"COALESCE({','.join(quoted)})" if quoted else None
        self._criteria = TimestampIncrementingCriteria(time, reader.column(incrementing) if incrementing else None)
        self._saved = saved_scan(saved, ends=True)
        self._saved_is_invalid = False
        self._restore_beginning()
        self._horizon = VisibilityHorizon(reader) if reader.config.open_transactions_wait else None
        self._on_wall: bool | None = None
        self._scan: KeysetScan | None = None
        self._spools = Spools()
        self._full = False

    @property
    def busy(self) -> bool:
        """Return whether a large read is unfinished, or the last batch was full."""
        return self._scan is not None or self._spools.reading or self._full

    def delivered(self, batch: SourceBatch) -> None:
        """Delete delivered rows from the disk."""
        self._spools.delivered(batch)

    def close(self) -> None:
        """Abandon unfinished reads."""
        self._scan = None
        self._spools.close()

    def next(self) -> SourceBatch | None:
        """Return the next batch, of an unfinished large read or of new rows."""
        self._full = False
        frame = self._next_of_large()
        if frame is None and not self._spools.reading:
            frame = self._next_new()
        return frame

    # A large read

    def _next_of_large(self) -> SourceBatch | None:
        if self._scan is not None:
            if (frame := self._scan.next()) is not None:
                return frame
            self._scan = None
        return self._spools.next()

    def _is_large(self, end: TimestampIncrementingOffset, limit: int) -> bool:
        """Return whether a full batch is the first of many, which are read faster in the order of the key."""
        if self._reader.target.table is None:
            return True
        if self._criteria.timestamp is None:
            return not self._reader.is_indexed(self._incrementing)
        if self._first or len(self._timestamps) > 1 or not self._reader.is_indexed(self._timestamps[0]):
            return True
        if self._criteria.incrementing is not None:
            return False
        # Rows of equal timestamps are read together, as the offset holds only the timestamp.
        same = f"{self._criteria.timestamp} = {self._timestamp_literal(end)}"
        return bool(self._aggregate(same, limit + 1, "COUNT(*)", "long")[0] > limit)

    def _read_large(self, where: str) -> SourceBatch | None:
        end = self._page(where, None)[0]
        if end is None:
            return None
        until = f"({where}) AND {self._criteria.up_to(self._timestamp_literal(end), end)}"
        key = self._reader.key()
        if key is None or not key.whole:
            return self._spool(self._reader.statement(until))
        self._scan = KeysetScan(self._reader, key.columns[0], until, end, self._begin, saved=self._saved_is_invalid)
        self._saved_is_invalid = False
        self._set_offset(end)
        return self._next_of_large()

    @property
    def _begin(self) -> Begin:
        return Begin(self._offset, not self._first)

    def _restore_beginning(self) -> None:
        """Begin at the offset of an unfinished read, unless the stored offset was changed since."""
        begin = None if self._saved is None else self._saved[2]
        if begin is None:
            return
        if begin.stored == self._first or (begin.stored and begin.offset.order != self._offset.order):
            self._saved, self._saved_is_invalid = None, True
        elif self._first:
            self._offset = begin.offset

    def _resume(self, where: str) -> SourceBatch | None:
        """Return the first batch of the rest of an unfinished read."""
        assert self._saved is not None
        after, end, _ = self._saved
        key = self._reader.key()
        if key is not None and key.whole and end.order > self._offset.order:
            until = f"({where}) AND {self._criteria.up_to(self._timestamp_literal(end), end)}"
            log.info("Going on with a large read of %s after %s %d", self._reader.target.name, key.columns[0], after)
            self._scan = KeysetScan(self._reader, key.columns[0], until, end, self._begin, after)
            self._set_offset(end)
        self._saved = None
        frame = self._next_of_large()
        self._saved_is_invalid = frame is None
        return frame

    def _invalid_scan(self) -> list[tuple[Partition, None]]:
        """Return the saved scan that is invalid, with the tombstone that removes it."""
        key = self._reader.key() if self._saved_is_invalid else None
        return [(snapshot_partition(self._reader.target.partition, key.columns[0]), None)] if key else []

    def _spool(self, sql: str) -> SourceBatch | None:
        offset = None if self._first else self._offset
        rows = SpooledRows(self._reader, sql, self._timestamps, self._incrementing, offset, self._instant)
        self._spools.begin(rows, self._set_offset)
        return self._spools.next()

    def _set_offset(self, offset: TimestampIncrementingOffset) -> None:
        self._offset, self._first = offset, False

    # New rows

    def _next_new(self) -> SourceBatch | None:
        reader = self._reader
        suffix = reader.config.query_suffix.strip()
        reader.announce(" ".join(filter(None, (f"{reader.target.select}{self._criteria.text}", suffix))))
        where = self._condition()
        if where is None:
            return None
        if suffix:
            return self._spool(f"{reader.statement(where)} ORDER BY {self._criteria.order} ASC {suffix}")
        if self._saved is not None:
            frame = self._resume(where)
            return self._next_new() if frame is None else frame
        limit = reader.batch_rows()
        end, low, rows = self._page(where, limit)
        if reader.outgrown(rows):
            limit = reader.batch_rows()
            end, low, rows = self._page(where, limit)
        if end is None:
            return None
        if rows >= limit and self._is_large(end, limit):
            return self._read_large(where)
        until = f"({where}) AND {self._criteria.up_to(self._timestamp_literal(end), end)}"
        if self._criteria.timestamp is None:
            column = reader.dialect.quoting.name(self._incrementing)
            rows_of = Range(until, column, low, end.begin_incrementing, rows)
        else:
            rows_of = Range(until)
        order = (self._timestamps, [self._incrementing])
        frame = reader.range_query(rows_of, order, reader.target.partition, end.to_offset(), *self._invalid_scan())
        self._full = rows >= limit
        # Last: if the database fails before, the same rows are new again.
        self._saved_is_invalid = False
        self._set_offset(end)
        return frame

    def _condition(self) -> str | None:
        """Return the condition for new rows; ``None`` while open transactions hold all of them back."""
        end = self._end_literal()
        begin = self._timestamp_literal(self._offset)
        where = self._criteria.newer(begin, self._offset.begin_incrementing, end)
        if self._horizon is None or self._criteria.timestamp is not None:
            return where
        assert self._criteria.incrementing is not None
        highest = self._horizon.highest(self._criteria.incrementing, where)
        return None if highest is None else f"{where} AND {self._criteria.incrementing} <= {highest}"

    def _end_literal(self) -> str:
        if self._criteria.timestamp is None:
            return ""
        reader = self._reader
        ((shown,),) = reader.connection.rows(reader.dialect.now, "timestamp")
        end = reader.told_time(shown) - reader.config.timestamp_delay_ms * 1_000_000
        if self._horizon is not None and (oldest := self._horizon.oldest_begin()) is not None:
            end = min(end, oldest)
        return self._timestamp_literal(TimestampIncrementingOffset(end))

    def _timestamp_literal(self, offset: TimestampIncrementingOffset) -> str:
        """Return the literal of an offset's timestamp that timestamp columns compare with."""
        reader = self._reader
        if self._criteria.timestamp is None:
            return ""
        if not self._is_on_wall():
            return reader.dialect.timestamp.format(f"{Zone().text(offset.begin_timestamp)}+00")
        return reader.dialect.timestamp.format(reader.zone.text(offset.begin_timestamp))

    def _is_on_wall(self) -> bool:
        """Return whether the timestamp columns have no time zone."""
        if self._on_wall is None:
            columns = {column.name.lower(): column for column in self._reader.described()}
            first = columns.get(self._timestamps[0].lower())
            self._on_wall = first is None or not has_zone(first)
        return self._on_wall

    def _page(self, where: str, limit: int | None) -> tuple[TimestampIncrementingOffset | None, int, int]:
        """Return the offset of the next batch's last row, its least incrementing value and its row count."""
        if self._criteria.timestamp is None:
            low, high, rows = self._aggregate(
                where, limit, "MIN(connect_key), MAX(connect_key), COUNT(*)", "whole", "whole", "long"
            )
            return (TimestampIncrementingOffset(None, high) if rows else None), low or 0, rows
        time, rows = self._aggregate(where, limit, "MAX(connect_time), COUNT(*)", "timestamp", "long")
        if not rows:
            return None, 0, 0
        end = TimestampIncrementingOffset(self._instant(time))
        if self._criteria.incrementing is not None:
            of_time = f"connect_time = {self._timestamp_literal(end)}"
            (number,) = self._aggregate(where, limit, "MAX(connect_key)", "whole", of_page=of_time)
            if number is None:  # these rows changed meanwhile, so they are new again
                return None, 0, 0
            end = TimestampIncrementingOffset(end.timestamp, number)
        return end, 0, rows

    def _instant(self, shown: int) -> int:
        """Return the instant of a timestamp as the column shows it."""
        return self._reader.zone.instant(shown) if self._is_on_wall() else shown

    def _aggregate(self, where: str, limit: int | None, what: str, *getters: str, of_page: str = "") -> tuple[Any, ...]:
        reader, criteria = self._reader, self._criteria
        named = ((criteria.timestamp, "connect_time"), (criteria.incrementing, "connect_key"))
        columns = ", ".join(f"{column} AS {name}" for column, name in named if column)
        table = reader.target.table
        if table is not None:
            page = reader.statement(where, select=reader.selecting(columns))
        else:
            page = reader.statement(where)
        if limit is not None:
            page = reader.dialect.limited(f"{page} ORDER BY {criteria.order}", limit)
        if table is None:
            page = f"SELECT {columns} FROM ({page}) q"
        (row,) = reader.connection.rows(
            f"SELECT {what} FROM ({page}) p{' WHERE ' if of_page else ''}{of_page}", *getters
        )
        return row
