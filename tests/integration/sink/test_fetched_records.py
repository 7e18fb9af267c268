"""Records that come while a sink sleeps: put as its consumer has fetched them, or read by Spark, each once."""

import itertools
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from connect_dagster.expressions.offset_ranges import OffsetRange, OffsetRangeReader
from connect_dagster.kafka.clients import range_options
from connect_dagster.kafka.fetched_records import FetchedRecords
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.consumer import RebalanceListener, SinkConsumer
from connect_dagster.worker.spark.session import Session
from tests.conftest import Broker
from tests.integration.sink.conftest import StartSink
from tests.integration.sink.kafka_topics import SECONDS, Topics
from tests.integration.sink.running_sink import RunningSink

JSON = "org.apache.kafka.connect.json.JsonConverter"
SCHEMALESS = {"value.converter": JSON, "value.converter.schemas.enable": "false"}
NEVER = {"offset.flush.interval.ms": "600000"}


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """Counts of the records that tasks have taken as they were fetched; ``None`` where they read ranges instead."""
    counts: list[int | None] = []
    take = SinkConsumer.take_fetched

    def recorded(self: SinkConsumer, most_records: int) -> FetchedRecords | None:
        found = take(self, most_records)
        counts.append(None if found is None else found.rows.num_rows)
        return found

    monkeypatch.setattr(SinkConsumer, "take_fetched", recorded)
    return counts


def await_sleep(sink: RunningSink) -> None:
    sink.wait(lambda: bool(sink.task()._watched), "sleep")


def await_lines(sink: RunningSink, file: Path, count: int) -> None:
    sink.wait(lambda: file.read_text().count("\n") >= count, f"{count} lines")


def write_each(sink: RunningSink, topics: Topics, topic: str, values: Sequence[str]) -> None:
    """Write records one by one, each after the one before was put."""
    for value in values:
        before = len(sink.values())
        await_sleep(sink)
        topics.write(topic, [value])
        sink.await_values(before + 1)


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_the_consumer_fetches_what_spark_reads(
    broker: Broker, topics: Topics, topic_prefix: str, spark_session: Session, headers: bool, isolation: str
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic_prefix})
    producer.init_transactions()
    for number, end_transaction in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
        producer.begin_transaction()
        for value in (None, b"", f"{number}".encode(), b"x" * 10_000):
            for partition in (0, 1):
                some: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("ü", None), ("h", b"")] if number else []
                producer.produce(topic, value, value, partition, timestamp=1_700_000_000_000 + number, headers=some)
        producer.flush()
        end_transaction()
    deadline = time.monotonic() + SECONDS
    # The brokers write the ends of transactions later: 16 records and 4 ends in each partition.
    while any(end < 20 for end in topics.ends(topic).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    for partition in (0, 1):
        topics.write(topic, ["last"], partition)
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": f"{topic_prefix}g",
        "isolation.level": isolation,
    }
    assigned: list[TopicPartition] = []
    listener = RebalanceListener(assigned.extend, lambda _: None, lambda _: None)
    none: Any = None
    consumer = SinkConsumer(settings, [topic], None, listener, none, none, headers=headers)
    while len(assigned) < 2:
        assert time.monotonic() < deadline
        consumer.poll(0.1)
    assert consumer.watch(dict.fromkeys(assigned, 2))
    tables = []
    ends: dict[TopicPartition, int] = {}
    while any(ends.get(one, 0) < topics.ends(topic)[one.partition] for one in assigned):
        assert time.monotonic() < deadline
        if consumer.poll(0.1) and (found := consumer.take_fetched(1000)) is not None:
            tables.append(found.rows)
            assert all(found.start[one] >= ends.get(one, 2) for one in found.start)
            ends.update(found.end)
    consumer.close()
    options = range_options(settings, headers=headers)
    order = [(name, "ascending") for name in ("topic", "partition", "offset")]
    ranges = [OffsetRange(one, 2, end) for one, end in ends.items()]
    read = OffsetRangeReader(spark_session.spark, options).read(ranges).toArrow().sort_by(order)
    fetched = itertools.chain.from_iterable(table.to_pylist() for table in tables)
    assert sorted(fetched, key=lambda row: (row["partition"], row["offset"])) == read.to_pylist()
    assert [field.name for field in tables[0].schema] == read.schema.names


def test_a_burst_among_single_records_is_read_by_ranges(
    start_sink: StartSink, topics: Topics, topic_prefix: str, taken: list[int | None], tmp_path: Path
) -> None:
    topic, file = topics.create(f"{topic_prefix}t"), tmp_path / "sink.txt"
    sink = start_sink({"connector.class": "FileStreamSink", "file": str(file), "topics": topic}, NEVER)
    lines: list[str] = []
    for burst in (["a"], ["b", "c"], ["d"], [f"{number}" for number in range(10_000)], ["e"], ["f"], ["g"]):
        await_sleep(sink)
        topics.write(topic, burst)
        lines += burst
        await_lines(sink, file, len(lines))
    assert file.read_text().splitlines() == lines
    assert None in taken
    assert taken[-3:] == [1, 1, 1]
    task = sink.task()
    sink.stop()
    assert task.progress.total == len(lines)
    assert topics.committed(sink.group, topic) == {0: len(lines)}


def test_records_of_several_partitions_come_once_and_in_order(
    start_sink: StartSink, topics: Topics, topic_prefix: str, taken: list[int | None]
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=3)
    sink = start_sink({"topics": topic})
    producer = Producer({"bootstrap.servers": topics.bootstrap, "linger.ms": 0})
    sizes = [1, 3, 20, 2, 1, 90, 1, 5]
    for number in range(120):
        for index in range(700 if number % 60 == 30 else sizes[number % len(sizes)]):
            producer.produce(topic, f"{number}-{index}", partition=index % 3)
        producer.flush(SECONDS)
        time.sleep(0.03)
    ends = topics.ends(topic)
    sink.await_values(sum(ends.values()))
    topics.await_committed(sink.group, topic, ends)
    put = [record for records in sink.puts() for record in records]
    for partition, end in ends.items():
        assert [offset for one, offset, _ in put if one == partition] == list(range(end))
    assert any(taken)


def test_aborted_records_are_left_out_and_the_lag_becomes_zero(
    start_sink: StartSink, topics: Topics, topic_prefix: str, taken: list[int | None]
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "consumer.override.isolation.level": "read_committed"})
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": topic})
    producer.init_transactions(SECONDS)
    ends = (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    for number, end in enumerate(ends):
        await_sleep(sink)
        producer.begin_transaction()
        producer.produce(topic, f"{number}")
        producer.flush(SECONDS)
        end(SECONDS)
        sink.await_values((number + 2) // 2)
    topics.await_committed(sink.group, topic, {0: 6})
    await_sleep(sink)
    topics.write(topic, ["last"])
    assert sink.await_values(3) == ["0", "2", "last"]
    assert any(taken)
    producer.begin_transaction()
    producer.produce(topic, "dropped")
    producer.flush(SECONDS)
    producer.abort_transaction(SECONDS)
    topics.await_committed(sink.group, topic, {0: 9})
    assert topics.lag(sink.group, topic) == 0
    assert sink.values() == ["0", "2", "last"]


def test_a_record_of_two_megabytes_among_small_ones(
    start_sink: StartSink, topics: Topics, topic_prefix: str, taken: list[int | None], tmp_path: Path
) -> None:
    topic, file = topics.create(f"{topic_prefix}t", config={"max.message.bytes": "4000000"}), tmp_path / "sink.txt"
    sink = start_sink({"connector.class": "FileStreamSink", "file": str(file), "topics": topic}, NEVER)
    large = Producer({"bootstrap.servers": topics.bootstrap, "message.max.bytes": 4_000_000})
    lines = ["a", "x" * 2_000_000, "b", "y" * 2_000_000, "c"]
    for number, line in enumerate(lines):
        await_sleep(sink)
        large.produce(topic, line)
        large.flush(SECONDS)
        await_lines(sink, file, number + 1)
    assert file.read_text().splitlines() == lines
    assert taken[-3:] == [1, None, 1]
    sink.stop()
    assert topics.committed(sink.group, topic) == {0: 5}


def _enveloped(type: str, payload: object) -> str:
    return json.dumps({"schema": {"type": type, "optional": True}, "payload": payload}, separators=(",", ":"))


def test_a_record_of_another_schema_in_the_middle(
    start_sink: StartSink, topics: Topics, topic_prefix: str, taken: list[int | None]
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "value.converter": JSON})
    values = ["a", "b", "c", "d", 1, 2, "e", "f", "g"]
    written = [_enveloped("string" if isinstance(value, str) else "int64", value) for value in values]
    write_each(sink, topics, topic, written)
    await_sleep(sink)
    topics.write(topic, written)
    assert sink.await_values(2 * len(values)) == values * 2
    topics.await_committed(sink.group, topic, {0: 2 * len(values)})
    assert None not in taken


@pytest.mark.parametrize("tolerance", ["none", "all"])
def test_a_record_that_cannot_be_read(start_sink: StartSink, topics: Topics, topic_prefix: str, tolerance: str) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "errors.tolerance": tolerance, **SCHEMALESS})
    write_each(sink, topics, topic, ["1", "2", "3"])
    topics.await_committed(sink.group, topic, {0: 3})
    await_sleep(sink)
    topics.write(topic, ["{oops", "4", "5"])
    if tolerance == "none":
        sink.await_states("RUNNING", "FAILED")
        assert "Tolerance exceeded in error handler" in sink.trace()
        assert topics.committed(sink.group, topic) == {0: 3}
        return
    assert sink.await_values(5) == [1, 2, 3, 4, 5]
    topics.await_committed(sink.group, topic, {0: 6})


def test_a_task_that_goes_back_gets_the_same_records_again(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    sink = start_sink({"topics": topic, "on.put": "ok; ok; ok; rewind 1"})
    write_each(sink, topics, topic, ["a", "b", "c", "d"])
    assert sink.await_values(7) == ["a", "b", "c", "d", "b", "c", "d"]
    write_each(sink, topics, topic, ["e", "f"])
    assert sink.values() == ["a", "b", "c", "d", "b", "c", "d", "e", "f"]
    topics.await_committed(sink.group, topic, {0: 6})


def test_a_pause_and_a_rebalance_between_single_records(
    start_sink: StartSink, topics: Topics, topic_prefix: str
) -> None:
    topic = topics.create(f"{topic_prefix}t", partitions=2)
    sink = start_sink({"topics": topic})
    write_each(sink, topics, topic, ["a", "b"])
    sink.herder.pause_connector(sink.name)
    sink.await_states("PAUSED", "PAUSED")
    topics.write(topic, ["c"], 0)
    sink.herder.resume_connector(sink.name)
    assert sink.await_values(3) == ["a", "b", "c"]
    write_each(sink, topics, topic, ["d"])
    other = topics.consumer(sink.group)
    other.subscribe([topic])
    deadline = time.monotonic() + SECONDS
    while not other.assignment():
        assert time.monotonic() < deadline
        other.poll(0.1)
    for partition in (0, 1):
        topics.write(topic, [f"e{partition}"], partition)
    sink.await_values(5)
    other.close()
    sink.await_values(6)
    write_each(sink, topics, topic, ["f"])
    assert sorted(sink.values()) == ["a", "b", "c", "d", "e0", "e1", "f"]
    topics.await_committed(sink.group, topic, {0: 6, 1: 1})
