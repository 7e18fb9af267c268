"""Row events: the images in them, and where in the buffer each cell of an image is.

An image is a row before or after a change. The walk goes through all images of a table once and notes the offset of
each cell; columns are decoded from these offsets afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from connect_dagster.connectors.mysql.decode.events import EventType
from connect_dagster.connectors.mysql.decode.kernels import (
    Bytes,
    Flags,
    Longs,
    OffsetMatrix,
    Offsets,
    kernel,
    unsigned,
)
from connect_dagster.connectors.mysql.decode.scan import Events
from connect_dagster.connectors.mysql.decode.table_map import StoredColumn, TableMap
from connect_dagster.errors import DataError
from connect_dagster.protocol.wire import MalformedBytes

NULL, ABSENT = -1, -2
"""Marks in place of the offset of a cell: of one that is null, and of one that the image does not have."""

INSERT, UPDATE, DELETE = 0, 1, 2
"""Operations of an event on its rows."""

_HEADER = 8  # number of the table and flags
_FIRST_V2 = int(EventType.WRITE_ROWS)
_UPDATES = (int(EventType.UPDATE_ROWS_V1), int(EventType.UPDATE_ROWS))
_NO_TABLE = 0xFFFFFF  # an event without rows, which only ends a statement
_WALKED, _NO_ROOM, _OTHER_COLUMNS, _BEYOND_END = range(4)
_PARTIAL = (
    "An update has only the changed parts of JSON values (PARTIAL_UPDATE_ROWS): "
    "binlog_row_value_options must be empty for all sessions of the server"
)
_REASONS = {
    _OTHER_COLUMNS: "a row event with more or fewer columns than its table",
    _BEYOND_END: "a row beyond its event",
}


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Row events of one table whose columns do not change.

    Attributes:
        events: indices of the events, in the order of the log.
    """

    table: TableMap
    events: Longs


class TableMaps:
    """The tables that a log has announced so far."""

    def __init__(self) -> None:
        self._current: dict[int, TableMap] = {}
        self._parsed: dict[bytes, TableMap] = {}

    def clear(self) -> None:
        """Forget all, at the start of a file: numbers of tables are given again."""
        self._current.clear()
        self._parsed.clear()

    def groups(self, buffer: Bytes, events: Events) -> list[RowGroup]:
        """Return the row events by table, ordered by their first event.

        Raises:
            MalformedBytes: rows of a table that no TABLE_MAP announced.
            DataError: an update holds only parts of JSON values.
        """
        if (events.type == EventType.PARTIAL_UPDATE_ROWS).any():
            raise DataError(_PARTIAL)
        is_map = events.type == EventType.TABLE_MAP
        tables = np.unique(events.table_id[(is_map | events.rows) & (events.table_id != _NO_TABLE)])
        groups = [group for table in tables.tolist() for group in self._of_table(buffer, events, is_map, table)]
        return sorted(groups, key=lambda group: int(group.events[0]))

    def _of_table(self, buffer: Bytes, events: Events, is_map: Flags, table_id: int) -> Iterator[RowGroup]:
        mine = events.table_id == table_id
        maps, rows = np.flatnonzero(mine & is_map), np.flatnonzero(mine & events.rows)
        begins = maps[changes(buffer, events.body[maps], events.length[maps])]
        found = [self._current.get(table_id), *(self._table(events.body_bytes(buffer, int(at))) for at in begins)]
        which = np.searchsorted(begins, rows)
        for number, table in enumerate(found):
            chosen = rows[which == number]
            if len(chosen) and table is None:
                at = int(events.body[chosen[0]])
                raise MalformedBytes(f"rows of table {table_id}, which no TABLE_MAP announced", at, len(buffer))
            if len(chosen) and table is not None:
                yield RowGroup(table, chosen)
        if found[-1] is not None:
            self._current[table_id] = found[-1]

    def _table(self, body: bytes) -> TableMap:
        if body not in self._parsed:
            self._parsed[body] = TableMap.parse(body)
        return self._parsed[body]


@dataclass(frozen=True, slots=True)
class RowImages:
    """The images of a group of row events, in the order of the log; an update has two, one after the other.

    Attributes:
        cells: for each column, the offset of its value in each image, or NULL or ABSENT.
        event: for each image, the index of its event.
        row: for each image, the number of its row in the event.
        operation: for each image, INSERT, UPDATE or DELETE.
    """

    cells: Offsets
    event: Longs
    row: Longs
    operation: Longs

    def __len__(self) -> int:
        return len(self.event)

    def absent(self, column: int) -> Flags:
        """Return which images do not have a column (``binlog_row_image`` MINIMAL or NOBLOB)."""
        absent: Flags = self.cells[column] == ABSENT
        return absent


@dataclass(frozen=True, slots=True)
class RowChanges:
    """Changes of rows, in the order of the log.

    Attributes:
        operation: INSERT, UPDATE or DELETE.
        before: index of the image before the change, -1 for an insert.
        after: index of the image after it, -1 for a delete.
    """

    operation: Longs
    before: Longs
    after: Longs

    @classmethod
    def of(cls, images: RowImages) -> RowChanges:
        """Return what the images say: each one a change, the two of an update together one."""
        operation = images.operation
        is_update = operation == UPDATE
        # Images of updates are neighbours, so every second one of all updates is one after the change.
        second = is_update & (np.cumsum(is_update) % 2 == 0)
        first = np.flatnonzero(~second)
        kind = operation[first]
        return cls(kind, np.where(kind == INSERT, -1, first), np.where(kind == DELETE, -1, first + (kind == UPDATE)))


def row_images(buffer: Bytes, events: Events, group: RowGroup) -> RowImages:
    """Find each cell of each image.

    Raises:
        MalformedBytes: an event is not what its table says.
    """
    body, length, kinds = (values[group.events] for values in (events.body, events.length, events.type))
    columns = group.table.columns
    widths = np.array([column.width for column in columns], np.int32)
    prefixes = np.array([column.prefix for column in columns], np.int32)
    room = int(length.sum()) // _likely_size(columns) + len(body) + 1
    while True:
        cells = np.empty((len(columns), room), np.int32)
        event, row = np.empty(room, np.int32), np.empty(room, np.int32)
        count, failed, state = walk(buffer, body, length, kinds, widths, prefixes, cells, event, row)
        if state != _NO_ROOM:
            break
        room *= 2
    if state != _WALKED:
        raise MalformedBytes(_REASONS[int(state)], int(body[failed]), len(buffer))
    of_group = event[:count].astype(np.int64)
    operation = (kinds[of_group] - (kinds[of_group] >= _FIRST_V2) - 2) % 3
    return RowImages(cells[:, :count], group.events[of_group], row[:count].astype(np.int64), operation)


def _likely_size(columns: tuple[StoredColumn, ...]) -> int:
    """Return about half the bytes of an image in which nothing is null."""
    return max(1, (sum(column.width + 2 * column.prefix for column in columns) + len(columns) // 8) // 2)


@kernel
def changes(buffer: Bytes, body: Longs, length: Longs) -> Flags:
    """Return which of some events differ from the one before them; the first always does."""
    found = np.ones(body.shape[0], np.bool_)
    for event in range(1, body.shape[0]):
        if length[event] != length[event - 1]:
            continue
        differs = False
        for place in range(length[event]):
            if buffer[body[event] + place] != buffer[body[event - 1] + place]:
                differs = True
                break
        found[event] = differs
    return found


@kernel
def count_bits(buffer: Bytes, at: int, bits: int) -> int:
    """Return how many of the first bits are 1."""
    count = 0
    for bit in range(bits):
        count += unsigned(buffer, at + (bit >> 3), 1) >> (bit & 7) & 1
    return count


@kernel
def walk(
    buffer: Bytes,
    body: Longs,
    length: Longs,
    kinds: Longs,
    widths: Offsets,
    prefixes: Offsets,
    cells: OffsetMatrix,
    image_event: Offsets,
    image_row: Offsets,
) -> tuple[int, int, int]:
    """Fill in the offset of each cell; return the number of images, the event that failed, and the state."""
    columns = widths.shape[0]
    image = 0
    for event in range(body.shape[0]):
        at = body[event] + _HEADER
        end = body[event] + length[event]
        if kinds[event] >= _FIRST_V2:
            at += unsigned(buffer, at, 2)
        first = unsigned(buffer, at, 1)
        at += 1
        if first > 250:
            size = 2 if first == 252 else 3 if first == 253 else 8
            first = unsigned(buffer, at, size)
            at += size
        if first != columns:
            return image, event, _OTHER_COLUMNS
        bitmap = (columns + 7) >> 3
        used_before = at
        used_after = at
        at += bitmap
        is_update = kinds[event] == _UPDATES[0] or kinds[event] == _UPDATES[1]
        if is_update:
            used_after = at
            at += bitmap
        nulls_before = (count_bits(buffer, used_before, columns) + 7) >> 3
        nulls_after = (count_bits(buffer, used_after, columns) + 7) >> 3
        number = 0
        while at < end:
            if image == cells.shape[1]:
                return image, event, _NO_ROOM
            is_after = is_update and number & 1 == 1
            used = used_after if is_after else used_before
            nulls = at
            at += nulls_after if is_after else nulls_before
            bit = 0
            for column in range(columns):
                if np.int64(buffer[used + (column >> 3)]) >> (column & 7) & 1 == 0:
                    cells[column, image] = ABSENT
                    continue
                if np.int64(buffer[nulls + (bit >> 3)]) >> (bit & 7) & 1 == 1:
                    cells[column, image] = NULL
                else:
                    cells[column, image] = at
                    if prefixes[column] > 0:
                        at += prefixes[column] + unsigned(buffer, at, prefixes[column])
                    else:
                        at += widths[column]
                bit += 1
            if at > end:
                return image, event, _BEYOND_END
            image_event[image] = event
            image_row[image] = number >> 1 if is_update else number
            image += 1
            number += 1
        if is_update and number & 1 == 1:
            return image, event, _BEYOND_END
    return image, 0, _WALKED
