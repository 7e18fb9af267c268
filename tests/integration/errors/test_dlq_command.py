"""`connect-dagster dlq list|replay` on dead letters of a real source and a real sink."""

import json

import pytest
from click.testing import CliRunner, Result
from confluent_kafka import KafkaError, Producer

from connect_dagster.cli.main import main
from connect_dagster.kafka.epoch_producer import EpochProducer
from tests.integration.errors.conftest import ALL, Start, dead_letters, read, transform, values
from tests.integration.errors.faulty_plugins import Fails
from tests.integration.sink.kafka_topics import Topics


def run(topics: Topics, *words: str) -> Result:
    environment = {"KAFKA_BOOTSTRAP_SERVERS": topics.bootstrap}
    return CliRunner().invoke(main, ["dlq", *words], env=environment)


@pytest.fixture
def dead(topics: Topics, topic_prefix: str) -> str:
    """Five dead letters of one connector, in a topic of their own."""
    topic = topics.create(f"{topic_prefix}dead")
    topics.create(f"{topic_prefix}t")
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    for number in range(5):
        told = {
            "topic": f"{topic_prefix}t",
            "partition": "0",
            "offset": str(number * 10),
            "connector.name": "c",
            "task.id": "0",
            "stage": "VALUE_CONVERTER",
            "class.name": "x.Json",
            "exception.class.name": "org.apache.kafka.connect.errors.DataException",
            "exception.message": f"line {number}\nsecond",
            "exception.stacktrace": "…",
        }
        headers: list[tuple[str, str | bytes | None]] = [("own", b"\xff")]
        headers += [(f"__connect.errors.{name}", value.encode()) for name, value in told.items()]
        producer.produce(topic, f"v{number}".encode() + b"\xff", b"k", timestamp=1_700_000_000_000, headers=headers)
    producer.flush(20)
    return topic


def test_list(topics: Topics, topic_prefix: str, dead: str) -> None:
    ran = run(topics, "list", dead)
    assert (ran.exit_code, ran.stderr) == (0, "")
    head, first, *rest = ran.stdout.splitlines()
    assert head.split() == ["PARTITION", "OFFSET", "TIME", "FROM", "STAGE", "EXCEPTION", "MESSAGE"]
    place = f"{topic_prefix}t-0@0"
    assert first.split() == [
        *("0", "0", "2023-11-14T22:13:20.000Z", place, "VALUE_CONVERTER", "DataException", "line", "0", "second")
    ]
    assert len(rest) == 4
    lines = run(topics, "list", dead, "-J", "--offsets", "1,3-").stdout.splitlines()
    assert [json.loads(line)["offset"] for line in lines] == [1, 3, 4]


def test_replay(topics: Topics, topic_prefix: str, dead: str) -> None:
    target = f"{topic_prefix}t"
    planned = run(topics, "replay", dead, "--dry-run", "--offsets", "4")
    assert planned.stdout == f"Would write offset 4 of partition 0 (from {target}-0@40) to {target}\n"
    assert topics.ends(target) == {0: 0}
    ran = run(topics, "replay", dead, "--offsets", "0-2")
    assert (ran.exit_code, ran.stdout) == (0, "")
    assert ran.stderr == f"Replayed 3 to {target}; the last offset was 2 (partition 0).\n"
    written = read(topics, target, 3)
    assert [one.value() for one in written] == [b"v0\xff", b"v1\xff", b"v2\xff"]
    assert written[0].key() == b"k"
    assert written[0].headers() == [("own", b"\xff")]
    assert written[0].timestamp()[1] == 1_700_000_000_000
    other = topics.create(f"{topic_prefix}other")
    ran = run(topics, "replay", dead, "--to", other)
    assert (ran.exit_code, ran.stderr) == (0, f"Replayed 5 to {other}; the last offset was 4 (partition 0).\n")
    assert len(read(topics, other, 5)) == 5


def test_replay_keeps_timestamp_0(topics: Topics, topic_prefix: str, dead: str) -> None:
    """At 1f0d1e0 the record got the time of the replay."""
    failed: list[KafkaError] = []
    producer = EpochProducer({"bootstrap.servers": topics.bootstrap}, lambda _, error: failed.append(error))
    producer.produce({"topic": dead, "value": b"old", "headers": [("own", None)]})
    assert producer.flush(20)
    producer.close()
    assert not failed
    target = topics.create(f"{topic_prefix}other")
    ran = run(topics, "replay", dead, "--to", target, "--offsets", "4-")
    assert (ran.exit_code, ran.stderr) == (0, f"Replayed 2 to {target}; the last offset was 5 (partition 0).\n")
    times = [(one.value(), one.timestamp()[1]) for one in read(topics, target, 2)]
    assert times == [(b"v4\xff", 1_700_000_000_000), (b"old", 0)]


def test_offsets_count_within_a_partition(topics: Topics, topic_prefix: str) -> None:
    dead = topics.create(f"{topic_prefix}wide", partitions=2)
    producer = Producer({"bootstrap.servers": topics.bootstrap})
    for partition in (0, 0, 1, 1, 1):
        producer.produce(dead, b"v", partition=partition)
    producer.flush(20)
    ran = run(topics, "list", dead, "--offsets", "1")
    assert ran.exit_code == 2
    assert "--offsets needs --partition: the topic has several, and offsets count within one." in ran.stderr
    ran = run(topics, "list", dead, "--partition", "2")
    assert (ran.exit_code, "has no partition 2: it has 2, counted from 0." in ran.stderr) == (2, True)
    lines = run(topics, "list", dead, "--partition", "1", "--offsets", "1-").stdout.splitlines()[1:]
    assert [line.split()[:2] for line in lines] == [["1", "1"], ["1", "2"]]


def test_what_cannot_be_replayed(topics: Topics, topic_prefix: str, dead: str) -> None:
    topics.write(dead, ["without headers"])
    ran = run(topics, "replay", dead)
    assert ran.exit_code == 1
    assert "Replayed 5 to " in ran.stderr
    assert "The record at offset 5 has no header with the topic it came from" in ran.stderr
    ran = run(topics, "replay", dead, "--to", f"{topic_prefix}nowhere")
    assert (ran.exit_code, "does not exist" in ran.stderr) == (1, True)
    assert f"{topic_prefix}nowhere" not in topics.admin.list_topics(timeout=20).topics
    assert run(topics, "replay", dead, "--to", dead).exit_code == 2
    assert run(topics, "list", f"{topic_prefix}nowhere").exit_code == 1


def test_dead_letters_of_a_source_reach_their_topic_after_all(
    start_source: Start, topics: Topics, topic_prefix: str
) -> None:
    topic, dead = f"{topic_prefix}t", f"{topic_prefix}dead"
    start_source(4, {**ALL, **dead_letters(dead), **transform(Fails, value="value-2")})
    assert values(topics, topic, 3) == ["value-0", "value-1", "value-3"]
    read(topics, dead, 1)
    listed = run(topics, "list", dead).stdout
    assert '{"p":1}@{"o":4}' in listed
    assert "bad: value-2" in listed
    assert run(topics, "replay", dead).exit_code == 0
    assert values(topics, topic, 4)[-1] == "value-2"
