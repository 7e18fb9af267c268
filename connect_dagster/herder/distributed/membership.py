"""A worker's membership of its group, on kafka-python's coordinator (Java: ``WorkerGroupMember``).

The coordinator's thread sends heartbeats and, on the leader, assigns the work; it never waits for a connector. The
herder's thread joins the group and carries out assignments.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from kafka import errors as kafka_errors
from kafka.coordinator.base import UNKNOWN_MEMBER_ID, BaseCoordinator
from kafka.metrics import Metrics
from kafka.metrics.measurable_stat import AbstractMeasurableStat
from kafka.metrics.stats import Count, Rate
from kafka.metrics.stats.rate import TimeUnit
from kafka.net.compat import KafkaNetClient
from kafka.protocol.metadata import FindCoordinatorRequest

from connect_dagster.errors import ConfigError, ConnectError
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.group_messages import Joined
from connect_dagster.herder.distributed.leader import Leader, Owners
from connect_dagster.kafka.settings import to_kafka_python
from connect_dagster.protocol.config_state import ClusterConfigState
from connect_dagster.protocol.group_structs import PROTOCOL_TYPE, Assignment, ConnectProtocol, WorkerMetadata, offers
from connect_dagster.storage.lease import Lease

log = logging.getLogger(__name__)

NO_GENERATION = -1
_COORDINATOR_GROUP, _CLIENT_GROUP = "connect-coordinator-metrics", "connect-metrics"
_LEASE_SECONDS = 1.0
_LEAVE_MILLISECONDS = 2_000
# kafka-python would wait for half a minute before it tries brokers again that were away for long.
_JAVAS_RECONNECT = {"reconnect.backoff.max.ms": "1000"}


class WorkerGroupMember:
    """One worker in its group; its methods are for the herder's thread.

    Args:
        config: the worker's configuration.
        client_id: names the worker's connections, and begins its member id.
        url: this worker's REST URL.
        lease: renewed while the brokers count this worker as a member.
        snapshot: the configuration as far as this worker has read it.
        changed: called from any thread when the herder should act: the group rebalances, or the coordinator is gone.
    """

    def __init__(
        self,
        config: DistributedConfig,
        client_id: str,
        url: str,
        lease: Lease,
        snapshot: Callable[[], ClusterConfigState],
        changed: Callable[[], None],
    ) -> None:
        self._metrics = Metrics()
        measured = {"metrics": self._metrics, "metric_group_prefix": "connect"}
        settings = to_kafka_python(config.bootstrap_servers, client_id, {**_JAVAS_RECONNECT, **config.originals})
        self._client = KafkaNetClient(**settings, **measured)
        self._coordinator = _Coordinator(
            self._client,
            protocol=ConnectProtocol.of_setting(config.connect_protocol),
            url=url,
            snapshot=snapshot,
            leader=Leader(config.scheduled_rebalance_max_delay_ms, snapshot),
            lease=lease,
            changed=changed,
            failed=_failures(self._metrics).record,
            **measured,
            group_id=config.group_id,
            session_timeout_ms=config.session_timeout_ms,
            heartbeat_interval_ms=config.heartbeat_interval_ms,
            max_poll_interval_ms=config.rebalance_timeout_ms,
            request_timeout_ms=config.request_timeout_ms,
        )
        for what in ("heartbeat", "join", "sync"):
            total = self._metrics.metric_name(f"{what}-total", _COORDINATOR_GROUP)
            self._metrics.sensor(f"{what}-latency").add(total, _EventCount())

    def start(self) -> None:
        """Start the coordinator's thread, without a join."""
        # Private, and without it a herder that is busy for longer than the session timeout loses its membership.
        self._client._net.start()

    def stop(self) -> None:
        """Leave the group, so that others take the work at once, and end."""
        try:
            self._coordinator.close(timeout_ms=_LEAVE_MILLISECONDS)
        except kafka_errors.KafkaError as error:
            log.warning("Could not leave the group: %s", error)
        self._client.close()
        self._metrics.close()

    def find_coordinator(self, seconds: float) -> bool:
        """Find the broker that coordinates the group; return whether it was found in time."""
        if not self._coordinator.coordinator_unknown():
            return True
        try:
            self._client.get_broker_version(timeout_ms=seconds * 1000)
            return bool(self._coordinator.ensure_coordinator_ready(timeout_ms=seconds * 1000))
        except kafka_errors.KafkaError as error:
            log.info("The group's coordinator is not to be found: %r", error)
            return False

    @property
    def join_needed(self) -> bool:
        """Return whether the group rebalances, or this worker has requested that."""
        return bool(self._coordinator.need_rejoin())

    def join(self, seconds: float) -> Joined | None:
        """Join the group; return ``None`` when it takes longer, and continue the join with the next call.

        Raises:
            ConnectError: the brokers refuse this worker for good.
        """
        try:
            self._coordinator.ensure_active_group(timeout_ms=seconds * 1000)
        except kafka_errors.InvalidSessionTimeoutError as error:
            bounds = "the brokers only allow group.min.session.timeout.ms to group.max.session.timeout.ms of theirs"
            given = self._coordinator.config["session_timeout_ms"]
            raise ConfigError.invalid("session.timeout.ms", given, bounds) from error
        except kafka_errors.RetriableError as error:
            log.info("The group cannot be joined yet: %r", error)
            return None
        except kafka_errors.KafkaError as error:
            group = self._coordinator.group_id
            raise ConnectError(f"The brokers do not let this worker into group {group}: {error}") from error
        joined, self._coordinator.joined = self._coordinator.joined, None
        return joined

    def report_alive(self) -> None:
        """Report that the herder is alive; without reports for ``rebalance.timeout.ms`` the worker leaves."""
        try:
            self._coordinator.poll_heartbeat()
        except kafka_errors.KafkaError as error:
            log.warning("A heartbeat failed, the group is joined again: %s", error)
            self._coordinator.request_rejoin()

    def publish_owned(self, allocation: Assignment | None) -> None:
        """Publish the owned work to the leader in the next JoinGroup."""
        self._coordinator.allocation = allocation

    def request_rejoin(self) -> None:
        """Request a rebalance of the group."""
        self._coordinator.request_rejoin()

    def leave(self, reason: str) -> None:
        """Leave the group, and join it again with the next :meth:`join`."""
        self._coordinator.maybe_leave_group(reason=reason, timeout_ms=_LEAVE_MILLISECONDS)

    @property
    def member_id(self) -> str:
        """Return this worker's member id, empty while it is not a member."""
        generation = self._coordinator.generation_if_stable()
        return str(generation.member_id) if generation is not None else UNKNOWN_MEMBER_ID

    def measured(self) -> dict[str, float]:
        """Return numbers of joins, heartbeats and connections, by Kafka's names; for any thread."""
        return {
            metric.metric_name.name: float(metric.value())
            for metric in list(self._metrics.metrics.values())
            if metric.metric_name.group in (_COORDINATOR_GROUP, _CLIENT_GROUP)
        }

    @property
    def owners(self) -> Owners:
        """Return the workers of connectors and tasks, as this leader assigned them; empty on followers."""
        return self._coordinator.owners if not self.join_needed else Owners({}, {})


class _EventCount(AbstractMeasurableStat):  # type: ignore[misc]
    """Counts recorded values since the beginning (Java: ``CumulativeCount``)."""

    def __init__(self) -> None:
        self._count = 0

    def record(self, config: object, value: float, time_ms: float) -> None:
        self._count += 1

    def measure(self, config: object, now: float) -> float:
        return self._count


def _failures(metrics: Metrics) -> Any:
    """Return the sensor of joins that fail (Java: ``failedRebalanceSensor``)."""
    sensor = metrics.sensor("failed-rebalance")
    sensor.add(metrics.metric_name("failed-rebalance-total", _COORDINATOR_GROUP), _EventCount())
    per_hour = Rate(TimeUnit.HOURS, sampled_stat=Count())
    sensor.add(metrics.metric_name("failed-rebalance-rate-per-hour", _COORDINATOR_GROUP), per_hour)
    return sensor


class _Coordinator(BaseCoordinator):  # type: ignore[misc]
    """Connect's part of the group protocol; ``_on_…`` and ``_perform_…`` run on kafka-python's thread."""

    def __init__(
        self,
        client: KafkaNetClient,
        *,
        protocol: ConnectProtocol,
        url: str,
        snapshot: Callable[[], ClusterConfigState],
        leader: Leader,
        lease: Lease,
        changed: Callable[[], None],
        failed: Callable[[], None],
        **config: Any,
    ) -> None:
        self._failed = failed
        self.allocation: Assignment | None = None
        self.joined: Joined | None = None
        self.owners = Owners({}, {})
        self._protocol = protocol
        self._url = url
        self._snapshot = snapshot
        self._known = snapshot()
        self._told: Assignment | None = None
        self._synced = float("-inf")
        self._leader = leader
        self._lease = lease
        self._changed = changed
        self._last_completed = NO_GENERATION
        super().__init__(client, **config)

    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    def group_protocols(self) -> list[tuple[str, bytes]]:
        self._known = self._snapshot()
        self._told = self.allocation
        offered = offers(self._protocol, self._url, self._known.offset, self._told)
        return [(each.wire_name, metadata.encode()) for each, metadata in offered]

    def _perform_assignment(self, leader_id: str, protocol: str, members: list[Any]) -> Mapping[str, bytes]:
        decided = self._leader.decide(
            leader_id,
            ConnectProtocol.of_wire_name(protocol),
            {member.member_id: WorkerMetadata.decode(bytes(member.metadata)) for member in members},
            self._known,
            generation=self._generation.generation_id,
            last_completed=self._last_completed,
            now_ms=time.time_ns() // 1_000_000,
        )
        self.owners = decided.owners
        return decided.assignments

    async def _on_join_complete_async(
        self, generation: int, member_id: str, protocol: str, member_assignment_bytes: bytes
    ) -> None:
        self._lease.join(generation, self._synced)
        self._last_completed = generation
        assignment = Assignment.decode(bytes(member_assignment_bytes))
        if assignment.leader != member_id:
            self.owners = Owners({}, {})
        self.joined = Joined(generation, ConnectProtocol.of_wire_name(protocol), assignment, self._told)

    def _process_join_group_response(self, response: Any, send_time: float) -> Any:
        # SyncGroup follows, and its response confirms that this worker was a member then.
        self._synced = self._lease.clock()
        return super()._process_join_group_response(response, send_time)

    async def _do_join_and_sync_async(self) -> bytes:
        waiting = [True]
        self._manager.call_soon(self._extend_lease, waiting)
        try:
            return bytes(await super()._do_join_and_sync_async())
        except kafka_errors.KafkaError:
            self._failed()
            raise
        finally:
            waiting.clear()

    async def _extend_lease(self, waiting: list[bool]) -> None:
        """Keep the lease while the group forms.

        Until all members have joined, the coordinator counts waiting ones as members, but does not respond on their
        connection. So this worker asks the brokers on another connection whether it is still the coordinator; when it
        is cut off it gets no response, and its lease ends.
        """
        while waiting:
            asked = self._lease.clock()
            try:
                answer = await self._manager.send(
                    FindCoordinatorRequest(key=self.group_id, key_type=0, coordinator_keys=[self.group_id])
                )
                found = answer.coordinators[0] if answer.coordinators else answer
            except kafka_errors.KafkaError as error:
                log.debug("No broker responds while the group forms: %r", error)
            else:
                if waiting and self.coordinator_id == f"coordinator-{found.node_id}":
                    self._lease.extend(asked)
            await self._net.sleep(_LEASE_SECONDS)

    async def _send_heartbeat_request(self) -> Any:
        asked = self._lease.clock()
        try:
            answer = await super()._send_heartbeat_request()
        except kafka_errors.RebalanceInProgressError:
            self._lease.renew(asked)
            raise
        self._lease.renew(asked)
        return answer

    # Every reason to join again wakes the herder.

    def request_rejoin(self) -> None:
        super().request_rejoin()
        self._changed()

    def reset_generation(self, member_id: str = UNKNOWN_MEMBER_ID) -> None:
        self._lease.lose()
        super().reset_generation(member_id)
        self._changed()

    def coordinator_dead(self, error: Any) -> None:
        super().coordinator_dead(error)
        self._changed()
