"""Workers of one group: started at once, given connectors by many clients, observed through one of them."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import cycle

import click

from benchmarks.bench import Bench
from benchmarks.contestants import Contestant, Part, Properties, Running
from benchmarks.measure import Deadline, InvalidCellError
from benchmarks.workload import Format
from connect_dagster.kafka.groups import live_group
from connect_dagster.protocol.group_structs import Assignment
from tests.distributed_process import group_properties

_CLIENTS = 10
_RETRY_SECONDS, _ACCEPTED_SECONDS = 0.1, 120.0
_JOINED_SECONDS, _JOINED_POLL_SECONDS = 60.0, 0.5
_RUNNING_SECONDS, _RUNNING_POLL_SECONDS = 300.0, 0.05
_STABLE = "Stable"


class Group:
    """Workers that share connectors.

    Args:
        bootstrap: the broker.
        group_id: of the group.
        members: its workers, in the order of their start.
    """

    def __init__(self, bootstrap: str, group_id: str, members: Sequence[Running]) -> None:
        self.members = list(members)
        self._bootstrap = bootstrap
        self._id = group_id

    def create(self, connectors: Sequence[Properties]) -> None:
        """Create connectors from several clients at once, whose requests go to all workers in turn.

        By `PUT`, so that a request may be made again after a 409, which says that the group rebalances.

        Raises:
            InvalidCellError: one was refused otherwise, or by 409 for too long.
        """
        deadline = Deadline(_ACCEPTED_SECONDS, f"{len(connectors)} connectors are accepted")

        def create(connector: Properties, worker: Running) -> None:
            deadline.wait(lambda: worker.accepts(connector), _RETRY_SECONDS)

        with ThreadPoolExecutor(_CLIENTS) as clients:
            list(clients.map(create, connectors, cycle(self.members)))

    def await_members(self) -> None:
        """Wait until the group holds all workers and is at rest."""
        aim = f"{len(self.members)} workers share a group"
        Deadline(_JOINED_SECONDS, aim).wait(lambda: len(self._leader_urls()) == len(self.members), _JOINED_POLL_SECONDS)

    def await_running(self, connectors: Sequence[Properties], asked: Running) -> None:
        """Wait until a worker says that each connector and its one task run on members.

        Raises:
            InvalidCellError: a connector or task has failed, or it took too long.
        """
        names = {connector["name"] for connector in connectors}
        ids = {member.id for member in self.members}
        Deadline(_RUNNING_SECONDS, f"all of {len(names)} connectors and their tasks are RUNNING").wait(
            lambda: all_running(asked.parts(), names, ids), _RUNNING_POLL_SECONDS
        )

    def leader(self) -> Running:
        """Return the worker that leads.

        Raises:
            InvalidCellError: the members do not agree on one of them.
        """
        urls = set(self._leader_urls())
        for member in self.members:
            if {member.rest_url} == urls:
                return member
        raise InvalidCellError(f"the members of {self._id} take for their leader: {', '.join(urls) or 'nobody'}")

    def kill_last_follower(self) -> float:
        """Kill the last worker that does not lead, with SIGKILL; returns the monotonic time.

        It is removed from the members.
        """
        leader = self.leader()
        victim = next(member for member in reversed(self.members) if member is not leader)
        self.members.remove(victim)
        began = time.monotonic()
        victim.kill()
        return began

    def settle(self) -> None:
        """Wait until the workers use nearly no processor time any more, a few seconds at most."""
        for member in self.members:
            member.processes.settle()

    def _leader_urls(self) -> list[str]:
        """Return each member's leader; nothing while the group rebalances."""
        try:
            group = live_group(self._bootstrap, self._id)
        except click.ClickException as error:
            raise InvalidCellError(f"group {self._id} cannot be described: {error}") from error
        if group.state != _STABLE:
            return []
        return [Assignment.decode(member.assignment).leader_url.rstrip("/") for member in group.members]


@contextmanager
def group_of(
    bench: Bench, contestant: Contestant, form: Format, workers: int, settings: Properties | None = None
) -> Iterator[Group]:
    """Start a group with its own topics, and end it after the block.

    Args:
        bench: the place.
        contestant: whose workers.
        form: what their converters write and read.
        workers: how many.
        settings: of all workers, beyond what a group needs.
    """
    shared = group_properties(bench.bootstrap, f"{bench.name('group')}-") | dict(settings or {})
    with ExitStack() as stack:
        members = [stack.enter_context(bench.member(contestant, form, shared)) for _ in range(workers)]
        for member in members:
            member.wait_ready()
        group = Group(bench.bootstrap, shared["group.id"], members)
        group.await_members()
        yield group
    bench.topics.delete([shared[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")])


def all_running(parts: Mapping[str, Sequence[Part]], names: Collection[str], workers: Collection[str]) -> bool:
    """Return whether exactly these connectors, each with one task, are RUNNING, and on these workers.

    Args:
        parts: what `Running.parts` answers.
        names: of the connectors.
        workers: ids of workers.
    """
    return parts.keys() == set(names) and all(
        len(own) == 2 and all(part["state"] == "RUNNING" and part["worker_id"] in workers for part in own)
        for own in parts.values()
    )
