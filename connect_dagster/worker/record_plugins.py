"""The plugins that the records of a task pass through: converters, transforms and predicates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from connect_dagster.plugin.converter import Converter, Predicate
from connect_dagster.plugin.header_converter import HeaderConverter
from connect_dagster.plugin.metrics import Metrics, Monitorable
from connect_dagster.worker.config.connector import ConnectorConfig
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.converters import ConverterFactory
from connect_dagster.worker.transforms import TransformationChain, TransformFactory, close_chain

if TYPE_CHECKING:  # imports every bundled plugin
    from connect_dagster.isolation.plugins import Plugins


@dataclass(frozen=True, slots=True)
class RecordPlugins:
    """The configured plugins of one task.

    Attributes:
        key: converter of keys.
        value: converter of values.
        headers: converter of headers.
        chain: the transforms, in the order of their aliases.
    """

    key: Converter
    value: Converter
    headers: HeaderConverter
    chain: TransformationChain

    @property
    def predicates(self) -> dict[str, Predicate]:
        """Return the predicates of the chain by their aliases."""
        return {stage.predicate_alias: stage.predicate for stage in self.chain if stage.predicate is not None}

    def add_metrics(self, metrics_of: Callable[[str, str], Metrics]) -> None:
        """Pass their metrics to those that have some (Java: ``ConnectMetrics.wrap``).

        Args:
            metrics_of: returns the metrics of a plugin by its tag, such as ``converter``, and the tag's value.
        """
        for tag, value, plugin in self._tagged():
            if isinstance(plugin, Monitorable):
                plugin.with_plugin_metrics(metrics_of(tag, value))

    def close(self) -> None:
        """Close transforms and predicates."""
        close_chain(self.chain)

    def _tagged(self) -> Iterator[tuple[str, str, object]]:
        yield "converter", "key", self.key
        yield "converter", "value", self.value
        yield "converter", "header", self.headers
        for stage in self.chain:
            yield "transformation", stage.alias, stage.transform
        for alias, predicate in self.predicates.items():
            yield "predicate", alias, predicate


class RecordPluginFactory:
    """Makes the plugins of tasks.

    Args:
        plugins: all plugins.
        worker: the worker's configuration, for connectors without their own converters.

    Attributes:
        converters: makes the converters.
    """

    def __init__(self, plugins: Plugins, worker: WorkerConfig) -> None:
        self.converters = ConverterFactory(plugins, worker)
        self._transforms = TransformFactory(plugins)

    def make(self, task: str, config: ConnectorConfig) -> RecordPlugins:
        """Return the plugins of a connector's task.

        Raises:
            ConnectError: a class cannot be loaded.
            ConfigError: an option is wrong or missing.
        """
        key, value = self.converters.pair(task, config)
        chain = self._transforms.chain(task, config)
        return RecordPlugins(key, value, self.converters.for_headers(task, config), chain)
