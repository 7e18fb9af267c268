"""Change data capture at one moment, as the committed offset and the metrics of our worker report it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from connect_dagster.client.connector_classes import simple_name
from connect_dagster.client.types import Connector, MetricSample, PartitionOffset

CAPTURES = frozenset({"MySql", "MariaDb"})
"""Simple names of the classes."""

_PREFIX, _PREFIX_OPTIONS = "debezium_metrics_", ("topic.prefix", "database.server.name")
_ROWS, _ESTIMATE = "RowsScanned", "RowsEstimated"


@dataclass(frozen=True, slots=True)
class CaptureReading:
    """A reading of a connector; what could not be read is missing.

    Attributes:
        read_at: When it was read, in epoch seconds.
        offset: The committed offset.
        metrics: Numbers of the worker by Debezium's names.
        rows: Rows of each table that the snapshot has read, and as many as the server estimates.
    """

    read_at: float
    offset: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    rows: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def change_age(self) -> float | None:
        """Return the seconds since the last change before the committed offset was made on the server."""
        second = self.offset.get("ts_sec")
        return None if second is None else max(0.0, self.read_at - float(second))

    @property
    def lag(self) -> float | None:
        """Return the seconds by which the connector is behind the server.

        While the log comes it is the age that the last change had when it was read, else that of the offset.
        """
        behind = self.metrics.get("MilliSecondsBehindSource", -1)
        if self.metrics.get("Connected") and behind >= 0:
            return behind / 1000
        return self.change_age

    @property
    def retention(self) -> float | None:
        """Return the seconds for which the server keeps its log; 0 for no end, None where it is not known."""
        return self.metrics.get("BinlogRetentionSeconds")


def is_capture(connector: Connector) -> bool:
    """Return whether a connector captures the changes of MySQL or MariaDB."""
    return simple_name(connector.connector_class) in CAPTURES


def topic_prefix(config: Mapping[str, str | None]) -> str | None:
    """Return what the topics of a capture begin with."""
    return next((config[name] for name in _PREFIX_OPTIONS if config.get(name)), None)


def capture_reading(
    connector: Connector,
    offsets: Iterable[PartitionOffset] | None,
    samples: Iterable[MetricSample],
    now: float,
) -> CaptureReading:
    """Return the reading of a connector.

    Args:
        connector: The connector.
        offsets: Its committed offsets; None when they could not be read.
        samples: All metrics of the worker.
        now: Epoch seconds.
    """
    name = topic_prefix(connector.info.config)
    own = [one for one in samples if one.name.startswith(_PREFIX) and one.labels.get("name") == name]
    metrics = {one.name.removeprefix(_PREFIX): one.value for one in own if "table" not in one.labels}
    tables: dict[str, dict[str, int]] = {}
    for one in own:
        if "table" in one.labels:
            tables.setdefault(one.labels["table"], {})[one.name.removeprefix(_PREFIX)] = int(one.value)
    rows = {table: (found.get(_ROWS, 0), found.get(_ESTIMATE, 0)) for table, found in tables.items()}
    committed = next((entry.offset for entry in offsets or () if entry.offset), {})
    return CaptureReading(now, committed, metrics, rows)
