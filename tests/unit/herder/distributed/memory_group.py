"""A group of workers in one process without brokers: its topics are lists, its coordinator is this module.

Everything else is real: the herder, its driver and loop, the leader's assignors, the stores and their records.
`tests/topic_log_contract.py` holds the log of these tests to what the real one does.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar
from urllib.parse import urlsplit

from connect_dagster.client.inter_worker import NO_HEADERS, Answer, RestClient
from connect_dagster.herder.connector_offsets import OffsetEditor
from connect_dagster.herder.distributed.config import DistributedConfig
from connect_dagster.herder.distributed.group_driver import GroupDriver
from connect_dagster.herder.distributed.group_messages import Joined
from connect_dagster.herder.distributed.herder import DistributedHerder
from connect_dagster.herder.distributed.leader import Leader, Owners
from connect_dagster.herder.distributed.leader_client import LeaderClient
from connect_dagster.herder.interface import ServerInfo
from connect_dagster.herder.validation.validator import Validator
from connect_dagster.isolation.plugins import Plugins
from connect_dagster.protocol.config_state import ClusterConfigState, Event
from connect_dagster.protocol.group_structs import Assignment, ConnectProtocol, WorkerMetadata, offers
from connect_dagster.protocol.signature import RequestSignature, signed_headers
from connect_dagster.storage.config_store import ConfigStore
from connect_dagster.storage.internal_topics import config_topic, offset_topic, status_topic
from connect_dagster.storage.kafka_offset_store import KafkaOffsetStore
from connect_dagster.storage.kafka_status_store import StatusStore
from connect_dagster.storage.lease import Lease
from tests.distributed_process import group_properties
from tests.unit.herder.memory_worker import MemoryWorker
from tests.unit.storage.memory_log import MemoryAdmin, MemoryTopics

_MOST_ROUNDS = 100
_SETTLED_ROUNDS = 20

T = TypeVar("T")


@cache
def _plugins() -> Plugins:
    return Plugins()


class Clock:
    """Time that passes only when a test says so.

    Attributes:
        waits: seconds of each wait, which end at once.
    """

    def __init__(self) -> None:
        self.now = 1000.0
        self.waits: list[float] = []

    def __call__(self) -> float:
        return self.now

    def wait(self, event: threading.Event, seconds: float) -> None:
        """Return at once."""
        self.waits.append(seconds)


class MemoryCoordinator:
    """The brokers' part of the group protocol: the group forms when all members have joined.

    Attributes:
        away: whether no member finds it.
    """

    def __init__(self, protocol: ConnectProtocol) -> None:
        self.protocol = protocol
        self.generation = 0
        self.members: list[MemoryMember] = []
        self.away = False

    def rebalance(self) -> None:
        """Have all members join again."""
        for member in self.members:
            member.rejoin = True

    def remove(self, member: MemoryMember) -> None:
        """Forget a member, and have the others share its work."""
        if member in self.members:
            self.members.remove(member)
            self.rebalance()

    def join(self, member: MemoryMember) -> None:
        """Take a member's JoinGroup; form the group when it was the last one."""
        if member not in self.members:
            self.members.append(member)
            self.rebalance()
        member.metadata = member.offered(self.protocol)
        if all(one.metadata is not None for one in self.members):
            self._form()

    def _form(self) -> None:
        self.generation += 1
        leader = self.members[0]
        told = {one.member_id: one.metadata for one in self.members if one.metadata is not None}
        decided = leader.leader.decide(
            leader.member_id,
            self.protocol,
            told,
            leader.known,
            generation=self.generation,
            last_completed=leader.last_completed,
            now_ms=int(leader.clock() * 1000),
        )
        for one in self.members:
            assignment = Assignment.decode(decided.assignments[one.member_id])
            one.take(Joined(self.generation, self.protocol, assignment, one.sent), self.generation)
            one.owners = decided.owners if one is leader else Owners({}, {})


class MemoryMember:
    """One member; `GroupDriver` sees it as its ``Member``."""

    def __init__(
        self,
        coordinator: MemoryCoordinator,
        clock: Clock,
        config: DistributedConfig,
        client_id: str,
        url: str,
        lease: Lease,
        snapshot: Callable[[], ClusterConfigState],
        changed: Callable[[], None],
    ) -> None:
        self.member_id = client_id
        self.rejoin = True
        self.owners = Owners({}, {})
        self.metadata: WorkerMetadata | None = None
        self.leader = Leader(config.scheduled_rebalance_max_delay_ms, snapshot)
        self.known = snapshot()
        self.last_completed = -1
        self.clock = clock
        self.sent: Assignment | None = None
        self.left: list[str] = []
        self.calls: list[str] = []
        self._coordinator = coordinator
        self._url = url
        self._lease = lease
        self._snapshot = snapshot
        self._changed = changed
        self._allocation: Assignment | None = None
        self._joined: Joined | None = None

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")
        self._coordinator.remove(self)

    def find_coordinator(self, seconds: float) -> bool:
        return not self._coordinator.away

    @property
    def join_needed(self) -> bool:
        return self.rejoin or self._joined is not None

    def join(self, seconds: float) -> Joined | None:
        if self._joined is None and self.metadata is None:
            self._coordinator.join(self)
        joined, self._joined = self._joined, None
        return joined

    def report_alive(self) -> None:
        self._lease.renew(self._lease.clock())

    def publish_owned(self, allocation: Assignment | None) -> None:
        self._allocation = allocation

    def request_rejoin(self) -> None:
        if self in self._coordinator.members:
            self._coordinator.rebalance()
        self.rejoin = True
        self._changed()

    def leave(self, reason: str) -> None:
        self.left.append(reason)
        self._lease.lose()
        self._coordinator.remove(self)
        self.rejoin = True

    def measured(self) -> dict[str, float]:
        return {}

    def offered(self, protocol: ConnectProtocol) -> WorkerMetadata:
        """The metadata of a JoinGroup for the protocol that the group agrees on."""
        self.known, self.sent = self._snapshot(), self._allocation
        return dict(offers(protocol, self._url, self.known.offset, self.sent))[protocol]

    def take(self, joined: Joined, generation: int) -> None:
        """Take the answer to SyncGroup."""
        self._lease.join(generation, self._lease.clock())
        self._joined, self.metadata, self.rejoin = joined, None, False
        self.last_completed = generation
        self._changed()


class MemoryRest(RestClient):
    """Hands requests for task configurations to the worker that they are for.

    Attributes:
        sent: URL and body of each.
    """

    def __init__(self, group: MemoryGroup) -> None:
        super().__init__()
        self.sent: list[tuple[str, bytes]] = []
        self._group = group

    def request(
        self,
        url: str,
        method: str,
        headers: Mapping[str, str] = NO_HEADERS,
        body: bytes | None = None,
        signature_key: bytes | None = None,
        signature_algorithm: str | None = None,
    ) -> Answer:
        assert method == "POST"
        assert body is not None
        self.sent.append((url, body))
        parts = urlsplit(url)
        _, _, name, below = parts.path.split("/")
        assert below == "tasks"
        (other,) = (one for one in self._group.workers if one.worker.id == parts.netloc)
        signed = None
        if signature_key is not None and signature_algorithm is not None:
            signed = RequestSignature.of(body, signed_headers(signature_key, signature_algorithm, body))
        other.herder.put_task_configs(name, json.loads(body), signed)
        return Answer(204)


class MemoryExecutor(Executor):
    """Keeps what is submitted until a test runs it."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Future[Any], Callable[[], Any]]] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self.waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def run(self) -> None:
        """Run what was submitted."""
        while self.waiting:
            future, call = self.waiting.pop(0)
            try:
                future.set_result(call())
            except Exception as error:
                future.set_exception(error)


class MemoryDriver(GroupDriver):
    """Runs rounds on the thread of the test, as many as a request takes."""

    rounds: Callable[[Callable[[], bool]], None]

    def ask(self, action: Callable[[], T]) -> T:
        asked = self._requests.add(action)
        self.rounds(asked.done)
        return asked.result(0)


@dataclass(frozen=True, slots=True, eq=False)
class OneWorker:
    """A worker of the group, and its parts."""

    driver: MemoryDriver
    herder: DistributedHerder
    worker: MemoryWorker
    member: MemoryMember
    lease: Lease
    rest: MemoryRest

    @property
    def runs(self) -> set[str]:
        """Connectors and tasks that run here."""
        return {*self.worker.here, *map(str, self.worker.tasks_here)}


class MemoryGroup:
    """Workers of one group; only :meth:`rounds` and what calls it lets them do anything.

    Args:
        more: properties of all workers, with ``_`` for the dots of their names.

    Attributes:
        wanted: task configurations that connectors ask for, one each by default, or the error that they raise.
    """

    def __init__(self, **more: str) -> None:
        self.clock = Clock()
        self.topics = MemoryTopics()
        props = group_properties("localhost:1", "memory-", **more)
        self.config = DistributedConfig.parse(props)
        self.coordinator = MemoryCoordinator(ConnectProtocol.of_setting(self.config.connect_protocol))
        self.workers: list[OneWorker] = []
        self.plugins = _plugins()
        self.forwarding = MemoryExecutor()
        self.wanted: dict[str, list[dict[str, str]] | Exception] = {}

    def add(self, check: Callable[[ClusterConfigState], None] = lambda state: None) -> OneWorker:
        """Start a worker; it joins with the next rounds."""
        number = len(self.workers) + 1
        lease = Lease(self.config.session_timeout_ms / 1000, self.clock)
        settings = {"bootstrap.servers": "localhost:1", "client.id": f"w{number}-"}
        admin, open_log, config = MemoryAdmin(), self.topics.open, self.config
        offsets = KafkaOffsetStore(
            offset_topic(config.offset_storage_topic), settings, admin, 1, lambda: lease.held, open_log
        )
        statuses = StatusStore(status_topic(config.status_storage_topic), settings, admin, lambda: lease.held, open_log)
        worker = MemoryWorker(f"w{number}:8083", config, self.plugins, offsets, self.wanted)
        rest = MemoryRest(self)
        members: list[MemoryMember] = []

        def open_configs(listener: Callable[[Event], None]) -> ConfigStore:
            topic = config_topic(config.config_storage_topic)
            return ConfigStore(topic, settings, admin, listener, lambda: lease.held, open_log)

        def open_member(*parts: Any) -> MemoryMember:
            members.append(MemoryMember(self.coordinator, self.clock, *parts))
            return members[0]

        driver = MemoryDriver(
            config,
            worker,
            offsets,
            open_configs,
            statuses,
            lease,
            f"http://w{number}:8083/",
            LeaderClient(rest, config.inter_worker_signature_algorithm),
            check,
            open_member,
            self.clock,
            self.clock.wait,
            self.forwarding,
        )
        driver.rounds = self.rounds
        validator = Validator(self.plugins, config, config.group_id)
        editor = OffsetEditor(self.plugins, offsets, lambda config: settings, 1)
        server = ServerInfo("4.3.1", "commit", "cluster")
        herder = DistributedHerder(worker, validator, editor, server, driver)
        made = OneWorker(driver, herder, worker, members[0], lease, rest)
        driver.open()
        self.workers.append(made)
        return made

    def rounds(self, until: Callable[[], bool]) -> None:
        """Run rounds of all workers in turn until something holds."""
        for _ in range(_MOST_ROUNDS):
            if until():
                return
            self._round()
        raise AssertionError("that never happened")

    def settle(self) -> None:
        """Run rounds until all workers rest, one after the other."""
        for _ in range(_SETTLED_ROUNDS):
            self._round()

    def _round(self) -> None:
        for one in self.workers:
            one.driver.tick()
        self.forwarding.run()

    def advance(self, seconds: float) -> None:
        """Let time pass while nobody works, then settle; members keep their leases."""
        self.clock.now += seconds
        for one in self.workers:
            one.lease.renew(self.clock.now)
        self.settle()

    def kill(self, one: OneWorker) -> None:
        """End a worker without a word; the brokers notice at once."""
        self.workers.remove(one)
        self.coordinator.remove(one.member)

    def expire(self, one: OneWorker) -> None:
        """Take a member out of the group, without telling it: only its lease ends."""
        self.coordinator.remove(one.member)
        one.lease.lose()
        one.member.rejoin = True

    def leader(self) -> OneWorker:
        """The worker that leads."""
        return next(one for one in self.workers if one.driver.leads)

    def follower(self) -> OneWorker:
        """A worker that does not lead."""
        return next(one for one in self.workers if not one.driver.leads)
