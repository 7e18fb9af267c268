"""Keys of every connector, in Java's order with Java's groups (Java: ``ConnectorConfig``).

Sinks and sources have more, in ``config.sink`` and ``config.source``. Does not depend on plugin discovery: the caller
passes defaults and recommended values that depend on the plugins found.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from connect_dagster.errors import ConfigError, ConnectError
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

log = logging.getLogger(__name__)

COMMON = "Common"
TRANSFORMS = "Transforms"
PREDICATES = "Predicates"
ERRORS = "Error Handling"


def _unique_aliases(name: str, value: Any) -> None:
    if len(set(value)) != len(value):
        raise ConfigError.invalid(name, value, "Duplicate alias provided.")


def or_null(check: Validator) -> Validator:
    """Return a validator that also takes null, as that of an option without a value."""

    def checked(name: str, value: Any) -> None:
        if value is not None:
            check(name, value)

    return checked


ALIASES: Validator = all_of(non_null, _unique_aliases)
"""A list of names, none twice."""


class ConnectorConfig(ConfigDef):
    """Framework keys of all connectors."""

    with config_group(COMMON, importance=Importance.LOW, width=Width.SHORT):
        name: str = config_key(
            "name",
            importance=Importance.HIGH,
            validator=no_control_characters,
            width=Width.MEDIUM,
            display_name="Connector name",
            doc="Globally unique name to use for this connector.",
        )
        connector_class: str = config_key(
            "connector.class",
            importance=Importance.HIGH,
            width=Width.LONG,
            display_name="Connector class",
            doc="Name or alias of the class for this connector, such as FileStreamSinkConnector or FileStreamSink.",
        )
        connector_plugin_version: str | None = config_key(
            "connector.plugin.version",
            default=None,
            importance=Importance.MEDIUM,
            width=Width.MEDIUM,
            display_name="Connector version",
            doc="Version of the connector.",
        )
        tasks_max: int = config_key(
            "tasks.max",
            default=1,
            importance=Importance.HIGH,
            validator=at_least(1),
            display_name="Tasks max",
            doc="Maximum number of tasks to use for this connector.",
        )
        tasks_max_enforce: bool = config_key(
            "tasks.max.enforce",
            default=True,
            display_name="Enforce tasks max",
            doc="(Deprecated) Whether to enforce that the tasks.max property is respected by the connector.",
        )
        key_converter: str | None = config_key(
            "key.converter",
            type=Type.CLASS,
            default=None,
            display_name="Key converter class",
            doc="Converter class for keys, instead of the worker's; key.converter.* are its options.",
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
            doc="Converter class for values, instead of the worker's; value.converter.* are its options.",
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
            doc="Converter class for headers, instead of the worker's; header.converter.* are its options.",
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
            doc="Aliases for the transformations to be applied to records, in their order; transforms.<alias>.* "
            "configures one.",
        )
    with config_group(PREDICATES, importance=Importance.LOW, width=Width.LONG, first=13):
        predicates: tuple[str, ...] = config_key(
            "predicates",
            default=(),
            validator=ALIASES,
            display_name="Predicates",
            doc="Aliases for the predicates used by transformations; predicates.<alias>.* configures one.",
        )
    with config_group(COMMON, importance=Importance.LOW, width=Width.MEDIUM, first=14):
        config_action_reload: str = config_key(
            "config.action.reload",
            default="restart",
            validator=one_of("none", "restart"),
            display_name="Reload Action",
            doc="The action that Connect should take on the connector when changes in external configuration "
            "providers result in a change in the connector's configuration properties: none or restart.",
        )
    with config_group(ERRORS, width=Width.SHORT):
        errors_retry_timeout: int = config_key(
            "errors.retry.timeout",
            type=Type.LONG,
            default=0,
            width=Width.MEDIUM,
            display_name="Retry Timeout for Errors",
            doc="The maximum duration in milliseconds that a failed operation will be reattempted. The default is 0, "
            "which means no retries will be attempted. Use -1 for infinite retries.",
        )
        errors_retry_delay_max_ms: int = config_key(
            "errors.retry.delay.max.ms",
            type=Type.LONG,
            default=60_000,
            width=Width.MEDIUM,
            display_name="Maximum Delay Between Retries for Errors",
            doc="The maximum duration in milliseconds between consecutive retry attempts. Jitter will be added to "
            "the delay once this limit is reached to prevent thundering herd issues.",
        )
        errors_tolerance: str = config_key(
            "errors.tolerance",
            default="none",
            validator=one_of("none", "all"),
            display_name="Error Tolerance",
            doc="Behavior for tolerating errors during connector operation. 'none' signals that any error will "
            "result in an immediate connector task failure; 'all' changes the behavior to skip over problematic "
            "records.",
        )
        errors_log_enable: bool = config_key(
            "errors.log.enable",
            default=False,
            display_name="Log Errors",
            doc="If true, write each error and the details of the failed operation and problematic record to the "
            "Connect application log. This is 'false' by default, so that only errors that are not tolerated are "
            "reported.",
        )
        errors_log_include_messages: bool = config_key(
            "errors.log.include.messages",
            default=False,
            display_name="Log Error Details",
            doc="Whether to include in the log the Connect record that resulted in a failure.",
        )


# The dead letter queue of sinks, and here of sources too: the last keys of both.
with config_group(ERRORS, width=Width.MEDIUM, first=6):
    DEAD_LETTER_TOPIC = config_key(
        "errors.deadletterqueue.topic.name",
        type=Type.STRING,
        default="",
        display_name="Dead Letter Queue Topic Name",
        doc="Topic for records that result in an error when they are processed by this connector, or its "
        "transformations or converters (dead letter queue, DLQ). Blank by default, which means that no records are "
        "written. Kafka Connect has it for sink connectors only; a source's records are written as they were polled.",
    )
    DEAD_LETTER_REPLICATION_FACTOR = config_key(
        "errors.deadletterqueue.topic.replication.factor",
        type=Type.SHORT,
        default=3,
        display_name="Dead Letter Queue Topic Replication Factor",
        doc="Replication factor used to create the dead letter queue topic when it doesn't already exist.",
    )
    DEAD_LETTER_CONTEXT_HEADERS = config_key(
        "errors.deadletterqueue.context.headers.enable",
        type=Type.BOOLEAN,
        default=False,
        display_name="Enable Error Context Headers",
        doc="If true, add headers containing error context to the messages written to the dead letter queue. To avoid "
        "clashing with headers from the original record, all error context header keys will start with "
        "__connect.errors.",
    )


def enriched(
    table: ConfigTable, defaults: Mapping[str, str | None], recommenders: Mapping[str, Recommender]
) -> ConfigTable:
    """Return the table with defaults and recommenders of a worker (Java: ``enrichedConfigDef``).

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


class TooManyTasksError(ConnectError):
    """A connector made more task configurations than it may."""

    java_name = "org.apache.kafka.connect.runtime.TooManyTasksException"


def check_tasks_max(name: str, tasks: int, config: ConnectorConfig) -> None:
    """Check how many tasks a connector wants (Java: ``Worker.checkTasksMax``).

    Args:
        name: the connector.
        tasks: how many configurations it made.
        config: its configuration.

    Raises:
        TooManyTasksError: they are more than ``tasks.max``, and ``tasks.max.enforce`` is not false.
    """
    allowed = config.tasks_max
    if tasks <= allowed:
        return
    what = (
        f"The connector {name} has generated {tasks} tasks, which is greater than {allowed}, the maximum number of "
        "tasks it is configured to create."
    )
    if config.tasks_max_enforce:
        raise TooManyTasksError(
            f"{what} This behaviour should be considered a bug and is disallowed. If necessary, it can be permitted by "
            "reconfiguring the connector with 'tasks.max.enforce' set to false; however, this option will be removed "
            "in a future release of Kafka Connect."
        )
    log.warning(
        "%s This behavior should be considered a bug and will be disallowed in future releases of Kafka Connect. "
        "Please report this to the maintainers of the connector and request that they adjust their connector's "
        "taskConfigs() method to respect the maxTasks parameter.",
        what,
    )
