"""The order in which the records of a batch reach a table, equivalent to one by one. Pure.

Records with different keys may go in any order, and all at once. Of one key, what counts is what it was deleted by and
the last record after that; where records of one key fill different columns (frames of several schemas), each of them
counts and they go in rounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

TOPIC, PARTITION, OFFSET, KEY, TOMBSTONE = "topic", "partition", "offset", "key", "tombstone"
"""Columns by which rows are put in order; ``key`` and ``tombstone`` only where there are keys."""

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MergeStep:
    """A write or delete of some rows of one frame.

    Attributes:
        frame: number of the frame.
        rows: numbers of its rows; ``None`` for all of them.
        deletes: whether rows with these keys are deleted, or else written.
    """

    frame: int
    rows: _Numbers | None
    deletes: bool = False


def in_any_order(frames: Sequence[pa.Table]) -> list[MergeStep]:
    """Return the steps for records without keys."""
    return [MergeStep(number, None) for number, frame in enumerate(frames) if frame.num_rows]


def by_key(frames: Sequence[pa.Table], *, last_only: bool) -> list[MergeStep]:
    """Return the steps for records with keys, for one table.

    Args:
        frames: with the columns named above.
        last_only: whether of several records of one key in a frame only the last one counts.
    """
    frames = list(frames)
    if len(frames) == 1 and _is_plain(frames[0]):
        return in_any_order(frames)
    rows = _Rows.of(frames)
    return [*_deletions(rows), *_writes(rows, last_only=last_only)]


@dataclass(frozen=True, slots=True)
class _Rows:
    """All rows, those of a key together and in their order.

    Attributes:
        frame, row: where each is.
        first: whether it is the first of its key.
        group: number of its key.
        tombstone: whether it deletes.
    """

    frame: _Numbers
    row: _Numbers
    first: npt.NDArray[np.bool_]
    group: _Numbers
    tombstone: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, frames: Sequence[pa.Table]) -> _Rows:
        """Collect the rows of all frames."""
        frame = np.concatenate([np.full(one.num_rows, number) for number, one in enumerate(frames)])
        row = np.concatenate([np.arange(one.num_rows) for one in frames])
        keys, topics = (_codes(frames, name) for name in (KEY, TOPIC))
        partition, offset, tombstone = (
            np.concatenate([_numpy(one, name) for one in frames]) for name in (PARTITION, OFFSET, TOMBSTONE)
        )
        order = np.lexsort((offset, partition, topics, keys))
        keys = keys[order]
        first = np.ones(len(keys), bool)
        first[1:] = keys[1:] != keys[:-1]
        return cls(frame[order], row[order], first, np.cumsum(first) - 1, tombstone[order])

    @property
    def last_deletion(self) -> _Numbers:
        """Return the index of the last tombstone of each key, -1 where there is none."""
        places = np.where(self.tombstone, np.arange(len(self.row)), -1)
        return np.maximum.reduceat(places, np.flatnonzero(self.first))


def _is_plain(frame: pa.Table) -> bool:
    """Return whether it has neither deletes nor repeated keys."""
    if pc.any(frame[TOMBSTONE]).as_py():
        return False
    distinct: int = pc.count_distinct(frame[KEY], mode="all").as_py()
    return bool(distinct == frame.num_rows)


def _deletions(rows: _Rows) -> Iterator[MergeStep]:
    last = rows.last_deletion
    places = last[last >= 0]
    yield from _by_frame(rows, places, deletes=True)


def _writes(rows: _Rows, *, last_only: bool) -> Iterator[MergeStep]:
    places = np.flatnonzero(np.arange(len(rows.row)) > rows.last_deletion[rows.group])
    if not len(places):
        return
    group, frame = rows.group[places], rows.frame[places]
    begins = np.ones(len(places), bool)
    begins[1:] = group[1:] != group[:-1]
    changes = begins.copy()
    changes[1:] |= frame[1:] != frame[:-1]
    if last_only:  # the last before the frame, or the key, changes
        ends = np.append(changes[1:], True)
        places, begins, changes = places[ends], begins[changes], changes[changes]
    run = np.cumsum(changes)
    rounds = run - np.maximum.accumulate(np.where(begins, run, 0))
    for number in range(int(rounds.max()) + 1):
        yield from _by_frame(rows, places[rounds == number], deletes=False)


def _by_frame(rows: _Rows, places: _Numbers, *, deletes: bool) -> Iterator[MergeStep]:
    frames = rows.frame[places]
    for frame in np.unique(frames):
        yield MergeStep(int(frame), np.sort(rows.row[places[frames == frame]]), deletes)


def _codes(frames: Sequence[pa.Table], name: str) -> _Numbers:
    """Return a number for each distinct value."""
    together = pa.chunked_array([chunk for one in frames for chunk in one[name].chunks], frames[0][name].type)
    return np.asarray(together.combine_chunks().dictionary_encode().indices.fill_null(-1), np.int64)


def _numpy(frame: pa.Table, name: str) -> npt.NDArray[np.int64]:
    return np.asarray(frame[name].to_numpy())
