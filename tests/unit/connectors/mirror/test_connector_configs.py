"""Options of the three connectors: defaults, errors and derived values as in Java 4.3.1."""

from __future__ import annotations

from typing import Any

import pytest

from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig, MirrorCheckpointTaskConfig
from connect_dagster.connectors.mirror.client_settings import REPLICATION_CONSUMER, OffsetSyncsTopic, Side
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.heartbeat_config import MirrorHeartbeatConfig
from connect_dagster.connectors.mirror.shared_options import MirrorConnectorConfig
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig, MirrorSourceTaskConfig
from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import NO_DEFAULT

MIRROR = "org.apache.kafka.connect.mirror."
CONNECTORS = (MirrorSourceConfig, MirrorCheckpointConfig, MirrorHeartbeatConfig)
LEAST = {"name": "mm", "source.cluster.alias": "A"}
SHARED: dict[str, Any] = {
    "enabled": True,
    "source.cluster.alias": NO_DEFAULT,
    "target.cluster.alias": "target",
    "admin.timeout.ms": 60_000,
    "replication.policy.class": f"{MIRROR}DefaultReplicationPolicy",
    "replication.policy.separator": ".",
    "replication.policy.internal.topic.separator.enabled": True,
    "forwarding.admin.class": "org.apache.kafka.clients.admin.ForwardingAdmin",
    "metric.reporters": ("org.apache.kafka.common.metrics.JmxReporter",),
    "security.protocol": "PLAINTEXT",
    "config.providers": (),
}
OWN: dict[type[MirrorConnectorConfig], dict[str, Any]] = {
    MirrorSourceConfig: {
        "topics": (".*",),
        "topics.exclude": (r"mm2.*\.internal", r".*\.replica", "__.*"),
        "config.properties.exclude": (
            "follower.replication.throttled.replicas",
            "leader.replication.throttled.replicas",
            "message.timestamp.difference.max.ms",
            "log.message.timestamp.before.max.ms",
            "log.message.timestamp.after.max.ms",
            "message.timestamp.type",
            "unclean.leader.election.enable",
            "min.insync.replicas",
        ),
        "topic.filter.class": f"{MIRROR}DefaultTopicFilter",
        "config.property.filter.class": f"{MIRROR}DefaultConfigPropertyFilter",
        "consumer.poll.timeout.ms": 1_000,
        "refresh.topics.enabled": True,
        "refresh.topics.interval.seconds": 600,
        "sync.topic.configs.enabled": True,
        "sync.topic.configs.interval.seconds": 600,
        "sync.topic.acls.enabled": True,
        "sync.topic.acls.interval.seconds": 600,
        "replication.factor": 2,
        "offset-syncs.topic.replication.factor": 3,
        "offset.lag.max": 100,
        "offset-syncs.topic.location": "source",
        "emit.offset-syncs.enabled": True,
        "heartbeats.replication.enabled": True,
        "metric.names.formats": ("legacy",),
        "use.defaults.from": "target",
    },
    MirrorCheckpointConfig: {
        "consumer.poll.timeout.ms": 1_000,
        "groups": (".*",),
        "groups.exclude": ("console-consumer-.*", "connect-.*", "__.*"),
        "group.filter.class": f"{MIRROR}DefaultGroupFilter",
        "refresh.groups.enabled": True,
        "refresh.groups.interval.seconds": 600,
        "emit.checkpoints.enabled": True,
        "emit.checkpoints.interval.seconds": 60,
        "sync.group.offsets.enabled": False,
        "sync.group.offsets.interval.seconds": 60,
        "checkpoints.topic.replication.factor": 3,
        "offset-syncs.topic.location": "source",
        "topic.filter.class": f"{MIRROR}DefaultTopicFilter",
        "metric.names.formats": ("legacy",),
    },
    MirrorHeartbeatConfig: {
        "emit.heartbeats.enabled": True,
        "emit.heartbeats.interval.seconds": 1,
        "heartbeats.topic.replication.factor": 3,
    },
}


def errors(config: type[MirrorConnectorConfig], given: dict[str, str], **found: str) -> dict[str, list[str]]:
    values = config.validate_all({**LEAST, **given}, lambda name: found.get(name))
    return {value.name: value.errors for value in values if value.errors}


@pytest.mark.parametrize("config", CONNECTORS)
def test_options_and_defaults_in_javas_order(config: type[MirrorConnectorConfig]) -> None:
    defaults = {key.name: key.default for key in config.table()}
    access = [name for name in defaults if name.startswith(("ssl.", "sasl."))]
    assert len(access) > 40
    assert {name: value for name, value in defaults.items() if name not in access} == SHARED | OWN[config]
    assert list(defaults) == [*SHARED, *access, *OWN[config]]
    assert all(key.documentation for key in config.table())


@pytest.mark.parametrize("config", CONNECTORS)
def test_only_the_source_alias_is_required(config: type[MirrorConnectorConfig]) -> None:
    assert errors(config, {}) == {}
    assert config.parse(LEAST).flow == Flow("A", "target")
    with pytest.raises(ConfigError) as raised:
        config.parse({"name": "mm"})
    assert str(raised.value) == 'Missing required configuration "source.cluster.alias" which has no default value.'


SYNCS_OFF = {"emit.offset-syncs.enabled": "false"}
REQUIRED = {"exactly.once.support": "required"}
NO_EXACTLY_ONCE = (
    "MirrorSourceConnector can only provide exactly-once guarantees when its source consumer is configured with "
    "isolation.level set to 'read_committed'; otherwise, records from aborted and uncommitted transactions will be "
    "replicated from the source cluster to the target cluster."
)
NO_SYNCS = "MirrorSourceConnector can't setup offset-syncs feature while emit.offset-syncs.enabled set to false"
NO_CHECKPOINTS = "MirrorCheckpointConnector can't run with emit.checkpoints.enabled set to false"
WITHOUT_SYNCS = "MirrorCheckpointConnector can't run without offset syncs"


@pytest.mark.parametrize(
    ("config", "given", "expected"),
    [
        (MirrorSourceConfig, REQUIRED, {"exactly.once.support": NO_EXACTLY_ONCE}),
        (MirrorSourceConfig, {**REQUIRED, "consumer.isolation.level": "read_committed"}, {}),
        (MirrorSourceConfig, {**REQUIRED, "source.consumer.isolation.level": "read_committed"}, {}),
        (
            MirrorSourceConfig,
            {
                **REQUIRED,
                "consumer.isolation.level": "read_committed",
                "source.consumer.isolation.level": "read_uncommitted",
            },
            {"exactly.once.support": NO_EXACTLY_ONCE},
        ),
        (
            MirrorSourceConfig,
            {**REQUIRED, "target.consumer.isolation.level": "read_committed"},
            {"exactly.once.support": NO_EXACTLY_ONCE},
        ),
        (MirrorSourceConfig, {"exactly.once.support": "requested"}, {}),
        (MirrorCheckpointConfig, REQUIRED, {}),
        (MirrorSourceConfig, SYNCS_OFF, {}),
        (
            MirrorSourceConfig,
            {**SYNCS_OFF, "offset-syncs.topic.location": "target"},
            {"emit.offset-syncs.enabled": NO_SYNCS},
        ),
        (MirrorSourceConfig, {**SYNCS_OFF, "offset-syncs-source-x": "1"}, {"emit.offset-syncs.enabled": NO_SYNCS}),
        (MirrorCheckpointConfig, SYNCS_OFF, {"emit.offset-syncs.enabled": WITHOUT_SYNCS}),
        (
            MirrorCheckpointConfig,
            {**SYNCS_OFF, "emit.checkpoints.enabled": "false"},
            {"emit.offset-syncs.enabled": WITHOUT_SYNCS, "emit.checkpoints.enabled": NO_CHECKPOINTS},
        ),
        (MirrorCheckpointConfig, {"emit.checkpoints.enabled": "false", "enabled": "false"}, {}),
        (MirrorHeartbeatConfig, {"emit.heartbeats.enabled": "false"}, {}),
    ],
)
def test_combinations(config: type[MirrorConnectorConfig], given: dict[str, str], expected: dict[str, str]) -> None:
    assert errors(config, given) == {name: [text] for name, text in expected.items()}


@pytest.mark.parametrize(
    ("config", "given", "text"),
    [
        (MirrorSourceConfig, {"offset-syncs.topic.location": "both"}, "String must be one of: source, target"),
        (MirrorSourceConfig, {"topics": "a,a"}, "Configuration 'topics' values must not be duplicated."),
        (MirrorSourceConfig, {"metric.names.formats": ""}, "Valid values include: [legacy, new]"),
        (MirrorCheckpointConfig, {"metric.names.formats": "old"}, "String must be one of: legacy, new"),
        (MirrorHeartbeatConfig, {"security.protocol": "TLS"}, "String must be one of (case insensitive)"),
        (MirrorHeartbeatConfig, {"heartbeats.topic.replication.factor": "40000"}, "Not a number of type SHORT"),
        (
            MirrorSourceConfig,
            {"replication.policy.class": f"{MIRROR}DefaultTopicFilter"},
            "must be a Python class, or one of: " + f"{MIRROR}DefaultReplicationPolicy",
        ),
        (
            MirrorSourceConfig,
            {"topic.filter.class": "com.acme.TopicFilter"},
            "Class com.acme.TopicFilter could not be found. Classes written in Java cannot be loaded",
        ),
    ],
)
def test_wrong_values(config: type[MirrorConnectorConfig], given: dict[str, str], text: str) -> None:
    found = errors(config, given)
    assert list(found) == list(given)
    ((error,),) = found.values()
    assert text in error


def test_python_classes_are_found_as_other_plugins_are() -> None:
    found = errors(MirrorSourceConfig, {"topic.filter.class": "Mine"}, Mine="acme.filters.Mine")
    assert found == {}
    config = MirrorSourceConfig.parse({**LEAST, "topic.filter.class": "Mine"}, lambda name: f"acme.filters.{name}")
    assert config.topic_filter_class == "acme.filters.Mine"


def test_classes_of_clients_are_left_to_the_clients() -> None:
    handler = {"sasl.login.callback.handler.class": " com.acme.Login ", "ssl.engine.factory.class": "com.acme.Tls"}
    assert errors(MirrorHeartbeatConfig, handler) == {}


def test_java_classes_need_no_search() -> None:
    for name in ("DefaultReplicationPolicy", "IdentityReplicationPolicy"):
        config = MirrorSourceConfig.parse({**LEAST, "replication.policy.class": f"{MIRROR}{name}"}, lambda _: None)
        assert config.replication_policy_class == f"{MIRROR}{name}"


@pytest.mark.parametrize(
    ("config", "attribute", "option", "default"),
    [
        (MirrorSourceConfig, "refresh_topics_interval", "refresh.topics", 600),
        (MirrorSourceConfig, "sync_topic_configs_interval", "sync.topic.configs", 600),
        (MirrorSourceConfig, "sync_topic_acls_interval", "sync.topic.acls", 600),
        (MirrorCheckpointConfig, "refresh_groups_interval", "refresh.groups", 600),
        (MirrorCheckpointConfig, "emit_checkpoints_interval", "emit.checkpoints", 60),
        (MirrorCheckpointConfig, "sync_group_offsets_interval", "sync.group.offsets", None),
        (MirrorHeartbeatConfig, "emit_heartbeats_interval", "emit.heartbeats", 1),
    ],
)
def test_intervals(config: type[MirrorConnectorConfig], attribute: str, option: str, default: int | None) -> None:
    enabled, seconds = f"{option}.enabled", f"{option}.interval.seconds"
    expected = {
        (): default,
        ((enabled, "true"), (seconds, "7")): 7,
        ((enabled, "false"), (seconds, "7")): None,
        ((enabled, "true"), (seconds, "-1")): None,
    }
    found = {given: getattr(config.parse({**LEAST, **dict(given)}), attribute) for given in expected}
    assert found == expected


@pytest.mark.parametrize(
    ("config", "attribute", "option"),
    [
        (MirrorSourceConfig, "refresh_topics_interval", "refresh.topics"),
        (MirrorSourceConfig, "sync_topic_configs_interval", "sync.topic.configs"),
        (MirrorSourceConfig, "sync_topic_acls_interval", "sync.topic.acls"),
        (MirrorCheckpointConfig, "refresh_groups_interval", "refresh.groups"),
        (MirrorCheckpointConfig, "sync_group_offsets_interval", "sync.group.offsets"),
    ],
)
def test_an_interval_of_nothing(config: type[MirrorConnectorConfig], attribute: str, option: str) -> None:
    seconds = f"{option}.interval.seconds"
    parsed = config.parse({**LEAST, f"{option}.enabled": "true", seconds: "0"})
    with pytest.raises(ConfigError, match=rf"Invalid value 0 for configuration {seconds}: must be 1 at least"):
        getattr(parsed, attribute)


@pytest.mark.parametrize("config", [MirrorSourceConfig, MirrorCheckpointConfig])
def test_the_cluster_of_the_offset_syncs(config: Any) -> None:
    props = {**LEAST, "target.cluster.alias": "B"}
    assert config.parse(props).offset_syncs == OffsetSyncsTopic(Flow("A", "B"), Side.SOURCE)
    on_target = config.parse({**props, "offset-syncs.topic.location": "target"})
    assert on_target.offset_syncs == OffsetSyncsTopic(Flow("A", "B"), Side.TARGET)


def test_tasks_have_a_number_in_their_label() -> None:
    source = {**LEAST, "task.assigned.partitions": "a-b-0,t-1", "task.index": "3"}
    task = MirrorSourceTaskConfig.parse(source)
    assert (task.assigned_partitions, task.task_index, task.label) == (("a-b-0", "t-1"), 3, "A->target|mm-3")
    assert task.client_settings(REPLICATION_CONSUMER)["client.id"] == "A->target|mm-3|replication-consumer"
    group = MirrorCheckpointTaskConfig.parse({**LEAST, "task.assigned.groups": "g,h"})
    assert (group.assigned_groups, group.label) == (("g", "h"), "A->target|mm-?")
    assert MirrorHeartbeatConfig.parse(LEAST).label == "A->target|mm"


@pytest.mark.parametrize("config", [MirrorSourceTaskConfig, MirrorCheckpointTaskConfig])
def test_a_task_has_work(config: type[MirrorConnectorConfig]) -> None:
    with pytest.raises(ConfigError, match=r"Missing required configuration \"task\.assigned"):
        config.parse(LEAST)
