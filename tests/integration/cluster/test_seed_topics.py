"""A lone worker of a group with the first article's source: its log, and what stands in its topics."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from tests.conftest import Broker
from tests.distributed_process import DistributedProcess, group_properties
from tests.integration.cluster.seed_workers import FIRST_LINES, create
from tests.integration.topics import read_topic, size
from tests.integration.worker_process import write_properties
from tests.rest_calls import Answer

NAME = "local-file-source"
SECONDS = 30
TOPIC_CONFIG = 1  # where a setting comes from: the topic itself (Kafka: DescribeConfigsResponse.ConfigSource)
READY = "REST resources initialized; server is started and ready to handle requests ("
# Two records of the third article's status topic, of a Connect that reported no versions.
OLD_STATUSES = {
    "status-connector-postgres_jdbc_ops_sink_customers_avro_01": (
        '{"state":"RUNNING","trace":null,"worker_id":"127.0.1.1:8083","generation":8}'
    ),
    "status-task-postgres_jdbc_ops_sink_order_items_avro_01-0": (
        '{"state":"RUNNING","trace":null,"worker_id":"127.0.1.1:8083","generation":11}'
    ),
}


class WorkerWithMore(DistributedProcess):
    """A worker whose command line names a connector's file too, which Java ignores."""

    def __init__(self, worker_props: Mapping[str, str], more: Path, workdir: Path) -> None:
        super().__init__(worker_props, workdir)
        self._files = [more]

    def wait_ready(self, timeout: float = 150) -> None:
        self.wait_until(lambda: self._created() >= 0, "be healthy", timeout)


@dataclass(frozen=True, slots=True)
class Lone:
    """The worker and what it was asked first.

    Attributes:
        worker: its group is that of a sink, `connect-<sink>`.
        broker: where its topics are.
        sink: name of that sink.
        config: of the source, which it was told over REST.
        first_list: its connectors before that.
        created: its answer to that.
    """

    worker: WorkerWithMore
    broker: Broker
    sink: str
    config: Mapping[str, str]
    first_list: Answer
    created: Answer

    def records(self, kind: str, count: int) -> list[Message]:
        """The first records of one of the group's topics: config, offset, status."""
        return read_topic(self.broker.bootstrap_servers, self.worker.props[f"{kind}.storage.topic"], count)

    def latest(self, kind: str, key: str) -> Message | None:
        """The last record with a key."""
        topic = self.worker.props[f"{kind}.storage.topic"]
        found = self.records(kind, size(self.broker.bootstrap_servers, topic))
        return next((record for record in reversed(found) if record.key() == key.encode()), None)


@pytest.fixture(scope="module")
def lone(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lone]:
    prefix, folder = f"seed-{uuid4().hex[:8]}-", tmp_path_factory.mktemp("lone")
    (folder / "test.txt").write_text(FIRST_LINES)
    config = {
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": str(folder / "test.txt"),
        "topic": f"{prefix}connect-test",
    }
    ignored = write_properties(folder / "local-file-source.properties", {"name": NAME, **config})
    sink = f"{prefix}local-file-sink"
    props = {**group_properties(broker.bootstrap_servers, prefix), "group.id": f"connect-{sink}"}
    with WorkerWithMore(props, ignored, folder) as worker:
        before = worker.call("GET", "/connectors")
        created = create(worker, NAME, config)
        worker.wait_states(NAME, "RUNNING", "RUNNING")
        yield Lone(worker, broker, sink, config, before, created)


@pytest.mark.nightly
def test_s2_01_connectors_come_over_rest_and_never_from_the_command_line(lone: Lone) -> None:
    assert (lone.first_list.status, lone.first_list.json) == (200, [])
    assert (lone.created.status, lone.created.json["config"]) == (201, {**lone.config, "name": NAME})
    assert lone.worker.call("GET", "/connectors").json == [NAME]


def test_s2_02_the_leaders_start_log(lone: Lone) -> None:
    worker_id, group = lone.worker.rest_url.removeprefix("http://"), lone.worker.props["group.id"]
    who = f"[Worker clientId=connect-{worker_id}, groupId={group}] "
    wanted = ["Kafka Connect started (", f"{who}Session key updated (", f"{who}Herder started ("]
    lone.worker.wait_log(wanted[-1])
    log = lone.worker.log()
    places = [log.find(f"] INFO {text}") for text in (READY, *wanted[:2])]
    assert -1 not in places
    assert places == sorted(places)
    assert log.count("Session key updated") == 1


def test_the_log_is_the_workers_own(lone: Lone) -> None:
    lines = lone.worker.log().splitlines()
    # A broker that has just started has clients ask again, which they log.
    ours, clients = r"INFO .+ \(connect_dagster\.[\w.]+", r"INFO GETPID .+ \(org\.apache\.kafka\.clients"
    form = re.compile(rf"\[[^]]+\] ({ours}|{clients}|WARN .+ \([\w.]+):\d+\)")
    assert [line for line in lines if not form.fullmatch(line)] == []
    assert f"got assignment: connectors [{NAME}] and tasks [{NAME}-0] with rebalance delay: 0 (" in lone.worker.log()


def test_s2_04_the_topics_of_a_first_start(lone: Lone) -> None:
    topics = [lone.worker.props[f"{kind}.storage.topic"] for kind in ("config", "offset", "status")]
    admin = AdminClient({"bootstrap.servers": lone.broker.bootstrap_servers})
    known = admin.list_topics(timeout=SECONDS).topics
    assert [len(known[topic].partitions) for topic in topics] == [1, 25, 5]
    for resource, answer in admin.describe_configs([ConfigResource(ResourceType.TOPIC, one) for one in topics]).items():
        entries = answer.result(SECONDS).values()
        own = {entry.name: entry.value for entry in entries if entry.source == TOPIC_CONFIG}
        assert own == {"cleanup.policy": "compact"}, resource


def test_s2_05_a_sink_may_not_consume_as_the_workers_own_group(lone: Lone) -> None:
    config = {"connector.class": "FileStreamSink", "topics": lone.config["topic"], "file": "/never"}
    answer = create(lone.worker, lone.sink, config)
    conflict = f"conflicts with Connect worker group connect-{lone.sink}"
    assert answer.status == 400
    error = answer.message.splitlines()[1]
    assert error == f"Consumer group for sink connector named {lone.sink} {conflict}"
    group = {"consumer.override.group.id": f"connect-{lone.sink}"}
    answer = create(lone.worker, "other", {**config, **group})
    assert (answer.status, answer.message.splitlines()[1]) == (400, f"Consumer group connect-{lone.sink} {conflict}")
    assert lone.worker.call("GET", "/connectors").json == [NAME]


def test_s2_06_statuses_of_an_older_connect_are_shown(lone: Lone) -> None:
    producer = Producer({"bootstrap.servers": lone.broker.bootstrap_servers, "partitioner": "murmur2_random"})
    partitions: list[int | None] = []
    for key, value in OLD_STATUSES.items():
        topic = lone.worker.props["status.storage.topic"]
        producer.produce(topic, value, key, on_delivery=lambda _, record: partitions.append(record.partition()))
    assert producer.flush(SECONDS) == 0
    assert partitions == [4, 4]
    connector, task = "postgres_jdbc_ops_sink_customers_avro_01", "postgres_jdbc_ops_sink_order_items_avro_01"
    ask = partial(lone.worker.call, "GET")
    lone.worker.wait_until(lambda: ask(f"/connectors/{task}/tasks/0/status").status == 200, "show the status", SECONDS)
    shown = {"state": "RUNNING", "worker_id": "127.0.1.1:8083", "version": None}
    assert ask(f"/connectors/{connector}/status").json == {
        "name": connector,
        "connector": shown,
        "tasks": [],
        "type": "unknown",
    }
    assert ask(f"/connectors/{task}/tasks/0/status").json == {"id": 0, **shown}


def test_s2_07_statuses_as_they_are_written(lone: Lone) -> None:
    worker_id = lone.worker.rest_url.removeprefix("http://")
    form = (
        rf'{{"state":"RUNNING","trace":null,"worker_id":"{re.escape(worker_id)}","generation":\d+,"version":"4\.3\.1"}}'
    )
    topic = lone.config["topic"]
    tracked = f"status-topic-{topic}:connector-{NAME}"
    # Nothing is written after it, so that a look at all records misses none.
    lone.worker.wait_until(lambda: lone.latest("status", tracked) is not None, "track the topic", SECONDS)
    for key in (f"status-connector-{NAME}", f"status-task-{NAME}-0"):
        record = lone.latest("status", key)
        assert record is not None, key
        assert re.fullmatch(form, (record.value() or b"").decode()), record.value()
    use = lone.latest("status", tracked)
    assert use is not None
    told = json.loads(use.value() or b"")["topic"]
    assert (told["name"], told["connector"], told["task"]) == (topic, NAME, 0)


def test_s2_10_the_config_topics_first_records(lone: Lone) -> None:
    records = lone.records("config", 4)
    keys = [(record.key() or b"").decode() for record in records]
    assert keys == ["session-key", f"connector-{NAME}", f"task-{NAME}-0", f"commit-{NAME}"]
    assert {record.partition() for record in records} == {0}
    assert records[3].value() == b'{"tasks":1}'


def test_s2_11_the_offset_of_the_first_flush(lone: Lone) -> None:
    key = f'["{NAME}",{{"filename":"{lone.config["file"]}"}}]'
    lone.worker.wait_until(lambda: lone.latest("offset", key) is not None, "flush the offset", SECONDS)
    record = lone.latest("offset", key)
    assert record is not None
    assert record.value() == b'{"position":47}'
