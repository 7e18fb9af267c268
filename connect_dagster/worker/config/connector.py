"""Settings of every connector, in Java's order with Java's groups (Java: ``ConnectorConfig``).

Sinks and sources have more: ``sink_connector_config``, ``source_connector_config``. Knows nothing of plugins: what
depends on those found (defaults, recommended values) comes in from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from connect_dagster.errors import ConfigError
from connect_dagster.plugin.config import (
    ConfigDef,
    ConfigTable,
    Importance,
    Recommender,
    Type,
    Validator,
    Width,
    all_of,
    at_least,
    config_group,
    config_key,
    no_control_characters,
    non_null,
    one_of,
)

COMMON = "Common"
TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"


def _unique_aliases(name: str, value: Any) -> None:
    if len(set(value)) != len(value):
        raise ConfigError.invalid(name, value, "Duplicate alias provided.")


ALIASES: Validator = all_of(non_null, _unique_aliases)
"""A list of names, none twice."""


class ConnectorConfig(ConfigDef):
    """What every connector may be told."""

    with config_group(COMMON, importance=Importance.LOW, width=Width.SHORT):
        name: str = config_key(
            "name",
            importance=Importance.HIGH,
            validator=no_control_characters,
            width=Width.MEDIUM,
            display_name="Connector name",
            doc="Name of the connector, one of a kind in the cluster.",
        )
        connector_class: str = config_key(
            "connector.class",
            importance=Importance.HIGH,
            width=Width.LONG,
            display_name="Connector class",
            doc="Class of the connector, or a short name of it: FileStreamSink or FileStreamSinkConnector.",
        )
        connector_plugin_version: str | None = config_key(
            "connector.plugin.version",
            default=None,
            importance=Importance.MEDIUM,
            width=Width.MEDIUM,
            display_name="Connector version",
            doc="Version of the connector's class.",
        )
        tasks_max: int = config_key(
            "tasks.max",
            default=1,
            importance=Importance.HIGH,
            validator=at_least(1),
            display_name="Tasks max",
            doc="How many tasks the connector may have at most.",
        )
        tasks_max_enforce: bool = config_key(
            "tasks.max.enforce",
            default=True,
            display_name="Enforce tasks max",
            doc="Whether a connector that wants more tasks than tasks.max fails (deprecated).",
        )
        key_converter: str | None = config_key(
            "key.converter",
            type=Type.CLASS,
            default=None,
            display_name="Key converter class",
            doc="Converter of keys instead of the worker's; key.converter.* are its options.",
        )
        key_converter_plugin_version: str | None = config_key(
            "key.converter.plugin.version",
            default=None,
            display_name="Key converter version",
            doc="Version of the key converter.",
        )
        value_converter: str | None = config_key(
            "value.converter",
            type=Type.CLASS,
            default=None,
            display_name="Value converter class",
            doc="Converter of values instead of the worker's; value.converter.* are its options.",
        )
        value_converter_plugin_version: str | None = config_key(
            "value.converter.plugin.version",
            default=None,
            display_name="Value converter version",
            doc="Version of the value converter.",
        )
        header_converter: str | None = config_key(
            "header.converter",
            type=Type.CLASS,
            default=None,
            display_name="Header converter class",
            doc="Converter of header values instead of the worker's; header.converter.* are its options.",
        )
        header_converter_plugin_version: str | None = config_key(
            "header.converter.plugin.version",
            default=None,
            display_name="Header converter version",
            doc="Version of the header converter.",
        )
    with config_group(TRANSFORMS, importance=Importance.LOW, width=Width.LONG, first=12):
        transforms: tuple[str, ...] = config_key(
            "transforms",
            default=(),
            validator=ALIASES,
            display_name="Transforms",
            doc="Names of the transformations in their order; transforms.<name>.* configures one.",
        )
    with config_group(PREDICATES, importance=Importance.LOW, width=Width.LONG, first=13):
        predicates: tuple[str, ...] = config_key(
            "predicates",
            default=(),
            validator=ALIASES,
            display_name="Predicates",
            doc="Names of the predicates that transformations refer to; predicates.<name>.* configures one.",
        )
    with config_group(COMMON, importance=Importance.LOW, width=Width.MEDIUM, first=14):
        config_action_reload: str = config_key(
            "config.action.reload",
            default="restart",
            validator=one_of("none", "restart"),
            display_name="Reload Action",
            doc="What happens when a value from a config provider changes: restart the connector, or none.",
        )
    with config_group(ERRORS, width=Width.SHORT):
        errors_retry_timeout: int = config_key(
            "errors.retry.timeout",
            type=Type.LONG,
            default=0,
            width=Width.MEDIUM,
            display_name="Retry Timeout for Errors",
            doc="Milliseconds during which a failed operation is tried again; 0 is never, -1 is for ever.",
        )
        errors_retry_delay_max_ms: int = config_key(
            "errors.retry.delay.max.ms",
            type=Type.LONG,
            default=60_000,
            width=Width.MEDIUM,
            display_name="Maximum Delay Between Retries for Errors",
            doc="Longest time between two tries.",
        )
        errors_tolerance: str = config_key(
            "errors.tolerance",
            default="none",
            validator=one_of("none", "all"),
            display_name="Error Tolerance",
            doc="Whether a record that cannot be handled fails the task (none) or is left out (all).",
        )
        errors_log_enable: bool = config_key(
            "errors.log.enable",
            default=False,
            display_name="Log Errors",
            doc="Whether tolerated errors are logged too.",
        )
        errors_log_include_messages: bool = config_key(
            "errors.log.include.messages",
            default=False,
            display_name="Log Error Details",
            doc="Whether the log shows the record that could not be handled.",
        )


def enriched(
    table: ConfigTable, defaults: Mapping[str, str | None], recommenders: Mapping[str, Recommender]
) -> ConfigTable:
    """The framework's keys with what a worker knows beyond them (Java: ``enrichedConfigDef``).

    Args:
        table: of one of the classes above.
        defaults: by key, such as the worker's ``key.converter`` and the connector's latest version.
        recommenders: by key, such as all converters for ``key.converter``.
    """
    changed = [
        replace(
            key,
            default=defaults.get(key.name, key.default),
            recommender=recommenders.get(key.name, key.recommender),
        )
        for key in table
        if key.name in defaults or key.name in recommenders
    ]
    return table.with_keys(changed)
