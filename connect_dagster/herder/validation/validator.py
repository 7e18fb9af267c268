"""Checks connector configurations (Java: ``AbstractHerder.validateConnectorConfig``)."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from connect_dagster.client.masking import is_secret_key
from connect_dagster.errors import BadRequestError, ConfigError, ConnectError, NotFoundError, java_text
from connect_dagster.herder.interface import ConnectorConfig
from connect_dagster.herder.validation.connector_config_def import (
    CONNECTOR_VERSION,
    CONVERTERS,
    common_table,
    enriched_table,
    framework_table,
)
from connect_dagster.herder.validation.exactly_once import add_exactly_once_errors
from connect_dagster.herder.validation.transformation_keys import ALIASED, transformation_keys
from connect_dagster.isolation.config_transformer import ConfigTransformer
from connect_dagster.isolation.hidden_values import HiddenValues
from connect_dagster.isolation.plugin_source import class_name
from connect_dagster.isolation.plugins import LISTED, Kind, PluginDescription, Plugins
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.java.maven_versions import VersionRange, require_version
from connect_dagster.kafka.override_policy import ClientPolicy
from connect_dagster.kafka.settings import ClientKind, definitions
from connect_dagster.plugin.config import (
    ConfigTable,
    ConfigValue,
    Password,
    Type,
    config_infos,
    key_info,
    merge_infos,
    parse_value,
    prefixed_infos,
    under_prefix,
)
from connect_dagster.plugin.connector import Connector
from connect_dagster.worker.config.rate_limit import rate_limit_keys
from connect_dagster.worker.config.sink import check_topics
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.source.topic_creation import uses_topic_creation

log = logging.getLogger(__name__)

Infos = dict[str, Any]

CONNECTOR_CLASS = "connector.class"
_GROUP_OVERRIDE = "consumer.override.group.id"
_TYPES = "sink, source, converter, header_converter, transformation, predicate"
NULL_VALUE = "Null value can not be supplied as the configuration value."


class Validator:
    """Checks configurations against the keys of the connector, the framework, and the plugins that it names.

    Args:
        plugins: where classes are found.
        worker: the worker's configuration.
        worker_group: the group that the worker is a member of, which no consumer group may be; ``None`` standalone.
        transformer: for placeholders: what is checked is what plugins are told.
    """

    def __init__(
        self,
        plugins: Plugins,
        worker: WorkerConfig,
        worker_group: str | None = None,
        transformer: ConfigTransformer | None = None,
    ) -> None:
        self._plugins = plugins
        self._worker = worker
        self._worker_group = worker_group
        self._transformer = transformer or ConfigTransformer({})
        self._policy = ClientPolicy.of(worker.originals)

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

    def validate(self, config: ConnectorConfig) -> Infos:
        """ConfigInfos of a configuration.

        Values are checked as plugins get them. Without ``validate.show.resolved`` the result has placeholders as they
        were written: those who may validate could otherwise read all that the config providers can.

        Raises:
            BadRequestError: there is no ``connector.class``, no such class, or its version is none.
            ConfigError: a config provider failed.
        """
        transformed = self._transformer.resolve(config)
        if self._worker.validate_show_resolved or not transformed.resolved:
            return self._infos(transformed.config)
        hidden = HiddenValues()
        hidden.add(transformed.resolved)
        try:
            infos = self._infos(transformed.config)
        except BadRequestError as error:
            raise BadRequestError(hidden.in_reply(str(error))) from None
        except Exception as error:
            # A plugin's: the worker's log and replies do not know the values of a validation.
            log.error("A validation failed: %s", hidden.in_reply(traceback.format_exc()))
            raise ConnectError(hidden.in_reply(str(error) or type(error).__name__)) from None
        return _as_written(infos, config, transformed.config, hidden.in_reply)

    def _infos(self, config: ConnectorConfig) -> Infos:
        described = self._connector(config)
        try:
            require_version(described.class_name, described.version, config.get(CONNECTOR_VERSION))
        except ConfigError as error:
            return self._of_missing_version(described, config, error)
        return self._of_connector(described, config)

    def plugin_config(self, name: str, version: str | None) -> list[dict[str, Any]]:
        """ConfigKeyInfo of each key of a plugin, its own first, then the framework's for a connector.

        Raises:
            NotFoundError: the plugin does not exist.
            BadRequestError: it does not have that version, or the version is none; or it is a config provider.
        """
        for one in self._plugins.all(Kind):
            if name == one.class_name or name in one.aliases:
                if one.kind not in LISTED:
                    raise BadRequestError(f"Invalid plugin class {name}. Valid types are {_TYPES}.")
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
            shown = ", ".join(
                f"{key}={Password(value) if value and is_secret_key(key) else java_text(value)}"
                for key, value in config.items()
            )
            raise BadRequestError(f"Connector config {{{shown}}} contains no connector type")
        try:
            VersionRange.parse(config.get(CONNECTOR_VERSION))
            return self._plugins.connector(name, config.get(CONNECTOR_VERSION))
        except ConnectError as error:
            raise BadRequestError(str(error)) from error

    def _of_connector(self, described: PluginDescription[Connector], config: ConnectorConfig) -> dict[str, Any]:
        name = config[CONNECTOR_CLASS] or ""
        framework = enriched_table(described, config, self._plugins, self._worker)
        framework = framework.with_keys(transformation_keys(config, self._plugins)).with_keys(rate_limit_keys(config))
        values = framework.validate_all(config, self._plugins.find_class)
        if described.kind is Kind.SINK:
            check_topics(config, values)
            if self._worker_group is not None:
                values = _with_group_errors(config, values, self._worker_group)
        elif self._worker_group is not None:
            enabled = self._worker.has_exactly_once_sources
            add_exactly_once_errors(described.plugin, config, values, enabled=enabled)
        values = _with_null_errors(config, values)
        # Before the connector's own part is put together, because errors of converters go to the framework's keys.
        by_name = {value.name: value for value in values}
        converters = _all_converter_infos(config, by_name, self._plugins)
        overrides = _all_override_infos(config, by_name, described.kind, self._policy)
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


def _as_written(infos: Infos, written: ConnectorConfig, checked: ConnectorConfig, shown: Callable[[str], str]) -> Infos:
    """Return ConfigInfos with placeholders in place of their values.

    Args:
        infos: of ``checked``.
        written: the configuration with placeholders.
        checked: with values in their place.
        shown: returns a text without these values.
    """
    changed = {name: text for name, text in written.items() if text is not None and text != checked[name]}
    for entry in infos["configs"]:
        value = entry["value"] or {"name": None, "value": None, "errors": [], "recommended_values": []}
        text = changed.get(value["name"])
        if text is not None:
            if value["value"] not in (None, str(Password(""))):
                value["value"] = text.strip()
            quoted, placeholder = f"Invalid value {checked[value['name']]} for", f"Invalid value {text} for"
            value["errors"] = [error.replace(quoted, placeholder) for error in value["errors"]]
        value["errors"] = [shown(error) for error in value["errors"]]
        value["recommended_values"] = [one and shown(one) for one in value["recommended_values"]]
    infos = {**infos, "name": written[CONNECTOR_CLASS]}
    return _shown_names(infos, shown) if changed.keys() & ALIASED else infos


def _shown_names(found: Any, shown: Callable[[str], str]) -> Any:
    """Return ConfigInfos without values in names of keys and groups, where values are aliases of transformations."""
    match found:
        case dict():
            return {name: _shown_names(value, shown) for name, value in found.items()}
        case list():
            return [_shown_names(value, shown) for value in found]
        case str():
            return shown(found)
        case _:
            return found


def _with_null_errors(config: ConnectorConfig, values: Sequence[ConfigValue]) -> list[ConfigValue]:
    by_name = {value.name: value for value in values}
    for name in (name for name, value in config.items() if value is None):
        by_name.setdefault(name, ConfigValue(name)).errors.append(NULL_VALUE)
    return list(by_name.values())


def _with_group_errors(config: ConnectorConfig, values: Sequence[ConfigValue], worker_group: str) -> list[ConfigValue]:
    """A sink's consumers may not join the workers' own group (Java: ``validateSinkConnectorGroupId``)."""
    by_name = {value.name: value for value in values}
    if _GROUP_OVERRIDE in config:
        group = config[_GROUP_OVERRIDE]
        found = by_name.setdefault(_GROUP_OVERRIDE, ConfigValue(_GROUP_OVERRIDE, group))
        whose = f"Consumer group {group}"
    else:
        found, group = by_name["name"], f"connect-{config.get('name')}"
        whose = f"Consumer group for sink connector named {config.get('name')}"
    if group == worker_group:
        found.errors.append(f"{whose} conflicts with Connect worker group {worker_group}")
    return list(by_name.values())


def _all_converter_infos(config: ConnectorConfig, values: Mapping[str, ConfigValue], plugins: Plugins) -> list[Infos]:
    """Options of the converters that a connector names itself: header, key, value.

    Args:
        config: the connector's configuration.
        values: what was found for the framework's keys; gets the errors of the converters as a whole.
        plugins: where they are found.
    """
    checked = [_converter_infos(side, config, values, plugins) for side in sorted(CONVERTERS)]
    return [infos for infos in checked if infos is not None]


def _converter_infos(
    side: str, config: ConnectorConfig, values: Mapping[str, ConfigValue], plugins: Plugins
) -> Infos | None:
    name = f"{side}.converter"
    value, version = values[name], values[f"{name}.plugin.version"]
    found = plugins.class_named(value.value) if config.get(name) is not None and value.value else None
    if found is None or value.errors or version.errors:
        return None
    try:
        found = plugins.class_named(value.value, config.get(version.name)) or found
        require_version(class_name(found), found.version, config.get(version.name))
    except ConfigError as error:
        for one in (value, version):
            one.errors.append(error.message)
        return None
    options = {"converter.type": side} | under_prefix(config, f"{name}.")
    found_values = {one.name: one for one in found.config_def.validate_all(options)}
    in_java_order = [found_values[key] for key in hash_map_order(found_values)]
    return prefixed_infos(found.config_def.table(), in_java_order, f"{name}.")


def _all_override_infos(
    config: ConnectorConfig, values: Mapping[str, ConfigValue], kind: Kind, policy: ClientPolicy
) -> list[Infos]:
    """Overrides of the clients that a connector uses, each in Java's definition: producer, consumer, admin.

    Args:
        config: the connector's configuration.
        values: the checked values of the framework's keys.
        kind: its direction.
        policy: what it may override.
    """
    dead_letters = bool(values["errors.deadletterqueue.topic.name"].value)
    creates_topics = uses_topic_creation(config)
    used = {
        ClientKind.PRODUCER: kind is Kind.SOURCE or dead_letters,
        ClientKind.CONSUMER: kind is Kind.SINK,
        ClientKind.ADMIN: dead_letters if kind is Kind.SINK else creates_topics,
    }
    return [_override_infos(config, client, policy) for client, wanted in used.items() if wanted]


def _override_infos(config: ConnectorConfig, client: ClientKind, policy: ClientPolicy) -> Infos:
    prefix, table = f"{client.value}.override.", definitions(client)
    types = {key.name: key.type for key in table}
    # Java fills one hash map from the other: what falls together in the second keeps the order of the first.
    given = under_prefix({name: config[name] for name in hash_map_order(config)}, prefix)
    values = [_override(name, given[name], types.get(name)) for name in hash_map_order(given)]
    for value in values:
        value.errors += [text for text in (policy.refusal(value.name),) if text is not None]
    return prefixed_infos(table, values, prefix)


def _override(name: str, text: str | None, kind: Type | None) -> ConfigValue:
    try:
        return ConfigValue(name, text if kind is None else parse_value(name, text, kind))
    except ConfigError as error:
        return ConfigValue(name, text, errors=[error.message])
