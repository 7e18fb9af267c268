"""Checks connector configurations (Java: ``AbstractHerder.validateConnectorConfig``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from connect_dagster.herder.aliased_plugins import aliased_keys
from connect_dagster.herder.embedded_checks import converter_infos, override_infos
from connect_dagster.herder.framework_keys import CONNECTOR_VERSION, common_table, enriched_table, framework_table
from connect_dagster.herder.interface import ConnectorConfig
from connect_dagster.herder.version_range import VersionRange, require_version
from connect_dagster.plugin.config import ConfigTable, ConfigValue, config_infos, key_info, merge_infos
from connect_dagster.plugin.connector import Connector
from connect_dagster.plugin.errors import BadRequestError, ConfigError, ConnectError, NotFoundError, java_text
from connect_dagster.worker.config import StandaloneConfig
from connect_dagster.worker.plugins import Kind, PluginDescription, Plugins
from connect_dagster.worker.sink_connector_config import check_topics

CONNECTOR_CLASS = "connector.class"
NULL_VALUE = "Null value can not be supplied as the configuration value."


class Validator:
    """Checks configurations against the keys of the connector, the framework, and the plugins that it names.

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
        errors = [error for entry in infos["configs"] if entry["value"] for error in entry["value"]["errors"]]
        if errors:
            listed = "\n".join(errors)
            raise BadRequestError(
                f"Connector configuration is invalid and contains the following {len(errors)} error(s):\n{listed}\n"
                "You can also find the above list of errors at the endpoint "
                "`/connector-plugins/{connectorType}/config/validate`"
            )

    def validate(self, config: ConnectorConfig) -> dict[str, Any]:
        """ConfigInfos of a configuration.

        Raises:
            BadRequestError: there is no ``connector.class``, no such class, or its version is none.
        """
        described = self._connector(config)
        try:
            require_version(described.class_name, described.version, config.get(CONNECTOR_VERSION))
        except ConfigError as error:
            return self._of_missing_version(described, config, error)
        return self._of_connector(described, config)

    def plugin_config(self, name: str, version: str | None) -> list[dict[str, Any]]:
        """ConfigKeyInfo of each key of a plugin, its own first, then the framework's for a connector.

        Raises:
            NotFoundError: there is no such plugin.
            BadRequestError: it does not have that version, or the version is none.
        """
        for one in self._plugins.all():
            if name == one.class_name or name in one.aliases:
                return [key_info(key) for key in self._keys(one, version)]
        raise NotFoundError(f"Unknown plugin {name}.")

    def _keys(self, described: PluginDescription[Any], version: str | None) -> ConfigTable:
        try:
            VersionRange.parse(version)
        except ConfigError as error:
            raise BadRequestError(f"Invalid version specification: {version}") from error
        try:
            require_version(described.class_name, described.version, version)
        except ConfigError as error:
            raise BadRequestError(error.message) from error
        own: ConfigTable = described.plugin.config_def.table()
        if described.kind not in (Kind.SINK, Kind.SOURCE):
            return own
        return own.with_keys(key for key in framework_table(described) if key.name not in own)

    def _connector(self, config: ConnectorConfig) -> PluginDescription[Connector]:
        name = config.get(CONNECTOR_CLASS)
        if name is None:
            shown = ", ".join(f"{key}={java_text(value)}" for key, value in config.items())
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        try:
            VersionRange.parse(config.get(CONNECTOR_VERSION))
            return self._plugins.connector(name)
        except ConnectError as error:
            raise BadRequestError(str(error)) from error

    def _of_connector(self, described: PluginDescription[Connector], config: ConnectorConfig) -> dict[str, Any]:
        name = config[CONNECTOR_CLASS] or ""
        framework = enriched_table(described, config, self._plugins, self._worker)
        framework = framework.with_keys(aliased_keys(config, self._plugins))
        values = framework.validate_all(config, self._plugins.find_class)
        if described.kind is Kind.SINK:
            check_topics(config, values)
        values = _with_null_errors(config, values)
        # Before the connector's own part is put together, because errors of converters go to the framework's keys.
        converters = converter_infos(config, {value.name: value for value in values}, self._plugins)
        overrides = override_infos(config, described.kind)
        own = described.plugin.config_def
        table = framework.with_keys(own.table())
        found = [*values, *own.validate_all(config, self._plugins.find_class)]
        return merge_infos(name, config_infos(name, table, found), *overrides, *converters)

    def _of_missing_version(
        self, described: PluginDescription[Connector], config: ConnectorConfig, error: ConfigError
    ) -> dict[str, Any]:
        """Only the keys that all connectors have, as nothing is known of that version."""
        table = common_table(described)
        values = table.validate_all(config, self._plugins.find_class)
        for value in values:
            if value.name in (CONNECTOR_CLASS, CONNECTOR_VERSION):
                value.errors.append(error.message)
        return config_infos(config[CONNECTOR_CLASS] or "", table, _with_null_errors(config, values))


def _with_null_errors(config: ConnectorConfig, values: Sequence[ConfigValue]) -> list[ConfigValue]:
    by_name = {value.name: value for value in values}
    for name in (name for name, value in config.items() if value is None):
        by_name.setdefault(name, ConfigValue(name)).errors.append(NULL_VALUE)
    return list(by_name.values())
