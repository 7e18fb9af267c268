"""A group of a worker of Java's and one of ours, for tests that stop, kill and start either."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from connect_dagster.embedded.jars import resolve
from connect_dagster.kafka.groups import DescribedGroup, live_group
from tests.conformance.java_cluster import JavaDistributed
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.group_of_workers import (
    LineFiles,
    Running,
    await_running,
    await_true,
    delete_all,
    leader_url,
    put,
    settled_call,
    states_of,
    worker_id,
)
from tests.rest_calls import Answer

Side = Literal["java", "ours"]
SIDES: tuple[Side, ...] = ("java", "ours")
# Lost work is dealt again, and a dead worker noticed, in seconds; both sides must assign a sink's partitions alike.
GROUP = {
    "session_timeout_ms": "6000",
    "heartbeat_interval_ms": "500",
    "scheduled_rebalance_max_delay_ms": "2000",
    "offset_flush_interval_ms": "500",
    "consumer_partition_assignment_strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
    "consumer_session_timeout_ms": "6000",
    "consumer_heartbeat_interval_ms": "1000",
    "consumer_metadata_max_age_ms": "1000",
}
# Of Kafka's own tests: a connector that has no twin in Python.
JAVAS_OWN = "org.apache.kafka.connect.integration.TestableSourceConnector"
JAVAS_OWN_JAR = "connect-runtime-4.3.1-test.jar"


class MixedGroup:
    """One worker of either kind in one group; each may be stopped, killed and started again.

    Args:
        bootstrap_servers: of their cluster.
        prefix: of the names of group and topics.
        workdir: for the files of both.
        more: properties of both, see `group_properties`.
    """

    def __init__(self, bootstrap_servers: str, prefix: str, workdir: Path, **more: str) -> None:
        self.bootstrap_servers = bootstrap_servers
        props = group_properties(bootstrap_servers, prefix, **{**GROUP, **more})
        self.props: Mapping[str, str] = props
        self.group_id = props["group.id"]
        jars = [jar for jar in resolve("connect-tests") if jar.name == JAVAS_OWN_JAR]
        self.java = JavaDistributed(props, workdir / "java", jars=jars)
        self.ours = DistributedProcess(props, workdir / "ours")
        self._runs: dict[Side, bool] = dict.fromkeys(SIDES, False)

    def url(self, side: Side) -> str:
        return self._worker(side).rest_url

    def urls(self, *sides: Side) -> list[str]:
        return [self.url(side) for side in sides or SIDES]

    def start(self, side: Side) -> None:
        if not self._runs[side]:
            self._worker(side).start()
            self._runs[side] = True
            self._worker(side).wait_ready()

    def stop(self, side: Side) -> None:
        if self._runs[side]:
            self._worker(side).stop()
            self._runs[side] = False

    def kill(self, side: Side) -> None:
        self._worker(side).kill()
        self._runs[side] = False

    def restart(self, side: Side, **changed: str) -> None:
        """Stop a side and start it again, with other properties if need be."""
        self.stop(side)
        self._worker(side).props.update({name.replace("_", "."): value for name, value in changed.items()})
        self.start(side)

    def only(self, side: Side) -> None:
        """Have this side run alone."""
        self.stop(other(side))
        self.start(side)

    def led_by(self, side: Side) -> None:
        """Have both sides run, and this one lead."""
        for each in SIDES:
            self.start(each)
        if self.leader() != side:
            self.stop(other(side))
            self.start(other(side))
        assert self.leader() == side

    def leader(self) -> Side:
        """Return the leader, as the group's coordinator has it."""
        await_true(lambda: self._leader_url() in self.urls(), self._leader_url)
        return "java" if self._leader_url() == self.java.rest_url else "ours"

    def call(self, side: Side, method: str, target: str, body: object = None) -> Answer:
        return settled_call(self.url(side), method, target, body)

    def await_running(self, files: LineFiles, *sides: Side) -> Running:
        """Wait until these sides, and both views of the group, have the sources of `files` and nothing else."""
        urls = self.urls(*sides)
        return await_running(urls, files.names, files.tasks, urls)

    def create(self, files: LineFiles) -> None:
        """Create the sources, through both workers in turn."""
        files.grow()
        for number, name in enumerate(files.names):
            assert put(self.url(SIDES[number % 2]), name, files.config(name)).status == 201

    def await_balanced(self, files: LineFiles) -> None:
        """Wait for the last rebalance: a leader may take work away in one and give it to the other in a later one."""
        share = len(files.names) // 2
        balanced = {worker_id(url): (share, share) for url in self.urls()}
        await_true(lambda: self.await_running(files).load == balanced, lambda: self.await_running(files).load)

    def await_states(self, name: str, *states: str) -> None:
        """Wait until all workers that run show these states of a connector and its tasks."""
        urls = [self.url(side) for side in SIDES if self._runs[side]]
        await_true(
            lambda: all(states_of(url, name) == list(states) for url in urls),
            lambda: (name, [states_of(url, name) for url in urls]),
        )

    def delete_all(self) -> None:
        """Delete all connectors through whoever runs, and wait until they are gone."""
        for side in [side for side in SIDES if self._runs[side]][:1]:
            delete_all(self.url(side))

    def end(self) -> None:
        for side in SIDES:
            self.stop(side)

    def _worker(self, side: Side) -> JavaDistributed | DistributedProcess:
        return self.java if side == "java" else self.ours

    def _leader_url(self) -> str | None:
        return leader_url(self.bootstrap_servers, self.group_id)

    def described(self, group: str) -> DescribedGroup:
        """A group as its coordinator has it."""
        return live_group(self.bootstrap_servers, group)


def other(side: Side) -> Side:
    return "ours" if side == "java" else "java"
