"""Records of a flow in both clusters, found and compared by the offset syncs that MirrorMaker writes.

An offset sync is the offset of a record in the source and that of the same record in the target.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from confluent_kafka import Message

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap
from connect_dagster.kafka.topic_reading import content_bytes, count_records, fetch_records, read_topic
from connect_dagster.orchestration.observations.topic_offsets import Partition, fetch_topic_bounds

_PARTITION = 0
Item = TypeVar("Item")

MISSING = ("missing in the target",)

Pair = tuple[int, int]
"""Offsets of one record in the source and in the target."""


@dataclass(frozen=True, slots=True)
class ComparedRecord:
    """A record that was looked for in both clusters.

    Attributes:
        partition: In the source.
        upstream: Its offset there.
        downstream: Its offset in the target.
        difference: Names of its parts that differ, :data:`MISSING` for a record that the target should have, ``None``
            for one that one of the clusters has no longer.
    """

    partition: Partition
    upstream: int
    downstream: int
    difference: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Distances:
    """Numbers of offsets between the oldest and the newest known sync of all partitions.

    They are equal where all records of the source are in the target, each once. The source has more offsets where it
    has transactions, or is compacted; the target where records were written again after a failure.

    Attributes:
        upstream: In the source.
        downstream: In the target.
    """

    upstream: int
    downstream: int


def fetch_offset_syncs(
    names: MirrorNames, source: Bootstrap, target: Bootstrap, timeout: float
) -> dict[Partition, list[Pair]]:
    """Read the offset syncs of a flow by partition of the source, in their order.

    For runs: it reads their topic with a consumer.

    Args:
        names: The flow.
        source: Brokers of the source.
        target: Brokers of the target.
        timeout: Longest time without a response, in seconds.

    Raises:
        BrokersError: The topic does not exist, or cannot be read.
    """
    brokers = source if names.syncs_at_source else target
    messages = read_topic(brokers, names.offset_syncs, timeout, _PARTITION, "read_uncommitted")
    return offset_syncs((content_bytes(message.key()), content_bytes(message.value())) for message in messages)


def offset_syncs(records: Iterable[tuple[bytes | None, bytes | None]]) -> dict[Partition, list[Pair]]:
    """Return the offset syncs by partition of the source; records that are none are left out.

    Offsets that go back are of a topic that was created again: the syncs before them are of the deleted one.

    Args:
        records: Key and value of the records of a topic of offset syncs, in their order.
    """
    # In runs only: definitions load no connector's code.
    from connect_dagster.connectors.mirror.records import OffsetSync
    from connect_dagster.protocol.wire import MalformedBytes

    found: dict[Partition, list[Pair]] = {}
    for key, value in records:
        try:
            sync = OffsetSync.decode(key, value)
        except MalformedBytes:
            continue
        if sync is None:
            continue
        pair = sync.upstream_offset, sync.downstream_offset
        pairs = found.setdefault((sync.topic_partition.topic, sync.topic_partition.partition), [])
        if pairs and (pair[0] < pairs[-1][0] or pair[1] < pairs[-1][1]):
            pairs.clear()
        pairs.append(pair)
    return found


def distances(syncs: Mapping[Partition, Sequence[Pair]]) -> Distances:
    """Return the numbers of offsets between the oldest and the newest sync, over all partitions."""
    ends = [(pairs[0], pairs[-1]) for pairs in syncs.values()]
    return Distances(
        sum(last[0] - first[0] for first, last in ends),
        sum(last[1] - first[1] for first, last in ends),
    )


def sample(syncs: Mapping[Partition, Sequence[Pair]], size: int) -> dict[Partition, list[Pair]]:
    """Return at most ``size`` syncs, spread over the partitions and over those known of each, the newest one first.

    Args:
        syncs: By partition, each with one at least.
        size: Number of syncs, at least 1.
    """
    chosen = _spread(sorted(syncs), size)
    each = max(1, size // max(1, len(chosen)))
    return {partition: _spread(list(dict.fromkeys(reversed(syncs[partition]))), each) for partition in chosen}


def fetch_compared(
    source: Bootstrap,
    target: Bootstrap,
    syncs: Mapping[Partition, Sequence[Pair]],
    remote: Mapping[str, str],
    compacted: Collection[str],
    timeout: float,
) -> list[ComparedRecord]:
    """Read the records of syncs in both clusters, and compare their keys, values and headers.

    A record that the target does not have, between the first and the last one of its partition there, is missing where
    the topic is not compacted.

    Args:
        source: Brokers of the source.
        target: Brokers of the target.
        syncs: By partition of the source.
        remote: Name in the target of each topic of the syncs.
        compacted: Topics in the target whose records may disappear one by one.
        timeout: Longest time without a response, in seconds.

    Raises:
        BrokersError: Brokers refuse, or do not respond in time.
    """
    pairs = [(topic, number, *pair) for (topic, number), known in syncs.items() for pair in known]
    sent = fetch_records(source, [(topic, number, up) for topic, number, up, _ in pairs], timeout)
    arrived = fetch_records(target, [(remote[topic], number, down) for topic, number, _, down in pairs], timeout)
    # Asked for after the records: what is deleted meanwhile is not missing.
    bounds = fetch_topic_bounds(target, {remote[topic] for topic, _ in syncs}, timeout)

    def difference(topic: str, number: int, up: int, down: int) -> tuple[str, ...] | None:
        record, copy = sent.get((topic, number, up)), arrived.get((remote[topic], number, down))
        edge = bounds.get((remote[topic], number))
        is_expected = edge is not None and edge.start <= down < edge.end and remote[topic] not in compacted
        return MISSING if record is not None and copy is None and is_expected else record_difference(record, copy)

    return [ComparedRecord((pair[0], pair[1]), pair[2], pair[3], difference(*pair)) for pair in pairs]


def shrunk(syncs: Mapping[Partition, Sequence[Pair]], most: int) -> dict[Partition, tuple[Pair, Pair]]:
    """Return the newest two syncs of each partition, one after the other, with fewer offsets in the target.

    Args:
        syncs: By partition.
        most: Offsets in the source between all of them together; partitions beyond are left out.
    """
    found: dict[Partition, tuple[Pair, Pair]] = {}
    for partition, pairs in syncs.items():
        for newer, older in pairwise(reversed(pairs)):
            count = newer[0] - older[0]
            if newer[1] - older[1] < count <= most:
                found[partition] = older, newer
                most -= count
                break
    return found


def fetch_missing(
    source: Bootstrap, syncs: Mapping[Partition, tuple[Pair, Pair]], timeout: float
) -> dict[Partition, int]:
    """Return the number of records between two syncs that the target does not have, of partitions with any.

    Offsets of the source without a record, as those of transactions and of records that compaction removed, do not
    count: its records are read.

    Args:
        source: Brokers of the source.
        syncs: Two of each partition, the older one first.
        timeout: Longest time without a response, in seconds.

    Raises:
        BrokersError: Brokers refuse, or do not respond in time.
    """
    missing = {
        partition: count_records(source, partition, older[0] + 1, newer[0] + 1, timeout) - (newer[1] - older[1])
        for partition, (older, newer) in syncs.items()
    }
    return {partition: count for partition, count in missing.items() if count > 0}


def record_difference(sent: Message | None, arrived: Message | None) -> tuple[str, ...] | None:
    """Return the names of the parts of two records that differ; ``None`` when there is only one of them."""
    if sent is None or arrived is None:
        return None
    parts = {
        "key": (sent.key(), arrived.key()),
        "value": (sent.value(), arrived.value()),
        "headers": (sent.headers() or [], arrived.headers() or []),
    }
    return tuple(name for name, (one, other) in parts.items() if one != other)


def _spread(items: Sequence[Item], size: int) -> list[Item]:
    """Return at most ``size`` of the items in equal steps, the first one among them."""
    return list(items[:: max(1, -(-len(items) // size))])
