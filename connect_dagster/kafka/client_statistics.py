"""Statistics of librdkafka's clients (``statistics.interval.ms``), kept as they come and parsed where they are read.

librdkafka makes them at an interval and passes them when the client is polled: they pile up in one that is not.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from connect_dagster.plugin.samples import Windows

Document = Mapping[str, Any]

_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class ClientStatistics:
    """The last statistics of one client, as librdkafka's STATISTICS.md describes them.

    Attributes:
        before: those before; ``None`` when there are none.
        now: the newest.
        of_admin: whether an admin client has them, which librdkafka calls a producer.
    """

    before: Document | None
    now: Document
    of_admin: bool = False

    @property
    def kind(self) -> str:
        """Return the kind of the client: ``producer``, ``consumer`` or ``admin``."""
        return "admin" if self.of_admin else str(self.now["type"])

    @property
    def client_id(self) -> str:
        """Return the client's name."""
        return str(self.now["client_id"])

    def rate(self, key: str) -> float:
        """Return the growth of a total a second: since the statistics before, or since the client began."""
        if self.before is None:
            growth, microseconds = self.now[key], self.now["age"]
        else:
            growth, microseconds = self.now[key] - self.before[key], self.now["ts"] - self.before["ts"]
        return float(growth * 1_000_000 / max(microseconds, 1))


class StatisticsListener:
    """Keeps the last statistics of one client.

    Args:
        of_admin: whether it is an admin client.
    """

    def __init__(self, *, of_admin: bool = False) -> None:
        self._texts: tuple[str | None, str | None] = (None, None)
        self._of_admin = of_admin

    def take(self, text: str) -> None:
        """Keep statistics; called while the client is polled."""
        self._texts = (self._texts[1], text)

    def read(self) -> ClientStatistics | None:
        """Return them; ``None`` while there are none. For any thread."""
        before, now = self._texts
        if now is None:
            return None
        return ClientStatistics(None if before is None else json.loads(before), json.loads(now), self._of_admin)


class StatisticsCollector:
    """Collects the statistics of clients for as long as these are open; for any thread.

    Args:
        interval_ms: milliseconds between two statistics of a client, a day at most; 0 for none.
    """

    def __init__(self, interval_ms: int) -> None:
        self.settings: Mapping[str, object] = {"statistics.interval.ms": min(interval_ms, _DAY_MS)}
        self._lock = threading.Lock()
        self._listeners: WeakSet[StatisticsListener] = WeakSet()

    @classmethod
    def of_windows(cls, windows: Windows) -> StatisticsCollector:
        """Return a collector whose interval is one of the windows."""
        return cls(round(windows.seconds * 1000))

    def listener(self, *, of_admin: bool = False) -> StatisticsListener:
        """Return the listener of a further client, whose callback alone keeps it."""
        made = StatisticsListener(of_admin=of_admin)
        with self._lock:
            self._listeners.add(made)
        return made

    def callback(self, *, of_admin: bool = False) -> dict[str, object]:
        """Return the settings of a further client of confluent-kafka."""
        return {**self.settings, "stats_cb": self.listener(of_admin=of_admin).take}

    def read(self) -> list[ClientStatistics]:
        """Return the statistics of all open clients that have some."""
        with self._lock:
            listeners = list(self._listeners)
        return [found for listener in listeners if (found := listener.read()) is not None]
