"""Checks of what a connector's configuration holds for others: its own converters, and its Kafka clients.

Each part is a separate ``ConfigInfos``, whose keys carry their prefix (Java: ``validateConverterConfig`` and
``validateClientOverrides`` of ``AbstractHerder``). As in Java, overrides are checked for their types and for what the
worker's policy allows; whether a client takes a value turns out when it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.herder.validation.connector_config_def import CONVERTERS
from connect_dagster.isolation.plugins import Kind, Plugins, class_name
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.java.maven_versions import require_version
from connect_dagster.kafka.override_policy import ClientPolicy
from connect_dagster.kafka.settings import ClientKind, definitions
from connect_dagster.plugin.config import ConfigValue, Type, parse_value, prefixed_infos, under_prefix
from connect_dagster.worker.source.topic_creation import uses_topic_creation

Properties = Mapping[str, str | None]
Infos = dict[str, Any]


def converter_infos(config: Properties, values: Mapping[str, ConfigValue], plugins: Plugins) -> list[Infos]:
    """Options of the converters that a connector names itself: header, key, value.

    Args:
        config: the connector's configuration.
        values: what was found for the framework's keys; gets the errors of the converters as a whole.
        plugins: where they are found.
    """
    checked = [_converter_infos(side, config, values, plugins) for side in sorted(CONVERTERS)]
    return [infos for infos in checked if infos is not None]


def _converter_infos(
    side: str, config: Properties, values: Mapping[str, ConfigValue], plugins: Plugins
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


def override_infos(
    config: Properties, values: Mapping[str, ConfigValue], kind: Kind, policy: ClientPolicy
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


def _override_infos(config: Properties, client: ClientKind, policy: ClientPolicy) -> Infos:
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
