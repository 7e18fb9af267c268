"""The records that a database rejects; all others are written.

A bisection in the order of partitions and offsets: one rejected value costs its record and about 2·log2(n) statements.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.jdbc.sink.merge_order import OFFSET, PARTITION
from connect_dagster.connectors.jdbc.sink.record_tables import RecordTable
from connect_dagster.connectors.jdbc.sink.tables import TableError
from connect_dagster.connectors.jdbc.sql_errors import DatabaseError, DatabaseUnavailableError
from connect_dagster.errors import ConnectError
from connect_dagster.plugin.bisection import Bisection
from connect_dagster.plugin.frames import SinkFrame

# Keys that only the database finds equal, such as 1.0 and 1.00: one statement cannot have both.
_TWICE = "21000"
# Classes of SQLSTATE and states: values that do not fit, a column that wants one, a key that is there, a check.
_CERTAIN_STATES = ("22", "23502", "23505", "23514", _TWICE)
# MariaDB and MySQL: null where there must be a value, a key that is there, a value too long, out of range, not of the
# type, cut off, a check.
_CERTAIN_CODES = frozenset({1048, 1062, 1263, 1264, 1265, 1292, 1364, 1366, 1406, 3819, 4025})
_AT_ONCE = 500

Write = Callable[[Sequence[RecordTable]], None]


def is_certain(error: ConnectError) -> bool:
    """Return whether the same values will be refused again, whatever else happens in the database."""
    if isinstance(error, DatabaseUnavailableError) or not isinstance(error, DatabaseError):
        return False
    return error.state.startswith(_CERTAIN_STATES) or error.code in _CERTAIN_CODES


def fails_together(error: ConnectError) -> bool:
    """Return whether each of the records may well be written by itself."""
    return isinstance(error, DatabaseError) and error.state == _TWICE


@dataclass(frozen=True, slots=True)
class _Row:
    """One row: index of its table, its index there, and partition and offset of its record."""

    table: int
    row: int
    partition: int
    offset: int


@dataclass(frozen=True, slots=True)
class Unwritten:
    """A record that the database rejected."""

    frame: SinkFrame
    topic: str
    partition: int
    offset: int
    why: str

    @property
    def place(self) -> tuple[str, int, int]:
        """Return topic, partition and offset of the record."""
        return self.topic, self.partition, self.offset


@dataclass(frozen=True, slots=True)
class Unwritable:
    """Rejected records of a frame, with an error text for each."""

    frame: SinkFrame
    records: Sequence[Unwritten]

    @property
    def text(self) -> Column:
        """Return a column with the error text of each rejected record, null for all others."""
        return _texts(self.frame, self.records)

    @classmethod
    def by_frame(cls, found: Iterable[Unwritten]) -> list[Unwritable]:
        """Return the records by frame, some hundred at once."""
        ordered = sorted(found, key=lambda one: id(one.frame))
        groups = [list(group) for _, group in groupby(ordered, key=lambda one: id(one.frame))]
        parts = [group[i : i + _AT_ONCE] for group in groups for i in range(0, len(group), _AT_ONCE)]
        return [cls(part[0].frame, part) for part in parts]


def write_apart(
    tables: Sequence[RecordTable], write: Write, rejected: Callable[[Unwritten], None], seconds: float
) -> list[RecordTable]:
    """Write every record that the database takes; return the rest after some time, the last of each partition.

    Args:
        tables: known to fail together.
        write: raises an error of the records, or one that ends the whole attempt.
        rejected: called for each record that the database rejects, before a record after it is written.
        seconds: how long to begin with further records.
    """

    def attempt(rows: Sequence[_Row]) -> None:
        write(_taken(tables, rows))

    def report(rows: Sequence[_Row], error: Exception) -> None:
        row = rows[0]
        table = tables[row.table]
        rejected(Unwritten(table.frame, table.read_from, row.partition, row.offset, str(error)))

    def halves(rows: Sequence[_Row]) -> list[Sequence[_Row]]:
        middle = _middle(tables, rows)
        return [rows[:middle], rows[middle:]] if middle else []

    deadline = time.monotonic() + seconds
    bisection = Bisection[Sequence[_Row], None](_rows(tables), attempt, halves, report, _ends_attempt)
    for _ in bisection:
        if time.monotonic() > deadline:
            break
    return _taken(tables, [row for rows in bisection.waiting for row in rows])


def _ends_attempt(error: Exception) -> bool:
    return isinstance(error, DatabaseUnavailableError) or not isinstance(error, DatabaseError | TableError)


def found_again(unwritten: Mapping[tuple[str, int, int], Unwritten], tables: Sequence[RecordTable]) -> list[Unwritten]:
    """Return the same records in the frames in which they come again, matched by partition and offset."""
    found = {_record(tables, place): tables[place.table].frame for place in _rows(tables)}
    return [replace(one, frame=found[place]) for place, one in unwritten.items() if place in found]


def _middle(tables: Sequence[RecordTable], places: Sequence[_Row]) -> int:
    """Return the index to halve rows at, 0 for the rows of one record, which share one written offset."""
    records = [_record(tables, place) for place in places]
    begins = [row for row in range(1, len(records)) if records[row] != records[row - 1]]
    return min(begins, key=lambda row: abs(row - len(records) // 2), default=0)


def _record(tables: Sequence[RecordTable], place: _Row) -> tuple[str, int, int]:
    return tables[place.table].read_from, place.partition, place.offset


def _rows(tables: Sequence[RecordTable]) -> list[_Row]:
    found: list[tuple[str, _Row]] = []
    for number, table in enumerate(tables):
        partitions = np.asarray(table.rows[PARTITION].to_numpy()).tolist()
        offsets = np.asarray(table.rows[OFFSET].to_numpy()).tolist()
        found += [
            (table.read_from, _Row(number, row, *place))
            for row, place in enumerate(zip(partitions, offsets, strict=True))
        ]
    # A part begins with the first rows of a partition, as offsets are written with them.
    found.sort(key=lambda pair: (pair[0], pair[1].partition, pair[1].offset))
    return [place for _, place in found]


def _taken(tables: Sequence[RecordTable], places: Sequence[_Row]) -> list[RecordTable]:
    rows: dict[int, list[int]] = {}
    for place in places:
        rows.setdefault(place.table, []).append(place.row)
    return [tables[number].taken(sorted(numbers)) for number, numbers in sorted(rows.items())]


def _texts(frame: SinkFrame, found: Sequence[Unwritten]) -> Column:
    literals: list[Any] = []
    for one in found:
        literals += [F.lit(_place_text(one.topic, one.partition, one.offset)), F.lit(one.why)]
    texts = F.create_map(*literals)
    place = F.concat_ws("-", *(frame.original_coordinate(name) for name in ("topic", "partition", "offset")))
    return F.try_element_at(texts, place)


def _place_text(topic: str, partition: int, offset: int) -> str:
    return f"{topic}-{partition}-{offset}"
