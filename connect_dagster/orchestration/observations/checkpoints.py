"""Offsets of consumer groups that MirrorMaker translated, and whether a group can move to the target.

A checkpoint is emitted only when it has something new: that of a group that stands still gets old, and is right. With
the offset that the group has committed in the source it can be told from one that is late.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import Message

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.groups import fetch_group_offsets
from connect_dagster.kafka.topic_reading import content_bytes, read_topic
from connect_dagster.orchestration.observations.topic_offsets import Partition, fetch_topic_bounds

_PARTITION = 0
_NO_OFFSET = -1, ""
_MILLISECONDS = 1000


@dataclass(frozen=True, slots=True)
class TranslatedOffset:
    """The newest checkpoint of a group for one partition.

    Attributes:
        group: Its id.
        topic: In the target.
        partition: Its number.
        upstream: The offset that the group had committed in the source.
        downstream: Its translation.
        emitted_at: When it was emitted, in epoch seconds.
        end: End of the partition in the target; None when the target does not have it.
        committed: The offset that the group has in the source now; None when it is not known.
        metadata: Text that the group committed with it.
    """

    group: str
    topic: str
    partition: int
    upstream: int
    downstream: int
    emitted_at: float
    end: int | None = None
    committed: int | None = None
    metadata: str = ""

    @property
    def lag(self) -> int | None:
        """Return the records that the group would read in the target; None when the target has no such partition."""
        return None if self.end is None else max(0, self.end - self.downstream)

    def age(self, now: float) -> float:
        """Return the seconds since it was emitted."""
        return max(0.0, now - self.emitted_at)

    def is_late(self, now: float, max_age: float) -> bool:
        """Return whether it is older than ``max_age`` seconds, and not known to be what the group has in the source."""
        return self.committed != self.upstream and self.age(now) > max_age


@dataclass(frozen=True, slots=True)
class Readiness:
    """The readiness of a group for the target.

    Attributes:
        group: Its id.
        obstacles: Reasons against it, in words; none when it is ready.
        lag: Records that it would read in the target, as far as they are known.
        age: Seconds since its newest checkpoint; None without one.
    """

    group: str
    obstacles: tuple[str, ...]
    lag: int
    age: float | None

    @property
    def is_ready(self) -> bool:
        """Return whether nothing is against it."""
        return not self.obstacles


def group_readiness(
    group: str, offsets: Sequence[TranslatedOffset], *, now: float, max_age: float, max_lag: int
) -> Readiness:
    """Return whether a group can go on in the target.

    Args:
        group: Its id.
        offsets: Its translated offsets.
        now: Epoch seconds.
        max_age: Largest age of a checkpoint, in seconds.
        max_lag: Most records that it may have to read, over all partitions.
    """
    if not offsets:
        return Readiness(group, ("it has no checkpoint",), 0, None)
    lag = sum(one.lag or 0 for one in offsets)
    age = min(one.age(now) for one in offsets)
    return Readiness(group, tuple(_obstacles(offsets, lag, now, max_age, max_lag)), lag, age)


def readiness(
    offsets: Iterable[TranslatedOffset], groups: Iterable[str] | None, *, now: float, max_age: float, max_lag: int
) -> list[Readiness]:
    """Return whether groups can go on in the target, in their order.

    Args:
        offsets: Translated offsets of a flow.
        groups: Ids of the groups; None for all that have a checkpoint.
        now: As of :func:`group_readiness`, like the others.
        max_age: As there.
        max_lag: As there.
    """
    found = by_group(offsets)
    return [
        group_readiness(group, found.get(group, []), now=now, max_age=max_age, max_lag=max_lag)
        for group in (found if groups is None else groups)
    ]


def _obstacles(
    offsets: Sequence[TranslatedOffset], lag: int, now: float, max_age: float, max_lag: int
) -> Iterator[str]:
    if missing := sorted({one.topic for one in offsets if one.end is None}):
        yield f"the target lacks partitions of {', '.join(missing)}"
    # Without its offsets in the source, any checkpoint shows that the group is translated still.
    known = [one for one in offsets if one.committed is not None]
    late = [one for one in known if one.is_late(now, max_age)]
    if late:
        yield f"checkpoints of {len(late)} partitions are late"
    elif not known and (age := min(one.age(now) for one in offsets)) > max_age:
        yield f"its newest checkpoint is {age:.0f} s old"
    if lag > max_lag:
        yield f"it would read {lag} records"


def by_group(offsets: Iterable[TranslatedOffset]) -> dict[str, list[TranslatedOffset]]:
    """Return translated offsets by group, in order."""
    groups: dict[str, list[TranslatedOffset]] = {}
    for one in sorted(offsets, key=lambda one: (one.group, one.topic, one.partition)):
        groups.setdefault(one.group, []).append(one)
    return groups


def newest_checkpoints(records: Iterable[tuple[bytes | None, bytes | None, float]]) -> list[TranslatedOffset]:
    """Return the newest checkpoint of each group and partition; records that are none are left out.

    Args:
        records: Key, value and time (epoch seconds) of the records of a topic of checkpoints, in their order.
    """
    # Most definitions have no flow, and load no connector's code.
    from connect_dagster.connectors.mirror.records import Checkpoint
    from connect_dagster.protocol.wire import MalformedBytes

    newest: dict[tuple[str, str, int], TranslatedOffset] = {}
    for key, value, emitted_at in records:
        try:
            found = Checkpoint.decode(key, value)
        except MalformedBytes:
            continue
        if found is not None:
            topic, partition = found.topic_partition.topic, found.topic_partition.partition
            newest[found.group, topic, partition] = TranslatedOffset(
                found.group,
                topic,
                partition,
                found.upstream_offset,
                found.downstream_offset,
                emitted_at,
                metadata=found.metadata,
            )
    return list(newest.values())


def fetch_translated_offsets(target: Bootstrap, names: MirrorNames, timeout: float) -> list[TranslatedOffset]:
    """Read the translated offsets of all groups of a flow, and the ends of their partitions.

    For runs: it reads the topic of checkpoints with a consumer.

    Args:
        target: Brokers of the target.
        names: The flow.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        MissingTopicError: The topic of checkpoints does not exist.
        BrokersError: It cannot be read.
        KafkaException: Brokers do not respond in time.
    """
    messages = read_topic(target, names.checkpoints, timeout, _PARTITION, "read_uncommitted")
    found = newest_checkpoints(map(_record, messages))
    bounds = fetch_topic_bounds(target, {one.topic for one in found}, timeout)
    return [
        replace(one, end=bounds[place].end if (place := (one.topic, one.partition)) in bounds else None)
        for one in found
    ]


def with_committed(
    offsets: Iterable[TranslatedOffset], source: Bootstrap, names: MirrorNames, timeout: float
) -> list[TranslatedOffset]:
    """Return translated offsets with those that the groups have in the source now.

    Args:
        offsets: Translated offsets.
        source: Brokers of the source.
        names: The flow.
        timeout: Longest time without a response of the brokers, in seconds.

    Raises:
        KafkaException: The brokers do not respond in time.
        ConfigError: kafka-python has no such login.
    """
    found = list(offsets)
    committed = _committed(source, names, found, timeout)
    return [replace(one, committed=committed.get((one.group, (one.topic, one.partition)))) for one in found]


def _committed(
    source: Bootstrap, names: MirrorNames, found: Iterable[TranslatedOffset], timeout: float
) -> Mapping[tuple[str, Partition], int]:
    """Return the offsets of groups in the source, by group and partition in the target."""
    committed: dict[tuple[str, Partition], int] = {}
    groups = by_group(found)
    known = fetch_group_offsets(client_settings(source), list(groups), timeout)
    for group, offsets in groups.items():
        own = known.get(group, {})
        for one in offsets:
            # A topic that came from the target has its first name there, which does not tell its name in the source.
            upstream = names.upstream(one.topic)
            if upstream is not None and (offset := own.get((upstream, one.partition), _NO_OFFSET)[0]) >= 0:
                committed[group, (one.topic, one.partition)] = offset
    return committed


def _record(message: Message) -> tuple[bytes | None, bytes | None, float]:
    return content_bytes(message.key()), content_bytes(message.value()), message.timestamp()[1] / _MILLISECONDS
