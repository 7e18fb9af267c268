"""Rows by way of files in memory, beside those that Spark itself gives Python."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (Spark's own convention)

from connect_dagster.worker.spark import arrow_files
from connect_dagster.worker.spark.arrow_files import to_arrow
from connect_dagster.worker.spark.progress import rows_into_plan

ROWS = 25_000
"""Three streams of batches in two Spark tasks, the last of each not full."""

COLUMNS: dict[str, Callable[[], Column]] = {
    "bytes": lambda: F.col("id").cast("string").cast("binary"),
    "nothing": lambda: F.lit(None).cast("string"),
    "a struct": lambda: F.struct("id", F.when(F.col("id") % 3 == 0, F.lit("x")).alias("text")),
    "an array of structs": lambda: F.array(
        F.struct(F.lit("k").alias("key"), F.lit(None).cast("binary").alias("value"))
    ),
    "a map": lambda: F.map_from_arrays(F.array(F.lit("k")), F.array("id")),
    "a decimal": lambda: F.col("id").cast("decimal(20,3)") / 7,
    "a point in time": lambda: F.timestamp_millis("id"),
    "a local time": lambda: F.timestamp_millis("id").cast("timestamp_ntz"),
    "a date": lambda: F.date_from_unix_date(F.col("id").cast("int")),
}


def range_of(spark: SparkSession, count: int = ROWS) -> DataFrame:
    return spark.range(0, count, 1, 2)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS.keys())
def test_rows_are_those_of_spark(spark: SparkSession, column: Callable[[], Column]) -> None:
    df = range_of(spark).select("id", column().alias("made"))
    assert to_arrow(df) == df.toArrow()
    assert to_arrow(df).schema == df.toArrow().schema


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(spark: SparkSession, count: int) -> None:
    df = range_of(spark, count).select(F.col("id").cast("string"))
    assert to_arrow(df) == df.toArrow()


def test_without_a_spark_task(spark: SparkSession) -> None:
    df = spark.createDataFrame(spark.sparkContext.emptyRDD(), "number int")
    assert to_arrow(df) == pa.table({"number": pa.array([], pa.int32())})


def test_each_run_is_counted_by_itself(spark: SparkSession) -> None:
    df = range_of(spark).where("id > 9")
    for _ in range(2):
        assert to_arrow(df).num_rows == ROWS - 10
        assert rows_into_plan(df) == ROWS


def test_a_failure_is_that_of_spark(spark: SparkSession) -> None:
    df = range_of(spark).select(F.when(F.col("id") == 17, F.raise_error(F.lit("no"))).otherwise(F.col("id")))
    texts = []
    for run in (to_arrow, DataFrame.toArrow):
        with pytest.raises(PySparkException, match="no") as error:
            run(df)
        texts.append((type(error.value), error.value.getCondition(), str(error.value).splitlines()[0]))
    assert texts[0] == texts[1]


def test_no_file_is_left(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_files, "memory_folder", lambda: tmp_path)
    table = to_arrow(range_of(spark))
    assert list(tmp_path.iterdir()) == []
    assert table.column("id").to_pylist() == list(range(ROWS))
    with pytest.raises(PySparkException):
        to_arrow(range_of(spark).select(F.raise_error(F.lit("no"))))
    assert list(tmp_path.iterdir()) == []


@contextmanager
def full_folder(dir: Path, **_: Any) -> Iterator[str]:
    """Make a folder whose first file is on a device that is always full."""
    folder = dir / "full"
    folder.mkdir()
    (folder / "0").symlink_to("/dev/full")
    yield str(folder)
    shutil.rmtree(folder)


def test_memory_that_becomes_full_is_not_needed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(arrow_files, "memory_folder", lambda: tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", full_folder)
    caplog.set_level("INFO", arrow_files.__name__)
    df = range_of(spark)
    assert to_arrow(df) == df.toArrow()
    assert caplog.messages == [f"{tmp_path} is full, rows come through a socket"]


def test_a_small_memory_is_left_alone(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Containers have 64 MB unless told otherwise, which others may need."""
    monkeypatch.setattr(arrow_files, "memory_folder", lambda: tmp_path / "none")
    df = range_of(spark)
    assert to_arrow(df) == df.toArrow()
