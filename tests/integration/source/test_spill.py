"""Batches of sources that are too large for memory go through the disk: the same records, in the same order."""

import gc
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.connectors.spark.source import SparkSourceTask
from connect_dagster.converters.json.converter import JsonConverter
from connect_dagster.converters.plain.simple_header_converter import SimpleHeaderConverter
from connect_dagster.plugin.frames import SourceFrame
from connect_dagster.plugin.lines import SourceBatch, SourceLines
from connect_dagster.plugin.records import Header, SourceRecord
from connect_dagster.plugin.schema import STRING_SCHEMA, Schema, SchemaField, SchemaType
from connect_dagster.testing.contexts import source_context
from connect_dagster.transforms.sql_transform import SqlTransform
from connect_dagster.worker.bytes_bound import EncodedBound
from connect_dagster.worker.errors.policy import DeadLetterSettings, ErrorPolicy
from connect_dagster.worker.record_frames import tables_of
from connect_dagster.worker.source.batches import Encoded, PlannedBefore, SourceBatches
from connect_dagster.worker.source.pipeline import SourcePipeline
from connect_dagster.worker.transforms import TransformationStage
from tests.databases import Database
from tests.integration.jdbc.queriers import task

PLACE = {"file": "a"}
BOUND = 200_000
TOLERANT = ErrorPolicy(tolerate=True, dead_letters=DeadLetterSettings("dead"))
TEXT = Schema(SchemaType.STRING, optional=True)
PERSON = Schema(SchemaType.STRUCT, fields=(SchemaField("name", STRING_SCHEMA),))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def mapped(folder: Path) -> int:
    """How many files in a folder this process has in memory, by their name or without one."""
    return len({line.split()[4] for line in Path("/proc/self/maps").read_text().splitlines() if str(folder) in line})


def source_batches(
    spark: SparkSession,
    most_bytes: int | None,
    policy: ErrorPolicy | None = None,
    transforms: Sequence[TransformationStage] = (),
) -> SourceBatches:
    converter = JsonConverter()
    converter.configure({}, is_key=False)
    pipeline = SourcePipeline(transforms, converter, converter, SimpleHeaderConverter())
    bound = None if most_bytes is None else EncodedBound(most_bytes)
    return SourceBatches(spark, pipeline, policy or ErrorPolicy(), bound)


def encoded(batches: SourceBatches, frame: SourceBatch) -> Encoded:
    return batches.encoded(batches.planned(frame))


def texts(df: DataFrame) -> SourceFrame:
    return SourceFrame(df=df, source_partition=PLACE, source_offset={}, topic="t", value_schema=STRING_SCHEMA)


def rows(spark: SparkSession, count: int, size: int, tasks: int = 3) -> SourceFrame:
    """Rows of a size, in several Spark tasks."""
    value = F.rpad(F.concat(F.lit("n"), F.col("id").cast("string")), size, "x")
    return texts(spark.range(0, count, 1, tasks).select(value.alias("value")))


def same(spark: SparkSession, folder: Path, frame: SourceFrame, **pipeline: Any) -> Encoded:
    """Return a batch that went through the disk, and is what memory would have."""
    large = source_batches(spark, BOUND, **pipeline)
    found, expected = encoded(large, frame), encoded(source_batches(spark, None, **pipeline), frame)
    assert mapped(folder) == 1
    assert [*folder.iterdir()] == []
    assert found.table.to_pylist() == expected.table.to_pylist()
    assert (found.polled, found.counted()) == (expected.polled, expected.counted())
    assert [(one.failure, one.record) for one in found.failed] == [(one.failure, one.record) for one in expected.failed]
    return found


def test_rows_keep_their_order_and_their_heads(spark: SparkSession, folder: Path) -> None:
    found = same(spark, folder, rows(spark, 3000, 1000))
    assert found.table.num_rows == 3000
    assert found.table.column("value")[2999].as_py().startswith(b'{"schema":{"type":"string","optional":false},"pay')


def test_a_batch_leaves_the_disk_with_its_records(spark: SparkSession, folder: Path) -> None:
    batches = source_batches(spark, BOUND)
    found = encoded(batches, rows(spark, 3000, 1000))
    assert (mapped(folder), [*folder.iterdir()]) == (1, [])
    assert found.size >= 3_000_000
    del found
    gc.collect()
    assert mapped(folder) == 0


def test_the_next_batches_are_not_tried_in_memory(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[object] = []
    over = EncodedBound.over

    def counted(self: EncodedBound, df: DataFrame, **words: Any) -> DataFrame:
        tried.append(df)
        return over(self, df, **words)

    monkeypatch.setattr(EncodedBound, "over", counted)
    batches = source_batches(spark, BOUND)
    for size, tries, on_disk in ((1000, 1, 1), (1000, 1, 1), (10, 1, 1), (10, 2, 0)):
        found = encoded(batches, rows(spark, 1000, size))
        assert (len(tried), mapped(folder), found.table.num_rows) == (tries, on_disk, 1000)
        del found
        gc.collect()


def test_a_batch_that_spark_cannot_write_leaves_nothing(spark: SparkSession, folder: Path) -> None:
    text = F.when(F.col("id") < 2500, F.rpad(F.lit(""), 1000, "x")).otherwise(F.raise_error(F.lit("lost")))
    with pytest.raises(Exception, match="lost"):
        encoded(source_batches(spark, BOUND), texts(spark.range(0, 3000, 1, 3).select(text.alias("value"))))
    assert (mapped(folder), [*folder.iterdir()]) == (0, [])


@pytest.mark.parametrize("policy", [TOLERANT, ErrorPolicy(tolerate=True), ErrorPolicy()])
def test_records_that_fail(spark: SparkSession, folder: Path, policy: ErrorPolicy) -> None:
    value = F.when(F.col("id") % 500 != 7, F.rpad(F.col("id").cast("string"), 1000, "x"))
    frame = texts(spark.range(0, 3000, 1, 3).select(value.alias("value")))
    found = same(spark, folder, frame, policy=policy)
    assert len(found.failed) == (6 if policy.tolerate else 1)


def test_records_with_all_they_can_have(spark: SparkSession, folder: Path) -> None:
    records = [
        SourceRecord(
            PLACE,
            {"position": number},
            "tu"[number % 2],
            {"name": str(number) * 100},
            PERSON,
            key=None if number % 3 else f"k{number}",
            key_schema=TEXT,
            partition=None if number % 5 else 1,
            timestamp=number,
            headers=(Header("h", str(number), STRING_SCHEMA),) if number % 4 else (),
        )
        for number in range(2000)
    ]
    (table,) = tables_of(records, SimpleHeaderConverter())
    found = same(spark, folder, table.frame(spark))
    assert set(found.table.column_names) == {"topic", "partition", "key", "value", "timestamp", "headers"}


def enlarged(times: int, where: str = "") -> TransformationStage:
    transform = SqlTransform()
    transform.configure({"sql": f"SELECT repeat(value.name, {times}) AS name FROM record{where}"})
    return TransformationStage("large", transform)


def people(spark: SparkSession, count: int, tasks: int = 2) -> SourceFrame:
    value = F.struct(F.concat(F.lit("n"), F.col("id").cast("string")).alias("name"))
    df = spark.range(0, count, 1, tasks).select(value.alias("value"))
    return SourceFrame(df=df, source_partition=PLACE, source_offset={}, topic="t", value_schema=PERSON)


def test_a_transform_that_makes_records_larger(spark: SparkSession, folder: Path) -> None:
    found = same(spark, folder, people(spark, 1000), transforms=[enlarged(200, " WHERE value.name != 'n7'")])
    assert (found.table.num_rows, found.polled) == (999, 1000)


class Repeated(SqlTransform):
    """A transform whose plans may be kept."""

    deterministic = True


def test_a_text_that_a_transform_makes_larger(spark: SparkSession, folder: Path) -> None:
    transform = Repeated()
    transform.configure({"sql": "SELECT repeat(value, 300) AS text FROM record"})
    stage = TransformationStage("large", transform)
    large, unbounded = (source_batches(spark, most, transforms=[stage]) for most in (BOUND, None))
    text = SourceLines(b"\n".join(b"n%d" % number for number in range(5000)), PLACE, {}, "t")
    kept = large.planned(text)
    assert isinstance(kept, PlannedBefore)
    found, expected = large.encoded(kept), unbounded.encoded(unbounded.planned(text))
    assert mapped(folder) == 1
    assert found.table.to_pylist() == expected.table.to_pylist()
    assert not isinstance(large.planned(text), PlannedBefore), "the next one is not tried in memory"
    for batches in (large, unbounded):
        batches.close()


def test_one_large_file_of_spark_source(spark: SparkSession, folder: Path) -> None:
    """Failed at 988389f: a micro-batch has one file at least, which was held as a whole."""
    (folder / "in").mkdir()
    (folder / "in" / "a.txt").write_text("".join(f"{number:0999}\n" for number in range(5000)))
    running = SparkSourceTask()
    running.context = source_context(spark=spark)
    config = {"format": "text", "options.path": str(folder / "in"), "topic": "t"}
    running.start({**config, "checkpoint.location": str(folder / "checkpoint")})
    try:
        while (frame := running.poll()) is None:
            pass
        found = encoded(source_batches(spark, BOUND), frame)
        running.delivered(frame)
    finally:
        running.stop()
    assert mapped(folder) == 1
    assert [int(value[-1002:-3]) for value in found.table.column("value").to_pylist()] == [*range(5000)]


def test_rows_of_a_database_that_become_larger(spark: SparkSession, folder: Path, mariadb_database: Database) -> None:
    """Failed at 988389f: the rows of a batch are estimated from the first fifty."""
    mariadb_database.execute(
        "CREATE TABLE t (id INT PRIMARY KEY, name LONGTEXT NOT NULL)",
        "INSERT INTO t SELECT seq, 'n' FROM seq_1_to_100",
        "INSERT INTO t SELECT seq, REPEAT('x', 10000) FROM seq_101_to_4100",
    )
    batches = source_batches(spark, 8 << 20)
    found: list[int] = []
    counts: list[int] = []
    with task(spark, mariadb_database, "incrementing", "t", incrementing_column_name="id") as running:
        for frame in running.frames():
            batch = encoded(batches, frame)
            found += [json.loads(value)["payload"]["id"] for value in batch.table.column("value").to_pylist()]
            counts.append(batch.table.num_rows)
            running.task.encoded(frame, batch.polled, batch.size)
            running.delivered(frame)
            if len(counts) == 1:
                assert mapped(folder) == 1
                mariadb_database.execute("INSERT INTO t SELECT seq, 'n' FROM seq_4101_to_6000")
    assert found == [*range(1, 6001)]
    assert counts[0] == 4100
    assert 500 < counts[1] < 1000
    assert [*folder.iterdir()] == []
