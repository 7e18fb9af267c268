"""Checks of what a connector's configuration holds for others: its own converters, and its Kafka clients.

Each part is a ``ConfigInfos`` of its own, whose keys carry their prefix (Java: ``validateConverterConfig`` and
``validateClientOverrides`` of ``AbstractHerder``). Clients are librdkafka's, so their keys have no Java definition;
values that librdkafka refuses are errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import AdminClient

from connect_dagster.herder.framework_keys import CONVERTERS
from connect_dagster.herder.version_range import require_version
from connect_dagster.java.hashes import hash_map_order
from connect_dagster.plugin.config import ConfigTable, ConfigValue, prefixed_infos
from connect_dagster.plugin.errors import ConfigError
from connect_dagster.worker import clients
from connect_dagster.worker.plugins import Kind, Plugins, class_name

Properties = Mapping[str, str | None]
Infos = dict[str, Any]
_NONE = ConfigTable(())


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
        require_version(class_name(found), found.version, config.get(version.name))
    except ConfigError as error:
        for one in (value, version):
            one.errors.append(error.message)
        return None
    options = {"converter.type": side} | _prefixed(config, f"{name}.")
    found_values = {one.name: one for one in found.config_def.validate_all(options)}
    in_java_order = [found_values[key] for key in hash_map_order(found_values)]
    return prefixed_infos(found.config_def.table(), in_java_order, f"{name}.")


def override_infos(config: Properties, kind: Kind) -> list[Infos]:
    """Overrides of the clients that a connector uses: producer, consumer, admin."""
    dead_letters = bool((config.get("errors.deadletterqueue.topic.name") or "").strip())
    creates_topics = any(name.startswith("topic.creation.") for name in config)
    used = {
        "producer": kind is Kind.SOURCE or dead_letters,
        "consumer": kind is Kind.SINK,
        "admin": dead_letters if kind is Kind.SINK else creates_topics,
    }
    return [_override_infos(config, client) for client, wanted in used.items() if wanted]


def _override_infos(config: Properties, client: str) -> Infos:
    prefix = f"{client}.override."
    given = _prefixed(config, prefix)
    values = [ConfigValue(name, given[name]) for name in hash_map_order(given)]
    for value in values:
        value.errors += _refused(client, value)
    return prefixed_infos(_NONE, values, prefix)


def _refused(client: str, value: ConfigValue) -> list[str]:
    """What the client's library says against one value; what it does not know is left out when it is used."""
    if value.value is None:
        return []
    try:
        _CLIENTS[client]({**clients.to_librdkafka({value.name: value.value}), "log_level": 0})
    except (KafkaException, ValueError) as error:
        text = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        return [] if "onfiguration property" not in text or "No such" in text else [text.strip()]
    return []


def _consumer(settings: dict[str, Any]) -> Consumer:
    return Consumer({"group.id": "check", **settings})


_CLIENTS: Mapping[str, Any] = {"producer": Producer, "consumer": _consumer, "admin": AdminClient}


def _prefixed(config: Properties, prefix: str) -> dict[str, str | None]:
    return {
        name.removeprefix(prefix): value for name, value in config.items() if name.startswith(prefix) and name != prefix
    }
