"""Progress of connectors that catch up, from a worker's metrics: running snapshots, and sinks behind their topics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from connect_dagster.client.captures import CaptureReading, capture_reading, is_capture
from connect_dagster.client.types import Connector, MetricSample

_SINK = "kafka_connect_sink_task_"
_LAG, _RATE, _TOTAL = "sink_record_lag", "sink_record_read_rate", "sink_record_read_total"
# A sink that keeps up is behind by the records of its next batch.
_KEEPING_UP_SECONDS = 2.0
# The longest durations that are printed in seconds, and in minutes.
_SECONDS, _MINUTES = 120, 7200


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a part of a connector.

    Attributes:
        part: ``snapshot``, or the task.
        unit: what is counted.
        done: units that were read.
        left: units that are left; of a snapshot an estimate.
        rate: units a second.
        tables: tables of a snapshot that are left, and all.
    """

    part: str
    unit: str
    done: int
    left: int
    rate: float
    tables: tuple[int, int] | None = None

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds until nothing is left at this rate; None while nothing moves."""
        return self.left / self.rate if self.rate > 0 else None

    def as_json(self) -> dict[str, Any]:
        """Return the numbers by their names."""
        return {
            "part": self.part,
            "unit": self.unit,
            "done": self.done,
            "left": self.left,
            "rate": round(self.rate, 1),
            "seconds_left": None if self.seconds_left is None else round(self.seconds_left, 1),
        }

    def text(self) -> str:
        """Return the progress on one line.

        Examples:
            >>> Progress("task 0", "records", 900, 1500, 300.0).text()
            '1500 records behind, 300 records/s, about 5 s left'
        """
        if self.tables is None:
            amounts = [f"{self.left} {self.unit} behind"]
        else:
            tables_left, tables = self.tables
            amounts = [
                f"{self.done} of about {self.done + self.left} {self.unit}",
                f"{tables_left} of {tables} tables left",
            ]
        seconds = self.seconds_left
        left = "not moving" if seconds is None else f"about {_duration(seconds)} left"
        return ", ".join([*amounts, f"{self.rate:.{0 if self.rate >= 10 else 1}f} {self.unit}/s", left])


def progress_of(connector: Connector, samples: Iterable[MetricSample]) -> list[Progress]:
    """Return what a connector has still to catch up with; nothing when it keeps up.

    Args:
        connector: the connector.
        samples: all metrics of a worker.
    """
    found = list(samples)
    if is_capture(connector):
        snapshot = snapshot_progress(capture_reading(connector, None, found, 0.0))
        return [] if snapshot is None else [snapshot]
    return list(_sink_tasks(connector.name, found))


def sink_progress(connector: Connector, samples: Iterable[MetricSample]) -> list[Progress]:
    """Return the progress of all tasks of a sink; nothing where one has no metrics, as a task of another worker.

    Args:
        connector: the connector.
        samples: all metrics of a worker.
    """
    tasks = _sink_progress(connector.name, samples)
    return list(tasks.values()) if tasks.keys() == {task.id for task in connector.status.tasks} else []


def snapshot_progress(reading: CaptureReading) -> Progress | None:
    """Return the progress of a running snapshot; None without one."""
    if not reading.metrics.get("SnapshotRunning"):
        return None
    done = sum(read for read, _ in reading.rows.values())
    left = sum(max(0, estimate - read) for read, estimate in reading.rows.values())
    seconds = reading.metrics.get("SnapshotDurationInSeconds", 0.0)
    tables = (int(reading.metrics.get("RemainingTableCount", 0)), int(reading.metrics.get("TotalTableCount", 0)))
    return Progress("snapshot", "rows", done, left, done / seconds if seconds else 0.0, tables=tables)


def _sink_tasks(name: str, samples: Sequence[MetricSample]) -> Iterator[Progress]:
    for _, progress in sorted(_sink_progress(name, samples).items()):
        if progress.left and (progress.seconds_left is None or progress.seconds_left > _KEEPING_UP_SECONDS):
            yield progress


def _sink_progress(name: str, samples: Iterable[MetricSample]) -> dict[int, Progress]:
    """Return the progress of the tasks of a sink by their numbers."""
    tasks: dict[int, dict[str, float]] = {}
    for one in samples:
        if one.name.startswith(_SINK) and one.labels.get("connector") == name and isfinite(one.value):
            tasks.setdefault(int(one.labels["task"]), {})[one.name.removeprefix(_SINK)] = one.value
    return {
        task: Progress(
            f"task {task}",
            "records",
            done=int(metrics.get(_TOTAL, 0)),
            left=int(metrics.get(_LAG, 0)),
            rate=metrics.get(_RATE, 0.0),
        )
        for task, metrics in tasks.items()
    }


def _duration(seconds: float) -> str:
    if seconds <= _SECONDS:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds <= _MINUTES else f"{seconds / 3600:.1f} h"
