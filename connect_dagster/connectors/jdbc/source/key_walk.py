"""A large read in the order of a table's key: bounded in memory, parallel within each batch, and resumed in the middle.

How far it has come, and where it began, is noted in a source partition of its own, which goes away with the last batch.
Only then the target's own offset moves: until it does, Java's connector would begin again where that stands. When that
was changed by hand meanwhile, the note no longer holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from connect_dagster.connectors.jdbc.source.positions import KEY, Position, snapshot_partition
from connect_dagster.connectors.jdbc.source.row_reader import Range, RowReader
from connect_dagster.plugin.frames import SourceFrame

# The least time and number, by whether a stored offset or the configuration has told them.
_STORED, _INITIAL = ("begin_nanos", "begin_incrementing"), ("initial_nanos", "initial_incrementing")


@dataclass(frozen=True, slots=True)
class Begin:
    """Where a read of an incremental mode began.

    Attributes:
        position: before its rows.
        stored: whether the target had an offset then.
    """

    position: Position
    stored: bool


class KeyWalk:
    """One large read.

    Args:
        reader: of the target.
        key: the key's one column, of whole numbers.
        where: condition for the rows to read; empty for all.
        end: position after all of them, the target's offset then; ``None`` where none is kept.
        begin: where it began; ``None`` where no offset is kept, or it is not known.
        after: key of the last row that was read before; ``None`` to begin.
        noted: whether there is a note to be forgotten.
    """

    def __init__(
        self,
        reader: RowReader,
        key: str,
        where: str,
        end: Position | None,
        begin: Begin | None = None,
        after: int | None = None,
        *,
        noted: bool = False,
    ) -> None:
        self._reader = reader
        self._name = key
        self._key = reader.column(key)
        self._where = where
        self._end = end
        self._begin = begin
        self._began = noted or after is not None
        self._ahead = self._page(after)
        if self._ahead is not None and reader.outgrown(self._ahead.rows):
            self._ahead = self._page(after)

    def next(self) -> SourceFrame | None:
        """The next batch, ``None`` behind the last one."""
        page = self._ahead
        if page is None:
            return None
        ahead = self._page(page.high) if page.rows >= self._reader.batch_rows() else None
        if ahead is None:
            frame = self._last(page)
        else:
            frame = self._reader.range_frame(page, [[self._name]], self._place, self._noted(page.high))
            self._began = True
        self._ahead = ahead  # last, as the database may have gone away: then the same batch is the next one again
        return frame

    def _last(self, page: Range) -> SourceFrame:
        partition = self._reader.target.partition
        forgotten = ((self._place, None),) if self._began else ()
        if self._end is None:
            place = self._place if self._began else {}
            return self._reader.range_frame(page, [[self._name]], place, None)
        return self._reader.range_frame(page, [[self._name]], partition, self._end.to_offset(), *forgotten)

    @property
    def _place(self) -> dict[str, str]:
        return snapshot_partition(self._reader.target.partition, self._name)

    def _noted(self, key: int) -> dict[str, Any]:
        note = {KEY: key, **(self._end.to_offset() if self._end is not None else {})}
        if self._begin is not None:
            note.update(zip(_STORED if self._begin.stored else _INITIAL, self._begin.position.order, strict=True))
        return note

    def _page(self, after: int | None) -> Range | None:
        """The next rows by their key."""
        reader = self._reader
        beyond = f"{self._key} > {after}" if after is not None else ""
        where = " AND ".join(f"({part})" for part in (self._where, beyond) if part)
        keys = reader.statement(where, select=reader.selecting(f"{self._key} AS connect_key"))
        page = reader.dialect.limited(f"{keys} ORDER BY {self._key}", reader.batch_rows())
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
        )


def noted_walk(offset: Mapping[str, Any] | None, *, ends: bool) -> tuple[int, Position, Begin | None] | None:
    """Key, end and beginning of a read that was not finished; one that was noted by an older version has no beginning.

    Args:
        offset: what is noted of it.
        ends: whether such a read has an end, as those of incremental modes have.
    """
    if not offset or not isinstance(offset.get(KEY), int):
        return None
    end = Position.of_offset(offset)
    if ends and end == Position():
        return None
    keys = _STORED if _STORED[0] in offset else _INITIAL
    time, number = (offset.get(name) for name in keys)
    known = isinstance(time, int) and isinstance(number, int)
    return int(offset[KEY]), end, Begin(Position(time, number), keys is _STORED) if known else None
