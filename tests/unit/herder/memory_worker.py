"""A worker that runs connectors and tasks in name only, for tests of herders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import cast

from connect_dagster.errors import ConnectError
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.states import State, TargetState, TaskId
from connect_dagster.protocol.work import Item, Work, as_work
from connect_dagster.storage.offset_store import OffsetStore
from connect_dagster.worker.config.worker import WorkerConfig
from connect_dagster.worker.source.opening import ExactlyOnceStart
from connect_dagster.worker.spark.session import Session
from connect_dagster.worker.task_builder import TaskListeners
from connect_dagster.worker.worker import Worker
from connect_dagster.worker.worker_connector import Listener


class MemoryWorker(Worker):
    """Runs connectors and tasks in name only: each is RUNNING at once, or FAILED when a test says so.

    Attributes:
        calls: starts and stops, such as ``start a`` and ``stop a-0``.
        wanted: task configurations by connector.
        failing: connectors and tasks that cannot be started.
        outdated_items: connectors and tasks with outdated values, until they are stopped.
        on_outdated: what the herder wants to be called for them.
        blocked: plans of connectors that have not answered, as long as their name is here.
    """

    def __init__(
        self,
        worker_id: str,
        config: WorkerConfig,
        plugins: Plugins,
        offsets: OffsetStore,
        wanted: Mapping[str, list[dict[str, str]] | Exception],
    ) -> None:
        super().__init__(worker_id, config, plugins, cast("Session", None), offsets)
        self.calls: list[str] = []
        self.wanted = wanted
        self.failing: set[str] = set()
        self.blocked: dict[str, list[Future[list[dict[str, str]]]]] = {}
        self.here: dict[str, tuple[Listener, Callable[[], None]]] = {}
        self.tasks_here: dict[TaskId, tuple[TaskListeners, Mapping[str, str]]] = {}
        self.failed: list[tuple[str, Exception]] = []
        self.outdated_items: list[Item] = []

    def start(self, on_outdated: Callable[[], None]) -> None:
        self.calls.append("worker start")
        self.on_outdated = on_outdated

    def outdated(self) -> Work:
        return as_work(self.outdated_items)

    def stop(self) -> None:
        self.calls.append("worker stop")
        self.stop_work(list(self.here), list(self.tasks_here))

    def stop_work(self, connectors: Sequence[str], tasks: Sequence[TaskId]) -> None:
        self.outdated_items = [item for item in self.outdated_items if item not in (*connectors, *tasks)]
        for name in connectors:
            if (found := self.here.pop(name, None)) is not None:
                self.calls.append(f"stop {name}")
                found[0](name, State.UNASSIGNED, None)
        for id in tasks:
            if (running := self.tasks_here.pop(id, None)) is not None:
                self.calls.append(f"stop {id}")
                running[0].status(id, State.UNASSIGNED, None)

    def start_connector(
        self,
        name: str,
        config: Mapping[str, str],
        target: TargetState,
        listener: Listener,
        reconfigure: Callable[[], None],
    ) -> Future[State]:
        assert name not in self.here, f"{name} runs already"
        self.calls.append(f"start {name}")
        if name in self.failing:
            raise ConnectError(f"{name} cannot be started")
        self.here[name] = listener, reconfigure
        return self._reached(name, target)

    def set_target_state(self, name: str, target: TargetState) -> Future[State] | None:
        self.calls.append(f"{target.value.lower()} {name}")
        for id, (listeners, _) in self.tasks_here.items():
            if id.connector == name:
                listeners.status(id, _STATES[target], None)
        return self._reached(name, target) if name in self.here else None

    def _reached(self, name: str, target: TargetState) -> Future[State]:
        self.here[name][0](name, _STATES[target], None)
        reached: Future[State] = Future()
        reached.set_result(_STATES[target])
        return reached

    def fail_connector(self, name: str, error: Exception) -> None:
        self.failed.append((name, error))

    def runs_connector(self, name: str) -> bool:
        return name in self.here

    def task_configs(self, name: str) -> Future[list[dict[str, str]]]:
        planned: Future[list[dict[str, str]]] = Future()
        if name in self.blocked:
            self.blocked[name].append(planned)
            return planned
        wanted = self.wanted.get(name, [{"task": f"{name}-0"}])
        if isinstance(wanted, Exception):
            planned.set_exception(wanted)
        else:
            planned.set_result(wanted)
        return planned

    def start_task(
        self,
        id: TaskId,
        connector_config: Mapping[str, str],
        config: Mapping[str, str],
        target: TargetState,
        listeners: TaskListeners,
        exactly_once: ExactlyOnceStart | None = None,
        *,
        tasks: int = 1,
    ) -> None:
        assert id not in self.tasks_here, f"{id} runs already"
        self.calls.append(f"start {id}")
        if str(id) in self.failing:
            raise ConnectError(f"{id} cannot be started")
        self.tasks_here[id] = listeners, config
        listeners.status(id, _STATES[target], None)


_STATES = {
    TargetState.STARTED: State.RUNNING,
    TargetState.PAUSED: State.PAUSED,
    TargetState.STOPPED: State.STOPPED,
}
