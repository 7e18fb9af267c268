"""The coordinator of transactions is killed inside a commit: two other brokers go on, and each line is there once."""

import itertools
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.java.hashes import string_hash
from tests.distributed_process import group_properties
from tests.integration import topics
from tests.integration.cluster.group_of_workers import LineFiles, Pair, TopicReader, as_text, await_true
from tests.integration.cluster.watched_broker import ApiKey, Moment, WatchedBroker
from tests.integration.two_brokers import join_cluster

pytestmark = [pytest.mark.nightly, pytest.mark.timeout(600)]

SECONDS = 120.0
STATE = "__transaction_state"
SPARED = (2, 3)
REPLICAS = {
    f"{kind}.{key}": value
    for kind in ("offsets.topic", "transaction.state.log")
    for key, value in (("replication.factor", "3"), ("num.partitions", "6"))
} | {"transaction.state.log.min.isr": "2", "default.replication.factor": "3", "min.insync.replicas": "2"}
REPLICAS["auto.leader.rebalance.enable"] = "false"
GROUP = {
    "session_timeout_ms": "10000",
    "heartbeat_interval_ms": "500",
    "exactly_once_source_support": "enabled",
    **{f"{kind}_storage_replication_factor": "3" for kind in ("config", "offset", "status")},
}


@dataclass(frozen=True, slots=True)
class ThreeBrokers:
    """Three brokers of one cluster, and two workers whose clients go through a proxy of each broker.

    Attributes:
        brokers: by their ids; the first one is the controller as well.
        proxies: of the brokers.
        pair: the workers.
    """

    brokers: dict[int, EmbeddedBroker]
    proxies: dict[int, WatchedBroker]
    pair: Pair

    @property
    def direct(self) -> str:
        """The brokers' addresses, for readers."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    def coordinator(self, transactional_id: str) -> int:
        """The broker that coordinates the transactions of an id (Kafka: ``TransactionStateManager.partitionFor``)."""
        admin = AdminClient({"bootstrap.servers": self.direct})
        partitions = admin.list_topics(STATE, timeout=SECONDS).topics[STATE].partitions
        return int(partitions[abs(string_hash(transactional_id)) % len(partitions)].leader)


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[dict[int, EmbeddedBroker], dict[int, WatchedBroker]]]:
    """Start three brokers with their proxies."""
    quorum = {"controller.quorum.voters": f"1@{HOST}:{free_port()}"}
    brokers: dict[int, EmbeddedBroker] = {}
    proxies: dict[int, WatchedBroker] = {}
    with ExitStack() as stack:
        for node in (1, 2, 3):
            own, watched, proxied = free_port(), free_port(), free_port()
            listeners = f"PLAINTEXT://{HOST}:{own},WATCHED://{HOST}:{watched}"
            roles = {"process.roles": "broker", "node.id": str(node)}
            if node == 1:
                listeners += ",CONTROLLER://" + quorum["controller.quorum.voters"].partition("@")[2]
                roles = {}
            else:
                join_cluster(folder / "1" / "data", folder / str(node) / "data", node)
            settings = REPLICAS | quorum | roles | {"listeners": listeners}
            settings |= {"advertised.listeners": f"PLAINTEXT://{HOST}:{own},WATCHED://{HOST}:{proxied}"}
            broker = EmbeddedBroker(
                folder / str(node), own, heap="384m", settings=settings, listeners={"WATCHED": "PLAINTEXT"}
            )
            brokers[node] = stack.enter_context(broker)
            proxies[node] = stack.enter_context(WatchedBroker(proxied, watched))
        yield brokers, proxies


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeBrokers]:
    folder = tmp_path_factory.mktemp("three")
    with cluster(folder) as (brokers, proxies):
        servers = ",".join(proxy.bootstrap_servers for proxy in proxies.values())
        with Pair(group_properties(servers, "three-", **GROUP), folder) as pair:
            yield ThreeBrokers(brokers, proxies, pair)


def files_of(three: ThreeBrokers, folder: Path, prefix: str) -> LineFiles:
    """Files, where a broker coordinates the transactions of the first that is not the controller."""
    for number in itertools.count():
        files = LineFiles(folder, f"{prefix}{number}-", 2)
        if three.coordinator(f"{three.pair.group_id}-{files.tasks[0]}") in SPARED:
            return files
    raise AssertionError("unreachable")


@pytest.mark.parametrize("moment", Moment)
def test_a_coordinator_that_is_killed_in_a_commit_costs_no_line(
    three: ThreeBrokers, tmp_path: Path, topic_prefix: str, moment: Moment
) -> None:
    files = files_of(three, tmp_path, topic_prefix)
    three.pair.create(files)
    client = f"connector-producer-{files.tasks[0]}"
    traps = {
        node: three.proxies[node].set_trap(
            lambda request: request.key == ApiKey.END_TXN and request.client == client, moment
        )
        for node in SPARED
    }
    files.grow(500)
    await_true(
        lambda: any(trap.reached.is_set() for trap in traps.values()),
        lambda: three.coordinator(f"{three.pair.group_id}-{files.tasks[0]}"),
        SECONDS,
    )
    (node,) = (node for node, trap in traps.items() if trap.reached.is_set())
    three.brokers[node].kill()
    for one, trap in traps.items():
        three.proxies[one].remove_trap()
        trap.drop()
    files.grow(500)
    try:
        with TopicReader(three.direct, files.topic) as reader:
            reader.await_values(files.lines, SECONDS)
        assert three.coordinator(f"{three.pair.group_id}-{files.tasks[0]}") != node
        three.pair.await_running(files, seconds=SECONDS)
    finally:
        three.brokers[node].start()
    read = Counter(as_text(one.value()) for one in topics.read_committed(three.direct, files.topic))
    assert read == Counter(files.lines), {line: count for line, count in read.items() if count > 1}
    three.pair.delete_all()
    await_true(lambda: all_in_sync(three.direct), lambda: "all replicas are in sync", SECONDS)


def all_in_sync(bootstrap_servers: str) -> bool:
    found = AdminClient({"bootstrap.servers": bootstrap_servers}).list_topics(timeout=SECONDS).topics.values()
    return all(len(one.isrs) == len(one.replicas) for topic in found for one in topic.partitions.values())
