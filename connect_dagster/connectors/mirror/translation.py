"""Offsets of consumer groups in the target cluster, from offset syncs (Java: ``OffsetSyncStore``). Pure.

Of each source partition 64 syncs are kept, the newest first, in places whose distance from the newest grows by powers
of two: many of them near the end of the topic, few far behind it. Two neighbours, or the same sync in both places,
obey two rules (Java's invariants B and C, of which all others follow):

- *recent*: in place ``n + 1`` the upstream offset is at most ``2 ** n`` before that in place ``n``;
- *apart*: it is at least ``2 ** (n - 2)`` before it, and at least 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from connect_dagster.connectors.mirror.records import Checkpoint, OffsetSync
from connect_dagster.plugin.records import TopicPartition

SYNCS_PER_PARTITION = 64
TOO_OLD = -1
"""The translation of an offset before all syncs that are kept."""

Syncs = tuple[OffsetSync, ...]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """An offset that a consumer group committed, with its metadata."""

    offset: int
    metadata: str = ""


class OffsetSyncStore:
    """The syncs of all partitions, read from their topic. One thread may apply syncs while others translate.

    Args:
        must_read_to_end: of syncs before the end of the first read only the last one counts, because offsets of an
            earlier task may have been translated with any of them. ``False`` when the checkpoints of that task are
            known (KAFKA-15906).
    """

    def __init__(self, *, must_read_to_end: bool = True) -> None:
        self._must_read_to_end = must_read_to_end
        self._read_to_end = False
        self._syncs: dict[TopicPartition, Syncs] = {}

    def apply(self, sync: OffsetSync) -> None:
        """Take the next sync of the topic."""
        known = self._syncs.get(sync.topic_partition)
        only_last = self._must_read_to_end and not self._read_to_end
        if known is None or only_last or sync.upstream_offset < known[0].upstream_offset:
            syncs = (sync,) * SYNCS_PER_PARTITION
        else:
            syncs = _with_newest(known, sync)
        self._syncs[sync.topic_partition] = syncs

    def finish_first_read(self) -> None:
        """Translate from now on: the topic was read to its end."""
        self._read_to_end = True

    def syncs(self, partition: TopicPartition) -> Syncs:
        """Return the sync in each of the 64 places of a source partition; nothing where none is known."""
        return self._syncs.get(partition, ())

    def translate(self, partition: TopicPartition, upstream: int) -> int | None:
        """Return the offset in the target partition from which a group goes on without missing a record.

        That is never more than one record after the newest sync before the group's offset: of the records behind it
        an unknown number may not be in the target.

        Args:
            partition: the source partition.
            upstream: the group's offset in it.

        Returns:
            The offset; ``TOO_OLD``; or ``None`` while no sync is known, or the first read has not ended.
        """
        syncs = self._syncs.get(partition)
        if syncs is None or not self._read_to_end:
            return None
        for sync in syncs:
            if sync.upstream_offset <= upstream:
                return sync.downstream_offset + (sync.upstream_offset < upstream)
        return TOO_OLD


def checkpoints_to_emit(
    group: str,
    committed: Mapping[TopicPartition, CommittedOffset | None],
    *,
    store: OffsetSyncStore,
    rename: Callable[[str], str],
    emitted: Mapping[TopicPartition, Checkpoint],
) -> list[Checkpoint]:
    """Return a group's checkpoints that say more than those before (Java: ``MirrorCheckpointTask``).

    Args:
        group: the group's id.
        committed: its offsets in the source cluster, of topics that the topic filter accepts; ``None`` where a
            partition has none.
        store: translates them.
        rename: returns the name of a topic in the target cluster.
        emitted: the group's last checkpoint for each target partition.
    """
    found: dict[TopicPartition, Checkpoint] = {}
    for source, offset in committed.items():
        downstream = None if offset is None else store.translate(source, offset.offset)
        if offset is None or downstream is None or downstream < 0:
            continue
        target = TopicPartition(rename(source.topic), source.partition)
        checkpoint = Checkpoint(group, target, offset.offset, downstream, offset.metadata)
        if _is_news(checkpoint, emitted.get(target)):
            found[target] = checkpoint
    return list(found.values())


def _is_news(checkpoint: Checkpoint, last: Checkpoint | None) -> bool:
    """Return whether a group went back in the source, or goes on in the target."""
    return (
        last is None
        or checkpoint.upstream_offset < last.upstream_offset
        or checkpoint.downstream_offset > last.downstream_offset
    )


def _with_newest(known: Syncs, newest: OffsetSync) -> Syncs:
    """Return the syncs with another one in the first place.

    Those that are not recent enough any more make room, from the newest on: by a sync that was nearer to the first
    place, or else by their new neighbour. The rest stays as it is.
    """
    syncs = [newest, *known[1:]]
    unused = 0
    for place in range(1, SYNCS_PER_PARTITION):
        newer = syncs[place - 1]
        if _is_recent(newer, syncs[place], place - 1):
            break
        # One that is too near to this neighbour is so to all that follow.
        while unused < place and (known[unused] is newer or not _is_apart(newer, known[unused], place - 1)):
            unused += 1
        syncs[place] = newer
        if unused < place and _fits(known, unused, newer, place):
            syncs[place] = known[unused]
            unused += 1
    return tuple(syncs)


def _fits(known: Syncs, unused: int, newer: OffsetSync, place: int) -> bool:
    """Return whether a sync that is apart from its newer neighbour may have a place."""
    last = place + 1 == SYNCS_PER_PARTITION
    return _is_recent(newer, known[unused], place - 1) and (last or _is_apart(known[unused], known[place + 1], place))


def _is_recent(newer: OffsetSync, older: OffsetSync, place: int) -> bool:
    """Check the upper bound of two neighbours, of which the newer is in the given place."""
    return newer is older or newer.upstream_offset - older.upstream_offset <= 1 << place


def _is_apart(newer: OffsetSync, older: OffsetSync, place: int) -> bool:
    """Check the lower bound of two neighbours, of which the newer is in the given place."""
    return newer is older or newer.upstream_offset - older.upstream_offset >= 1 << max(place - 2, 0)
