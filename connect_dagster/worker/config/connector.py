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

    name: str = config_key(
        "name",
        type=Type.STRING,
        importance=Importance.HIGH,
        validator=no_control_characters,
        doc="Name of the connector, one of a kind in the cluster.",
        group=COMMON,
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Connector name",
    )
    connector_class: str = config_key(
        "connector.class",
        type=Type.STRING,
        importance=Importance.HIGH,
        doc="Class of the connector, or a short name of it: FileStreamSink or FileStreamSinkConnector.",
        group=COMMON,
        order_in_group=2,
        width=Width.LONG,
        display_name="Connector class",
    )
    connector_plugin_version: str | None = config_key(
        "connector.plugin.version",
        type=Type.STRING,
        default=None,
        importance=Importance.MEDIUM,
        doc="Version of the connector's class.",
        group=COMMON,
        order_in_group=3,
        width=Width.MEDIUM,
        display_name="Connector version",
    )
    tasks_max: int = config_key(
        "tasks.max",
        type=Type.INT,
        default=1,
        importance=Importance.HIGH,
        validator=at_least(1),
        doc="How many tasks the connector may have at most.",
        group=COMMON,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Tasks max",
    )
    tasks_max_enforce: bool = config_key(
        "tasks.max.enforce",
        type=Type.BOOLEAN,
        default=True,
        importance=Importance.LOW,
        doc="Whether a connector that wants more tasks than tasks.max fails (deprecated).",
        group=COMMON,
        order_in_group=5,
        width=Width.SHORT,
        display_name="Enforce tasks max",
    )
    key_converter: str | None = config_key(
        "key.converter",
        type=Type.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="Converter of keys instead of the worker's; key.converter.* are its options.",
        group=COMMON,
        order_in_group=6,
        width=Width.SHORT,
        display_name="Key converter class",
    )
    key_converter_plugin_version: str | None = config_key(
        "key.converter.plugin.version",
        type=Type.STRING,
        default=None,
        importance=Importance.LOW,
        doc="Version of the key converter.",
        group=COMMON,
        order_in_group=7,
        width=Width.SHORT,
        display_name="Key converter version",
    )
    value_converter: str | None = config_key(
        "value.converter",
        type=Type.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="Converter of values instead of the worker's; value.converter.* are its options.",
        group=COMMON,
        order_in_group=8,
        width=Width.SHORT,
        display_name="Value converter class",
    )
    value_converter_plugin_version: str | None = config_key(
        "value.converter.plugin.version",
        type=Type.STRING,
        default=None,
        importance=Importance.LOW,
        doc="Version of the value converter.",
        group=COMMON,
        order_in_group=9,
        width=Width.SHORT,
        display_name="Value converter version",
    )
    header_converter: str | None = config_key(
        "header.converter",
        type=Type.CLASS,
        default=None,
        importance=Importance.LOW,
        doc="Converter of header values instead of the worker's; header.converter.* are its options.",
        group=COMMON,
        order_in_group=10,
        width=Width.SHORT,
        display_name="Header converter class",
    )
    header_converter_plugin_version: str | None = config_key(
        "header.converter.plugin.version",
        type=Type.STRING,
        default=None,
        importance=Importance.LOW,
        doc="Version of the header converter.",
        group=COMMON,
        order_in_group=11,
        width=Width.SHORT,
        display_name="Header converter version",
    )
    transforms: tuple[str, ...] = config_key(
        "transforms",
        type=Type.LIST,
        default=(),
        importance=Importance.LOW,
        validator=ALIASES,
        doc="Names of the transformations in their order; transforms.<name>.* configures one.",
        group=TRANSFORMS,
        order_in_group=12,
        width=Width.LONG,
        display_name="Transforms",
    )
    predicates: tuple[str, ...] = config_key(
        "predicates",
        type=Type.LIST,
        default=(),
        importance=Importance.LOW,
        validator=ALIASES,
        doc="Names of the predicates that transformations refer to; predicates.<name>.* configures one.",
        group=PREDICATES,
        order_in_group=13,
        width=Width.LONG,
        display_name="Predicates",
    )
    config_action_reload: str = config_key(
        "config.action.reload",
        type=Type.STRING,
        default="restart",
        importance=Importance.LOW,
        validator=one_of("none", "restart"),
        doc="What happens when a value from a config provider changes: restart the connector, or none.",
        group=COMMON,
        order_in_group=14,
        width=Width.MEDIUM,
        display_name="Reload Action",
    )
    errors_retry_timeout: int = config_key(
        "errors.retry.timeout",
        type=Type.LONG,
        default=0,
        importance=Importance.MEDIUM,
        doc="Milliseconds during which a failed operation is tried again; 0 is never, -1 is for ever.",
        group=ERRORS,
        order_in_group=1,
        width=Width.MEDIUM,
        display_name="Retry Timeout for Errors",
    )
    errors_retry_delay_max_ms: int = config_key(
        "errors.retry.delay.max.ms",
        type=Type.LONG,
        default=60_000,
        importance=Importance.MEDIUM,
        doc="Longest time between two tries.",
        group=ERRORS,
        order_in_group=2,
        width=Width.MEDIUM,
        display_name="Maximum Delay Between Retries for Errors",
    )
    errors_tolerance: str = config_key(
        "errors.tolerance",
        type=Type.STRING,
        default="none",
        importance=Importance.MEDIUM,
        validator=one_of("none", "all"),
        doc="Whether a record that cannot be handled fails the task (none) or is left out (all).",
        group=ERRORS,
        order_in_group=3,
        width=Width.SHORT,
        display_name="Error Tolerance",
    )
    errors_log_enable: bool = config_key(
        "errors.log.enable",
        type=Type.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether tolerated errors are logged too.",
        group=ERRORS,
        order_in_group=4,
        width=Width.SHORT,
        display_name="Log Errors",
    )
    errors_log_include_messages: bool = config_key(
        "errors.log.include.messages",
        type=Type.BOOLEAN,
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether the log shows the record that could not be handled.",
        group=ERRORS,
        order_in_group=5,
        width=Width.SHORT,
        display_name="Log Error Details",
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
