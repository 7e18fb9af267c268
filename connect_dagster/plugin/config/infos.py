"""Definitions and checked values in the JSON of the REST API (Java: ``ConfigInfos``, ``AbstractHerder``)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from connect_dagster.plugin.config.keys import ConfigKey, ConfigValue, Type
from connect_dagster.plugin.config.table import ConfigTable
from connect_dagster.plugin.config.values import to_text

Infos = dict[str, Any]


def key_info(key: ConfigKey, prefix: str = "") -> dict[str, Any]:
    """``ConfigKeyInfo``; the prefix (``key.converter.``) goes before the name alone."""
    return {
        "name": prefix + key.name,
        "type": key.type.value,
        "required": key.required,
        "default_value": None if key.required else to_text(key.default, key.type),
        "importance": key.importance.value,
        "documentation": key.documentation,
        "group": key.group,
        "order_in_group": key.order_in_group,
        "width": key.width.value,
        "display_name": key.display_name,
        "dependents": list(key.dependents),
    }


def value_info(value: ConfigValue, kind: Type | None, prefix: str = "") -> dict[str, Any]:
    """``ConfigValueInfo``; ``kind`` is ``None`` for a key without definition."""
    each = Type.STRING if kind is Type.LIST else kind
    return {
        "name": prefix + value.name,
        "value": to_text(value.value, kind),
        "recommended_values": [to_text(item, each) for item in value.recommended_values],
        "errors": list(value.errors),
        "visible": value.visible,
    }


def config_infos(name: str, table: ConfigTable, values: Sequence[ConfigValue]) -> Infos:
    """``ConfigInfos`` of a connector: values without definition first, then the definitions in their order.

    Args:
        name: ``connector.class`` as the user wrote it.
        table: framework keys and the connector's own.
        values: what the checks found; of two for one key the later counts.
    """
    by_name = {value.name: value for value in values}
    unknown = [value for value in by_name.values() if value.name not in table]
    defined = [(key, by_name.get(key.name)) for key in table]
    configs = [{"definition": None, "value": value_info(value, None)} for value in unknown]
    configs += [
        {"definition": key_info(key), "value": None if value is None else value_info(value, key.type)}
        for key, value in defined
    ]
    errors = sum(len(value.errors) for value in by_name.values())
    return {"name": name, "error_count": errors, "groups": table.groups, "configs": configs}


def prefixed_infos(table: ConfigTable, values: Iterable[ConfigValue], prefix: str) -> Infos:
    """``ConfigInfos`` of a part, such as a converter; counts keys with errors, not errors, as Java."""
    keys = {key.name: key for key in table}
    found = [(keys.get(value.name), value) for value in values]
    return {
        "name": "",
        "error_count": sum(bool(value.errors) for _, value in found),
        "groups": list(dict.fromkeys(key.group for key, _ in found if key is not None and key.group is not None)),
        "configs": [
            {
                "definition": None if key is None else key_info(key, prefix),
                "value": value_info(value, None if key is None else key.type, prefix),
            }
            for key, value in found
        ],
    }


def merge_infos(name: str, *parts: Infos | None) -> Infos:
    """Return one ``ConfigInfos`` of several, in their order."""
    present = [part for part in parts if part is not None]
    return {
        "name": name,
        "error_count": sum(part["error_count"] for part in present),
        "groups": list(dict.fromkeys(group for part in present for group in part["groups"])),
        "configs": [config for part in present for config in part["configs"]],
    }
