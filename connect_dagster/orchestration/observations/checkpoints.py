"""Offsets of consumer groups that MirrorMaker translated, and whether a group can move to the target.

A checkpoint is emitted only when it has something new: that of a group that stands still gets old, and is right. With
the offset that the group has committed in the source it can be told from one that is late, and partitions are found
that the group consumes and that have no checkpoint.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from confluent_kafka import Message

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.kafka.access import Bootstrap, client_settings
from connect_dagster.kafka.errors import BrokersError
from connect_dagster.kafka.groups import fetch_group_offsets
from connect_dagster.kafka.topic_reading import content_bytes, read_topic
from connect_dagster.orchestration.failures import listed
from connect_dagster.orchestration.observations.mirrored_records import fetch_offset_syncs
from connect_dagster.orchestration.observations.topic_offsets import Bounds, Partition, fetch_topic_bounds

_PARTITION = 0
_MILLISECONDS = 1000

TopicChoice = Callable[[Iterable[str]], Sequence[str]]
"""Returns those of topics in the source that are mirrored."""

GroupPlace = tuple[str, Partition]
"""A group and a partition in the target."""


@dataclass(frozen=True, slots=True)
class TranslatedOffset:
    """The newest checkpoint of a group for one partition, or a partition that has none.

    Attributes:
        group: Its id.
        topic: In the target.
        partition: Its number.
        upstream: The offset that the group had committed in the source; None without a checkpoint.
        downstream: Its translation; None without a checkpoint.
        emitted_at: When the checkpoint was emitted, in epoch seconds; None without one.
        bounds: Of the partition in the target; None when the target does not have it.
        committed: The offset that the group has in the source now; None when it is not known.
        translation: Translation of that offset by the offset syncs; None when it is not known.
        metadata: Text that the group committed with it.
    """

    group: str
    topic: str
    partition: int
    upstream: int | None = None
    downstream: int | None = None
    emitted_at: float | None = None
    bounds: Bounds | None = None
    committed: int | None = None
    translation: int | None = None
    metadata: str = ""

    @property
    def name(self) -> str:
        """Return the partition in the target as text."""
        return f"{self.topic}-{self.partition}"

    @property
    def has_checkpoint(self) -> bool:
        """Return whether the group has a checkpoint of the partition."""
        return self.downstream is not None

    @property
    def lag(self) -> int | None:
        """Return the records that the group would read in the target; None when that is not known."""
        if self.bounds is None or self.downstream is None:
            return None
        return max(0, self.bounds.end - max(self.bounds.start, self.downstream))

    @property
    def is_beyond(self) -> bool:
        """Return whether the translation is beyond the end of the partition, as of one that was created again."""
        return self.bounds is not None and self.downstream is not None and self.downstream > self.bounds.end

    @property
    def is_deleted(self) -> bool:
        """Return whether the target has deleted the record of the translation, but not all behind it."""
        if self.bounds is None or self.downstream is None:
            return False
        return self.downstream < self.bounds.start < self.bounds.end

    def age(self, now: float) -> float | None:
        """Return the seconds since the checkpoint was emitted; None without one."""
        return None if self.emitted_at is None else max(0.0, now - self.emitted_at)

    @property
    def is_current(self) -> bool:
        """Return whether MirrorMaker would emit nothing new for the offset that the group has in the source.

        It emits nothing for a group that moved on between two offset syncs, as its translation stays as it is.
        """
        if self.committed is None or self.upstream is None or self.downstream is None:
            return False
        if self.committed <= self.upstream:
            return self.committed == self.upstream
        return self.translation is not None and self.translation <= self.downstream


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
    ages = [age for one in offsets if (age := one.age(now)) is not None]
    if not ages:
        return Readiness(group, ("it has no checkpoint",), 0, None)
    lag = sum(one.lag or 0 for one in offsets)
    return Readiness(group, tuple(_obstacles(offsets, lag, now, max_age, max_lag)), lag, min(ages))


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
    translated = [one for one in offsets if one.has_checkpoint]
    if missing := {one.topic for one in translated if one.bounds is None}:
        yield f"the target lacks partitions of {listed(missing)}"
    if without := [one.name for one in offsets if not one.has_checkpoint]:
        yield f"it has no checkpoint of {listed(without)}"
    if beyond := [one.name for one in offsets if one.is_beyond]:
        yield f"its checkpoint is beyond the end of {listed(beyond)}"
    if deleted := [one.name for one in offsets if one.is_deleted]:
        yield f"records behind its checkpoint are deleted from {listed(deleted)}"
    old = [one for one in translated if (one.age(now) or 0.0) > max_age]
    # Without its offsets in the source, any checkpoint shows that the group is translated still.
    if any(one.committed is not None for one in translated):
        if late := [one for one in old if one.committed is not None and not one.is_current]:
            yield f"checkpoints of {len(late)} partitions are late"
    elif len(old) == len(translated):
        yield f"its newest checkpoint is {min(one.age(now) or 0.0 for one in old):.0f} s old"
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
    """Read the translated offsets of all groups of a flow, and the bounds of their partitions.

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
    return [replace(one, bounds=bounds.get((one.topic, one.partition))) for one in found]


def with_committed(
    offsets: Iterable[TranslatedOffset],
    names: MirrorNames,
    source: Bootstrap,
    target: Bootstrap,
    timeout: float,
    *,
    groups: Collection[str] = (),
    mirrored: TopicChoice | None = None,
) -> list[TranslatedOffset]:
    """Return translated offsets with those that the groups have in the source now, and partitions without a checkpoint.

    Partitions that have no record in either cluster are left out: consumers commit offsets of these too, and nothing
    can be lost.

    Args:
        offsets: Translated offsets.
        names: The flow.
        source: Brokers of the source.
        target: Brokers of the target.
        timeout: Longest time without a response of the brokers, in seconds.
        groups: Ids of groups that may have no checkpoint at all.
        mirrored: Chooses the topics whose partitions need a checkpoint; None where that is not known.

    Raises:
        KafkaException: The brokers do not respond in time.
        ConfigError: kafka-python has no such login.
    """
    found = {_place(one): one for one in offsets}
    asked = sorted({*groups, *(group for group, _ in found)})
    committed = _committed(fetch_group_offsets(client_settings(source), asked, timeout), names)
    moved = {
        place: committed[place]
        for place, one in found.items()
        if place in committed and committed[place][1] != one.upstream
    }
    translations = _translations(moved, names, source, target, timeout)
    annotated = [
        replace(one, committed=committed[place][1], translation=translations.get(place)) if place in committed else one
        for place, one in found.items()
    ]
    chosen = set(mirrored({topic for (topic, _), _ in committed.values()})) if mirrored else set()
    without = {
        place: upstream for place, (upstream, _) in committed.items() if place not in found and upstream[0] in chosen
    }
    if not without:
        return annotated
    at_source = fetch_topic_bounds(source, {topic for topic, _ in without.values()}, timeout)
    at_target = fetch_topic_bounds(target, {topic for _, (topic, _) in without}, timeout)
    return annotated + [
        TranslatedOffset(group, *remote, bounds=at_target.get(remote), committed=committed[group, remote][1])
        for (group, remote), upstream in without.items()
        if not (_is_empty(at_source.get(upstream)) and _is_empty(at_target.get(remote)))
    ]


def _place(one: TranslatedOffset) -> GroupPlace:
    return one.group, (one.topic, one.partition)


def _is_empty(bounds: Bounds | None) -> bool:
    return bounds is None or bounds.start == bounds.end


def _committed(
    known: Mapping[str, Mapping[Partition, tuple[int, str]]], names: MirrorNames
) -> dict[GroupPlace, tuple[Partition, int]]:
    """Return partition and offset in the source, by group and partition in the target."""
    return {
        (group, (remote, number)): ((topic, number), offset)
        for group, own in known.items()
        for (topic, number), (offset, _) in own.items()
        if offset >= 0 and (remote := names.remote(topic)) is not None
    }


def _translations(
    moved: Mapping[GroupPlace, tuple[Partition, int]],
    names: MirrorNames,
    source: Bootstrap,
    target: Bootstrap,
    timeout: float,
) -> dict[GroupPlace, int]:
    """Return the translations of offsets in the source, as far as they are known."""
    if not moved:
        return {}
    # In runs only: definitions load no connector's code.
    from connect_dagster.connectors.mirror.records import OffsetSync
    from connect_dagster.connectors.mirror.translation import OffsetSyncStore
    from connect_dagster.plugin.records import TopicPartition

    try:
        syncs = fetch_offset_syncs(names, source, target, timeout)
    except BrokersError:  # without them a checkpoint is late as soon as its group has moved on
        return {}
    store = OffsetSyncStore(must_read_to_end=False)
    for partition in {partition for partition, _ in moved.values()}:
        for pair in syncs.get(partition, ()):
            store.apply(OffsetSync(TopicPartition(*partition), *pair))
    store.finish_first_read()
    found = {place: store.translate(TopicPartition(*partition), at) for place, (partition, at) in moved.items()}
    return {place: translation for place, translation in found.items() if translation is not None}


def _record(message: Message) -> tuple[bytes | None, bytes | None, float]:
    return content_bytes(message.key()), content_bytes(message.value()), message.timestamp()[1] / _MILLISECONDS
