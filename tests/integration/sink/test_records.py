"""Records of all kinds on their way through a sink."""

import json
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import SECONDS, Topics

JSON = "org.apache.kafka.connect.json.JsonConverter"


def _enveloped(type: str, payload: object) -> str:
    return json.dumps({"schema": {"type": type, "optional": True}, "payload": payload}, separators=(",", ":"))


def test_spark_counts_the_records_that_are_delivered(start_sink: StartSink, topics: Topics, topic_prefix: str) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=3)
    sink = start_sink({"topics": topic}, {"consumer.max.poll.records": "2000"})
    sent = 0
    for number in range(5):
        for partition in range(3):
            topics.write(topic, (f"{number}-{index}" for index in range(1000)), partition)
            sent += 1000
    sink.await_values(sent, 90)
    assert len(sink.values()) == sent
    task = sink.task()
    sink.stop()
    assert task.progress.total == sent
    shown = task.progress.as_json()
    assert shown["jobGroup"] == f"{sink.name}-0"
    assert shown["endOffset"] == {f"{topic}-{partition}": 5000 for partition in range(3)}


@pytest.mark.parametrize("others", [0, 1], ids=["alike", "mixed"])
def test_a_first_batch_that_is_big_is_counted_once(
    start_sink: StartSink, topics: Topics, topic_prefix: str, tmp_path: Path, others: int
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    written = [_enveloped("string", f"s{number}") for number in range(12_000)]
    written += [_enveloped("int64", number) for number in range(others)]
    topics.write(topic, written)
    file = tmp_path / "sink.txt"
    config = {"connector.class": "FileStreamSink", "file": str(file), "topics": topic, "value.converter": JSON}
    sink = start_sink(config)
    topics.await_committed(sink.group, topic, {0: len(written)}, 60)
    task = sink.task()
    sink.stop()
    found = file.read_text().splitlines()
    assert found == [*(f"s{number}" for number in range(12_000)), *map(str, range(others))]
    if not others:
        assert task.progress.total == len(written)


def test_several_schemas_in_one_batch_keep_their_order(
    start_sink: StartSink, topics: Topics, topic_prefix: str, tmp_path: Path
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    kinds = [("string", "s{}"), ("int64", None), ("boolean", None)]
    written: list[str | None] = []
    lines: list[str] = []
    for number in range(300):
        kind, _ = kinds[number % 3]
        payload: object = {"string": f"s{number}", "int64": number, "boolean": number % 2 == 0}[kind]
        written.append(_enveloped(kind, payload))
        lines.append(str(payload).lower() if kind == "boolean" else str(payload))
        if number % 50 == 7:
            written.append(None)
            lines.append("null")
    topics.write(topic, written)
    file = tmp_path / "sink.txt"
    config = {"connector.class": "FileStreamSink", "file": str(file), "topics": topic, "value.converter": JSON}
    sink = start_sink(config)
    topics.await_committed(sink.group, topic, {0: len(written)}, 60)
    assert file.read_text().splitlines() == lines


@pytest.mark.parametrize("converter", [JSON, "org.apache.kafka.connect.storage.StringConverter"])
def test_tombstones_arrive_as_null(start_sink: StartSink, topics: Topics, topic_prefix: str, converter: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    value = _enveloped("string", "a") if converter is JSON else "a"
    sink = start_sink({"topics": topic, "value.converter": converter})
    topics.write(topic, [value, None])
    topics.write(topic, [None])
    topics.write(topic, [value])
    assert sink.await_values(4) == ["a", None, None, "a"]
    topics.await_committed(sink.group, topic, {0: 4})


@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_the_lag_becomes_zero_on_a_transactional_topic(
    start_sink: StartSink, topics: Topics, topic_prefix: str, isolation: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink(
        {"topics": topic, "consumer.override.isolation.level": isolation, "value.converter": JSON},
    )
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic})
    producer.init_transactions(SECONDS)
    for value, end in (("kept", producer.commit_transaction), ("dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, _enveloped("string", value))
        producer.flush(SECONDS)
        end(SECONDS)
    topics.await_committed(sink.group, topic, {0: 4})
    assert topics.lag(sink.group, topic) == 0
    assert sink.values() == (["kept"] if isolation == "read_committed" else ["kept", "dropped"])


def test_a_restart_within_an_open_transaction_reads_nothing_twice(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic})
    producer.init_transactions(SECONDS)
    producer.begin_transaction()
    producer.produce(topic, "in an open transaction")
    producer.flush(SECONDS)
    sink = start_sink({"topics": topic})
    sink.await_values(1)
    sink.restart(0)
    producer.commit_transaction(SECONDS)
    topics.write(topic, ["after it"])
    assert sink.await_values(2) == ["in an open transaction", "after it"]
