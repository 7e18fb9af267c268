"""A flow of a file at one moment, as the brokers of its clusters report it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

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
from connect_dagster.connectors.mirror.filters import topics_to_replicate
from connect_dagster.connectors.mirror.flow_configs import FlowConfig
from connect_dagster.connectors.mirror.plugin_classes import FlowClasses
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.kafka.access import Brokers
from connect_dagster.kafka.errors import BrokersError, UnansweredError, brokers_errors
from connect_dagster.orchestration.observations.checkpoints import (
    Readiness,
    TranslatedOffset,
    fetch_translated_offsets,
    readiness,
    with_committed,
)
from connect_dagster.orchestration.observations.mirror import MirrorReading, mirrored_positions, reads_from_end
from connect_dagster.orchestration.observations.topic_offsets import (
    Partition,
    fetch_newest_times,
    fetch_topic_bounds,
    fetch_topic_names,
)
from connect_dagster.orchestration.workers.group_topics import read_offsets
from connect_dagster.plugin.connector import LoadClass

_OFFSET_TOPIC = "offset.storage.topic"


@dataclass(frozen=True, slots=True)
class FlowReading:
    """The state of one flow.

    Attributes:
        mirror: positions, bounds and times of the mirrored topics.
        topics: those of the source that are mirrored.
        remote: their names in the target.
        groups: consumer groups of the source whose offsets are translated.
        offsets: their translated offsets.
    """

    mirror: MirrorReading
    topics: Sequence[str]
    remote: Sequence[str]
    groups: Sequence[str]
    offsets: Sequence[TranslatedOffset]

    @property
    def lags(self) -> dict[Partition, int] | None:
        """Return the records of each partition of the source that are not mirrored yet; None for unknown ones."""
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
    """Ask the brokers of both clusters for the state of a flow.

    Args:
        config: of the flow.
        load_class: finds classes of policies and filters.
        seconds: longest wait for each response.

    Raises:
        BrokersError: brokers refuse it, or do not respond; names the cluster.
        ConfigError: a value of the file is wrong.
    """
    parsed, of_groups = MirrorSourceConfig.parse(config.source), MirrorCheckpointConfig.parse(config.checkpoint)
    classes, classes_of_groups = FlowClasses(parsed, load_class), FlowClasses(of_groups, load_class)
    names, policy = MirrorNames.of(config.source), classes.policy()
    source, target = (_brokers(parsed, role) for role in (REPLICATION_SOURCE_ADMIN, REPLICATION_TARGET_ADMIN))
    with _named(names.source, source):
        topics = topics_to_replicate(
            fetch_topic_names(source, seconds),
            topic_filter=classes.topic_filter(),
            policy=policy,
            target_alias=parsed.target_alias,
            heartbeats=parsed.heartbeats_replication_enabled,
        )
        bounds = fetch_topic_bounds(source, topics, seconds)
        groups = groups_to_translate(
            classes_of_groups.admin(of_groups.client_settings(CHECKPOINT_SOURCE_ADMIN)),
            classes_of_groups.group_filter(),
            classes_of_groups.topic_filter(),
        )
    remote = [policy.format_remote_topic(names.source, topic) for topic in topics]
    with _named(names.target, target):
        newest = fetch_newest_times(target, {*remote, names.heartbeats, names.checkpoints}, seconds)
        positions = _positions(config, target, seconds)
        has_checkpoints = any(topic == names.checkpoints for topic, _ in newest)
        offsets = fetch_translated_offsets(target, names, seconds) if has_checkpoints else []
    with _named(names.source, source):
        offsets = with_committed(offsets, source, names, seconds)
    from_end = reads_from_end(config.source)
    mirror = MirrorReading(names, time.time(), positions, bounds, newest, from_end=from_end)
    return FlowReading(mirror, topics, remote, groups, offsets)


def flow_status(flow: str, reading: FlowReading) -> dict[str, Any]:
    """Return lag and ages of a flow; None for what is not known.

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
        "checkpoint": mirror.checkpoint_age,
        "groups": len(reading.groups),
    }


def flow_checks(flow: str, reading: FlowReading, max_lag: int, max_age: float) -> Iterator[dict[str, Any]]:
    """Yield whether the records of a flow, and then each of its groups, are ready for the target.

    Args:
        flow: its name.
        reading: its state.
        max_lag: most records that the flow or a group may be behind.
        max_age: largest age of a checkpoint that is behind its group, in seconds.
    """
    lag = None if (lags := reading.lags) is None else sum(lags.values())
    why = "the lag is not known" if lag is None else "" if lag <= max_lag else f"{lag} records have not arrived"
    yield {"flow": flow, "group": None, "ready": not why, "records": lag, "why": why}
    for one in reading.readiness(max_age, max_lag):
        why = "; ".join(one.obstacles)
        yield {"flow": flow, "group": one.group, "ready": one.is_ready, "records": one.lag, "why": why}


def _brokers(config: MirrorSourceConfig, role: Role) -> Brokers:
    settings = config.client_settings(role)
    return Brokers(settings[BOOTSTRAP_SERVERS], settings)


def _positions(config: FlowConfig, target: Brokers, seconds: float) -> Mapping[Partition, int]:
    """Return the positions in the source; none while the worker has not created its offset topic."""
    topic = config.worker[_OFFSET_TOPIC]
    if topic not in fetch_topic_names(target, seconds):
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
