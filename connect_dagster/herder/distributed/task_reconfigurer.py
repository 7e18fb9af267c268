"""From a connector's request for reconfiguration to task configurations in the config topic.

Java: ``DistributedHerder.reconfigureConnectorTasksWithExponentialBackoff``. The connector is asked on its own thread,
so a slow one blocks nothing else. A worker that does not lead sends the configurations to the leader, from a separate
thread. A failure is retried forever, with growing delays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Protocol

from connect_dagster.backoff import Backoff
from connect_dagster.errors import BadRequestError
from connect_dagster.herder.distributed.leader_client import LeaderClient
from connect_dagster.herder.distributed.tick_thread import Requests, TickThreadStage
from connect_dagster.herder.log_context import LogContext
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.states import TargetState, TaskId
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.worker.config.connector import TooManyTasksError
from connect_dagster.worker.worker import Worker

TaskConfigs = list[dict[str, str]]

_RETRY_SECONDS = Backoff(0.25, 60.0)


class GroupView(Protocol):
    """The group as the herder's thread sees it."""

    @property
    def config(self) -> ClusterConfigState:
        """Return the config topic as the group loop has seen it last."""

    @property
    def leads(self) -> bool:
        """Return whether this worker leads the group."""

    @property
    def leader_url(self) -> str | None:
        """REST URL of the leader, ``None`` while there is none."""


class TaskReconfigurer:
    """Publish the task configurations of the connectors of this worker; for the herder's thread.

    Args:
        log: of the worker.
        worker: runs the connectors.
        configs: the config topic.
        group: the leader, and the present configurations.
        leader: for requests to the leader.
        requests: brings results back to the herder's thread.
        stages: of the herder's thread.
        forwarding: sends requests to the leader, one after the other; by default a thread.
    """

    def __init__(
        self,
        log: LogContext,
        worker: Worker,
        configs: ConfigStore,
        group: GroupView,
        leader: LeaderClient,
        requests: Requests,
        stages: TickThreadStage,
        forwarding: Executor | None = None,
    ) -> None:
        self._log = log
        self._worker = worker
        self._configs = configs
        self._group = group
        self._leader = leader
        self._requests = requests
        self._stages = stages
        self._latest: dict[str, object] = {}
        self._forwarding = forwarding or ThreadPoolExecutor(1, thread_name_prefix="ForwardRequestExecutor")

    def stop(self) -> None:
        """End, without sending what waits to be sent."""
        self._forwarding.shutdown(wait=False, cancel_futures=True)

    def request(self, name: str) -> None:
        """Reconfigure a connector's tasks soon; for any thread."""
        self._requests.add(lambda: self.reconfigure(name))

    def reconfigure(self, name: str, failures: int = 0) -> None:
        """Ask a connector for the configurations of its tasks, and publish them when they have changed.

        A later call for the same connector replaces this one, with all its retries.

        Args:
            name: of the connector.
            failures: number of consecutive failures before.
        """
        target = self._group.config.target_state(name)
        if not self._worker.runs_connector(name) or target is not TargetState.STARTED:
            self._log.info("Skipping reconfiguration of connector %s: it does not run here, or is %s", name, target)
            return
        config = self._group.config.connector_config(name)
        asked = self._worker.task_configs(name)
        mine = self._latest[name] = object()

        def received() -> None:
            if self._latest[name] is not mine:
                return
            try:
                sent = self._publish(name, config, asked.result())
            except TooManyTasksError as error:
                self._worker.fail_connector(name, error)
            except Exception as error:
                self._retry(name, error, failures, once_more)
            else:
                if sent is not None:
                    sent.add_done_callback(arrived)

        def arrived(sent: Future[None]) -> None:
            error = None if sent.cancelled() else sent.exception()
            if error is not None:
                self._retry(name, error, failures, once_more)

        def once_more() -> None:
            if self._latest[name] is mine:
                self.reconfigure(name, failures + 1)

        asked.add_done_callback(lambda _: self._requests.add(received))

    def write(self, name: str, configs: Sequence[Mapping[str, str | None]]) -> None:
        """Write task configurations to the config topic, which only the leader may do.

        Raises:
            BadRequestError: the connector is stopped, so it has no tasks.
        """
        if configs and self._group.config.target_state(name) is TargetState.STOPPED:
            raise BadRequestError(f"Cannot submit non-empty set of task configs for stopped connector {name}")
        with self._stages(f"writing {len(configs)} task configs for connector {name} to the config topic"):
            self._configs.put_task_configs(name, configs)

    def _publish(self, name: str, config: Mapping[str, str | None] | None, configs: TaskConfigs) -> Future[None] | None:
        """Write task configurations, or send them to the leader, unless the connector has changed meanwhile."""
        state = self._group.config
        now = state.connector_config(name), state.target_state(name), self._worker.runs_connector(name)
        if now != (config, TargetState.STARTED, True):
            self._log.info("Leaving out task configurations of connector %s, which was changed or moved since", name)
            return None
        if not _changed(name, configs, state):
            return None
        if self._group.leads:
            self.write(name, configs)
            return None
        key = self._configs.snapshot().session_key
        return self._forwarding.submit(self._leader.put_task_configs, self._group.leader_url, name, configs, key)

    def _retry(self, name: str, error: BaseException, failures: int, again: Callable[[], None]) -> None:
        self._log.error("Failed to reconfigure connector's tasks (%s), retrying after backoff: %s", name, error)
        self._requests.add(again, _RETRY_SECONDS.delay(failures + 1))


def _changed(name: str, configs: Sequence[Mapping[str, str]], state: ClusterConfigState) -> bool:
    """Return whether these differ from the published ones.

    So they do where those were made from another configuration (KAFKA-9228), or are incomplete.
    """
    published = [state.task_config(TaskId(name, number)) for number in range(state.task_count(name))]
    return list(configs) != published or not state.has_planned_tasks(name)
