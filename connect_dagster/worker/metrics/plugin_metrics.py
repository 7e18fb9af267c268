"""Metrics that a connector or a task of a plugin adds to those of the worker (Java: ``PluginMetricsImpl``, KIP-877)."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from connect_dagster.plugin.metrics import MetricReading, Read
from connect_dagster.plugin.samples import Windows

log = logging.getLogger(__name__)


class PluginMetrics:
    """The readings of one connector or task, for as long as its own are shown.

    Args:
        owner: names it in the log.
        windows: how much of the past counts.

    Attributes:
        windows: how much of the past counts.
    """

    def __init__(self, owner: str, windows: Windows) -> None:
        self.windows = windows
        self._owner = owner
        self._added: list[Read] = []

    def add(self, read: Read) -> None:
        """Show further readings."""
        self._added.append(read)

    def read(self, now: float) -> Iterator[MetricReading]:
        """Yield the readings; log those that cannot be read."""
        for read in self._added:
            try:
                yield from read(now)
            except Exception:
                log.warning("Metrics that the plugin of %s has added cannot be read", self._owner, exc_info=True)
