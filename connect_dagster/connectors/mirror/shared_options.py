"""Options of all three connectors (Java: ``MirrorConnectorConfig``).

Java's definition also has the framework's keys; the worker adds them to every connector here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from connect_dagster.connectors.mirror.client_settings import (
    SECURITY_PROTOCOL,
    TLS_AND_SASL,
    Role,
    Side,
    client_settings,
    entity_label,
)
from connect_dagster.connectors.mirror.connector_classes import (
    DEFAULT_REPLICATION_POLICY,
    DEFAULT_TOPIC_FILTER,
    FORWARDING_ADMIN,
    FORWARDING_ADMIN_CLASS,
    REPLICATION_POLICY_CLASS,
    TOPIC_FILTER_CLASS,
    one_of_java_or_python,
    with_java_classes,
)
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    ConfigTable,
    ConfigValue,
    FindClass,
    Importance,
    Type,
    UniqueValues,
    config_key,
    one_of,
    one_of_ignoring_case,
)
from connect_dagster.plugin.config.table import Properties

ENABLED = "enabled"
SOURCE_ALIAS, TARGET_ALIAS = "source.cluster.alias", "target.cluster.alias"
EMIT_OFFSET_SYNCS = "emit.offset-syncs.enabled"

# Options of the connectors and of clients that read what they write.
REPLICATION_POLICY = config_key(
    REPLICATION_POLICY_CLASS,
    type=Type.CLASS,
    default=DEFAULT_REPLICATION_POLICY,
    importance=Importance.LOW,
    validator=one_of_java_or_python(REPLICATION_POLICY_CLASS),
    doc="Class that names replicated topics. DefaultReplicationPolicy puts the alias of the source and a separator "
    "before the name; IdentityReplicationPolicy keeps the name, so that flows in both directions form a loop.",
)
SEPARATOR = config_key(
    "replication.policy.separator",
    type=Type.STRING,
    default=".",
    importance=Importance.LOW,
    doc="Separator between the alias and the name of a topic.",
)
INTERNAL_SEPARATOR = config_key(
    "replication.policy.internal.topic.separator.enabled",
    type=Type.BOOLEAN,
    default=True,
    importance=Importance.LOW,
    doc="Whether a separator that is set also separates the parts of the names of the offset-syncs and checkpoints "
    "topics. With false these names have dots, as in versions before this option.",
)
FORWARDING = config_key(
    FORWARDING_ADMIN_CLASS,
    type=Type.CLASS,
    default=FORWARDING_ADMIN,
    importance=Importance.LOW,
    validator=one_of_java_or_python(FORWARDING_ADMIN_CLASS),
    doc="Class whose calls create and alter topics, configurations and ACLs (KIP-787). A subclass can send them to "
    "another system than the cluster.",
)

PROTOCOL = config_key(
    SECURITY_PROTOCOL,
    type=Type.STRING,
    default="PLAINTEXT",
    importance=Importance.MEDIUM,
    validator=one_of_ignoring_case("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    doc="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL. With a cluster before it, the protocol for that cluster.",
)

# Options that the source and the checkpoint connector have, each in its place.
TOPIC_FILTER = config_key(
    TOPIC_FILTER_CLASS,
    type=Type.CLASS,
    default=DEFAULT_TOPIC_FILTER,
    importance=Importance.LOW,
    validator=one_of_java_or_python(TOPIC_FILTER_CLASS),
    doc="Class that selects topics. DefaultTopicFilter uses topics and topics.exclude.",
)
CONSUMER_POLL_TIMEOUT = config_key(
    "consumer.poll.timeout.ms",
    type=Type.LONG,
    default=1_000,
    importance=Importance.LOW,
    doc="Longest wait for records in one poll of a consumer.",
)
OFFSET_SYNCS_LOCATION = config_key(
    "offset-syncs.topic.location",
    type=Type.STRING,
    default=Side.SOURCE.value,
    importance=Importance.LOW,
    validator=one_of(Side.SOURCE.value, Side.TARGET.value),
    doc="Cluster with the offset-syncs topic: source or target. The source and the checkpoint connector of a flow need "
    "the same value.",
)
METRIC_NAMES_FORMATS = config_key(
    "metric.names.formats",
    type=Type.LIST,
    default=("legacy",),
    importance=Importance.LOW,
    validator=UniqueValues(empty=False, allowed=("legacy", "new")),
    doc="Names of the metrics: legacy for those under kafka.connect.mirror, new for those of plugins with connector "
    "and task, or both.",
)


def class_finder(props: Properties, find_class: FindClass | None) -> FindClass:
    """Return the search for classes of a configuration. Those for access are left to the clients."""
    of_clients = (props.get(key.name) or "" for key in TLS_AND_SASL if key.type is Type.CLASS)
    return with_java_classes(find_class, {name.strip() for name in of_clients})


class MirrorConnectorConfig(ConfigDef):
    """Options of a connector of a flow; the settings of its clients are in ``client_settings``."""

    enabled: bool = config_key(
        ENABLED,
        default=True,
        importance=Importance.LOW,
        doc="Whether this flow is replicated; with false the connector runs without tasks. Heartbeats are emitted "
        "in either case.",
    )
    source_alias: str = config_key(
        SOURCE_ALIAS,
        importance=Importance.HIGH,
        doc="Alias of the cluster that is replicated. The default replication policy puts it before the names of "
        "replicated topics.",
    )
    target_alias: str = config_key(
        TARGET_ALIAS,
        default="target",
        importance=Importance.HIGH,
        doc="Alias of the cluster that receives the records. Topics that came from there are not replicated back.",
    )
    admin_timeout_ms: int = config_key(
        "admin.timeout.ms",
        type=Type.LONG,
        default=60_000,
        importance=Importance.LOW,
        doc="Longest time for administrative work in one of the clusters, such as to list or create topics.",
    )
    replication_policy_class: str = REPLICATION_POLICY
    replication_policy_separator: str = SEPARATOR
    internal_topic_separator_enabled: bool = INTERNAL_SEPARATOR
    forwarding_admin_class: str = FORWARDING
    metric_reporters: tuple[str, ...] = config_key(
        "metric.reporters",
        default=("org.apache.kafka.common.metrics.JmxReporter",),
        importance=Importance.LOW,
        validator=UniqueValues(),
        doc="Java classes that receive metrics. Without effect here: metrics are in the worker's REST API.",
    )
    security_protocol: str = PROTOCOL
    config_providers: tuple[str, ...] = config_key(
        "config.providers",
        default=(),
        importance=Importance.LOW,
        validator=UniqueValues(),
        doc="Names of config providers. The worker replaces placeholders with its own providers.",
    )

    @classmethod
    def table(cls) -> ConfigTable:
        """Return the options in Java's order: the shared ones, TLS and SASL, the connector's own."""
        declared = super().table().keys
        shared = len(MirrorConnectorConfig.model_fields)
        return ConfigTable((*declared[:shared], *TLS_AND_SASL, *declared[shared:]))

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        return super().parse(props, class_finder(props, find_class))

    @classmethod
    def validate_all(cls, props: Properties, find_class: FindClass | None = None) -> list[ConfigValue]:
        """Return the checked value of each option, with the errors of the whole configuration at their options."""
        values = super().validate_all(props, class_finder(props, find_class))
        for name, error in cls.errors_of(props).items():
            _value_of(name, values).errors.append(error)
        return values

    @classmethod
    def errors_of(cls, props: Properties) -> Mapping[str, str]:
        """Return what is wrong with the combination of several options, by the option to change."""
        return {}

    @property
    def flow(self) -> Flow:
        """Return the pair of clusters."""
        return Flow(self.source_alias, self.target_alias)

    @property
    def label(self) -> str:
        """Return the name in client ids and logs."""
        return entity_label(self.flow, self.originals.get("name", ""))

    @property
    def admin_timeout_seconds(self) -> float:
        """Return the time limit of administrative work."""
        return self.admin_timeout_ms / 1000

    def client_settings(self, role: Role) -> dict[str, str]:
        """Return the settings of one of the connector's or task's clients, in Java's names."""
        return client_settings(self.originals, role, self.label)


def interval_seconds(enabled: bool, seconds: int) -> int | None:
    """Return the interval of repeated work, ``None`` where it is switched off or negative."""
    return seconds if enabled and seconds >= 0 else None


def schedule_seconds(name: str, enabled: bool, seconds: int) -> int | None:
    """Return the interval of work that a scheduler repeats, as :func:`interval_seconds`.

    Args:
        name: of the option.
        enabled: whether it is to be done.
        seconds: the option's value.

    Raises:
        ConfigError: the interval is zero, which Java's scheduler refuses as well.
    """
    if enabled and seconds == 0:
        raise ConfigError.invalid(name, seconds, "must be 1 at least, or negative for never")
    return interval_seconds(enabled, seconds)


def _value_of(name: str, values: list[ConfigValue]) -> ConfigValue:
    """Return the value of an option, a new one where the connector does not define it, as Java's ``validate``."""
    found = next((value for value in values if value.name == name), None)
    if found is None:
        values.append(found := ConfigValue(name))
    return found
