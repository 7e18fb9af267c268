"""`connect-dagster group describe`, as a command in a shell, on groups that live on a real broker."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.embedded.broker import EmbeddedBroker
from connect_dagster.embedded.ports import HOST, free_port
from connect_dagster.protocol.group_metadata import (
    OFFSETS_TOPIC,
    GroupKey,
    GroupMetadata,
    decode_key,
    partition_of_group,
)
from tests.conformance.java_cluster import JavaDistributed
from tests.conftest import Broker
from tests.distributed_process import group_properties
from tests.unit.protocol.seed_groups import one_worker

COMMAND = Path(sys.executable).with_name("connect-dagster")
SECONDS = 60
CLIENT_ID = "this_is_client_id"


def run(bootstrap_servers: str, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": bootstrap_servers}
    return subprocess.run(
        [COMMAND, *words], input=given, capture_output=True, env=environment, timeout=SECONDS, check=False
    )


def described(broker: Broker, *words: str, given: bytes = b"") -> dict[str, Any]:
    ran = run(broker.bootstrap_servers, "group", "describe", *words, given=given)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return dict(json.loads(ran.stdout))


def refusal(broker: Broker, *words: str, code: int = 1) -> str:
    ran = run(broker.bootstrap_servers, "group", "describe", *words)
    assert (ran.returncode, ran.stdout) == (code, b"")
    return ran.stderr.decode()


@pytest.fixture
def topic(broker: Broker, topic_prefix: str) -> Iterator[str]:
    name = f"{topic_prefix}records"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)
    yield name
    admin.delete_topics([name])[name].result(30)


@contextmanager
def consuming(broker: Broker, group: str, topic: str, **settings: str) -> Iterator[None]:
    """A consumer that has got its partitions."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": group, **given})
    consumer.subscribe([topic])
    deadline = time.monotonic() + SECONDS
    while not consumer.assignment():
        consumer.poll(0.1)
        assert time.monotonic() < deadline, "no partition was assigned"
    try:
        yield
    finally:
        consumer.close()


def last_record(broker: Broker, group: str) -> tuple[int | None, bytes, bytes]:
    """Partition, key and value of the last record of a group, looked for in all partitions."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "nobody", "enable.partition.eof": "true"}
    consumer = Consumer(settings)
    partitions = consumer.list_topics(timeout=10).topics[OFFSETS_TOPIC].partitions
    consumer.assign([TopicPartition(OFFSETS_TOPIC, number, OFFSET_BEGINNING) for number in partitions])
    found: list[tuple[int | None, bytes, bytes]] = []
    left = set(partitions)
    while left:
        message = consumer.poll(10)
        assert message is not None
        if (error := message.error()) is not None:
            assert error.code() == KafkaError._PARTITION_EOF
            left.discard(message.partition() or 0)
        elif decode_key(message.key() or b"") == GroupKey(group):
            found.append((message.partition(), message.key() or b"", message.value() or b""))
    consumer.close()
    return found[-1]


@pytest.mark.nightly
def test_s2_25_a_group_of_a_java_worker(broker: Broker, topic_prefix: str, tmp_path: Path) -> None:
    properties = group_properties(broker.bootstrap_servers, topic_prefix, client_id=CLIENT_ID)
    group = properties["group.id"]
    with JavaDistributed(properties, tmp_path) as java:
        live = described(broker, group)
        recorded = described(broker, group, "--from-offsets-topic")
        _check_record(broker, group)
        assert _through_topic_read(broker, group) == recorded
    (member,) = recorded["members"]
    assert one_worker().keys() <= recorded.keys()
    assert one_worker()["members"][0].keys() == member.keys()
    assert member["member_id"].startswith(f"{CLIENT_ID}-")
    assert (member["client_id"], member["client_host"]) == (CLIENT_ID, f"/{HOST}")
    assert (member["rebalance_timeout"], member["session_timeout"]) == (60000, 10000)
    assert (recorded["protocol_type"], recorded["protocol"]) == ("connect", "sessioned")
    assert recorded["leader"] == member["assignment"]["leader"] == member["member_id"]
    assert member["subscription"]["url"] == member["assignment"]["leader_url"] == f"{java.rest_url}/"
    assert (member["subscription"]["version"], member["assignment"]["version"]) == (2, 2)
    assert (member["assignment"]["assigned"], member["assignment"]["revoked"]) == ([], [])
    untold = {"rebalance_timeout": None, "session_timeout": None}
    assert live == {
        **recorded,
        "state": "Stable",
        "generation": None,
        "current_state_timestamp": None,
        "members": [{**member, **untold}],
    }


def _check_record(broker: Broker, group: str) -> None:
    """Its bytes are what ours would be, in the partition where we look."""
    partition, key, value = last_record(broker, group)
    assert key == b"\x00\x02" + len(group).to_bytes(2) + group.encode()
    assert GroupMetadata.decode(value).version == 3
    assert GroupMetadata.decode(value).encode() == value
    cluster = AdminClient({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=10)
    assert partition == partition_of_group(group, len(cluster.topics[OFFSETS_TOPIC].partitions))


def _through_topic_read(broker: Broker, group: str) -> dict[str, Any]:
    """The last record, dumped by one command and read by the other."""
    words = ["topic", "read", OFFSETS_TOPIC, "--from-beginning", "--timeout", "3", "-J"]
    lines = run(broker.bootstrap_servers, *words).stdout.splitlines()
    key = GroupKey(group).encode().decode()
    return described(broker, "--record", "-", given=[line for line in lines if json.loads(line)["key"] == key][-1])


def test_a_group_of_consumers(broker: Broker, topic: str, topic_prefix: str) -> None:
    group = f"{topic_prefix}consumers"
    with consuming(broker, group, topic, client_id="reader", group_instance_id="static-1"):
        live = described(broker, group, "--bootstrap-server", broker.bootstrap_servers)
        recorded = described(
            Broker("nobody:1"), group, "--bootstrap-server", broker.bootstrap_servers, "--from-offsets-topic"
        )
    (member,) = live["members"]
    assert (live["state"], live["protocol_type"], live["protocol"]) == ("Stable", "consumer", "range")
    assert (member["client_id"], member["group_instance_id"]) == ("reader", "static-1")
    assert member["subscription"]["topics"] == [topic]
    assert member["assignment"]["assigned_partitions"] == [{"topic": topic, "partitions": [0, 1]}]
    assert recorded["generation"] == 1
    assert recorded["leader"] == member["member_id"]
    for field in ("subscription", "assignment", "group_instance_id"):
        assert recorded["members"][0][field] == member[field]


def test_a_group_that_is_left_by_all(broker: Broker, topic: str, topic_prefix: str) -> None:
    group = f"{topic_prefix}left"
    with consuming(broker, group, topic):
        pass
    found = described(broker, group, "--from-offsets-topic")
    assert (found["members"], found["leader"], found["generation"]) == ([], None, 2)
    assert described(broker, group)["state"] == "Empty"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.delete_consumer_groups([group])[group].result(30)
    assert refusal(broker, group, "--from-offsets-topic") == (
        f"Error: Kafka at {broker.bootstrap_servers}: "
        f"Group '{group}' was deleted: its last record in __consumer_offsets is a tombstone.\n"
    )


def test_a_group_of_the_newer_protocol_is_said_to_be_none_of_the_classic_one(
    broker: Broker, topic: str, topic_prefix: str
) -> None:
    group = f"{topic_prefix}newer"
    with consuming(broker, group, topic, group_protocol="consumer"):
        assert refusal(broker, group) == (
            f"Error: Kafka at {broker.bootstrap_servers}: Group {group} is not a classic group.\n"
        )


def test_an_unknown_group_is_said(broker: Broker, topic_prefix: str) -> None:
    group = f"{topic_prefix}nobody"
    assert refusal(broker, group) == f"Error: Kafka at {broker.bootstrap_servers}: Group {group} not found.\n"
    assert f"of __consumer_offsets has no record of group '{group}'." in refusal(broker, group, "--from-offsets-topic")


@pytest.mark.nightly
@pytest.mark.parametrize("words", [[], ["--from-offsets-topic"]], ids=["live", "topic"])
def test_a_broker_out_of_reach_is_said(words: list[str]) -> None:
    nowhere = Broker(f"{HOST}:{free_port()}")
    began = time.monotonic()
    text = refusal(nowhere, "any", *words, code=2)
    assert text.startswith(f"Error: No broker responded at {nowhere.bootstrap_servers} within 8 s (")
    assert text.endswith("check --bootstrap-server, and that Kafka is running.\n")
    assert time.monotonic() - began < 30  # 8 s, and what a busy machine takes to start Python


@pytest.mark.nightly
def test_a_cluster_that_never_had_a_group_is_said(own_broker: EmbeddedBroker) -> None:
    assert refusal(Broker(own_broker.bootstrap_servers), "any", "--from-offsets-topic") == (
        f"Error: Kafka at {own_broker.bootstrap_servers}: "
        "Topic __consumer_offsets does not exist yet: the cluster never had a group.\n"
    )
