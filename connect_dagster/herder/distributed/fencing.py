"""Fencing of the producers of former tasks, before exactly-once tasks start (KIP-618).

Java: ``DistributedHerder.fenceZombieSourceTasks``, ``ZombieFencing`` and the preflight of ``startSourceTask``. A task
asks the leader for a round. The leader fences as many producers as the connector may have had tasks with open ones,
and records the number of tasks that may have them from now on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol, TypeVar

from connect_dagster.errors import BadRequestError, ConnectError, NotFoundError, RestError
from connect_dagster.herder.distributed.leader_client import LeaderClient
from connect_dagster.herder.distributed.tick_thread import TickThreadStage
from connect_dagster.herder.interface import ConnectorType, NotLeaderError, without_nulls
from connect_dagster.herder.worker_herder import connector_type
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.states import TaskId
from connect_dagster.protocol.work import Work
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.offset_store import Offset, Partition
from connect_dagster.worker.source.opening import ExactlyOnceStart
from connect_dagster.worker.worker import Worker

T = TypeVar("T")


class Group(Protocol):
    """The parts of ``GroupDriver`` that fencing needs."""

    @property
    def config(self) -> ClusterConfigState: ...
    @property
    def leads(self) -> bool: ...
    @property
    def leader_url(self) -> str | None: ...
    @property
    def owned(self) -> Work: ...
    def ask(self, action: Callable[[], T]) -> T: ...
    def refresh(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class _Round:
    """A round of the leader that has to ask the brokers.

    Attributes:
        config: of the connector.
        generation: of its tasks.
        former: number of tasks whose producers are fenced out.
        tasks: number of tasks now.
    """

    config: dict[str, str]
    generation: int | None
    former: int
    tasks: int


class Fencing:
    """Rounds of fencing, asked for by tasks of this worker and, where it leads, of others.

    For any thread but the herder's, on which the config topic is read and written.

    Args:
        worker: has the settings of producers.
        configs: the config topic.
        offsets: the offset topic.
        group: this worker's part of the group.
        leader: for requests to the leader.
        stages: of the herder's thread.
    """

    def __init__(
        self,
        worker: Worker,
        configs: ConfigStore,
        offsets: KafkaOffsetStore,
        group: Group,
        leader: LeaderClient,
        stages: TickThreadStage,
    ) -> None:
        self._worker = worker
        self._offsets = offsets
        self._configs = configs
        self._group = group
        self._leader = leader
        self._stages = stages
        self._rounds: dict[str, threading.Lock] = {}

    def of_task(self, id: TaskId, config: ClusterConfigState) -> ExactlyOnceStart:
        """Return the steps before the start of a task.

        Args:
            id: of the task.
            config: from which it is started.
        """
        generation = config.commit_offset(id.connector)
        return ExactlyOnceStart(
            lambda: self._before_start(id), lambda: self._verify(id, generation), self._offsets.open_transactional
        )

    def fence(self, connector: str) -> None:
        """Fence former producers of a connector's tasks out; this worker must lead.

        Raises:
            RequestTargetError: it does not lead.
            NotFoundError: the connector does not exist.
            BadRequestError: it is not a source.
            RestError: its tasks were changed meanwhile; with the status 409.
            ConnectError: a topic or a producer could not be written or fenced.
        """
        with self._rounds.setdefault(connector, threading.Lock()):  # a round that was waited for has often done all
            planned = self._group.ask(lambda: self._plan(connector))
            if planned is not None:
                self._worker.fence(connector, planned.config, range(planned.former))
                self._group.ask(lambda: self._record(connector, planned))

    def save_offsets(
        self, connector: str, config: Mapping[str, str], changes: Sequence[tuple[Partition, Offset | None]]
    ) -> None:
        """Set offsets of a source connector that has no tasks, in one transaction of its first task's producer.

        Java: ``Worker.modifySourceConnectorOffsets``.

        Args:
            connector: its name.
            config: its configuration, placeholders resolved.
            changes: source partitions with their offsets, ``None`` to delete one.

        Raises:
            ConnectError: the offsets could not be written.
        """
        with self._worker.transactional_producer(TaskId(connector, 0), config) as producer:
            producer.init()
            with closing(self._offsets.open_transactional(connector, config)) as offsets:
                producer.begin()
                producer.send(offsets.records(changes), offsets.topic)
                producer.commit()
                offsets.committed(changes)

    def _plan(self, connector: str) -> _Round | None:
        """Return the round that is needed; without brokers to ask, only record the number of tasks."""
        self._require_leader()
        if not self._group.refresh():
            raise ConnectError("Failed to read to end of config topic before performing zombie fencing")
        state = self._group.config
        config = state.connector_config(connector)
        if config is None:
            raise NotFoundError(f"Connector {connector} not found")
        if connector_type(self._worker.plugins, config) is not ConnectorType.SOURCE:
            raise BadRequestError(f"Connector {connector} is not a source connector")
        if not state.pending_fencing(connector):
            return None
        former, tasks = state.task_count_record(connector), state.task_count(connector)
        planned = _Round(without_nulls(config), state.commit_offset(connector), former or 0, tasks)
        # A task alone fences its former self out when it starts.
        if former is None or former == tasks == 1:
            self._record(connector, planned)
            return None
        return planned

    def _record(self, connector: str, planned: _Round) -> None:
        self._require_leader()
        if not self._group.refresh():
            raise ConnectError("Failed to read to end of config topic when finalizing zombie fencing")
        if self._group.config.commit_offset(connector) != planned.generation:
            raise RestError(409, f"Task configurations of connector {connector} have changed while it was fenced")
        with self._stages(f"writing a task count record for connector {connector} to the config topic"):
            self._configs.put_task_count_record(connector, planned.tasks)

    def _require_leader(self) -> None:
        if not self._group.leads:
            raise NotLeaderError("Only the leader may perform zombie fencing.", self._group.leader_url)

    # Tasks of this worker

    def _before_start(self, id: TaskId) -> None:
        if self._group.leads:
            self.fence(id.connector)
        else:
            self._leader.fence(self._group.leader_url, id.connector, self._configs.snapshot().session_key)

    def _verify(self, id: TaskId, generation: int | None) -> None:
        """Raise ConnectError when the task is not the one any more that this worker was to start."""

        def verify() -> None:
            if not self._group.refresh():
                raise ConnectError(f"Failed to read to end of config topic before the start of task {id}")
            if self._group.config.commit_offset(id.connector) != generation:
                raise ConnectError(f"Task {id} does not start: its configuration has changed meanwhile")
            if id not in self._group.owned.tasks:
                raise ConnectError(f"Task {id} does not start: it was assigned to another worker meanwhile")

        self._group.ask(verify)
