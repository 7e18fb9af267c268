"""Connectors and tasks of the group that run on this worker: how they start and stop, and what they report.

Java: the parts of ``DistributedHerder`` that call the ``Worker``, and ``AbstractHerder``'s status listeners. Only the
herder's thread starts and stops; reports come in on the threads of connectors and tasks.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

from connect_dagster.errors import ConnectError
from connect_dagster.herder.interface import without_nulls
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.protocol.work import Item, Work, items_of
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.worker.source.opening import ExactlyOnceStart
from connect_dagster.worker.task import failure_trace
from connect_dagster.worker.task_builder import TaskListeners
from connect_dagster.worker.worker import Worker

log = logging.getLogger(__name__)

# States that hold even when another worker of a later generation said otherwise before (Java: StatusBackingStore.put).
_CERTAIN = frozenset({State.RUNNING, State.PAUSED, State.STOPPED, State.RESTARTING})
_WITHOUT_VERSION = frozenset({State.UNASSIGNED, State.RESTARTING})


class AssignedWork:
    """Runs this worker's part of the group's work.

    Args:
        worker: runs connectors and tasks.
        statuses: gets what they report.
        generation: of the group, at the time of a report.
        reconfigure: asked, from any thread, to plan a connector's tasks again.
        exactly_once: returns the steps before the start of a source task; ``None`` where none has transactions.
    """

    def __init__(
        self,
        worker: Worker,
        statuses: StatusStore,
        generation: Callable[[], int],
        reconfigure: Callable[[str], None],
        exactly_once: Callable[[TaskId, ClusterConfigState], ExactlyOnceStart] | None = None,
    ) -> None:
        self._exactly_once = exactly_once
        self._worker = worker
        self._statuses = statuses
        self._generation = generation
        self._reconfigure = reconfigure
        self._versions: dict[str, str] = {}
        self._config_offsets: dict[Item, int | None] = {}
        # A state must not be reported again after a newer one of another thread.
        self._reporting = threading.Lock()
        self._reported: dict[Item, tuple[State, str | None]] = {}
        self._listeners = TaskListeners(self._changed, self._topics_seen)

    def start(self, work: Work, config: ClusterConfigState) -> None:
        """Start connectors and tasks; what cannot be started is FAILED."""
        for name in work.connectors:
            self.start_connector(name, config)
        for id in work.tasks:
            self.start_task(id, config)

    def stop(self, work: Work) -> None:
        """Stop connectors and tasks, each within its time."""
        self._worker.stop_work(work.connectors, work.tasks)

    def start_connector(self, name: str, config: ClusterConfigState) -> Future[State]:
        """Start a connector; the result is the state it came to, FAILED included."""
        log.info("Starting connector %s", name)
        self._config_offsets[name] = config.config_offset(name)
        try:
            own = _config_of(name, config)
            self._note_version(name, own)
            coming = self._worker.start_connector(
                name,
                own,
                config.target_state(name) or TargetState.STARTED,
                self._changed,
                lambda: self._reconfigure(name),
            )
        except Exception as error:
            log.exception("Failed to start connector %s", name)
            self._changed(name, State.FAILED, failure_trace(error, "WorkerConnector"))
            coming = Future()
            coming.set_result(State.FAILED)
        else:
            coming.add_done_callback(lambda done: self._reconfigure_when_running(name, done))
        return coming

    def start_task(self, id: TaskId, config: ClusterConfigState) -> bool:
        """Start a task; return whether it could be made, else it is FAILED."""
        log.info("Starting task %s", id)
        self._config_offsets[id] = config.commit_offset(id.connector)
        try:
            own = _config_of(id.connector, config)
            self._note_version(id.connector, own)
            task_config = config.task_config(id)
            if task_config is None:
                raise ConnectError(f"Task {id} has no configuration")
            target = config.target_state(id.connector) or TargetState.STARTED
            first = None if self._exactly_once is None else self._exactly_once(id, config)
            count = config.task_count(id.connector)
            self._worker.start_task(id, own, without_nulls(task_config), target, self._listeners, first, tasks=count)
        except Exception as error:
            log.exception(
                "Couldn't instantiate task %s because it has an invalid task configuration. "
                "This task will not execute until reconfigured.",
                id,
            )
            self._changed(id, State.FAILED, failure_trace(error, "WorkerTask"))
            return False
        return True

    def set_target(self, name: str, target: TargetState) -> None:
        """Pause, resume or stop what runs here of a connector."""
        coming = self._worker.set_target_state(name, target)
        if coming is not None and target is TargetState.STARTED:
            coming.add_done_callback(lambda done: self._reconfigure_when_running(name, done))

    def restarting(self, work: Work) -> None:
        """Report what a restart has stopped."""
        for part in items_of(work):
            self._changed(part, State.RESTARTING, None)

    def report_again(self, work: Work) -> None:
        """Report the latest states of kept work once more, under the generation of now.

        Reports are dropped while the lease is lost, and another worker may have run the work and given it back by now,
        so that its UNASSIGNED is the latest in the topic. Java's worker keeps the work as well, and leaves that state.
        """
        with self._reporting:
            for part in items_of(work):
                if part in self._reported:
                    self._put(part, *self._reported[part])

    def _reconfigure_when_running(self, name: str, done: Future[State]) -> None:
        # The future of a connector that was stopped in the meantime has an exception, or no result.
        if not done.cancelled() and done.exception() is None and done.result() is State.RUNNING:
            self._reconfigure(name)

    def _note_version(self, name: str, config: Mapping[str, str]) -> None:
        self._versions[name] = self._worker.plugins.connector(
            config["connector.class"], config.get("connector.plugin.version")
        ).version

    # Reports of connectors and tasks

    def _changed(self, part: Item, state: State, trace: str | None) -> None:
        with self._reporting:
            self._reported[part] = state, trace
            self._put(part, state, trace)

    def _put(self, part: Item, state: State, trace: str | None) -> None:
        certain = state in _CERTAIN
        if isinstance(part, TaskId):
            put_task = self._statuses.put_task if certain else self._statuses.put_task_safe
            put_task(part, self._status(part.connector, part, state, trace))
        else:
            put_connector = self._statuses.put_connector if certain else self._statuses.put_connector_safe
            put_connector(part, self._status(part, part, state, trace))

    def _status(self, connector: str, part: Item, state: State, trace: str | None) -> Status:
        version = None if state in _WITHOUT_VERSION else self._versions.get(connector)
        shown = trace and self._worker.masked(trace)
        return Status(state, self._worker.id, shown, version, self._generation(), self._config_offsets.get(part))

    def _topics_seen(self, id: TaskId, topics: set[str]) -> None:
        if not self._worker.config.topic_tracking_enable:
            return
        for topic in topics.difference(self._statuses.topics(id.connector)):
            self._statuses.put_topic(id.connector, id.task, topic, time.time_ns() // 1_000_000)


def _config_of(name: str, config: ClusterConfigState) -> dict[str, str]:
    found = config.connector_config(name)
    if found is None:
        raise ConnectError(f"Connector {name} has no configuration")
    return without_nulls(found)
