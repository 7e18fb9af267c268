"""Options of the connector that translates offsets of consumer groups (Java: ``MirrorCheckpointConfig``)."""

from __future__ import annotations

from collections.abc import Mapping

from connect_dagster.connectors.mirror.client_settings import OffsetSyncsTopic, Side, task_label
from connect_dagster.connectors.mirror.connector_classes import (
    DEFAULT_GROUP_FILTER,
    GROUP_FILTER_CLASS,
    one_of_java_or_python,
)
from connect_dagster.connectors.mirror.filters import GROUPS_EXCLUDE_KEY, GROUPS_KEY
from connect_dagster.connectors.mirror.metrics import Place
from connect_dagster.connectors.mirror.shared_options import (
    CONSUMER_POLL_TIMEOUT,
    EMIT_OFFSET_SYNCS,
    ENABLED,
    METRIC_NAMES_FORMATS,
    OFFSET_SYNCS_LOCATION,
    TOPIC_FILTER,
    MirrorConnectorConfig,
    interval_seconds,
    schedule_seconds,
)
from connect_dagster.plugin.config import Importance, Type, UniqueValues, config_key
from connect_dagster.plugin.config.table import Properties

EMIT_CHECKPOINTS = "emit.checkpoints.enabled"
_REFRESH_GROUPS_INTERVAL = "refresh.groups.interval.seconds"
_SYNC_GROUP_OFFSETS_INTERVAL = "sync.group.offsets.interval.seconds"


class MirrorCheckpointConfig(MirrorConnectorConfig):
    """Configuration of the connector that emits checkpoints and sets offsets of groups in the target."""

    consumer_poll_timeout_ms: int = CONSUMER_POLL_TIMEOUT
    groups: tuple[str, ...] = GROUPS_KEY
    groups_exclude: tuple[str, ...] = GROUPS_EXCLUDE_KEY
    group_filter_class: str = config_key(
        GROUP_FILTER_CLASS,
        type=Type.CLASS,
        default=DEFAULT_GROUP_FILTER,
        importance=Importance.LOW,
        validator=one_of_java_or_python(GROUP_FILTER_CLASS),
        doc="Class that selects consumer groups. DefaultGroupFilter uses groups and groups.exclude.",
    )
    refresh_groups_enabled: bool = config_key(
        "refresh.groups.enabled",
        default=True,
        importance=Importance.LOW,
        doc="Whether to look for new consumer groups at intervals.",
    )
    refresh_groups_interval_seconds: int = config_key(
        _REFRESH_GROUPS_INTERVAL,
        type=Type.LONG,
        default=600,
        importance=Importance.LOW,
        doc="Time between two searches for new consumer groups.",
    )
    emit_checkpoints_enabled: bool = config_key(
        EMIT_CHECKPOINTS,
        default=True,
        importance=Importance.LOW,
        doc="Whether to write the offsets of consumer groups, translated to those of the target, to the checkpoints "
        "topic of the target.",
    )
    emit_checkpoints_interval_seconds: int = config_key(
        "emit.checkpoints.interval.seconds",
        type=Type.LONG,
        default=60,
        importance=Importance.LOW,
        doc="Time between two checkpoints of a group.",
    )
    sync_group_offsets_enabled: bool = config_key(
        "sync.group.offsets.enabled",
        default=False,
        importance=Importance.LOW,
        doc="Whether to commit translated offsets for the groups in the target at intervals. Groups with active "
        "members in the target keep their own.",
    )
    sync_group_offsets_interval_seconds: int = config_key(
        _SYNC_GROUP_OFFSETS_INTERVAL,
        type=Type.LONG,
        default=60,
        importance=Importance.LOW,
        doc="Time between two commits of translated offsets.",
    )
    checkpoints_topic_replication_factor: int = config_key(
        "checkpoints.topic.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.LOW,
        doc="Replicas of the checkpoints topic when it is created; -1 for the brokers' default.",
    )
    offset_syncs_topic_location: str = OFFSET_SYNCS_LOCATION
    topic_filter_class: str = TOPIC_FILTER
    metric_names_formats: tuple[str, ...] = METRIC_NAMES_FORMATS

    @classmethod
    def errors_of(cls, props: Properties) -> Mapping[str, str]:
        """Check that there is something to emit (Java: ``MirrorCheckpointConfig.validate``)."""
        if props.get(ENABLED) == "false":
            return {}
        reasons = {
            EMIT_CHECKPOINTS: f"MirrorCheckpointConnector can't run with {EMIT_CHECKPOINTS} set to false",
            EMIT_OFFSET_SYNCS: "MirrorCheckpointConnector can't run without offset syncs",
        }
        return {name: reason for name, reason in reasons.items() if props.get(name) == "false"}

    @property
    def emit_checkpoints_interval(self) -> int | None:
        """Return the seconds between two checkpoints, ``None`` for none."""
        return interval_seconds(self.emit_checkpoints_enabled, self.emit_checkpoints_interval_seconds)

    @property
    def refresh_groups_interval(self) -> int | None:
        """Return the seconds between two searches for groups, ``None`` for none."""
        return schedule_seconds(
            _REFRESH_GROUPS_INTERVAL, self.refresh_groups_enabled, self.refresh_groups_interval_seconds
        )

    @property
    def sync_group_offsets_interval(self) -> int | None:
        """Return the seconds between two commits of translated offsets, ``None`` for none."""
        return schedule_seconds(
            _SYNC_GROUP_OFFSETS_INTERVAL, self.sync_group_offsets_enabled, self.sync_group_offsets_interval_seconds
        )

    @property
    def offset_syncs(self) -> OffsetSyncsTopic:
        """Return the offset-syncs topic of the flow."""
        return OffsetSyncsTopic(self.flow, Side(self.offset_syncs_topic_location))


class MirrorCheckpointTaskConfig(MirrorCheckpointConfig):
    """Configuration of one task of it (Java: ``MirrorCheckpointTaskConfig``)."""

    assigned_groups: tuple[str, ...] = config_key(
        "task.assigned.groups",
        importance=Importance.LOW,
        validator=UniqueValues(empty=False),
        doc="Consumer groups that this task replicates.",
    )
    task_index: int | None = config_key(
        "task.index", default=None, importance=Importance.LOW, doc="Number of the task among those of the connector."
    )

    @property
    def label(self) -> str:
        """Return the name in client ids and logs, with the number of the task."""
        return task_label(self.flow, self.originals.get("name", ""), self.task_index)

    @property
    def place(self) -> Place:
        """Return the flow of the metrics."""
        return Place(self.flow, self.metric_names_formats)
