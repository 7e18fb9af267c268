"""A cluster of two brokers, of which the second may go away with the partitions that only it has."""

import base64
import functools
import time
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient
from kafka import TopicPartition as KafkaPartition

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port

SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class TwoBrokers:
    """Two brokers of one cluster; clients know the first one, which is the controller as well."""

    first: EmbeddedBroker
    second: EmbeddedBroker

    @property
    def bootstrap_servers(self) -> str:
        """The first broker's."""
        return self.first.bootstrap_servers

    @property
    def admin(self) -> AdminClient:
        """The same client each time."""
        return _admin(self.bootstrap_servers)

    def create(self, topic: str, *, replicated: bool = False) -> str:
        """Create a topic whose partition 0 is on the first broker, and whose partition 1 is on the second.

        Args:
            topic: its name.
            replicated: whether the other broker has a replica of each.
        """
        assignment = [[1, 2], [2, 1]] if replicated else [[1], [2]]
        self.admin.create_topics([NewTopic(topic, 2, replica_assignment=assignment)])[topic].result(SECONDS)
        return topic

    def leaders(self, topic: str) -> list[int]:
        """The ids of the brokers that lead its partitions."""
        partitions = self.admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions
        return [partitions[number].leader for number in sorted(partitions)]

    def is_in_sync(self, topic: str) -> bool:
        """Whether each replica has all records."""
        partitions = self.admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions.values()
        return all(set(one.isrs) == set(one.replicas) for one in partitions)

    def elect(self, topic: str) -> None:
        """Have the brokers lead that were the leaders at first."""
        wanted = [TopicPartition(topic, number) for number in (0, 1)]
        self.admin.elect_leaders(ElectionType.PREFERRED, wanted).result(SECONDS)

    def move(self, topic: str, broker: int) -> None:
        """Move all partitions to one broker, which leads them then; the other one goes on."""
        wanted = {KafkaPartition(topic, number): [broker] for number in range(len(self.leaders(topic)))}
        with closing(KafkaAdminClient(bootstrap_servers=self.bootstrap_servers)) as admin:
            admin.alter_partition_reassignments(wanted)
        deadline = time.monotonic() + SECONDS
        while set(self.leaders(topic)) != {broker}:
            assert time.monotonic() < deadline, self.leaders(topic)
            time.sleep(0.1)


@functools.cache
def _admin(bootstrap_servers: str) -> AdminClient:
    """A client that lives on: one that nobody holds ends, and its requests with it."""
    return AdminClient({"bootstrap.servers": bootstrap_servers})


@contextmanager
def two_brokers(folder: Path) -> Iterator[TwoBrokers]:
    """Start both, and end them. The first one coordinates all groups."""
    port, other, controller = free_port(), free_port(), free_port()
    quorum = {"controller.quorum.voters": f"1@{HOST}:{controller}"}
    listeners = {"listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}"}
    only_broker = {"process.roles": "broker", "node.id": "2", "listeners": f"PLAINTEXT://{HOST}:{other}"}
    with EmbeddedBroker(folder / "first", port, heap="384m", settings=quorum | listeners) as first:
        _make_topic_of_offsets(first.bootstrap_servers)
        join_cluster(folder / "first" / "data", folder / "second" / "data")
        second = EmbeddedBroker(folder / "second", other, heap="384m", settings=quorum | only_broker)
        with second:
            yield TwoBrokers(first, second)


def _make_topic_of_offsets(bootstrap_servers: str) -> None:
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "first"})
    deadline = time.monotonic() + SECONDS
    try:
        while True:
            try:
                consumer.committed([TopicPartition("any", 0)], timeout=SECONDS)
                return
            except KafkaException:  # the coordinator loads the new topic
                assert time.monotonic() < deadline
                time.sleep(0.1)
    finally:
        consumer.close()


def join_cluster(first: Path, other: Path, node: int = 2) -> None:
    """Format the storage of another broker for the cluster of the first one."""
    formatted = dict(line.partition("=")[::2] for line in (first / "meta.properties").read_text().splitlines())
    directory = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    lines = {"version": "1", "cluster.id": formatted["cluster.id"], "node.id": str(node), "directory.id": directory}
    other.mkdir(parents=True)
    (other / "meta.properties").write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
