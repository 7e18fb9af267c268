"""A group's topics on a broker, written as workers write them, and what the worker's resource reads."""

import json
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.orchestration import ConnectWorkerResource, KafkaConnectWorkspace
from connect_dagster.orchestration.workers.group_topics import StoredOffset, StoredStatus
from connect_dagster.protocol import config_records, status_records
from connect_dagster.protocol.states import State, Status, TargetState, TaskId
from tests.conftest import Broker
from tests.shipped_project import wait_until

Write = Callable[[str, str, bytes | None], None]
SECRET = "kafka123"
PARTITIONS = {"configs": 1, "offsets": 5, "status": 3}


@pytest.fixture(name="worker")
def worker_fixture(broker: Broker, topic_prefix: str) -> Iterator[ConnectWorkerResource]:
    """A worker that never runs, of a group whose topics exist."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    topics = [NewTopic(f"{topic_prefix}{kind}", count, 1) for kind, count in PARTITIONS.items()]
    for made in admin.create_topics(topics).values():
        made.result(30)
    wait_until(lambda: _led(admin) >= {topic.topic for topic in topics}, "see the topics", 60)
    yield ConnectWorkerResource(
        workspace=KafkaConnectWorkspace(),
        bootstrap_servers=broker.bootstrap_servers,
        group_id=f"{topic_prefix}group",
        config_storage_topic=f"{topic_prefix}configs",
        offset_storage_topic=f"{topic_prefix}offsets",
        status_storage_topic=f"{topic_prefix}status",
    )
    admin.delete_topics([topic.topic for topic in topics])


def _led(admin: AdminClient) -> set[str]:
    """Topics all of whose partitions have a leader: one that was created just now may not be known yet."""
    found = admin.list_topics(timeout=10).topics.items()
    return {name for name, topic in found if all(one.leader >= 0 for one in topic.partitions.values())}


@pytest.fixture
def write(broker: Broker, topic_prefix: str) -> Write:
    """Writes a record to one of the topics."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "partitioner": "murmur2_random"})

    def written(kind: str, key: str, value: bytes | None) -> None:
        producer.produce(f"{topic_prefix}{kind}", value, key)
        assert not producer.flush(30)

    return written


def test_s3_04_configs(worker: ConnectWorkerResource, write: Write) -> None:
    config = {"name": "c", "connection.password": SECRET}
    write("configs", config_records.connector_key("c"), config_records.properties_value(config))
    for number in range(2):
        key = config_records.task_key(TaskId("c", number))
        write("configs", key, config_records.properties_value({"task.class": "T"}))
    write("configs", config_records.commit_key("c"), config_records.commit_value(2))
    write("configs", config_records.target_state_key("c"), config_records.target_state_value(TargetState.STOPPED))
    write("configs", config_records.connector_key("gone"), config_records.properties_value({"name": "gone"}))
    write("configs", config_records.connector_key("gone"), None)
    # Compaction has removed the configurations of its tasks.
    write("configs", config_records.connector_key("half"), config_records.properties_value({"name": "half"}))
    write("configs", config_records.commit_key("half"), config_records.commit_value(1))
    read = worker.configs()
    assert (list(read.connectors), read.offset) == (["c", "half"], 9)
    stored = read.connectors["c"]
    assert (stored.target_state, stored.task_count, stored.consistent) == ("STOPPED", 2, True)
    assert dict(stored.config) == config
    assert not read.connectors["half"].consistent
    assert SECRET not in repr(read)


def test_s3_04_offsets(worker: ConnectWorkerResource, write: Write) -> None:
    products = '["jdbc",{"protocol":"1","table":"kafkadb.products"}]'
    write("offsets", products, b'{"incrementing":1}')
    write("offsets", '["jdbc",{"table":"kafkadb.orders","protocol":"1"}]', b'{"incrementing":7}')
    write("offsets", products, b'{"incrementing":3}')
    write("offsets", '["file",{"filename":"/tmp/x"}]', b'{"position":9}')
    write("offsets", '["file",{"filename":"/tmp/x"}]', None)
    write("offsets", '"no key of an offset"', b"{}")
    assert worker.offsets() == (
        StoredOffset("jdbc", {"table": "kafkadb.orders", "protocol": "1"}, {"incrementing": 7}),
        StoredOffset("jdbc", json.loads(products)[1], {"incrementing": 3}),
    )


def test_s3_04_statuses(worker: ConnectWorkerResource, write: Write) -> None:
    def report(key: str, status: Status) -> None:
        write("status", key, status_records.status_value(status))

    task = status_records.task_key(TaskId("c", 0))
    report(status_records.connector_key("c"), Status(State.RUNNING, "w:1", version="1.0", generation=4))
    report(task, Status(State.RUNNING, "w:2", generation=5))
    # A former owner's word that comes late counts for nothing.
    report(task, Status(State.UNASSIGNED, "w:1", generation=4))
    report(status_records.task_key(TaskId("c", 1)), Status(State.FAILED, "w:2", trace="why", generation=5))
    report(status_records.task_key(TaskId("c", 2)), Status(State.DESTROYED, "w:2", generation=5))
    assert worker.statuses() == (
        StoredStatus("c", None, State.RUNNING, "w:1", 4, "1.0", None),
        StoredStatus("c", 0, State.RUNNING, "w:2", 5, None, None),
        StoredStatus("c", 1, State.FAILED, "w:2", 5, None, "why"),
    )


def test_empty_topics(worker: ConnectWorkerResource) -> None:
    assert (worker.configs().connectors, worker.configs().offset) == ({}, -1)
    assert worker.offsets() == ()
    assert worker.statuses() == ()
