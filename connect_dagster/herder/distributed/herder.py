"""The herder of a group of workers: one thread that keeps this worker in the group and does what the group wants of it.

Java: ``DistributedHerder``. Everything that changes what runs here happens in :meth:`DistributedHerder._tick`, on the
herder's thread, which waits for nothing that a plugin could block for ever. What users want comes in as requests; what
other workers wrote to the config topic comes in as changes. Reads are answered from this worker's view of the topics.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from typing import NoReturn, TypeVar

from connect_dagster.client.inter_worker import RestClient
from connect_dagster.errors import AlreadyExistsError, BadRequestError, ConnectError, NotFoundError
from connect_dagster.herder import loggers
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.distributed.changes import Changes, Pending
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.local_work import LocalWork
from connect_dagster.herder.distributed.membership import GroupMember, Joined
from connect_dagster.herder.distributed.requests import Requests
from connect_dagster.herder.distributed.session_keys import SessionKeys
from connect_dagster.herder.distributed.stage import Stages
from connect_dagster.herder.distributed.task_publication import TaskPublication
from connect_dagster.herder.distributed.worker_log import WorkerLog
from connect_dagster.herder.interface import (
    ConnectorConfig,
    ConnectorInfo,
    ConnectorOffset,
    ConnectorStatus,
    ConnectorType,
    Created,
    Health,
    HealthReport,
    NotAssignedError,
    NotLeaderError,
    RebalanceNeededError,
    RestartRequest,
    ServerInfo,
    TaskInfo,
    without_nulls,
)
from connect_dagster.herder.restart_plan import plan_restart
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.herder.worker_herder import WorkerHerder, refuse_until_stopped
from connect_dagster.protocol.config_state import ClusterConfigState, Event
from connect_dagster.protocol.group_structs import (
    NO_ERROR,
    Assignment,
    ConnectProtocol,
    assigned_entries,
    work_of,
)
from connect_dagster.protocol.signature import RequestSignature
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from connect_dagster.protocol.work import Work
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.storage.lease import Lease
from connect_dagster.storage.topic_log import NotPermittedError
from connect_dagster.worker.worker import Worker

T = TypeVar("T")

NEVER = float("inf")
_JOIN_SECONDS = 1.0
_CATCH_UP_TRIES = 5
_KEY_RETRY_SECONDS = 1.0
_ABANDON_SECONDS = 5.0


class DistributedHerder(WorkerHerder):
    """One worker's part of a group.

    Args:
        config: the worker's configuration.
        worker: runs connectors and tasks.
        validator: checks configurations.
        editor: reads and edits committed offsets.
        server: what ``GET /`` answers.
        offsets: the offset topic.
        open_configs: makes the store of the config topic, from who listens to it.
        statuses: the status topic.
        lease: this worker's membership, which the stores ask as well.
        url: where this worker takes requests.
        rest: for requests to the leader.
        check_before_joining: called with what the config topic says; raises when the worker must not join.
    """

    def __init__(
        self,
        config: DistributedConfig,
        worker: Worker,
        validator: Validator,
        editor: OffsetEditor,
        server: ServerInfo,
        offsets: KafkaOffsetStore,
        open_configs: Callable[[Callable[[Event], None]], ConfigStore],
        statuses: StatusStore,
        lease: Lease,
        url: str,
        rest: RestClient,
        check_before_joining: Callable[[ClusterConfigState], None],
    ) -> None:
        super().__init__(worker, validator, server)
        client_id = config.client_id or f"connect-{worker.id}"
        self._log = WorkerLog(__name__, client_id, config.group_id)
        self._config = config
        self._editor = editor
        self._offsets = offsets
        self._configs = open_configs(lambda event: self._changes.read(event))
        self._statuses = statuses
        self._lease = lease
        self._check_before_joining = check_before_joining
        self._keys = SessionKeys.of(config)
        self._stages = Stages("awaiting startup")
        self._wake = threading.Event()
        self._requests = Requests(self._wake.set)
        self._member = GroupMember(config, client_id, url, lease, self._configs.snapshot, self._wake.set)
        self._rebalances = worker.metrics.join_group(client_id, self._measured)
        self._state = ClusterConfigState()
        self._changes = Changes(self._log, lambda name: self._state.contains(name), _set_level, self._wake.set)
        self._local = LocalWork(worker, statuses, lambda: self._generation, self._reconfigure_later)
        self._publication = TaskPublication(
            self._log, worker, rest, config.inter_worker_signature_algorithm, self._requests
        )
        self._opened = threading.Event()
        self._ready = threading.Event()
        self._ending = threading.Event()
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=f"DistributedHerder-{client_id}-1", daemon=True)
        # What the group made of this worker. Changed by the herder's thread alone.
        self._protocol = ConnectProtocol.of_setting(config.connect_protocol)
        self._generation = -1
        self._assignment: Assignment | None = None
        self._owned = Work()
        self._running = Work()
        self._stopped_for_restart: set[TaskId] = set()
        self._joining = False
        self._resolved = True
        self._rejoin_at = NEVER
        self._key_from = float("-inf")
        self._readable = True
        self._tries_left = _CATCH_UP_TRIES

    def start(self) -> None:
        """Read the topics, join the group, work; all on the herder's thread, so this returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """Stop all connectors and tasks, leave the group."""
        self._log.info("Herder stopping")
        self._ending.set()
        self._wake.set()
        if self._thread.is_alive():
            # Before it has read the topics it runs nothing, and may wait for brokers that are away.
            self._thread.join(None if self._opened.is_set() else _ABANDON_SECONDS)
        self._log.info("Herder stopped")

    def stage(self) -> str | None:
        return self._stages.summary

    # The herder's thread

    def _run(self) -> None:
        try:
            self._log.info("Herder starting")
            self._start_services()
            while not self._ending.is_set():
                self._tick()
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
            self._halt()

    def _start_services(self) -> None:
        with self._stages("initializing and reading to the end of internal topics"):
            self._offsets.start()
            self._worker.start()
            self._statuses.start()
            self._configs.start()
        self._opened.set()
        self._state = self._configs.snapshot()
        self._check_before_joining(self._state)
        self._member.start()

    def _halt(self) -> None:
        with self._stages("shutting down"):
            self._requests.close(ConnectError("Worker is shutting down"))
            self._worker.stop()
            self._publication.stop()
            self._statuses.flush()
            self._member.stop()
            self._statuses.stop()
            self._configs.stop()
            self._offsets.stop()

    def _tick(self) -> None:
        if not self._readable and not self._read_to_end():
            return
        with self._stages("ensuring membership in the cluster"):
            if not self._ensure_active():
                return
        if not self._finish_rebalance():
            return
        self._renew_session_key()
        self._requests.run_due()
        for request in self._changes.take_restarts():
            self._restart(request)
        if self._act_on(self._changes.take()):
            self._member.request_rejoin()
        elif not self._member.join_needed:
            self._rest()

    def _rest(self) -> None:
        """Wait until there is something to do."""
        with self._stages("polling the group coordinator until interrupted"):
            self._wake.wait(max(0.0, self._seconds_to_rest()))
            self._wake.clear()

    def _seconds_to_rest(self) -> float:
        now = time.monotonic()
        next_request = self._requests.next_at
        return min(
            self._config.heartbeat_interval_ms / 1000,
            self._lease.remaining,
            self._rejoin_at - now,
            NEVER if next_request is None else next_request - now,
        )

    # Membership

    def _ensure_active(self) -> bool:
        """Be a member of the group; answers whether this worker is one, with an assignment."""
        if self._assignment is not None and not self._lease.held:
            self._give_up("The session of this worker has ended")
        wait = self._config.heartbeat_interval_ms / 1000
        if not self._member.find_coordinator(wait):
            self._give_up(f"Broker coordinator was unreachable for {self._config.heartbeat_interval_ms}ms")
            return False
        if self._member.join_needed:
            self._prepare_to_join()
            joined = self._member.join(_JOIN_SECONDS)
            if joined is None:
                return False
            self._take_assignment(joined)
        self._member.alive()
        return self._assignment is not None

    def _prepare_to_join(self) -> None:
        if self._joining:
            return
        self._joining = True
        self._log.info("Rebalance started")
        if self._protocol is ConnectProtocol.EAGER and self._assignment is not None:
            self._revoke(self._running)

    def _take_assignment(self, joined: Joined) -> None:
        told = joined.assignment
        self._joining = False
        self._protocol, self._generation = joined.protocol, joined.generation
        fresh, revoked = work_of(told.assigned), work_of(told.revoked)
        if self._protocol is ConnectProtocol.EAGER:
            self._owned = fresh
        else:
            if revoked:
                self._revoke(revoked)
            # What the leader was told counts, also when this worker has given that up while the group formed.
            kept = work_of(joined.allocation.assigned) if joined.allocation is not None else Work()
            self._owned = fresh.plus(kept.minus(revoked))
        self._assignment = told
        self._resolved = False
        self._rebalances.protocol = joined.protocol.name
        self._rebalances.rebalance_started(time.monotonic())
        self._rejoin_at = time.monotonic() + told.delay / 1000 if told.delay > 0 else NEVER
        self._log.info(
            "Joined group at generation %d with protocol version %d and got assignment: %s with rebalance delay: %d",
            joined.generation,
            joined.protocol.version,
            self._owned,
            told.delay,
        )
        self._carry()
        if self._leads and told.error == NO_ERROR:
            self._forget_deleted()

    def _carry(self) -> None:
        """Have the leader know what runs here, when the group forms next."""
        told = self._assignment
        if told is None or self._protocol is ConnectProtocol.EAGER:
            self._member.carry(None)
        else:
            self._member.carry(replace(told, assigned=assigned_entries(self._owned), revoked=()))

    def _give_up(self, why: str) -> None:
        """Stop all work, because others may have it already."""
        if self._assignment is None:
            return
        self._log.warning(
            "%s. Revoking previous assignment %s to avoid running tasks while not being a member the group",
            why,
            self._owned,
        )
        self._revoke(self._running)
        self._owned, self._assignment = Work(), None
        self._carry()
        self._member.request_rejoin()

    def _revoke(self, work: Work) -> None:
        with self._stages(f"stopping {len(work.connectors)} connectors and {len(work.tasks)} tasks"):
            self._local.stop(work)
        self._log.info("Finished stopping tasks in preparation for rebalance")
        self._running = self._running.minus(work)
        if self._config.topic_tracking_enable:
            for name in {*work.connectors, *(id.connector for id in work.tasks)}:
                if not self._state.contains(name):
                    self._statuses.reset_topics(name)
        with self._stages("flushing updates to the status topic"):
            self._statuses.flush()
        self._log.info("Finished flushing status backing store in preparation for rebalance")

    @property
    def _leads(self) -> bool:
        return self._assignment is not None and self._assignment.leader == self._member.member_id

    @property
    def _leader_url(self) -> str | None:
        return self._assignment.leader_url if self._assignment is not None else None

    def _forget_deleted(self) -> None:
        """Forget the states of connectors and tasks that are no more, which only the leader does."""
        now = self._configs.snapshot()
        for name in self._statuses.connectors():
            remaining = {id.task for id in now.tasks(name)} if now.contains(name) else set()
            for number, _ in self._statuses.tasks(name):
                if number not in remaining:
                    self._statuses.put_task(TaskId(name, number), self._destroyed())
            if not now.contains(name):
                self._statuses.put_connector(name, self._destroyed())

    def _destroyed(self) -> Status:
        return Status(State.DESTROYED, self._worker.id, generation=self._generation)

    # After a rebalance

    def _finish_rebalance(self) -> bool:
        """Catch up with what the leader knew, then start what this worker was told; answers whether that is done."""
        if self._rejoin_at <= time.monotonic():
            self._rejoin_at = NEVER
            self._member.request_rejoin()
            return False
        told = self._assignment
        if self._resolved or told is None:
            return True
        failed = told.error != NO_ERROR
        behind = self._state.offset < told.offset
        if failed or behind:
            self._log.warning(
                "Join group completed, but assignment failed. Retrying."
                if failed
                else "Catching up to assignment's config offset."
            )
        if (behind or (failed and self._leads)) and not self._read_to_end():
            self._member.request_rejoin()
            return False
        if failed:
            self._member.request_rejoin()
            return False
        if self._state.offset != told.offset:
            self._log.info(
                "Current config state offset %d does not match group assignment %d. Forcing rebalance.",
                self._state.offset,
                told.offset,
            )
            self._member.request_rejoin()
            return False
        self._start_work()
        self._resolved = True
        self._rebalances.rebalance_succeeded(time.monotonic(), self._generation, told.leader_url)
        if work_of(told.revoked):
            # Others take what this worker has stopped in another round.
            self._member.request_rejoin()
            return False
        return True

    def _start_work(self) -> None:
        assert self._assignment is not None
        self._log.info("Starting connectors and tasks using config offset %d", self._assignment.offset)
        self._running = self._running.minus(Work(tasks=tuple(self._stopped_for_restart)))
        self._stopped_for_restart.clear()
        starting = self._owned.minus(self._running)
        count = len(starting.connectors) + len(starting.tasks)
        with self._stages(f"starting {count} connector(s) and task(s) after a rebalance"):
            self._local.start(starting, self._state)
        self._running = self._owned
        self._log.info("Finished starting connectors and tasks")

    def _read_to_end(self) -> bool:
        """Read the config topic to its end within ``worker.sync.timeout.ms``; else leave the group for a while.

        Others may take the work of a worker that leaves, so it stops here. Java's worker goes on for some time.
        """
        if self._refresh():
            self._tries_left, self._readable = _CATCH_UP_TRIES, True
            return True
        self._readable = False
        self._give_up("The config topic could not be read in time")
        self._member.leave("taking too long to read the log")
        self._back_off()
        return False

    def _refresh(self) -> bool:
        with self._stages("reading to the end of the config topic"):
            try:
                self._configs.refresh(self._config.worker_sync_timeout_ms / 1000)
            except (TimeoutError, ConnectError) as error:
                self._log.warning("Didn't reach end of config log quickly enough: %s", error)
                return False
            if self._look():
                self._changes.expect_rebalance()
            self._log.info(
                "Finished reading to end of log and updated config snapshot, new config log offset: %d",
                self._state.offset,
            )
            return True

    def _back_off(self) -> None:
        if self._protocol is ConnectProtocol.EAGER:
            self._sleep(self._config.worker_unsync_backoff_ms)
        elif self._tries_left > 0:
            self._sleep(self._config.scheduled_rebalance_max_delay_ms // 10 // self._tries_left)
            self._tries_left -= 1
        else:
            self._tries_left = _CATCH_UP_TRIES

    def _sleep(self, milliseconds: int) -> None:
        with self._stages(f"sleeping for a backoff duration of {milliseconds}ms"):
            self._ending.wait(milliseconds / 1000)

    def _renew_session_key(self) -> None:
        if self._protocol is not ConnectProtocol.SESSIONED or not self._leads:
            return
        now = time.time_ns() // 1_000_000
        if self._keys.renewal(self._configs.snapshot().session_key) > now or time.monotonic() < self._key_from:
            return
        with self._stages("writing a new session key to the config topic"):
            try:
                self._configs.put_session_key(self._keys.made(now))
            except Exception:
                self._log.exception(
                    "Failed to write new session key to config topic; forcing a read to the end of the config topic "
                    "before possibly retrying"
                )
                self._readable = False
                self._key_from = time.monotonic() + _KEY_RETRY_SECONDS

    # Changes that were read from the config topic

    def _act_on(self, pending: Pending) -> bool:
        """Carry out changes; answers whether the group has to share its work anew."""
        if not pending:
            return False
        rebalance = self._look() or pending.rebalance
        if self._protocol is ConnectProtocol.EAGER and rebalance:
            return True  # everything stops and starts anyway
        self._restart_connectors(pending.connectors)
        for name in pending.targets:
            target = self._state.target_state(name)
            if self._state.contains(name) and target is not None:
                self._local.set_target(name, target)
        if self._protocol is not ConnectProtocol.EAGER:
            self._stop_reconfigured(pending.reconfigured)
        return rebalance

    def _look(self) -> bool:
        """See what the config topic says now; answers whether connectors came or went.

        A change may be seen here before its event was read, which then tells of nothing new.
        """
        before, self._state = self._state, self._configs.snapshot()
        return set(before.connectors()) != set(self._state.connectors())

    def _restart_connectors(self, names: set[str]) -> None:
        """Restart the connector objects whose configuration changed; their tasks follow when theirs do."""
        mine = [name for name in self._owned.connectors if name in names]
        if not mine:
            return
        with self._stages(f"restarting {len(mine)} reconfigured connectors"):
            self._local.stop(Work(tuple(mine)))
            for name in mine:
                if self._state.contains(name):
                    self._log.info("Handling connector-only config update by restarting connector %s", name)
                    self._local.start_connector(name, self._state)

    def _stop_reconfigured(self, names: set[str]) -> None:
        stopping = tuple(id for id in self._owned.tasks if id.connector in names)
        if not stopping:
            return
        self._log.info(
            "Handling task config update by stopping tasks [%s], which will be restarted after rebalance if still "
            "assigned to this worker",
            ", ".join(map(str, stopping)),
        )
        with self._stages(f"stopping {len(stopping)} reconfigured tasks"):
            self._local.stop(Work(tasks=stopping))
        self._stopped_for_restart.update(stopping)

    def _restart(self, request: RestartRequest) -> None:
        try:
            plan = plan_restart(request, self.connector_status(request.connector))
        except NotFoundError:
            return
        mine = Work(
            tuple(name for name in self._owned.connectors if plan.connector and name == request.connector),
            tuple(id for id in plan.tasks if id in self._owned.tasks),
        )
        self._log.info("Executing %s", plan)
        with self._stages(f"handling restart request for connector {request.connector}"):
            self._local.stop(mine)
            self._local.restarting(mine)
            self._local.start(mine, self._state)

    # Task configurations

    def _reconfigure_later(self, name: str) -> None:
        self._requests.add(lambda: self._reconfigure(name))

    def _reconfigure(self, name: str, failures: int = 0) -> None:
        """Ask a connector for the configurations of its tasks, and publish them when they changed."""
        target = self._state.target_state(name)
        if not self._worker.runs_connector(name) or target is not TargetState.STARTED:
            self._log.info("Skipping reconfiguration of connector %s: it does not run here, or is %s", name, target)
            return
        config = self._state.connector_config(name)
        self._publication.plan(
            name,
            lambda configs: self._publish(name, config, configs),
            failures,
            lambda: self._reconfigure(name, failures + 1),
        )

    def _publish(
        self, name: str, config: Mapping[str, str | None] | None, configs: list[dict[str, str]]
    ) -> Future[None] | None:
        """Write task configurations, or have the leader do so, if the connector still is what it was when asked."""
        state = self._state
        now = state.connector_config(name), state.target_state(name), self._worker.runs_connector(name)
        if now != (config, TargetState.STARTED, True):
            self._log.info("Leaving out task configurations of connector %s, which was changed or moved since", name)
            return None
        if not self._publication.changed(name, configs, state):
            return None
        if self._leads:
            self._write_tasks(name, configs)
            return None
        return self._publication.send(name, configs, self._leader_url, self._configs.snapshot().session_key)

    def _write_tasks(self, name: str, configs: Sequence[Mapping[str, str | None]]) -> None:
        if configs and self._state.target_state(name) is TargetState.STOPPED:
            raise BadRequestError(f"Cannot submit non-empty set of task configs for stopped connector {name}")
        with self._stages(f"writing {len(configs)} task configs for connector {name} to the config topic"):
            self._configs.put_task_configs(name, configs)

    # Server

    def health(self) -> HealthReport:
        if not self._ready.is_set():
            return HealthReport(Health.STARTING, f"Worker is still starting up. {self._stages.summary}")
        self._ask(lambda: None)
        return HealthReport(Health.HEALTHY, "Worker has completed startup and is ready to handle requests.")

    def _measured(self) -> dict[str, float]:
        owned = self._owned
        return {
            **self._member.measured(),
            "assigned-connectors": len(owned.connectors),
            "assigned-tasks": len(owned.tasks),
        }

    # Reading

    def connectors(self) -> list[str]:
        return sorted(self._configs.snapshot().connectors())

    def connector_info(self, name: str) -> ConnectorInfo:
        def answer() -> ConnectorInfo:
            self._check_rebalance()
            return self._info(name, self._state)

        return self._ask(answer)

    def known_connector_info(self, name: str) -> ConnectorInfo:
        return self._info(name, self._configs.snapshot())

    def connector_status(self, name: str) -> ConnectorStatus:
        status = self._statuses.connector(name)
        if status is None:
            raise NotFoundError(f"No status found for connector {name}")
        config = self._configs.snapshot().connector_config(name)
        return ConnectorStatus(name, status, self._statuses.tasks(name), self._type(config))

    def task_status(self, task: TaskId) -> Status:
        status = self._statuses.task(task)
        if status is None:
            raise NotFoundError(f"No status found for task {task}")
        return status

    def tasks(self, name: str) -> list[TaskInfo]:
        def answer() -> list[TaskInfo]:
            self._check_rebalance()
            _require(self._state, name)
            configs = self._state.all_task_configs(name)
            return [TaskInfo(id, without_nulls(config)) for id, config in configs.items()]

        return self._ask(answer)

    # Changing

    def put_connector(
        self, name: str, config: ConnectorConfig, initial: TargetState | None = None, *, allow_replace: bool
    ) -> Created:
        self._validator.check(config)
        return self._ask(lambda: self._put(name, config, initial, allow_replace=allow_replace))

    def patch_connector(self, name: str, patch: ConnectorConfig) -> ConnectorInfo:
        def patched() -> dict[str, str]:
            self._require_leader("Only the leader can set connector configs.")
            return without_nulls({**self._info(name, self._configs.snapshot()).config, **patch})

        merged = self._ask(patched)
        return self.put_connector(name, merged, allow_replace=True).info

    def delete_connector(self, name: str) -> None:
        def delete() -> None:
            self._require_leader("Only the leader can delete connector configs.")
            _require(self._configs.snapshot(), name)
            with self._stages(f"removing the config for connector {name} from the config topic"):
                self._configs.remove_connector(name)

        self._ask(delete)

    def pause_connector(self, name: str) -> None:
        self._set_target(name, TargetState.PAUSED)

    def resume_connector(self, name: str) -> None:
        self._set_target(name, TargetState.STARTED)

    def stop_connector(self, name: str) -> None:
        def stop() -> None:
            if not self._configs.contains(name):
                raise NotFoundError(f"Unknown connector {name}")
            self._require_leader("Only the leader can transition connectors to the STOPPED state.")
            # In this order a failure in between leaves a running connector without tasks, which heals by itself.
            self._write_tasks(name, [])
            with self._stages(f"writing the STOPPED target stage for connector {name} to the config topic"):
                self._configs.put_target_state(name, TargetState.STOPPED)
            self._refresh()

        self._ask(stop)

    def restart_connector(self, name: str) -> None:
        def restart() -> Future[State]:
            self._check_rebalance()
            if not self._state.contains(name):
                raise NotFoundError(f"Unknown connector: {name}")
            if name not in self._owned.connectors:
                self._not_mine("connector", self._member.owners.connectors.get(name))
            with self._stages(f"stopping restarted connector {name}"):
                self._local.stop(Work((name,)))
            return self._local.start_connector(name, self._state)

        if self._ask(restart).result() is State.FAILED:
            raise ConnectError(f"Failed to start connector: {name}")

    def restart_connector_and_tasks(self, request: RestartRequest) -> ConnectorStatus:
        def restart() -> ConnectorStatus:
            self._check_rebalance()
            if not self._state.contains(request.connector):
                raise NotFoundError(f"Unknown connector: {request.connector}")
            self._require_leader("Only the leader can process restart requests.")
            with self._stages(f"writing restart request for connector {request.connector} to the config topic"):
                self._configs.put_restart_request(request.connector, request.only_failed, request.include_tasks)
            if self._statuses.connector(request.connector) is None:
                raise NotFoundError(f"Status for connector {request.connector} not found")
            return plan_restart(request, self.connector_status(request.connector)).status

        return self._ask(restart)

    def restart_task(self, task: TaskId) -> None:
        def restart() -> None:
            self._check_rebalance()
            if not self._state.contains(task.connector):
                raise NotFoundError(f"Unknown connector: {task.connector}")
            if self._state.task_config(task) is None:
                raise NotFoundError(f"Unknown task: {task}")
            if task not in self._owned.tasks:
                self._not_mine("task", self._member.owners.tasks.get(task))
            with self._stages(f"restarting task {task}"):
                self._local.stop(Work(tasks=(task,)))
                if not self._local.start_task(task, self._state):
                    raise ConnectError(f"Failed to start task: {task}")

        self._ask(restart)

    # What only workers of the group ask of each other

    def put_task_configs(
        self, name: str, configs: Sequence[Mapping[str, str]], signature: RequestSignature | None
    ) -> None:
        self._check_signature(signature)

        def put() -> None:
            self._require_leader("Only the leader may write task configurations.")
            _require(self._state, name)
            self._write_tasks(name, configs)

        self._ask(put)

    def fence_zombies(self, name: str, signature: RequestSignature | None) -> None:
        self._check_signature(signature)

        def fence() -> None:
            self._require_leader("Only the leader may perform zombie fencing.")
            if self._type(_require(self._state, name)) is not ConnectorType.SOURCE:
                raise BadRequestError(f"Connector {name} is not a source connector")
            if not self._refresh():
                raise ConnectError("Failed to read to end of config topic before performing zombie fencing")
            if not self._state.pending_fencing(name):
                return
            fenced, tasks = self._state.task_count_record(name), self._state.task_count(name)
            if fenced is not None and (fenced, tasks) != (1, 1):
                raise ConnectError("This worker has no exactly-once sources yet, so it cannot fence out former tasks")
            with self._stages(f"writing a task count record for connector {name} to the config topic"):
                self._configs.put_task_count_record(name, tasks)

        self._ask(fence)

    # Topics

    def active_topics(self, name: str) -> list[str]:
        return self._statuses.topics(name)

    def reset_active_topics(self, name: str) -> None:
        self._statuses.reset_topics(name)

    # Offsets

    def connector_offsets(self, name: str) -> list[ConnectorOffset]:
        return self._editor.read(self._info(name, self._configs.snapshot()))

    def alter_connector_offsets(self, name: str, offsets: Sequence[ConnectorOffset]) -> str:
        with _tried_again_later():
            return self._editor.alter(self._ask(lambda: self._stopped(name)), offsets)

    def reset_connector_offsets(self, name: str) -> str:
        with _tried_again_later():
            return self._editor.reset(self._ask(lambda: self._stopped(name)))

    def _stopped(self, name: str) -> ConnectorInfo:
        self._check_rebalance()
        self._require_leader("Only the leader can process external offsets modification requests")
        if not self._refresh():
            raise ConnectError("Failed to read to end of config topic before modifying connector offsets")
        info = self._info(name, self._state)
        if self._state.target_state(name) is not TargetState.STOPPED or self._state.task_count(name) != 0:
            refuse_until_stopped(name)
        return info

    # Loggers

    def set_cluster_logger_level(self, namespace: str, level: str) -> None:
        with _tried_again_later():
            self._configs.put_logger_level(namespace, level)

    # How requests are answered

    def _ask(self, action: Callable[[], T]) -> T:
        """Have something done on the herder's thread, and wait for it."""
        with _tried_again_later():
            return self._requests.add(action).result()

    def _check_rebalance(self) -> None:
        # Who owns and who leads may be about to change.
        if self._changes.rebalance_expected:
            raise RebalanceNeededError

    def _require_leader(self, otherwise: str) -> None:
        if not self._leads:
            raise NotLeaderError(otherwise, self._leader_url)

    def _not_mine(self, what: str, owner: str | None) -> NoReturn:
        text = f"Cannot restart {what} since it is not assigned to this member"
        if self._leads:
            raise NotAssignedError(text, owner)
        raise NotLeaderError(
            "Only the leader can process restart requests." if what == "connector" else text, self._leader_url
        )

    def _check_signature(self, signature: RequestSignature | None) -> None:
        if self._protocol is ConnectProtocol.SESSIONED:
            self._keys.check(signature, self._configs.snapshot().session_key)

    def _put(self, name: str, config: ConnectorConfig, initial: TargetState | None, *, allow_replace: bool) -> Created:
        self._require_leader("Only the leader can set connector configs.")
        exists = self._configs.contains(name)
        if exists and not allow_replace:
            raise AlreadyExistsError(f"Connector {name} already exists")
        with self._stages(f"writing a config for connector {name} to the config topic"):
            self._configs.put_connector(name, config, initial)
        texts = without_nulls(config)
        tasks = tuple(self._configs.snapshot().tasks(name))
        return Created(ConnectorInfo(name, texts, tasks, self._type(texts)), not exists)

    def _set_target(self, name: str, target: TargetState) -> None:
        if not self._configs.contains(name):
            raise NotFoundError(f"Unknown connector {name}")
        with _tried_again_later():
            self._configs.put_target_state(name, target)

    def _info(self, name: str, state: ClusterConfigState) -> ConnectorInfo:
        config = without_nulls(_require(state, name))
        return ConnectorInfo(name, config, tuple(state.tasks(name)), self._type(config))

    def _type(self, config: Mapping[str, str | None] | None) -> ConnectorType:
        try:
            described = self._worker.plugins.connector((config or {}).get("connector.class") or "")
        except ConnectError:
            return ConnectorType.UNKNOWN
        return ConnectorType(described.kind.value)


@contextmanager
def _tried_again_later() -> Iterator[None]:
    """Tell clients of a worker that has lost its place in the group what they are told while the group forms: 409."""
    try:
        yield
    except NotPermittedError as error:
        raise RebalanceNeededError from error


def _require(state: ClusterConfigState, name: str) -> Mapping[str, str | None]:
    config = state.connector_config(name)
    if config is None:
        raise NotFoundError(f"Connector {name} not found")
    return config


def _set_level(namespace: str, level: str) -> None:
    loggers.set_level(namespace, level)
