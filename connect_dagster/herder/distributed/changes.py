"""Changes read from the config topic that the herder has yet to act on.

They come in on the thread that reads the topic; the herder takes them all at once (Java: ``ConfigUpdateListener``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from connect_dagster.herder.distributed.worker_log import WorkerLog
from connect_dagster.herder.interface import RestartRequest
from connect_dagster.protocol.config_state import (
    ConnectorRemoved,
    ConnectorUpdated,
    Event,
    LoggerLevelChanged,
    RestartRequested,
    SessionKeyUpdated,
    TargetStateChanged,
    TasksUpdated,
)


@dataclass(slots=True)
class Pending:
    """What has changed since the herder looked.

    Attributes:
        rebalance: whether connectors or tasks came or went, so that the group must share its work anew.
        connectors: whose configuration changed, or who went before the herder knew them.
        targets: connectors whose target state changed.
        reconfigured: connectors whose tasks have new configurations.
    """

    rebalance: bool = False
    connectors: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    reconfigured: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.rebalance or self.connectors or self.targets or self.reconfigured)


class Changes:
    """Collects changes; safe to use from any thread.

    Args:
        log: gets a line for each.
        known: whether the herder knows a connector.
        set_level: sets the level of a logger.
        wake: told of everything that the herder should act on.
    """

    def __init__(
        self,
        log: WorkerLog,
        known: Callable[[str], bool],
        set_level: Callable[[str, str], object],
        wake: Callable[[], None],
    ) -> None:
        self._log = log
        self._known = known
        self._set_level = set_level
        self._wake = wake
        self._pending = Pending()
        self._restarts: dict[str, RestartRequest] = {}
        self._lock = threading.Lock()

    def read(self, event: Event) -> None:
        """Take what the config topic tells."""
        with self._lock:
            self._add(event)
        self._wake()

    @property
    def rebalance_expected(self) -> bool:
        """Whether the herder will have the group share its work anew."""
        return self._pending.rebalance

    def expect_rebalance(self) -> None:
        """Have the herder do so, whatever was read."""
        with self._lock:
            self._pending.rebalance = True
        self._wake()

    def take(self) -> Pending:
        """All changes since the last call."""
        with self._lock:
            taken, self._pending = self._pending, Pending()
            return taken

    def take_restarts(self) -> list[RestartRequest]:
        """Restarts that were asked for since the last call: of each connector the one that does most."""
        with self._lock:
            taken, self._restarts = list(self._restarts.values()), {}
            return taken

    def _add(self, event: Event) -> None:
        match event:
            case ConnectorUpdated(connector):
                self._log.info("Connector %s config updated", connector)
                if self._known(connector):
                    self._pending.connectors.add(connector)
                else:
                    self._pending.rebalance = True
            case ConnectorRemoved(connector):
                self._log.info("Connector %s config removed", connector)
                if self._known(connector):
                    self._pending.rebalance = True
                else:
                    self._pending.connectors.add(connector)
            case TasksUpdated(connector, tasks):
                self._log.info("Tasks [%s] configs updated", ", ".join(map(str, tasks)))
                self._pending.rebalance = True
                self._pending.reconfigured.update(id.connector for id in tasks)
            case TargetStateChanged(connector):
                self._log.info("Connector %s target state change", connector)
                self._pending.targets.add(connector)
            case RestartRequested():
                self._add_restart(RestartRequest(event.connector, event.only_failed, event.include_tasks))
            case SessionKeyUpdated():
                self._log.info("Session key updated")
            case LoggerLevelChanged(namespace, level):
                self._set_level(namespace, level)

    def _add_restart(self, request: RestartRequest) -> None:
        self._log.info("Received and enqueuing %s", request)
        waiting = self._restarts.get(request.connector)
        if waiting is None or request.impact > waiting.impact:
            self._restarts[request.connector] = request
