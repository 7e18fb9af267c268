"""Settings of the worker and of the connectors of one flow, from mm2.properties (Java: ``MirrorMakerConfig``).

The properties are as written: placeholders of config providers stay in the connectors' settings, because the worker
resolves those, and are resolved here in the worker's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from connect_dagster.connectors.mirror.checkpoint_config import MirrorCheckpointConfig
from connect_dagster.connectors.mirror.client_settings import CLUSTER_KEYS
from connect_dagster.connectors.mirror.connector_classes import (
    CHECKPOINT_CONNECTOR,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
    simple_name,
)
from connect_dagster.connectors.mirror.filters import USE_DEFAULTS_FROM
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.heartbeat_config import MirrorHeartbeatConfig
from connect_dagster.connectors.mirror.shared_options import (
    ENABLED,
    SOURCE_ALIAS,
    TARGET_ALIAS,
    MirrorConnectorConfig,
)
from connect_dagster.connectors.mirror.source_config import MirrorSourceConfig
from connect_dagster.plugin.config import under_prefix

Properties = Mapping[str, str]
Resolve = Callable[[Properties], Properties]
"""Returns properties with the values of config providers in place of their placeholders."""

PROVIDERS = "config.providers"
_POLICY = "replication.policy"
_BYTE_ARRAYS = "org.apache.kafka.connect.converters.ByteArrayConverter"
_CONVERTERS = ("key.converter", "value.converter", "header.converter")
_KINDS = ("producer", "consumer", "admin")

SHARED_WORKER_PREFIXES = (
    "offset.storage",
    "config.storage",
    "status.storage",
    *_CONVERTERS,
    "task",
    "worker",
    _POLICY,
)
"""Settings of workers that count for all flows when they have no cluster before them."""

CONNECTOR_CONFIGS: Mapping[str, type[MirrorConnectorConfig]] = {
    simple_name(SOURCE_CONNECTOR): MirrorSourceConfig,
    simple_name(CHECKPOINT_CONNECTOR): MirrorCheckpointConfig,
    simple_name(HEARTBEAT_CONNECTOR): MirrorHeartbeatConfig,
}
"""Options of each connector of a flow by its name."""

CONNECTOR_OPTIONS = frozenset(
    key.name for config in CONNECTOR_CONFIGS.values() for key in config.table() if key.name != USE_DEFAULTS_FROM
)
"""Options of the connectors that count for all flows when they have no flow before them, as Java defines them."""


def cluster_settings(properties: Properties, alias: str) -> dict[str, str]:
    """Return the settings of a cluster, without its alias.

    The brokers and the access to them are also set for each kind of client. Those without an alias before them are the
    defaults of all clusters (Java: ``clusterProps``).
    """
    own = under_prefix(properties, f"{alias}.")
    found = _for_clients(own) | own
    shared = {name: value for name, value in properties.items() if name in CLUSTER_KEYS}
    return _for_clients(shared) | shared | found


def worker_settings(properties: Properties, flow: Flow, resolve: Resolve) -> dict[str, str]:
    """Return the settings of the worker that runs a flow's connectors, on the target (Java: ``workerConfig``).

    Args:
        properties: of mm2.properties, as written.
        flow: the flow.
        resolve: replaces placeholders.
    """
    cluster = cluster_settings(properties, flow.target)
    resolved = resolve(cluster | _beginning_with(SHARED_WORKER_PREFIXES, properties))
    return _worker_defaults(flow) | dict(resolved) | _beginning_with((PROVIDERS,), properties)


def connector_settings(
    properties: Properties, flow: Flow, connector: str, framework_keys: Collection[str]
) -> dict[str, str]:
    """Return the configuration of a flow's connector, as it is stored (Java: ``connectorBaseConfig``).

    Args:
        properties: of mm2.properties, as written.
        flow: the flow.
        connector: Java's class name of the connector.
        framework_keys: keys that all connectors have.
    """
    defaults = {
        "name": simple_name(connector),
        "connector.class": connector,
        SOURCE_ALIAS: flow.source,
        TARGET_ALIAS: flow.target,
        ENABLED: "false",
    }
    shared = {name: value for name, value in properties.items() if name in CONNECTOR_OPTIONS or name in framework_keys}
    return {
        **defaults,
        **shared,
        **_beginning_with((PROVIDERS, _POLICY), properties),
        **_of_side("source", cluster_settings(properties, flow.source)),
        **_of_side("target", cluster_settings(properties, flow.target)),
        **under_prefix(properties, flow.prefix),
    }


def _for_clients(settings: Properties) -> dict[str, str]:
    """Return the access to a cluster as settings of each kind of client."""
    access = {name: value for name, value in settings.items() if name in CLUSTER_KEYS}
    return {f"{kind}.{name}": value for kind in _KINDS for name, value in access.items()}


def _of_side(side: str, cluster: Properties) -> dict[str, str]:
    """Return a cluster's settings as those of one side of a flow; Java takes any name that begins like a client's."""
    return {
        f"{side}.{name}" if name.startswith(_KINDS) else f"{side}.cluster.{name}": value
        for name, value in cluster.items()
    }


def _beginning_with(prefixes: tuple[str, ...], properties: Properties) -> dict[str, str]:
    return {name: value for name, value in properties.items() if name.startswith(prefixes)}


def _worker_defaults(flow: Flow) -> dict[str, str]:
    topics = {"offset.storage.topic": "offsets", "status.storage.topic": "status", "config.storage.topic": "configs"}
    return {
        "client.id": str(flow),
        "group.id": f"{flow.source}-mm2",
        **{name: f"mm2-{kind}.{flow.source}.internal" for name, kind in topics.items()},
        **dict.fromkeys(_CONVERTERS, _BYTE_ARRAYS),
    }
