"""The flows of a file for MirrorMaker, with values in place of the placeholders of config providers."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connect_dagster.connectors.mirror.dedicated_config import DedicatedConfig
from connect_dagster.connectors.mirror.flow_configs import FlowConfig, read_flows
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.worker.config.connector import ConnectorConfig

FRAMEWORK_KEYS = frozenset(key.name for key in ConnectorConfig.table())
"""Options of all connectors. Those of source connectors alone count after the name of a flow only, as in Java."""


def flows_of_file(
    props: Mapping[str, str], targets: Collection[str], transformer: ConfigTransformer
) -> tuple[DedicatedConfig, list[FlowConfig]]:
    """Return the options of the process and its flows.

    Args:
        props: of the file.
        targets: aliases of the targets; none for all.
        transformer: has the file's config providers.

    Raises:
        ConfigError: a property is wrong, or a flow lacks the brokers of a cluster.
    """
    return read_flows(props, targets, FRAMEWORK_KEYS, lambda given: transformer.transform(given).config)
