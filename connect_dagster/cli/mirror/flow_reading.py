"""A flow of a file at one moment, as the brokers of its clusters report it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message

from connect_dagster.client.mirror_names import MirrorNames
from connect_dagster.connectors.mirror.checkpoint.connector import groups_to_translate
from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig
from connect_dagster.connectors.mirror.client_settings import (
    BOOTSTRAP_SERVERS,
    CHECKPOINT_SOURCE_ADMIN,
    REPLICATION_SOURCE_ADMIN,
    REPLICATION_TARGET_ADMIN,
    Role,
)
from connect_dagster.connectors.mirror.flow_configs import FlowConfig
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.records import Heartbeat
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError, UnansweredError, brokers_errors
from connect_dagster.kafka.topic_reading import content_bytes, fetch_records
from connect_dagster.orchestration.observations.checkpoints import (
    Readiness,
    TranslatedOffset,
    fetch_translated_offsets,
    readiness,
    with_committed,
)
from connect_dagster.orchestration.observations.flow_filters import chosen_topics
from connect_dagster.orchestration.observations.mirror import MirrorReading, mirrored_positions, reads_from_end
from connect_dagster.orchestration.observations.topic_offsets import (
    Bounds,
    Partition,
    fetch_newest_times,
    fetch_topic_bounds,
    fetch_topic_names,
)
from connect_dagster.orchestration.workers.group_topics import read_offsets
from connect_dagster.plugin.connector import LoadClass
from connect_dagster.protocol.wire import MalformedBytes

_OFFSET_TOPIC = "offset.storage.topic"


@dataclass(frozen=True, slots=True)
class FlowReading:
    """The state of one flow.

    Attributes:
        mirror: positions, bounds and times of the mirrored topics.
        topics: those of the source that are mirrored, without heartbeats; those that were so far while it is away.
        remote: their names in the target.
        groups: consumer groups of the source whose offsets are translated; those with a checkpoint while it is away.
        offsets: their translated offsets.
        latency: seconds from the newest heartbeat of the source to its append in the target; ``None`` where its topic
            there does not have the time of append.
        away: why the source cannot be asked; empty when it responds.
    """

    mirror: MirrorReading
    topics: Sequence[str]
    remote: Sequence[str]
    groups: Sequence[str]
    offsets: Sequence[TranslatedOffset]
    latency: float | None = None
    away: str = ""

    @property
    def lags(self) -> dict[Partition, int] | None:
        """Return the records of each partition of the source beyond the committed position; None for unknown ones."""
        return self.mirror.lags(self.topics)

    def readiness(self, max_age: float, max_lag: int) -> list[Readiness]:
        """Return the readiness of the groups for the target.

        Checkpoints of others stay in their topic forever: of groups that the source has no longer, or that are not
        translated any more.

        Args:
            max_age: largest age of a checkpoint that is behind its group, in seconds.
            max_lag: most records that a group may have to read in the target.
        """
        groups = sorted(self.groups)
        return readiness(self.offsets, groups, now=self.mirror.read_at, max_age=max_age, max_lag=max_lag)


def read_flow(config: FlowConfig, load_class: LoadClass, seconds: float) -> FlowReading:
    """Ask the brokers of both clusters for the state of a flow; of the target alone while the source is away.

    Args:
        config: of the flow.
        load_class: finds classes of policies and filters.
        seconds: longest wait for each response.

    Raises:
        BrokersError: brokers of the target refuse it, or do not respond; names the cluster.
        ConfigError: a value of the file is wrong.
    """
    parsed, of_groups = MirrorSourceConfig.parse(config.source), MirrorCheckpointConfig.parse(config.checkpoint)
    classes, classes_of_groups = FlowClasses(parsed, load_class), FlowClasses(of_groups, load_class)
    names = replace(MirrorNames.of(config.source), policy=classes.policy(), is_known=True)
    source, target = (_brokers(parsed, role) for role in (REPLICATION_SOURCE_ADMIN, REPLICATION_TARGET_ADMIN))
    choice = partial(chosen_topics, topic_filter=classes.topic_filter(), names=names)
    # Before the ends in the source: a position beyond an end is of a topic that was created again.
    with _named(names.target, target):
        existing = fetch_topic_names(target, seconds)
        positions = _positions(config, target, existing, seconds)
        offsets = fetch_translated_offsets(target, names, seconds) if names.checkpoints in existing else []
    bounds: Mapping[Partition, Bounds] | None = None
    away = ""
    try:
        with _named(names.source, source):
            topics = choice(fetch_topic_names(source, seconds))
            bounds = fetch_topic_bounds(source, topics, seconds)
            groups = groups_to_translate(
                classes_of_groups.admin(of_groups.client_settings(CHECKPOINT_SOURCE_ADMIN)),
                classes_of_groups.group_filter(),
                classes_of_groups.topic_filter(),
            )
            mirrored = partial(chosen_topics, topic_filter=classes_of_groups.topic_filter(), names=names)
            offsets = with_committed(offsets, names, source, target, seconds, groups=groups, mirrored=mirrored)
    except BrokersError as error:
        away, bounds = str(error), None
        topics = choice(sorted({topic for topic, _ in positions}))
        groups = classes_of_groups.group_filter().accepted(sorted({one.group for one in offsets}))
    remote = [names.policy.format_remote_topic(names.source, topic) for topic in topics]
    with _named(names.target, target):
        newest = fetch_newest_times(target, {*remote, names.heartbeats, names.checkpoints}, seconds)
        latency = _latency(target, names.heartbeats, seconds)
    # The filter also chooses groups that only read what came from the target, which is not translated.
    with_offsets = {one.group for one in offsets}
    groups = [group for group in groups if group in with_offsets]
    from_end = reads_from_end(config.source)
    mirror = MirrorReading(names, time.time(), positions, bounds, newest, from_end=from_end)
    return FlowReading(mirror, topics, remote, groups, offsets, latency, away)


def flow_status(flow: str, reading: FlowReading) -> dict[str, Any]:
    """Return lag, latency and ages of a flow; None for what is not known.

    Args:
        flow: its name.
        reading: its state.
    """
    lags, mirror = reading.lags, reading.mirror
    worst = max(lags.items(), key=lambda item: item[1], default=None) if lags else None
    return {
        "flow": flow,
        "topics": len(reading.topics),
        "lag": None if lags is None else sum(lags.values()),
        "worst": None if worst is None else f"{worst[0][0]}-{worst[0][1]}: {worst[1]}",
        "record": mirror.age_of(reading.remote),
        "heartbeat": mirror.heartbeat_age,
        "latency": reading.latency,
        "checkpoint": mirror.checkpoint_age,
        "groups": len(reading.groups),
        "error": reading.away or None,
    }


def flow_checks(flow: str, reading: FlowReading, max_lag: int, max_age: float) -> Iterator[dict[str, Any]]:
    """Yield whether the records of a flow, and then each of its groups, are ready for the target.

    It is None for the records while the source is away; the groups are judged by their checkpoints then.

    Args:
        flow: its name.
        reading: its state.
        max_lag: most records that the flow or a group may be behind.
        max_age: largest age of a checkpoint that is behind its group, in seconds.
    """
    lag = None if (lags := reading.lags) is None else sum(lags.values())
    if lag is None:
        why = f"groups are judged by their checkpoints alone: {reading.away}"
        yield {"flow": flow, "group": None, "ready": None, "records": None, "why": why}
    else:
        why = "; ".join(_obstacles(reading, lag, max_lag))
        yield {"flow": flow, "group": None, "ready": not why, "records": lag, "why": why}
    for one in reading.readiness(max_age, max_lag):
        why = "; ".join(one.obstacles)
        yield {"flow": flow, "group": one.group, "ready": one.is_ready, "records": one.lag, "why": why}


def _obstacles(reading: FlowReading, lag: int, max_lag: int) -> Iterator[str]:
    if not reading.topics:
        yield "no topic is mirrored: is the filter right?"
    if lag > max_lag:
        yield f"{lag} records are beyond the committed position"
    if not reading.groups:
        yield "no group has offsets to translate: is the filter right?"


def unread_status(flow: str, error: BrokersError) -> dict[str, Any]:
    """Return the status of a flow whose target cannot be asked."""
    keys = ("topics", "lag", "worst", "record", "heartbeat", "latency", "checkpoint", "groups")
    return {"flow": flow, **dict.fromkeys(keys), "error": str(error)}


def unread_check(flow: str, error: BrokersError) -> dict[str, Any]:
    """Return the row of a flow whose target cannot be asked."""
    return {"flow": flow, "group": None, "ready": None, "records": None, "why": str(error)}


def append_latency(heartbeat: Message) -> float | None:
    """Return the seconds from a heartbeat to its append; None where its topic does not have the time of append."""
    kind, appended = heartbeat.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:
        return None
    try:
        beat = Heartbeat.decode(content_bytes(heartbeat.key()), content_bytes(heartbeat.value()))
    except MalformedBytes:
        return None
    return None if beat is None else max(0.0, (appended - beat.timestamp) / 1000)


def _latency(target: Brokers, topic: str, seconds: float) -> float | None:
    bounds = fetch_topic_bounds(target, [topic], seconds).get((topic, 0))
    if bounds is None:
        return None
    place = topic, 0, bounds.end - 1
    newest = fetch_records(target, [place], seconds).get(place) if bounds.end > bounds.start else None
    return None if newest is None else append_latency(newest)


def _brokers(config: MirrorSourceConfig, role: Role) -> Brokers:
    settings = config.client_settings(role)
    return Brokers(settings[BOOTSTRAP_SERVERS], settings)


def _positions(
    config: FlowConfig, target: Brokers, existing: Collection[str], seconds: float
) -> Mapping[Partition, int]:
    """Return the positions in the source; none while the worker has not created its offset topic."""
    topic = config.worker[_OFFSET_TOPIC]
    if topic not in existing:
        return {}
    return mirrored_positions(read_offsets(target, topic, seconds), config.flow.source)


@contextmanager
def _named(alias: str, brokers: Brokers) -> Iterator[None]:
    """Name the cluster in errors of its brokers."""
    try:
        with brokers_errors():
            yield
    except UnansweredError as error:
        raise UnansweredError(
            f"No broker of '{alias}' responded at {brokers} ({error}): check {alias}.{BOOTSTRAP_SERVERS}, and that "
            "Kafka is running."
        ) from error
    except BrokersError as error:
        raise BrokersError(f"The brokers of '{alias}' refuse: {error}") from error
