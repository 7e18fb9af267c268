"""Ranges of offsets, read by the parts of Spark's Kafka source and by the public source: the same records."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions import offset_ranges
from connect_dagster.expressions.offset_ranges import OffsetRange, OffsetRangeReader
from connect_dagster.kafka.clients import range_options
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.errors.failures import is_lost_read
from connect_dagster.worker.sink.counting_reader import CountingReader
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

    options = range_options(
        {"bootstrap.servers": broker.bootstrap_servers, "isolation.level": isolation}, headers=headers
    )
    reader = CountingReader(spark_session.spark, options)
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
        kept = reader.read(ranges).persist()  # rows as a whole, not the columns that a plan reads
        assert kept.orderBy(*order).toArrow().equals(read)
        kept.unpersist()
    counted = reader.counted.records
    reader.read(few).toArrow()
    assert reader.counted.records == counted
    assert reader.read_counted(few).toArrow().num_rows == reader.counted.records - counted
    assert reader._way != reader.read_publicly


def reader_of(broker: Broker, session: Session, *, loss: str = "latest", timeout_ms: int = 10_000) -> OffsetRangeReader:
    consumer = {"bootstrap.servers": broker.bootstrap_servers, "auto.offset.reset": loss}
    options = range_options(consumer, headers=False)
    return OffsetRangeReader(session.spark, {**options, "kafkaConsumer.pollTimeoutMs": str(timeout_ms)})


def numbers(reader: OffsetRangeReader, ranges: Sequence[OffsetRange]) -> list[int]:
    rows = reader.read(ranges).select(F.col("value").cast("string").cast("int").alias("number")).toArrow()
    return sorted(rows["number"].to_pylist())


def test_a_range_goes_on_where_the_one_before_has_ended(
    broker: Broker, topics: Topics, topic_prefix: str, spark_session: Session
) -> None:
    """Sizes below and above a poll, of one Spark task and of two, and a task that goes back."""
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, (str(number) for number in range(60_000)))
    partition, reader = TopicPartition(topic, 0), reader_of(broker, spark_session)
    place = 0
    for size in (1, 3, 4_000, 9_000, 9_999, 21_000, 10_000, 7, 5_000):
        assert numbers(reader, [OffsetRange(partition, place, place + size)]) == list(range(place, place + size))
        place += size
    for start, end in ((5, 17), (17, 12_500), (12_000, 30_001), (30_001, 30_002), (30_000, 60_000)):
        assert numbers(reader, [OffsetRange(partition, start, end)]) == list(range(start, end))


def test_what_was_fetched_ahead_in_another_log_is_forgotten(
    broker: Broker, topics: Topics, topic_prefix: str, spark_session: Session
) -> None:
    """A kept plan reads the second part, with offsets that the first one has fetched beyond its end."""
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, (str(number) for number in range(20)))
    partition, reader = TopicPartition(topic, 0), reader_of(broker, spark_session)
    assert numbers(reader, [OffsetRange(partition, 0, 10)]) == list(range(10))
    slot = reader.slot([OffsetRange(partition, 10, 20)])
    assert slot is not None
    topics.create_again(topic)
    topics.write(topic, (str(number) for number in range(100, 120)))
    reader.renew_consumers()
    assert [row.value for row in slot.df.collect()] == [str(number).encode() for number in range(110, 120)]


def test_records_that_retention_has_removed(
    broker: Broker, topics: Topics, topic_prefix: str, spark_session: Session
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, (str(number) for number in range(30_000)))
    partition, reader = TopicPartition(topic, 0), reader_of(broker, spark_session)
    failing = reader_of(broker, spark_session, loss="none")
    for one in (reader, failing):
        assert numbers(one, [OffsetRange(partition, 0, 10)]) == list(range(10))
    topics.remove_before(topic, 25_000)
    assert numbers(reader, [OffsetRange(partition, 12_000, 26_000)]) == list(range(25_000, 26_000))
    assert numbers(reader, [OffsetRange(partition, 26_000, 30_000)]) == list(range(26_000, 30_000))
    assert numbers(reader, [OffsetRange(partition, 12_000, 20_000)]) == []
    with pytest.raises(Exception) as raised:  # noqa: PT011 (py4j's or Spark's)
        numbers(failing, [OffsetRange(partition, 12_000, 26_000)])
    assert is_lost_read(raised.value)


def test_a_log_that_ends_before_the_range(
    broker: Broker, topics: Topics, topic_prefix: str, spark_session: Session
) -> None:
    """As after a truncation: the wait for records is shared by the project's reader and Spark's."""
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "0123")
    beyond = [OffsetRange(TopicPartition(topic, 0), 0, 9)]
    begin = time.monotonic()
    assert numbers(reader_of(broker, spark_session, timeout_ms=2_000), beyond) == [0, 1, 2, 3]
    assert time.monotonic() - begin < 10
    with pytest.raises(Exception) as raised:  # noqa: PT011 (py4j's or Spark's)
        numbers(reader_of(broker, spark_session, loss="none", timeout_ms=2_000), beyond)
    assert is_lost_read(raised.value)


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
    reader = CountingReader(
        spark_session.spark, range_options({"bootstrap.servers": broker.bootstrap_servers}, headers=False)
    )
    caplog.set_level("INFO")
    monkeypatch.setattr(offset_ranges, "_INPUT", "NoSuchPartition")
    read = reader.read_counted([OffsetRange(TopicPartition(topic, 0), 1, 3)]).toArrow()
    assert [value.as_py() for value in read["value"]] == [b"b", b"c"]
    assert "other parts than in Spark 4.1" in caplog.text
    assert reader.counted.records == 2


def test_consumers_with_other_parts_are_read_by_sparks_readers(
    broker: Broker,
    topics: Topics,
    topic_prefix: str,
    spark_session: Session,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    topic = topics.create(f"{topic_prefix}t")
    topics.write(topic, "123")
    other = tmp_path / "KafkaRangeReaders.java"
    source = offset_ranges._READERS.read_text()
    other.write_text(source.replace('getDeclaredField("consumer")', 'getDeclaredField("noSuchField")'))
    caplog.set_level("INFO")
    monkeypatch.setattr(offset_ranges, "_READERS", other)
    reader = reader_of(broker, spark_session)
    assert numbers(reader, [OffsetRange(TopicPartition(topic, 0), 1, 3)]) == [2, 3]
    assert "its own readers are used" in caplog.text
    assert "noSuchField" in caplog.text
    assert reader._way != reader.read_publicly
