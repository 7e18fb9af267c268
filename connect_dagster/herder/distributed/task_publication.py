"""From a connector's wish for its tasks to records in the config topic (Java: ``reconfigureConnectorTasksWithRetry``).

The connector is asked on its own thread, so one that takes long holds up nobody. Whoever is not the leader sends what
it got to the leader, from a thread of its own. What fails is tried again, for ever, with growing pauses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from urllib.parse import quote

from connect_dagster.backoff import Backoff
from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import ConnectError
from connect_dagster.herder.distributed.requests import Requests
from connect_dagster.herder.distributed.worker_log import WorkerLog
from connect_dagster.protocol.config_records import SessionKey
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.states import TaskId
from connect_dagster.worker.config.tasks_max import TooManyTasksError
from connect_dagster.worker.worker import Worker

TaskConfigs = list[dict[str, str]]
Publish = Callable[[TaskConfigs], Future[None] | None]

_RETRY_SECONDS = Backoff(0.25, 60.0)


class TaskPublication:
    """Plans tasks and publishes them; its methods are for the herder's thread.

    Args:
        log: of the worker.
        worker: runs the connectors.
        rest: for requests to the leader.
        algorithm: signs them.
        requests: brings results back to the herder's thread.
    """

    def __init__(self, log: WorkerLog, worker: Worker, rest: RestClient, algorithm: str, requests: Requests) -> None:
        self._log = log
        self._worker = worker
        self._rest = rest
        self._algorithm = algorithm
        self._requests = requests
        self._latest: dict[str, object] = {}
        self._forwarding = ThreadPoolExecutor(1, thread_name_prefix="ForwardRequestExecutor")

    def stop(self) -> None:
        """End; what was not sent is not sent."""
        self._forwarding.shutdown(wait=False, cancel_futures=True)

    def plan(self, name: str, publish: Publish, failures: int, again: Callable[[], None]) -> None:
        """Ask a connector for its tasks, and hand the answer to ``publish`` on the herder's thread.

        A later call for the same connector replaces this one, with all its further tries.

        Args:
            name: of the connector, which runs here.
            publish: writes or sends; answers a future while that goes on.
            failures: how often this has failed.
            again: called on the herder's thread, after a pause, when it fails once more.
        """
        asked = self._worker.task_configs(name)
        mine = self._latest[name] = object()

        def received() -> None:
            if self._latest[name] is not mine:
                return
            try:
                sent = publish(asked.result())
            except TooManyTasksError as error:
                self._worker.fail_connector(name, error)
            except Exception as error:
                self._try_again(name, error, failures, once_more)
            else:
                if sent is not None:
                    sent.add_done_callback(arrived)

        def arrived(sent: Future[None]) -> None:
            error = None if sent.cancelled() else sent.exception()
            if error is not None:
                self._try_again(name, error, failures, once_more)

        def once_more() -> None:
            if self._latest[name] is mine:
                again()

        asked.add_done_callback(lambda _: self._requests.add(received))

    def changed(self, name: str, configs: Sequence[Mapping[str, str]], state: ClusterConfigState) -> bool:
        """Whether these are others than the published ones, or were made from another configuration (KAFKA-9228)."""
        published = [state.task_config(TaskId(name, number)) for number in range(state.task_count(name))]
        return list(configs) != published or state.applied_connector_config(name) != state.connector_config(name)

    def send(self, name: str, configs: TaskConfigs, leader_url: str | None, key: SessionKey | None) -> Future[None]:
        """Have the leader publish task configurations."""
        return self._forwarding.submit(self._send, name, configs, leader_url, key)

    def _send(self, name: str, configs: TaskConfigs, leader_url: str | None, key: SessionKey | None) -> None:
        if not leader_url:
            raise ConnectError(
                "Request to leader to reconfigure connector tasks failed because the URL of the leader's REST "
                "interface is empty!"
            )
        body = json.dumps(configs).encode()
        url = f"{leader_url}connectors/{quote(name, safe='')}/tasks"
        self._rest.request(url, "POST", {}, body, key.key if key is not None else None, self._algorithm)

    def _try_again(self, name: str, error: BaseException, failures: int, again: Callable[[], None]) -> None:
        self._log.error("Failed to reconfigure connector's tasks (%s), retrying after backoff: %s", name, error)
        self._requests.add(again, _RETRY_SECONDS.delay(failures + 1))
