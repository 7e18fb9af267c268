"""Queries over ranges of offsets that are planned once, beside queries that are planned for each batch."""

from collections.abc import Callable, Sequence

import pyarrow as pa
import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.expressions.offset_ranges import OffsetRange
from connect_dagster.kafka.clients import range_options
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.worker.bytes_bound import ReadBound, too_large
from connect_dagster.worker.sink.counting_reader import CountingReader
from connect_dagster.worker.sink.range_queries import IdleQueries, RangeQueries
from connect_dagster.worker.spark.session import Session
from tests.conftest import Broker
from tests.integration.sink.kafka_topics import Topics

RECORDS = 24_000
COLUMNS = ("partition", "offset", "line")


def lines(df: DataFrame) -> DataFrame:
    return df.select("partition", "offset", F.col("value").cast("string").alias("line"))


@pytest.fixture
def topic(topics: Topics, topic_prefix: str) -> str:
    name = topics.create(f"{topic_prefix}t", partitions=2)
    for partition in (0, 1):
        topics.write(name, (f"{partition}-{number}" for number in range(RECORDS)), partition)
    return name


@pytest.fixture
def new_reader(spark_session: Session, broker: Broker) -> Callable[[], CountingReader]:
    options = range_options({"bootstrap.servers": broker.bootstrap_servers}, headers=False)
    return lambda: CountingReader(spark_session.spark, options)


@pytest.fixture
def reader(new_reader: Callable[[], CountingReader]) -> CountingReader:
    return new_reader()


def expected(reader: CountingReader, ranges: Sequence[OffsetRange]) -> list[tuple[int, int, str]]:
    return rows(lines(reader.read_publicly(ranges)).toArrow())


def rows(table: pa.Table | None) -> list[tuple[int, int, str]]:
    assert table is not None
    return sorted(zip(*(table.column(name).to_pylist() for name in COLUMNS), strict=True))


def test_a_query_that_is_planned_once_reads_the_ranges_of_each_batch(reader: CountingReader, topic: str) -> None:
    first, second = (TopicPartition(topic, number) for number in (0, 1))
    queries = RangeQueries(reader, lambda df: df)
    half, end = RECORDS // 2, RECORDS
    of_one = [[OffsetRange(first, 0, half)], [OffsetRange(first, half, end)], [OffsetRange(first, 5, half + 5)]]
    of_two = [
        [OffsetRange(first, 0, half), OffsetRange(second, 1, half)],
        [OffsetRange(second, half, end), OffsetRange(first, half, end)],
        [OffsetRange(second, 3, half), OffsetRange(first, 0, 4)],
    ]
    few = [[OffsetRange(second, number, number + 10), OffsetRange(first, 0, number)] for number in (7, 8, 9)]
    for batches in (of_one, of_two, few):
        if batches is few:
            assert queries.run(few[0], lines, COLUMNS, IdleQueries()) is None, "a small batch may be the only one"
        read = reader.counted
        for ranges in (*batches, *batches):
            assert rows(queries.run(ranges, lines, COLUMNS, IdleQueries())) == expected(reader, ranges)
        counted = reader.counted.since(read)
        wanted = [one for ranges in batches for one in expected(reader, ranges)] * 2
        assert counted.records == len(wanted) == 2 * sum(one.size for ranges in batches for one in ranges)
        assert counted.bytes == sum(len(line) for _, _, line in wanted)


def test_its_bound_counts_from_the_start_in_each_batch(reader: CountingReader, topic: str) -> None:
    one = TopicPartition(topic, 0)
    queries = RangeQueries(reader, ReadBound(8_000))
    assert queries.run([OffsetRange(one, 0, 1000)], lines, COLUMNS, IdleQueries()) is None
    for start in range(5):
        made = queries.run([OffsetRange(one, start, start + 1000)], lines, COLUMNS, IdleQueries())
        assert rows(made) == expected(reader, [OffsetRange(one, start, start + 1000)])
    with pytest.raises(Exception, match="too large") as caught:
        queries.run([OffsetRange(one, 0, 2000)], lines, COLUMNS, IdleQueries())
    assert too_large(caught.value)
    assert rows(queries.run([OffsetRange(one, 0, 1000)], lines, COLUMNS, IdleQueries())) == expected(
        reader, [OffsetRange(one, 0, 1000)]
    )


def test_a_query_of_a_task_that_has_ended_reads_the_ranges_of_another_one(
    new_reader: Callable[[], CountingReader], topic: str, topics: Topics, topic_prefix: str
) -> None:
    other = topics.create(f"{topic_prefix}other")
    topics.write(other, (f"other-{number}" for number in range(RECORDS)))
    idle, bound = IdleQueries(), 10_000_000
    of_first, of_second = ([OffsetRange(TopicPartition(name, 0), 0, RECORDS)] for name in (topic, other))
    tasks = [(new_reader(), of_first), (new_reader(), of_first), (new_reader(), of_second), (new_reader(), of_second)]
    slots = []
    for at_once in (tasks[:2], tasks[2:]):
        queries = [RangeQueries(reader, ReadBound(bound)) for reader, _ in at_once]
        for _ in range(2):
            for query, (reader, ranges) in zip(queries, at_once, strict=True):
                assert rows(query.run(ranges, lines, COLUMNS, idle)) == expected(reader, ranges)
        slots.append([known.slot for query in queries for known in query._queries.values() if known.slot is not None])
        for query, (reader, _) in zip(queries, at_once, strict=True):
            assert reader.counted.records == 2 * RECORDS, "each counts its records"
            query.close()
    assert set(map(id, slots[0])) == set(map(id, slots[1])), "none was planned again"
    stranger = RangeQueries(new_reader(), ReadBound(bound + 1))
    stranger.run(of_first, lines, COLUMNS, idle)
    (own,) = stranger._queries.values()
    assert own.slot is not None
    assert own.slot not in slots[0], "it has another bound"


def test_what_many_queries_have_read_is_counted(reader: CountingReader, topic: str) -> None:
    queries, ranges = RangeQueries(reader, lambda df: df), [OffsetRange(TopicPartition(topic, 0), 0, RECORDS)]
    for number in range(1, 7):
        queries.run(ranges, lines, [(F.col("offset") + number).alias("sum")], IdleQueries())
        assert reader.counted.records == number * RECORDS
    assert len(reader._counters) <= len(queries._queries)


@pytest.mark.parametrize("changing", [F.current_timestamp, F.rand], ids=["time", "random"])
def test_what_changes_is_planned_as_usual(reader: CountingReader, topic: str, changing: Callable[[], Column]) -> None:
    queries = RangeQueries(reader, lambda df: df)
    ranges, columns = [OffsetRange(TopicPartition(topic, 0), 0, 10)], [changing()]
    for _ in range(3):
        assert queries.run(ranges, lines, columns, IdleQueries()) is None


def test_other_columns_are_another_query(reader: CountingReader, topic: str) -> None:
    queries = RangeQueries(reader, lambda df: df)
    ranges = [OffsetRange(TopicPartition(topic, 0), 0, RECORDS)]
    for number in (*range(6), 0):
        made = queries.run(ranges, lines, [(F.col("offset") + number).alias("sum")], IdleQueries())
        assert made is not None
        assert sorted(made.column("sum").to_pylist()) == [offset + number for offset in range(RECORDS)]


def test_a_source_without_these_parts_is_planned_as_usual(
    reader: CountingReader, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect_dagster.expressions.offset_ranges._READERS", "NoSuchReaders")
    queries = RangeQueries(reader, lambda df: df)
    ranges = [OffsetRange(TopicPartition(topic, 0), 0, 10)]
    assert reader.read(ranges).count() == 10
    for _ in range(3):
        assert queries.run(ranges, lines, COLUMNS, IdleQueries()) is None
