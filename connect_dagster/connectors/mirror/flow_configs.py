"""The flows of a dedicated process with the configurations that each runs, checked (Java: ``MirrorMaker``)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from connect_dagster.connectors.mirror.client_settings import (
    BOOTSTRAP_SERVERS,
    CLUSTER_KEYS,
    REPLICATION_CONSUMER,
    client_settings,
)
from connect_dagster.connectors.mirror.connector_classes import (
    CHECKPOINT_CONNECTOR,
    CONNECTORS,
    SOURCE_CONNECTOR,
    simple_name,
)
from connect_dagster.connectors.mirror.dedicated_config import REST_PREFIXES, DedicatedConfig
from connect_dagster.connectors.mirror.flow import Flow
from connect_dagster.connectors.mirror.flow_properties import all_flows
from connect_dagster.connectors.mirror.flow_settings import (
    CONNECTOR_CONFIGS,
    CONNECTOR_OPTIONS,
    PROVIDERS,
    SHARED_WORKER_PREFIXES,
    Properties,
    Resolve,
    connector_settings,
    worker_settings,
)
from connect_dagster.connectors.mirror.shared_options import ENABLED
from connect_dagster.errors import ConfigError
from connect_dagster.kafka.override_policy import POLICY
from connect_dagster.plugin.config import FindClass, Type, parse_value

_PROCESS_PREFIXES = (*REST_PREFIXES, PROVIDERS, "spark.", "plugin.")


@dataclass(frozen=True, slots=True)
class FlowConfig:
    """One flow with all that it runs.

    Attributes:
        flow: the pair of clusters.
        worker: settings of the worker, with values in place of placeholders.
        connectors: configurations by name of the connector, with placeholders, in the order in which they are written.
        resolved: the same with values in place of placeholders.
    """

    flow: Flow
    worker: Mapping[str, str] = field(repr=False)
    connectors: Mapping[str, Mapping[str, str]] = field(repr=False)
    resolved: Mapping[str, Mapping[str, str]] = field(repr=False)

    @property
    def source(self) -> Mapping[str, str]:
        """Return the resolved configuration of the connector that replicates topics."""
        return self.resolved[simple_name(SOURCE_CONNECTOR)]

    @property
    def checkpoint(self) -> Mapping[str, str]:
        """Return the resolved configuration of the connector that translates offsets."""
        return self.resolved[simple_name(CHECKPOINT_CONNECTOR)]

    @property
    def replicates(self) -> bool:
        """Return whether topics are replicated; otherwise the flow only emits heartbeats."""
        return bool(parse_value(ENABLED, self.source[ENABLED], Type.BOOLEAN))

    def check(self, find_class: FindClass) -> None:
        """Check each option of the connectors by itself: Java's process says what is wrong when it writes them.

        Args:
            find_class: finds classes of policies and filters.

        Raises:
            ConfigError: names the option and its value.
        """
        for name, settings in self.resolved.items():
            CONNECTOR_CONFIGS[name].parse(settings, find_class)


def read_flows(
    properties: Properties, targets: Collection[str], framework_keys: Collection[str], resolve: Resolve
) -> tuple[DedicatedConfig, list[FlowConfig]]:
    """Return the options of the process and its flows.

    Args:
        properties: of mm2.properties, as written.
        targets: aliases from ``--clusters``; none for all.
        framework_keys: keys that the worker's framework gives to all connectors.
        resolve: replaces placeholders of config providers.

    Raises:
        ConfigError: a property is wrong, or a flow lacks the brokers of a cluster.
    """
    config = DedicatedConfig.parse(resolve(properties))
    found = [_flow_config(config, properties, flow, framework_keys, resolve) for flow in config.flows(targets)]
    for one in found:
        _check_brokers(one)
    return config, found


def looping_flows(config: DedicatedConfig) -> list[Flow]:
    """Return flows that replicate records back under the same names, one of each pair; the policy cannot know.

    Another process may run one of the two: each is given the file of all.
    """
    flows = {flow for flow in all_flows(config.clusters) if config.keeps_names(flow)}
    return sorted(flow for flow in flows if flow.back in flows and flow < flow.back)


def unused_properties(config: DedicatedConfig, framework_keys: Collection[str]) -> Iterator[str]:
    """Yield the names of properties without effect, such as those that need a cluster or a flow before them."""
    prefixes = (
        *_PROCESS_PREFIXES,
        *SHARED_WORKER_PREFIXES,
        *(f"{alias}." for alias in config.clusters),
        *(flow.prefix for flow in all_flows(config.clusters)),
    )
    known = {*CONNECTOR_OPTIONS, *CLUSTER_KEYS, *framework_keys, *(key.name for key in config.table())}
    return (name for name in config.originals if name not in known and not name.startswith(prefixes))


def _flow_config(
    config: DedicatedConfig, properties: Properties, flow: Flow, framework_keys: Collection[str], resolve: Resolve
) -> FlowConfig:
    connectors = {
        simple_name(connector): connector_settings(properties, flow, connector, framework_keys)
        for connector in CONNECTORS
    }
    # Java's process lets its connectors override every setting of their clients, whatever is given.
    worker = {**worker_settings(properties, flow, resolve), POLICY: "All"}
    return FlowConfig(flow, worker, connectors, {name: dict(resolve(one)) for name, one in connectors.items()})


def _check_brokers(config: FlowConfig) -> None:
    """Check that the clusters can be reached; a flow that only emits heartbeats does not use its source."""
    consumer = client_settings(config.source, REPLICATION_CONSUMER, str(config.flow))
    if not config.worker.get(BOOTSTRAP_SERVERS, "").strip():
        raise ConfigError.missing(f"{config.flow.target}.{BOOTSTRAP_SERVERS}")
    if config.replicates and not consumer.get(BOOTSTRAP_SERVERS, "").strip():
        raise ConfigError.missing(f"{config.flow.source}.{BOOTSTRAP_SERVERS}")
