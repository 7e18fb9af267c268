"""Configuration of a worker (Java: ``WorkerConfig``, ``RestServerConfig``, ``StandaloneConfig``).

A worker's file also holds settings for others: ``producer.``, ``consumer.`` and ``admin.`` for the clients of
connectors, ``key.converter.`` and its siblings for converters, ``spark.`` for the session. Unknown keys are logged
as a warning. The REST server parses the listeners.
"""

from __future__ import annotations

import logging
from typing import Any, Self

from connect_dagster.errors import ConfigError, java_text
from connect_dagster.kafka.override_policy import ALLOWLIST, POLICY
from connect_dagster.kafka.security.principal_rules import SETTING as PRINCIPAL_RULES
from connect_dagster.plugin.config import (
    ConfigDef,
    FindClass,
    Importance,
    Type,
    UniqueValues,
    at_least,
    config_key,
)
from connect_dagster.plugin.config.table import Properties
from connect_dagster.worker.logs.options import LEVEL, LoggingConfig

log = logging.getLogger(__name__)

PASSED_ON = (
    "producer.",
    "consumer.",
    "admin.",
    "key.converter.",
    "value.converter.",
    "header.converter.",
    "config.providers.",
    "spark.",
    "listeners.https.",
    "admin.listeners.https.",
    "rest.roles.",
)
"""Prefixes of settings that are for others."""

SERVLET_INITIALIZERS = "rest.servlet.initializor.classes"
"""Classes that set up Jetty, which Kafka Connect reads without declaring them (Java: ``RestServer``)."""

# Un-prefixed settings of Kafka clients: the worker's own admin client uses them.
_CLIENT_SETTINGS = ("sasl.", "security.", "ssl.", "client.", "request.timeout.ms", "default.api.timeout.ms")


def _listeners(name: str, value: Any) -> None:
    example = "ex: http://localhost:8080,https://localhost:8443."
    if value is None:
        raise ConfigError(f"Invalid value type for listeners (expected list of URLs , {example})", name=name)
    if not value:
        raise ConfigError(f"Invalid value for listeners, at least one URL is expected, {example}", name=name)
    if "" in value:
        raise ConfigError("Empty URL found when parsing listeners list.", name=name, value=value)


def _packages(name: str, value: Any) -> None:
    for package in value:
        if not all(part.isidentifier() and part != "__main__" for part in package.split(".")):
            raise ConfigError.invalid(name, value, f"'{package}' is not the name of a package")


def _scheme(name: str, value: Any) -> None:
    if value is not None and value.lower() not in ("http", "https"):
        raise ConfigError.invalid(name, value, "Must be http or https")


class WorkerConfig(ConfigDef):
    """Keys that standalone and distributed workers have in common."""

    bootstrap_server_list: tuple[str, ...] = config_key(
        "bootstrap.servers",
        importance=Importance.HIGH,
        validator=UniqueValues(empty=False),
        doc="A list of host/port pairs used to establish the initial connection to the Kafka cluster.",
    )
    key_converter: str = config_key(
        "key.converter",
        type=Type.CLASS,
        importance=Importance.HIGH,
        doc="Converter of keys for connectors without their own; key.converter.* are its options.",
    )
    value_converter: str = config_key(
        "value.converter",
        type=Type.CLASS,
        importance=Importance.HIGH,
        doc="Converter of values for connectors without their own; value.converter.* are its options.",
    )
    header_converter: str = config_key(
        "header.converter",
        type=Type.CLASS,
        default="org.apache.kafka.connect.storage.SimpleHeaderConverter",
        importance=Importance.LOW,
        doc="Converter of header values for connectors without their own.",
    )
    task_shutdown_graceful_timeout_ms: int = config_key(
        "task.shutdown.graceful.timeout.ms",
        type=Type.LONG,
        default=5_000,
        importance=Importance.LOW,
        doc="Time for all tasks together to stop; tasks that take longer are abandoned.",
    )
    offset_flush_interval_ms: int = config_key(
        "offset.flush.interval.ms",
        type=Type.LONG,
        default=60_000,
        importance=Importance.LOW,
        doc="How often the offsets of tasks are committed.",
    )
    offset_flush_timeout_ms: int = config_key(
        "offset.flush.timeout.ms",
        type=Type.LONG,
        default=5_000,
        importance=Importance.LOW,
        doc="Longest duration of a commit of offsets; after it the worker tries again at the next interval.",
    )
    plugin_path: tuple[str, ...] | None = config_key(
        "plugin.path",
        default=None,
        importance=Importance.LOW,
        validator=UniqueValues(empty=False, null=True),
        doc="Folders with plugins: wheels, distributions, projects, or modules that use the plugin API.",
    )
    plugin_packages: tuple[str, ...] = config_key(
        "plugin.packages",
        default=(),
        importance=Importance.LOW,
        validator=_packages,
        doc="Python packages and modules of the worker's environment whose classes configurations may name although no "
        "distribution declares them as plugins. Other modules are not imported, whatever a configuration names.",
    )
    config_providers: tuple[str, ...] = config_key(
        "config.providers",
        default=(),
        importance=Importance.LOW,
        validator=UniqueValues(),
        doc="Names of config providers, each with its config.providers.<name>.class and .param.*; "
        "${<name>:<path>:<key>} in a configuration is replaced by the provider's value.",
    )
    config_reload_interval_ms: int = config_key(
        "config.reload.interval.ms",
        type=Type.LONG,
        default=10_000,
        importance=Importance.LOW,
        validator=at_least(0),
        doc="How often the placeholders of running connectors and tasks are looked up again in files and folders. When "
        "two looks in a row find the same new value, those with the placeholder restart, unless "
        "config.action.reload=none; 0 for never.",
    )
    validate_show_resolved: bool = config_key(
        "validate.show.resolved",
        default=False,
        importance=Importance.LOW,
        doc="Whether the validation of a configuration responds with the values of config providers, as Java's does, "
        "instead of the placeholders as they were written.",
    )
    client_override_policy: str = config_key(
        POLICY,
        default="All",
        doc="Settings of their Kafka clients that connectors may override: All, None, Allowlist (those of "
        f"{ALLOWLIST}), or Principal (those of the login).",
    )
    topic_creation_enable: bool = config_key(
        "topic.creation.enable",
        default=True,
        importance=Importance.LOW,
        doc="Whether the worker creates the topics of source connectors with topic.creation.* settings.",
    )
    topic_tracking_enable: bool = config_key(
        "topic.tracking.enable",
        default=True,
        importance=Importance.LOW,
        doc="Whether the worker records the topics that each connector uses.",
    )
    topic_tracking_allow_reset: bool = config_key(
        "topic.tracking.allow.reset",
        default=True,
        importance=Importance.LOW,
        doc="Whether users may reset these topics.",
    )
    metrics_sample_window_ms: int = config_key(
        "metrics.sample.window.ms",
        type=Type.LONG,
        default=30_000,
        importance=Importance.LOW,
        validator=at_least(0),
        doc="Length of a window of samples, from which rates, averages and maxima are computed.",
    )
    metrics_num_samples: int = config_key(
        "metrics.num.samples",
        default=2,
        importance=Importance.LOW,
        validator=at_least(1),
        doc="Number of these windows.",
    )
    listeners: tuple[str, ...] = config_key(
        "listeners",
        default=("http://:8083",),
        importance=Importance.LOW,
        validator=_listeners,
        doc="URLs that the REST API listens on; without a host, on all addresses.",
    )
    rest_advertised_host_name: str | None = config_key(
        "rest.advertised.host.name",
        default=None,
        importance=Importance.LOW,
        doc="Host that other workers and clients use, by default the advertised listener's.",
    )
    rest_advertised_port: int | None = config_key(
        "rest.advertised.port",
        default=None,
        importance=Importance.LOW,
        doc="Port that other workers and clients use, by default the advertised listener's.",
    )
    rest_advertised_listener: str | None = config_key(
        "rest.advertised.listener",
        default=None,
        importance=Importance.LOW,
        validator=_scheme,
        doc="Protocol of the advertised listener: http or https; http by default, if there is one.",
    )
    admin_listeners: tuple[str, ...] | None = config_key(
        "admin.listeners",
        default=None,
        importance=Importance.LOW,
        validator=UniqueValues(null=True),
        doc="URLs for /admin instead of those of listeners; empty disables /admin.",
    )
    access_control_allow_origin: str = config_key(
        "access.control.allow.origin",
        default="",
        importance=Importance.LOW,
        doc="Origins of web pages that may use the REST API: * for all, or regular expressions between commas.",
    )
    access_control_allow_methods: str = config_key(
        "access.control.allow.methods",
        default="",
        importance=Importance.LOW,
        doc="Methods that such pages may use, between commas; GET, POST and HEAD by default.",
    )
    response_http_headers_config: str = config_key(
        "response.http.headers.config",
        default="",
        importance=Importance.LOW,
        doc="Headers of all responses of the REST API: rules '[action] [name]:[value]' between commas, in "
        "double quotes if they contain a comma; the action is set, add, setDate or addDate.",
    )
    rest_extension_classes: tuple[str, ...] = config_key(
        "rest.extension.classes",
        default=(),
        importance=Importance.LOW,
        validator=UniqueValues(),
        doc="Extensions of the REST API: Java's BasicAuthSecurityRestExtension by its class, those of Python by their "
        "entry points of connect_dagster.rest_extensions, or module.Class, also on plugin.path; RoleRestExtension "
        "ships.",
    )

    @classmethod
    def parse(cls, props: Properties, find_class: FindClass | None = None) -> Self:
        """Return the configuration of a worker from its file; log unknown keys as a warning.

        Raises:
            ConfigError: the first value that is missing or wrong, in Kafka's words.
        """
        config = super().parse(props, find_class)
        if unused := config._unused():
            log.warning("These configurations '%s' were supplied but are not used yet.", java_text(unused))
        return config

    @property
    def bootstrap_servers(self) -> str:
        """Return the brokers as Kafka clients take them."""
        return ",".join(self.bootstrap_server_list)

    def client_overrides(self, prefix: str) -> dict[str, str]:
        """Return the settings with a prefix such as ``producer.``, without the prefix."""
        return self.with_prefix(prefix)

    @property
    def has_exactly_once_sources(self) -> bool:
        """Return whether source tasks write their records and offsets in transactions."""
        return False

    @property
    def transactional_id_prefix(self) -> str:
        """Return the begin of transactional ids of source tasks, those of other workers of the group included."""
        return ""

    @property
    def client_settings(self) -> dict[str, str]:
        """Return the un-prefixed settings of Kafka clients, which the worker's admin clients use."""
        # Names of principals are those of the REST API's clients, see RoleRestExtension.
        return {
            name: value
            for name, value in self.originals.items()
            if name.startswith(_CLIENT_SETTINGS) and name != PRINCIPAL_RULES
        }

    def _unused(self) -> list[str]:
        known = {key.name for key in (*self.table(), *LoggingConfig.table())} | {ALLOWLIST, SERVLET_INITIALIZERS}
        others = (*PASSED_ON, *_CLIENT_SETTINGS, f"{LEVEL}.")
        return [name for name in self.originals if name not in known and not name.startswith(others)]


class StandaloneConfig(WorkerConfig):
    """Keys of a standalone worker, which keeps offsets in a file."""

    offset_storage_file_filename: str = config_key(
        "offset.storage.file.filename",
        importance=Importance.HIGH,
        doc="File with the offsets of source connectors; one worker at a time may use it.",
    )
