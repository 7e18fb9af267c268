"""A large read in the order of a table's key: bounded in memory, parallel within each batch, and resumable.

Its last key and its first offset are saved in a separate source partition, which is removed with the last batch. Only
then the target's own offset moves: until it does, Java's connector would begin again at that offset. When somebody
changes it meanwhile, the saved scan is invalid.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect_dagster.connectors.jdbc.source.row_reader import Range, RowReader
from connect_dagster.connectors.jdbc.source.timestamp_incrementing import (
    KEY,
    TimestampIncrementingOffset,
    snapshot_partition,
)
from connect_dagster.plugin.lines import SourceBatch

# Keys of the timestamp and number before the scan, by their origin: a stored offset or the configuration.
_STORED, _INITIAL = ("begin_nanos", "begin_incrementing"), ("initial_nanos", "initial_incrementing")


@dataclass(frozen=True, slots=True)
class Begin:
    """The offset before a scan of an incremental mode.

    Attributes:
        offset: before its rows.
        stored: whether the target had an offset then.
    """

    offset: TimestampIncrementingOffset
    stored: bool


class KeysetScan:
    """Read the rows of a condition, page by page in the order of the key.

    Args:
        reader: of the target.
        key: the key's one column, of whole numbers.
        where: condition for the rows to read; empty for all.
        end: offset after all of them, the target's then; ``None`` where none is kept.
        begin: offset before all of them; ``None`` where none is kept, or it is not known.
        after: key of the last row that was read; ``None`` to begin.
        saved: whether there is a saved scan to remove.
    """

    def __init__(
        self,
        reader: RowReader,
        key: str,
        where: str,
        end: TimestampIncrementingOffset | None,
        begin: Begin | None = None,
        after: int | None = None,
        *,
        saved: bool = False,
    ) -> None:
        self._reader = reader
        self._name = key
        self._key = reader.column(key)
        self._where = where
        self._end = end
        self._begin = begin
        self._began = saved or after is not None
        self._ahead = self._page(after)
        if self._ahead is not None and reader.outgrown(self._ahead.rows):
            self._ahead = self._page(after)

    def next(self) -> SourceBatch | None:
        """Return the next batch, ``None`` after the last one."""
        page = self._ahead
        if page is None:
            return None
        ahead = self._page(page.high) if page.full else None
        if ahead is None:
            frame = self._last(page)
        else:
            frame = self._reader.range_query(page, [[self._name]], self._partition, self._saved_state(page.high))
            self._began = True
        self._ahead = ahead  # last: if the database fails before, this batch is read again
        return frame

    def _last(self, page: Range) -> SourceBatch:
        partition = self._reader.target.partition
        tombstone = ((self._partition, None),) if self._began else ()
        if self._end is None:
            scan = self._partition if self._began else {}
            return self._reader.range_query(page, [[self._name]], scan, None)
        return self._reader.range_query(page, [[self._name]], partition, self._end.to_offset(), *tombstone)

    @property
    def _partition(self) -> dict[str, str]:
        return snapshot_partition(self._reader.target.partition, self._name)

    def _saved_state(self, key: int) -> dict[str, Any]:
        state = {KEY: key, **(self._end.to_offset() if self._end is not None else {})}
        if self._begin is not None:
            state.update(zip(_STORED if self._begin.stored else _INITIAL, self._begin.offset.order, strict=True))
        return state

    def _page(self, after: int | None) -> Range | None:
        """Return the range of the next rows by their key."""
        reader = self._reader
        beyond = f"{self._key} > {after}" if after is not None else ""
        where = " AND ".join(f"({part})" for part in (self._where, beyond) if part)
        keys = reader.statement(where, select=reader.selecting(f"{self._key} AS connect_key"))
        most = reader.batch_rows()  # may be another number for the next page
        page = reader.dialect.limited(f"{keys} ORDER BY {self._key}", most)
        sql = f"SELECT MIN(connect_key), MAX(connect_key), COUNT(*) FROM ({page}) p"
        ((low, high, rows),) = reader.connection.rows(sql, "whole", "whole", "long")
        if not rows:
            return None
        until = f"{self._key} <= {high}"
        return Range(
            " AND ".join(filter(None, (where, until))),
            reader.dialect.quoting.name(self._name),
            low,
            high,
            rows,
            full=rows >= most,
        )


def saved_scan(
    offset: Mapping[str, Any] | None, *, ends: bool
) -> tuple[int, TimestampIncrementingOffset, Begin | None] | None:
    """Parse the state of an unfinished scan: last key, end and begin, which older versions did not save.

    Args:
        offset: the saved state.
        ends: whether such a scan has an end offset, as in incremental modes.
    """
    if not offset or not isinstance(offset.get(KEY), int):
        return None
    end = TimestampIncrementingOffset.of_offset(offset)
    if ends and end == TimestampIncrementingOffset():
        return None
    keys = _STORED if _STORED[0] in offset else _INITIAL
    time, number = (offset.get(name) for name in keys)
    known = isinstance(time, int) and isinstance(number, int)
    return int(offset[KEY]), end, Begin(TimestampIncrementingOffset(time, number), keys is _STORED) if known else None
