"""Which delivered records make an offset sync (Java: ``OffsetSyncWriter``). Pure: sends nothing.

A record is *due* when it is the first of its partition, when the translation of the last due one lies
``offset.lag.max`` or more behind it, when upstream offsets have a gap or go back, or when downstream offsets go back.
Due records are *pending* until they are sent. The latest record that is not due is *delayed* until the next commit.

Java sends at most ten syncs of a task at once and replaces those that wait, which makes syncs sparse under load. Here a
partition has at most ten pending syncs, spread over the records that they stand for, and as many on their way: Java is
asked to send after each record, which lets the partitions take turns, and here once for all records of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from connect_dagster.connectors.mirror.records import OffsetSync
from connect_dagster.plugin.records import TopicPartition

Offsets: TypeAlias = npt.NDArray[np.int64]

MOST_PENDING = 10
"""Syncs of one partition that wait, and that are on their way (Java: ``MAX_OUTSTANDING_OFFSET_SYNCS``, of a task)."""

_NONE = -1


def consecutive(firsts: Sequence[int] | Offsets, counts: Sequence[int] | Offsets) -> Offsets:
    """Return the offsets of runs that have no gap inside.

    Args:
        firsts: the first offset of each run.
        counts: the number of offsets of each run.
    """
    counts = np.asarray(counts, np.int64)
    before = np.cumsum(counts) - counts
    return np.repeat(np.asarray(firsts, np.int64) - before, counts) + np.arange(counts.sum(), dtype=np.int64)


@dataclass(slots=True)
class PartitionState:
    """The last offsets of a partition (Java: ``OffsetSyncWriter.PartitionState``).

    Attributes:
        lag_max: ``offset.lag.max``.
        upstream, downstream: of the last delivered record.
        last_sync: downstream offset of the last due record.
    """

    lag_max: int
    upstream: int = _NONE
    downstream: int = _NONE
    last_sync: int = _NONE

    def update(self, upstream: Offsets, downstream: Offsets) -> npt.NDArray[np.intp]:
        """Return the places of due records among delivered ones, and move on behind all of them.

        Args:
            upstream: offsets of records in the source partition, in the order of delivery; at least one.
            downstream: offsets of the same records in the target partition.
        """
        breaks = np.diff(upstream, prepend=self.upstream) != 1
        breaks |= np.diff(downstream, prepend=self.downstream) < 0
        breaks[0] |= self.last_sync == _NONE
        breaks |= self.lag_max < 0
        places = np.sort(np.concatenate([np.flatnonzero(breaks), *self._stale(breaks, downstream)]))
        self.upstream, self.downstream = int(upstream[-1]), int(downstream[-1])
        if places.size:
            self.last_sync = int(downstream[places[-1]])
        return places

    def _stale(self, breaks: npt.NDArray[np.bool_], downstream: Offsets) -> list[npt.NDArray[np.intp]]:
        """Return places of records to which the translation lies too far back, for each part between two breaks."""
        starts = np.flatnonzero(breaks)
        syncs = downstream[starts]
        if not breaks[0]:
            starts, syncs = np.insert(starts, 0, 0), np.insert(syncs, 0, self.last_sync)
        ends = np.append(starts[1:], len(downstream))
        # Of many parts, as of a compacted topic, few are long enough.
        long = np.flatnonzero(downstream[ends - 1] - (syncs + 1) >= self.lag_max)
        return [self._stale_within(downstream, int(starts[part]), int(ends[part]), int(syncs[part])) for part in long]

    def _stale_within(self, downstream: Offsets, start: int, end: int, sync: int) -> npt.NDArray[np.intp]:
        """Return the places in a part whose downstream offsets do not go back."""
        distance = max(self.lag_max + 1, 1)
        offsets = downstream[start:end]
        place = int(np.searchsorted(offsets, sync + distance))
        if offsets[-1] - offsets[0] == len(offsets) - 1:
            return start + np.arange(place, len(offsets), distance)
        places = []
        while place < len(offsets):
            places.append(start + place)
            place = int(np.searchsorted(offsets, offsets[place] + distance))
        return np.array(places, np.intp)


class OffsetSyncQueue:
    """The offset syncs of a source task between delivery and their own producer; for one thread at a time.

    Args:
        lag_max: ``offset.lag.max``.
    """

    def __init__(self, lag_max: int) -> None:
        self._lag_max = lag_max
        self._states: dict[TopicPartition, PartitionState] = {}
        self._pending: dict[TopicPartition, list[OffsetSync]] = {}
        self._delayed: dict[TopicPartition, OffsetSync] = {}

    @property
    def most_in_flight(self) -> int:
        """Return the number of syncs that may be on their way at once, for all partitions of which records came."""
        return MOST_PENDING * len(self._states)

    def delivered(self, partition: TopicPartition, upstream: Offsets, downstream: Offsets) -> None:
        """Take the offsets of delivered records of one source partition, in the order of delivery.

        Args:
            partition: the source partition.
            upstream: offsets in it; records that a transform dropped are not among them.
            downstream: offsets of the same records in the target partition.
        """
        if not len(upstream):
            return
        state = self._states.setdefault(partition, PartitionState(self._lag_max))
        due = state.update(upstream, downstream)
        last = len(upstream) - 1
        if due.size:
            self._delayed.pop(partition, None)
            chosen = _spread(due, upstream, downstream)
            self._queue(partition, [_sync(partition, upstream, downstream, place) for place in chosen])
        if not due.size or due[-1] != last:
            self._delayed[partition] = _sync(partition, upstream, downstream, last)

    def commit(self) -> None:
        """Make delayed syncs pending, after each commit of offsets: the end of a quiet topic becomes known."""
        for partition, sync in self._delayed.items():
            self._queue(partition, [sync])
        self._delayed.clear()

    def take(self, most: int) -> list[OffsetSync]:
        """Return pending syncs to send, those of one partition in the order of delivery.

        Args:
            most: the number of further syncs that may be in flight.
        """
        taken: list[OffsetSync] = []
        left: dict[TopicPartition, list[OffsetSync]] = {}
        for partition, syncs in self._pending.items():
            room = most - len(taken)
            taken += syncs[:room]
            if rest := syncs[room:]:
                left[partition] = rest
        self._pending = left
        return taken

    def _queue(self, partition: TopicPartition, syncs: list[OffsetSync]) -> None:
        waiting = [*self._pending.get(partition, ()), *syncs]
        if len(waiting) > MOST_PENDING:
            upstream = np.array([sync.upstream_offset for sync in waiting])
            downstream = np.array([sync.downstream_offset for sync in waiting])
            waiting = [waiting[place] for place in _spread(np.arange(len(waiting)), upstream, downstream)]
        self._pending[partition] = waiting


def _spread(places: npt.NDArray[np.intp], upstream: Offsets, downstream: Offsets) -> list[int]:
    """Return at most ten of the places, from the first to the last one, in steps that grow from the last one on.

    A reader keeps syncs that are the further apart the older they are (Java: ``OffsetSyncStore``), and so translates
    the more exactly the nearer a group is to the end. Places where offsets go back come first: a reader that missed
    them would translate with syncs of topics that are no longer there.
    """
    if len(places) <= MOST_PENDING:
        return [int(place) for place in places]
    back = np.flatnonzero((np.diff(upstream[places]) < 0) | (np.diff(downstream[places]) < 0)) + 1
    kept = {len(places) - 1, *(int(one) for one in back[-(MOST_PENDING - 1) :])}
    growing = np.rint(np.geomspace(1, len(places) - 1, MOST_PENDING - 1)).astype(int)
    steps = len(places) - 1 - np.maximum(growing, np.arange(1, MOST_PENDING))
    kept |= set([int(step) for step in steps if int(step) not in kept][: MOST_PENDING - len(kept)])
    return [int(places[one]) for one in sorted(kept)]


def _sync(partition: TopicPartition, upstream: Offsets, downstream: Offsets, place: int) -> OffsetSync:
    return OffsetSync(partition, int(upstream[place]), int(downstream[place]))
