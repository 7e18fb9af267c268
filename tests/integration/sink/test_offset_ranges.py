"""Ranges of offsets, read by the parts of Spark's Kafka source and by the public source: the same records."""

import time

import pytest
from confluent_kafka import Producer

from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.sink.offset_ranges import OffsetRange, OffsetRangeReader
from connect_dagster.worker.sink.stream import source_options
from connect_dagster.worker.spark.session import Session
from tests.conftest import Broker
from tests.integration.sink.kafka_topics import Topics


@pytest.mark.parametrize("headers", [False, True])
@pytest.mark.parametrize("isolation", ["read_uncommitted", "read_committed"])
def test_the_parts_of_the_source_read_what_the_source_reads(
    broker: Broker, topics: Topics, topic_prefix: str, spark_session: Session, headers: bool, isolation: str
) -> None:
    first, second = (topics.create(f"{topic_prefix}{name}", partitions=2) for name in "ab")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": topic_prefix})
    producer.init_transactions()
    for number, end_transaction in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
        producer.begin_transaction()
        for value in (None, b"", f"{number}".encode(), b"x" * 10_000):
            for topic in (first, second):
                for partition in (0, 1):
                    some: list[tuple[str, str | bytes | None]] = [("h", b"1"), ("h", None)] if number else []
                    producer.produce(topic, value, value, partition, timestamp=1_700_000_000_000 + number, headers=some)
        producer.flush()
        end_transaction()
    # The brokers write the ends of transactions later: 16 records and 4 ends in each partition.
    deadline = time.monotonic() + 20
    while any(end < 20 for topic in (first, second) for end in topics.ends(topic).values()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    topics.write(second, (str(number) for number in range(12_000)), 1)

    options = source_options(
        {"bootstrap.servers": broker.bootstrap_servers, "isolation.level": isolation}, headers=headers
    )
    reader = OffsetRangeReader(spark_session.spark, options)
    ends = {
        TopicPartition(topic, partition): end
        for topic in (first, second)
        for partition, end in topics.ends(topic).items()
    }
    few = [OffsetRange(one, 3, 9) for one in ends]
    all_records = [OffsetRange(one, 0, end) for one, end in ends.items()]
    for ranges in (few, all_records, [OffsetRange(TopicPartition(second, 1), 20, 12_020)]):
        order = ("topic", "partition", "offset")
        read = reader.read_counted(ranges).orderBy(*order).toArrow()
        assert read.equals(reader.read_publicly(ranges).orderBy(*order).toArrow())
        assert read.num_rows
    counted = reader.counted.records
    reader.read(few).toArrow()
    assert reader.counted.records == counted
    assert reader.read_counted(few).toArrow().num_rows == reader.counted.records - counted
    assert reader._way != reader.read_publicly


def test_another_version_of_spark_is_read_by_its_public_source(
    broker: Broker,
    topics: Topics,
    topic_prefix: str,
    spark_session: Session,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "abc")
    reader = OffsetRangeReader(
        spark_session.spark, source_options({"bootstrap.servers": broker.bootstrap_servers}, headers=False)
    )
    caplog.set_level("INFO")
    monkeypatch.setattr("connect_dagster.worker.sink.offset_ranges._READERS", "NoSuchFactory")
    read = reader.read_counted([OffsetRange(TopicPartition(topic, 0), 1, 3)]).toArrow()
    assert [value.as_py() for value in read["value"]] == [b"b", b"c"]
    assert "other parts than in Spark 4.1" in caplog.text
    assert reader.counted.records == 2
