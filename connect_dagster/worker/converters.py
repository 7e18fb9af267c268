"""Creates the converters of a task: the connector's with all their options, or the worker's, never a mix."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from connect_dagster.isolation.plugins import Plugins
from connect_dagster.plugin.config import under_prefix
from connect_dagster.plugin.converter import Converter
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig

log = logging.getLogger(__name__)

_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


class ConverterFactory:
    """Creates configured converters.

    Args:
        plugins: all plugins.
        worker: the worker's configuration, for connectors without their own.
    """

    def __init__(self, plugins: Plugins, worker: WorkerConfig) -> None:
        self._plugins = plugins
        self._worker = worker.originals

    def pair(self, task: str, config: ConnectorConfig) -> tuple[Converter, Converter]:
        """Return key and value converter of a connector's task.

        Raises:
            ConnectError: a class cannot be loaded.
            ConfigError: an option is invalid.
        """
        return self._make(task, config, "key"), self._make(task, config, "value")

    def classes_and_options(self, config: ConnectorConfig) -> tuple[tuple[str, str], ...]:
        """Return all that key and value converter of a connector depend on."""
        return tuple(
            sorted(
                (name, value)
                for side in ("key", "value")
                for name, value in self._source(config, side)[0].items()
                if name.startswith(f"{side}.converter")
            )
        )

    def for_headers(self, task: str, config: ConnectorConfig) -> HeaderConverter:
        """Return the header converter of a connector's task.

        Raises:
            ConnectError: the class cannot be loaded.
            ConfigError: an option is invalid.
        """
        source, whose = (config.originals, "connector") if config.header_converter else (self._worker, "worker")
        described = self._plugins.header_converter(
            source.get("header.converter") or _SIMPLE, source.get("header.converter.plugin.version")
        )
        converter: HeaderConverter = described.plugin()
        converter.configure_headers(under_prefix(source, "header.converter."))
        log.info("Set up the header converter %s for task %s using the %s config", described.class_name, task, whose)
        return converter

    def _source(self, config: ConnectorConfig, side: str) -> tuple[Mapping[str, str], str]:
        """Return the properties that name a converter, and whose they are."""
        if getattr(config, f"{side}_converter"):
            return config.originals, "connector"
        return self._worker, "worker"

    def _make(self, task: str, config: ConnectorConfig, side: str) -> Converter:
        name = f"{side}.converter"
        source, whose = self._source(config, side)
        described = self._plugins.converter(source[name], source.get(f"{name}.plugin.version"))
        converter: Converter = described.plugin()
        converter.configure(under_prefix(source, f"{name}."), is_key=side == "key")
        log.info(
            "Set up the %s converter %s for task %s using the %s config",
            side,
            described.class_name,
            task,
            whose,
        )
        return converter
