"""`connect-dagster topic list|read|write`, as commands in a shell, on a real broker."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicCollection
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from connect_dagster.embedded.ports import HOST, free_port
from tests.conftest import Broker

COMMAND = Path(sys.executable).with_name("connect-dagster")
SECONDS = 60
PARTITIONS = 3
# Partition of each key among three: Java's `Utils.toPositive(Utils.murmur2(key)) % 3`.
JAVA_PARTITIONS = {"a": 1, "b": 2, "f": 0, "키": 1}


def run(broker: Broker, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environment = os.environ | {"KAFKA_BOOTSTRAP_SERVERS": broker.bootstrap_servers}
    return subprocess.run(
        [COMMAND, "topic", *words], input=given, capture_output=True, env=environment, timeout=SECONDS, check=False
    )


def lines(broker: Broker, *words: str, given: bytes = b"") -> list[bytes]:
    ran = run(broker, *words, given=given)
    assert (ran.returncode, ran.stderr) == (0, b"")
    return ran.stdout.splitlines()


@pytest.fixture
def topic(broker: Broker, topic_prefix: str) -> Iterator[str]:
    name = f"{topic_prefix}records"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result(30)
    yield name
    admin.delete_topics([name])[name].result(30)


def produce(broker: Broker, topic: str, *records: dict[str, Any]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for record in records:
        producer.produce(topic, partition=0, **record)
        assert producer.flush(30) == 0


def test_list_names_the_topics(broker: Broker, topic: str) -> None:
    assert topic.encode() in lines(broker, "list")
    assert topic.encode() in lines(Broker("nobody:1"), "--bootstrap-server", broker.bootstrap_servers, "list")


def test_written_lines_are_read_back(broker: Broker, topic: str) -> None:
    given = ["first message", "seconde line", "세번째 메시지", ""]
    assert lines(broker, "write", topic, given="\n".join(given).encode() + b"\n") == []
    found = lines(broker, "read", topic, "--from-beginning", "--max-messages", "4")
    assert sorted(line.decode() for line in found) == sorted(given)


def test_keys_go_where_java_puts_them(broker: Broker, topic: str) -> None:
    given = "".join(f"{key}:v-{key}\n" for key in JAVA_PARTITIONS).encode()
    lines(broker, "write", topic, "--key-separator", ":", given=given)
    found = [json.loads(line) for line in lines(broker, "read", topic, "-J", "--from-beginning", "--timeout", "3")]
    assert {record["key"]: record["partition"] for record in found} == JAVA_PARTITIONS
    assert {record["key"]: record["payload"] for record in found} == {key: f"v-{key}" for key in JAVA_PARTITIONS}


def test_sx_01_json_shows_all_of_a_record(broker: Broker, topic: str) -> None:
    headers = [("trace", b"1"), ("trace", b"\xff"), ("none", None)]
    produce(
        broker,
        topic,
        {"key": "키".encode(), "value": b'{"a":1}', "timestamp": 1700000000123, "headers": headers},
        {"key": b"\x00\xfe", "value": None, "timestamp": 1700000000124},
    )
    assert [json.loads(line) for line in lines(broker, "read", topic, "-J", "--from-beginning", "--timeout", "3")] == [
        {
            "topic": topic,
            "partition": 0,
            "offset": 0,
            "tstype": "create",
            "ts": 1700000000123,
            "key": "키",
            "payload": '{"a":1}',
            "headers": [
                {"key": "trace", "value": "1"},
                {"key": "trace", "value": "/w==", "value_encoding": "base64"},
                {"key": "none", "value": None},
            ],
        },
        {
            "topic": topic,
            "partition": 0,
            "offset": 1,
            "tstype": "create",
            "ts": 1700000000124,
            "key": "AP4=",
            "key_encoding": "base64",
            "payload": None,
            "headers": [],
        },
    ]


def test_sx_02_one_key_and_a_tombstone(broker: Broker, topic: str) -> None:
    lines(broker, "write", topic, "--key", "키", "--null", given=b"test\n\n")
    found = [json.loads(line) for line in lines(broker, "read", topic, "-J", "--from-beginning", "--timeout", "3")]
    assert [(record["key"], record["payload"]) for record in found] == [("키", "test"), ("키", None)]
    assert {record["partition"] for record in found} == {JAVA_PARTITIONS["키"]}


def test_sx_03_list_as_json_is_what_the_admin_client_describes(broker: Broker, topic: str) -> None:
    (line,) = lines(broker, "list", "-J")
    found = json.loads(line)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    cluster = admin.describe_cluster().result(30)
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(30)
    assert found["brokers"] == [{"id": node.id, "name": f"{node.host}:{node.port}"} for node in cluster.nodes]
    assert [one["partitions"] for one in found["topics"] if one["topic"] == topic] == [
        [
            {
                "partition": partition.id,
                "leader": partition.leader.id,
                "replicas": [{"id": node.id} for node in partition.replicas],
                "isrs": [{"id": node.id} for node in partition.isr],
            }
            for partition in described.partitions
        ]
    ]


def test_plain_values_are_the_bytes_they_are(broker: Broker, topic: str) -> None:
    produce(broker, topic, {"value": b"\xff\x00"}, {"value": None})
    assert lines(broker, "read", topic, "--from-beginning", "--max-messages", "2") == [b"\xff\x00", b"null"]


def test_read_from_an_offset(broker: Broker, topic: str) -> None:
    produce(broker, topic, *({"value": b"%d" % number} for number in range(5)))
    place = ["--partition", "0", "--offset"]
    assert lines(broker, "read", topic, *place, "3", "--max-messages", "2") == [b"3", b"4"]
    assert lines(broker, "read", topic, *place, "5", "--timeout", "1") == []
    refused = run(broker, "read", topic, *place, "6")
    assert refused.returncode == 1
    assert b"Offset 6 is out of range" in refused.stderr
    assert b"begins at 0, and its next record will be 5" in refused.stderr


def test_read_goes_on_with_what_comes_until_interrupted(broker: Broker, topic: str) -> None:
    produce(broker, topic, {"value": b"old"})
    words = [str(COMMAND), "topic", "--bootstrap-server", broker.bootstrap_servers, "read", topic]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            assert process.stdout
            assert process.stderr
            assert _first_line_while_producing(broker, topic, process).startswith(b"new")
            process.send_signal(signal.SIGINT)
            assert process.wait(20) == 0
            assert process.stderr.read() == b""
        finally:
            process.kill()


def _first_line_while_producing(broker: Broker, topic: str, process: "subprocess.Popen[bytes]") -> bytes:
    """The reader starts at the end, wherever that is when it gets there: so records come until it prints one."""
    assert process.stdout
    os.set_blocking(process.stdout.fileno(), False)
    deadline = time.monotonic() + SECONDS
    for number in range(10**6):
        produce(broker, topic, {"value": b"new %d" % number})
        if line := process.stdout.readline():
            return line
        assert time.monotonic() < deadline, "nothing was printed"
        time.sleep(0.1)
    raise AssertionError


@pytest.mark.parametrize(
    "words",
    [
        ["list"],
        pytest.param(["read", "any"], marks=pytest.mark.nightly),
        pytest.param(["write", "any"], marks=pytest.mark.nightly),
    ],
)
def test_a_broker_out_of_reach_is_said_in_time(words: list[str]) -> None:
    nowhere = f"{HOST}:{free_port()}"
    began = time.monotonic()
    ran = run(Broker(nowhere), *words, given=b"x\n")
    assert time.monotonic() - began < 25  # 8 s, and what a busy machine takes to start Python
    assert (ran.returncode, ran.stdout) == (2, b"")
    (said,) = ran.stderr.decode().splitlines()
    assert said.startswith(f"Error: No broker responded at {nowhere} within 8 s")


def test_an_unknown_topic_is_said_and_not_created(broker: Broker, topic_prefix: str) -> None:
    unknown = f"{topic_prefix}unknown"
    ran = run(broker, "read", unknown, "--from-beginning")
    assert (ran.returncode, ran.stdout) == (1, b"")
    assert ran.stderr.decode() == f"Error: Topic '{unknown}' does not exist; `topic list` shows those that do.\n"
    assert unknown.encode() not in lines(broker, "list")


def test_an_unknown_partition_is_said(broker: Broker, topic: str) -> None:
    ran = run(broker, "read", topic, "--partition", "7")
    assert ran.returncode == 1
    assert f"Topic '{topic}' has no partition 7; it has 0 to 2." in ran.stderr.decode()


def test_a_name_that_no_topic_can_have_is_refused(broker: Broker) -> None:
    ran = run(broker, "write", "not a name", given=b"x\n")
    assert ran.returncode == 1
    (said,) = ran.stderr.decode().splitlines()
    assert said.startswith("Error: Kafka at ")


def test_a_line_without_separator_ends_the_writing_after_those_before_it(broker: Broker, topic: str) -> None:
    ran = run(broker, "write", topic, "--key-separator", "=", given=b"k=v\nwrong\nk=w\n")
    assert ran.returncode == 1
    assert b"Line 2 has no key separator '='" in ran.stderr
    assert lines(broker, "read", topic, "--from-beginning", "--timeout", "3") == [b"v"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--offset", "1"], "--offset needs --partition"),
        (["--offset", "1", "--partition", "0", "--from-beginning"], "exclude each other"),
    ],
)
def test_options_that_contradict_each_other(words: list[str], said: str) -> None:
    ran = run(Broker(f"{HOST}:1"), "read", "any", *words)
    assert ran.returncode == 2
    assert said in ran.stderr.decode()
