"""Checks connector configurations (Java: ``AbstractHerder.validateConnectorConfig``)."""

from __future__ import annotations

from typing import Any

from connect_dagster.herder.interface import ConnectorConfig
from connect_dagster.plugin.config import config_infos, key_info
from connect_dagster.plugin.errors import BadRequestError, NotFoundError
from connect_dagster.worker.config import StandaloneConfig
from connect_dagster.worker.plugins import Kind, Plugins
from connect_dagster.worker.sink_connector_config import SinkConnectorConfig, check_topics
from connect_dagster.worker.source_connector_config import SourceConnectorConfig

CONNECTOR_CLASS = "connector.class"


class Validator:
    """Checks configurations against the keys of the connector and the framework.

    Args:
        plugins: where classes are found.
        worker: the worker's configuration.
    """

    def __init__(self, plugins: Plugins, worker: StandaloneConfig) -> None:
        self._plugins = plugins
        self._worker = worker

    def check(self, config: ConnectorConfig) -> None:
        """Raise BadRequestError with all errors of a configuration, if it has any."""
        infos = self.validate(config)
        errors = [error for entry in infos["configs"] for error in entry["value"]["errors"]]
        if errors:
            listed = "\n".join(errors)
            raise BadRequestError(
                f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n{listed}\n"
                "You can also find the above list of errors at the endpoint "
                "`/connector-plugins/{connectorType}/config/validate`"
            )

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        """ConfigInfos of a configuration. Raises BadRequestError without ``connector.class``."""
        name = config.get(CONNECTOR_CLASS)
        if not name:
            shown = ", ".join(f"{key}={value}" for key, value in config.items())
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        described = self._plugins.connector(name)
        framework = SinkConnectorConfig if described.kind is Kind.SINK else SourceConnectorConfig
        table = framework.table().with_keys(described.plugin.config_def.table())
        values = table.validate_all(config)
        if described.kind is Kind.SINK:
            check_topics(config, values)
        return config_infos(name, table, values)

    def plugin_config(self, name: str, version: str | None) -> list[dict[str, Any]]:
        """ConfigKeyInfo of each key of a plugin. Raises NotFoundError."""
        for one in self._plugins.all():
            if name == one.class_name or name in one.aliases:
                return [key_info(key) for key in one.plugin.config_def.table()]
        raise NotFoundError(f"Unknown plugin {name}.")
