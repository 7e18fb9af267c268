"""Rebalances of a worker's group, and what its member measures (Java: ``HerderMetrics``, ``WorkerCoordinator``)."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping

from connect_dagster.worker.metrics.families import Reading, Value
from connect_dagster.worker.metrics.groups import COORDINATOR, REBALANCE
from connect_dagster.worker.metrics.samples import Samples, Windows


class RebalanceMetrics:
    """Metrics of a distributed herder's group.

    Args:
        windows: how much of the past counts.
        client_id: of the group's member.
        measured: the member's own numbers by Kafka's names; names that no group has are passed over.

    Attributes:
        protocol: the protocol of the group by Java's name (``SESSIONED``); may be set at any time.
    """

    def __init__(self, windows: Windows, client_id: str, measured: Callable[[], Mapping[str, float]]) -> None:
        self.protocol: str | None = None
        self._client_id = client_id
        self._measured = measured
        self._lock = threading.Lock()
        self._times = Samples(windows)
        self._completed = 0
        self._began: float | None = None
        self._ended = -math.inf
        self._epoch: int | None = None
        self._leader: str | None = None

    def rebalance_started(self, now: float) -> None:
        """The worker has begun to join.

        Args:
            now: seconds of the clock that the worker's metrics go by (``time.monotonic``).
        """
        with self._lock:
            self._began = now

    def rebalance_succeeded(self, now: float, epoch: int, leader: str | None) -> None:
        """The worker has its assignment.

        Args:
            now: as above.
            epoch: generation of the group.
            leader: the leader's URL, ``None`` while it is not known.
        """
        with self._lock:
            self._times.record(1000 * (now - self._began) if self._began is not None else 0.0, now)
            self._began, self._ended = None, now
            self._completed += 1
            self._epoch, self._leader = epoch, leader

    def read(self, now: float) -> list[Reading]:
        """Both groups."""
        with self._lock:
            known: dict[str, Value | None] = {
                "connect-protocol": self.protocol,
                "leader-name": self._leader,
                "epoch": self._epoch,
                "completed-rebalances-total": self._completed,
                "rebalancing": float(self._began is not None),
                "rebalance-max-time-ms": self._times.maximum(now),
                "rebalance-avg-time-ms": self._times.average(now),
                "time-since-last-rebalance-ms": 1000 * (now - self._ended),
            }
        values = {name: value for name, value in known.items() if value is not None}
        return [Reading(REBALANCE, (), values), Reading(COORDINATOR, (self._client_id,), self._measured())]
