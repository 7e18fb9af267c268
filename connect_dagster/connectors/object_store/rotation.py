"""The files of a Kafka partition: the file of each record, and where files end (Java: ``TopicPartitionWriter``).

The open files of a partition, one for each directory, end together: a group of records is a contiguous range of
offsets. Where groups end depends on the records from the first one of a group on, and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RotationRules:
    """The ends of files.

    Attributes:
        rows: records of a group, in all its files.
        interval: milliseconds from the time of a group's first record to that of the next group's; ``None`` for any.
        size: bytes of records, after which a group ends; ``None`` for any.
        ends_with_directory: whether a record of another directory than the one before begins a group.
        files: of a group at most; ``None`` for any number.
    """

    rows: int
    interval: int | None = None
    size: int | None = None
    ends_with_directory: bool = False
    files: int | None = None


@dataclass(frozen=True, slots=True)
class Records:
    """Records of one Kafka partition by offset, in columns.

    Attributes:
        offsets: as read.
        times: milliseconds since 1970.
        directories: a number for each directory.
        schemas: a number for each schema.
        sizes: bytes.
    """

    offsets: Numbers
    times: Numbers
    directories: Numbers
    schemas: Numbers
    sizes: Numbers

    def __len__(self) -> int:
        return len(self.offsets)


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file.

    Attributes:
        directory: number of its directory.
        schema: number of its records' schema.
        offset: of its first record.
    """

    directory: int
    schema: int
    offset: int


@dataclass(frozen=True, slots=True)
class Part:
    """Records of a batch that belong to one group.

    Attributes:
        begin: index of the first one.
        end: index after the last one.
        files: number of its file for each record.
        ended: the files of the group where it ends with these records; ``None`` while it is open. A group may end
            without further records: ``begin == end``.
    """

    begin: int
    end: int
    files: Numbers
    ended: dict[int, RecordFile] | None


@dataclass(slots=True)
class _Group:
    """The open group.

    Attributes:
        start: offset of the first record.
        base: time of the first record.
        rows: records so far.
        size: bytes so far.
        last: directory of the last record.
        numbers: of its files, by directory.
        files: by their numbers.
    """

    start: int
    base: int
    rows: int = 0
    size: int = 0
    last: int = -1
    numbers: dict[int, int] = field(default_factory=dict)
    files: dict[int, RecordFile] = field(default_factory=dict)


class PartitionFiles:
    """The open files of a Kafka partition.

    Args:
        rules: the ends of files.
        numbers: gives each file its number.
    """

    def __init__(self, rules: RotationRules, numbers: Iterator[int]) -> None:
        self._rules = rules
        self._numbers = numbers
        self._group: _Group | None = None

    @property
    def start(self) -> int | None:
        """Return the offset of the open group's first record; ``None`` without one."""
        return None if self._group is None else self._group.start

    def end_now(self) -> dict[int, RecordFile]:
        """End the open group, and return its files by their numbers."""
        ended, self._group = self._group, None
        return {} if ended is None else ended.files

    def take(self, records: Records) -> Iterator[Part]:
        """Add records, and yield the parts of groups that they make, in their order.

        Args:
            records: the next ones of the partition.
        """
        begin = 0
        while begin < len(records):
            group = self._group
            if group is None:
                group = self._group = _Group(int(records.offsets[begin]), int(records.times[begin]))
            end, is_ended = self._end(group, records, begin)
            files = self._assign(group, records, begin, end)
            if is_ended:
                self._group = None
            yield Part(begin, end, files, group.files if is_ended else None)
            begin = end

    def _end(self, group: _Group, records: Records, begin: int) -> tuple[int, bool]:
        """Return the index after the last record of the group, and whether the group ends there."""
        room = self._rules.rows - group.rows
        until = min(begin + room, len(records))
        ends = [begin + room]
        window = slice(begin, until)
        if self._rules.size is not None:
            full = group.size + np.cumsum(records.sizes[window]) >= self._rules.size
            ends.append(begin + _first(full) + 1)
        if self._rules.interval is not None:
            ends.append(begin + _first(records.times[window] - group.base >= self._rules.interval))
        if self._rules.ends_with_directory:
            ends.append(begin + self._first_elsewhere(group, records.directories[window]))
        if self._rules.files is not None:
            ends.append(begin + self._first_too_many(group, records.directories[window], self._rules.files))
        ends.append(begin + self._first_of_other_schema(group, records, window))
        end = min(ends)
        return (end, True) if end <= until else (until, False)

    def _first_elsewhere(self, group: _Group, directories: Numbers) -> int:
        before = np.concatenate([[group.last if group.rows else directories[0]], directories[:-1]])
        return _first(directories != before)

    def _first_too_many(self, group: _Group, directories: Numbers, most: int) -> int:
        seen, first = np.unique(directories, return_index=True)
        new = sorted(
            index
            for directory, index in zip(seen.tolist(), first.tolist(), strict=True)
            if directory not in group.numbers
        )
        room = most - len(group.numbers)
        return new[room] if len(new) > room else _NEVER

    def _first_of_other_schema(self, group: _Group, records: Records, window: slice) -> int:
        schemas = records.schemas[window]
        known = {file.schema for file in group.files.values()} | set(np.unique(schemas).tolist())
        if len(known) == 1:
            return _NEVER
        directories, first, places = np.unique(records.directories[window], return_index=True, return_inverse=True)
        expected = np.array(
            [
                group.files[group.numbers[directory]].schema if directory in group.numbers else schemas[index]
                for directory, index in zip(directories.tolist(), first.tolist(), strict=True)
            ]
        )
        return _first(schemas != expected[places])

    def _assign(self, group: _Group, records: Records, begin: int, end: int) -> Numbers:
        """Return the file of each record, and count the records."""
        if begin == end:
            return np.empty(0, np.int64)
        directories, first, places = np.unique(records.directories[begin:end], return_index=True, return_inverse=True)
        numbers = []
        for directory, index in zip(directories.tolist(), (first + begin).tolist(), strict=True):
            number = group.numbers.get(directory)
            if number is None:
                number = group.numbers[directory] = next(self._numbers)
                group.files[number] = RecordFile(directory, int(records.schemas[index]), int(records.offsets[index]))
            numbers.append(number)
        group.rows += end - begin
        group.size += int(records.sizes[begin:end].sum())
        group.last = int(records.directories[end - 1])
        return np.array(numbers, np.int64)[places]


_NEVER = 1 << 62


def _first(condition: npt.NDArray[np.bool_]) -> int:
    """Return the index of the first true value, beyond all of them without one."""
    found = int(np.argmax(condition)) if len(condition) else 0
    return found if len(condition) and condition[found] else _NEVER
