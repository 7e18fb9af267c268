"""Metrics of the binary log (Debezium: ``BinlogStreamingChangeEventSourceMetrics``)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import pyarrow.compute as pc

from connect_dagster.connectors.mysql.metric_groups import CAPTURE, MetricPlace
from connect_dagster.connectors.mysql.records.envelope import Operation
from connect_dagster.connectors.mysql.stream.change_tables import ChangeTable
from connect_dagster.connectors.mysql.stream.log_stream import LogPiece
from connect_dagster.connectors.mysql.stream.place import Place
from connect_dagster.plugin.metrics import MetricReading, Metrics

_COUNTED = {
    Operation.CREATE: "TotalNumberOfCreateEventsSeen",
    Operation.UPDATE: "TotalNumberOfUpdateEventsSeen",
    Operation.DELETE: "TotalNumberOfDeleteEventsSeen",
}


class StreamingMetrics:
    """Metrics of the binary log; one thread records, others read.

    Args:
        metrics: of the task.
        place: the connector.
        micros: gives the present time in microseconds since 1970.
    """

    def __init__(self, metrics: Metrics, place: MetricPlace, micros: Callable[[], int]) -> None:
        self._place = place
        self._micros = micros
        self._lock = threading.Lock()
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._transactions = self._disconnects = 0
        self._is_connected = False
        self._behind_ms = -1
        self._retention: dict[str, int] = {}
        self._last_micros: int | None = None
        self._log: tuple[str, int] | None = None
        metrics.add(self._readings)

    def connected(self, retention_seconds: int | None) -> None:
        """Record that the log comes.

        Args:
            retention_seconds: time for which the server keeps it, 0 for no end; ``None`` where it does not say.
        """
        with self._lock:
            self._is_connected = True
            self._retention = {} if retention_seconds is None else {"BinlogRetentionSeconds": retention_seconds}

    def disconnected(self) -> None:
        """Record that it no longer does."""
        with self._lock:
            self._is_connected = False
            self._disconnects += 1

    def read(self, piece: LogPiece, changes: Sequence[ChangeTable], place: Place) -> None:
        """Record a piece of the log.

        Args:
            piece: of the log.
            changes: its records.
            place: after it.
        """
        counts = [_operations(one) for one in changes]
        now = self._micros()
        with self._lock:
            self._log = place.file, place.position
            self._transactions += int(piece.times.commits.sum())
            for operation in _COUNTED:
                self._counts[operation] += sum(one.get(operation.value, 0) for one in counts)
            if changes:
                last = max(int(piece.times.micros[one.event[-1]]) for one in changes)
                self._last_micros, self._behind_ms = now, (now - last) // 1000

    def _readings(self, _: float) -> Iterator[MetricReading]:
        with self._lock:
            since = -1 if self._last_micros is None else (self._micros() - self._last_micros) // 1000
            log: dict[str, float | str] = {}
            if self._log is not None:
                log = {"BinlogFilename": self._log[0], "BinlogPosition": self._log[1]}
            values: dict[str, float | str] = {
                "Connected": int(self._is_connected),
                "NumberOfDisconnects": self._disconnects,
                "MilliSecondsBehindSource": self._behind_ms,
                "MilliSecondsSinceLastEvent": since,
                "NumberOfCommittedTransactions": self._transactions,
                "TotalNumberOfEventsSeen": sum(self._counts.values()),
                **{name: self._counts[operation] for operation, name in _COUNTED.items()},
                **log,
                **self._retention,
            }
        yield MetricReading(CAPTURE, self._place.tags("streaming"), values)


def _operations(change: ChangeTable) -> Mapping[str, int]:
    (value,) = change.rows.column("value").chunks
    counted = pc.value_counts(value.field("op"))
    return {one["values"]: one["counts"] for one in counted.to_pylist()}
