"""What a task reads: each kind of reading answers the next batch of its target, or that there is none now."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from connect_dagster.connectors.jdbc.source.columns import has_zone
from connect_dagster.connectors.jdbc.source.criteria import Criteria
from connect_dagster.connectors.jdbc.source.key_walk import Begin, KeyWalk, noted_walk
from connect_dagster.connectors.jdbc.source.open_transactions import SettledRows
from connect_dagster.connectors.jdbc.source.positions import Partition, Position, Zone, snapshot_partition
from connect_dagster.connectors.jdbc.source.row_reader import Range, RowReader
from connect_dagster.connectors.jdbc.source.spool import SpooledRows, Spools
from connect_dagster.plugin.frames import SourceFrame

log = logging.getLogger(__name__)


class Reading(Protocol):
    """Reads one target."""

    def next(self) -> SourceFrame | None:
        """The next batch; ``None`` when there is none now.

        Raises:
            DatabaseError: the database refuses; asked again it goes on where it was.
        """

    @property
    def busy(self) -> bool:
        """Whether more is to come at once, rather than after ``poll.interval.ms``."""

    def delivered(self, frame: SourceFrame) -> None:
        """Called from another thread when a frame has arrived."""

    def close(self) -> None:
        """Let go of everything."""


class BulkReading:
    """Every row, at each poll (mode ``bulk``).

    Args:
        reader: of the target.
        noted: what is noted of a large read that was not finished.
    """

    def __init__(self, reader: RowReader, noted: Mapping[str, Any] | None) -> None:
        self._reader = reader
        self._noted = noted_walk(noted, ends=False)
        self._walk: KeyWalk | None = None
        self._spools = Spools()

    @property
    def busy(self) -> bool:
        """Whether a read goes on."""
        return self._walk is not None or self._spools.reading

    def next(self) -> SourceFrame | None:
        """The next batch; one that goes by way of the disk is waited for only a moment."""
        if not self.busy:
            self._begin()
        if self._walk is None:
            return self._spools.next()
        frame = self._walk.next()
        if frame is None:
            self._walk = None
        return frame

    def delivered(self, frame: SourceFrame) -> None:
        """Forget rows on disk."""
        self._spools.delivered(frame)

    def close(self) -> None:
        """Forget what was begun."""
        self._walk = None
        self._spools.close()

    def _begin(self) -> None:
        reader = self._reader
        suffix = reader.config.query_suffix.strip()
        statement = " ".join(filter(None, (reader.target.select, suffix)))
        reader.announce(statement)
        key = reader.key()
        if key is not None and key.whole and not suffix:
            self._walk = KeyWalk(reader, key.columns[0], "", None, after=self._noted[0] if self._noted else None)
            self._noted = None
        else:
            self._spools.begin(SpooledRows(reader, statement))


class IncrementalReading:
    """Rows that are new by a timestamp, by an incrementing column, or by both.

    Args:
        reader: of the target.
        timestamps: timestamp columns; empty in mode ``incrementing``.
        incrementing: the incrementing column; empty in mode ``timestamp``.
        position: where reading goes on; ``None`` for nothing read yet.
        initial: where it begins then.
        noted: what is noted of a large read that was not finished.
    """

    def __init__(
        self,
        reader: RowReader,
        timestamps: Sequence[str],
        incrementing: str,
        position: Position | None,
        initial: Position,
        noted: Mapping[str, Any] | None,
    ) -> None:
        self._reader = reader
        self._first = position is None
        self._position = initial if position is None else position
        self._timestamps = tuple(timestamps)
        self._incrementing = incrementing
        quoted = [reader.column(name) for name in timestamps]
        time = quoted[0] if len(quoted) == 1 else f"COALESCE({','.join(quoted)})" if quoted else None
        self._criteria = Criteria(time, reader.column(incrementing) if incrementing else None)
        self._noted = noted_walk(noted, ends=True)
        self._note_fails = False
        self._take_beginning()
        self._settled = SettledRows(reader) if reader.config.open_transactions_wait else None
        self._on_wall: bool | None = None
        self._walk: KeyWalk | None = None
        self._spools = Spools()
        self._full = False

    @property
    def busy(self) -> bool:
        """Whether a large read goes on, or the last batch was full."""
        return self._walk is not None or self._spools.reading or self._full

    def delivered(self, frame: SourceFrame) -> None:
        """Forget rows on disk."""
        self._spools.delivered(frame)

    def close(self) -> None:
        """Forget what was begun."""
        self._walk = None
        self._spools.close()

    def next(self) -> SourceFrame | None:
        """The next batch, of a large read that goes on or of what is new."""
        self._full = False
        frame = self._large()
        if frame is None and not self._spools.reading:
            frame = self._new()
        return frame

    # A large read

    def _large(self) -> SourceFrame | None:
        if self._walk is not None:
            if (frame := self._walk.next()) is not None:
                return frame
            self._walk = None
        return self._spools.next()

    def _is_large(self, end: Position, limit: int) -> bool:
        """Whether a full batch is the first of so many that they are better read in the order of the key."""
        if self._reader.target.table is None:
            return True
        if self._criteria.timestamp is None:
            return not self._reader.is_indexed(self._incrementing)
        if self._first or len(self._timestamps) > 1 or not self._reader.is_indexed(self._timestamps[0]):
            return True
        if self._criteria.incrementing is not None:
            return False
        # All rows of one time belong together, as the offset has no more than it.
        same = f"{self._criteria.timestamp} = {self._literal(end)}"
        return bool(self._aggregate(same, limit + 1, "COUNT(*)", "long")[0] > limit)

    def _read_large(self, where: str) -> SourceFrame | None:
        end = self._page(where, None)[0]
        if end is None:
            return None
        until = f"({where}) AND {self._criteria.up_to(self._literal(end), end)}"
        key = self._reader.key()
        if key is None or not key.whole:
            return self._spool(self._reader.statement(until))
        self._walk = KeyWalk(self._reader, key.columns[0], until, end, self._begin, noted=self._note_fails)
        self._note_fails = False
        self._moved(end)
        return self._large()

    @property
    def _begin(self) -> Begin:
        return Begin(self._position, not self._first)

    def _take_beginning(self) -> None:
        """Begin where a read that was not finished began; it is none any more once the offset was changed meanwhile."""
        begin = None if self._noted is None else self._noted[2]
        if begin is None:
            return
        if begin.stored == self._first or (begin.stored and begin.position.order != self._position.order):
            self._noted, self._note_fails = None, True
        elif self._first:
            self._position = begin.position

    def _resumed(self, where: str) -> SourceFrame | None:
        """What a read that was not finished has left."""
        assert self._noted is not None
        after, end, _ = self._noted
        key = self._reader.key()
        if key is not None and key.whole and end.order > self._position.order:
            until = f"({where}) AND {self._criteria.up_to(self._literal(end), end)}"
            log.info("Going on with a large read of %s after %s %d", self._reader.target.name, key.columns[0], after)
            self._walk = KeyWalk(self._reader, key.columns[0], until, end, self._begin, after)
            self._moved(end)
        self._noted = None
        frame = self._large()
        self._note_fails = frame is None
        return frame

    def _forgotten(self) -> list[tuple[Partition, None]]:
        """The note that does not hold."""
        key = self._reader.key() if self._note_fails else None
        return [(snapshot_partition(self._reader.target.partition, key.columns[0]), None)] if key else []

    def _spool(self, sql: str) -> SourceFrame | None:
        position = None if self._first else self._position
        rows = SpooledRows(self._reader, sql, self._timestamps, self._incrementing, position, self._instant)
        self._spools.begin(rows, self._moved)
        return self._spools.next()

    def _moved(self, position: Position) -> None:
        self._position, self._first = position, False

    # What is new

    def _new(self) -> SourceFrame | None:
        reader = self._reader
        suffix = reader.config.query_suffix.strip()
        reader.announce(" ".join(filter(None, (f"{reader.target.select}{self._criteria.text}", suffix))))
        where = self._condition()
        if where is None:
            return None
        if suffix:
            return self._spool(f"{reader.statement(where)} ORDER BY {self._criteria.order} ASC {suffix}")
        if self._noted is not None:
            frame = self._resumed(where)
            return self._new() if frame is None else frame
        limit = reader.batch_rows()
        end, low, rows = self._page(where, limit)
        if reader.outgrown(rows):
            limit = reader.batch_rows()
            end, low, rows = self._page(where, limit)
        if end is None:
            return None
        if rows >= limit and self._is_large(end, limit):
            return self._read_large(where)
        until = f"({where}) AND {self._criteria.up_to(self._literal(end), end)}"
        if self._criteria.timestamp is None:
            column = reader.dialect.quoting.name(self._incrementing)
            rows_of = Range(until, column, low, end.begin_incrementing, rows)
        else:
            rows_of = Range(until)
        order = (self._timestamps, [self._incrementing])
        frame = reader.range_frame(rows_of, order, reader.target.partition, end.to_offset(), *self._forgotten())
        self._full = rows >= limit
        # Last, as the database may have gone away: then the same rows are new again.
        self._note_fails = False
        self._moved(end)
        return frame

    def _condition(self) -> str | None:
        """What is new now; ``None`` while open transactions hold everything back."""
        end = self._end_literal()
        begin = self._literal(self._position)
        where = self._criteria.newer(begin, self._position.begin_incrementing, end)
        if self._settled is None or self._criteria.timestamp is not None:
            return where
        assert self._criteria.incrementing is not None
        highest = self._settled.highest(self._criteria.incrementing, where)
        return None if highest is None else f"{where} AND {self._criteria.incrementing} <= {highest}"

    def _end_literal(self) -> str:
        if self._criteria.timestamp is None:
            return ""
        reader = self._reader
        ((shown,),) = reader.connection.rows(reader.dialect.now, "timestamp")
        end = reader.told_time(shown) - reader.config.timestamp_delay_ms * 1_000_000
        if self._settled is not None and (oldest := self._settled.oldest_begin()) is not None:
            end = min(end, oldest)
        return self._literal(Position(end))

    def _literal(self, position: Position) -> str:
        """A position's time, as the timestamp columns are compared with it."""
        reader = self._reader
        if self._criteria.timestamp is None:
            return ""
        if not self._is_on_wall():
            return reader.dialect.timestamp.format(f"{Zone().text(position.begin_timestamp)}+00")
        return reader.dialect.timestamp.format(reader.zone.text(position.begin_timestamp))

    def _is_on_wall(self) -> bool:
        """Whether the timestamp columns have no zone of their own."""
        if self._on_wall is None:
            columns = {column.name.lower(): column for column in self._reader.described()}
            first = columns.get(self._timestamps[0].lower())
            self._on_wall = first is None or not has_zone(first)
        return self._on_wall

    def _page(self, where: str, limit: int | None) -> tuple[Position | None, int, int]:
        """Position of the last row of the next batch, the least incrementing value in it, and how many rows it has."""
        if self._criteria.timestamp is None:
            low, high, rows = self._aggregate(
                where, limit, "MIN(connect_key), MAX(connect_key), COUNT(*)", "whole", "whole", "long"
            )
            return (Position(None, high) if rows else None), low or 0, rows
        time, rows = self._aggregate(where, limit, "MAX(connect_time), COUNT(*)", "timestamp", "long")
        if not rows:
            return None, 0, 0
        end = Position(self._instant(time))
        if self._criteria.incrementing is not None:
            of_time = f"connect_time = {self._literal(end)}"
            (number,) = self._aggregate(where, limit, "MAX(connect_key)", "whole", of_page=of_time)
            if number is None:  # these rows were changed just now, so they are new again
                return None, 0, 0
            end = Position(end.timestamp, number)
        return end, 0, rows

    def _instant(self, shown: int) -> int:
        """The time that a timestamp column means by what it shows."""
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
