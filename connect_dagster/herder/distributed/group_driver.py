"""The herder's thread: it asks ``group_loop`` for the next actions, and carries them out.

Java: ``DistributedHerder.tick``. Everything that changes the work of this worker happens on this thread, which waits
for no plugin without a limit. Requests of other threads reach it through :meth:`GroupDriver.ask`.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future, wait
from dataclasses import replace
from typing import Protocol, TypeVar

from connect_dagster.errors import ConnectError, NotFoundError
from connect_dagster.herder import loggers
from connect_dagster.herder.distributed import group_messages as messages
from connect_dagster.herder.distributed.assigned_work import AssignedWork
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.fencing import Fencing
from connect_dagster.herder.distributed.group_loop import step
from connect_dagster.herder.distributed.group_state import GroupState, Rules
from connect_dagster.herder.distributed.leader import Owners
from connect_dagster.herder.distributed.leader_client import LeaderClient
from connect_dagster.herder.distributed.membership import WorkerGroupMember
from connect_dagster.herder.distributed.pending_config_updates import PendingConfigUpdates
from connect_dagster.herder.distributed.session_keys import SessionKeys
from connect_dagster.herder.distributed.task_reconfigurer import TaskReconfigurer
from connect_dagster.herder.distributed.tick_thread import Requests, TickThreadStage
from connect_dagster.herder.interface import ConnectorStatus
from connect_dagster.herder.log_context import LogContext
from connect_dagster.herder.restart_plan import RestartPlan, plan_restart
from connect_dagster.herder.worker_herder import connector_type
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.config_state import Event as ConfigEvent
from connect_dagster.protocol.group_structs import Assignment, ConnectProtocol
from connect_dagster.protocol.states import State, Status, TaskId
from connect_dagster.protocol.work import Work
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.storage.lease import Lease
from connect_dagster.storage.topic_log import TopicMissingError
from connect_dagster.worker.worker import Worker

T = TypeVar("T")

_JOIN_SECONDS = 1.0
_ABANDON_SECONDS = 5.0
# As long as a request over REST waits (Java: ``ConnectResource.DEFAULT_REST_REQUEST_TIMEOUT_MS``).
_REQUEST_SECONDS = 90.0
# The rest of an end, when nothing responds: connectors 5 s, cancelled tasks 5 s, statuses 30 s, the group 2 s, and 10 s
# for each of three logs.
_END_SECONDS = 75.0
_MEMBERSHIP = "ensuring membership in the cluster"


class Member(Protocol):
    """A membership of the group, as :class:`WorkerGroupMember` documents it."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def find_coordinator(self, seconds: float) -> bool: ...
    @property
    def join_needed(self) -> bool: ...
    def join(self, seconds: float) -> messages.Joined | None: ...
    def report_alive(self) -> None: ...
    def publish_owned(self, allocation: Assignment | None) -> None: ...
    def request_rejoin(self) -> None: ...
    def leave(self, reason: str) -> None: ...
    @property
    def member_id(self) -> str: ...
    @property
    def owners(self) -> Owners: ...
    def measured(self) -> dict[str, float]: ...


OpenMember = Callable[
    [DistributedConfig, str, str, Lease, Callable[[], ClusterConfigState], Callable[[], None]], Member
]
Wait = Callable[[threading.Event, float], object]


class GroupDriver:
    """One worker's part of a group.

    Args:
        config: the worker's configuration.
        worker: runs connectors and tasks.
        offsets: the offset topic.
        open_configs: makes the store of the config topic, from a listener to its events.
        statuses: the status topic.
        lease: this worker's membership, which the stores check as well.
        url: REST URL of this worker.
        leader: for requests to the leader.
        check_before_joining: called with the group's configuration; raises when the worker must not join.
        open_member: makes the membership.
        clock: seconds of a monotonic clock.
        wait: waits for an event, at most for a number of seconds.
        forwarding: sends requests to the leader (see ``TaskReconfigurer``).
        on_leading: called on the herder's thread each time this worker becomes the leader.

    Attributes:
        state: of the group loop.
        configs: the config topic.
        statuses: the status topic.
        work: the work that runs here.
        reconfigurer: publishes task configurations.
        fencing: of producers of former tasks.
        stages: what the thread does.
        keys: rules for session keys.
        failure: the error that has ended the thread.
    """

    def __init__(
        self,
        config: DistributedConfig,
        worker: Worker,
        offsets: KafkaOffsetStore,
        open_configs: Callable[[Callable[[ConfigEvent], None]], ConfigStore],
        statuses: StatusStore,
        lease: Lease,
        url: str,
        leader: LeaderClient,
        check_before_joining: Callable[[ClusterConfigState], None],
        open_member: OpenMember = WorkerGroupMember,
        clock: Callable[[], float] = time.monotonic,
        wait: Wait = threading.Event.wait,
        forwarding: Executor | None = None,
        on_leading: Callable[[], None] = lambda: None,
    ) -> None:
        client_id = config.client_id or f"connect-{worker.id}"
        self._log = LogContext(__name__, client_id, config.group_id)
        self._config = config
        self._worker = worker
        self._offsets = offsets
        self.configs = open_configs(lambda event: self._updates.add(event))
        self.statuses = statuses
        self._lease = lease
        self._check_before_joining = check_before_joining
        self._on_leading = on_leading
        self._led = False
        self._clock = clock
        self._wait = wait
        self.keys = SessionKeys.of(config)
        self.stages = TickThreadStage("awaiting startup")
        self._wake = threading.Event()
        self._requests = Requests(self._wake.set, clock)
        self._member = open_member(config, client_id, url, lease, self.configs.snapshot, self._wake.set)
        self._rebalances = worker.metrics.join_group(client_id, self._measured)
        self.state = GroupState(
            Rules(
                config.topic_tracking_enable,
                config.worker_unsync_backoff_ms,
                config.scheduled_rebalance_max_delay_ms,
                config.heartbeat_interval_ms,
            ),
            ConnectProtocol.of_setting(config.connect_protocol),
        )
        self._updates = PendingConfigUpdates(self._log, self._is_known, loggers.set_level, self._wake.set)
        self.reconfigurer = TaskReconfigurer(
            self._log,
            worker,
            self.configs,
            self,
            leader,
            self._requests,
            self.stages,
            forwarding,
        )
        self.fencing = Fencing(worker, self.configs, offsets, self, leader, self.stages)
        self.work = AssignedWork(
            worker,
            statuses,
            lambda: self.state.generation,
            self.reconfigurer.request,
            self.fencing.of_task if config.has_exactly_once_sources else None,
        )
        self._reload: Future[None] = Future()
        self._reload.set_result(None)
        self._opened = threading.Event()
        self._ready = threading.Event()
        self._ending = threading.Event()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"DistributedHerder-{client_id}-1", daemon=True)

    # For other threads

    def start(self) -> None:
        """Read the topics, join the group, and work, all on the herder's thread: returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop all connectors and tasks, and leave the group; a thread that takes too long is left."""
        self._log.info("Herder stopping")
        self._ending.set()
        self._wake.set()
        # Before it has read the topics it runs nothing, and may wait for brokers that are away.
        runs_work = self._opened.is_set()
        if self._thread.is_alive():
            self._thread.join(self._stop_seconds if runs_work else _ABANDON_SECONDS)
        if runs_work and self._thread.is_alive():
            self._log.error("Herder did not stop in time. %s", self.stages.summary)
        else:
            self._log.info("Herder stopped")

    @property
    def _stop_seconds(self) -> float:
        """Return the longest wait for the thread (Java: ``DistributedHerder.herderExecutorTimeoutMs``)."""
        config = self._config
        return (config.worker_sync_timeout_ms + config.task_shutdown_graceful_timeout_ms) / 1000 + _END_SECONDS

    @property
    def ready(self) -> bool:
        """Return whether the first round has ended."""
        return self._ready.is_set()

    def ask(self, action: Callable[[], T]) -> T:
        """Run an action on the herder's thread, and return its result. Raises as :meth:`result`."""
        return self.result(self._requests.add(action))

    def result(self, coming: Future[T]) -> T:
        """Return what a request waits for.

        Raises:
            ConnectError: it takes longer than 90 s; the action may still be carried out.
        """
        if not wait([coming], _REQUEST_SECONDS).done:
            raise ConnectError(f"Request timed out. {self.stages.summary}")
        return coming.result()

    def connector_status(self, name: str) -> ConnectorStatus:
        """Return the reported states of a connector. Raises NotFoundError."""
        status = self.statuses.connector(name)
        if status is None:
            raise NotFoundError(f"No status found for connector {name}")
        config = self.configs.snapshot().connector_config(name)
        return ConnectorStatus(name, status, self.statuses.tasks(name), connector_type(self._worker.plugins, config))

    def _measured(self) -> dict[str, float]:
        owned = self.state.owned
        return {
            **self._member.measured(),
            "assigned-connectors": len(owned.connectors),
            "assigned-tasks": len(owned.tasks),
        }

    def _is_known(self, connector: str) -> bool:
        return self.state.config.contains(connector)

    # For requests, which run on the herder's thread

    @property
    def config(self) -> ClusterConfigState:
        """Return the config topic as the group loop has seen it last."""
        return self.state.config

    @property
    def leads(self) -> bool:
        """Return whether this worker leads the group."""
        told = self.state.assignment
        return told is not None and told.leader == self._member.member_id

    @property
    def leader_url(self) -> str | None:
        """REST URL of the leader, ``None`` while there is none."""
        return self.state.assignment.leader_url if self.state.assignment is not None else None

    @property
    def owned(self) -> Work:
        """Return the work that is assigned to this worker."""
        return self.state.owned

    @property
    def owners(self) -> Owners:
        """Return the workers of connectors and tasks, as this leader assigned them."""
        return self._member.owners

    @property
    def rebalance_expected(self) -> bool:
        """Return whether this worker will request a rebalance because of changes that it has read."""
        return self._updates.rebalance_expected

    def refresh(self) -> bool:
        """Read the config topic to its end; returns whether that succeeded in time."""
        event = self._read_to_end()
        self._handle(event)
        return isinstance(event, messages.ConfigRead)

    def _request_reload(self) -> None:
        if self._reload.done():
            self._reload = self._requests.add(self._restart_outdated)

    def _restart_outdated(self) -> None:
        """Restart what runs here with outdated values of config providers; during a rebalance it is left for later."""
        if self.rebalance_expected:
            return
        found, owned = self._worker.outdated(), self.state.owned
        work = found.minus(found.minus(owned))
        if not work:
            return
        self._log.info("Restarting %s, whose values of config providers have changed", work)
        with self.stages(f"restarting {work}, whose values of config providers have changed"):
            self.work.stop(work)
            self.work.restarting(work)
            self.work.start(work, self.state.config)

    # The thread

    def _run(self) -> None:
        try:
            self._log.info("Herder starting")
            self.open()
            while not self._ending.is_set():
                self.tick()
                if not self._ready.is_set():
                    self._ready.set()
                    self._log.info("Herder started")
        except Exception as error:
            self.failure = error
            self._log.log(
                logging.DEBUG if isinstance(error, ConnectError) else logging.ERROR,
                "Uncaught exception in herder work thread, exiting: ",
                exc_info=error,
            )
        finally:
            self.close()

    def open(self) -> None:
        """Read the internal topics, and start the membership, which joins with the first round."""
        with self.stages("initializing and reading to the end of internal topics"):
            self._offsets.start()
            self._worker.start(self._request_reload)
            self.statuses.start()
            self.configs.start()
        self._opened.set()
        self.state = replace(self.state, config=self.configs.snapshot())
        self._check_before_joining(self.state.config)
        self._member.start()

    def tick(self) -> None:
        """Run one round of the group loop."""
        self._handle(messages.Tick())

    def close(self) -> None:
        """Stop all work, leave the group, and close the stores."""
        with self.stages("shutting down"):
            self._handle(messages.Shutdown())

    def _handle(self, event: messages.Event) -> None:
        following: messages.Event | None = event
        while following is not None:
            self.state, actions = step(self.state, following, self._clock())
            following = None
            for action in actions:
                if isinstance(action, messages.Question):
                    following = self._answer(action)
                else:
                    self._carry_out(action)

    def _answer(self, question: messages.Question) -> messages.Event:
        match question:
            case messages.ReadToEnd():
                return self._read_to_end()
            case messages.CheckLease():
                return messages.LeaseHeld() if self._lease.held else messages.LeaseLost()
            case messages.FindCoordinator():
                return self._find_coordinator()
            case messages.Join():
                with self.stages(_MEMBERSHIP):
                    return self._member.join(_JOIN_SECONDS) or messages.JoinPending()
            case messages.ConfirmMembership():
                self._member.report_alive()
                return messages.StillMember(self.leads)
            case messages.CheckKey():
                return self._check_key()
            case messages.ClaimPrivileges():
                return self._claim_privileges()
            case messages.RenewKey():
                return self._renew_key()
            case messages.PlanRestarts():
                return messages.RestartsPlanned(tuple(self._plan_restarts()))
            case messages.TakeChanges():
                return messages.Changes(self._updates.take(), self.configs.snapshot())
            case _:
                raise TypeError(f"{question} has no answer")

    def _carry_out(self, action: messages.Action) -> None:
        match action:
            case messages.RegainLease(generation):
                self._lease.regain(generation)
            case messages.Stop(work, stage):
                with self.stages(stage):
                    self.work.stop(work)
            case messages.Start(work, stage):
                with self.stages(stage):
                    self.work.start(work, self.state.config)
            case messages.ReportRestarting(work):
                self.work.restarting(work)
            case messages.ReportAgain(work):
                self.work.report_again(work)
            case messages.SetTargetState(connector, target):
                self.work.set_target(connector, target)
            case messages.Reconfigure(connectors):
                for name in connectors:
                    self.reconfigurer.request(name)
            case messages.ResetTopics(connectors):
                for name in connectors:
                    self.statuses.reset_topics(name)
            case messages.FlushStatuses(stage):
                with self.stages(stage):
                    self.statuses.flush()
            case messages.ForgetDeleted():
                self._forget_deleted()
            case messages.PublishOwned(allocation):
                self._member.publish_owned(allocation)
            case messages.RequestRejoin():
                self._member.request_rejoin()
            case messages.Leave(reason):
                self._member.leave(reason)
            case messages.BackOff(milliseconds):
                with self.stages(f"sleeping for a backoff duration of {milliseconds}ms"):
                    self._wait(self._ending, milliseconds / 1000)
            case messages.ExpectRebalance():
                self._updates.expect_rebalance()
            case messages.MeasureRebalance(protocol):
                self._rebalances.protocol = protocol.name
                self._rebalances.rebalance_started(self._clock())
            case messages.RebalanceMeasured(generation, leader_url):
                self._rebalances.rebalance_succeeded(self._clock(), generation, leader_url)
                self._note_leading()
            case messages.RunRequests():
                # A heartbeat must not wait for many requests that each wait for the brokers.
                self._requests.run_due(self._config.heartbeat_interval_ms / 1000)
            case messages.Rest():
                self._rest()
            case messages.StopAll():
                self._requests.close(ConnectError("Worker is shutting down"))
                self._worker.stop()
                self.reconfigurer.stop()
            case messages.CloseMembership():
                self._member.stop()
                self.statuses.stop()
                self.configs.stop()
                self._offsets.stop()
            case messages.Log(text, level):
                self._log.log(level, "%s", text)
            case _:
                raise TypeError(f"{action} cannot be carried out")

    def _note_leading(self) -> None:
        led, self._led = self._led, self.leads
        if self._led and not led:
            self._on_leading()

    def _read_to_end(self) -> messages.ConfigRead | messages.ConfigNotRead:
        with self.stages("reading to the end of the config topic"):
            try:
                self.configs.refresh(self._config.worker_sync_timeout_ms / 1000)
            except TopicMissingError as error:
                # Other workers cannot read more of it either.
                self._log.debug("The config topic is not read: %s", error)
            except (TimeoutError, ConnectError) as error:
                self._log.warning("Didn't reach end of config log quickly enough: %s", error)
                return messages.ConfigNotRead()
            return messages.ConfigRead(self.configs.snapshot())

    def _find_coordinator(self) -> messages.Event:
        waited = self._config.heartbeat_interval_ms
        with self.stages(_MEMBERSHIP):
            found = self._member.find_coordinator(waited / 1000)
        return messages.CoordinatorFound(self._member.join_needed) if found else messages.CoordinatorAway(waited)

    def _check_key(self) -> messages.KeyChecked:
        if not self.leads:
            self.configs.relinquish_write_privileges()
        renewal = self.keys.renewal(self.configs.snapshot().session_key)
        return messages.KeyChecked(
            self.leads, renewal <= _epoch_ms(), self.leads and self.configs.lacks_write_privileges
        )

    def _claim_privileges(self) -> messages.Event:
        with self.stages("claiming write privileges for the config topic"):
            try:
                self.configs.claim_write_privileges()
            except ConnectError as error:
                self._log.warning(
                    "Unable to claim write privileges for config topic. Will backoff and possibly retry if still the "
                    "leader: %s",
                    error,
                )
                return messages.PrivilegesNotClaimed()
        return messages.PrivilegesClaimed()

    def _renew_key(self) -> messages.Event:
        with self.stages("writing a new session key to the config topic"):
            try:
                self.configs.put_session_key(self.keys.made(_epoch_ms()))
            except TopicMissingError as error:
                self._log.info("No new session key is written to the config topic: %s", error)
                return messages.KeyNotRenewed(missing=True)
            except Exception:
                self._log.exception(
                    "Failed to write new session key to config topic; forcing a read to the end of the config topic "
                    "before possibly retrying"
                )
                return messages.KeyNotRenewed()
        return messages.KeyRenewed()

    def _plan_restarts(self) -> list[RestartPlan]:
        requests = self._updates.take_restarts()
        return [
            plan_restart(request, self.connector_status(request.connector))
            for request in requests
            if self.statuses.connector(request.connector) is not None
        ]

    def _forget_deleted(self) -> None:
        now = self.configs.snapshot()
        destroyed = Status(State.DESTROYED, self._worker.id, generation=self.state.generation)
        for name in self.statuses.connectors():
            remaining = {id.task for id in now.tasks(name)} if now.contains(name) else set()
            for number, _ in self.statuses.tasks(name):
                if number not in remaining:
                    self.statuses.put_task(TaskId(name, number), destroyed)
            if not now.contains(name):
                self.statuses.put_connector(name, destroyed)

    def _rest(self) -> None:
        """Wait until there is something to do; a join that is needed is."""
        if self._member.join_needed:
            return
        with self.stages("polling the group coordinator until interrupted"):
            self._wait(self._wake, max(0.0, self._seconds_to_rest()))
            self._wake.clear()

    def _seconds_to_rest(self) -> float:
        now = self._clock()
        next_request = self._requests.next_at
        return min(
            self._config.heartbeat_interval_ms / 1000,
            self._lease.remaining,
            self.state.rejoin_at - now,
            float("inf") if next_request is None else next_request - now,
        )


def _epoch_ms() -> int:
    return time.time_ns() // 1_000_000
