"""Changes of the config topic that the herder has not acted on yet (Java: ``ConfigUpdateListener``).

They arrive on the thread that reads the topic. The herder's thread takes them, all at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from connect_dagster.herder.distributed.group_messages import ConfigUpdates
from connect_dagster.herder.interface import RestartRequest
from connect_dagster.herder.log_context import LogContext
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


class PendingConfigUpdates:
    """Collect changes; safe to use from any thread.

    Args:
        log: gets a line for each.
        known: returns whether the herder knows a connector.
        set_level: sets the level of a logger.
        wake: called for everything that the herder should act on.
    """

    def __init__(
        self,
        log: LogContext,
        known: Callable[[str], bool],
        set_level: Callable[[str, str], object],
        wake: Callable[[], None],
    ) -> None:
        self._log = log
        self._known = known
        self._set_level = set_level
        self._wake = wake
        self._updates = ConfigUpdates()
        self._restarts: dict[str, RestartRequest] = {}
        self._lock = threading.Lock()

    def add(self, event: Event) -> None:
        """Add a change that was read from the config topic."""
        with self._lock:
            self._add(event)
        self._wake()

    @property
    def rebalance_expected(self) -> bool:
        """Return whether the herder will request a rebalance."""
        return self._updates.rebalance

    def expect_rebalance(self) -> None:
        """Have the herder request a rebalance, whatever was read."""
        with self._lock:
            self._updates = replace(self._updates, rebalance=True)
        self._wake()

    def take(self) -> ConfigUpdates:
        """Return all changes since the last call."""
        with self._lock:
            taken, self._updates = self._updates, ConfigUpdates()
            return taken

    def take_restarts(self) -> list[RestartRequest]:
        """Return the requests for restarts since the last call: of each connector the one that restarts most."""
        with self._lock:
            taken, self._restarts = list(self._restarts.values()), {}
            return taken

    def _add(self, event: Event) -> None:
        before = self._updates
        match event:
            case ConnectorUpdated(connector):
                self._log.info("Connector %s config updated", connector)
                self._came_or_changed(connector, rebalance=not self._known(connector))
            case ConnectorRemoved(connector):
                self._log.info("Connector %s config removed", connector)
                self._came_or_changed(connector, rebalance=self._known(connector))
            case TasksUpdated(connector, tasks):
                self._log.info("Tasks [%s] configs updated", ", ".join(map(str, tasks)))
                reconfigured = before.reconfigured.union(id.connector for id in tasks)
                self._updates = replace(before, rebalance=True, reconfigured=reconfigured)
            case TargetStateChanged(connector):
                self._log.info("Connector %s target state change", connector)
                self._updates = replace(before, targets=before.targets | {connector})
            case RestartRequested():
                self._add_restart(RestartRequest(event.connector, event.only_failed, event.include_tasks))
            case SessionKeyUpdated():
                self._log.info("Session key updated")
            case LoggerLevelChanged(namespace, level):
                self._set_level(namespace, level)

    def _came_or_changed(self, connector: str, *, rebalance: bool) -> None:
        if rebalance:
            self._updates = replace(self._updates, rebalance=True)
        else:
            self._updates = replace(self._updates, connectors=self._updates.connectors | {connector})

    def _add_restart(self, request: RestartRequest) -> None:
        self._log.info("Received and enqueuing %s", request)
        waiting = self._restarts.get(request.connector)
        if waiting is None or request.impact > waiting.impact:
            self._restarts[request.connector] = request
