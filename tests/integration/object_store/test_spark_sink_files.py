"""SparkSink with files that end by options: the task itself, on Spark and a folder."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.spark.sink import SparkSinkConfig, SparkSinkTask
from connect_dagster.errors import ConfigError, ConnectError, RetriableError
from connect_dagster.plugin.frame_columns import ORIGINAL_COORDINATES
from connect_dagster.plugin.frames import SinkBatch
from connect_dagster.plugin.records import TopicPartition
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.testing.contexts import CollectedReports
from connect_dagster.worker.sink.context import SinkContext
from tests.integration.object_store.file_batches import ORDER, Record, batch, files, frame, lines, orders, task_context

P0, P1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
HOUR = 3_600_000


@contextmanager
def started(
    spark: SparkSession, folder: Path, config: Mapping[str, str], reports: CollectedReports | None = None
) -> Iterator[SparkSinkTask]:
    """A task of two partitions that writes JSON lines."""
    task = SparkSinkTask()
    task.context = task_context(spark, P0, P1, reporter=reports)
    task.start({"name": "s", "topics": "orders", "format": "json", "options.path": str(folder), **config})
    try:
        task.open([P0, P1])
        yield task
    finally:
        task.close([P0, P1])
        task.stop()


def ids(folder: Path) -> dict[str, list[int]]:
    return {name: [row["id"] for row in rows] for name, rows in lines(folder).items()}


def test_files_of_a_number_of_records_across_batches(spark: SparkSession, tmp_path: Path) -> None:
    with started(spark, tmp_path, {"flush.size": "3"}) as task:
        task.put(batch(spark, [*orders(0, 1), *orders(5, partition=1)]))
        assert files(tmp_path) == []
        assert task.pre_commit({P0: 2, P1: 6}) == {P0: 0, P1: 5}
        task.put(batch(spark, [*orders(7, 6, partition=1), *orders(4, 3, 2, 6, 5)]))
        assert ids(tmp_path) == {
            "orders/partition=0/orders+0+0000000000.json": [0, 1, 2],
            "orders/partition=0/orders+0+0000000003.json": [3, 4, 5],
            "orders/partition=1/orders+1+0000000005.json": [5, 6, 7],
        }
        assert task.pre_commit({P0: 7, P1: 9}) == {P0: 6, P1: 9}
        assert cast("SinkContext", task.context).commit_requested


def test_a_task_that_begins_again_replaces_what_was_not_committed(spark: SparkSession, tmp_path: Path) -> None:
    with started(spark, tmp_path, {"flush.size": "2"}) as task:
        task.put(batch(spark, orders(0, 1, 2)))
        before = ids(tmp_path)
        leftover = tmp_path / "orders/partition=0/.orders+0+0000000000.json.0.tmp"
        leftover.write_text("half a li")
    with started(spark, tmp_path, {"flush.size": "2"}) as task:
        task.put(batch(spark, orders(0)))
        task.put(batch(spark, orders(1, 2, 3)))
    assert ids(tmp_path) == {**before, "orders/partition=0/orders+0+0000000002.json": [2, 3]}


def test_hours_by_the_records_time_and_a_field(spark: SparkSession, tmp_path: Path) -> None:
    hourly = {"rotate.interval.ms": str(HOUR), "partitioner.class": "hourly"}
    with started(spark, tmp_path / "hours", hourly) as task:
        task.put(batch(spark, orders(0, 1, 2, time=HOUR // 2)))
        task.put(batch(spark, orders(3, 4, time=HOUR // 2)))
    assert ids(tmp_path / "hours") == {
        "orders/year=1970/month=01/day=01/hour=00/orders+0+0000000000.json": [0, 1],
        "orders/year=1970/month=01/day=01/hour=01/orders+0+0000000002.json": [2, 3],
    }
    by_shop = {"flush.size": "4", "partitioner.class": "field", "partition.field.name": "shop"}
    with started(spark, tmp_path / "shops", by_shop) as task:
        records = [*orders(0, 2), *orders(1, shop="b/c"), *orders(3, shop=None)]
        task.put(batch(spark, records))
    assert ids(tmp_path / "shops") == {
        "orders/shop=a/orders+0+0000000000.json": [0, 2],
        "orders/shop=b%2Fc/orders+0+0000000001.json": [1],
        "orders/shop=null/orders+0+0000000003.json": [3],
    }


def test_parquet_of_several_schemas_with_columns_of_the_record(spark: SparkSession, tmp_path: Path) -> None:
    priced = Schema(SchemaType.STRUCT, fields=(*ORDER.fields, SchemaField("price", Schema(SchemaType.FLOAT64))))
    config = {"format": "parquet", "flush.size": "3", "record.columns": "key,offset,timestamp"}
    with started(spark, tmp_path, config) as task:
        plain = frame(spark, [*orders(0, 1, 3), Record(4, None)])
        dear = frame(spark, [Record(2, {"id": 2, "shop": "a", "price": 1.5})], priced)
        task.put(SinkBatch((plain, dear)))
        task.put(batch(spark, orders(5, 6)))
    found = {name: pq.read_table(tmp_path / name).to_pylist() for name in files(tmp_path)}
    root = "orders/partition=0/orders+0+000000000"
    assert {name: [row["id"] for row in rows] for name, rows in found.items()} == {
        f"{root}0.snappy.parquet": [0, 1],
        f"{root}2.snappy.parquet": [2],
        f"{root}3.snappy.parquet": [3, 5, 6],
    }
    assert found[f"{root}2.snappy.parquet"][0]["price"] == 1.5
    assert [row["kafka_key"] for row in found[f"{root}3.snappy.parquet"]] == ["key 3", "key 5", "key 6"]


def test_records_that_a_transform_gave_another_topic(spark: SparkSession, tmp_path: Path) -> None:
    with started(spark, tmp_path, {"flush.size": "2"}) as task:
        records = [*orders(0, 1), *(one._replace(topic="refunds") for one in orders(0, 1))]
        sent = frame(spark, records)
        read = F.struct("topic", "partition", "offset")
        task.put(SinkBatch((sent.with_column(ORIGINAL_COORDINATES, read).with_column("topic", F.lit("all")),)))
        assert task.pre_commit({P0: 2}) == {P0: 2}
    assert ids(tmp_path) == {
        "all/partition=0/orders+0+0000000000.json": [0, 1],
        "all/partition=0/refunds+0+0000000000.json": [0, 1],
    }


def test_files_end_by_bytes_and_by_the_clock(spark: SparkSession, tmp_path: Path) -> None:
    with started(
        spark, tmp_path / "bytes", {"rotate.bytes": "40"}
    ) as task:  # each has 31, {"value":{"id":0,"shop":"a"}}
        task.put(batch(spark, orders(0, 1, 2)))
    assert list(ids(tmp_path / "bytes").values()) == [[0, 1]]
    with started(spark, tmp_path / "clock", {"rotate.schedule.interval.ms": "1"}) as task:
        task.put(batch(spark, orders(0, 1)))
        assert task.pre_commit({P0: 2}) == {P0: 2}
    assert list(ids(tmp_path / "clock").values()) == [[0, 1]]


def test_a_time_from_a_field_and_records_without_one(spark: SparkSession, tmp_path: Path) -> None:
    timed = Schema(
        SchemaType.STRUCT, fields=(SchemaField("id", Schema(SchemaType.INT64)), SchemaField("at", STRING_SCHEMA))
    )
    times = ("2026-01-01T00:00:00Z", "1767225661000", "never", "2026-01-01T00:02:00Z")
    records = [Record(offset, {"id": offset, "at": time}) for offset, time in enumerate(times)]
    config = {"rotate.interval.ms": "120000", "timestamp.extractor": "RecordField", "timestamp.field": "at"}
    reports = CollectedReports()
    with started(spark, tmp_path, config, reports) as task:
        task.put(batch(spark, records, timed))
        assert task.pre_commit({P0: 4}) == {P0: 3}
    assert list(ids(tmp_path).values()) == [[0, 1]]
    assert [offset for _, _, offset, _ in reports.reported] == [2]
    with (
        started(spark, tmp_path, config) as task,
        pytest.raises(ConnectError, match=r"no time in the field 'at', .*: orders-0@2"),
    ):
        task.put(batch(spark, records, timed))


def test_a_store_that_is_away_for_a_while(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker puts the same batch again, or with further records."""
    with started(spark, tmp_path, {"flush.size": "2"}) as task:
        task.put(batch(spark, orders(0)))
        monkeypatch.setattr("shutil.copyfile", _full)
        with pytest.raises(RetriableError, match=r"orders\+0\+0000000000.json cannot be written: No space left"):
            task.put(batch(spark, orders(1, 2)))
        assert task.pre_commit({P0: 1}) == {P0: 0}
        monkeypatch.undo()
        task.put(batch(spark, orders(1, 2, 3)))
        assert task.pre_commit({P0: 4}) == {P0: 4}
    assert list(ids(tmp_path).values()) == [[0, 1], [2, 3]]


def _full(*_: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"flush.size": "0"}, "Invalid value 0 for configuration flush.size: Value must be at least 1"),
        ({"rotate.bytes": "-2"}, "rotate.bytes: Value must be at least 1, or -1 for never"),
        ({"rotate.interval.ms": "0"}, "rotate.interval.ms: Value must be at least 1, or -1 for never"),
        ({"rotate.schedule.interval.ms": "x"}, "Invalid value x for configuration rotate.schedule.interval.ms"),
        ({"format": "delta"}, "Invalid value delta for configuration format: Files that end by flush.size"),
        ({"table": "t"}, "Invalid value t for configuration table"),
        ({"mode": "overwrite"}, "Invalid value overwrite for configuration mode"),
        ({"partition.by": "shop"}, "configuration partition.by: Their directories come from partitioner.class"),
        ({"options.path": "relative"}, "configuration options.path: It must be an absolute path"),
        ({"options.path": "ftp://host/path"}, "Invalid value ftp://host/path for configuration options.path"),
        ({"partitioner.class": "com.example.Mine"}, "Classes of the JVM cannot be loaded; it must be one of: default"),
        ({"partitioner.class": "field"}, "partition.field.name: The partitioner 'field' needs at least one field"),
        ({"partitioner.class": "field", "partition.field.name": "a..b"}, "Invalid value a..b for configuration"),
        ({"partitioner.class": "time"}, "Invalid value -1 for configuration partition.duration.ms"),
        ({"partitioner.class": "time", "partition.duration.ms": "1"}, "path.format: Path format cannot be empty."),
        ({"partitioner.class": "daily", "timezone": "Mars"}, "Invalid value Mars for configuration timezone: It must"),
        ({"timezone": "+25:00"}, "Invalid value \\+25:00 for configuration timezone"),
        ({"timestamp.extractor": "Mine"}, "it must be one of: Wallclock, Record, RecordField"),
        (
            {"partitioner.class": "time", "partition.duration.ms": "1", "path.format": "MMMM", "locale": "fr-FR"},
            "Invalid value fr-FR for configuration locale: Names of months",
        ),
        (
            {"partitioner.class": "time", "partition.duration.ms": "1", "path.format": "q"},
            "Invalid value q for configuration path.format: the letter q has no meaning",
        ),
    ],
)
def test_what_files_cannot_be(wrong: dict[str, str], text: str) -> None:
    config = {"topics": "t", "format": "json", "options.path": "/data", "flush.size": "10", **wrong}
    with pytest.raises(ConfigError, match=text):
        SparkSinkConfig.parse(config)


def test_fields_that_values_do_not_have(spark: SparkSession, tmp_path: Path) -> None:
    by_shop = {"flush.size": "1", "partitioner.class": "field", "partition.field.name": "town"}
    with started(spark, tmp_path, by_shop) as task, pytest.raises(ConnectError, match=r"no field 'town'.*id, shop"):
        task.put(batch(spark, orders(0)))
    with started(spark, tmp_path, by_shop) as task, pytest.raises(ConnectError, match=r"structs with a schema; .*JSON"):
        task.put(batch(spark, [Record(0, {"town": "x"})], None))
    by_time = {"rotate.interval.ms": "1", "timestamp.extractor": "RecordField", "timestamp.field": "shop.at"}
    with started(spark, tmp_path, by_time) as task, pytest.raises(ConnectError, match=r"no field 'shop.at'"):
        task.put(batch(spark, orders(0)))


def test_a_folder_that_cannot_be_written(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(ConnectError, match=r"Folder .*/file/data cannot be created: Not a directory"),
        started(spark, tmp_path / "file" / "data", {"flush.size": "1"}),
    ):
        pass
