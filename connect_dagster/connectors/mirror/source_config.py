"""Options of the connector that replicates topics (Java: ``MirrorSourceConfig``)."""

from __future__ import annotations

from collections.abc import Mapping

from connect_dagster.connectors.mirror.client_settings import OffsetSyncsTopic, Side, reads_committed, task_label
from connect_dagster.connectors.mirror.connector_classes import (
    CONFIG_PROPERTY_FILTER_CLASS,
    DEFAULT_CONFIG_PROPERTY_FILTER,
    one_of_java_or_python,
)
from connect_dagster.connectors.mirror.filters import (
    PROPERTIES_EXCLUDE_KEY,
    TOPICS_EXCLUDE_KEY,
    TOPICS_KEY,
    USE_DEFAULTS_FROM_KEY,
)
from connect_dagster.connectors.mirror.metrics import Place
from connect_dagster.connectors.mirror.shared_options import (
    CONSUMER_POLL_TIMEOUT,
    EMIT_OFFSET_SYNCS,
    METRIC_NAMES_FORMATS,
    OFFSET_SYNCS_LOCATION,
    TOPIC_FILTER,
    MirrorConnectorConfig,
    schedule_seconds,
)
from connect_dagster.plugin.config import Importance, Type, UniqueValues, config_key
from connect_dagster.plugin.config.table import Properties

_EXACTLY_ONCE = "exactly.once.support"
_REFRESH_TOPICS_INTERVAL = "refresh.topics.interval.seconds"
_SYNC_TOPIC_CONFIGS_INTERVAL = "sync.topic.configs.interval.seconds"
_SYNC_TOPIC_ACLS_INTERVAL = "sync.topic.acls.interval.seconds"
_OFFSET_SYNCS_KEYS = ("offset-syncs-", "offset-syncs.topic.")


class MirrorSourceConfig(MirrorConnectorConfig):
    """Configuration of the connector that replicates topics, their configurations and ACLs."""

    topics: tuple[str, ...] = TOPICS_KEY
    topics_exclude: tuple[str, ...] = TOPICS_EXCLUDE_KEY
    config_properties_exclude: tuple[str, ...] = PROPERTIES_EXCLUDE_KEY
    topic_filter_class: str = TOPIC_FILTER
    config_property_filter_class: str = config_key(
        CONFIG_PROPERTY_FILTER_CLASS,
        type=Type.CLASS,
        default=DEFAULT_CONFIG_PROPERTY_FILTER,
        importance=Importance.LOW,
        validator=one_of_java_or_python(CONFIG_PROPERTY_FILTER_CLASS),
        doc="Class that selects settings of topics. DefaultConfigPropertyFilter uses config.properties.exclude.",
    )
    consumer_poll_timeout_ms: int = CONSUMER_POLL_TIMEOUT
    refresh_topics_enabled: bool = config_key(
        "refresh.topics.enabled",
        default=True,
        importance=Importance.LOW,
        doc="Whether to look for new topics and partitions at intervals.",
    )
    refresh_topics_interval_seconds: int = config_key(
        _REFRESH_TOPICS_INTERVAL,
        type=Type.LONG,
        default=600,
        importance=Importance.LOW,
        doc="Time between two searches for new topics and partitions.",
    )
    sync_topic_configs_enabled: bool = config_key(
        "sync.topic.configs.enabled",
        default=True,
        importance=Importance.LOW,
        doc="Whether to give replicated topics the settings of their source topics at intervals.",
    )
    sync_topic_configs_interval_seconds: int = config_key(
        _SYNC_TOPIC_CONFIGS_INTERVAL,
        type=Type.LONG,
        default=600,
        importance=Importance.LOW,
        doc="Time between two updates of the settings of topics.",
    )
    sync_topic_acls_enabled: bool = config_key(
        "sync.topic.acls.enabled",
        default=True,
        importance=Importance.LOW,
        doc="Whether to give replicated topics the ACLs of their source topics at intervals, without the right to "
        "write.",
    )
    sync_topic_acls_interval_seconds: int = config_key(
        _SYNC_TOPIC_ACLS_INTERVAL,
        type=Type.LONG,
        default=600,
        importance=Importance.LOW,
        doc="Time between two updates of ACLs.",
    )
    replication_factor: int = config_key(
        "replication.factor",
        default=2,
        importance=Importance.LOW,
        doc="Replicas of a topic that is created in the target; -1 for the brokers' default.",
    )
    offset_syncs_topic_replication_factor: int = config_key(
        "offset-syncs.topic.replication.factor",
        type=Type.SHORT,
        default=3,
        importance=Importance.LOW,
        doc="Replicas of the offset-syncs topic when it is created; -1 for the brokers' default.",
    )
    offset_lag_max: int = config_key(
        "offset.lag.max",
        type=Type.LONG,
        default=100,
        importance=Importance.LOW,
        doc="Largest number of records of a partition between two offset syncs. A lower number makes translated "
        "offsets of consumer groups closer to the original ones.",
    )
    offset_syncs_topic_location: str = OFFSET_SYNCS_LOCATION
    emit_offset_syncs_enabled: bool = config_key(
        EMIT_OFFSET_SYNCS,
        default=True,
        importance=Importance.LOW,
        doc="Whether to write pairs of source and target offsets to the offset-syncs topic. Without them the "
        "checkpoint connector cannot translate the offsets of consumer groups.",
    )
    heartbeats_replication_enabled: bool = config_key(
        "heartbeats.replication.enabled",
        default=True,
        importance=Importance.LOW,
        doc="Whether to replicate heartbeats topics although the topic filter does not accept them.",
    )
    metric_names_formats: tuple[str, ...] = METRIC_NAMES_FORMATS
    use_defaults_from: str | None = USE_DEFAULTS_FROM_KEY

    @classmethod
    def errors_of(cls, props: Properties) -> Mapping[str, str]:
        """Check exactly-once and offset syncs (Java: ``MirrorSourceConnector.validate``), as Java without regard to
        spellings such as FALSE.
        """
        errors = {}
        given = {name: value for name, value in props.items() if value is not None}
        if given.get(_EXACTLY_ONCE) == "required" and not reads_committed(given):
            errors[_EXACTLY_ONCE] = (
                "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured "
                "with isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted "
                "transactions will be replicated from the source cluster to the target cluster."
            )
        if given.get(EMIT_OFFSET_SYNCS) == "false" and any(name.startswith(_OFFSET_SYNCS_KEYS) for name in props):
            errors[EMIT_OFFSET_SYNCS] = (
                f"MirrorSourceConnector can't setup offset-syncs feature while {EMIT_OFFSET_SYNCS} set to false"
            )
        return errors

    @property
    def refresh_topics_interval(self) -> int | None:
        """Return the seconds between two searches for topics, ``None`` for none."""
        return schedule_seconds(
            _REFRESH_TOPICS_INTERVAL, self.refresh_topics_enabled, self.refresh_topics_interval_seconds
        )

    @property
    def sync_topic_configs_interval(self) -> int | None:
        """Return the seconds between two updates of topic settings, ``None`` for none."""
        return schedule_seconds(
            _SYNC_TOPIC_CONFIGS_INTERVAL, self.sync_topic_configs_enabled, self.sync_topic_configs_interval_seconds
        )

    @property
    def sync_topic_acls_interval(self) -> int | None:
        """Return the seconds between two updates of ACLs, ``None`` for none."""
        return schedule_seconds(
            _SYNC_TOPIC_ACLS_INTERVAL, self.sync_topic_acls_enabled, self.sync_topic_acls_interval_seconds
        )

    @property
    def offset_syncs(self) -> OffsetSyncsTopic:
        """Return the offset-syncs topic of the flow."""
        return OffsetSyncsTopic(self.flow, Side(self.offset_syncs_topic_location))


class MirrorSourceTaskConfig(MirrorSourceConfig):
    """Configuration of one task of it (Java: ``MirrorSourceTaskConfig``)."""

    assigned_partitions: tuple[str, ...] = config_key(
        "task.assigned.partitions",
        importance=Importance.LOW,
        validator=UniqueValues(empty=False),
        doc="Partitions of the source that this task replicates, as <topic>-<partition>.",
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
