"""Metrics of the initial snapshot (Debezium: ``SnapshotChangeEventSourceMetrics``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from connect_dagster.connectors.mysql.metric_groups import CAPTURE, TABLES, MetricPlace
from connect_dagster.connectors.mysql.snapshot.readers import TableBatch
from connect_dagster.connectors.mysql.table_ids import TableId
from connect_dagster.plugin.metrics import MetricReading, Metrics


@dataclass(slots=True)
class _Scanned:
    """Rows of a table."""

    estimated: int
    read: int = 0
    is_done: bool = False


class SnapshotMetrics:
    """Metrics of the initial snapshot; one thread records, others read.

    Args:
        metrics: of the task.
        place: the connector.
        seconds: gives the time of a clock that only moves forwards.
    """

    def __init__(self, metrics: Metrics, place: MetricPlace, seconds: Callable[[], float]) -> None:
        self._place = place
        self._seconds = seconds
        self._lock = threading.Lock()
        self._tables: dict[TableId, _Scanned] = {}
        self._state: str | None = None
        self._began = self._ended = 0.0
        metrics.add(self._readings)

    def started(self, estimates: Mapping[TableId, int]) -> None:
        """Record the beginning.

        Args:
            estimates: rows of each table as the server estimates them.
        """
        with self._lock:
            self._tables = {table: _Scanned(rows) for table, rows in estimates.items()}
            self._state, self._began = "SnapshotRunning", self._seconds()

    def read(self, batch: TableBatch) -> None:
        """Record rows of a table."""
        with self._lock:
            scanned = self._tables[batch.table]
            scanned.read += batch.rows
            scanned.is_done = batch.is_last

    def completed(self) -> None:
        """Record the end."""
        self._end("SnapshotCompleted")

    def aborted(self) -> None:
        """Record an end before all rows were read."""
        self._end("SnapshotAborted")

    def skipped(self) -> None:
        """Record that none is needed."""
        self._end("SnapshotSkipped")

    def _end(self, state: str) -> None:
        with self._lock:
            self._state, self._ended = state, self._seconds()

    def _readings(self, _: float) -> Iterator[MetricReading]:
        states = ("SnapshotRunning", "SnapshotCompleted", "SnapshotAborted", "SnapshotSkipped")
        with self._lock:
            if self._state is None:
                return
            until = self._seconds() if self._state == "SnapshotRunning" else self._ended
            values: dict[str, float | str] = {
                "TotalTableCount": len(self._tables),
                "RemainingTableCount": sum(not one.is_done for one in self._tables.values()),
                **{name: int(name == self._state) for name in states},
                "SnapshotDurationInSeconds": int(until - self._began) if self._began else 0,
            }
            rows = {str(table): (one.read, one.estimated) for table, one in self._tables.items()}
        tags = self._place.tags("snapshot")
        yield MetricReading(CAPTURE, tags, values)
        for table, (read, estimated) in rows.items():
            yield MetricReading(TABLES, (*tags, table), {"RowsScanned": read, "RowsEstimated": estimated})
