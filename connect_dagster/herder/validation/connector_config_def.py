"""The framework's keys for one connector: with the worker's converters as defaults, the plugins that are there as
recommended values, and checks that need them (Java: ``ConnectorConfig.enrichedConfigDef``).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.isolation.plugins import Kind, PluginDescription, Plugins
from connect_dagster.java.maven_versions import check_version
from connect_dagster.plugin.config import ConfigTable, Recommender, Validator
from connect_dagster.plugin.connector import Connector
from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.worker.config.connector import ConnectorConfig, enriched
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig

CONNECTOR_VERSION = "connector.plugin.version"
CONVERTERS: Mapping[str, str] = {"key": "Converter", "value": "Converter", "header": "HeaderConverter"}
"""Sides of a record that have a converter, with Java's interface of it."""

_BASES: Mapping[str, type[Any]] = {"key": Converter, "value": Converter, "header": HeaderConverter}
_CONFIGS: Mapping[Kind, type[ConnectorConfig]] = {Kind.SINK: SinkConnectorConfig, Kind.SOURCE: SourceConnectorConfig}


def framework_table(described: PluginDescription[Connector]) -> ConfigTable:
    """Return the framework's keys for a connector, without what a worker adds."""
    table = enriched(_CONFIGS[described.kind].table(), {CONNECTOR_VERSION: described.version}, {})
    return _checked(table, {CONNECTOR_VERSION: check_version})


def common_table(described: PluginDescription[Connector]) -> ConfigTable:
    """Return the keys of connectors of both directions, for one whose version does not exist."""
    recommenders = {f"{side}.converter.plugin.version": _version_recommender(None, side) for side in CONVERTERS}
    recommenders[CONNECTOR_VERSION] = _fixed([described.version])
    return enriched(ConnectorConfig.table(), {CONNECTOR_VERSION: described.version}, recommenders)


def enriched_table(
    described: PluginDescription[Connector],
    config: Mapping[str, str | None],
    plugins: Plugins,
    worker: WorkerConfig,
) -> ConfigTable:
    """Return the framework's keys for a connector with all that this worker knows.

    Args:
        described: the connector.
        config: its configuration.
        plugins: what there is.
        worker: the worker's configuration.
    """
    defaults: dict[str, str | None] = {}
    recommenders = {CONNECTOR_VERSION: _fixed([described.version])}
    validators: dict[str, Validator] = {}
    for side, interface in CONVERTERS.items():
        name, version = f"{side}.converter", f"{side}.converter.plugin.version"
        defaults[name] = plugins.find_class(getattr(worker, f"{side}_converter"))
        given = config.get(name)
        defaults[version] = version_of(plugins, defaults[name] if given is None else given, _BASES[side])
        recommenders[name] = _fixed(_converters(plugins, side))
        recommenders[version] = _version_recommender(plugins, side)
        validators |= {name: _class_validator(plugins, _BASES[side], interface), version: check_version}
    return _checked(enriched(framework_table(described), defaults, recommenders), validators)


def version_of(plugins: Plugins, name: str | None, base: type[Any]) -> str | None:
    """Version of the plugin of that name; ``None`` when there is none of that base class."""
    found = plugins.class_named(name) if name else None
    return getattr(found, "version", None) if found is not None and issubclass(found, base) else None


def _checked(table: ConfigTable, validators: Mapping[str, Validator]) -> ConfigTable:
    return table.with_keys(replace(key, validator=validators[key.name]) for key in table if key.name in validators)


def concrete_class(plugins: Plugins, name: str, base: type[Any], interface: str) -> type[Any]:
    """Return the class of that name.

    Raises:
        ConfigError: it is not of that kind or abstract, in the words of Java's ``Utils.ensureConcreteSubclass``, or it
            does not say what its configuration is.
    """
    found = plugins.class_named(name)
    if found is None or not issubclass(found, base):
        raise ConfigError(f"Class class {name} does not implement the {interface} interface")
    if inspect.isabstract(found):
        raise ConfigError(f"Class class {name} is abstract and cannot be created")
    if not hasattr(found, "config_def"):
        raise ConfigError(f"Plugin {name} has no config_def: the ConfigDef class of its configuration")
    return found


def instantiated(found: type[Any], key: str, name: str) -> Any:
    """Return an object of a class. Raises ConfigError in the words of Java's ``InstantiableClassValidator``."""
    try:
        return found()
    except Exception as error:
        raise ConfigError.invalid(key, name, f"Could not instantiate class: {error}") from error


def _class_validator(plugins: Plugins, base: type[Any], interface: str) -> Validator:
    def check(name: str, value: Any) -> None:
        if value is not None:
            instantiated(concrete_class(plugins, value, base, interface), name, value)

    return check


def _converters(plugins: Plugins, side: str) -> list[str]:
    kind = Kind.HEADER_CONVERTER if side == "header" else Kind.CONVERTER
    return [one.class_name for one in plugins.all((kind,))]


def _fixed(values: Sequence[Any]) -> Recommender:
    return Recommender(lambda name, parsed: values)


def _version_recommender(plugins: Plugins | None, side: str) -> Recommender:
    """Return the converter's version; not shown while that converter does not exist."""
    converter = f"{side}.converter"

    def values(name: str, parsed: Mapping[str, Any]) -> list[str]:
        version = None if plugins is None else version_of(plugins, parsed[converter], _BASES[side])
        return [] if version is None else [version]

    return Recommender(values, lambda name, parsed: parsed[converter] is not None)
