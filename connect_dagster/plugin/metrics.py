"""Metrics of plugins, which the worker shows with its own (Java: ``PluginMetrics``, KIP-877)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from connect_dagster.plugin.samples import Windows

Value = float | str


@dataclass(frozen=True, slots=True)
class MetricGroup:
    """One type of beans.

    Attributes:
        type: the bean's type.
        prefix: what names in Prometheus begin with.
        tags: labels that distinguish the beans of the type.
        numbers: descriptions of the numbers, by Kafka's name.
        texts: descriptions of the texts, by Kafka's name.
        has_worker_tags: whether the worker puts its own tags before those of a plugin's group: ``connector``, and
            ``task`` of a task's.
    """

    type: str
    prefix: str
    tags: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    has_worker_tags: bool = True


@dataclass(frozen=True, slots=True)
class MetricReading:
    """Current values of one bean.

    Attributes:
        group: its type.
        tags: values of the group's tags.
        values: numbers and texts by Kafka's names; what is not known is left out.
    """

    group: MetricGroup
    tags: tuple[str, ...]
    values: Mapping[str, Value]


Read = Callable[[float], Iterable[MetricReading]]
"""Returns readings at a time, in seconds of ``time.monotonic``; called from any thread."""


class Metrics(Protocol):
    """The metrics of one plugin, with the tags of its connector or task before those of the groups.

    Example:
        >>> ROWS = MetricGroup("my-metrics", "my_source", ("table",), {"row-total": "Rows read since the task began."})
        >>> class MySourceTask(SourceTask):
        ...     def start(self, config):
        ...         self.rows = 0
        ...         self.context.metrics.add(self.readings)
        ...
        ...     def readings(self, now):
        ...         return [MetricReading(ROWS, ("orders",), {"row-total": self.rows})]
    """

    @property
    def windows(self) -> Windows:
        """Return the windows for rates and averages that the worker is configured with."""

    def add(self, read: Read) -> None:
        """Show further readings for as long as those of the task, or of the connector, are shown."""


class Monitorable(ABC):
    """A transform, predicate, converter or header converter that has metrics (Java: ``Monitorable``).

    Between the tags of the task and those of the group the worker puts ``transformation`` or ``predicate`` with the
    alias, or ``converter`` with ``key``, ``value`` or ``header``.

    Example:
        >>> ODD = MetricGroup("plugins", "my_filter", (), {"plan-total": "Plans that were made."})
        >>> class MyFilter(Transform, Monitorable):
        ...     def with_plugin_metrics(self, metrics):
        ...         metrics.add(lambda now: [MetricReading(ODD, (), {"plan-total": self.plans})])
    """

    @abstractmethod
    def with_plugin_metrics(self, metrics: Metrics) -> None:
        """Take the metrics to which the plugin may add some; called once, after its configuration."""
