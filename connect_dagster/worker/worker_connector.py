"""Life cycle of a connector object on its own thread (Java: ``WorkerConnector``).

A connector that blocks holds up only itself: callers wait on futures with a timeout.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from connect_dagster.isolation.config_transformer import ConfigTransformer, reverse_transformed
from connect_dagster.plugin.connector import Connector, SourceConnector
from connect_dagster.protocol.states import State, TargetState
from connect_dagster.worker.config.connector import check_tasks_max
from connect_dagster.worker.config.sink import SinkConnectorConfig
from connect_dagster.worker.config.source import SourceConnectorConfig
from connect_dagster.worker.logs.context import set_context
from connect_dagster.worker.reload_watch import ReloadWatch
from connect_dagster.worker.task import failure_trace

log = logging.getLogger(__name__)

Listener = Callable[[str, State, str | None], None]


class WorkerConnector:
    """One connector on its thread.

    Args:
        name: the connector's name.
        connector: the plugin's connector, its context set.
        config: its configuration as it was written.
        transformer: resolves its placeholders, which takes as long as the config providers take.
        listener: called with each state, and with the trace of a failure.
        watch: gets the values that the connector is started with.
        check: raises ConfigError for framework keys that cannot work, before the connector is started.
    """

    def __init__(
        self,
        name: str,
        connector: Connector,
        config: dict[str, str],
        transformer: ConfigTransformer,
        listener: Listener,
        watch: ReloadWatch,
        check: Callable[[SourceConnectorConfig | SinkConnectorConfig], None] = lambda config: None,
    ) -> None:
        self.name = name
        self._check = check
        self.connector = connector
        self.config = config
        self._transformer = transformer
        self._listener = listener
        self._watch = watch
        self._parsed: SourceConnectorConfig | SinkConnectorConfig | None = None
        self._state: State | None = None
        self._started = False
        self._cancelled = False
        self._closed: Future[Any] = Future()
        self._requests: queue.Queue[tuple[Callable[[], Any], Future[Any]] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._run, name=f"connector-thread-{name}", daemon=True)
        self._thread.start()

    def transition(self, target: TargetState) -> Future[State]:
        """Start, pause or stop the connector; the result is the state it reached, FAILED included."""
        return self._request(lambda: self._to(target))

    def task_configs(self, added: Mapping[str, str]) -> Future[list[dict[str, str]]]:
        """Request the task configurations, as they are stored, with the keys of ``added``.

        The result may also be a ``TooManyTasksError``, or whatever the connector raises.
        """
        return self._request(lambda: self._task_configs(added))

    def fail(self, error: Exception) -> None:
        """Make the connector FAILED, as it requested from another thread."""
        self._request(lambda: self._failed(error))

    def shutdown(self) -> None:
        """Stop the connector and end its thread, after all earlier requests; returns at once."""
        self._closed = self._request(self._close)
        self._requests.put(None)

    def await_shutdown(self, seconds: float) -> None:
        """Wait for the end; a connector that takes longer is abandoned."""
        self._thread.join(seconds)
        if not self._closed.done():
            self._cancelled = True
            log.error(
                "Connector '%s' failed to properly shut down, has become unresponsive, and "
                "may be consuming external resources. Correct the configuration for "
                "this connector or remove the connector. After fixing the connector, it "
                "may be necessary to restart this worker to release any consumed "
                "resources.",
                self.name,
            )

    def _request(self, call: Callable[[], Any]) -> Future[Any]:
        future: Future[Any] = Future()
        self._requests.put((call, future))
        return future

    def _run(self) -> None:
        set_context(self.name, "worker")
        while (request := self._requests.get()) is not None:
            call, future = request
            try:
                future.set_result(call())
            except BaseException as error:  # any error of a plugin reaches the caller
                future.set_exception(error)

    def _to(self, target: TargetState) -> State:
        if self._state is State.FAILED and target is not TargetState.STOPPED:
            log.warning("Cannot transition connector '%s' to %s since it has failed", self.name, target.value)
            return State.FAILED
        try:
            return self._changed(target)
        except BaseException as error:
            return self._failed(error)

    def _changed(self, target: TargetState) -> State:
        if target is TargetState.STARTED and not self._started:
            self._start()
        if target is not TargetState.STARTED and self._started:
            self._stop()
        return self._report(_STATES[target])

    def _start(self) -> None:
        transformed = self._transformed()
        self._parsed = config = self._parse(transformed)
        self._check(config)
        self.connector.start(transformed)
        self._started = True

    def _transformed(self) -> dict[str, str]:
        passwords = self.connector.config_def.table().passwords
        try:
            transformed = self._transformer.transform(self.config, passwords)
        except Exception:
            self._watch.started(self.name, [self.config], [])
            raise
        self._watch.started(self.name, [self.config], [transformed])
        return transformed.config

    def _parse(self, config: Mapping[str, str]) -> SourceConnectorConfig | SinkConnectorConfig:
        kind = SourceConnectorConfig if isinstance(self.connector, SourceConnector) else SinkConnectorConfig
        return kind.parse(config)

    def _stop(self) -> None:
        self._started = False
        self.connector.stop()

    def _task_configs(self, added: Mapping[str, str]) -> list[dict[str, str]]:
        config = self._parsed or self._parse(self.config)
        made = self.connector.task_configs(config.tasks_max)
        check_tasks_max(self.name, len(made), config)
        return reverse_transformed(self.config, [{**config, **added} for config in made])

    def _failed(self, error: BaseException) -> State:
        log.error("WorkerConnector{id=%s} Error while starting connector", self.name, exc_info=error)
        return self._report(State.FAILED, failure_trace(error, "WorkerConnector"))

    def _close(self) -> None:
        if self._started:
            try:
                self._stop()
            except Exception as error:
                log.exception("WorkerConnector{id=%s} Error while shutting down connector", self.name)
                self._failed(error)
                return
        if self._state is not State.FAILED:
            self._report(State.UNASSIGNED)

    def _report(self, state: State, trace: str | None = None) -> State:
        if state is not self._state and not self._cancelled:
            self._listener(self.name, state, trace)
        self._state = state
        return state


_STATES = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}
